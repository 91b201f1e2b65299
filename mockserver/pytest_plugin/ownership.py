"""
The sandboxes of each test, and the calls that arrive at a sandbox after its test has ended.

Created with the first fixture of the plugin. Lifetime: that of the session's server.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.pytest_plugin import options
from mockserver.server.report.render import render_unfired_rules
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.settings import Layer, setting_error


class LateCallWarning(UserWarning):
    """Warning about a call that arrived at a sandbox after its test had ended."""


class SandboxOwnership:
    """The sandboxes of one server by the test that made them."""

    def __init__(self, server: MockServer) -> None:
        self.server = server
        self.test = ""
        self._shared: list[tuple[Sandbox, int]] = []  # of a module or a class, with their calls before this test
        self._owners: dict[str, str] = {}  # the test by sandbox id
        self._late_calls: dict[str, int] = {}  # those counted so far, by sandbox id
        self._without_prefix_before = 0
        self._of_fixture: set[str] = set()

    def start_test(self, test: str) -> None:
        """Start a test: the sandboxes that earlier tests have created are not its own."""
        self.test = test
        earlier = [*(sandbox for sandbox, _ in self._shared), *self.server.made]
        self._shared = [(sandbox, sandbox.call_count) for sandbox in earlier if self.server.is_open(sandbox)]
        self.server.made.clear()
        self._without_prefix_before = self.server.calls_without_prefix

    @property
    def calls_without_prefix(self) -> int:
        """The calls without a sandbox's prefix since the start of the test."""
        return self.server.calls_without_prefix - self._without_prefix_before

    @property
    def sandboxes_of_test(self) -> list[Sandbox]:
        """The sandboxes of the current test: those that earlier tests have left open and it has called, and its own."""
        return [*(sandbox for sandbox, calls in self._shared if sandbox.call_count != calls), *self.server.made]

    def name(self, item: pytest.Item, sandbox: Sandbox) -> str:
        """Return the name of a sandbox in the test: the argument whose value it is, or `sandbox`."""
        arguments: Mapping[str, Any] = getattr(item, "funcargs", None) or {}
        if getattr(getattr(item, "instance", None), "mockserver", None) is sandbox:
            return "self.mockserver"
        names = (name for name, value in arguments.items() if value is sandbox)
        return next(names, "mockserver" if sandbox.id in self._of_fixture else "sandbox")

    def assign(self, item: pytest.Item, sandbox: Sandbox) -> None:
        """Assign a sandbox of the fixture to its test."""
        from mockserver.pytest_plugin import sweep

        self._owners[sandbox.id] = item.nodeid
        self._of_fixture.add(sandbox.id)
        item.user_properties.append(("mockserver_sandbox", sandbox.id))
        if sweep.CHOICES_READ in item.stash:
            sandbox.watch_choices(item.stash[sweep.CHOICES_READ])

    def check_must_fire(self) -> None:
        """Fail the current test if a rule that must fire has not fired."""
        lines = [line for sandbox in self.server.made for line in _unfired(sandbox)]
        if lines:
            pytest.fail("\n".join(["a rule that must fire never fired:", *lines]), pytrace=False)

    def end_test(self, config: pytest.Config) -> None:
        """End a test, and assign late calls to the test of their sandbox, if that is another."""
        late = self.server.late_calls()
        for sandbox in self.server.made:
            self._owners.setdefault(sandbox.id, self.test)
            self._late_calls[sandbox.id] = late.get(sandbox.id, 0)  # of the test itself, after it closed the sandbox
        for sandbox_id, count in list(late.items()):
            if count > self._late_calls.get(sandbox_id, 0) and sandbox_id in self._owners:
                self._late_calls[sandbox_id] = count
                _warn(config, self._owners[sandbox_id], sandbox_id, count, self.test)


def _unfired(sandbox: Sandbox) -> list[str]:
    """Return the lines about rules that must fire and have not fired."""
    rules = [rule for rule in sandbox.rules if rule.get("mustFire") and not rule["fired"]]
    return render_unfired_rules(rules, sandbox.exchanges) if rules else []


def _warn(config: pytest.Config, owner: str, sandbox_id: str, count: int, latest_test: str) -> None:
    """Add a warning about late calls to pytest's summary; a filter that makes warnings errors does not change it."""
    calls = "a call" if count == 1 else f"{count} calls"
    text = f"{calls} arrived at {sandbox_id} after its test had ended, and got 410 (noticed after {latest_test})"
    warning = warnings.WarningMessage(LateCallWarning(text), LateCallWarning, owner.partition("::")[0], 1, line="")
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": warning, "when": "runtest", "nodeid": owner, "location": None}
    )


def server(config: pytest.Config, settings: Mapping[str, Any]) -> MockServer:
    """Return the session's server, with the settings of ini file, command line and `mockserver_settings`."""
    own = dict(settings)
    strict = own.pop("strict", None)
    for name, value in own.items():
        wrong = setting_error(name, value)
        if wrong:
            raise pytest.UsageError(f"the fixture mockserver_settings: {wrong}")
    if strict is None:
        strict = config.getoption("mockserver_strict")
    layers = [*options.layers(config), Layer("mockserver_settings", own)]
    url = options.run_option(config, "url")
    if url is None:
        return MockServer(strict=config.getini("mockserver_strict") if strict is None else strict, layers=layers)
    from mockserver.testing.remote import RemoteServer

    return RemoteServer(url, token=options.run_option(config, "token"), layers=layers)
