"""
Python blocks of the pages, run in an empty project.

A block with tests is a test file; any other block is a program.
A `text` block below quotes what the Python block above it prints: the first lines of the report if its test fails.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
import yaml  # noqa: F401 - its C part cannot be imported twice, as a session in this process would

from tests.pages.blocks import Block
from tests.testing.conftest import COMPANY, PLUGIN, WITHOUT_CACHE, run_in_process
from tests.wheels import ROOT, attempt

_ARGUMENTS = (*WITHOUT_CACHE, "-W", "error", "--strict-config", "--strict-markers", "--junit-xml=results.xml")
_ASYNCIO = ("-p", "pytest_asyncio.plugin")  # whose own name `COMPANY` blocks
_REPORT = re.compile(r"^-+ mockserver(?:: \w+)? -+\n(.*)", re.MULTILINE | re.DOTALL)
_DOTS = "..."
_TEST = re.compile(r"^(?: {4})?(?:async )?def (test_\w+)", re.MULTILINE)


class Example(NamedTuple):
    """A Python block with the files that it needs and the block that quotes what it prints."""

    block: Block
    files: Mapping[str, str]
    quote: Block | None


class Outcome(NamedTuple):
    """Failed and passed tests of an example by name, without the parts in brackets, and what was printed."""

    failed: frozenset[str]
    passed: frozenset[str]
    printed: str


def examples(blocks: list[Block]) -> Iterator[Example]:
    """Yield the Python blocks of a page that run."""
    files: dict[str, str] = {}
    of_page: dict[str, str] = {}
    runnable = [block for block in blocks if block.is_run]
    for block, following in zip_longest(runnable, runnable[1:]):
        if "page file" in block.markers:
            of_page[block.markers["page file"]] = block.text
        elif "file" in block.markers:
            files[block.markers["file"]] = block.text
        elif block.kind == "python":
            quote = following if following is not None and following.kind == "text" else None
            yield Example(block, of_page | files, quote)
            files = {}


def run(example: Example, pytester: pytest.Pytester) -> Outcome:
    """Run an example in the folder of `pytester`: tests in this process; programs, failing tests and the deep run's own in another."""
    for name, text in example.files.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not _TEST.search(example.block.text):
        return _run_program(example.block, pytester)
    (pytester.path / "test_example.py").write_text(example.block.text, encoding="utf-8")
    if {"fails", "deep"} & example.block.markers.keys():
        asyncio = _ASYNCIO if "asyncio_mode" in example.files.get("pytest.ini", "") else ()
        result = pytester.runpytest_subprocess(*PLUGIN, *COMPANY, *asyncio, *_ARGUMENTS)
    else:
        result = run_in_process(pytester, *_ARGUMENTS)
    results = pytester.path / "results.xml"
    cases = list(ElementTree.parse(results).iter("testcase")) if results.exists() else []
    failed = frozenset(_name(case) for case in cases if case.findall("failure") + case.findall("error"))
    return Outcome(failed, frozenset(map(_name, cases)) - failed, result.stdout.str() + result.stderr.str())


def _run_program(block: Block, pytester: pytest.Pytester) -> Outcome:
    command = (sys.executable, "-W", "error", "-c", block.text)
    done = attempt(*command, cwd=pytester.path, PYTHONPATH=str(ROOT), NO_PROXY="*")
    return Outcome(frozenset({"the program"} if done.returncode else ()), frozenset(), done.stdout + done.stderr)


def _name(case: ElementTree.Element) -> str:
    return case.get("name", "").partition("[")[0]


def problems(example: Example, outcome: Outcome) -> Iterator[str]:
    """Yield what differs from the page: tests that fail or do not run, and lines that are not printed."""
    declared = frozenset(_TEST.findall(example.block.text))
    expected = frozenset(example.block.markers.get("fails", "").split())
    if expected != outcome.failed or declared - expected != outcome.passed:
        yield f"failed {sorted(outcome.failed)}, passed {sorted(outcome.passed)}\n{outcome.printed}"
    if example.quote is not None and example.quote.text != quoted(example.quote, outcome):
        yield f"{example.quote} differs; got\n{quoted(example.quote, outcome)}"


def quoted(quote: Block, outcome: Outcome) -> str:
    """
    The lines that the page quotes: the first ones of the report if a test failed, else all that was printed.

    Of what was printed, too, only the first lines if the page ends with three dots.
    """
    report, lines = _REPORT.search(outcome.printed), quote.text.splitlines()
    if report is not None:
        return "".join(f"{line.rstrip()}\n" for line in report[1].splitlines()[: len(lines)])
    if lines[-1] != _DOTS:
        return outcome.printed
    return "".join(f"{line}\n" for line in [*outcome.printed.splitlines()[: len(lines) - 1], _DOTS])
