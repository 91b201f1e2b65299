"""The Python face of a server: one address, any number of sandboxes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES
from mockserver.core.state.journal import Limits
from mockserver.scenario.documents import read
from mockserver.server.api.response import ResponseOptions
from mockserver.server.hosting import runtime
from mockserver.server.hosting.host import SandboxConfig, SandboxHost
from mockserver.testing.arguments import instant_text
from mockserver.testing.backend import LocalBackend
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.settings import FILES, Layer, Settings, merge_layers

if TYPE_CHECKING:
    from mockserver.server.hosting.host import HostedSandbox
    from mockserver.server.http1.server import Server


_MADE_REMEMBERED = 20
_CLOSED_PORTS_KEPT = 8  # so that a late call meets 410, and not a sandbox that has got the same port


class MockServer:
    """
    One server on loopback with any number of sandboxes. Lives until it is closed; two of them share nothing.

    The socket is opened by `with`, or when an address is first asked for. `strict` checks each answer against its schema;
    `explain` puts the reason of each refusal into the header X-Mock-Reason. Webhooks go to this machine alone, and to
    `allow_webhook_hosts`. `layers` are settings for every sandbox. The journal of each sandbox holds its last
    `journal_max_entries` exchanges and at most `journal_max_bytes`.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        explain: bool = True,
        port: int = 0,
        allow_webhook_hosts: Iterable[str] = (),
        layers: Iterable[Layer] = (),
        journal_max_entries: int = JOURNAL_MAX_ENTRIES,
        journal_max_bytes: int = JOURNAL_MAX_BYTES,
    ) -> None:
        self.layers = tuple(layers)
        self._host = SandboxHost(
            response_options=ResponseOptions(explain, strict),
            default_clock=runtime.fixture_clock,
            allow_webhook_hosts=allow_webhook_hosts,
            journal_limits=Limits(journal_max_entries, journal_max_bytes),
        )
        self.made: deque[Sandbox] = deque(maxlen=_MADE_REMEMBERED)  # the latest, closed ones too
        self._port = port
        self._server: Server | None = None
        self._own: dict[str, Server] = {}  # by sandbox
        self._opening = threading.Lock()

    @property
    def url(self) -> str:
        """The server's own address."""
        self.open()
        return self._host.origin

    def open(self) -> None:
        """Listen, if it does not yet."""
        with self._opening:
            if self._server is None:
                self._server = self._listening(None, self._port)
                self._host.origin = self._server.url
                self._server.start()

    def _listening(self, root: HostedSandbox | None, port: int = 0) -> Server:
        """A server with this sandbox at its root; it serves once it is started."""
        from mockserver.server import app
        from mockserver.server.http1.server import Server

        explain = self._host.response_options.explain
        return Server(app.build(self._host, root), port=port, explain=explain, error_body=app.error_body)

    def _open_own_port(self, hosted: HostedSandbox) -> None:
        """Listen for this sandbox alone, and give up the ports of sandboxes that have long been closed."""
        with self._opening:
            closed = [each for each in self._own if each not in self._host.sandboxes]
            for sandbox_id in closed[:-_CLOSED_PORTS_KEPT]:
                self._own.pop(sandbox_id).stop()
            server = self._own[hosted.id] = self._listening(hosted)
            hosted.own_origin = server.url
            server.start()

    def sandbox(
        self,
        scenario: str | Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        profile: str | Path | None = None,
        choices: Mapping[str, object] | None = None,
        now: str | datetime | None = None,
        clock: Literal["follow"] | None = None,
        given: Mapping[str, Any] | None = None,
        own_port: bool | None = None,
    ) -> Sandbox:
        """
        A fresh sandbox, from a library scenario, a file or a document where one is given; close it, or use it with `with`.

        `profile` is `literal`, `guide`, `hostile` or a file `{choices: {id: option}}`; `choices` win over it.
        Its clock stands at the process's present, or at `now`; `clock="follow"` lets it go with the process's.
        `own_port` gives it an address without a path, at which nothing else answers: for clients that take a host alone.
        Refuses with ScenarioError, naming every problem.
        """
        said: dict[str, Any] = {"scenario": scenario, "seed": seed, "profile": profile, "choices": choices}
        said |= {"now": now, "clock": clock, "given": given, "own_port": own_port}
        own = Layer("sandbox(...)", {name: value for name, value in said.items() if value is not None})
        return self.make([*self.layers, own])

    def make(self, layers: Iterable[Layer]) -> Sandbox:
        """A fresh sandbox as these layers of settings have it."""
        settings = merge_layers(layers)
        sandbox = self._created(settings)
        self.made.append(sandbox)
        return sandbox

    def _created(self, settings: Settings) -> Sandbox:
        now, scenario = settings.get("now"), settings.get("scenario")
        if isinstance(scenario, str) and Path(scenario).suffix in FILES:
            scenario = read(Path(scenario))
        frozen = {"freeze": instant_text(now)} if now else None
        recipe = SandboxConfig(scenario, settings.get("seed"), settings.get("choices"), frozen, settings.get("given"))
        started = runtime.following_clock() if settings.get("clock") == "follow" else None
        hosted = self._host.create(recipe, clock=started)
        if settings.get("own_port"):
            self._open_own_port(hosted)
        return Sandbox(LocalBackend(hosted, self.open), settings)

    def keeps(self, sandbox: Sandbox) -> bool:
        """True while this sandbox of its own is open."""
        return sandbox.id in self._host.sandboxes

    def late_calls(self) -> Mapping[str, int]:
        """How many calls came to each sandbox after it was closed."""
        return self._host.closed

    @property
    def calls_without_prefix(self) -> int:
        """The calls that named no sandbox, so that none of them has received them."""
        return self._host.calls_without_prefix

    def close(self) -> None:
        """Stop listening and end every sandbox; a call that is held is let go first, so that its thread ends too."""
        for sandbox_id in list(self._host.sandboxes):
            self._host.close(sandbox_id)  # first: a call that is held has to be let go before its thread can end
        for server in [*self._own.values(), *([self._server] if self._server is not None else [])]:
            server.stop()
        self._own, self._server = {}, None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<MockServer {self._host.origin}, {len(self._host.sandboxes)} sandboxes>"
