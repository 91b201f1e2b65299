"""
Code blocks of README.md, CONTRIBUTING.md, AGENTS.md and the pages in docs/, with the markers above them.

A marker is an HTML comment on the lines directly above a block:

    <!-- not run: REASON -->   the block is only checked for syntax
    <!-- deep: REASON -->      the block runs in the deep run alone, in a process of its own
    <!-- fails: test_name -->  this test of the block fails; a `text` block below quotes its report
    <!-- file: NAME -->        the block is this file, below the folder of the next Python block, or of all JavaScript blocks
    <!-- page file: NAME -->   the block is this file, next to each Python block below
    <!-- newcomer: NAME -->    a set-up line that `.ci/run` and newcomers run
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.wheels import ROOT

KINDS = frozenset(
    {
        "console",
        "go",
        "ini",
        "java",
        "javascript",
        "json",
        "mermaid",
        "php",
        "python",
        "ruby",
        "sh",
        "text",
        "toml",
        "typescript",
        "yaml",
    }
)
RECORDING = "SUITE_RECORD_PAGES"
MARKERS = frozenset({"deep", "not run", "fails", "file", "newcomer", "page file"})

_FENCE = re.compile(
    r"^(?P<head>(?:<!-- [^\n]* -->\n)*)```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_MARKER = re.compile(r"<!-- ([a-z ]+)(?:: (.*))? -->")


class Block(NamedTuple):
    """One fenced block: `page` relative to the checkout, `line` of its opening fence, `start` and `end` of its text."""

    page: str
    number: int
    line: int
    kind: str
    text: str
    markers: Mapping[str, str]
    start: int
    end: int

    @property
    def is_run(self) -> bool:
        return "not run" not in self.markers

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Every page but those of the reference, whose examples are those of the docstrings; relative to the checkout."""
    paths = [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md")),
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    return [path.relative_to(ROOT).as_posix() for path in paths]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_in(page: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a page's text in order."""
    for number, match in enumerate(_FENCE.finditer(text)):
        line = text.count("\n", 0, match.end("head")) + 1
        markers = {name: value or "" for name, value in _MARKER.findall(match["head"])}
        kind, body = match["kind"].strip(), match["text"]
        yield Block(page, number, line, kind, body, markers, match.start("text"), match.end("text"))


def blocks(page: str) -> list[Block]:
    return list(blocks_in(page, read(page)))


def every_block(*kinds: str) -> list[Block]:
    """The blocks of these kinds on all pages."""
    return [block for page in pages() for block in blocks(page) if block.kind in kinds]


def is_recording() -> bool:
    """Whether this run writes what it sees to the pages instead of comparing it."""
    return RECORDING in os.environ


def record(block: Block, text: str) -> None:
    """Replace the text of a block on its page."""
    page = read(block.page)
    now = blocks(block.page)[block.number]
    changed = page[: now.start] + text + page[now.end :]
    if changed != page:
        (ROOT / block.page).write_text(changed, encoding="utf-8", newline="\n")
