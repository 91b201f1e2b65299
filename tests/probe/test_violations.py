"""A service that takes what it should refuse is reported under the clause: a probe sends that. `tests/recordings/lies.py` has the other lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response
from tests.harness.rows import each_row
from tests.probe.worlds import run, world


class Sent(NamedTuple):
    """A call on its way to the service."""

    method: str
    path: str
    key: str | None
    body: bytes
    headers: Any

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class ModifiedService:
    """A service that differs from this mock in one point: `ask` modifies its requests, `respond` its responses."""

    def __init__(
        self,
        sandbox: Any,
        ask: Callable[[Sent], Sent] = lambda sent: sent,
        respond: Callable[[Sent, int, Any], Any] = lambda sent, status, value: None,
    ) -> None:
        self.sandbox, self.ask, self.respond = sandbox, ask, respond

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json: Any = None,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> Response:
        sent = Sent(method, path, key, body, headers)
        asked = self.ask(sent)
        answer: Response = self.sandbox.call(
            asked.method, asked.path, key=asked.key, body=asked.body, headers=asked.headers
        )
        modified = self.respond(sent, answer.status, _value(answer.body))
        if modified is None:
            return answer
        status, value = modified
        content = value if isinstance(value, bytes) else _text(value)
        return answer._replace(status=status, body=content)


def _value(body: bytes) -> Any:
    return json.loads(body) if body else None


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


def creating(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Sent], Sent]:
    """Bend the body of a creation."""

    def ask(sent: Sent) -> Sent:
        if (sent.method, sent.path) != ("POST", "/v1/campaigns") or not isinstance(sent.json, dict):
            return sent
        return sent._replace(body=_text(sent.json | change(sent.json)))

    return ask


def _foreign_operator_accepted(sent: Sent, answered: int, value: Any) -> tuple[int, JSON] | None:
    is_foreign = answered >= 400 and value["code"] == "CAMPAIGN_INVALID_FILTERS" and b'"greater-than"' in sent.body
    return (200, {"estimatedCount": 3}) if is_foreign else None


VIOLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "cadence 0 is accepted": (
        "campaigns.cadence",
        {"ask": creating(lambda body: {"cadence": 1} if body.get("cadence") == 0 else {})},
    ),
    "names need not be unique": (
        "campaigns.name",
        {"ask": creating(lambda body: {"name": f"{body['name']} {len(body)}"} if body.get("cadence") == 1 else {})},
    ),
    "a session takes other properties": (
        "session.no-extra",
        {"ask": lambda sent: sent._replace(body=sent.body.replace(b'"mockserverProbe": true', b""))},
    ),
    "a foreign operator is accepted": ("filters.operators", {"respond": _foreign_operator_accepted}),
    "a text is a number": (
        "filters.types",
        {"ask": lambda sent: sent._replace(body=sent.body.replace(b'"value": "1"', b'"value": 1'))},
    ),
    "a public key opens campaigns": (
        "auth.secret-only",
        {"ask": lambda sent: sent._replace(key=None) if (sent.key or "").startswith("pk_") else sent},
    ),
    "no key is needed": ("auth.header", {"ask": lambda sent: sent._replace(key=sent.key or None)}),
}


@each_row(("clause", "bent"), VIOLATIONS.values())
def test_a_call_that_should_be_refused_is_reported_under_its_clause(
    mockserver_server: MockServer, clause: str, bent: dict[str, Any]
) -> None:
    with world(mockserver_server) as sandbox:
        probed = run(sandbox, ModifiedService(sandbox, **bent))

    assert clause in probed.broken


def test_the_report_describes_the_exchange_of_a_violation(sandbox: Sandbox) -> None:
    clause, bent = VIOLATIONS["cadence 0 is accepted"]
    probed = run(sandbox, ModifiedService(sandbox, **bent))
    row = next(row for row in probed.report.service.as_json() if row["id"] == clause)
    (contradiction,) = row["contradictions"]
    (place,) = contradiction["exchanges"]

    assert ("POST", "http://service.example/v1/campaigns", 201) == (place["method"], place["url"], place["status"])
    assert ["got /cadence; expected a number of at least 1", "answered with 201"] == contradiction["values"]


@pytest.mark.parametrize("nonsense", [b"null", b"[]", b'"text"', b'{"templates": [1]}', b'{"a": {"b": [{}]}}'])
def test_a_service_of_another_kind_is_reported_as_broken_and_the_run_continues(
    sandbox: Sandbox, nonsense: bytes
) -> None:
    probed = run(sandbox, ModifiedService(sandbox, respond=lambda *_: (200, nonsense)))

    assert "templates.list" in probed.broken
