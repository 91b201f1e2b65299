"""
The table of invariants: what a client must never cause, why the API document forbids it, and the check.

A check yields one sentence per violation, from the recorded calls and the sandbox's state alone. `in_step` and
`in_example` name the rules of conduct that judge; `checks` has the others, each with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mockserver.contract.text import closest_match_hint
from mockserver.testing.machine import checks
from mockserver.testing.machine.checks import Check, in_example, in_step
from mockserver.testing.machine.example_log import ExampleLog, call_line
from mockserver.testing.report.failures import SelfExplainingError

_CALLS_SHOWN = 12


class InvariantError(SelfExplainingError):
    """Violation of an invariant. Each invariant has its own subclass, so that Hypothesis shrinks each by itself."""


class Invariant(NamedTuple):
    """One invariant: its name, the reason in the API document, its check, and the exception of a violation."""

    name: str
    why: str
    check: Check
    error: type[InvariantError]


class Violation(NamedTuple):
    """An invariant that the client has broken, with the sentence of its check."""

    invariant: Invariant
    message: str


def _row(name: str, why: str, check: Check) -> Invariant:
    camel = "".join(part.capitalize() for part in name.split("-"))
    return Invariant(name, why, check, type(f"{camel}Error", (InvariantError,), {"__module__": __name__}))


# fmt: off
_ROWS = (
    _row("no-clone",               "CAMPAIGN_NOT_DRAFT and CAMPAIGN_ALREADY_PROCESSING mean that the campaign was started; a taken name, that it was created.", checks.clones),
    _row("no-duplicate-execution", "After a network timeout on start, read the campaign before retrying, to avoid a duplicate execution.", checks.duplicate_executions),
    _row("no-duplicate-send",      "Each value applies to every recipient of the execution: a second execution messages them again.",      checks.duplicate_sends),
    _row("no-restart-of-ended",    "Only a draft can be started.",                                                                         checks.restarts),
    _row("reads-before-restart",   "After a network timeout on start, read the campaign before retrying, to avoid a duplicate execution.", in_example("duplicate-start", "startCampaign")),
    _row("no-blind-retry",         "A call whose answer was lost may have taken effect; the document allows no repetition of a POST.",        in_step("blind-post-retry", least_calls=2)),
    _row("no-session-storm",       "After expired or failed a new session is created - by the user's wish, not in a loop.",                checks.repeated_session_creates),
    _row("no-repeat-after-success","The document shows two success status codes: any 2xx is a success, and 204 has no content.",           checks.repeat_after_success),
    _row("no-hopeless-retry",      "Clients handle errors by code; the same call gets the same refusal.",                                 in_step("retry-hopeless", least_calls=3)),
    _row("heeds-retry-after",      "Too many in a short interval return 429 with RATE_LIMIT_EXCEEDED; clients back off.",                  checks.early_retry),
    _row("cancels-until-sure",     "A cancel that failed has canceled nothing: the campaign continues to send.",                             checks.forgotten_cancels),
    _row("no-start-without-filters","When filters is omitted, all chats of the organization are counted - and messaged.",                  in_example("lost-filters", "startCampaign", "createCampaign", "previewAudience")),
    _row("audience-on-platform",   "platform does NOT restrict the audience; to restrict chats by channel, add an explicit chat.platform filter.", in_example("platform-used-as-audience", "startCampaign")),
    _row("cadence-in-reach",       "Messages per minute; each platform has a ceiling and higher values do not exceed it.",                 in_example("cadence-units", "startCampaign", "createCampaign")),
    _row("known-variables",        "Only manual variables appear in commonVariables; automatic ones must not be sent.",                    in_example("wrong-variable-keys", "startCampaign")),
    _row("dates-with-offset",      "Dates are ISO 8601 date-times; without an offset they are not instants.",                               in_step("naive-dates")),
    _row("no-poll-after-final",    "Clients poll until status is completed, failed or canceled, and a session only while pending.",        in_step("poll-after-final", "poll-final-set-incomplete", "reuse-dead-session", least_calls=3)),
    _row("polls-gently",           "An interval of 10-30 seconds is suggested for executions, every 2-5 seconds for sessions.",            in_step("poll-too-fast", least_calls=3)),
    _row("reads-all-pages",        "The list envelope is records and nextCursor: a cursor means that there is more.",                       checks.early_stops),
    _row("no-endless-wait",        "completed, failed and canceled are all final; so are completed, failed and expired of a session.",     checks.none),
    _row("secrets-unseen",         "Every request carries the key in the header X-API-Key; it must never be exposed elsewhere.",           checks.secrets),
)
# fmt: on

_BY_TIME_ALONE = (checks.duplicate_sends,)  # time alone can cause these; every other violation needs a call

INVARIANTS: Mapping[str, Invariant] = MappingProxyType({row.name: row for row in _ROWS})
ENDLESS = INVARIANTS["no-endless-wait"]


def named(names: Iterable[str]) -> tuple[Invariant, ...]:
    """
    Return the invariants of these names.

    Raises:
        TypeError: `names` is a text instead of a tuple of texts.
        ValueError: A name is unknown; the message has the nearest one.
    """
    if isinstance(names, str):
        raise TypeError(f"invariants: got the text {names!r}; expected a tuple of names, such as ({names!r},)")
    rows = []
    for name in names:
        if name not in INVARIANTS:
            hint = closest_match_hint(name, INVARIANTS) or f": {', '.join(INVARIANTS)}"
            raise ValueError(f"got {name!r}; expected an invariant{hint}")
        rows.append(INVARIANTS[name])
    return tuple(rows)


def first_violation(invariants: Sequence[Invariant], log: ExampleLog) -> Violation | None:
    """Return the first violation of these invariants by the current step, or None."""
    log.read_step()
    if not log.new:
        invariants = [row for row in invariants if row.check in _BY_TIME_ALONE]
    violations = (Violation(row, message) for row in invariants for message in row.check(log))
    return next(violations, None)


def error(violation: Violation, log: ExampleLog) -> InvariantError:
    """Return a violation as an exception: what the client did, why that is wrong, and the calls that show it."""
    calls = [exchange for exchange in log.run.exchanges if exchange.operation is not None]
    left_out = ["  ..."] if len(calls) > _CALLS_SHOWN else []
    lines = [
        f"{violation.invariant.name}: {violation.message}",
        f"The API document: {violation.invariant.why}",
        "The calls:",
        *left_out,
        *(f"  {call_line(exchange)}" for exchange in calls[-_CALLS_SHOWN:]),
    ]
    return violation.invariant.error("\n".join(lines))
