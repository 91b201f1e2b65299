"""
What the calls of a client caused in one run, and the difference from the clean run.

1. Only what a call of the API caused counts; what timers, rules or other people cause does not.
2. A session or an upload counts if its answer reached the client: nothing lists those, so a client whose answer was lost
   cannot avoid the second one.
3. A cancel that was refused is none that is missing or too many: the client asked for it, and it had no effect.
4. Less is no difference if the client received the reason: a refusal, an end that it has not caused itself, a paused template
   or an empty list that the clean run did not get, or an outdated answer; and if it has refused an event itself. It is one if
   a call of that kind failed without an answer of the service, and the client did not find out what became of it; and no
   reason is the refusal of a call whose first try took effect.
5. More is a difference, but for campaigns after an act of another, and for a session in place of one that has ended without
   a connection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN, FINAL, SESSION
from mockserver.contract.text import counted
from mockserver.core.run import Run
from mockserver.testing.runs.bounds import POLLS
from mockserver.testing.runs.faults.placements import Placement
from mockserver.testing.runs.faults.tables import OUTDATED, READS
from mockserver.testing.runs.findings import Cause
from mockserver.trace.exchange import TOO_MANY, Exchange
from mockserver.trace.sightings import Sighting, sightings_of
from mockserver.trace.trace import Trace, sent_after

DIFFERS = "differs"
_OPERATION_OF: Mapping[str, str] = MappingProxyType(
    {
        "campaigns": "createCampaign",
        "executions": "startCampaign",
        "cancels": "cancelCampaign",
        "sessions": "createConnectionSession",
        "uploads": "uploadMedia",
    }
)
_CREATED: Mapping[str, str] = MappingProxyType(
    {"campaign": "campaigns", "execution": "executions", "session": "sessions"}
)
_ON_CAMPAIGNS = frozenset(("campaigns", "executions", "cancels"))
_SHOWN = 6  # calls that differ from the clean run
_LEAST_REFUSAL = 400  # the status

Effect = tuple[str, str]  # a key of `_OPERATION_OF`, and the id of the record; of an execution that of its campaign
Reason = tuple[object, ...]
Asked = tuple[str | None, tuple[tuple[str, str], ...]]  # operation and parameters of the path


class LastRead(NamedTuple):
    """
    What a client's reads of a record have come to.

    Attributes:
        status: The end of the record, if a read has shown it; else that of the last read, None if it failed.
        campaign: The id of the campaign that its path names; empty for a session.
        call: The number of the last read.
        reads: How many were answered.
        is_outdated: The answer of the last read was outdated.
    """

    status: str | None
    campaign: str
    call: int
    reads: int
    is_outdated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Caused:
    """
    What a client's calls caused, and what the client knew.

    Attributes:
        effects: What was done, in the order of the calls.
        refused_cancels: How many cancels were only refused.
        names: The names of the records, by id, for those that have one.
        calls: The calls, in order.
        reasons: What may let the client stop: refusals, ends, states of templates and empty answers that it received, and events that it refused.
        is_misled: An answer was outdated.
        unresolved: The operations of failed calls of which the client did not find out what became of them.
        polled: The reads of each record whose status the client polled, by its id.
        dead_sessions: How many sessions ended without a connection.
    """

    effects: Sequence[Effect]
    refused_cancels: int
    names: Mapping[str, str]
    calls: Sequence[Exchange]
    reasons: frozenset[Reason]
    is_misled: bool
    unresolved: frozenset[str]
    polled: Mapping[str, LastRead]
    dead_sessions: int

    @property
    def numbers(self) -> Counter[str]:
        """The number of campaigns, executions, cancels, sessions and uploads."""
        return Counter(what for what, _ in self.effects)

    @property
    def campaigns(self) -> Counter[str]:
        """The number of campaigns that the client created, by what else it did to them: `campaigns, executions` and so on."""
        done: dict[str, set[str]] = {}
        for what, record_id in self.effects:
            if what in _ON_CAMPAIGNS:
                done.setdefault(record_id, set()).add(what)
        return Counter(", ".join(sorted(each)) for each in done.values() if "campaigns" in each)

    def is_like(self, other: Caused) -> bool:
        """Return True if both have the same numbers, and the same was done to as many campaigns."""
        return (self.numbers, self.campaigns) == (other.numbers, other.campaigns)

    def is_informed(self, clean: Caused) -> bool:
        """Return True if the client received a reason to stop that the clean run has not."""
        return not self.reasons <= clean.reasons


def caused(run: Run, trace: Trace) -> Caused:
    """
    Return what the client's calls caused.

    Args:
        run: The sandbox after the run. Lock: the caller holds it.
        trace: That of the run.
    """
    ends = (change for change in trace.sandbox.transitions if change.target in FINAL)
    own = {change.id for change in ends if "exchange" in change.cause}
    events = [event for event in trace.deliveries if event.is_genuine and not event.is_lost]
    of_events = (reason for event in events for reason in _ends(sightings_of(event), own))
    refused = (("refused", event.kind) for event in events if (event.status or 0) >= _LEAST_REFUSAL)
    writes = [call for call in trace.calls if call.operation not in READS]
    lost = [_asked(call) for call in writes if call.applied and call.has_to_be_retried]
    of_answers = (reason for call in trace.calls for reason in _reasons(call, lost, own))
    asked = {call.params["id"] for call in trace.of("cancelCampaign") if _is_refusal(call)}
    canceled = {call.params["id"] for call in trace.of("cancelCampaign") if call.applied}
    return Caused(
        effects=list(_effects(trace)),
        refused_cancels=len(asked - canceled),
        names={campaign.id: campaign.name for _, campaign in run.records("campaign")},
        calls=trace.calls,
        reasons=frozenset((*of_events, *refused, *of_answers)),
        is_misled=any(OUTDATED in call.fault for call in trace.calls),
        unresolved=frozenset(call.operation or "" for call in writes if _is_unresolved(call, trace)),
        polled=dict(_polled(trace)),
        dead_sessions=sum(session.status in SESSION.final - {"completed"} for _, session in run.records("session")),
    )


def _effects(trace: Trace) -> Iterator[Effect]:
    for what, record_id, call in created(trace):
        yield what, call.params.get("id", record_id)
    canceled = (call.params["id"] for call in trace.of("cancelCampaign") if call.applied)
    yield from (("cancels", campaign_id) for campaign_id in dict.fromkeys(canceled))
    for call in trace.of("uploadMedia"):
        if call.was_received and call.applied:
            yield from [("uploads", "")] * _files(call)


def created(trace: Trace) -> Iterator[tuple[str, str, Exchange]]:
    """Yield `campaigns`, `executions` or `sessions`, the id and the call for each such record that a call created and that counts."""
    for transition in trace.sandbox.transitions:
        number = transition.cause.get("exchange")
        call = trace.by_number(number) if isinstance(number, int) and transition.source is None else None
        if call is not None and transition.kind in _CREATED and (transition.kind != "session" or call.was_received):
            yield _CREATED[transition.kind], transition.id, call


def _files(call: Exchange) -> int:
    """Return how many files an upload has stored: those whose entries have an id."""
    answer = call.response_json
    entries = answer if isinstance(answer, list) else [answer]
    return sum(isinstance(entry, dict) and bool(entry.get("id")) for entry in entries)


def _is_refusal(call: Exchange) -> bool:
    status = call.status or 0
    return call.is_answered and _LEAST_REFUSAL <= status < 500 and status != TOO_MANY


def _asked(call: Exchange) -> Asked:
    return call.operation, tuple(call.params.items())


def _reasons(call: Exchange, lost: Collection[Asked], own: Collection[str]) -> Iterator[Reason]:
    """Yield what an answer shows that may let its client stop; not that a call is refused which took effect, but whose answer was lost."""
    if _is_refusal(call) and _asked(call) not in lost:
        yield call.operation, *call.params.values(), call.code
    if not call.succeeded:
        return
    rows = list(sightings_of(call))
    yield from _ends(rows, own)
    for row in rows:
        if row.kind == "template":
            yield call.operation, row.id, row.shown.get("isOfficial"), row.shown.get("providerTemplateStatus") or None
    body = call.response_json
    if not rows and isinstance(body, dict) and any(value in ([], 0) for value in body.values()):
        yield call.operation, "empty"


def _ends(rows: Iterable[Sighting], own: Collection[str]) -> Iterator[Reason]:
    """Yield the ends that sightings show, each with whether a call of the client has caused it: `own` are such records."""
    return ((row.kind, row.id, row.status, row.id in own) for row in rows if row.status in FINAL)


def _is_unresolved(call: Exchange, trace: Trace) -> bool:
    """Return True if a call failed, and neither a repetition nor the end of its record answers for it."""
    return call.has_to_be_retried and not any(_answers_for(call, later) for later in sent_after(call, trace.calls))


def _answers_for(call: Exchange, later: Exchange) -> bool:
    is_repetition = _asked(later) == _asked(call) and not later.has_to_be_retried
    ended = {row.id for row in sightings_of(later) if row.status in FINAL}
    return is_repetition or not ended.isdisjoint(call.params.values())


def _polled(trace: Trace) -> Iterator[tuple[str, LastRead]]:
    for operation, parameter in POLLS.items():
        for record_id, reads in trace.grouped_by(parameter, operation):
            statuses = [read.field("status") for read in reads]
            status = next((status for status in statuses if status in FINAL), statuses[-1])
            last = reads[-1]
            yield (
                record_id,
                LastRead(
                    status=status,
                    campaign=last.params.get("id", ""),
                    call=last.number,
                    reads=sum(read.succeeded for read in reads),
                    is_outdated=OUTDATED in last.fault,
                ),
            )


def may_do_less(clean: Caused, run: Caused, placement: Placement) -> bool:
    """Return True if the client received what let it stop, or did not receive an event in time."""
    return run.is_informed(clean) or run.is_misled or placement.withholds


def differences(clean: Caused, run: Caused, placement: Placement) -> Iterator[Cause]:
    """
    Yield a cause for each effect of the client's calls that differs from the clean run, and for each record that it left too early.

    Args:
        clean: Of the clean run.
        run: Of the run with this placement.
        placement: Where the run had its faults.
    """
    is_excused, is_act = may_do_less(clean, run, placement), placement.has("act")
    for what, operation in _OPERATION_OF.items():
        expected, actual = clean.numbers[what], run.numbers[what]
        in_vain, instead = 0, 0
        if what == "cancels":
            in_vain, instead = run.refused_cancels, clean.refused_cancels
        if what == "sessions":
            instead = max(0, run.dead_sessions - clean.dead_sessions)
        is_less = actual + in_vain < expected and (not is_excused or operation in run.unresolved)
        # A client may well answer an act of another by another campaign.
        is_more = actual > expected + instead and not (is_act and what in _ON_CAMPAIGNS)
        if is_less or is_more:
            effect = f"{'more' if is_more else 'fewer'} {what}"
            yield _cause(
                clean,
                run,
                effect,
                f"its calls caused {counted(actual, what.removesuffix('s'))} instead of {expected}",
                (what,),
            )
    is_of_others = run.numbers == clean.numbers and run.campaigns != clean.campaigns
    if is_of_others and not is_excused and not is_act:
        text = "its calls were for other campaigns than in the clean run"
        yield _cause(clean, run, "other campaigns", text, _ON_CAMPAIGNS)
    if not run.is_informed(clean):
        yield from _stopped(clean, run)


def _stopped(clean: Caused, run: Caused) -> Iterator[Cause]:
    """Yield a cause for each polled record that the clean run read to its end, and this run only before it."""
    started = {record_id for what, record_id in run.effects if what == "executions"}
    cancelled = {record_id for what, record_id in run.effects if what == "cancels"}
    for record_id, read in run.polled.items():
        of_clean = clean.polled.get(record_id, read)
        is_answered = read.status is not None and max(of_clean.reads, read.reads) > 1
        is_draft = read.status == CAMPAIGN.initial and record_id not in started
        is_left = read.campaign in cancelled or is_draft
        if is_answered and not is_left and of_clean.status in FINAL and read.status not in FINAL:
            what = _named(record_id, run.names)
            text = f"the client returned while {what} was still {read.status} at its last read (#{read.call})"
            if read.is_outdated:
                text = f"the client read an outdated {read.status} of {what} (#{read.call}), and stopped"
            yield _cause(clean, run, "stopped polling", text)


def _cause(clean: Caused, run: Caused, effect: str, text: str, changed: Collection[str] = ()) -> Cause:
    """Return the cause of an effect; it shows the records of what has changed, and calls that the clean run has not."""
    names = {**clean.names, **run.names}
    of_clean, of_run = Counter(clean.effects), Counter(run.effects)
    others = (("", of_run - of_clean), ("no ", of_clean - of_run))
    records = [f"{no}{what}: {_named(id, names)}" for no, rows in others for what, id in rows if what in changed]
    calls = list(_other_calls(clean, run))
    return Cause(
        verdict="silent",
        name=DIFFERS,
        message=f"the test passed, and {text}",
        effect=effect,
        shown=(*records, *calls[:_SHOWN]),
    )


def _other_calls(clean: Caused, run: Caused) -> Iterator[str]:
    left = Counter((call.request, call.status) for call in clean.calls)
    for call in run.calls:
        left[call.request, call.status] -= 1
        if left[call.request, call.status] < 0:
            yield f"#{call.number} {call.operation} -> {call.outcome.removeprefix('status ')}"


def _named(record_id: str, names: Mapping[str, str]) -> str:
    name = names.get(record_id)
    return record_id if name is None else f"campaign {name!r} ({record_id})"
