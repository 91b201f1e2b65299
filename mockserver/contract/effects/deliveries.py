"""Effects on deliveries: one row and one Python method; each of its members changes one attempt to deliver an event."""

from __future__ import annotations

from typing import Final, Literal, get_args

from mockserver.contract.durations import Length, length
from mockserver.contract.effects.model import DURATION, ON_FLAG, Effect, EffectMethods, Put, object_form, object_schema

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
# Forged requests: a receiver that verifies signatures refuses each.
Forgery = Literal["no-signature", "wrong-secret", "old-timestamp", "changed-body", "changed-id", "junk-header"]
FORGERIES: Final[tuple[Forgery, ...]] = get_args(Forgery)
BodyFormat = Literal["escaped", "spaced", "reordered-keys"]

_DELIVER: Final = object_schema(
    None,
    {
        "duplicate": {
            "title": "Duplicates",
            "description": "So many more of the same, after the true one.",
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
        },
        "reorder": {"title": "Reorder", "description": "After the event that follows it.", **ON_FLAG},
        "delay": {**DURATION, "title": "Delay"},
        "lose": {"title": "Lose", "description": "It never leaves, and counts as accepted.", **ON_FLAG},
        "before-answer": {
            "title": "Before the answer",
            "description": "Sent while the answer of the call that caused it is still on the wire.",
            **ON_FLAG,
        },
        "forge": {
            "title": "Forge",
            "description": "A forged request in addition to the genuine one.",
            "enum": list(FORGERIES),
        },
        "old-secret": {
            "title": "Old secret",
            "description": "Signed with a former secret too: two signatures, the valid one second.",
            **ON_FLAG,
        },
        "spell": {"title": "Spelling of the body", "enum": list(get_args(BodyFormat))},
        "unknown-kind": {
            "title": "Unknown kind",
            "description": "An event of this undocumented kind, in addition to the genuine one.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "examples": ["entrypoints.photoapp.renamed"],
        },
    },
    needs_any=True,
)
ROWS: Final = (
    Effect(
        name="deliver",
        group="delivery",
        meaning="changes an attempt to deliver an event",
        argument=object_form(_DELIVER, ()),
        schema=_DELIVER,
        examples=({"duplicate": 2}, {"forge": "wrong-secret"}),
    ),
)


class DeliveryMethods(EffectMethods[Put]):
    """The effect on deliveries, a method that adds the rule with this effect alone."""

    def deliver(
        self,
        *,
        duplicate: int | None = None,
        reorder: bool | None = None,
        delay: Length | None = None,
        lose: bool | None = None,
        before_answer: bool | None = None,
        forge: str | None = None,
        old_secret: bool | None = None,
        spell: str | None = None,
        unknown_kind: str | None = None,
    ) -> Put:
        """
        Change an attempt to deliver an event; for rules on "delivery".

        Args:
            duplicate: The number of further requests with the same event.
            reorder: Send the event after the next one.
            delay: Send it later by this length of time.
            lose: Do not send it, and count it as accepted.
            before_answer: Send it while the response to the call that caused it is still being sent.
            forge: Send a forged request in addition: "no-signature", "wrong-secret", "old-timestamp", "changed-body",
                "changed-id" or "junk-header".
            old_secret: Sign with a former secret too: two signatures, the valid one second.
            spell: Encode the JSON of the payload differently: "escaped", "spaced" or "reordered-keys".
            unknown_kind: Send an event of this kind, which the API document does not list, in addition.
        """
        faults = {
            "duplicate": duplicate,
            "reorder": reorder,
            "delay": None if delay is None else length(delay),
            "lose": lose,
            "before-answer": before_answer,
            "forge": forge,
            "old-secret": old_secret,
            "spell": spell,
            "unknown-kind": unknown_kind,
        }
        return self._do_one("deliver", **faults)
