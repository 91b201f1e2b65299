"""The clauses of the contract: each is well-formed, each open point of one is decided, each is shown by a test."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from mockserver.contract.clauses import Clause, read, sentence_of
from tests.contract.sentences import read_index, sentences

TESTS = Path(__file__).parents[1]
QUOTE_MAX_CHARS = 240


def clause(text: str, where: str) -> Clause:
    return Clause(id="a.b", part="a", text=text, is_quoted=True, where=where, choices=())


def misquoted(clauses: Iterable[Clause]) -> list[str]:
    """The ids of the quotes that are no whole sentence of the first of their lines."""
    listed = {(f"L{row.line}", row.digest) for row in read_index()}
    found = []
    for row in clauses:
        line = row.where.partition(",")[0]
        parts = [(line, part.digest) for part in sentences(row.text)]
        if len(parts) != 1 or parts[0] not in listed:
            found.append(row.id)
    return found


def marked(tree: ast.AST) -> Iterator[str]:
    """The ids in every `pytest.mark.clause(...)` of a module, in any position: decorator, `pytestmark`, param."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark") | ast.Name(id="mark"), attr="clause")):
                for argument in node.args:
                    # What cannot be read here would silently count as shown by no test.
                    assert isinstance(argument, ast.Constant) and isinstance(argument.value, str), (
                        f"line {node.lineno}: write the clause as a string"
                    )
                    yield argument.value


def marks_of(files: Iterable[Path]) -> dict[str, list[str]]:
    """Clause id -> the test modules that name it."""
    found: dict[str, list[str]] = {}
    for file in sorted(files):
        source = file.read_text(encoding="utf-8")
        if "clause" not in source:
            continue
        for id in marked(ast.parse(source, str(file))):
            found.setdefault(id, []).append(file.relative_to(TESTS).as_posix())
    return found


@cache
def marks_of_the_suite() -> dict[str, list[str]]:
    return marks_of(TESTS.rglob("*.py"))


def test_the_list_is_complete_and_in_the_documents_order() -> None:
    parts = list(dict.fromkeys(clause.part for clause in read()))

    assert 129 == len(read())
    assert [
        "base",
        "auth",
        "templates",
        "filters and audience",
        "campaigns",
        "starting, sending, cancelling",
        "connection sessions",
        "events",
        "entrypoints, media, messages, forms",
        "advice to clients",
    ] == parts


def test_an_id_names_one_clause() -> None:
    ids = [clause.id for clause in read()]

    assert [] == sorted({id for id in ids if ids.count(id) > 1})


def test_a_clause_is_a_readable_sentence_with_its_choices_apart() -> None:
    clauses = read()

    assert [] == [each.id for each in clauses if not re.fullmatch(r"[a-z]+\.[a-z0-9-]+", each.id)]
    assert [] == [each for each in clauses if not each.text or each.text.strip() != each.text]
    assert [] == [each for each in clauses if "U:" in each.text]
    assert [] == [each for each in clauses if len(each.choices) != len(set(each.choices))]


def test_a_clause_has_either_a_quote_or_a_text() -> None:
    rows = YAML(typ="safe").load(
        (TESTS.parent / "mockserver" / "contract" / "clauses.yaml").read_text(encoding="utf-8")
    )

    assert [] == [row["id"] for row in rows if len({"quote", "text"} & row.keys()) != 1]


def test_a_quote_is_a_whole_sentence_of_the_document_at_its_line() -> None:
    quotes = [row for row in read() if row.is_quoted]

    assert [] == misquoted(quotes)
    assert [] == [row.id for row in quotes if len(row.text) > QUOTE_MAX_CHARS]


def test_what_is_word_for_word_in_the_document_is_a_quote() -> None:
    digests = {row.digest for row in read_index()}
    ours = [row for row in read() if not row.is_quoted]

    assert [] == [row.id for row in ours if any(part.digest in digests for part in sentences(row.text))]


def test_a_quote_is_shown_with_its_line_and_our_words_with_all_of_theirs() -> None:
    quoted, ours = sentence_of("start.not-draft"), sentence_of("send.counts")

    assert '"Campaign not in `draft`: `CAMPAIGN_NOT_DRAFT`." (L296 of the API document)' == str(quoted)
    assert (
        "in our words: sentCount + failedCount <= targetCount; both only grow. (L101-103 of the API document)"
        == str(ours)
    )
    assert sentence_of("start.not-drafted") is None


def test_only_the_macro_of_a_sentence_makes_a_quotation() -> None:
    templates = (TESTS.parent / "mockserver").rglob("*.html")

    assert ["problem.html"] == [file.name for file in templates if "<blockquote" in file.read_text(encoding="utf-8")]


def test_every_open_point_of_a_clause_is_a_choice_or_a_recorded_decision() -> None:
    from mockserver.contract.choices import CHOICES, FIXED

    undecided = {
        f"{clause.id}: {choice}" for clause in read() for choice in clause.choices if choice not in {*CHOICES, *FIXED}
    }

    assert set() == undecided


def test_every_clause_is_shown_by_a_test() -> None:
    shown = marks_of_the_suite()
    missing = [clause.id for clause in read() if clause.id not in shown]

    assert not missing, f"{len(missing)} clauses that no test is marked with: {', '.join(missing)}"


def test_every_mark_names_a_clause() -> None:
    clauses = {clause.id for clause in read()}

    assert {} == {id: files for id, files in marks_of_the_suite().items() if id not in clauses}
