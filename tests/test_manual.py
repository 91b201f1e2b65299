"""The pages of the documentation without a network: `mockserver docs`, `mockserver skill`, and the site's llms.txt."""

from __future__ import annotations

import re

import pytest

from docs import conf
from mockserver.cli import main
from tests.wheels import ROOT

PAGES = {
    path.relative_to(ROOT / "docs").with_suffix("").as_posix()
    for folder in ("docs", "docs/reference")
    for path in (ROOT / folder).glob("*.md")
} - {"index"}


def test_the_list_has_every_page_with_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["docs"])
    lines = capsys.readouterr().out.splitlines()

    assert len(PAGES) == len(lines)
    assert {line.split()[0]: len(line.split()) > 3 for line in lines} == dict.fromkeys(PAGES, True)


@pytest.mark.parametrize("topic", ["faults", "faults.md"])
def test_a_page_is_printed_as_markdown_without_the_markers_of_its_tests(
    topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == main(["docs", topic])
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")

    assert re.sub(r"(?m)^<!-- .* -->\n", "", page) == capsys.readouterr().out


def test_the_skill_is_the_quick_guide_under_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["docs", "quick"])
    page = capsys.readouterr().out
    assert 0 == main(["skill"])
    _, head, body = capsys.readouterr().out.split("---\n", 2)

    assert ["name: mockserver", "description"] == [head.splitlines()[0], head.splitlines()[1].partition(":")[0]]
    assert page == body.removeprefix("\n")


def test_every_command_that_the_quick_guide_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "quick.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"`mockserver ([a-z][a-z-]*)", page))
    topics = set(re.findall(r"mockserver docs ([a-z/-]+)|\| `([a-z-]+)` \|$", page, re.MULTILINE))

    assert {topic for found in topics for topic in found if topic} <= PAGES
    for name in sorted(commands):
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert 0 == end.value.code
    assert {"docs", "skill", "serve", "explore", "replay-calls", "choices", "clauses"} <= commands


def test_the_sites_llms_text_links_every_page() -> None:
    text = conf.llms_text()

    assert PAGES == set(re.findall(r"\]\(([\w/-]+)\.html\)", text))
    assert text.startswith("# mockserver\n\n> ")
    assert "<!--" not in text
