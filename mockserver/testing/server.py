"""The Python interface of a server: one address, any number of sandboxes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES
from mockserver.core.instants import from_datetime
from mockserver.core.state.journal import Limits
from mockserver.core.state.sandbox import Clock
from mockserver.core.webhooks.url_policy import THIS_MACHINE
from mockserver.scenario.documents import read
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting import runtime
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.server.http1.listener import PORT_MAX, call_in_forks
from mockserver.testing.arguments import (
    check_flags,
    check_function,
    check_number,
    instant_text,
    is_for_caller,
)
from mockserver.testing.backend import LocalBackend
from mockserver.testing.key_labels import KeyLabels
from mockserver.testing.report.notes import add_notes
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.setting_checks import merge_layers
from mockserver.testing.settings import FILES, Layer, Settings
from mockserver.wire.response import ResponseOptions

if TYPE_CHECKING:
    from mockserver.judge.coverage.coverage import Coverage
    from mockserver.server.hosting.host import HostedSandbox
    from mockserver.server.http1.server import Server
    from mockserver.testing.runs.faults import ExploreReport
    from mockserver.testing.runs.orders import InterleaveReport

__tracebackhide__ = is_for_caller
_LATEST_MAX = 20
_CLOSED_PORTS_MAX = 8  # a late call gets 410 there, and does not reach another sandbox at the same port


class MockServer:
    """
    A server on the loopback interface with any number of sandboxes. Two servers share nothing.

    `with`, `open`, or the first read of an address opens its socket; calls in process need none. In a fork of the process it
    has none of its sandboxes, whose use is refused there but for their addresses and keys, and no socket until it opens one.

    Lifetime: until it is closed.

    Args:
        strict: Check each response against its schema; a response that does not fit is a 500.
        explain: Add the header X-Mock-Reason, with the reason of the error, to each error response.
        port: The port of the socket; 0 takes a free one.
        allow_webhook_hosts: Hosts that webhooks are sent to, in addition to this machine.
        layers: Settings for every sandbox.
        journal_max_entries: The exchanges that the journal of a sandbox holds; older ones are dropped.
        journal_max_bytes: The bytes that the journal of a sandbox holds.
        report: Add the reports of the latest three sandboxes to an exception that passes through the `with` statement.
        coverage: Gets what the calls to each sandbox have covered, when the sandbox is closed or reset.

    Attributes:
        layers: Settings for every sandbox.
        made: The latest sandboxes that it has created, also closed ones.

    Raises:
        ValueError: An option has a wrong value, such as a journal without an entry.

    Example:
        >>> with MockServer() as server, server.sandbox("demo", seed=7) as sandbox:
        ...     response = sandbox.call("GET", "/v1/campaigns")
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
        report: bool = False,
        coverage: Coverage | None = None,
    ) -> None:
        check_flags(strict=strict, explain=explain, report=report)
        check_number("port", port, int, 0, PORT_MAX, f"a whole number from 0 to {PORT_MAX}, 0 for any free port")
        check_number("journal_max_entries", journal_max_entries, int, 1, inf, "a whole number of at least 1")
        check_number("journal_max_bytes", journal_max_bytes, int, 1, inf, "a whole number of at least 1")
        if isinstance(allow_webhook_hosts, str):
            raise ValueError(  # noqa: TRY004 - as for every option
                f"allow_webhook_hosts: got {allow_webhook_hosts!r}; expected a list of hosts: {[allow_webhook_hosts]}"
            )
        self.layers = tuple(layers)
        self._new_host = partial(
            SandboxHost,
            response_options=ResponseOptions(explain, strict),
            default_clock=runtime.fixture_clock,
            allow_webhook_hosts=[*THIS_MACHINE, *allow_webhook_hosts],
            journal_limits=Limits(journal_max_entries, journal_max_bytes),
        )
        self.made: deque[Sandbox] = deque(maxlen=_LATEST_MAX)  # the latest ones, also closed ones
        self._coverage = coverage
        self._port = port
        self._has_report = report
        self._begin()
        # What it has is the parent's: at the fork a thread may hold a lock, which nothing releases in the child.
        call_in_forks(self, MockServer._begin)

    def _begin(self) -> None:
        """Begin without sandboxes and without a socket."""
        self._host = self._new_host()
        self._host.coverage = self._coverage
        self.made.clear()
        self._key_labels = KeyLabels()  # so that no two open sandboxes of a test have the same keys
        self._server: Server | None = None
        self._own: dict[str, Server] = {}  # by sandbox
        self._opening = threading.Lock()

    @property
    def url(self) -> str:
        """The server's own address; reading it opens the socket."""
        self.open()
        return self._host.origin

    def open(self) -> None:
        """Open the socket, if it is not open."""
        with self._opening:
            if self._server is None:
                self._server = self._new_server(None, self._port)
                self._host.origin = self._server.url
                self._server.start()

    def _new_server(self, root: HostedSandbox | None, port: int = 0) -> Server:
        """Return a server with this sandbox at its root, not started yet."""
        from mockserver.server.http1.server import Server
        from mockserver.server.socket_handler import SocketHandler, error_body

        explain = self._host.response_options.explain
        return Server(SocketHandler(self._host, root), port=port, explain=explain, error_body=error_body)

    def _open_own_port(self, hosted: HostedSandbox) -> None:
        """Open a port for this sandbox alone, and close the ports of sandboxes that were closed long before."""
        with self._opening:
            closed = [sandbox_id for sandbox_id in self._own if sandbox_id not in self._host.sandboxes]
            for sandbox_id in closed[:-_CLOSED_PORTS_MAX]:
                self._own.pop(sandbox_id).stop()
            server = self._own[hosted.id] = self._new_server(hosted)
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
        Create a sandbox. Close it, or use it in a `with` statement.

        Args:
            scenario: The name of a library scenario, the path of a file, or a document.
            seed: The number that ids, keys and random values follow from; by default the scenario's, else 0, and then the keys
                of the second sandbox that a test has open are others than those of the first.
            profile: "literal", "guide", "hostile", or the path of a file `{choices: {id: option}}`.
            choices: Options by choice; they take precedence over those of the profile and of the scenario.
            now: The instant at which the clock is frozen: RFC 3339 text or an aware datetime. By default the process's
                present time.
            clock: "follow" lets the clock run with the process's clock.
            given: Seed data in addition to the scenario's, by kind.
            own_port: Give the sandbox a port of its own, so that its address has no path, for clients that take only a host.

        Raises:
            ScenarioError: The scenario or its parts have errors, all of which the message contains.
            ValueError: A setting has a wrong value.

        Example:
            >>> with server.sandbox(given={"chats": [{"id": "chat_ana"}]}, choices={"dual-status": "guide"}) as sandbox:
            ...     sandbox.call("GET", "/v1/campaigns").status
            200
        """
        values: dict[str, Any] = {"scenario": scenario, "seed": seed, "profile": profile, "choices": choices}
        values |= {"now": now, "clock": clock, "given": given, "own_port": own_port}
        own = Layer("sandbox(...)", {name: value for name, value in values.items() if value is not None})
        return self.make([*self.layers, own])

    def make(self, layers: Iterable[Layer]) -> Sandbox:
        """
        Create a sandbox from layers of settings.

        Args:
            layers: Settings by source, the strongest last; the server's own layers are not added.

        Raises:
            ScenarioError: The scenario or its parts have errors.
            ValueError: A setting has a wrong value; the message contains its source.
        """
        settings = merge_layers(layers)
        try:
            sandbox = self._created(settings)
        except ScenarioError as refusal:
            raise refusal.with_traceback(None) from None
        self.made.append(sandbox)
        return sandbox

    def _created(self, settings: Settings) -> Sandbox:
        now, scenario = settings.get("now"), settings.get("scenario")
        if isinstance(scenario, str) and Path(scenario).suffix in FILES:
            scenario = read(Path(scenario))
        frozen = {"freeze": instant_text(now)} if now else None
        config = SandboxConfig(
            scenario=scenario,
            seed=settings.get("seed"),
            choices=settings.get("choices"),
            clock=frozen,
            given=settings.get("given"),
        )
        clock = runtime.following_clock() if settings.get("clock") == "follow" else None
        hosted = self._create(config, clock)
        if settings.get("own_port"):
            self._open_own_port(hosted)
        return self._sandbox_of(hosted, settings)

    def _create(self, config: SandboxConfig, clock: Clock | None) -> HostedSandbox:
        """Create a sandbox whose keys no other open sandbox of the test has, unless a seed sets them."""
        with self._key_labels.next_label(self._host.sandboxes.__contains__) as (label, assign):
            hosted = self._host.create(config._replace(key_label=label), clock=clock)
            assign(hosted.id)
        return hosted

    def _sandbox_of(self, hosted: HostedSandbox, settings: Settings) -> Sandbox:
        return Sandbox(LocalBackend(hosted, self.open), settings)

    def _create_as_client(self, config: SandboxConfig, now: datetime) -> Sandbox:
        """
        Create a sandbox in place of one that a client of the control plane asks for, whom `DELETE` then does not end.

        Args:
            config: What the client asks for; without a seed it has 0.
            now: The instant at which its clock is frozen, unless the config sets another.
        """
        hosted = self._create(config, runtime.frozen_clock(from_datetime(now)))
        hosted.is_kept = True
        return self._sandbox_of(hosted, Settings({}, {}))

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Leave the sandboxes of runs out of those that it has created: a report has what they show, and a test's failure is not of them."""
        before = list(self.made)
        try:
            yield
        finally:
            self.made.clear()
            self.made.extend(before)

    def explore(
        self,
        function: Callable[[Sandbox], Any],
        *,
        settings: Mapping[str, Any] | None = None,
        test: str | None = None,
        failures: str | Path | None = None,
        **options: Any,
    ) -> ExploreReport:
        """
        Run a test with each fault at each of its calls, and return what its client makes of them.

        Args:
            function: The test: it takes a fresh sandbox, and raises if the client fails. Its clock is frozen.
            settings: Arguments of `sandbox` for each run; without `now` each begins at the present of the first one.
            test: The name in the report; by default that of the function.
            failures: A folder for the scenario documents of the findings; None writes none.
            **options: Fields of `ExploreOptions`, such as `faults=("drop-after",)` and `pairs=60`.

        Raises:
            ValueError: An option or a setting has a wrong value.

        Example:
            >>> report = server.explore(lambda sandbox: sandbox.call("GET", "/v1/campaigns"), choices=())
            >>> report.failed
            False
        """
        from mockserver.testing.runs.faults import ExploreOptions, explore
        from mockserver.testing.runs.investigation import options_of_runs, settings_of_runs

        check_function("explore", function, "a function of a sandbox")
        checked = options_of_runs("explore", ExploreOptions, options, ("settings", "test", "failures"))
        values = settings_of_runs("explore", settings, datetime.now(UTC))
        name = str(test or getattr(function, "__qualname__", type(function).__qualname__))
        with self._apart():
            report = explore(lambda: self.sandbox(**values), function, checked, name)
        if failures is not None:
            report.try_to_write_documents(failures)
        return report

    def interleave(
        self,
        *,
        clients: Mapping[str, Callable[[Sandbox], Any]],
        setup: Callable[[Sandbox], Any] | None = None,
        check: Callable[[Sandbox], Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        test: str | None = None,
        failures: str | Path | None = None,
        **options: Any,
    ) -> InterleaveReport:
        """
        Run clients at once in every order of their calls that matters, and return what no order of whole clients leads to.

        Each run has a fresh sandbox whose clock is frozen, and each client a handle of it; a coroutine function is a task.

        Args:
            clients: Functions of a handle, by name.
            setup: Prepares the sandbox of each run; its calls are no steps.
            check: Gets the sandbox after the clients, and raises if something is wrong.
            settings: Arguments of `sandbox` for each run; without `now` each begins at 2026-03-01T12:00:00Z.
            test: The name in the report; by default the names of the clients.
            failures: A folder for the scenario documents of the findings; None writes none.
            **options: Fields of `InterleaveOptions`, such as `bound=1` and `tolerates=(AlreadyRunning,)`.

        Raises:
            ValueError: An option, a setting or the name of a client has a wrong value.

        Example:
            >>> report = server.interleave(clients={name: lambda sandbox: sandbox.call("GET", "/v1/campaigns") for name in "ab"})
            >>> report.failed
            False
        """
        from mockserver.testing.runs.orders import interleaving

        search = interleaving(
            self.sandbox, clients=clients, setup=setup, check=check, settings=settings, test=test, **options
        )
        with self._apart():
            report = search.run()
        if failures is not None:
            report.try_to_write_documents(failures)
        return report

    def is_open(self, sandbox: Sandbox) -> bool:
        """
        Return True if a sandbox of this server is open.

        Args:
            sandbox: A sandbox of this server.
        """
        return sandbox.id in self._host.sandboxes

    @property
    def calls_without_prefix(self) -> int:
        """The number of API calls at the server's own address, which no sandbox received."""
        return self._host.calls_without_prefix

    def close(self) -> None:
        """Close the socket and every sandbox, in a fork those of the fork. Calls that a rule defers end first, so that their threads end too."""
        self._host.close_all()  # first, since the thread of a deferred call ends only then
        for server in self._own.values():
            server.stop()
        if self._server is not None:
            self._server.stop()
        self._own, self._server = {}, None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, _: object, failure: BaseException | None, __: object) -> None:
        if self._has_report and failure is not None:
            add_notes(failure, list(self.made))
        self.close()

    def __repr__(self) -> str:
        return f"<MockServer {self._host.origin}, {len(self._host.sandboxes)} sandboxes>"
