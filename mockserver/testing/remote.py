"""
The Python face of a sandbox on a server elsewhere: the same methods over the control plane, as far as its doors go.

What needs the sandbox in this process is refused with a ValueError that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlencode

from mockserver.contract.durations import parse_duration
from mockserver.core.conduct.records import Report
from mockserver.core.instants import exact_text, from_datetime, parse, to_datetime
from mockserver.edge import clocks, commands, control, oracles, scripts
from mockserver.scenario import library
from mockserver.scenario.documents import read_file
from mockserver.testing import waiting
from mockserver.testing.calling import prepared
from mockserver.testing.conduct import from_answer
from mockserver.testing.holding import JSON
from mockserver.testing.line import TIMEOUT_S, Line
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.settings import FILES, Settings
from mockserver.testing.transports import Reply

if TYPE_CHECKING:
    import httpx
    import requests

    from mockserver.testing.sweep import Witness


class RemoteServer(MockServer):
    """A server that somebody else has started; its sandboxes are made and ended from here."""

    def __init__(self, url: str, *, token: str | None = None, layers: Any = ()) -> None:
        super().__init__(layers=layers)
        self._line = Line(url, token)
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
        scenario, said = settings.get("scenario"), JSON()
        if isinstance(scenario, str):
            scenario = read_file(Path(scenario)) if Path(scenario).suffix in FILES else library.document(scenario)
        clock = _clock(settings, scenario or {})
        for name, value in (("scenario", scenario), ("clock", clock)):
            said |= {name: value} if value else {}
        said |= {name: settings.get(name) for name in ("seed", "choices", "given") if settings.get(name) is not None}
        return RemoteSandbox(self, self._line, self._line.command("POST", f"{self.url}/_mock/sandboxes", said))

    def late_calls(self) -> Mapping[str, int]:
        """Nobody tells from elsewhere."""
        return {}

    def close(self) -> None:
        """End the sandboxes that this suite has made; the server goes on."""
        for sandbox in self.made:
            sandbox.close()

    def __repr__(self) -> str:
        return f"<RemoteServer {self.url}>"


def _clock(settings: Settings, scenario: Mapping[str, Any]) -> JSON | None:
    """Frozen at the present unless somebody says otherwise, as in this process."""
    now = settings.get("now")
    if now is not None:
        return {"freeze": exact_text(from_datetime(now)) if isinstance(now, datetime) else now}
    if settings.get("clock") == "follow" or clocks.is_process_frozen():
        return {"follow": True}
    return None if "clock" in scenario else {"freeze": exact_text(from_datetime(datetime.now(UTC)))}


class RemoteSandbox(Sandbox):
    """A sandbox of a server elsewhere. Made by `RemoteServer.sandbox`."""

    def __init__(self, server: RemoteServer, line: Line, made: Mapping[str, str]) -> None:
        self._server = server
        self._witness: Witness | None = None
        self.settings = Settings({}, {})
        self._line = line
        self._answer = made
        self._last_report: Report | None = None  # there once it is closed

    @property
    def _hosted(self) -> NoReturn:  # type: ignore[override]  # whatever reaches for it cannot be done from here
        raise ValueError(
            f"this needs the sandbox in this process, and it is on {self._line.url}: run without --mockserver-url"
        )

    def _command(self, command: Any, **arguments: Any) -> JSON:
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

    address = base_url

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
        read = parse(self._command(commands.read_clock)["now"])
        assert read is not None
        return to_datetime(read[0])

    @property
    def steps(self) -> list[Any]:
        """None: the control plane does not tell them."""
        return []

    @property
    def in_flight(self) -> list[str]:
        """None: the control plane does not tell them."""
        return []

    @property
    def next_due(self) -> datetime | None:
        """None: the control plane does not tell it."""
        return None

    @property
    def upcoming(self) -> str | None:
        """None: the control plane does not tell it."""
        return None

    def replay_document(self, name: str = "replay") -> JSON | None:
        """None: what was done to the sandbox is known where it lives alone."""
        return None

    def apply(self, document: Mapping[str, Any] | str) -> JSON:
        found = {"name": document} if isinstance(document, str) else document
        return self._command(scripts.apply_scenario, **found)

    def watch_choices(self, witness: Witness) -> None:
        """A sweep over what a test touches learns nothing from elsewhere."""

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

    def _pass_until(self, holds: Callable[[], bool], within: str | float) -> bool:
        if parse_duration(within) is None:
            raise ValueError(f"within came as {within!r}; wanted 20m, 1h30m, 3500ms, PT20M or seconds")
        if not holds():
            self.advance(within)
        return holds()

    def _judged(self) -> Report:
        return self._last_report or from_answer(self._command(oracles.read_conduct))

    def close(self) -> None:
        if self._last_report is None:
            self._last_report = self._judged()
            self._line.command("DELETE", f"{self._server.url}/_mock/sandboxes/{self.id}", None)

    def __repr__(self) -> str:
        return f"<RemoteSandbox {self.id} on {self._line.url}>"


def _has_all(path: str, arguments: Mapping[str, Any]) -> bool:
    """True where each parameter of the path is given, and an id that is given has its place in it."""
    names = {part[1:-1] for part in path.split("/") if part[:1] == "{"}
    return names <= set(arguments) and ("id" not in arguments or "id" in names)
