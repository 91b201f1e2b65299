"""
Sandboxes on a running server, through its control plane (`--mockserver-url`).

1. `ControlClient` sends plain HTTP with the standard library, one connection per request.
2. `RemoteBackend` runs each command as a request of the control plane. What needs the sandbox in this process is refused.
3. Before a remote sandbox is closed its views are read, since reports and assertions read them after the end as well.
"""

from __future__ import annotations

import json as jsonlib
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from ssl import SSLCertVerificationError, SSLError
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from mockserver._json import JSON
from mockserver.contract.durations import parse_duration
from mockserver.contract.text import did_you_mean
from mockserver.core.instants import LATEST, from_datetime
from mockserver.judge.coverage.coverage import Coverage
from mockserver.scenario import library
from mockserver.scenario.documents import read, refusal, to_plain
from mockserver.scenario.problems import ScenarioError, WrongPart
from mockserver.server.control.commands import CommandId
from mockserver.server.control.routes import COMMANDS
from mockserver.server.hosting import runtime
from mockserver.server.hosting.config import seed_of
from mockserver.server.webhooks import event_loops
from mockserver.testing.arguments import instant, instant_text, is_for_caller
from mockserver.testing.backend import (
    NotInThisProcess,
    pass_until,
    wait_for_change,
)
from mockserver.testing.end_user import EndUser
from mockserver.testing.receivers import Receiver
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.settings import FILES, Layer, Settings
from mockserver.testing.transports.control_calls import ControlCalls
from mockserver.testing.transports.in_process import ClientRoute, Response, received
from mockserver.testing.transports.loopback_receiver import LoopbackReceiver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mockserver.server.webhooks.local_receivers import ReceiverTarget

__tracebackhide__ = is_for_caller
TIMEOUT_S = 30.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# One of several servers that drains or starts refuses a creation, and the next one may reach another server.
_CREATION_TRIES = 10
_RETRY_S = 1.0  # as the header Retry-After of these refusals
_POLL_S = 0.02  # of a condition, since a remote sandbox sends no notice of a change
_DELIVERED_S = 5.0  # the longest wait for the deliveries of a visit


def _pause(seconds: float) -> None:
    """Wait in real time. An event waits in C: no test that replaces `time.sleep` sees it."""
    threading.Event().wait(seconds)


class ControlClient:
    """A client of a server's control plane; each request has its own connection."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._token = token

    @property
    def is_local(self) -> bool:
        """True without a token, so that the server is on this machine alone and its keys need not be secret."""
        return self._token is None

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float | None = None
    ) -> Response:
        """Return the response to one request; OSError if the server does not respond, or not by TLS to an https: url."""
        parts = urlsplit(url)
        connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = connection_type(parts.hostname or "", parts.port, timeout=timeout_s or TIMEOUT_S)
        try:
            target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
            connection.request(method, target, body=body, headers=dict(headers))
            reply = connection.getresponse()
            return Response(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        except SSLCertVerificationError:
            raise
        except SSLError:
            raise ConnectionError(f"no TLS there{did_you_mean(f'http://{parts.netloc}')}") from None
        finally:
            connection.close()

    def with_token(self, token: str | None) -> ControlClient:
        """Return a client with another token; without one, this client."""
        return self if token is None else ControlClient(self.url, token)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of a request to the control plane."""
        authorization = {} if self._token is None else {"authorization": f"Bearer {self._token}"}
        return {"content-type": "application/json", "accept": "application/json", **authorization}

    def request(self, method: str, url: str, body: Any = None, *, tries: int = 1) -> Any:
        """
        Return the JSON of a request to the control plane.

        Args:
            method: Of the request.
            url: Of the request.
            body: As JSON; None for no body.
            tries: How often it is sent, a second apart, while the answer is 503.

        Raises:
            ValueError: It is refused, with the message of the refusal.
        """
        content = None if body is None else jsonlib.dumps(body).encode()
        reply = self.send(method, url, self.headers, content)
        for _ in range(tries - 1):
            if reply.status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
            _pause(_RETRY_S)
            reply = self.send(method, url, self.headers, content)
        if reply.status < 400:
            return reply.json() if reply.body else {}
        try:
            error = reply.json()
            message, problems = error["message"], error.get("problems")
            if not error["code"].startswith("MOCK_"):
                raise KeyError("not an error of a control plane")
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ValueError(f"{method} {url}: got status {reply.status}; expected a mockserver at this url") from None
        if problems and error["code"] == "MOCK_BAD_SCENARIO":
            raise ScenarioError(
                [WrongPart(row["path"], row["found"], row["wanted"], row.get("nearest")) for row in problems]
            )
        raise ValueError(message)


