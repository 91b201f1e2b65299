"""A run: every probe whose needs are supplied, in the table's order, and the recording of their calls."""

from __future__ import annotations

from dataclasses import dataclass

from mockserver._json import JSON
from mockserver.probe import temporary_campaigns
from mockserver.probe.context import Probe, RunContext, RunSettings, Unexpected
from mockserver.probe.probes import PROBES
from mockserver.probe.transport import HttpTransport, RateLimiter, Stop
from mockserver.trace.recorded import recorded_trace
from mockserver.trace.trace import Trace


@dataclass(frozen=True, kw_only=True)
class ProbeRun:
    """
    What a run has sent and received.

    Attributes:
        recording: Its calls, one after the other.
        incomplete: Why a probe was not run or not to its end, by its name.
        not_cleaned_up: One text for each record that the run created and could not remove.
        sessions: The number of sessions that it created, which expire by themselves.
        stopped: Why the run ended early, or empty.
    """

    recording: Trace
    incomplete: dict[str, str]
    not_cleaned_up: tuple[str, ...]
    sessions: int
    stopped: str

    def as_json(self) -> JSON:
        """Return what is not in the recording, for programs."""
        return {
            "stopped": self.stopped or None,
            "incomplete": self.incomplete,
            "notCleanedUp": list(self.not_cleaned_up),
            "sessionsLeftToExpire": self.sessions,
        }


def run_probes(
    transport: HttpTransport,
    settings: RunSettings,
    rate_limiter: RateLimiter,
    base_url: str = "",
    begin: int = 0,
) -> ProbeRun:
    """
    Run all probes against a service, and return what they sent and received.

    Before it returns, the run has canceled the campaigns that it created, or names them in `not_cleaned_up`.

    Args:
        transport: Sends the calls.
        settings: Keys, ids and permissions.
        rate_limiter: Spaces the calls and ends the run in time.
        base_url: The service's address, for the recording.
        begin: When the run begins, in microseconds since 1970, for the recording.
    """
    context = RunContext(
        transport=transport, settings=settings, rate_limiter=rate_limiter, source=base_url, begin=begin
    )
    incomplete: dict[str, str] = {}
    stopped = ""
    for probe in PROBES:
        lacking = ["--" + need.replace("_", "-") for need in probe.needs if not getattr(settings, need)]
        if stopped or lacking:
            incomplete[probe.name] = stopped or f"it needs {' and '.join(lacking)}"
            continue
        try:
            why = _run(context, probe)
        except Stop as end:
            why = stopped = context.redact(str(end))
        if why:
            incomplete[probe.name] = why
    rate_limiter.extend_for_clean_up()
    temporary_campaigns.clean_up(context)
    return ProbeRun(
        recording=recorded_trace(context.exchanges, prefix=base_url, sources=(base_url or "the service",), left_out={}),
        incomplete=incomplete,
        not_cleaned_up=tuple(map(context.redact, context.not_cleaned_up)),
        sessions=len(context.sessions),
        stopped=stopped,
    )


def _run(context: RunContext, probe: Probe) -> str:
    """Run one probe, and return why it could not continue; an empty text if it could."""
    try:
        probe.run(context)
    except Unexpected as end:
        return context.redact(str(end))
    except (LookupError, TypeError, ValueError, AttributeError) as failure:
        # A service may send a body of any shape; the judges of the trace judge the shape.
        last = context.exchanges[-1] if context.exchanges else None
        last_call = f"{last.method} {last.path}" if last else "the service"
        shape = f"another shape than the probe can read ({type(failure).__name__}: {failure})"
        return context.redact(f"the response to {last_call} has {shape}")
    return ""
