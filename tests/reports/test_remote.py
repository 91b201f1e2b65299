"""A case against a server in another process has the report and the document that it has in its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from mockserver import MockServer
from tests.depth import at_depth
from tests.harness.rows import each_row
from tests.reports.run import reports
from tests.reports.test_golden import NAMES

# What the receiver, the stopwatch or the frozen clock of this process takes part in, what has an url in a short answer, and
# what a server counts for all its sandboxes.
OF_THIS_PROCESS = (
    *(
        "accepted_event",
        "event_before_the_answer",
        "event_for_nobody",
        "forged_event",
        "frozen_clock",
        "late_event",
        "lost_event",
    ),
    *(
        "lost_prefix",
        "name_that_nothing_resolves",
        "rate_limit_on_a_frozen_clock",
        "receiver_asserts",
        "receiver_is_at_another_path",
        "receiver_raises",
    ),
    *("receiver_returns_an_object",),
    *("receiver_raises_at_a_forged_event", "receiver_raises_at_an_unknown_event", "receiver_refuses"),
    *("receiver_refuses_more_than_a_forged_event",),
    *("receiver_refuses_by_age", "repeated_event", "stopped_by_a_timeout", "told_of_a_wait", "two_clocks"),
)
COMPARED = [name for name in NAMES if name not in OF_THIS_PROCESS][:: at_depth(10, 1)]
SELECTED = ("-k", " or ".join(f"test_{name}" for name in COMPARED))
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
    return Run(reports(folder, *SELECTED), folder)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("there")
    with MockServer() as server:
        run = Run(reports(folder, "--mockserver-url", server.url, *SELECTED), folder)
        left: dict[str, Any] = requests.get(f"{server.url}/_mock/sandboxes").json()
        assert [] == left["sandboxes"]
    return run


@pytest.mark.law
@each_row("name", COMPARED)
def test_a_remote_report_equals_the_one_in_process_but_for_the_link(here: Run, there: Run, name: str) -> None:
    texts = [run.texts[name].splitlines() for run in (here, there)]
    links = [line for line in texts[1] if line.startswith(LINK)]

    assert [line for line in texts[0] if line not in links] == [line for line in texts[1] if line not in links]
    assert here.document(name) == there.document(name)
    assert links
