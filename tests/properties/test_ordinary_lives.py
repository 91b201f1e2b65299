"""Ordinary lives of careful clients and apps under random scripts and choices: no finding, and each run is repeated by its document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.endpoints import OPERATIONS
from mockserver.judge.client.judge import judge
from mockserver.testing.report.replay import replay
from mockserver.testing.strategies import choices
from mockserver.trace.reading import read_recording
from tests.clients.calls import Busy
from tests.clients.planted import TROUBLE
from tests.depth import loaded_examples
from tests.properties import users
from tests.properties.playing import NOON
from tests.properties.scripts import scripts
from tests.runs.faults import working_day

Life = Callable[[Sandbox], None]
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


# Any other exception is a mistake of the life, whose end would make a careful client look careless.
GIVEN_UP = (*TROUBLE, Busy, AssertionError)


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


@contextmanager
def lived(server: MockServer, life: Life, script: list[JSON], options: dict[str, str]) -> Iterator[Sandbox]:
    """Enter a sandbox in which the client has done its task, or has given up."""
    with server.sandbox(now=NOON, choices=options) as sandbox:
        sandbox.apply({"script": script})
        with suppress(*GIVEN_UP):
            life(sandbox)
        sandbox.advance("3h")
        yield sandbox


SCRIPTS = st.one_of(scripts(at_most=3), st.lists(late(), min_size=1, max_size=3))


LIVES_OF_APPS = st.builds(
    partial,
    st.just(users.together),
    users=st.lists(
        st.builds(
            users.User,
            task=st.sampled_from(users.TASKS),
            begins_s=st.sampled_from([0, 1, 7, 60, 300]),
            every_s=st.sampled_from([5, 10, 30]),
            patience_s=st.sampled_from([20, 60, 300, 1800]),
            ending=st.sampled_from(users.ENDINGS),
        ),
        min_size=2,
        max_size=6,
    ),
)


@settings(max_examples=EXAMPLES_TIMES * loaded_examples())
@given(life=st.sampled_from(LIVES) | LIVES_OF_APPS, script=SCRIPTS, options=choices(at_most=4))
def test_a_careful_client_has_no_finding(
    server: MockServer,
    tmp_path_factory: pytest.TempPathFactory,
    life: Life,
    script: list[JSON],
    options: dict[str, str],
) -> None:
    file = tmp_path_factory.getbasetemp() / "recording.json"
    with lived(server, life, script, options) as sandbox:
        assert [] == [finding.message for finding in sandbox.conduct.findings]
        for recording in (sandbox.log.har(), sandbox.log.journal):
            file.write_text(json.dumps(recording), encoding="utf-8")
            assert () == judge(read_recording(file)).findings


@given(life=st.sampled_from((*LIVES, working_day.receiving)), script=SCRIPTS, options=choices(at_most=4))
def test_the_document_of_a_run_repeats_it(
    server: MockServer, life: Life, script: list[JSON], options: dict[str, str]
) -> None:
    with lived(server, life, script, options) as sandbox:
        document = sandbox.log.replay_document()

    assert [] == [entry for entry in replay(document) if entry.differences]
