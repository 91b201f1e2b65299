"""A service that keeps the document is never accused, whatever its choices: random lives of sandboxes, recorded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mockserver import MockServer, Sandbox
from mockserver.judge.service.judge import CHECKS, judge_scopes, judge_service
from mockserver.trace.reading import read_recording
from mockserver.trace.trace import Trace
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON, Provocation
from tests.depth import at_depth
from tests.recordings.random_lives import record
from tests.recordings.test_client import PROVOCATIONS, recording_of

LIVES = at_depth(12, 200)
# Only what is refused at creation by choice, or happens seldom, may be missing in a few lives.
SELDOM = {
    "campaigns.create",
    "cancel.unknown",
    "session.failed",
    "events.once",
    "base.tenant-scope",
    "entrypoints.read",
    "start.missing-variables",
}
# Careful clients that a rule answers with what the document forbids: a read before the cancel, an unknown session.
LIES = {
    "canceled_until_it_is_shown": ["cancel.processing"],
    "canceled_as_it_was_shown": ["cancel.processing"],
    "stopped_when_refused": ["session.read"],
}


def broken(recording: Trace) -> list[str]:
    return [clause.id for clause in judge_service(recording) if clause.verdict == "broken"]


@pytest.mark.law
def test_no_life_under_random_choices_is_contradictory(tmp_path: Path) -> None:
    """Every second life has two clients at a time, two of four have wire faults, and four of eight clocks that jump."""
    compared: Counter[str] = Counter()
    with MockServer() as server:
        for seed in range(LIVES):
            has_faults, has_jumps = seed // 2 % 2 == 1, seed // 4 % 2 == 1
            life = record(server, tmp_path, seed, clients=1 + seed % 2, faults=has_faults, jumps=has_jumps)
            assert (seed, []) == (seed, broken(life))
            compared.update(judge_scopes(life, "tenant", "trace").compared)
            for files in (["own.har"], ["own.json"], ["life.har", "own.har"]):
                own = read_recording(*(tmp_path / name for name in files))
                assert (seed, files, []) == (seed, files, broken(own))

    checks = [check for check in CHECKS if check.judge is not None and check.scope == "tenant"]
    clauses = {clause for check in checks for clause in check.clauses}
    assert set() == clauses - {*compared} - SELDOM


@pytest.mark.deep
@pytest.mark.mockserver(given=GIVEN, now=NOON)
@pytest.mark.parametrize("how", ["careless", "careful"])
@pytest.mark.parametrize("provocation", PROVOCATIONS, ids=lambda each: each.id)
def test_a_service_is_accused_of_what_its_rules_make_it_break_and_not_of_the_conduct_of_its_client(
    mockserver: Sandbox, provocation: Provocation, how: str, tmp_path: Path
) -> None:
    client = getattr(provocation, how)
    client(Client(mockserver))
    if mockserver.log.call_count:
        assert LIES.get(client.__name__, []) == broken(recording_of(mockserver, tmp_path))
