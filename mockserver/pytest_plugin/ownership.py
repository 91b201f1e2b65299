"""
The sandboxes of each test.

Created with the first fixture of the plugin. Lifetime: that of the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pytest

from mockserver.contract.effects.descriptions import describe_rule
from mockserver.pytest_plugin import options
from mockserver.testing.backend import LocalBackend
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.setting_checks import setting_error
from mockserver.testing.settings import Layer

if TYPE_CHECKING:
    from mockserver.judge.coverage.coverage import Coverage

_NEVER_FIRED = "a rule of the test function never fired (.may_fire() lets one pass, and mockserver_must_fire = false in the ini file all):"


@dataclass
class _Before:
    """
    What there was of a server before the current test.

    Attributes:
        shared: its open sandboxes, which are those of a module or a class, with the number of their calls.
        calls_without_prefix: its calls that no sandbox received.
    """

    shared: list[tuple[Sandbox, int]] = field(default_factory=list)
    calls_without_prefix: int = 0


class SandboxOwnership:
    """
    The sandboxes of the tests of a session, by the server that made them.

    A suite may replace the fixture of the server in some of its folders, so that there are several servers.
    """

    def __init__(self) -> None:
        self._of_fixture: set[Sandbox] = set()
        self._servers: WeakKeyDictionary[MockServer, _Before] = WeakKeyDictionary()

    def add(self, server: MockServer) -> None:
        """Include a server from now on; one that is included already stays as it is."""
        if server not in self._servers:
            self._servers[server] = _Before()

    def start_test(self) -> None:
        """Start a test: the sandboxes that earlier tests have created are not its own."""
        self._of_fixture.clear()
        for server, before in self._servers.items():
            earlier = [*(sandbox for sandbox, _ in before.shared), *server.made]
            still_open = [sandbox for sandbox in earlier if server.is_open(sandbox)]
            before.shared = [(sandbox, sandbox.log.call_count) for sandbox in still_open]
            before.calls_without_prefix = server.calls_without_prefix
            server.made.clear()
            server._key_labels.start_test()

    @contextmanager
    def within_fixture(self, name: str) -> Iterator[None]:
        """Number the sandboxes that are created inside of the block as those of a fixture that outlives the test."""
        with ExitStack() as stack:
            for server in list(self._servers):
                stack.enter_context(server._key_labels.within_fixture(name))
            yield

    @property
    def calls_without_prefix(self) -> int:
        """The calls without a sandbox's prefix since the start of the test."""
        return sum(
            server.calls_without_prefix - before.calls_without_prefix for server, before in self._servers.items()
        )

    @property
    def sandboxes_of_test(self) -> list[Sandbox]:
        """The sandboxes of the current test: those that earlier tests have left open and it has called, and its own."""
        found: list[Sandbox] = []
        for server, before in self._servers.items():
            found += [sandbox for sandbox, calls in before.shared if sandbox.log.call_count != calls]
            found += server.made
        return found

    @property
    def created(self) -> list[Sandbox]:
        """The sandboxes that the current test has created, closed ones included."""
        return [sandbox for server in self._servers for sandbox in server.made]

    def _within_reach(self) -> list[Sandbox]:
        """Return the sandboxes that the current test may use: its own, and those that earlier tests have left open."""
        shared = [sandbox for before in self._servers.values() for sandbox, _ in before.shared]
        return [*self.created, *shared]

    def name(self, item: pytest.Item, sandbox: Sandbox) -> str:
        """Return the name of a sandbox in the test: the argument whose value it is, or `sandbox`."""
        arguments: Mapping[str, Any] = getattr(item, "funcargs", None) or {}
        if getattr(getattr(item, "instance", None), "mockserver", None) is sandbox:
            return "self.mockserver"
        names = (name for name, value in arguments.items() if value is sandbox)
        return next(names, "mockserver" if sandbox in self._of_fixture else "sandbox")

    def assign(self, item: pytest.Item, server: MockServer, sandbox: Sandbox) -> None:
        """Assign a sandbox of the fixture to its test."""
        self.add(server)
        self._of_fixture.add(sandbox)
        item.user_properties.append(("mockserver_sandbox", sandbox.id))
        if item.get_closest_marker("mockserver_sweep") is not None:
            from mockserver.pytest_plugin import sweep

            if sweep.CHOICES_READ in item.stash:
                item.stash[sweep.CHOICES_AT_FIRST] = sandbox.state()["choices"]
                sandbox.log.watch_choices(item.stash[sweep.CHOICES_READ])

    def check_ended(self) -> None:
        """Fail the current test if the mock has ended it, and its client or another thread has not let that through."""
        for sandbox in self.created:
            if sandbox._run_ended is not None:
                pytest.fail(sandbox._run_ended, pytrace=False)

    def start_function(self) -> None:
        """Begin with the test function: the rules so far are those of fixtures, which need not fire."""
        for sandbox in self._within_reach():
            sandbox._own_rules.expected.clear()

    def check_rules(self, *, expects: bool) -> None:
        """
        Fail the current test if a rule that must fire has not fired or has had no effect, or is not in force without an effect.

        Args:
            expects: True if each rule with a bounded count that the test function has made must fire too.
        """
        found: dict[str, list[str]] = {}
        for sandbox in self.created:
            for sentence, lines in _must_fire(sandbox):
                if lines:
                    found.setdefault(sentence, [f"{sentence}:"]).extend(lines)
        for sandbox in self._within_reach() if expects else ():
            lines = _unfired_of_test(sandbox)
            if lines:
                found.setdefault("expected", [_NEVER_FIRED]).extend(lines)
        if found:
            pytest.fail("\n".join(line for lines in found.values() for line in lines), pytrace=False)

    def check_receivers(self) -> None:
        """Fail the current test if an assertion in a receiver of this process has failed, which the service sees as a 500."""
        lines = [line for sandbox in self.created for line in _failed_assertions(sandbox)]
        if lines:
            from mockserver.report.run import check  # late, here and below: a report is much to import

            pytest.fail("\n".join([f"{check.SENTENCES['receiver-assertion']}:", *lines]), pytrace=False)


