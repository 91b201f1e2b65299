"""
The report of each case is the one that is kept, and the one of a server in another process; `python -m tests.reports` writes all of them again.
"""

from __future__ import annotations

import ast
import difflib
from pathlib import Path
from typing import NamedTuple

import pytest
import requests

from mockserver import MockServer
from tests.depth import at_depth
from tests.harness.rows import each_row
from tests.reports.run import CASES, COMMAND, GOLDEN, golden, reports

NAMES = [
    node.name.removeprefix("test_")
    for node in ast.parse(CASES.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
]
# What the receiver, the stopwatch or the frozen clock of this process takes part in, what has an url in a short answer, and
# what a server counts for all its sandboxes.
OF_THIS_PROCESS = (
    "accepted_event", "event_before_the_answer", "event_for_nobody", "forged_event", "frozen_clock", "late_event",
    "lost_event", "lost_prefix", "name_that_nothing_resolves", "rate_limit_on_a_frozen_clock", "receiver_asserts",
    "receiver_is_at_another_path", "receiver_raises", "receiver_raises_at_a_forged_event",
    "receiver_raises_at_an_unknown_event", "receiver_refuses", "receiver_refuses_by_age",
    "receiver_refuses_more_than_a_forged_event", "receiver_returns_an_object", "repeated_event", "stopped_by_a_timeout",
    "told_of_a_wait", "two_clocks",
)  # fmt: skip
COMPARED = [name for name in NAMES if name not in OF_THIS_PROCESS][:: at_depth(10, 1)]
LINK = "while the sandbox is open: "


class Run(NamedTuple):
    """The reports of the cases by name, and the folder of their documents."""

    texts: dict[str, str]
    folder: Path

    def document(self, name: str) -> str | None:
        files = self.folder.glob(f".mockserver/failures/cases.py.test_{name}.yaml")
        return next((file.read_text(encoding="utf-8") for file in files), None)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("here")
    return Run(reports(folder), folder)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("there")
    selected = ("-k", " or ".join(f"test_{name}" for name in COMPARED))
    with MockServer() as server:
        run = Run(reports(folder, "--mockserver-url", server.url, *selected), folder)
        assert {"sandboxes": []}.items() <= requests.get(f"{server.url}/_mock/sandboxes").json().items()
    return run


@each_row("name", NAMES)
def test_a_report_is_the_one_that_is_kept(here: Run, name: str) -> None:
    kept, now = golden(name).splitlines(), here.texts.get(name, "").splitlines()
    changes = list(difflib.unified_diff(kept, now, f"golden/{name}.txt", "now", lineterm=""))
    if changes:
        pytest.fail("\n".join([f"the report has changed; if it is better, run {COMMAND}", *changes]), pytrace=False)
    assert kept


def test_each_kept_report_has_its_case() -> None:
    assert sorted(NAMES) == sorted(Path(file).stem for file in GOLDEN.glob("*.txt"))


@pytest.mark.law
@each_row("name", COMPARED)
def test_a_remote_report_equals_the_one_in_process_but_for_the_link(here: Run, there: Run, name: str) -> None:
    texts = [run.texts[name].splitlines() for run in (here, there)]
    links = [line for line in texts[1] if line.startswith(LINK)]

    assert [line for line in texts[0] if line not in links] == [line for line in texts[1] if line not in links]
    assert here.document(name) == there.document(name)
    assert links
