"""Calls that the mock has refused, or that got no answer: the one from which the others follow comes first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockserver.contract.clauses import sentence_of
from mockserver.contract.endpoints import is_cancel
from mockserver.core.ledger import DONE_ALREADY
from mockserver.report.problem import Problem, Rank
from mockserver.report.run import words
from mockserver.report.run.exchanges import shorten
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import Call

# What a client writes into a path for a value that it does not have.
_NO_VALUES: Final = frozenset(("None", "null", "undefined", "NaN"))
# CLAUSE at PLACE: WORDS
_REASON: Final = re.compile(r"(?P<clause>[\w.-]+)(?: at (?P<place>\S+))?: (?P<words>.*)", re.DOTALL)
_HINT: Final = re.compile(r"; did you mean .*", re.DOTALL)
_OF_BODY: Final = re.compile(r"/[\w/]+")
_GOT: Final = "got "
_DESCRIBED: Final = ("got the ", "got a ", "got an ")
_NOTHING: Final = "got nothing;"


def last_failed_call(snapshot: SandboxSnapshot) -> Call | None:
    """Return the latest call with an error, a fault or no response; None if there is none."""
    failed = [call for call in snapshot.exchanges if call.fault or call.status is None or call.status >= 400]
    return failed[-1] if failed else None


def refusals(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the refused calls, those of one operation and reason together; of a failed test without the expected ones."""
    refused = [call for call in snapshot.exchanges if _is_refused(call)]
    if failure is not None:
        expected = expected_numbers(snapshot)
        refused = [call for call in refused if call.n not in expected]
    yield from _problems(refused, snapshot, failure)


def expected_refusals(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the refused calls that a client may expect, and that seldom explain a failure."""
    expected = expected_numbers(snapshot)
    yield from _problems([call for call in snapshot.exchanges if call.n in expected], snapshot, failure)


def expected_numbers(snapshot: SandboxSnapshot) -> frozenset[int]:
    """
    Return the numbers of the refused calls that seldom explain a failure.

    The client has tried them again with success, or may expect them: a look for a record, a cleanup, what is done already.
    """
    calls = snapshot.exchanges
    survived = words.survived(calls)
    writes = [call for call in calls if call.method != "GET" and words.has_succeeded(call)]
    refused = [call for call in calls if _is_refused(call)]
    return frozenset(call.n for call in refused if call.n in survived or _is_expected(call, calls[-1], writes[-1:]))


def _is_refused(call: Call) -> bool:
    return not call.fault and (call.status is None or call.status >= 400)


def _problems(refused: Sequence[Call], snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    if not refused:
        return
    main = _main(refused)
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in sorted(refused, key=lambda call: call is not main):
        reason = words.VARYING.sub("", call.reason or "")
        groups.setdefault((call.operation or call.path, call.status, reason), []).append(call)
    for group in groups.values():
        is_main = group[0] is main
        rank: Rank = "refusal" if is_main or failure is None else "advice"  # a test has survived the other ones
        yield _problem(snapshot, sorted(group, key=lambda call: call.n), rank, refused[-1] if is_main else None)


def _problem(snapshot: SandboxSnapshot, group: Sequence[Call], rank: Rank, last: Call | None) -> Problem:
    call = group[-1]
    reason = _REASON.match(call.reason or "")
    clause = reason["clause"] if reason is not None else ""
    return Problem(
        headline=_headline(call, reason),
        rank=rank,
        calls=[words.call_line(each) for each in group],
        got=_last_answer(snapshot, call) if _missing(call) is not None else (),
        caused=[str(last)] if last is not None and last not in group else (),
        advice=words.repeated(snapshot.exchanges, [each.n for each in group]),
        sentence=sentence_of(clause),
        ids=[clause] if clause else (),
    )


def _headline(call: Call, reason: re.Match[str] | None) -> str:
    if call.status is None:
        return f"{call.operation or call.method} got no answer: its client had disconnected"
    if call.operation is None:
        hint = _HINT.search(call.reason or "")
        return f"{call.method} {call.path} is not an operation of the API{hint[0] if hint else ''}"
    missing = _missing(call)
    if missing is not None:
        return f"the path has {missing!r}, for which the client has no value"
    if reason is None:
        return f"{call.operation} was refused: {shorten(call.reason or str(call.status))}"
    place, text = reason["place"] or "", reason["words"]
    if _OF_BODY.fullmatch(place) and text.startswith(_NOTHING):
        return f"`{_name(place)}` is missing;{text.removeprefix(_NOTHING)}"
    if _OF_BODY.fullmatch(place) and text.startswith(_GOT):
        is_value = not text.startswith(_DESCRIBED)
        return f"`{_name(place)}`{f' is {text.removeprefix(_GOT)}' if is_value else f': {text}'}"
    is_value = text.startswith(_GOT)
    return f"{call.operation}{'' if is_value else ' was refused:'} {shorten(text)}"


def _name(pointer: str) -> str:
    """Return the place in a body as code has it: `filters[0].statements`."""
    return re.sub(r"\.(\d+)\b", r"[\1]", pointer.lstrip("/").replace("/", "."))


def _missing(call: Call) -> str | None:
    """Return the text of no value that the path of a call has; None if it has none."""
    return next((step for step in call.path.split("/") if step in _NO_VALUES), None)


def _last_answer(snapshot: SandboxSnapshot, call: Call) -> list[str]:
    """Return what the answer before a call has, in which its client may have looked for a value."""
    before = next((each for each in reversed(snapshot.exchanges) if each.n < call.n), None)
    body = before.body_received if before is not None else None
    return [f"the answer of #{before.n} has {words.listed(body)}"] if before and isinstance(body, Mapping) else []


def _main(refused: Sequence[Call]) -> Call:
    """
    Return the refusal that explains the failure best: the latest one, or an earlier write from which it follows.

    A call with the text of no value in its path follows from a call whose answer has not what the client reads. A read of
    something unknown, or a cleanup, says less than the write that was refused before it.
    """
    last = refused[-1]
    earlier = refused[:-1]
    if _missing(last) is None:
        says_less = is_cancel(last.operation) or (last.method == "GET" and last.status == 404)
        earlier = [call for call in earlier if says_less and call.operation != last.operation]
        earlier = [call for call in earlier if call.method != "GET"]
    return earlier[-1] if earlier else last


def _is_expected(call: Call, last: Call, last_write: Sequence[Call]) -> bool:
    if call.status is None or call.operation is None or _missing(call) is not None:
        return False
    if call.method == "GET":
        return call.status == 404 and call is not last
    if is_cancel(call.operation):
        return call.status == 422 and last.n > 1
    goes_on = any(write.n > call.n and write.operation != call.operation for write in last_write)
    return call.code in DONE_ALREADY and goes_on
