"""
The invariants by name: what a client must never cause, the words of the API document that say so, and how it is seen.

Each check yields sentences, a breach a sentence, from the exchanges and the world alone. A machine switches them on by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mockserver.contract.text import nearest_hint
from mockserver.testing.machine import checks
from mockserver.testing.machine.example_log import ExampleLog, told
from mockserver.testing.report.diagnosis import SelfExplainingError

_TOLD_AT_MOST = 12

Check = Callable[[ExampleLog], Iterator[str]]


class InvariantError(SelfExplainingError):
    """A client has broken an invariant; its type is one of its own for each, so that Hypothesis shrinks each by itself."""


class Invariant(NamedTuple):
    """One invariant: its name, why it holds, its check, and the type of its breach."""

    name: str
    why: str
    check: Check
    error: type[InvariantError]


class Violation(NamedTuple):
    """An invariant that does not hold, and how that shows."""

    invariant: Invariant
    what: str


def _never(_: ExampleLog) -> Iterator[str]:
    yield from ()


def _row(name: str, why: str, check: Check) -> Invariant:
    camel = "".join(part.capitalize() for part in name.split("-"))
    return Invariant(name, why, check, type(f"{camel}Error", (InvariantError,), {"__module__": __name__}))


# fmt: off
_ROWS = (
    _row("no-clone",               "CAMPAIGN_NOT_DRAFT and CAMPAIGN_ALREADY_PROCESSING say that the campaign was started; a taken name, that it was made.", checks.clones),
    _row("no-duplicate-execution", "After a network timeout on start, read the campaign before retrying, to avoid a duplicate execution.", checks.duplicate_executions),
    _row("no-duplicate-send",      "Each value applies to every recipient of the execution: a second execution messages them again.",      checks.duplicate_sends),
    _row("no-restart-of-ended",    "Only a draft can be started.",                                                                         checks.restarts),
    _row("reads-before-restart",   "After a network timeout on start, read the campaign before retrying, to avoid a duplicate execution.", checks.blind_restarts),
    _row("no-blind-retry",         "A call whose answer was lost may have taken effect; nothing says that a POST may be repeated.",        checks.blind_retries),
    _row("no-session-storm",       "After expired or failed a new session is created - by the user's wish, not in a loop.",                checks.repeated_session_creates),
    _row("no-repeat-after-success","Success status codes are not shown but for two: any 2xx is a success, 204 has no content.",           checks.repeat_after_success),
    _row("no-hopeless-retry",      "Clients handle errors by code; the same call meets the same refusal.",                                 checks.retry_after_final_error),
    _row("heeds-retry-after",      "Too many in a short interval return 429 with RATE_LIMIT_EXCEEDED; clients back off.",                  checks.early_retry),
    _row("cancels-until-sure",     "A cancel that failed has canceled nothing: the campaign goes on sending.",                             checks.forgotten_cancels),
    _row("no-start-without-filters","When filters is omitted, all chats of the organization are counted - and messaged.",                  checks.missing_filters),
    _row("audience-on-platform",   "platform does NOT restrict the audience; to restrict chats by channel, add an explicit chat.platform filter.", checks.unrestricted_platform),
    _row("cadence-in-reach",       "Messages per minute; each platform has a ceiling and higher values do not exceed it.",                 checks.cadences),
    _row("known-variables",        "Only manual variables appear in commonVariables; automatic ones must not be sent.",                    checks.variables),
    _row("dates-with-offset",      "Dates are ISO 8601 date-times; without an offset they are no instants.",                               checks.naive_dates),
    _row("no-poll-after-final",    "Clients poll until status is completed, failed or canceled, and a session only while pending.",        checks.polls_after_final),
    _row("polls-gently",           "An interval of 10-30 seconds is suggested for executions, every 2-5 seconds for sessions.",            checks.fast_polls),
    _row("reads-all-pages",        "The list envelope is records and nextCursor: a cursor says that there is more.",                       checks.early_stops),
    _row("no-endless-wait",        "completed, failed and canceled are all final; so are completed, failed and expired of a session.",     _never),
    _row("secrets-unseen",         "Every request carries the key in the header X-API-Key; it must never be exposed elsewhere.",           checks.secrets),
)
# fmt: on

_OVER_TIME = (checks.duplicate_sends,)  # what time alone can bring about; the rest comes of calls

INVARIANTS: Mapping[str, Invariant] = MappingProxyType({row.name: row for row in _ROWS})
ENDLESS = INVARIANTS["no-endless-wait"]


def named(names: Iterable[str]) -> tuple[Invariant, ...]:
    """The invariants of these names; refuses an unknown one with the nearest."""
    if isinstance(names, str):
        raise TypeError(f"invariants came as the text {names!r}; wanted a tuple of names, such as ({names!r},)")
    found = []
    for name in names:
        if name not in INVARIANTS:
            hint = nearest_hint(name, INVARIANTS, likeness=0.4) or f"; there are {', '.join(INVARIANTS)}"
            raise ValueError(f"no invariant is named {name!r}{hint}")
        found.append(INVARIANTS[name])
    return tuple(found)


def breach(wanted: Sequence[Invariant], story: ExampleLog) -> Violation | None:
    """The first of these that does not hold."""
    story.look()
    if not story.new:
        wanted = [row for row in wanted if row.check in _OVER_TIME]
    found = (Violation(row, what) for row in wanted for what in row.check(story))
    return next(found, None)


def error(found: Violation, story: ExampleLog) -> InvariantError:
    """The breach as an exception: what the client did, why that is wrong, and the calls that show it."""
    calls = [each for each in story.exchanges if each.operation is not None]
    left_out = ["  ..."] if len(calls) > _TOLD_AT_MOST else []
    lines = [
        f"{found.invariant.name}: {found.what}",
        f"The API document: {found.invariant.why}",
        "The calls:",
        *left_out,
        *(f"  {told(each)}" for each in calls[-_TOLD_AT_MOST:]),
    ]
    return found.invariant.error("\n".join(lines))
