"""
What a run ends with, and the verdict on it: whether some serial run ends in the same way.

1. Records are compared by what a client can see of them, without ids, instants and counts that the clock decides, after
   everything that is due has been done.
2. A finding on conduct counts if one client has made all the calls that prove it: what two careful clients do together is no
   breach.
3. A refused call is an outcome, and so is an exception that a serial run has too.
4. With a fault whole clients must not create more records than in the serial runs without it. What is sent may be more, since
   a fault can let a campaign go on that another client would have canceled; and so may drafts, if their clients got the
   answers and have ended with an exception.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core import ledger
from mockserver.core.operations.sending import counts
from mockserver.core.run import Run
from mockserver.core.scheduler import advance_step, next_due
from mockserver.core.state.records import Campaign, Execution, Session
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.judge.check import Finding
from mockserver.judge.client.judge import judge
from mockserver.judge.client.rules import RULES
from mockserver.testing.runs.bounds import NEED
from mockserver.testing.runs.faults.effects import created
from mockserver.testing.runs.findings import Cause, describe
from mockserver.testing.runs.orders.planned import OrderPlan
from mockserver.testing.runs.orders.played import Played
from mockserver.testing.runs.traced_calls import ID, INSTANT
from mockserver.trace.of_sandbox import trace_of
from mockserver.trace.trace import Trace

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

ORDER: Final = ("duplicate", "breach", "unserial", "crashed", "stuck", "check")
_SEVERE = 2
_CREATED: Final = ("executions", "campaigns", "sessions")
_UUID = re.compile(r"\b[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\b", re.IGNORECASE)
_PORT = re.compile(r"http://127\.0\.0\.1:\d+")
_NUMBER = re.compile(r"\d+")
_SHOWN = 3  # records of a difference
_TIMERS_MAX: Final = 10_000  # until nothing is due in the copy of a sandbox


@dataclass(frozen=True, kw_only=True)
class OrderOutcome:
    """
    A run by a plan, and what it ends with.

    Attributes:
        plan: What it was to be.
        played: Its steps, and the exceptions with which clients ended.
        sandbox: As the run has left it.
        counts: Of duplicate executions, executions, campaigns, sessions and sends.
        abandoned: The number of drafts whose clients got the answer and have ended with an exception.
        records: The records that clients can change, as texts in order.
        findings: On conduct, of severity 1 or 2, by client.
        errors: The exceptions with which clients ended, as texts.
        refused: The last call of each such client with its error, such as `startCampaign 422 CAMPAIGN_NOT_DRAFT`, if it was refused.
        check: How the user's check failed.
    """

    plan: OrderPlan
    played: Played
    sandbox: Sandbox
    counts: Mapping[str, int]
    abandoned: int
    records: tuple[str, ...]
    findings: Sequence[tuple[str, Finding]]
    errors: Mapping[str, str]
    refused: Mapping[str, str]
    check: str | None


def read_outcome(plan: OrderPlan, played: Played, sandbox: Sandbox, check: BaseException | None) -> OrderOutcome:
    """
    Return what a run ends with.

    Args:
        plan: What the run was to be.
        played: The run.
        sandbox: As it has left it. Its address is not that of the next one; nor are those of the clients' ports.
        check: The exception of the user's check.
    """
    hosted = sandbox.local(NEED)
    with hosted.sandbox.lock:
        run, idle = Run.of(hosted.sandbox), Run.of(_with_everything_due(hosted.sandbox))
        owners, raised, trace = played.owners, played.raised, trace_of(run)
        made = list(created(trace))
        numbers = Counter(what for what, _, _ in made)
        drafts = {campaign.id for _, campaign in idle.records("campaign") if campaign.status == CAMPAIGN.initial}
        abandoned = (
            record_id in drafts and call.was_received and owners.get(call.number) in raised
            for _, record_id, call in made
        )
        duplicates = ledger.duplicate_executions(idle, ledger.creating_exchanges(idle))
        sends = sum(counts(execution.schedule, idle.now).sent for _, execution in idle.records("execution"))
        return OrderOutcome(
            plan=plan,
            played=played,
            sandbox=sandbox,
            counts={
                "duplicate executions": len(duplicates),
                **{what: numbers[what] for what in _CREATED},
                "sends": sends,
            },
            abandoned=sum(abandoned),
            records=tuple(sorted(_records(idle))),
            findings=list(_findings(trace, owners, is_whole=not raised and played.stuck is None)),
            errors={name: _described(failure, hosted.base_url) for name, failure in raised.items()},
            refused=_refused(run, owners, raised),
            check=None if check is None else _described(check, hosted.base_url),
        )


def _with_everything_due(state: SandboxState) -> SandboxState:
    """Return a copy of a sandbox in which every timer has fired. Lock: the caller holds it."""
    copy = state.clone()
    with suppress(ValueError):  # an effect of a rule needs a server, or the calendar ends
        for _ in range(_TIMERS_MAX):
            if next_due(copy) is None:
                break
            advance_step(copy, None)
    return copy


def _described(failure: BaseException, base_url: str) -> str:
    return _PORT.sub("{base_url}", describe(failure, base_url))


def _refused(run: Run, owners: Mapping[int, str], names: Iterable[str]) -> dict[str, str]:
    last = {owners.get(each.n): each for each in run.exchanges}
    refused: dict[str, str] = {}
    for name in names:
        call = last.get(name)
        if call is not None and call.error is not None:
            refused[name] = f"{call.operation or call.call.method} {call.status} {call.error.code}"
    return refused


def _findings(trace: Trace, owners: Mapping[int, str], *, is_whole: bool) -> Iterator[tuple[str, Finding]]:
    """Yield the severe findings, each with the client that has made all the calls which prove it."""
    for finding in judge(trace).findings:
        by = {owners.get(number) for number in finding.exchanges}
        client = by.pop() if len(by) == 1 else None
        is_severe = finding.severity <= _SEVERE and (is_whole or not RULES[finding.rule].of_end)
        if client is not None and is_severe:
            yield client, finding


def _records(run: Run) -> Iterator[str]:
    """Yield each record that clients can change, as text without ids and instants."""
    for tenant in run.tenants.values():
        for campaign in tenant.campaigns.values():
            yield _campaign(tenant, campaign)
        yield from (_session(tenant, session) for session in tenant.sessions.values())
        for media in tenant.media.values():
            yield f"media {media.name!r} ({media.kind}, {sha256(media.content).hexdigest()[:12]})"


def _campaign(tenant: Tenant, campaign: Campaign) -> str:
    executions = [_execution(tenant.executions[each]) for each in campaign.execution_ids]
    filters = (
        "" if campaign.filters is None else f", filters {json.dumps(campaign.filters, sort_keys=True, default=str)}"
    )
    what = f"{campaign.template_id}, {campaign.platform}, {campaign.cadence} a minute{filters}"
    described = "" if campaign.description is None else f", {campaign.description!r}"
    name = _masked(repr(campaign.name) + described)
    return f"campaign {name} {campaign.status} ({what}) with {' and '.join(executions) or 'no execution'}"


def _execution(execution: Execution) -> str:
    values = "".join(f", {name}={value!r}" for name, value in sorted(execution.values.items()))
    return f"an execution {execution.status} ({execution.template.id}{values}, {len(execution.targets)} chats)"


def _session(tenant: Tenant, session: Session) -> str:
    reason = f" {session.reason}" if session.reason else ""
    where = f"{session.funnel_id}, {session.funnel_step_id}, {session.return_url}, {session.coexistence}"
    connected = tenant.entrypoints.get(session.entrypoint_id or "")
    entrypoint = f" to {connected.name!r} {connected.display_phone}" if connected is not None else ""
    return f"session {session.status}{reason} ({where}){entrypoint}"


def _masked(text: str) -> str:
    return INSTANT.sub("TIME", ID.sub("ID", _UUID.sub("UUID", text)))


def _kind(text: str, clients: Sequence[str]) -> str:
    """Return the text of an exception without what differs between equal ones; clients have numbers in their order of appearance."""
    names = "|".join(re.escape(name) for name in sorted(clients, key=len, reverse=True))
    numbers: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"CLIENT{chr(ord('A') + len(numbers) % 26)}")

    return _NUMBER.sub("N", re.sub(rf"(?<!\w)(?:{names})(?!\w)", renamed, _masked(text)))


class SerialEnds:
    """
    What the serial runs end with: that is what any run may end with.

    Args:
        ends: Of the serial runs.
        clients: The names of the clients.
    """

    def __init__(self, ends: Sequence[OrderOutcome], clients: Sequence[str]) -> None:
        self._ends, self._clients = ends, clients
        self._counts = {what: max(end.counts[what] for end in ends) for what in ends[0].counts}
        self._records = {end.records for end in ends}
        self._rules = {finding.rule for end in ends for _, finding in end.findings}
        self._errors = {_kind(text, clients) for end in ends for text in end.errors.values()}
        self._stuck = {_kind(end.played.stuck, clients) for end in ends if end.played.stuck is not None}
        self._checks = {_kind(end.check, clients) for end in ends if end.check is not None}

    def causes(
        self, end: OrderOutcome, tolerates: tuple[type[BaseException], ...], *, is_comparable: bool
    ) -> list[Cause]:
        """
        Return what no serial run shows, the worst first; another end only if nothing else explains it, and no client reports it.

        Args:
            end: Of a run.
            tolerates: Types of exceptions by which a client reports that another was first.
            is_comparable: Equal serial runs have equal ends.
        """
        causes, is_reported = [*self._more(end.counts), *self._breaches(end)], False
        for name, failure in end.played.raised.items():
            kind = _kind(end.errors[name], self._clients)
            if isinstance(failure, tolerates):
                is_reported = True
            elif kind not in self._errors:
                after = f" after {end.refused[name]}" if name in end.refused else ""
                message = f"{name} ended with {end.errors[name]}{after}"
                causes.append(Cause("crashed", kind, message, client=name))
        stuck = end.played.stuck
        is_serial = stuck is not None and _kind(stuck, self._clients) in self._stuck
        # By a fault a client may go on for ever in serial runs too.
        if stuck is not None and not (is_serial and end.plan.fault is not None):
            message = f"{stuck}, in a serial run too, so not by this order" if is_serial else stuck
            causes.append(Cause("stuck", "stuck", message))
        check = None if end.check is None else _kind(end.check, self._clients)
        if check is not None and check not in self._checks:
            causes.append(Cause("check", check, f"the check ended with {end.check}"))
        if not causes and not is_reported and is_comparable and end.records not in self._records:
            causes.append(Cause("unserial", "end", f"the end is that of no serial run: {self._difference(end)}"))
        return causes

    def doubled(self, end: OrderOutcome) -> Iterator[Cause]:
        """Yield what whole clients create once more because of a fault, if these serial runs are those without it."""
        counts = {what: count for what, count in end.counts.items() if what != "sends"}
        counts["campaigns"] -= end.abandoned
        return self._more(counts, "serial run without the fault")

    def _more(self, counts: Mapping[str, int], runs: str = "serial run") -> Iterator[Cause]:
        """Yield the first of these counts that is more than in every serial run."""
        for what, count in counts.items():
            most = self._counts[what]
            if count > most:
                message = f"the ledger has {count} {what[:-1] if count == 1 else what}, and no {runs} more than {most}"
                yield Cause("duplicate", what.removeprefix("duplicate "), message)
                return

    def _breaches(self, end: OrderOutcome) -> Iterator[Cause]:
        news = {
            finding.rule: (name, finding) for name, finding in reversed(end.findings) if finding.rule not in self._rules
        }
        for name, finding in news.values():
            yield Cause.of_finding("breach", finding, client=name)

    def _difference(self, end: OrderOutcome) -> str:
        def apart(other: OrderOutcome) -> tuple[list[str], list[str]]:
            mine, its = Counter(end.records), Counter(other.records)
            return sorted((mine - its).elements()), sorted((its - mine).elements())

        extra, missing = min(map(apart, self._ends), key=lambda rows: len(rows[0]) + len(rows[1]))
        nearest = "the nearest serial run"
        if not missing:
            return f"it has {_listed(extra)}, which {nearest} has not"
        if not extra:
            return f"it lacks {_listed(missing)}, which {nearest} has"
        return f"it has {_listed(extra)}, and {nearest} {_listed(missing)}"


def _listed(rows: Sequence[str]) -> str:
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return "; ".join(rows[:_SHOWN]) + more