def _elsewhere(need: str, url: str) -> NotInThisProcess:
    """Return the error of a test that needs the sandbox in its own process."""
    return NotInThisProcess(
        f"{need}: got a sandbox on {url}; expected one in this process: run without --mockserver-url"
    )


class _Needs(NamedTuple):
    """
    What a sandbox needs of the test's process.

    Attributes:
        follows: True if its clock would follow this process's.
        receiver_host: returns the name by which the server reaches this machine, None for a server on this machine.
    """

    follows: bool
    receiver_host: Callable[[], str | None]


# Read before a sandbox is closed, in some milliseconds: the clock and the rules are in the state.
_LAST_VIEWS: tuple[CommandId, ...] = (
    "readState", "readJournal", "readEvents", "readLedger", "readConduct", "readHistory", "readReplay", "readHar",
)  # fmt: skip


class RemoteBackend:
    """A sandbox of a running server. After its end it returns the views that it had then."""

    def __init__(
        self,
        client: ControlClient,
        created: Mapping[str, str],
        needs: _Needs,
        coverage: Coverage | None = None,
    ) -> None:
        self._client = client.with_token(created.get("token"))
        self._created = created
        self._server = needs
        self._coverage = coverage
        self._receivers: list[LoopbackReceiver] = []
        self._calls = ControlCalls(created["baseUrl"], self._client.send, self._client.headers)
        self._read: set[str] | None = None  # grows by the choices that were read, when the sandbox is closed
        self._last_views: dict[CommandId, JSON] | None = None  # None while the sandbox is open

    def _gather_coverage(self) -> None:
        """Add what the sandbox has covered, before it is closed or its journal is gone."""
        if self._coverage is not None:
            document = self._request("readCoverage", {})
            self._coverage.update(Coverage.from_json(document, f"the coverage of {self._client.url}"))

    @property
    def sandbox_id(self) -> str:
        return self._created["sandboxId"]

    @property
    def tenant_id(self) -> str:
        return self._created["tenantId"]

    @property
    def secret_key(self) -> str:
        return self._created["secretKey"]

    @property
    def public_key(self) -> str:
        return self._created["publicKey"]

    @property
    def address(self) -> str:
        return self._created["baseUrl"]

    @property
    def page_url(self) -> str:
        return f"{self.address}/_mock/"

    @property
    def now(self) -> datetime:
        return instant(self.run("readClock")["now"])

    @property
    def call_count(self) -> int:
        count: int = self.run("readHistory")["exchanges"]
        return count

    @property
    def is_open(self) -> bool:
        """True until this object closes the sandbox."""
        return self._last_views is None

    def base_url(self) -> str:
        return self._created["baseUrl"]

    def run(self, command: CommandId, /, **arguments: Any) -> JSON:
        self._check_clock()
        if self._last_views is not None and command in self._last_views:
            named = {"scenario": arguments["name"]} if "name" in arguments else {}  # the only argument of these views
            return {**self._last_views[command], **named}
        return self._request(command, arguments)

    def _request(self, command: CommandId, arguments: Mapping[str, Any]) -> JSON:
        route, left = COMMANDS[command], dict(arguments)
        path = "/".join(
            quote(str(left.pop(part[1:-1])), safe="") if part[:1] == "{" else part for part in route.path.split("/")
        )
        query = f"?{urlencode(left)}" if route.method == "GET" and left else ""
        body = None if route.method == "GET" else left
        view: JSON = self._client.request(route.method, f"{self.address}{path}{query}", body)
        return view

    def deliver_quietly(self) -> None:
        """Do nothing: the server sends by itself, and its receivers in this process have threads of their own."""

    def sleep(self, seconds: float) -> None:
        __tracebackhide__ = True
        length = parse_duration(seconds)
        until = None if length is None else from_datetime(self.now) + length
        if until is None or until > LATEST:
            self.run("advanceClock", by=seconds)  # which refuses it
        else:
            pass_until(self, until)

    def apply(self, document: Mapping[str, Any]) -> JSON:
        return self.run("applyScenario", **to_plain(document))

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Response:
        self._check_clock()
        response = self._calls.call(method, path, headers, body, timeout_s)
        return received(response)

    def client_route(self) -> ClientRoute:
        return ClientRoute(self._calls.send_request, self.address, lambda: True)

    def register_receiver(
        self, target: ReceiverTarget, tenant_id: str, events: Sequence[str], secret: str | None, path: str
    ) -> Receiver:
        receiver = LoopbackReceiver(target, path, self._server.receiver_host())
        self._receivers.append(receiver)
        own = {"secret": secret} if secret is not None else {}
        row = self.run("createWebhook", url=receiver.url, tenantId=tenant_id, events=list(events), **own)
        return Receiver(row["webhookId"], receiver.url, row["secret"], lambda: self.run("readEvents")["events"])

    def end_user(self, session: str | Mapping[str, Any]) -> EndUser:
        url = session if isinstance(session, str) else str(session.get("url", ""))
        base = f"{self.address}/connect/"
        if not url.startswith(base):
            raise ValueError(
                f"session: expected the url of a session on {self.address}, or the JSON of its creation; "
                "an id is enough for a sandbox in this process"
            )
        return EndUser(url, self._visit)

    def _visit(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """
        Send one request of a browser, and wait for the webhooks that it makes due, which the server sends after it.

        Raises:
            ValueError: A receiver needs the event loop that this thread runs; the request itself has had its effect.
        """
        page = self._client.send(method, url, headers, body or None)
        if method != "POST":
            return page
        loop = event_loops.running()
        if loop is not None:
            for receiver in self._due_receivers():
                if event_loops.serves(loop, receiver):
                    raise ValueError(event_loops.LoopBlocked(receiver).message)
        self.wait_until(lambda: not _due_endpoints(self), _DELIVERED_S)
        return page

    def _due_receivers(self) -> list[str]:
        due = _due_endpoints(self)
        rows = [row for tenant in self.run("readState")["tenants"] for row in tenant["webhooks"]]
        return [row["url"] for row in rows if row["id"] in due]

    def _check_clock(self) -> None:
        """Refuse a sandbox whose clock would follow this process's, which a test has frozen, if it were in this process."""
        if self._server.follows and runtime.is_process_frozen():
            raise _elsewhere("a clock that follows freezegun or time-machine", self._client.url)

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        return wait_for_change(threading.Event(), condition, timeout_s, _POLL_S)

    def track_choices(self, read: set[str]) -> None:
        self.run("trackChoices")
        self._read = read

    def checkpoint(self) -> Callable[[], None]:
        checkpoint_id = self.run("createCheckpoint")["checkpointId"]

        def restore() -> None:
            self._gather_coverage()
            self.run("restoreCheckpoint", id=checkpoint_id)

        return restore

    def reset(self) -> None:
        self._gather_coverage()
        self.run("reset")

    def local(self, need: str) -> NoReturn:
        raise _elsewhere(need, self._client.url)

    def close(self) -> None:
        if not self.is_open:
            return
        if self._read is not None:  # before the views, which read choices too
            self._read.update(self._request("readTrackedChoices", {})["read"])
        try:
            self._gather_coverage()
            views = {command: self._request(command, {}) for command in _LAST_VIEWS}
            state = views["readState"]
            self._last_views = {**views, "readClock": state["clock"], "listRules": {"rules": state["rules"]}}
        finally:
            self._client.request("DELETE", f"{self._client.url}/_mock/sandboxes/{self.sandbox_id}")
            for receiver in self._receivers:
                receiver.stop()

    def __str__(self) -> str:
        return f"on {self._client.url}"


def _due_endpoints(backend: RemoteBackend) -> list[str]:
    """Return the ids of the endpoints whose next delivery is due; those behind one that waits to be repeated are not."""
    first_open: dict[str, str] = {}
    for event in backend.run("readEvents")["events"]:
        for delivery in event.get("deliveries", ()):
            if delivery["status"] not in ("delivered", "abandoned"):
                first_open.setdefault(delivery["endpoint"], delivery["status"])
    return [endpoint for endpoint, status in first_open.items() if status == "due"]


class RemoteServer(MockServer):
    """
    A running server that another process has started; its sandboxes are created and closed from here.

    Args:
        url: The address that `mockserver serve` prints.
        token: The token of its control plane, if it has one.
        layers: Settings for every sandbox, as of `MockServer`.
        report: Add reports to an exception, as of `MockServer`.
        coverage: Gets what the calls to each sandbox have covered, as of `MockServer`.
        labels: Names of its sandboxes on the server, such as `{"job": "4711"}`.
        receiver_host: The name by which the server reaches this machine, for receivers of webhooks in this process; none
            for a server on this machine.

    Raises:
        ValueError: The url does not lead to a mockserver, or its token is another one.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        layers: Iterable[Layer] = (),
        report: bool = False,
        coverage: Coverage | None = None,
        labels: Mapping[str, str] = MappingProxyType({}),
        receiver_host: str | None = None,
    ) -> None:
        super().__init__(layers=layers, report=report)
        self._coverage = coverage
        self._client = ControlClient(url, token)
        self._labels = labels
        self._receives_at = receiver_host
        self._backends: list[RemoteBackend] = []  # open ones, and some that were closed since the latest was created
        try:
            self._health: JSON = self._client.request("GET", f"{self._client.url}/_mock/health")
        except OSError as failure:
            raise ValueError(f"no mockserver answers at {url}: {failure}; start one with `mockserver serve`") from None

    @property
    def url(self) -> str:
        """The server's own address."""
        return self._client.url

    def open(self) -> None:
        """Do nothing: the server accepts connections already."""

    def _created(self, settings: Settings) -> Sandbox:
        if settings.get("own_port"):
            source = settings.sources.get("own_port")
            raise NotInThisProcess(
                f"own_port=True ({source}): got a server on {self.url}; expected one in this process: "
                "leave it out, or run without --mockserver-url"
            )
        scenario = settings.get("scenario")
        if isinstance(scenario, str):
            scenario = read(Path(scenario)) if Path(scenario).suffix in FILES else library.document(scenario)
        with self._key_labels.next_label(self._has_open) as (label, assign):
            config = self._config(settings, scenario or {}, label)
            follows = "follow" in config.get("clock", {})
            if follows and runtime.is_process_frozen():
                raise _elsewhere("a clock that follows freezegun or time-machine", self.url)
            try:
                created = self._client.request(
                    "POST", f"{self.url}/_mock/sandboxes", to_plain(config), tries=_CREATION_TRIES
                )
            except ScenarioError as refused:
                raise refusal(refused.problems, scenario) from None
            assign(created["sandboxId"])
        backend = RemoteBackend(self._client, created, _Needs(follows, self._receiver_host), self._coverage)
        self._backends = [*(other for other in self._backends if other.is_open), backend]
        return Sandbox(backend, settings)

    def _config(self, settings: Settings, scenario: Mapping[str, Any], key_label: str) -> JSON:
        """
        Return the body of a creation; the clock is frozen at the present by default, as in this process.

        The seed of the first sandbox of a test is 0, as in this process; that of another one follows from its label.
        """
        config: JSON = {"scenario": scenario} if scenario else {}
        if settings.get("now") is not None:
            config["clock"] = {"freeze": instant_text(settings.get("now"))}
        elif settings.get("clock") == "follow" or runtime.is_process_frozen():
            config["clock"] = {"follow": True}
        elif "clock" not in scenario:
            config["clock"] = {"freeze": instant_text(datetime.now(UTC))}
        if self._labels:
            config["labels"] = dict(self._labels)
        config |= {name: settings.get(name) for name in ("seed", "choices", "given") if settings.get(name) is not None}
        if "seed" not in config and "seed" not in scenario and self._client.is_local:
            config["seed"] = seed_of(key_label, 0) if key_label else 0
        return config

    def _receiver_host(self) -> str | None:
        if self._receives_at is None and urlsplit(self.url).hostname not in _LOOPBACK:
            need = "a receiver in this process (--mockserver-receiver-host is the name by which the server reaches it)"
            raise _elsewhere(need, self.url)
        return self._receives_at

    def is_open(self, sandbox: Sandbox) -> bool:
        """
        Return True if this object has created a sandbox and it is open.

        Args:
            sandbox: Any sandbox.
        """
        return self._has_open(sandbox.id)

    def _has_open(self, sandbox_id: str) -> bool:
        return any(backend.sandbox_id == sandbox_id and backend.is_open for backend in self._backends)

    def close(self) -> None:
        """Close the sandboxes that this object has created; the server continues."""
        for backend in self._backends:
            backend.close()

    def __repr__(self) -> str:
        return f"<RemoteServer {self.url}>"
