"""What a script can do to one attempt at a delivery, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mockserver.core.instants import Span

Forgery = Literal[
    "no-signature", "wrong-secret", "old-timestamp", "changed-body", "changed-id", "other-tenant", "junk-header"
]
Spelling = Literal["escaped", "spaced", "reordered-keys"]


@dataclass(frozen=True, slots=True)
class Twists:
    """
    What happens to one attempt beside the plain course of things.

    `duplicate` more copies follow once the endpoint has accepted. `reorder` has it change places with the next event
    to that endpoint, `delay` has it wait aside while later ones pass; `lose` has it never leave, and count as accepted.
    `before_answer` sends it while the answer of the call that caused it is still out. A `forge`d letter and one of an
    `unknown_kind` go beside the true one. `old_secret` signs with a former secret too, `spell` writes the body otherwise.
    """

    duplicate: int = 0
    reorder: bool = False
    delay: Span = 0
    lose: bool = False
    before_answer: bool = False
    forge: Forgery | None = None
    old_secret: bool = False
    spell: Spelling | None = None
    unknown_kind: str | None = None


NO_TWISTS = Twists()
