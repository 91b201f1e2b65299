"""The tables of `probe`: the probes, and what they import."""

from __future__ import annotations

from mockserver import Sandbox
from mockserver.probe.probes import PROBES
from tests.probe.worlds import run

# A run provokes no failure, waits for no end, uploads no file and sends no message.
NOT_MET = frozenset(
    (
        "auth.subscription",
        "base.internal",
        "base.rate-limit",
        "base.tenant-scope",
        "events.connected",
        "events.failed",
        "events.once",
        "events.session-id",
        "media.upload",
        "session.completed",
        "session.expired",
        "session.failed",
        "start.already",
    )
)


def test_the_names_of_probes_are_distinct() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES)


def test_a_full_run_meets_every_clause_that_a_recording_of_a_correct_service_shows(
    sandbox: Sandbox,
) -> None:
    probed = run(sandbox)

    assert NOT_MET == {clause.id for clause in probed.report.service.clauses if clause.why.startswith("not met")}
