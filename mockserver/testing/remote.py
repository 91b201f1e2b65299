"""
Sandboxes on a running server, through its control plane (`--mockserver-url`).

The line to a server elsewhere: plain HTTP from the standard library, and the control plane's refusals as exceptions.

The Python face of a sandbox on a server elsewhere: the same methods over the control plane, as far as its doors go.

What needs the sandbox in this process is refused with a ValueError that says so.

A server that somebody else has started, for a suite that runs against it: `--mockserver-url`.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from mockserver.conduct.rules import ConductResult
from mockserver.core.instants import format_exact, from_datetime
from mockserver.scenario import library
from mockserver.scenario.documents import read, refusal, to_plain
from mockserver.scenario.problems import Problem, ScenarioError
from mockserver.server.control import reports, routes, sandboxes, scenarios
from mockserver.server.hosting import runtime
from mockserver.testing import backend
from mockserver.testing.backend import JSON, prepared
from mockserver.testing.conduct import from_answer
from mockserver.testing.sandbox import Sandbox, instant
from mockserver.testing.server import MockServer
from mockserver.testing.settings import FILES, Settings
from mockserver.testing.transports.in_process import Response

if TYPE_CHECKING:
    import httpx
    import requests


TIMEOUT_S = 30.0


class Line:
    """How a server elsewhere is spoken to; each call is a connection of its own."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._token = token

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float = TIMEOUT_S
    ) -> Response:
        """The answer to one request; OSError where the server does not answer."""
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        try:
            target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
            connection.request(method, target, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def command(self, method: str, url: str, body: Any) -> Any:
        """One call of the control plane; what it refuses is a ValueError with its own words."""
        headers = {"content-type": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        reply = self.send(method, url, headers, None if body is None else jsonlib.dumps(body).encode())
        if reply.status < 400:
            return reply.json() if reply.body else {}
        try:
            said = reply.json()
            message, problems = said["message"], said.get("problems")
            if not said["code"].startswith("MOCK_"):
                raise KeyError("no refusal of a control plane")
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ValueError(f"{method} {url} answered {reply.status}; wanted a mockserver there") from None
        if problems and said["code"] == "MOCK_BAD_SCENARIO":
            raise ScenarioError(
                [Problem(each["path"], each["found"], each["wanted"], each.get("nearest")) for each in problems]
            )
        raise ValueError(message)


# What is read once more before the end, in some milliseconds: nobody knows yet whether the test will fail, and reports
# and assertions ask for it after the end too, as in this process. Clock and rules stand in the state.
_LAST_LOOK = (
    sandboxes.read_state,
    sandboxes.read_journal,
    sandboxes.read_events,
    reports.read_ledger,
    reports.read_conduct,
    reports.read_steps,
    reports.read_replay,
)


class RemoteSandbox(Sandbox):
    """A sandbox of a server elsewhere. Made by `RemoteServer.sandbox`; after its end it still tells what it was then."""

    def __init__(self, server: MockServer, line: Line, made: Mapping[str, str]) -> None:
        self._server = server
        self.settings = Settings({}, {})  # whoever makes it says them: `MockServer.make`
        self._line = line
        self._answer = made
        self._read: set[str] | None = None  # whoever sweeps wants the choices that were read
        self._left: dict[Any, JSON] | None = None  # by command what it last answered; there once it is closed

    @property
    def _hosted(self) -> NoReturn:  # type: ignore[override]  # whatever reaches for it cannot be done from here
        raise ValueError(
            f"this needs the sandbox in this process, and it is on {self._line.url}: run without --mockserver-url"
        )

    def _command(self, command: Any, **arguments: Any) -> JSON:
        if self._left is not None and command in self._left:
            named = {"scenario": arguments["name"]} if "name" in arguments else {}  # all that a last look leaves open
            return {**self._left[command], **named}
        return self._asked(command, **arguments)

    def _asked(self, command: Any, **arguments: Any) -> JSON:
        """The answer of the control plane's door for this command."""
        route = next((row for row in routes.ROUTES if row.command is command and _has_all(row.path, arguments)), None)
        if route is None:
            raise ValueError(
                f"the control plane has no door for {command.__name__.replace('_', ' ')}: run without --mockserver-url"
            )
        path = "/".join(
            quote(str(arguments.pop(part[1:-1])), safe="") if part[:1] == "{" else part
            for part in route.path.split("/")
        )
        query = f"?{urlencode(arguments)}" if route.method == "GET" and arguments else ""
        body = None if route.method == "GET" else arguments
        answer: JSON = self._line.command(route.method, f"{self.base_url}{path}{query}", body)
        return answer

    @property
    def id(self) -> str:
        return self._answer["sandboxId"]

    @property
    def base_url(self) -> str:
        return self._answer["baseUrl"]

    address = base_url  # known from the start here: whoever calls it went over the socket

    @property
    def tenant_id(self) -> str:
        return self._answer["tenantId"]

    @property
    def secret_key(self) -> str:
        return self._answer["secretKey"]

    @property
    def public_key(self) -> str:
        return self._answer["publicKey"]

    @property
    def now(self) -> datetime:
        return instant(self._command(sandboxes.read_clock)["now"])

    @property
    def call_count(self) -> int:
        count: int = self.retold["exchanges"]
        return count

    @property
    def is_open(self) -> bool:
        """True until it is closed from here."""
        return self._left is None

    def _apply(self, document: Mapping[str, Any] | str) -> JSON:
        if isinstance(document, str):
            return super()._apply(document)
        return self._command(scenarios.apply_scenario, **to_plain(document))

    def watch_choices(self, read: set[str]) -> None:
        """Add to this set, once the sandbox is closed, each choice that is read from now on."""
        self._command(reports.watch_choices)
        self._read = read

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        kept = self._command(sandboxes.make_checkpoint)["checkpointId"]
        try:
            yield
        finally:
            self._command(sandboxes.restore_checkpoint, id=kept)

    def reset(self) -> None:
        self._command(sandboxes.reset)

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json: Any = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Response:
        sent, body = prepared(self.secret_key, key, json, body, headers)
        return self._line.send(method, self.base_url + path, sent, body or None, timeout or TIMEOUT_S)

    def requests_session(self) -> requests.Session:
        """A plain requests session, for full urls."""
        import requests

        return requests.Session()

    def httpx_client(self) -> httpx.Client:
        """A plain httpx client on the base url."""
        import httpx

        return httpx.Client(base_url=self.base_url)

    def httpx_async_client(self) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(base_url=self.base_url)

    def _wait_until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        return backend.poll(holds, timeout_s)

    def _judged(self) -> ConductResult:
        return from_answer(self._command(reports.read_conduct))

    def close(self) -> None:
        if not self.is_open:
            return
        if self._read is not None:  # first: to look is to read choices too
            self._read.update(self._command(reports.read_watched)["read"])
        try:
            left: dict[Any, JSON] = {command: self._asked(command) for command in _LAST_LOOK}
            state = left[sandboxes.read_state]
            self._left = {**left, sandboxes.read_clock: state["clock"], scenarios.list_rules: {"rules": state["rules"]}}
        finally:
            self._line.command("DELETE", f"{self._server.url}/_mock/sandboxes/{self.id}", None)

    def __repr__(self) -> str:
        return f"<RemoteSandbox {self.id} on {self._line.url}>"


def _has_all(path: str, arguments: Mapping[str, Any]) -> bool:
    """True where each parameter of the path is given, and an id that is given has its place in it."""
    names = {part[1:-1] for part in path.split("/") if part[:1] == "{"}
    return names <= set(arguments) and ("id" not in arguments or "id" in names)


class RemoteServer(MockServer):
    """A server that somebody else has started; its sandboxes are made and ended from here."""

    def __init__(self, url: str, *, token: str | None = None, layers: Any = ()) -> None:
        super().__init__(layers=layers)
        self._line = Line(url, token)
        self._open: list[RemoteSandbox] = []
        try:
            self._line.command("GET", f"{self._line.url}/_mock/health", None)
        except OSError as refusal:
            raise ValueError(f"no mockserver answers at {url}: {refusal}; start one with `mockserver serve`") from None

    @property
    def url(self) -> str:
        return self._line.url

    def open(self) -> None:
        """It listens already."""

    def _made(self, settings: Settings) -> Sandbox:
        if settings.get("own_port"):
            by = settings.sources.get("own_port")
            raise ValueError(
                f"own_port=True ({by}) needs the sandbox in this process, and it is on {self.url}: "
                "leave it out, or run without --mockserver-url"
            )
        scenario, said = settings.get("scenario"), JSON()
        if isinstance(scenario, str):
            scenario = read(Path(scenario)) if Path(scenario).suffix in FILES else library.document(scenario)
        clock = _clock(settings, scenario or {})
        for name, value in (("scenario", scenario), ("clock", clock)):
            said |= {name: value} if value else {}
        said |= {name: settings.get(name) for name in ("seed", "choices", "given") if settings.get(name) is not None}
        try:
            told = self._line.command("POST", f"{self.url}/_mock/sandboxes", to_plain(said))
        except ScenarioError as refused:
            raise refusal(refused.problems, scenario) from None
        made = RemoteSandbox(self, self._line, told)
        self._open = [*(each for each in self._open if each.is_open), made]
        return made

    def keeps(self, sandbox: Sandbox) -> bool:
        return any(each is sandbox and each.is_open for each in self._open)

    def late_calls(self) -> Mapping[str, int]:
        """As the server tells them, of all whose calls it has met; none where it has gone away meanwhile."""
        try:
            closed = self._line.command("GET", f"{self.url}/_mock/sandboxes", None)["closed"]
        except (OSError, ValueError):
            return {}
        return {each["sandboxId"]: each["lateCalls"] for each in closed}

    def close(self) -> None:
        """End the sandboxes that this suite has made; the server goes on."""
        for sandbox in self._open:
            sandbox.close()

    def __repr__(self) -> str:
        return f"<RemoteServer {self.url}>"


def _clock(settings: Settings, scenario: Mapping[str, Any]) -> JSON | None:
    """Frozen at the present unless somebody says otherwise, as in this process."""
    now = settings.get("now")
    if now is not None:
        return {"freeze": format_exact(from_datetime(now)) if isinstance(now, datetime) else now}
    if settings.get("clock") == "follow" or runtime.is_process_frozen():
        return {"follow": True}
    return None if "clock" in scenario else {"freeze": format_exact(from_datetime(datetime.now(UTC)))}
