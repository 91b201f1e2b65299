"""
What a rule of a scenario can do: one row an effect, and the other names under which some are known.

A wire effect bends one exchange; a world effect changes what is true; a delivery effect bends one attempt to deliver
an event. `schemas/scenario.json` says how each argument is written, and a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple


class Effect(NamedTuple):
    """One effect: its group, how its argument is written, and what it means."""

    name: str
    group: Literal["wire", "world", "delivery"]
    argument: str
    meaning: str


# fmt: off
_ROWS = (
    Effect("error",            "wire",  "CODE, or {code, retryAfter}",         "refuse with a code of the catalogue instead of running the operation"),
    Effect("reply",            "wire",  "{status, headers, body}",             "this answer instead of running the operation"),
    Effect("delay",            "wire",  "duration, or {median, p99, max}",     "wait before the operation"),
    Effect("delay-after",      "wire",  "duration, or {median, p99, max}",     "the operation has taken effect, the answer is late"),
    Effect("drop",             "wire",  "before | after",                      "close without an answer, before or after the operation took effect"),
    Effect("reset",            "wire",  "before | after",                      "the same with a TCP reset"),
    Effect("truncate",         "wire",  "bytes",                               "the first bytes of the body, then close, under the full Content-Length"),
    Effect("garble",           "wire",  "true",                                "200 with a body that is not JSON, after the operation took effect"),
    Effect("dribble",          "wire",  "{chunks, over}",                      "a slow body, in so many pieces over so long"),
    Effect("stale",            "wire",  "true",                                "a read answers as before the last change"),
    Effect("complete-session", "world", "{id?, phone?, name?}",                "the end user finishes the hosted flow"),
    Effect("fail-session",     "world", "{id?, reason?}",                      "the connection fails"),
    Effect("expire-session",   "world", "{id?}",                               "the session expires, also before its deadline"),
    Effect("cancel-session",   "world", "{id?}",                               "the end user cancels the hosted flow"),
    Effect("visit-link",       "world", "{id?, userAgent?}",                   "a scanner or a second person opens the session's url"),
    Effect("fail-campaign",    "world", "{id?}",                               "a running campaign meets an unrecoverable error"),
    Effect("stall-sends",      "world", "{id?}",                               "nothing more is sent until resume-sends"),
    Effect("resume-sends",     "world", "{id?}",                               "the next send goes now, the rest evenly from there at the campaign's own rate"),
    Effect("slow-sends",       "world", "{id?, perMinute}",                    "the sends go at this rate until resume-sends"),
    Effect("fail-sends",       "world", "{id?, ratio | every | chats, reason?}", "some of the sends that are still to come fail"),
    Effect("set-tenant",       "world", "{tenant?, subscription?, developersEnabled?, name?}", "change a tenant's settings"),
    Effect("revoke-key",       "world", "{tenant?, kind?}",                    "a tenant's key is unknown from the next call on"),
    Effect("rotate-key",       "world", "{tenant?, kind?, key?}",              "a new key takes the place of a tenant's key"),
    Effect("set-template",     "world", "{id?, tenant?, status?, variables?, text?}", "change a template; while it is not approved what is still to come fails"),
    Effect("remove-template",  "world", "{id?, tenant?}",                      "a template is gone"),
    Effect("remove-funnel",    "world", "{id?, tenant?}",                      "a funnel with its steps is gone"),
    Effect("remove-entrypoint","world", "{id?, tenant?}",                      "a channel is gone; without another of its platform what is still to come fails"),
    Effect("fail-media",       "world", "{ratio | every | names}",             "storage fails: such a file has `success: false`"),
    Effect("given",            "world", "seed data",                           "records that appear now"),
    Effect("rate-limit",       "world", "off, or {requests, per}",             "sets the choice rate-limit-numbers"),
    Effect("set-choice",       "world", "{id: option}",                        "sets choices"),
    Effect("advance",          "world", "duration",                            "lets time pass"),
    Effect("deliver",          "delivery", "{duplicate, reorder, delay, lose, before-answer, forge, old-secret, spell, unknown-kind}", "bends an attempt to deliver an event"),
)
# fmt: on

EFFECTS: Mapping[str, Effect] = MappingProxyType({row.name: row for row in _ROWS})

# Names that people know from elsewhere: the effect, and what `true` means for it.
ALIASES: Mapping[str, tuple[str, object]] = MappingProxyType(
    {
        "CONNECTION_RESET_BY_PEER": ("reset", "before"),
        "EMPTY_RESPONSE": ("drop", "before"),
        "MALFORMED_RESPONSE_CHUNK": ("truncate", 20),
        "RANDOM_DATA_THEN_CLOSE": ("garble", True),
    }
)

# How an attempt to deliver an event is forged: what a receiver that verifies refuses.
FORGERIES = (
    "no-signature",
    "wrong-secret",
    "old-timestamp",
    "changed-body",
    "changed-id",
    "other-tenant",
    "junk-header",
)
BODY_SPELLINGS = ("escaped", "spaced", "reordered-keys")


def of_group(group: str) -> tuple[str, ...]:
    """The names of a group's effects, in the order of the table."""
    return tuple(row.name for row in _ROWS if row.group == group)
