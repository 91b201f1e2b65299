"""`python -m tests.document_diff` names, for each sentence of a new text of the API document, what of the contract it touches."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.contract.errors import ERRORS
from mockserver.judge.client.rules import RULES
from tests.document_diff.__main__ import main
from tests.document_diff.comparison import compare, moved_lines, report, touched
from tests.document_diff.references import FILES, ROOT, lines_of, references, renumbered
from tests.document_diff.sentences import index_text, read_index, sentences

# A document in small: each clause is a sentence, one per line, below the heading of its part.
ROWS = clauses.read()
LINES = [line for part in dict.fromkeys(row.part for row in ROWS) for line in [f"## {part}", *(f"- {row.text}" for row in ROWS if row.part == part)]]  # fmt: skip
DOCUMENT = "\n".join(LINES)
REFERENCES = {LINES.index(f"- {row.text}") + 1: {"clauses": (row.id,), "choices": row.choices} for row in ROWS}

# Twelve edits: the text, what replaces it, and what the report says of it.
EDITS = (
    ("required, 1-100 characters", "required, 1-200 characters", "changed", "campaigns.name", "name-uniqueness-scope"),
    ("auth.denied", None, "removed", "auth.denied", "cross-tenant-code"),
    ("optional, at most 2000, nullable", "optional, at most 4000, nullable", "changed", "campaigns.description", ""),
    ("an interval of 10-30", "an interval of 5-30", "changed", "advice.poll-execution", ""),
    ("creation plus 20 minutes", "creation plus 30 minutes", "changed", "session.expires-at", ""),
    ("1-2000 characters, https", "1-4000 characters, https", "changed", "session.return-url", ""),
    ("cancel.draft", None, "removed", "cancel.draft", "cancel-draft"),
    ("the 17 fields with", "the 18 fields with", "changed", "filters.fields", ""),
    ("Unknown id: `MESSAGE_TEMPLATE_NOT", "Unknown id: `TEMPLATE_NOT", "changed", "templates.unknown", ""),
    ("forms.policy", None, "removed", "forms.policy", ""),
    ("one event a final session.", "at least one event a final session.", "changed", "events.once", "wh-duplicates"),
    ("204 without content; execution", "200 with the campaign; execution", "changed", "cancel.processing", ""),
)


def edited(document: str) -> str:
    for old, new, *_ in EDITS:
        if new is None:
            text = next(row.text for row in ROWS if row.id == old)
            document = "\n".join(line for line in document.splitlines() if line != f"- {text}")
        else:
            assert 1 == document.count(old)
            document = document.replace(old, new)
    return document


def test_twelve_edits_are_found_with_their_clauses_and_choices() -> None:
    changes = compare(sentences(DOCUMENT), sentences(edited(DOCUMENT)))
    found = {}
    for change in changes:
        rows = touched(change, REFERENCES)
        found[rows["clauses"][0]] = (change.kind, rows.get("choices", ()))

    assert len(EDITS) == len(changes) == len(found)
    for _, _, kind, clause, choice in EDITS:
        assert kind == found[clause][0]
        assert not choice or choice in found[clause][1]


def test_a_changed_sentence_has_both_texts_and_what_it_touches() -> None:
    old, new = ("no file: MEDIA_UPLOAD_EMPTY.", "no file: MEDIA_UPLOAD_MISSING.")
    (change,) = compare(sentences(old), sentences(new))

    assert [
        "changed L1",
        f"  was: {old}",
        f"  is: {new}",
        "  clauses: media.empty",
        "  codes: MEDIA_UPLOAD_EMPTY",
        "  not in the contract: MEDIA_UPLOAD_MISSING",
    ] == list(report(change, {1: {"clauses": ("media.empty",)}}))


def test_a_new_sentence_names_the_code_and_the_path_that_the_contract_lacks() -> None:
    old = "GET `/v1/campaigns` lists them."
    (change,) = compare(sentences(old), sentences(f"{old}\nGET `/v1/archive` fails with ARCHIVE_CLOSED."))

    assert [
        "new L2, after L1",
        "  is: GET `/v1/archive` fails with ARCHIVE_CLOSED.",
        "  clauses of the sentence before: campaigns.list",
        "  not in the contract: ARCHIVE_CLOSED, /v1/archive",
    ] == list(report(change, {1: {"clauses": ("campaigns.list",)}}))


def test_a_sentence_names_its_codes_and_operations() -> None:
    (row,) = sentences("| POST | `/v1/campaigns/{id}/start` | `CAMPAIGN_NOT_DRAFT`, or `CAMPAIGN_SOLD` |")

    assert ("CAMPAIGN_NOT_DRAFT", "startCampaign") == row.names


def test_a_sentence_that_has_moved_touches_nothing() -> None:
    changes = compare(sentences("One.\nTwo.\nThree."), sentences("Two.\nThree.\nOne."))

    assert [("moved", 1, 3)] == [(row.kind, row.old and row.old.line, row.new and row.new.line) for row in changes]
    assert ["moved L1, now L3", "  was: One.", "  is: One."] == list(report(changes[0], {1: {"clauses": ("a.b",)}}))


@pytest.mark.parametrize("text", ["1. One.\n2. Two.", "- One.   Two.", "One.\n\n| --- | --- |\n| Two. |"])
def test_marks_of_lists_and_tables_and_white_space_are_no_difference(text: str) -> None:
    assert [] == compare(sentences("One. Two."), sentences(text))


def test_lines_are_renumbered_where_the_tables_refer_to_them() -> None:
    lines = moved_lines(sentences("One.\nTwo.\nThree."), sentences("Zero.\nOne.\nOther.\nThree."))

    assert {1: 2, 2: 3, 3: 4} == lines
    assert "L2, L3-4; L2-L4, L9" == renumbered("L1, L2-3; L1-L3, L9", lines)


def test_every_file_of_the_package_that_refers_to_lines_is_renumbered() -> None:
    files = [*(ROOT / "mockserver").rglob("*.py"), *(ROOT / "mockserver").rglob("*.yaml")]
    found = {file for file in files if any(lines_of(file.read_text(encoding="utf-8")))}

    assert set() == found - {*FILES}


def test_ranges_of_lines_are_read() -> None:
    assert [7, 85, 86, 87, 296, 297] == list(lines_of("L7; L85-87, L296-L297"))


def test_every_clause_every_choice_and_every_rule_of_conduct_has_lines_that_the_document_has() -> None:
    last = max(row.line for row in read_index())
    rows = {row.id: row.where for row in clauses.read()} | {row.id: row.where for row in CHOICES.values()}
    rows |= {row.id: row.line for row in RULES.values()}

    assert [] == [id for id, where in rows.items() if not [*lines_of(where)]]
    assert [] == [id for id, where in rows.items() if any(line > last for line in lines_of(where))]


def test_every_kind_of_row_refers_to_lines() -> None:
    assert {"clauses", "choices", "rules of conduct", "schemas"} == {
        kind for row in references().values() for kind in row
    }
    assert "createCampaign.request" in references()[269]["schemas"]


def test_every_error_code_is_in_the_index() -> None:
    assert set(ERRORS) == {name for row in read_index() for name in row.names if name.isupper()}


@pytest.mark.deep
def test_the_command_prints_the_changes_and_the_tests_of_their_clauses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, index = tmp_path / "old.md", tmp_path / "new.md", tmp_path / "index.txt"
    old.write_text(DOCUMENT, encoding="utf-8")
    new.write_text(edited(DOCUMENT), encoding="utf-8")
    index.write_text(index_text(sentences(DOCUMENT)), encoding="utf-8")
    monkeypatch.setattr("tests.document_diff.sentences.INDEX", index)
    monkeypatch.setattr("tests.document_diff.__main__.references", lambda: REFERENCES)

    assert 1 == main([str(new), "--old", str(old)])
    out = capsys.readouterr().out
    assert f"12 of {len(sentences(edited(DOCUMENT)))} sentences differ; 12 clauses are touched\n" in out
    assert "  campaigns.name (L39, L269, L272, L411, L430): contract/test_schema_verdicts.py, " in out
    assert 0 == main([str(old)])
    with pytest.raises(SystemExit):
        main([str(old), "--old", str(new)])


def test_a_new_text_is_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, new, table = (tmp_path / name for name in ("index.txt", "new.md", "table.py"))
    index.write_text(index_text(sentences("One.\nTwo.")), encoding="utf-8")
    new.write_text("Zero.\nOne.\nTwo.", encoding="utf-8")
    table.write_text("where = 'L1, L2'\n", encoding="utf-8")
    monkeypatch.setattr("tests.document_diff.sentences.INDEX", index)
    monkeypatch.setattr("tests.document_diff.__main__.INDEX", index)
    monkeypatch.setattr("tests.document_diff.__main__.FILES", (table,))

    assert 1 == main([str(new), "--adopt"])
    assert "where = 'L2, L3'\n" == table.read_text(encoding="utf-8")
    assert 0 == main([str(new)])
