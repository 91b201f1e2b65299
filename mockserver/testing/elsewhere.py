"""
The Python face of a sandbox on a server elsewhere: the same methods over the control plane, as far as its doors go.

What needs the sandbox in this process is refused with a ValueError that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlencode

from mockserver.core.conduct.records import Report
from mockserver.edge import commands, control, oracles, retelling, scripts
from mockserver.scenario.documents import plain
from mockserver.testing import waiting
from mockserver.testing.calling import prepared
from mockserver.testing.conduct import from_answer
from mockserver.testing.holding import JSON
from mockserver.testing.line import TIMEOUT_S, Line
from mockserver.testing.looking import instant
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.settings import Settings
from mockserver.testing.transports import Reply

if TYPE_CHECKING:
    import httpx
    import requests

    from mockserver.testing.server import MockServer

# What is read once more before the end, in some milliseconds: nobody knows yet whether the test will fail, and reports
# and assertions ask for it after the end too, as in this process. Clock and rules stand in the state.
_LAST_LOOK = (
    commands.read_state,
    commands.read_journal,
    commands.read_events,
    oracles.read_ledger,
    oracles.read_conduct,
    retelling.read_steps,
    retelling.read_replay,
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
        route = next((row for row in control.ROUTES if row.command is command and _has_all(row.path, arguments)), None)
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
        return instant(self._command(commands.read_clock)["now"])

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
        return self._command(scripts.apply_scenario, **plain(document))

    def watch_choices(self, read: set[str]) -> None:
        """Add to this set, once the sandbox is closed, each choice that is read from now on."""
        self._command(retelling.watch_choices)
        self._read = read

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        kept = self._command(commands.make_checkpoint)["checkpointId"]
        try:
            yield
        finally:
            self._command(commands.restore_checkpoint, id=kept)

    def reset(self) -> None:
        self._command(commands.reset)

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
    ) -> Reply:
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
        return waiting.polled(holds, timeout_s)

    def _judged(self) -> Report:
        return from_answer(self._command(oracles.read_conduct))

    def close(self) -> None:
        if not self.is_open:
            return
        if self._read is not None:  # first: to look is to read choices too
            self._read.update(self._command(retelling.read_watched)["read"])
        try:
            left: dict[Any, JSON] = {command: self._asked(command) for command in _LAST_LOOK}
            state = left[commands.read_state]
            self._left = {**left, commands.read_clock: state["clock"], scripts.list_rules: {"rules": state["rules"]}}
        finally:
            self._line.command("DELETE", f"{self._server.url}/_mock/sandboxes/{self.id}", None)

    def __repr__(self) -> str:
        return f"<RemoteSandbox {self.id} on {self._line.url}>"


def _has_all(path: str, arguments: Mapping[str, Any]) -> bool:
    """True where each parameter of the path is given, and an id that is given has its place in it."""
    names = {part[1:-1] for part in path.split("/") if part[:1] == "{"}
    return names <= set(arguments) and ("id" not in arguments or "id" in names)
