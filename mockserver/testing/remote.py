"""A server that somebody else has started, for a suite that runs against it: `--mockserver-url`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mockserver.core.instants import exact_text, from_datetime
from mockserver.edge import clocks
from mockserver.scenario import library
from mockserver.scenario.documents import ScenarioError, plain, read, refusal
from mockserver.testing.elsewhere import RemoteSandbox
from mockserver.testing.holding import JSON
from mockserver.testing.line import Line
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.settings import FILES, Settings


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
            told = self._line.command("POST", f"{self.url}/_mock/sandboxes", plain(said))
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
        return {"freeze": exact_text(from_datetime(now)) if isinstance(now, datetime) else now}
    if settings.get("clock") == "follow" or clocks.is_process_frozen():
        return {"follow": True}
    return None if "clock" in scenario else {"freeze": exact_text(from_datetime(datetime.now(UTC)))}
