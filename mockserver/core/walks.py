"""The records of the hosted page: how far a person has walked, and each look at the page."""

from __future__ import annotations

from dataclasses import dataclass, field

from mockserver.core.instants import Instant


@dataclass(frozen=True, slots=True)
class Walk:
    """
    A person's walk through the hosted page of one session, begun from its link.

    `secret` names the walk in its urls, never equal to the link's token. `consumed_at` is when the link stopped leading
    anywhere, None while it still does. `phone` (E.164) and `name` are what the person has chosen so far.
    """

    session_id: str
    secret: str = field(repr=False)
    begun_at: Instant
    consumed_at: Instant | None
    step: str
    phone: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """
    One request to a hosted page and what it met; texts from its headers are cut to `VISIT_TEXT_MAX_CHARS`.

    `session_id` is None where the link belongs to no session. `step` is the page that was shown, or the step that was
    answered; `status` is the HTTP status of the answer.
    """

    n: int
    at: Instant
    session_id: str | None
    method: str
    step: str
    user_agent: str | None
    sec_fetch_dest: str | None
    referer: str | None
    status: int
