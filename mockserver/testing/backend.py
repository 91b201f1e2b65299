"""
Access to one sandbox, wherever it is: the protocol `Backend`, and `LocalBackend` for a sandbox in this process.

1. A backend runs commands of the control plane by id; of `mockserver.testing` only this module and `remote` import them.
2. What needs the sandbox in this process calls `local()`, which a remote sandbox refuses.
3. Waits have a limit in real time, also under a frozen process clock: a lock's own timeout measures it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mockserver._json import JSON
from mockserver.contract.text import closest_match_hint
from mockserver.core.instants import SECOND, Instant, format_exact, from_datetime, to_datetime
from mockserver.scenario.apply import apply
from mockserver.scenario.problems import ScenarioError
from mockserver.server import front_controller
from mockserver.server.control.commands import CommandId
from mockserver.server.errors import ControlError
from mockserver.server.exchange import NO_TIMEOUT, VirtualWait
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox
from mockserver.testing.arguments import is_for_caller
from mockserver.testing.end_user import EndUser
from mockserver.testing.receivers import Receiver
from mockserver.testing.transports import in_process
from mockserver.testing.transports.in_process import ClientRoute, Response
from mockserver.wire.request import HttpRequest

if TYPE_CHECKING:
    from mockserver.core.state.records import Webhook
    from mockserver.server.webhooks.local_receivers import ReceiverTarget

__tracebackhide__ = is_for_caller


class NotInThisProcess(ValueError):
    """A test needs the sandbox in its own process, and has one on a running server."""


class Backend(Protocol):
    """Everything that `Sandbox` needs of a sandbox and of its server."""

    @property
    def sandbox_id(self) -> str:
        """The sandbox's id."""

    @property
    def tenant_id(self) -> str:
        """The default tenant's id."""

    @property
    def secret_key(self) -> str:
        """The default tenant's secret key, whole."""

    @property
    def public_key(self) -> str:
        """The default tenant's public key, whole."""

    @property
    def address(self) -> str | None:
        """The base url if it can be reached over a socket, else None."""

    @property
    def page_url(self) -> str | None:
        """The page of the sandbox if it outlives this process, else None."""

    @property
    def now(self) -> datetime:
        """The sandbox's time, aware, in UTC."""

    @property
    def call_count(self) -> int:
        """The number of API calls so far."""

    def base_url(self) -> str:
        """Return the base url; the server's socket is open afterwards."""

    def run(self, command: CommandId, /, **arguments: Any) -> JSON:
        """Run a command of the control plane; ValueError or ScenarioError if it refuses."""

    def deliver_quietly(self) -> None:
        """Send what is due, for a report; a receiver of this process cannot end the test by it any more."""

    def sleep(self, seconds: float) -> None:
        """Let this much time pass on the sandbox's clock; a sleep that begins within another one shares it."""

    def apply(self, document: Mapping[str, Any]) -> JSON:
        """Apply a scenario document of Python values; ScenarioError if it is refused."""

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Response:
        """Send one request to a path of the sandbox; the standard library's exception if the response breaks off."""

    def client_route(self) -> ClientRoute:
        """Return the way of the HTTP clients that need no socket of their own."""

    def register_receiver(
        self, target: ReceiverTarget, tenant_id: str, events: Sequence[str], secret: str | None, path: str
    ) -> Receiver:
        """Register a function or app of this process, which gets its requests at `path`, as a webhook endpoint."""

    def end_user(self, session: str | Mapping[str, Any]) -> EndUser:
        """Return an end user with the link of a session; ValueError if the sandbox has none such."""

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Return True once the condition holds, False if it does not within `timeout_s` real seconds."""

    def track_choices(self, read: set[str]) -> None:
        """Add to `read` each choice that is read from now on; a remote one does so when it is closed."""

    def checkpoint(self) -> Callable[[], None]:
        """Store the state; the function that is returned restores it."""

    def reset(self) -> None:
        """Restore the initial state."""

    def local(self, need: str) -> LocalBackend:
        """Return the sandbox in this process for what `need` names; NotInThisProcess if it is remote."""

    def close(self) -> None:
        """End the sandbox; a second time does nothing."""


class LocalBackend:
    """
    A sandbox in this process; in a fork of it all but the address, the keys and ids is refused by a RuntimeError.

    `open_socket` opens its server's socket, if it is not open.
    """

    def __init__(self, hosted: HostedSandbox, open_socket: Callable[[], object]) -> None:
        self._hosted = hosted
        self._open_socket = open_socket

    @property
    def hosted(self) -> HostedSandbox:
        """The sandbox."""
        self._hosted.refuse_fork()
        return self._hosted

    @property
    def sandbox_id(self) -> str:
        return self._hosted.id

    @property
    def tenant_id(self) -> str:
        return self._hosted.tenant.id

    @property
    def secret_key(self) -> str:
        return self._hosted.tenant.secret_key

    @property
    def public_key(self) -> str:
        return self._hosted.tenant.public_key

    @property
    def address(self) -> str | None:
        hosted = self._hosted
        has_socket = hosted.own_origin is not None or hosted.host.origin != IN_PROCESS_ORIGIN
        return hosted.base_url if has_socket else None

    @property
    def page_url(self) -> None:
        return None  # its server ends with the tests

    @property
    def now(self) -> datetime:
        return to_datetime(self.hosted.sandbox.read_clock())

    @property
    def call_count(self) -> int:
        return self.hosted.sandbox.journal.last_exchange

    def base_url(self) -> str:
        if self._hosted.is_forked and self.address is not None:
            return self.address
        if self.hosted.own_origin is None:
            self._open_socket()
        return self.hosted.base_url

    def run(self, command: CommandId, /, **arguments: Any) -> JSON:
        from mockserver.server.control import routes  # late, here and below: a test that passes may run no command

        __tracebackhide__ = True
        view: JSON = self._run(lambda: routes.run_command(self.hosted, command, arguments))
        return view

    def sleep(self, seconds: float) -> None:
        from mockserver.server.control import sandboxes

        def handler(hosted: HostedSandbox, arguments: Mapping[str, Any]) -> Any:
            return sandboxes.advance_clock(hosted, arguments, in_order=False)

        __tracebackhide__ = True
        arguments = {"by": seconds}
        self._run(lambda: self.hosted.run_command(handler, arguments, phase="unlocked", recorded="advance"))

    def deliver_quietly(self) -> None:
        is_over = False
        while not is_over:
            try:
                self.hosted.dispatch_webhooks()
                is_over = True
            except KeyboardInterrupt:
                raise
            except BaseException as exit:  # noqa: BLE001 - the attempt is recorded, so the next one is another's
                is_over = isinstance(exit, Exception)

    def apply(self, document: Mapping[str, Any]) -> JSON:
        def handler(hosted: HostedSandbox, document: Mapping[str, Any]) -> JSON:
            return apply(hosted.sandbox, document).as_json()

        __tracebackhide__ = True
        applied: JSON = self._run(lambda: self.hosted.run_command(handler, document, recorded="apply_scenario"))
        return applied

    def register_receiver(
        self, target: ReceiverTarget, tenant_id: str, events: Sequence[str], secret: str | None, path: str
    ) -> Receiver:
        from mockserver.server.control import webhooks

        def handler(hosted: HostedSandbox, _: Mapping[str, Any]) -> Webhook:
            return webhooks.register(hosted, target, tenant_id, events, secret, path)

        __tracebackhide__ = True
        webhook: Webhook = self._run(lambda: self.hosted.run_command(handler, {}))
        return Receiver(webhook.id, webhook.url, webhook.secret, lambda: self.run("readEvents")["events"])

    def end_user(self, session: str | Mapping[str, Any]) -> EndUser:
        return EndUser(_link_of(self.hosted, session), self.visit)

    def visit(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Send one request of a browser, and return its page."""
        __tracebackhide__ = True
        page: Response = self._run(lambda: _visit(self.hosted, method, url, headers, body))
        return page

    @staticmethod
    def _run(command: Callable[[], Any]) -> Any:
        __tracebackhide__ = True
        try:
            return command()
        except ControlError as refusal:
            if refusal.problems and refusal.code == "MOCK_BAD_SCENARIO":
                raise ScenarioError(refusal.problems) from None
            raise ValueError(refusal.message) from None
        except ScenarioError as refusal:
            raise refusal.with_traceback(None) from None

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Response:
        hosted = self.hosted
        request = HttpRequest.create(method, path, headers, body, hosted.in_process_url)
        wait = NO_TIMEOUT if timeout_s is None else VirtualWait(round(timeout_s * SECOND))
        response, _ = front_controller.handle_request(hosted.host, request, hosted, wait)
        return in_process.received(response)

    def client_route(self) -> ClientRoute:
        hosted = self.hosted
        return ClientRoute(
            partial(in_process.send_in_process, hosted),
            hosted.base_url,
            lambda: any(tenant.webhooks for tenant in hosted.sandbox.tenants.values()),
        )

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        hosted, changed = self.hosted, threading.Event()
        seen = _progress(hosted)

        def look() -> bool:
            nonlocal seen
            seen = _progress(hosted)
            return condition()

        def notify() -> None:
            if _progress(hosted) != seen:  # else a command has only read, such as a look of this or of another thread
                changed.set()

        hosted.listeners.append(notify)
        try:
            return wait_for_change(changed, look, timeout_s)
        finally:
            hosted.remove_listener(notify)

    def track_choices(self, read: set[str]) -> None:
        self.hosted.watch_choices(read)

    def checkpoint(self) -> Callable[[], None]:
        hosted = self.hosted
        with hosted.sandbox.lock:
            stored = hosted.sandbox.clone()
        return lambda: hosted.restore(stored)

    def reset(self) -> None:
        self.hosted.reset()

    def local(self, need: str) -> LocalBackend:
        return self

    def close(self) -> None:
        if not self._hosted.is_forked:
            self.hosted.host.close(self.hosted.id)

    def __str__(self) -> str:
        sandbox = self._hosted.sandbox
        return f"at {format_exact(sandbox.now)}, {sandbox.journal.last_exchange} exchanges"


