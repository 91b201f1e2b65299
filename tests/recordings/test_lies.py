"""Lies of a service that a recording shows: each is named with its clause and its exchange, and an honest life has none."""

from __future__ import annotations

from pathlib import Path

from mockserver._json import JSON
from mockserver.judge.service.judge import CHECKS, judge_scopes, judge_service
from mockserver.judge.service.verdicts import Breach
from mockserver.trace.exchange import DeliveryAttempt
from tests.harness.rows import each_row
from tests.recordings.honest import Bent
from tests.recordings.lies import ALLOWED, LIES, OF_ANSWERS, UNSHOWN, Lie, Unshown

OF_RECORDS = ("tenant", "trace")


def places(breach: Breach) -> set[tuple[str, int]]:
    return {("delivery" if isinstance(cited, DeliveryAttempt) else "exchange", cited.number) for cited in breach.cited}


def test_an_honest_life_has_no_contradiction(life: dict[str, JSON], tmp_path: Path) -> None:
    verdicts = judge_scopes(Bent(life).recording(tmp_path), "tenant", "trace")

    assert [] == verdicts.breaches
    assert {} == verdicts.excused


@each_row("lie", LIES)
def test_a_lie_is_named_with_its_clause_and_its_exchange(life: dict[str, JSON], lie: Lie, tmp_path: Path) -> None:
    bent = Bent(life)
    lie.bend(bent)
    recording = bent.recording(tmp_path)
    named = {row.clause: places(row) for row in reversed(judge_scopes(recording, "tenant", "trace").breaches)}

    assert lie.clause in named
    assert bent.index(lie.at, recording) in named[lie.clause]


@each_row("lie", OF_ANSWERS)
def test_a_lie_of_one_answer_breaks_its_clause(life: dict[str, JSON], lie: Lie, tmp_path: Path) -> None:
    bent = Bent(life)
    lie.bend(bent)
    recording = bent.recording(tmp_path)
    (broken,) = (clause for clause in judge_service(recording) if clause.verdict == "broken")

    assert (lie.clause, [{bent.index(lie.at, recording)}]) == (broken.id, [places(row) for row in broken.breaches])


@each_row("lie", [*UNSHOWN, *ALLOWED])
def test_a_lie_that_no_recording_shows_and_what_is_allowed_accuse_no_service(
    life: dict[str, JSON], lie: Unshown, tmp_path: Path
) -> None:
    bent = Bent(life)
    lie.bend(bent)

    assert [] == judge_scopes(bent.recording(tmp_path), "tenant", "trace").breaches


def test_each_clause_of_a_history_has_a_lie() -> None:
    """But for the id of an event: that of another session may be one that is not recorded."""
    checks = [check for check in CHECKS if check.judge is not None and check.scope in OF_RECORDS]
    judged = {clause for check in checks for clause in check.clauses}

    assert {"events.session-id"} == judged - {lie.clause for lie in LIES}
