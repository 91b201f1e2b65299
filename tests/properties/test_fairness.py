"""A careful client has no finding, whatever happens to its calls: ordinary lives under random scripts and choices."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.endpoints import OPERATIONS
from mockserver.recordings.client import judge_client
from mockserver.recordings.reading import read_recording
from mockserver.testing.strategies import choices, scripts
from tests.depth import loaded_examples
from tests.explore import working_day
from tests.properties.playing import NOON

EXAMPLES_TIMES = 4  # of the examples of other laws: a false finding needs the right fault at the right call
LIVES = (
    working_day.launching,
    working_day.bursting,
    working_day.canceling,
    working_day.naming,
    working_day.reading,
    working_day.connecting,
    working_day.working_day,
)


def late() -> st.SearchStrategy[JSON]:
    """Draw a rule by which a call arrives after its client has given it up."""
    delay = st.sampled_from(["11s", "40s", "2m", "10m", "40m"])
    return st.builds(
        lambda on, nth, delay: {"on": on, "nth": nth, "do": {"delay": delay}},
        st.sampled_from([*OPERATIONS, "*"]),
        st.integers(1, 6),
        delay,
    )


@pytest.fixture(scope="module")
def server() -> Any:
    with MockServer() as server:
        yield server


@settings(max_examples=EXAMPLES_TIMES * loaded_examples())
@given(
    life=st.sampled_from(LIVES),
    script=st.one_of(scripts(at_most=3), st.lists(late(), min_size=1, max_size=3)),
    options=choices(at_most=4),
)
def test_a_careful_client_has_no_finding(
    server: MockServer,
    tmp_path_factory: pytest.TempPathFactory,
    life: Callable[[Sandbox], None],
    script: list[JSON],
    options: Any,
) -> None:
    with server.sandbox(now=NOON, choices=options) as sandbox:
        sandbox.apply({"script": script})
        with suppress(Exception):  # the client gives up
            life(sandbox)
        sandbox.advance("3h")

        assert [] == [finding.message for finding in sandbox.conduct.findings]
        for recording in (sandbox.log.har(), sandbox.log.journal):
            assert () == judged(tmp_path_factory.getbasetemp() / "recording.json", recording)


def judged(file: Path, recording: JSON) -> Any:
    file.write_text(json.dumps(recording), encoding="utf-8")
    return judge_client(read_recording(file)).findings
