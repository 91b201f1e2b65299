"""A service that violates one clause is reported under that clause, with the exchange that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response
from tests.clients.operations import SESSIONS
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

    def __init__(self, sandbox: Any, ask: Callable[[Sent], Sent], respond: Callable[[Sent, int, Any], Any]) -> None:
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
        asked = self.ask(sent)._asdict()
        answer: Response = self.sandbox.call(
            asked["method"], asked["path"], key=asked["key"], body=asked["body"], headers=asked["headers"]
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


def _same_request(sent: Sent) -> Sent:
    return sent


def _same_response(sent: Sent, status: int, value: Any) -> None:
    return None


def _with(sent: Sent, **changes: Any) -> Sent:
    return sent._replace(body=_text(sent.json | changes))


def creating(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Sent], Sent]:
    """Bend the body of a creation."""

    def ask(sent: Sent) -> Sent:
        if (sent.method, sent.path) != ("POST", "/v1/campaigns") or not isinstance(sent.json, dict):
            return sent
        return _with(sent, **change(sent.json))

    return ask


def answering(path: str, change: Callable[[Any], Any], *, method: str = "GET", status: int | None = None) -> Any:
    """Bend the successes of a path."""

    def respond(sent: Sent, answered: int, value: Any) -> Any:
        if sent.method == method and sent.path.startswith(path) and answered < 300:
            return status or answered, change(value)
        return None

    return respond


def refusing(change: Callable[[int, dict[str, Any]], Any], code: str = "") -> Any:
    """Bend the refusals, or those of one code."""

    def respond(sent: Sent, answered: int, value: Any) -> Any:
        return change(answered, value) if answered >= 400 and code in ("", value["code"]) else None

    return respond


def accepting(code: str, wrong: Callable[[Any], bool], answer: Any) -> Any:
    """Answer some refused calls as if they were in order."""

    def respond(sent: Sent, answered: int, value: Any) -> Any:
        return (200, answer) if answered >= 400 and value["code"] == code and wrong(sent.json) else None

    return respond


def _statement(body: Any) -> dict[str, Any]:
    statements: JSON = body["filters"][0]["statements"][0]
    return statements


def _numbers_from_texts(sent: Sent) -> Sent:
    return sent._replace(body=sent.body.replace(b'"value": "1"', b'"value": 1'))


def _foreign(body: Any) -> bool:
    return bool(_statement(body)["operator"] == "greater-than")


def _any_number(n: Any) -> dict[str, Any]:
    return {"cadence": 1} if n.get("cadence") == 0 else {}


# fmt: off
VIOLATIONS = {
    # the violation: (the clause, how its request is modified, how its response is modified)
    "a session answers 201": ("base.success", _same_request, answering(SESSIONS, lambda v: v, method="POST", status=201)),
    "errors have a stack": ("base.error-body", _same_request, refusing(lambda s, v: (s, v | {"stack": "at handler"}))),
    "an unknown campaign is 400": ("base.error-catalog", _same_request,
        refusing(lambda s, v: (400, v | {"statusCode": 400}), "CAMPAIGN_NOT_FOUND")),
    "errors are English": ("base.error-portuguese", _same_request, refusing(lambda s, v: (s, v | {"message": "The chat was not found"}))),
    "cadence 0 is accepted": ("campaigns.cadence", creating(_any_number), _same_response),
    "cadence loses precision": ("campaigns.cadence-kept", _same_request, answering("/v1/campaigns/campaign_",
        lambda v: v | {"cadence": v["cadence"] // 10 * 10} if "cadence" in v else v)),
    "names need not be unique": ("campaigns.name", creating(
        lambda b: {"name": f"{str(b['name'])[:80]} {len(str(b))} {b['cadence']}"} if b.get("cadence") == 1 and b.get("name") else {}), _same_response),
    "a session takes other properties": ("session.no-extra",
        lambda sent: sent._replace(body=b"{}") if b"mockserverProbe" in sent.body and sent.path == SESSIONS else sent, _same_response),
    "a session contains a token": ("session.no-secrets", _same_request, answering(SESSIONS, lambda v: v | {"accessToken": "abc"})),
    "a foreign operator is accepted": ("filters.operators", _same_request,
        accepting("CAMPAIGN_INVALID_FILTERS", _foreign, {"estimatedCount": 3})),
    "a text is a number": ("filters.types", _numbers_from_texts, _same_response),
    "a public key opens campaigns": ("auth.secret-only",
        lambda sent: sent._replace(key=None) if (sent.key or "").startswith("pk_") else sent, _same_response),
    "no key is needed": ("auth.header", lambda sent: sent._replace(key=None) if not sent.key else sent, _same_response),
    "a form allows plain http": ("forms.policy", _same_request, answering("/v1/forms",
        lambda v: {"iframeEmbedAllowedOrigins": ["http://site.example"]})),
    "an estimate is a text": ("audience.preview", _same_request, answering("/v1/campaigns/audience-preview",
        lambda v: {"estimatedCount": str(v["estimatedCount"])}, method="POST")),
}
# fmt: on


@each_row(("clause", "ask", "respond"), VIOLATIONS.values())
def test_a_violation_is_reported_under_its_clause(
    mockserver_server: MockServer, clause: str, ask: Callable[..., Any], respond: Callable[..., Any]
) -> None:
    with world(mockserver_server) as sandbox:
        probed = run(sandbox, ModifiedService(sandbox, ask, respond))

    assert clause in probed.broken


def test_a_service_without_a_fault_has_no_violation(mockserver_server: MockServer) -> None:
    with world(mockserver_server) as sandbox:
        probed = run(sandbox, ModifiedService(sandbox, _same_request, _same_response))

    assert [] == probed.broken


def test_the_report_describes_the_exchange_of_a_violation(mockserver_server: MockServer) -> None:
    clause, ask, respond = VIOLATIONS["cadence 0 is accepted"]
    with world(mockserver_server) as sandbox:
        probed = run(sandbox, ModifiedService(sandbox, ask, respond))
    row = next(row for row in probed.report.service.as_json() if row["id"] == clause)
    (contradiction,) = row["contradictions"]
    (place,) = contradiction["exchanges"]

    assert ("POST", "http://service.example/v1/campaigns", 201) == (place["method"], place["url"], place["status"])
    assert ["got /cadence; expected a number of at least 1", "answered with 201"] == contradiction["values"]


@pytest.mark.parametrize("nonsense", [b"null", b"[]", b'"text"', b'{"templates": [1]}', b'{"a": {"b": [{}]}}'])
def test_a_service_of_another_kind_is_reported_as_broken_and_the_run_continues(
    mockserver_server: MockServer, nonsense: bytes
) -> None:
    with world(mockserver_server) as sandbox:
        probed = run(sandbox, ModifiedService(sandbox, _same_request, lambda sent, answered, value: (200, nonsense)))

    assert "templates.list" in probed.broken


@pytest.mark.parametrize(("nonsense", "trouble"), [(b"", "broken-body"), (b"<html>", "proxy-page")])
def test_answers_that_are_not_the_word_of_the_service_are_counted_and_not_judged(
    mockserver_server: MockServer, nonsense: bytes, trouble: str
) -> None:
    with world(mockserver_server) as sandbox:
        probed = run(sandbox, ModifiedService(sandbox, _same_request, lambda sent, answered, value: (200, nonsense)))

    assert {trouble: len(probed.run.recording.exchanges)} == probed.run.recording.troubles