def pass_until(backend: Backend, until: Instant) -> None:
    """Advance the clock to an instant, unless another thread has advanced it beyond that meanwhile."""
    __tracebackhide__ = True
    try:
        backend.run("advanceClock", to=format_exact(until))
    except ValueError:
        if from_datetime(backend.now) < until:
            raise


def _progress(hosted: HostedSandbox) -> tuple[int, ...]:
    """Return what differs after each call, each command other than one that reads, and each answer that is lost."""
    sandbox, journal = hosted.sandbox, hosted.sandbox.journal
    return sandbox.epoch, journal.last_exchange, journal.last_transition, journal.size_bytes


def is_recorded(command: CommandId) -> bool:
    """Return True for a command that changes the sandbox, as its history has it."""
    from mockserver.server.control import routes

    return routes.COMMANDS[command].recorded is not None


def run_recorded(hosted: HostedSandbox, name: str, arguments: Mapping[str, Any]) -> str | None:
    """
    Repeat a command by the name under which the history has it; return the reason if it is refused.

    Raises:
        ValueError: No command has this name, or the history never has it, since it only reads.
    """
    from mockserver.server.control import routes

    command = routes.find_command(name)
    if routes.COMMANDS[command].recorded is None:
        raise ValueError(f"command: got {name!r}; expected one that changes the sandbox, as its history has it")
    try:
        routes.run_command(hosted, command, arguments)
    except ControlError as refusal:
        return refusal.message
    return None


