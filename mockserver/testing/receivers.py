"""The Python face of webhooks: receivers registered by a test, and what they were sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mockserver.server.control import webhooks

if TYPE_CHECKING:
    from mockserver.core.state.records import Webhook
    from mockserver.server.hosting.host import HostedSandbox

JSON = dict[str, Any]


class Webhooks:
    """The part of a sandbox's face that is about webhooks; `Sandbox` is made with it, and nothing else is."""

    if TYPE_CHECKING:
        _hosted: HostedSandbox

        @property
        def tenant_id(self) -> str: ...
        @property
        def events(self) -> list[JSON]: ...
        def _command(self, command: Any, **arguments: Any) -> JSON: ...

    def receive_webhooks(
        self,
        target: str | Callable[..., Any],
        events: Sequence[str] = (),
        secret: str | None = None,
        *,
        tenant_id: str | None = None,
        path: str = "/",
    ) -> Receiver:
        """
        Register an endpoint: a url, or an ASGI or WSGI app or a function of one letter, called in process with no socket.

        `events` are groups or kinds, all where none is named; the tenant is the default one; `path` is where in an app the
        letters go. A function, which may be a coroutine function, gets `.headers`, `.body` and `.json()`, and answers None,
        a status, or (status, headers, body). Coroutines run on the event loop on which they are registered; from that loop
        use the async forms, such as `advance_async`. Refuses with ValueError.
        """

        def register(hosted: HostedSandbox, _: Any) -> JSON:
            return {"made": webhooks.register(hosted, target, tenant_id or self.tenant_id, events, secret, path)}

        return Receiver(self, self._command(register)["made"])

    def redeliver(self, event_id: str) -> JSON:
        """Send an event again wherever its delivery has ended; answers it with its attempts."""
        return self._command(webhooks.redeliver, id=event_id)

    def recover(self, webhook_id: str) -> list[str]:
        """Send an endpoint all that was given up, in the order of happening; answers the ids of these events."""
        found: list[str] = self._command(webhooks.recover, id=webhook_id)["events"]
        return found

    def rotate_secret(self, webhook_id: str, secret: str) -> None:
        """Sign with another secret from now on, and beside it with the former one."""
        self._command(webhooks.rotate, id=webhook_id, secret=secret)


class Receiver:
    """A registered endpoint: its `id`, `url` and signing `secret`. Made by `Sandbox.receive_webhooks`."""

    def __init__(self, sandbox: Webhooks, webhook: Webhook) -> None:
        self._sandbox = sandbox
        self.id = webhook.id
        self.url = webhook.url
        self.secret = webhook.secret

    @property
    def deliveries(self) -> list[JSON]:
        """The deliveries to this endpoint, in the order of happening, each with its event and its attempts."""
        return [
            {"event": event["event"], "eventId": event["id"], **delivery}
            for event in self._sandbox.events
            for delivery in event["deliveries"]
            if delivery["endpoint"] == self.id
        ]

    def __repr__(self) -> str:
        return f"<Receiver {self.id} at {self.url}>"
