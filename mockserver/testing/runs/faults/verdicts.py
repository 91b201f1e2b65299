"""
The verdict on one run, and its causes.

A cause is a rule on conduct, a list of the ledger, `differs`, `endless`, or the name of an exception. A finding that a
correct client could get is none: the functions here leave those out, each with its reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from traceback import walk_tb
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core import ledger
from mockserver.core.instants import SECOND
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.judge.check import Finding
from mockserver.judge.client.judge import finding as finding_of
from mockserver.judge.client.judge import judge
from mockserver.judge.client.polling import STALLED
from mockserver.judge.client.rules import BLAMED, RULES
from mockserver.server.hosting.host import HostedSandbox
from mockserver.testing.calls import CallMismatch
from mockserver.testing.report.failures import frames, is_of_test
from mockserver.testing.runs.bounds import drain
from mockserver.testing.runs.faults import waits
from mockserver.testing.runs.faults.effects import Caused, caused, differences, may_do_less
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.tables import ADVICE, BEFORE_ANSWER, ORDER, OUTDATED
from mockserver.testing.runs.findings import Cause, describe, first_of_each_rule
from mockserver.testing.runs.investigation import ControlledRun
from mockserver.trace.of_sandbox import delay_of, trace_of
from mockserver.trace.trace import Trace

NO_TIMEOUT = "no-timeout"
# What the text of a report adds for each verdict that it has.
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "silent": "nothing reported it: the calls caused something else than in the clean run, or the client returned what an assertion of the test refused",
        "breach": "the client broke a rule for clients (`mockserver clauses --conduct` lists them), caused a duplicate, or never stopped",
        "crashed": "the test ended with an exception that it does not tolerate",
    }
)
ENDLESS = "endless"
_SEVERE = 2
_HOPELESS = "retry-hopeless"  # of which equal calls in parallel are no proof

Request = tuple[Any, ...]  # of `Exchange.request`: operation, parameters of the path and the rest
# Rules on copies. A test may create two campaigns of similar names, whatever becomes of the first.
_COPIES = frozenset(("clone-after-conflict", "rename-after-lost-create"))
_EVENTS = "events"  # the family of choices on deliveries: a correct receiver can implement one option only


class EndedRun(NamedTuple):
    """
    A run that has ended.

    Attributes:
        control: The run.
        raised: The exception with which its test ended; None if it passed.
        is_drained: Everything that was due has been delivered and done.
    """

    control: ControlledRun
    raised: BaseException | None
    is_drained: bool = False

    @classmethod
    def of(cls, control: ControlledRun, raised: BaseException | None) -> EndedRun:
        """End a run whose test has ended: in process its receivers get what is still due, if it has passed."""
        if isinstance(raised, SystemExit) and not raised.code:
            raised = None  # the program has ended in order
        is_drained = raised is None and control.in_process is not None and drain(control.hosted)
        control.stop()
        return cls(control, raised, is_drained)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOutcome:
    """
    A run at a placement, and what it ends with, as it is judged.

    Attributes:
        placement: Where it had its faults.
        findings: On conduct, at the instant at which the test ended.
        trace: That of its sandbox.
        caused: What the client's calls caused.
        duplicates: The numbers of the rows of the ledger's lists that should be empty.
        ended: Why the run was ended at a bound; None if it was not.
        raised: The exception with which the test ended; None if it passed.
        base_url: The address of its sandbox, which the next sandbox does not have.
        waited: The client slept between its last calls, on the sandbox's clock or in real time.
        altered: Each step of its placement has changed something.
        has_unseen_waits: A call was repeated after a 429, and no clock moved between.
        stalled: The call whose answer the client waited for until the rule's delay was over; None if there is none.
        is_repeatable: Of a clean run: the second one caused the same, so that numbers can be compared.
    """

    placement: Placement
    findings: Sequence[Finding]
    trace: Trace
    caused: Caused
    duplicates: Mapping[str, int]
    ended: str | None
    raised: BaseException | None
    base_url: str
    waited: bool
    altered: bool
    has_unseen_waits: bool
    stalled: JournalEntry | None
    is_repeatable: bool = True


def read_outcome(ended: EndedRun, placement: Placement, clean: FaultOutcome | None) -> FaultOutcome:
    """
    Return what a run ends with.

    Args:
        ended: The run. Lock: the caller holds its sandbox's.
        placement: Where it had its faults.
        clean: The clean run; None for that run itself.
    """
    control, raised, is_drained = ended
    run = Run.of(control.hosted.sandbox)
    trace = trace_of(run)
    of_clean = () if clean is None else clean.caused.calls
    has_ended_early = raised is not None or is_drained or bool(trace.sandbox.under_way)
    conduct = judge(trace)
    early, has_unseen_waits = waits.early_retries(trace, conduct, control.in_process, of_clean)

    def counts(finding: Finding) -> bool:
        # What did not follow is no omission if the test has failed there, or if an event is still to be sent.
        if RULES[finding.rule].of_end and has_ended_early:
            return False
        if finding.rule == _HOPELESS and waits.is_of_burst(trace, finding.exchanges, of_clean):
            return False
        return not _is_misled(finding, trace)

    others = [row for row in conduct.findings if row.rule != waits.RULE]
    # Over a socket the mock does not know how long a client would have waited.
    in_process = (exchange for exchange in run.exchanges if exchange.n not in control.watch.by_socket)
    stalled = (each for each in in_process if each.left is not None and delay_of(each.fault) >= STALLED)
    return FaultOutcome(
        placement=placement,
        findings=list(filter(counts, [*others, *early])),
        trace=trace,
        caused=caused(run, trace),
        duplicates=_duplicates(run),
        ended=control.watch.ended,
        raised=raised,
        base_url=control.hosted.base_url,
        waited=waits.between_last_calls(trace, control.in_process),
        altered=all(_has_altered(control.hosted, step) for step in placement),
        has_unseen_waits=has_unseen_waits,
        stalled=next(stalled, None),
    )


def _has_altered(hosted: HostedSandbox, step: ExploreStep) -> bool:
    """Return False if the rule of a step never fired, or sent no event before an answer as it should have."""
    if not step.rules():
        return True
    rule_set, (source, *_) = hosted.sandbox.rule_set, step.rules()
    if not any(rule_set.fired(rule) for rule in rule_set.rules.values() if rule.source == source):
        return False
    causes = (transition.cause for transition in hosted.sandbox.journal.transitions)
    return step.name != BEFORE_ANSWER or any("beforeAnswer" in cause for cause in causes)


def _is_misled(finding: Finding, trace: Trace) -> bool:
    """Return True if the client received an outdated answer between the calls that prove the finding."""
    if not finding.exchanges:
        return False
    first, last = min(finding.exchanges), max(finding.exchanges)
    return any(first < each.number < last and OUTDATED in each.fault for each in trace.exchanges)


def _duplicates(run: Run) -> Mapping[str, int]:
    """Return the numbers of rows, without reading the sends of a run that cannot have any."""
    if sum(1 for _ in run.records("campaign")) < 2 and sum(1 for _ in run.records("execution")) < 2:
        return {}
    made = ledger.creating_exchanges(run)
    return {
        "duplicate-executions": len(ledger.duplicate_executions(run, made)),
        "duplicate-sends": len(ledger.duplicate_sends(run, made)),
        "cloned-campaigns": len(ledger.clones(run, made)),
    }


def causes(clean: FaultOutcome, run: FaultOutcome, options: ExploreOptions) -> list[Cause]:
    """
    Return why a run is not like the clean one, the worst first; empty if it is.

    Args:
        clean: The clean run, whose own findings are no news.
        run: A run with faults.
        options: What the test tolerates.
    """
    reasons = [*_damage(clean, run)]
    if run.raised is None and run.ended is None and clean.is_repeatable:
        reasons += differences(clean.caused, run.caused, run.placement)
    if run.raised is not None and run.ended is None:
        verdict = "silent" if _is_wrong_quietly(clean, run) else "crashed"
        if isinstance(run.raised, (*options.tolerated_types, *_own_answers())) or run.placement.lasts:
            verdict = "reported"
        reasons.append(_of_exception(run.raised, run.base_url, verdict))
        reasons += _of_option(run.raised, run.base_url, run.placement)
    if run.stalled is not None:
        reasons.append(_without_timeout(run.stalled, is_strict=options.strict))
    return sorted(reasons, key=lambda cause: ORDER.index(cause.verdict))


def _of_exception(raised: BaseException, base_url: str, verdict: str) -> Cause:
    """Return the cause of an exception; those of failed assertions differ by their places."""
    name = str(getattr(raised, "explore_cause", type(raised).__name__))
    message = describe(raised, base_url)
    place = next(iter(frames(raised)), "")
    if isinstance(raised, AssertionError) and place:
        return Cause(verdict, name, f"{message}, at {place}", effect=place.partition(" `")[0])
    return Cause(verdict, name, message)


def _own_answers() -> tuple[type[BaseException], ...]:
    """Return the exceptions by which a test or its client itself says how it ends: a program's status, pytest's skip and xfail."""
    outcomes = sys.modules.get("_pytest.outcomes")
    return (SystemExit,) if outcomes is None else (SystemExit, outcomes.Skipped, outcomes.XFailed)


def _without_timeout(stalled: JournalEntry, *, is_strict: bool) -> Cause:
    """Return the cause of a client without a timeout; most HTTP libraries have none, and it loses time: it is advice unless asked for."""
    waited_s = delay_of(stalled.fault) // SECOND
    message = f"the client has no timeout: it waited {waited_s} s for the answer to {stalled.operation}"
    return Cause.of_finding("breach" if is_strict else ADVICE, finding_of(NO_TIMEOUT, message))


def _is_wrong_quietly(clean: FaultOutcome, run: FaultOutcome) -> bool:
    """
    Return True if an assertion of the test itself failed: its client went on, and returned something else than in the clean run.

    A test may compare what an option changes, or what its client reads of an act of another; and it may count calls, of which a
    fault costs more.
    """
    if (
        not isinstance(run.raised, AssertionError)
        or isinstance(run.raised, CallMismatch)
        or run.placement.has("choice")
    ):
        return False
    files = [frame.f_code.co_filename for frame, _ in walk_tb(run.raised.__traceback__)]
    own = [
        file for file in files if is_of_test(file) and not file.endswith("conftest.py")
    ]  # whose hooks may be around it
    return own[:1] == own[-1:] != [] and not may_do_less(clean.caused, run.caused, run.placement)


def _of_option(raised: BaseException, base_url: str, placement: Placement) -> Iterator[Cause]:
    """Yield the rule that a client breaks if it cannot read another option, whether its test tolerates the exception or not."""
    if isinstance(raised, AssertionError):  # of the test, which may compare what the option changes
        return
    for rule, choices in BLAMED.items():
        if not placement.choices.keys().isdisjoint(choices):
            yield Cause.of_finding(ADVICE, finding_of(rule, f"the test ended with {describe(raised, base_url)}"))


def _damage(clean: FaultOutcome, run: FaultOutcome) -> Iterator[Cause]:
    known = {finding.rule for finding in clean.findings}
    news = [row for row in run.findings if row.rule not in known and not _is_excused(row, clean, run)]
    yield from map(of_finding, first_of_each_rule(news))
    if clean.is_repeatable:
        yield from _more_duplicates(clean, run)
    # A client that waits between its calls may have a deadline by the computer's clock, which stands while it waits.
    if run.ended is not None:
        is_excused = run.waited and run.placement.lasts
        yield Cause("reported" if is_excused else "breach", ENDLESS, run.ended)


def _more_duplicates(clean: FaultOutcome, run: FaultOutcome) -> Iterator[Cause]:
    """Yield the ledger's lists that are longer than in the clean run, if the client's calls also caused more."""
    more = run.caused.numbers - clean.caused.numbers
    for name, count in run.duplicates.items():
        clean_count = clean.duplicates.get(name, 0)
        if count > clean_count and more["campaigns" if name == "cloned-campaigns" else "executions"]:
            of_clean = clean_count or "none"
            message = f"the ledger's list of {name.replace('-', ' ')} has {count}, and in the clean run {of_clean}"
            yield Cause("breach", name, message)


def of_finding(finding: Finding) -> Cause:
    """Return a finding on conduct as a cause; the least severe ones are advice."""
    return Cause.of_finding(ADVICE if finding.severity > _SEVERE else "breach", finding)


def _is_excused(finding: Finding, clean: FaultOutcome, run: FaultOutcome) -> bool:
    """Return True for a finding that a correct client, or a test that does the same without a fault, could get."""
    rule = RULES[finding.rule]
    calls = [call for call in run.caused.calls if call.number in finding.exchanges]
    cited = [call.request for call in calls]
    # A test that never reads a session runs a receiver, and not the client's reads.
    reads_sessions = any(call.reads == "session" for call in clean.caused.calls)
    if rule.of_end and not reads_sessions and any(call.creates == "session" for call in calls):
        return True
    if "deliveries" in rule.needs:
        is_of_events = any(CHOICES[choice].family == _EVENTS for choice in run.placement.choices)
        return run.placement.has("choice") and is_of_events
    # A test that makes the same calls in its clean run does not repeat them because of the fault.
    if _is_repetition(cited):
        in_clean, in_run = ([call.request for call in each.caused.calls] for each in (clean, run))
        return in_run.count(cited[-1]) <= in_clean.count(cited[-1])
    if rule.id in _COPIES:
        return not clean.is_repeatable or run.caused.numbers["campaigns"] <= clean.caused.numbers["campaigns"]
    return False


def _is_repetition(cited: Sequence[Request]) -> bool:
    """Return True for several calls of one operation on one record that change something: to read again is no repetition."""
    called = {(operation, params) for operation, params, *_ in cited}
    return len(cited) > 1 and len(called) == 1 and ENDPOINTS[str(cited[0][0])].method != "GET"


def verdict_of(reasons: Sequence[Cause]) -> str:
    """Return the verdict of a run with these causes."""
    worst = min((cause.verdict for cause in reasons), key=ORDER.index, default=ADVICE)
    return "survived" if worst == ADVICE else worst