def _must_fire(sandbox: Sandbox) -> Iterator[tuple[str, list[str]]]:
    """Yield each way in which rules that must fire may fail, with the lines about the rules that do."""
    unfinished = [describe_rule({**rule, "do": {}}) for rule in sandbox._own_rules.unfinished.values()]
    wanted = ": got no effect; expected one, such as .error('INTERNAL_ERROR')"
    # Each once: an example of Hypothesis repeats its rules.
    yield "a rule is not in force", [f"  {rule}{wanted}" for rule in dict.fromkeys(unfinished)]
    backend = sandbox._backend
    if isinstance(backend, LocalBackend) and not backend.hosted.sandbox.rule_set.rules:
        return  # most sandboxes have no rule, and a list of none would cost each test a command
    from mockserver.report.run import check

    rules = [rule for rule in sandbox.rules if rule.get("mustFire")]
    for failure in check.of_rules(rules, sandbox.log.exchanges) if rules else ():
        yield check.SENTENCES[failure.kind], failure.message.split("\n")


def _unfired_of_test(sandbox: Sandbox) -> list[str]:
    """Return the lines about rules with a bounded count that the test function has made and that never fired."""
    own = sandbox._own_rules
    unfired = [] if sandbox.is_repeated or not own.expected else own.unfired(sandbox.rules)
    if not unfired:
        return []
    from mockserver.report.run.rules import render_unfired_rules

    return render_unfired_rules(unfired, sandbox.log.exchanges)


def _failed_assertions(sandbox: Sandbox) -> list[str]:
    """Return the lines about assertions that receivers have raised; a running server sees only their 500."""
    if not isinstance(sandbox._backend, LocalBackend) or not sandbox._backend.hosted.sandbox.events:
        return []
    from mockserver.report.run import check

    return [failure.message for failure in check.of_receivers(sandbox.events)]


def server(config: pytest.Config, settings: Mapping[str, Any]) -> MockServer:
    """Return the session's server, with the settings of ini file, command line and `mockserver_settings`."""
    if not isinstance(settings, Mapping):
        raise pytest.UsageError(
            f"the fixture mockserver_settings: got {settings!r}; expected a dict of settings by name"
        )
    own = dict(settings)
    strict = own.pop("strict", None)
    if strict not in (None, True, False):
        raise pytest.UsageError(f"the fixture mockserver_settings: strict: got {strict!r}; expected True or False")
    for name, value in own.items():
        wrong = setting_error(name, value)
        if wrong:
            raise pytest.UsageError(f"the fixture mockserver_settings: {wrong}")
    if strict is None:
        strict = config.getoption("mockserver_strict")
    layers = [*options.layers(config), Layer("mockserver_settings", own)]
    url, session_coverage = options.run_option(config, "url"), coverage(config)
    if url is None:
        strict = config.getini("mockserver_strict") if strict is None else strict
        return MockServer(strict=strict, layers=layers, coverage=session_coverage)
    from mockserver.testing.remote import RemoteServer

    return RemoteServer(
        url,
        token=options.run_option(config, "token"),
        layers=layers,
        coverage=session_coverage,
        labels=options.run_option(config, "sandbox-labels") or {},
        receiver_host=options.run_option(config, "receiver-host"),
    )


def coverage(config: pytest.Config) -> Coverage | None:
    """Return the coverage of the session, None if it is not asked for."""
    plugin = config.pluginmanager.get_plugin(options.COVERAGE_PLUGIN)
    return None if plugin is None else plugin.coverage
