"""What a test does to connection sessions by hand, and whom it sends through their hosted page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockserver.edge import forced
from mockserver.testing.end_user import EndUser, link_of

if TYPE_CHECKING:
    from mockserver.edge.hosting import Hosted
    from mockserver.testing.server import MockServer

JSON = dict[str, Any]


class SessionMoves:
    """The part of `Sandbox` that moves sessions."""

    _hosted: Hosted
    _server: MockServer

    def _command(self, command: Any, **arguments: Any) -> JSON:
        raise NotImplementedError

    def end_user(
        self, session: str | Mapping[str, Any], *, socket: bool = False, user_agent: str = "EndUser"
    ) -> EndUser:
        """
        A person before a session's hosted page, in process, or over the server's socket.

        `session` is its id, its url, or the JSON of its creation.
        """
        if socket:
            self._server.open()
        return EndUser(self._hosted, link_of(self._hosted, session), socket=socket, user_agent=user_agent)

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
