"""The clauses that no probe can judge from outside, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_EVENTS = "events go to registered endpoints, not through the API"
_ADVICE = "it is advice to clients, not a rule of the service"
_RUNNING = "only a campaign that really sends shows it, and a run sends to nobody"
_USER = "only an end user at the hosted page shows it"
_UPLOAD = "only an upload that is kept shows it, and nothing deletes one"

UNSEEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auth.developers-disabled": "the tenant's developer environment is on",
        "auth.any-secret-key": "it takes two secret keys of one tenant",
        "auth.precedence": "the document leaves the order of checks open",
        "templates.automatic": "the API does not tell which placeholders are automatic",
        "templates.read-only": "only calls that the document does not have could show it",
        "audience.platform-free": _RUNNING,
        "start.audience-fixed": _RUNNING,
        "start.already": _RUNNING,
        "start.size": _RUNNING,
        "start.once": _RUNNING,
        "send.cadence": _RUNNING,
        "send.failures": _RUNNING,
        "send.message": _RUNNING,
        "send.failed": _RUNNING,
        "cancel.processing": _RUNNING,
        "cancel.queued": _RUNNING,
        "session.funnel-step": _USER,
        "session.completed": _USER,
        "session.failed": _USER,
        "session.user-cancels": _USER,
        "session.phone-in-use": _USER,
        "session.return": _USER,
        "session.final": _USER,
        "session.expired": "a run waits for no clock, and a session lapses after twenty minutes",
        "media.audio-single": _UPLOAD,
        "media.too-many": _UPLOAD,
        "media.too-large": _UPLOAD,
        **dict.fromkeys(
            (
                "events.connected",
                "events.failed",
                "events.session-id",
                "events.once",
                "events.subscribed",
                "events.nothing-lost",
            ),
            _EVENTS,
        ),
        **dict.fromkeys(
            (
                "advice.poll-execution",
                "advice.poll-session",
                "advice.read-before-restart",
                "advice.back-off",
                "advice.secret-server-side",
                "advice.top-level",
                "advice.store-session",
                "advice.code-not-message",
            ),
            _ADVICE,
        ),
    }
)

# Clauses that only a certain answer shows, which a run does not provoke.
UNMET: Final[Mapping[str, str]] = MappingProxyType(
    {
        "base.internal": "the service never failed",
        "base.rate-limit": "no call was one too many",
        "auth.subscription": "the tenant's subscription is active",
        "media.upload": "no file was taken",
        "start.refused-changes-nothing": "no start was refused",
        "send.completed": "no campaign of the run completed",
    }
)
