"""A run: every probe whose needs are met, in the table's order, then the surveys, then the report."""

from __future__ import annotations

from collections.abc import Callable

from mockserver.verify import report, temporary_campaigns
from mockserver.verify.context import NEEDS, Probe, RunContext, RunSettings, Stop, Unexpected
from mockserver.verify.passive_checks import RESPONSE_CHECKS, RUN_CHECKS
from mockserver.verify.probes import PROBES
from mockserver.verify.transport import HttpTransport, OutOfTime, RateLimiter

Progress = Callable[[int, int, str], None]


def verify(
    transport: HttpTransport,
    settings: RunSettings,
    pace: RateLimiter,
    base_url: str = "",
    progress: Progress | None = None,
) -> report.VerifyReport:
    """
    The report of one run against a service; what the run made is taken back by the time this returns.

    `progress` is told how many of all probes are done, and the name of the next.
    """
    visit = RunContext(transport, settings, pace, [watch.run for watch in RESPONSE_CHECKS])
    whys: dict[str, str] = {}
    stopped = _probe(visit, whys, progress or _unseen)
    pace.allow_cleaning()
    temporary_campaigns.clean_up(visit)
    for survey in RUN_CHECKS:
        _run(visit, survey, whys)
    return report.make(visit, base_url, whys, stopped)


def _unseen(done: int, total: int, name: str) -> None:
    """No progress is shown."""


def _probe(visit: RunContext, whys: dict[str, str], progress: Progress) -> str:
    """Run every probe whose needs are met; why the run ended early, or nothing."""
    stopped = ""
    for done, probe in enumerate(PROBES):
        progress(done, len(PROBES), probe.name)
        lacking = [NEEDS[need] for need in probe.needs if not visit.settings.has(need)]
        if lacking or stopped:
            _leave(probe, stopped or f"it takes {' and '.join(lacking)}", whys)
            continue
        try:
            _run(visit, probe, whys)
        except (Stop, OutOfTime) as end:
            stopped = str(end)
            _leave(probe, stopped, whys)
    progress(len(PROBES), len(PROBES), "")
    return stopped


def _run(visit: RunContext, probe: Probe, whys: dict[str, str]) -> None:
    """Run one probe; what it could not go on from is why the rest of it stays unseen."""
    visit.row = probe
    try:
        probe.run(visit)
    except Unexpected as end:
        _leave(probe, str(end), whys)
    except (LookupError, TypeError, ValueError, AttributeError) as failure:
        # Any service may be asked: an answer of another shape than a probe reads is its breach, judged by the watchers.
        last = visit.exchanges[-1] if visit.exchanges else None
        where = f"{last.method} {last.path}" if last else "the service"
        _leave(probe, f"the answer to {where} could not be read ({type(failure).__name__}: {failure})", whys)
    finally:
        visit.row = None


def _leave(probe: Probe, why: str, whys: dict[str, str]) -> None:
    for id in (*probe.clauses, *probe.choices):
        whys.setdefault(id, why)
