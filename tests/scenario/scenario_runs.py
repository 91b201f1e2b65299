"""Runs of library scenarios: a sandbox that plays one, the clients that call it, and a check that its rules had their effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests

from mockserver import MockServer, Sandbox
from mockserver.scenario import library
from tests.clients.careful import Careful, Plan


@dataclass
class ScenarioRun:
    """A sandbox that plays a library scenario, and the clients that call it."""

    name: str
    sandbox: Sandbox
    http: requests.Session

    def careful(self, renew_key: Callable[[], str] | None = None) -> Careful:
        return Careful(self.sandbox.base_url, self.sandbox.secret_key, self.http, self.sandbox.advance, renew_key)

    def plan(self, **changes: Any) -> Plan:
        """A campaign with the scenario's template to the chats that carry its tag, one message a second."""
        (template, *_) = library.document(self.name)["given"]["templates"]
        stem = template["id"].removeprefix("template_")
        tagged = {"field": "chat.tagIds", "operator": "has-any", "value": [f"tag_{stem}"]}
        filters = [{"combinator": "and", "statements": [tagged]}]
        return Plan(**{"name": "Promo", "template_id": template["id"], "cadence": 60, "filters": filters, **changes})

    @property
    def tenant(self) -> Mapping[str, Any]:
        """The records of the default tenant."""
        found: Mapping[str, Any] = self.sandbox.state()["tenants"][0]
        return found

    @property
    def campaigns(self) -> list[Mapping[str, Any]]:
        return list(self.tenant["campaigns"])

    @property
    def executions(self) -> list[Mapping[str, Any]]:
        return list(self.tenant["executions"])

    def calls(self, operation: str) -> list[Mapping[str, Any]]:
        """The exchanges of an operation, in order."""
        return [each for each in self.sandbox.log.journal["exchanges"] if each["operation"] == operation]

    def codes(self, operation: str) -> list[str | None]:
        """The code of each refusal of an operation, None for what was no refusal in JSON."""
        bodies = [each["response"] and each["response"]["body"] for each in self.calls(operation)]
        return [body["code"] if isinstance(body, Mapping) and "code" in body else None for body in bodies]

    @property
    def silent_rules(self) -> list[Mapping[str, Any]]:
        """The rules that have not fired."""
        return [rule for rule in self.sandbox.rules if rule["fired"] < 1]


@contextmanager
def played(
    server: MockServer,
    name: str,
    *,
    on_socket: bool = False,
    now: str | None = None,
    to_the_end: bool = True,
    has_endpoint: bool = True,
    joins: str | None = None,
) -> Iterator[ScenarioRun]:
    """
    Play this scenario in a fresh sandbox, or in one that another scenario (`joins`) has seeded.

    At the end every rule has fired and had a target. `to_the_end` is False for a client that does not get that
    far, `has_endpoint` if no endpoint takes events, so that none is delivered.
    """
    with server.sandbox(joins or name, now=now) as sandbox, _session(sandbox, on_socket) as http:
        if joins is not None:
            sandbox.apply(name)
        run = ScenarioRun(name, sandbox, http)
        yield run
        if to_the_end:
            _assert_effect(run, has_endpoint)


def _assert_effect(run: ScenarioRun, has_endpoint: bool) -> None:
    """Check that every rule has fired and had a target."""
    silent = [rule for rule in run.silent_rules if has_endpoint or rule.get("on") != "delivery"]
    if silent:
        raise AssertionError(f"never fired in {run.name}: {silent}")
    unmet = [rule for rule in run.sandbox.rules if "noTarget" in rule]
    if unmet:
        raise AssertionError(f"had no target in {run.name}: {unmet}")


def _session(sandbox: Sandbox, on_socket: bool) -> requests.Session:
    if not on_socket:
        return sandbox.requests_session()
    session = requests.Session()
    session.trust_env = False
    return session
