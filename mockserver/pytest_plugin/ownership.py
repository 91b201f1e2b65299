"""
Which sandbox is which test's: what a test answers for, and calls that come after it has ended.

Created with the first fixture of the plugin. Lifetime: that of the session's server.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.pytest_plugin import options
from mockserver.testing.report.render import render_unfired_rules
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
        self._kept: list[tuple[Sandbox, int]] = []  # of a module or a class, with how many calls each had had
        self._owners: dict[str, str] = {}
        self._told: dict[str, int] = {}
        self._strays_before = 0
        self._of_fixture: set[str] = set()

    def open(self, test: str) -> None:
        """A test begins."""
        self.test = test
        still = [*(sandbox for sandbox, _ in self._kept), *self.server.made]
        self._kept = [(each, each.call_count) for each in still if self.server.keeps(each)]
        self.server.made.clear()
        self._strays_before = self.server.calls_without_prefix

    @property
    def strays(self) -> int:
        """The calls without a sandbox's prefix since the test under way began."""
        return self.server.calls_without_prefix - self._strays_before

    @property
    def told_of(self) -> list[Sandbox]:
        """The sandboxes of the test under way: those that earlier tests have left open and it has called, and its own."""
        return [*(sandbox for sandbox, calls in self._kept if sandbox.call_count != calls), *self.server.made]

    def name(self, item: pytest.Item, sandbox: Sandbox) -> str:
        """What the test calls a sandbox: the fixture that has given it; `sandbox` if none has."""
        given: Mapping[str, Any] = getattr(item, "funcargs", None) or {}
        if getattr(getattr(item, "instance", None), "mockserver", None) is sandbox:
            return "self.mockserver"
        named = (name for name, value in given.items() if value is sandbox)
        return next(named, "mockserver" if sandbox.id in self._of_fixture else "sandbox")

    def enter(self, item: pytest.Item, sandbox: Sandbox) -> None:
        """A test has been given a sandbox by the fixture."""
        from mockserver.pytest_plugin import sweep

        self._owners[sandbox.id] = item.nodeid
        self._of_fixture.add(sandbox.id)
        item.user_properties.append(("mockserver_sandbox", sandbox.id))
        if sweep.CHOICES_READ in item.stash:
            sandbox.watch_choices(item.stash[sweep.CHOICES_READ])

    def judge(self) -> None:
        """Fail the test under way where a rule that had to fire has not."""
        lines = [line for sandbox in self.server.made for line in _idle(sandbox)]
        if lines:
            pytest.fail("\n".join(["a rule that must fire never fired:", *lines]), pytrace=False)

    def close(self, config: pytest.Config) -> None:
        """End a test, and assign late calls to the test of their sandbox, if that is another."""
        late = self.server.late_calls()
        for sandbox in self.server.made:
            self._owners.setdefault(sandbox.id, self.test)
            self._told[sandbox.id] = late.get(
                sandbox.id, 0
            )  # what a test sends to a sandbox that it has closed is its own
        for sandbox_id, count in list(late.items()):
            if count > self._told.get(sandbox_id, 0) and sandbox_id in self._owners:
                self._told[sandbox_id] = count
                _warn(config, self._owners[sandbox_id], sandbox_id, count, self.test)


def _idle(sandbox: Sandbox) -> list[str]:
    """The rules that had to fire and have not."""
    idle = [rule for rule in sandbox.rules if rule.get("mustFire") and not rule["fired"]]
    return render_unfired_rules(idle, sandbox.exchanges) if idle else []


def _warn(config: pytest.Config, owner: str, sandbox_id: str, count: int, meanwhile: str) -> None:
    """In pytest's summary, under the test whose sandbox it was; a filter that makes warnings errors has no part in it."""
    calls = "a call" if count == 1 else f"{count} calls"
    text = f"{calls} came to {sandbox_id} after its test had ended, and got 410 (noticed after {meanwhile})"
    warning = warnings.WarningMessage(LateCallWarning(text), LateCallWarning, owner.partition("::")[0], 1, line="")
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": warning, "when": "runtest", "nodeid": owner, "location": None}
    )


def server(config: pytest.Config, said: Mapping[str, Any]) -> MockServer:
    """The session's server as ini file, command line and `mockserver_settings` have it."""
    own = dict(said)
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
