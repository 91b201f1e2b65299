"""Blocks are read, sessions compared and outputs recorded as `tests/pages` describes it: a page that is wrong is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import examples, sessions
from tests.pages.blocks import Block, blocks_in

SESSION = "$ NAME=value\n$ echo $NAME &&\n> echo more\nvalue\nmore\n$ false\n$ printf 'a\\nb\\nc\\n'\na\n...\nc\n"


def block(text: str) -> Block:
    (only,) = blocks_in("page.md", text)
    return only


def fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}```\n"


def test_a_block_has_its_markers_its_kind_and_its_line() -> None:
    page = "# Page\n\n<!-- a remark of the page -->\n\n<!-- file: a.ini -->\n<!-- fails: test_x -->\n" + fenced(
        "ini", "[a]\n"
    )

    only = block(page)
    assert ("ini", 7, "[a]\n", {"file": "a.ini", "fails": "test_x"}) == (only.kind, only.line, only.text, only.markers)
    assert "[a]\n" == page[only.start : only.end]


def test_blocks_next_to_each_other_are_two() -> None:
    page = "<!-- file: a -->\n" + fenced("ini", "[a]\n") + "\n<!-- file: b -->\n" + fenced("python", "b\n")

    assert ["a", "b"] == [each.markers["file"] for each in blocks_in("page.md", page)]


@pytest.mark.skipif(bool(sessions.MISSING), reason="needs bash")
def test_a_session_shares_variables_and_checks_outputs_and_exit_statuses(tmp_path: Path) -> None:
    replayed = sessions.replay(block(fenced("console", SESSION)), tmp_path)

    assert [True, True, False, True] == [each.is_as_shown for each in replayed]


@pytest.mark.skipif(bool(sessions.MISSING), reason="needs bash")
def test_a_recorded_session_is_as_the_page_was_but_for_what_differs(tmp_path: Path) -> None:
    stale = SESSION.replace("value\nmore", "other").replace("...\nc", "...\nd")

    assert SESSION == sessions.recorded(sessions.replay(block(fenced("console", stale)), tmp_path))


@pytest.mark.skipif(bool(sessions.MISSING), reason="needs bash")
def test_a_refusal_of_the_mock_is_recognised(tmp_path: Path) -> None:
    session = "$ echo 'mockserver: got a; expected b'; exit 2\n$ echo mockserver: fine\n$ exit 1\n"

    assert [True, False, False] == [
        each.is_refused for each in sessions.replay(block(fenced("console", session)), tmp_path)
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a", "a\n", True),
        ("a", "ab", False),
        ("a.c", "abc", False),
        ("a\n...", "a\nb\nc", True),
        ("...\nd", "a\nb", False),
    ],
)
def test_lines_are_compared_exactly_and_dots_match_any(shown: str, printed: str, same: bool) -> None:
    assert same == sessions.is_shown(shown, printed)


@pytest.mark.parametrize(
    ("page", "problem_count"),
    [
        (fenced("python", "def test_a():\n    assert True\n"), 0),
        (fenced("python", "def test_a():\n    assert False\n"), 1),
        ("<!-- fails: test_a -->\n" + fenced("python", "def test_a():\n    assert True\n"), 1),
        (fenced("python", "print('a')\n") + fenced("text", "a\n"), 0),
        (fenced("python", "print('a')\n") + fenced("text", "b\n"), 1),
        (fenced("python", "raise SystemExit(1)\n"), 1),
    ],
    ids=[
        "passes",
        "fails",
        "passes where a failure is declared",
        "prints",
        "prints something else",
        "ends with a status",
    ],
)
def test_an_example_that_differs_from_its_page_is_a_problem(
    page: str, problem_count: int, pytester: pytest.Pytester
) -> None:
    (example,) = examples.examples(list(blocks_in("page.md", page)))

    assert problem_count == len(list(examples.problems(example, examples.run(example, pytester))))
