"""Forced moves: what the end user, the provider or the service does, at once and by hand."""

from __future__ import annotations

from mockserver.edge import forced
from mockserver.testing.holding import JSON, Holding


class Moves(Holding):
    """What can be made happen to sessions and campaigns."""

    def complete_session(self, session_id: str, *, phone: str | None = None, name: str | None = None) -> JSON:
        """The end user finishes the flow; answers the session as it is then read."""
        given = {key: value for key, value in (("phone", phone), ("name", name)) if value is not None}
        return self._command(forced.complete_session, sessionId=session_id, **given)

    def fail_session(self, session_id: str, *, reason: str = "token_exchange_failed") -> JSON:
        """The connection fails for a documented reason."""
        return self._command(forced.fail_session, sessionId=session_id, reason=reason)

    def cancel_session(self, session_id: str) -> JSON:
        """The end user cancels the flow."""
        return self._command(forced.cancel_session, sessionId=session_id)

    def expire_session(self, session_id: str) -> JSON:
        """The session expires now, also before its deadline."""
        return self._command(forced.expire_session, sessionId=session_id)

    def fail_campaign(self, campaign_id: str) -> JSON:
        """A running campaign meets an unrecoverable error."""
        return self._command(forced.fail_campaign, id=campaign_id)