def wait_for_change(
    changed: threading.Event, condition: Callable[[], bool], timeout_s: float, poll_s: float | None = None
) -> bool:
    """
    Return True once the condition holds, False if it does not within the time limit.

    Args:
        changed: Set whenever the condition may have changed.
        condition: Checked at the start, after each change and at the end.
        timeout_s: Real seconds.
        poll_s: Real seconds after which the condition is checked in any case; never, if None.
    """
    if condition():
        return True
    over = threading.Event()

    def end() -> None:
        over.set()
        changed.set()

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        while True:
            is_over = over.is_set()
            changed.clear()
            if condition():
                return True
            if is_over:
                return False
            if not over.is_set():
                changed.wait(poll_s)
    finally:
        timer.cancel()


def _visit(hosted: HostedSandbox, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Response:
    """
    Send one request of a browser to a sandbox in this process, and the webhooks that it makes due.

    Raises:
        LoopBlocked: A receiver needs the event loop that this thread runs; the request itself has had its effect.
    """
    base, separator, path = url.partition("/connect/")
    request = HttpRequest.create(method, separator + path, headers, body, base)
    answer, _ = front_controller.handle_request(hosted.host, request, hosted)
    page = in_process.received(answer)
    hosted.dispatch_webhooks(raises_blocked=True)  # a redirect to the returnUrl is followed by no further request
    return page


def _link_of(hosted: HostedSandbox, session: str | Mapping[str, Any]) -> str:
    """
    Return the url of a session, without a socket; ValueError for what is no session of the sandbox.

    Args:
        hosted: The sandbox.
        session: The session's id, its url at any host, or the JSON of its creation.
    """
    named = session.get("url") or session.get("sessionId") if isinstance(session, Mapping) else session
    if not isinstance(named, str):
        raise ValueError(f"session: got {session!r}; expected a session's id, its url, or the JSON of its creation")  # noqa: TRY004
    base = f"{hosted.in_process_url}/connect/"
    with hosted.sandbox.lock:
        known: dict[str, str] = {session.id: session.token for _, session in hosted.sandbox.records("session")}
    if "/" in named:
        token = named.rpartition("/")[2]
        if token not in known.values():
            raise ValueError(f"session: got the url of another sandbox; expected one that begins with {base}")
        return base + token
    if named not in known:
        expected = ", ".join(list(known)[:5]) or "the id of a session; there is none yet"
        raise ValueError(f"session: got {named!r}; expected {expected}{closest_match_hint(named, known)}")
    return base + known[named]
