"""
The verdict on one run, and its causes.

A cause is a rule on conduct, a list of the ledger, `differs`, `endless`, or the name of an exception. A finding that a
correct client could get is none: the functions here leave those out, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from traceback import walk_tb
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core import ledger
from mockserver.core.instants import SECOND
from mockserver.core.redaction import Redactor
from mockserver.core.run import Run
from mockserver.judge.check import Finding
from mockserver.judge.client.judge import judge
from mockserver.judge.client.polling import STALLED
from mockserver.judge.client.rules import BLAMED, RULES
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox
from mockserver.testing.report.failures import is_of_test
from mockserver.testing.runs.faults import waits
from mockserver.testing.runs.faults.effects import Caused, caused, differences, may_do_less
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.tables import BEFORE_ANSWER, OUTDATED
from mockserver.testing.runs.findings import Cause
from mockserver.testing.runs.in_process import RunInProcess
from mockserver.trace.exchange import Exchange
from mockserver.trace.of_sandbox import delay_of, trace_of
from mockserver.trace.trace import Trace

ADVICE: Final = "advice"  # of a cause of the least severity, which does not change the verdict of its run
NO_TIMEOUT = "no-timeout"
ORDER: Final = ("silent", "breach", "crashed", "reported", "survived", ADVICE)  # of reports: the worst first
DEVIATES: Final = ORDER[:3]
# What the text of a report adds for each verdict that it has.
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "silent": "the client reported nothing, but its calls caused something else than in the clean run, or an assertion of the test failed",
        "breach": "the client broke a rule for clients (`mockserver clauses --conduct` lists them), caused a duplicate, or never stopped",
        "crashed": "the test ended with an exception that it does not tolerate",
    }
)
ENDLESS = "endless"
_SEVERE = 2
_HOPELESS = "retry-hopeless"  # of which equal calls in parallel are no proof
_ADDRESS = re.compile(r"\b0x[0-9a-f]{5,}\b")  # of memory; a shorter number may be a byte
_IN_PROCESS = re.compile(re.escape(IN_PROCESS_ORIGIN) + r"(/sandboxes/\w+)?")

Request = tuple[Any, ...]  # of `Exchange.request`: operation, parameters of the path and the rest
# Rules on copies. A test may create two campaigns of similar names, whatever becomes of the first.
_COPIES = frozenset(("clone-after-conflict", "rename-after-lost-create"))
_CREATES_SESSION, _READS_SESSION = "createConnectionSession", "readConnectionSession"
_EVENTS = "events"  # the family of choices on deliveries: a correct receiver can implement one option only


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """
    One run as it is judged.

    Attributes:
        findings: On conduct, at the instant at which the test ended.
        caused: What the client's calls caused.
        duplicates: The numbers of the rows of the ledger's lists that should be empty.
        ended: Why the run was ended at a bound; None if it was not.
        raised: The exception with which the test ended; None if it passed.
        base_url: The address of its sandbox, which the next sandbox does not have.
        is_repeatable: Of a clean run: the second one caused the same, so that numbers can be compared.
        waited: The client slept between its last calls, on the sandbox's clock or in real time.
        altered: Each step of its placement has changed something.
        has_unseen_waits: A call was repeated after a 429, and no clock moved between.
    """

    findings: Sequence[Finding]
    caused: Caused
    duplicates: Mapping[str, int]
    ended: str | None
    raised: BaseException | None
    base_url: str
    is_repeatable: bool = True
    waited: bool = False
    altered: bool = True
    has_unseen_waits: bool = False


def read_run(
    hosted: HostedSandbox,
    ended: str | None,
    raised: BaseException | None,
    in_process: RunInProcess | None,
    of_clean: Sequence[Exchange],
    placement: Placement,
    *,
    is_drained: bool,
) -> JudgedRun:
    """
    Return a run as it is judged.

    Args:
        hosted: The sandbox after the run. Lock: the caller holds it.
        ended: Why the run was ended at a bound, if it was.
        raised: The exception with which the test ended.
        in_process: Its sleeps; None if it was in another process.
        of_clean: The calls of the clean run; empty for that run itself.
        placement: Where it had its faults.
        is_drained: Events were delivered after the test's end.
    """
    run = Run.of(hosted.sandbox)
    trace = trace_of(run)
    has_ended_early = raised is not None or is_drained or bool(trace.sandbox.under_way)
    conduct = judge(trace)
    early = waits.early_retries(trace, conduct, in_process, of_clean)

    def counts(finding: Finding) -> bool:
        # What did not follow is no omission if the test has failed there, or if an event is still to be sent.
        if RULES[finding.rule].of_end and has_ended_early:
            return False
        if finding.rule == _HOPELESS and waits.is_of_burst(trace, finding.exchanges, of_clean):
            return False
        return not _is_misled(finding, trace)

    others = [row for row in conduct.findings if row.rule != waits.RULE]
    findings = list(filter(counts, [*others, *early.findings]))
    return JudgedRun(
        findings=findings,
        caused=caused(run, trace),
        duplicates=_duplicates(run),
        ended=ended,
        raised=raised,
        base_url=hosted.base_url,
        waited=waits.between_last_calls(trace, in_process),
        altered=all(_has_altered(hosted, step) for step in placement),
        has_unseen_waits=early.has_unseen,
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
    rows = ledger.read(run)
    return {
        "duplicate-executions": len(rows.duplicate_executions),
        "duplicate-sends": len(rows.duplicate_sends),
        "cloned-campaigns": len(rows.cloned_campaigns),
    }


def causes(
    clean: JudgedRun, run: JudgedRun, placement: Placement, tolerated: tuple[type[BaseException], ...]
) -> list[Cause]:
    """
    Return why a run is not like the clean one, the worst first; empty if it is.

    Args:
        clean: The clean run, whose own findings are no news.
        run: The run with this placement.
        placement: Where the run had its faults.
        tolerated: The types of exceptions with which the test may end.
    """
    reasons = [*_damage(clean, run, placement)]
    if run.raised is None and run.ended is None and clean.is_repeatable:
        reasons += differences(clean.caused, run.caused, placement)
    if run.raised is not None and run.ended is None:
        verdict = "silent" if _is_wrong_quietly(clean, run, placement) else "crashed"
        if isinstance(run.raised, tolerated) or any(step.lasts for step in placement):
            verdict = "reported"
        name = str(getattr(run.raised, "explore_cause", type(run.raised).__name__))
        reasons.append(Cause(verdict, name, describe(run.raised, run.base_url)))
        reasons += _of_option(run.raised, run.base_url, placement)
    return sorted(reasons, key=lambda cause: ORDER.index(cause.verdict))


def _is_wrong_quietly(clean: JudgedRun, run: JudgedRun, placement: Placement) -> bool:
    """
    Return True if an assertion of the test itself failed: its client went on, and returned something else than in the clean run.

    A test may compare what an option changes, or what its client reads of an act of another.
    """
    if not isinstance(run.raised, AssertionError) or placement.has("choice"):
        return False
    files = [frame.f_code.co_filename for frame, _ in walk_tb(run.raised.__traceback__)]
    own = [
        file for file in files if is_of_test(file) and not file.endswith("conftest.py")
    ]  # whose hooks may be around it
    return own[:1] == own[-1:] != [] and not may_do_less(clean.caused, run.caused, placement)


def _of_option(raised: BaseException, base_url: str, placement: Placement) -> Iterator[Cause]:
    """Yield the rule that a client breaks if it cannot read another option, whether its test tolerates the exception or not."""
    if isinstance(raised, AssertionError):  # of the test, which may compare what the option changes
        return
    for rule in (RULES[name] for name, choices in BLAMED.items() if not placement.choices.keys().isdisjoint(choices)):
        message = f"the test ended with {describe(raised, base_url)}"
        yield Cause(ADVICE, rule.id, message, rule.clause, rule.advice)


def _damage(clean: JudgedRun, run: JudgedRun, placement: Placement) -> Iterator[Cause]:
    known = {finding.rule for finding in clean.findings}
    news = [row for row in run.findings if row.rule not in known and not _is_excused(row, clean, run, placement)]
    first = {finding.rule: finding for finding in reversed(news)}
    yield from (of_finding(finding) for finding in news if finding is first[finding.rule])
    if clean.is_repeatable:
        yield from _more_duplicates(clean, run)
    # A client that waits between its calls may have a deadline by the computer's clock, which stands while it waits.
    if run.ended is not None:
        is_excused = run.waited and any(step.lasts for step in placement)
        yield Cause("reported" if is_excused else "breach", ENDLESS, run.ended)


def _more_duplicates(clean: JudgedRun, run: JudgedRun) -> Iterator[Cause]:
    """Yield the ledger's lists that are longer than in the clean run, if the client's calls also caused more."""
    more = run.caused.numbers - clean.caused.numbers
    for name, count in run.duplicates.items():
        clean_count = clean.duplicates.get(name, 0)
        if count > clean_count and more["campaigns" if name == "cloned-campaigns" else "executions"]:
            of_clean = clean_count or "none"
            message = f"the ledger's list of {name.replace('-', ' ')} has {count}, and in the clean run {of_clean}"
            yield Cause("breach", name, message)


def waiting_for_ever(run: Run, by_socket: Collection[int], *, is_strict: bool) -> Iterator[Cause]:
    """
    Yield the cause of a client without a timeout: it waited for an answer until the rule's delay was over.

    Most HTTP libraries have no timeout by default, and what a client without one loses is time: it is advice unless asked
    for. Over a socket the mock does not know how long a client would have waited.
    """
    rule = RULES[NO_TIMEOUT]
    for exchange in run.exchanges:
        waited = delay_of(exchange.fault)
        if waited >= STALLED and exchange.left is not None and exchange.n not in by_socket:
            message = (
                f"the client has no timeout: it waited {waited // SECOND} s for the answer to {exchange.operation}"
            )
            yield Cause("breach" if is_strict else ADVICE, NO_TIMEOUT, message, rule.clause, rule.advice)
            return


def of_finding(finding: Finding) -> Cause:
    """Return a finding on conduct as a cause; the least severe ones are advice."""
    verdict = ADVICE if finding.severity > _SEVERE else "breach"
    return Cause(verdict, finding.rule, finding.message, finding.clause, finding.advice)


def _is_excused(finding: Finding, clean: JudgedRun, run: JudgedRun, placement: Placement) -> bool:
    """Return True for a finding that a correct client, or a test that does the same without a fault, could get."""
    rule = RULES[finding.rule]
    cited = [call.request for call in run.caused.calls if call.number in finding.exchanges]
    # A test that never reads a session runs a receiver, and not the client's reads.
    reads_sessions = any(call.operation == _READS_SESSION for call in clean.caused.calls)
    if rule.of_end and not reads_sessions and any(operation == _CREATES_SESSION for operation, *_ in cited):
        return True
    if "deliveries" in rule.needs:
        is_of_events = any(CHOICES[choice].family == _EVENTS for choice in placement.choices)
        return placement.has("choice") and is_of_events
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


def describe(raised: BaseException, base_url: str) -> str:
    """
    Return type and first line of an exception, without secrets and what differs from run to run: addresses of sandbox and memory.

    One with an `explore_cause` is the failure of a program in another language, which has no type.
    """
    first = Redactor(()).text(str(raised).strip().partition("\n")[0])
    text = _ADDRESS.sub("0x...", first.replace(base_url, "{base_url}"))
    text = _IN_PROCESS.sub("{base_url}", text)
    if hasattr(raised, "explore_cause"):
        return text
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__


def verdict_of(reasons: Sequence[Cause]) -> str:
    """Return the verdict of a run with these causes."""
    worst = min((cause.verdict for cause in reasons), key=ORDER.index, default=ADVICE)
    return "survived" if worst == ADVICE else worst
