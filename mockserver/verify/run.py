"""A run: every probe whose needs are supplied, in the table's order, then the checks of the whole run, then the report."""

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
    rate_limiter: RateLimiter,
    base_url: str = "",
    progress: Progress | None = None,
) -> report.VerifyReport:
    """
    Run all probes against a service and return the report.

    Before it returns, the run has canceled the campaigns that it created, or reports them in `not_cleaned_up`.

    Args:
        transport: Sends the calls.
        settings: Keys, ids and permissions.
        rate_limiter: Spaces the calls and ends the run in time.
        base_url: The service's address, for the report.
        progress: Gets how many probes are done, how many there are, and the name of the next one.
    """
    context = RunContext(transport, settings, rate_limiter, [check.run for check in RESPONSE_CHECKS])
    reasons: dict[str, str] = {}
    show = progress or (lambda *_: None)
    stopped = ""  # why the run ended early
    for done, probe in enumerate(PROBES):
        show(done, len(PROBES), probe.name)
        lacking = [NEEDS[need] for need in probe.needs if not settings.has(need)]
        if lacking or stopped:
            _give_reason(probe, stopped or f"it needs {' and '.join(lacking)}", reasons)
            continue
        try:
            _run(context, probe, reasons)
        except (Stop, OutOfTime) as end:
            stopped = str(end)
            _give_reason(probe, stopped, reasons)
    show(len(PROBES), len(PROBES), "")
    rate_limiter.extend_for_clean_up()
    temporary_campaigns.clean_up(context)
    for check in RUN_CHECKS:
        _run(context, check, reasons)
    return report.make(context, base_url, reasons, stopped)


def _run(context: RunContext, probe: Probe, reasons: dict[str, str]) -> None:
    """Run one probe; if it cannot continue, its remaining clauses and choices get the reason."""
    context.row = probe
    try:
        probe.run(context)
    except Unexpected as end:
        _give_reason(probe, str(end), reasons)
    except (LookupError, TypeError, ValueError, AttributeError) as failure:
        # A service may send a body of any shape; the response checks have judged the shape already.
        last = context.exchanges[-1] if context.exchanges else None
        last_call = f"{last.method} {last.path}" if last else "the service"
        _give_reason(
            probe,
            f"the response to {last_call} has another shape than the probe can read ({type(failure).__name__}: {failure})",
            reasons,
        )
    finally:
        context.row = None


def _give_reason(probe: Probe, why: str, reasons: dict[str, str]) -> None:
    for id in (*probe.clauses, *probe.choices):
        reasons.setdefault(id, why)
