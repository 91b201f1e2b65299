"""
Examples for the public document: real answers of the API in a sandbox of its own.

1. Seed and clock are fixed, so that each run gives the same examples, byte for byte.
2. The sandbox exists only for the run. No other has its seed, so that its keys and links open nothing.
3. Refusals are injected by rules: an example is what the operation's own refusal would be made of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from unittest import mock

from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, HEAD_ERROR, Endpoint, Operation
from mockserver.core.faults import injected_errors
from mockserver.core.operations import connections
from mockserver.core.state.calls import ApiError
from mockserver.core.state.sandbox import Scope
from mockserver.scenario import library
from mockserver.server.control import views
from mockserver.server.exchange import api_steps, response_of
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse

JSON = dict[str, Any]

# No sandbox has this seed unless it is chosen: it is the largest one that a sandbox accepts.
SEED: Final = 2**53 - 1
NOW: Final = "2026-03-01T12:00:00Z"
_TEMPLATE: Final = "template_atualizacao_cadastro"
_ACTIVE_CHATS: Final = [
    {
        "combinator": "and",
        "statements": [
            {"field": "chat.platform", "operator": "equals", "value": "chatapp"},
            {"field": "chat.tagIds", "operator": "exists"},
        ],
    }
]
_CAMPAIGN: Final[JSON] = {
    "name": "Atualização de cadastro",
    "description": "Pedido de confirmação dos dados de contato.",
    "platform": "chatapp",
    "templateId": _TEMPLATE,
    "cadence": 60,
    "filters": _ACTIVE_CHATS,
}
_ANY_PATH: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("id", "executionId", "sessionId", "chatId"), "unknown")
)
_CATALOG_SHOWN: Final = 4
_BOUNDARY: Final = "sample"
_NOTE: Final = (
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="orcamento.txt"\r\n'
    f"Content-Type: text/plain\r\n\r\nOrçamento aprovado\r\n--{_BOUNDARY}--\r\n"
)


def record(base_url: str) -> JSON:
    """
    Return examples of every operation, refusal and event.

    Args:
        base_url: the address that the urls of the answers begin with.

    Returns:
        `requests` and `answers` by operation and name, `refusals` by operation and code (place, reason, and the values
        of the message), `parameters` and the `choices` that it read by operation, and `events` by name and status.
    """
    run = _Run(base_url)
    _play_campaigns(run)
    _play_content(run)
    _play_sessions(run)
    _play_wrong_calls(run)
    return {
        "requests": run.requests,
        "answers": run.answers,
        "refusals": _refusals(base_url),
        "parameters": run.parameters,
        "events": _events(run.hosted),
        "choices": {
            operation: {choice: f"${{{choice}}}" for choice in sorted(read)} for operation, read in run.choices.items()
        },
    }


class _Run:
    """One run of the API in a sandbox with the demo. Lifetime: of one document."""

    def __init__(self, base_url: str, script: Sequence[JSON] = ()) -> None:
        scenario = {**library.document("demo"), "script": list(script)}
        config = SandboxConfig(scenario, SEED, {}, {"freeze": NOW})
        self.hosted = SandboxHost().create(config)
        self.base_url = base_url
        self.requests: dict[str, JSON] = {}
        self.answers: dict[str, JSON] = {}
        self.parameters: dict[str, JSON] = {}
        self.choices: dict[str, set[str]] = {}
        self._read: set[str] = set()
        self.hosted.watch_choices(self._read)

    def call(self, operation: Operation, example: str, body: Any = None, query: str = "", **params: str) -> JSON:
        """Call an operation and return its answer, {} for a refusal; record the answer, unless the example has no name."""
        endpoint = ENDPOINTS[operation]
        self._read.clear()
        response = self.send(endpoint, body, query, params)
        self.choices.setdefault(operation, set()).update(self._read)
        if response.status >= 400 or not example:
            return {}
        self.parameters.setdefault(operation, {}).update(params)
        if endpoint.request_schema is not None and body is not None:
            self.requests.setdefault(operation, {})[example] = body
        if not response.body:
            return {}
        answer = json.loads(response.body)
        self.answers.setdefault(operation, {})[example] = answer
        return answer if isinstance(answer, dict) else {}

    def send(self, endpoint: Endpoint, body: Any, query: str, params: Mapping[str, str]) -> HttpResponse:
        """Send one call with the secret key."""
        headers = {"x-api-key": self.hosted.tenant.secret_key}
        content = b""
        if endpoint.body == "multipart":
            headers["content-type"], content = f"multipart/form-data; boundary={_BOUNDARY}", _NOTE.encode()
        elif body is not None:
            headers["content-type"], content = "application/json", json.dumps(body).encode()
        target = endpoint.path.format_map(params) + query
        request = HttpRequest.create(endpoint.method, target, headers, content, self.base_url)
        response = response_of(api_steps(self.hosted.sandbox, request))
        assert isinstance(response, HttpResponse)  # no rule of the run drops an answer
        return response


def _play_campaigns(run: _Run) -> None:
    run.call("listTemplates", "templates")
    run.call("readTemplate", "template", id=_TEMPLATE)
    run.call("readFilterSchema", "catalog")
    _shorten_catalog(run)
    run.call("previewAudience", "filtered", {"filters": _ACTIVE_CHATS})
    campaign = run.call("createCampaign", "filtered", _CAMPAIGN).get("campaignId", "")
    run.call("readCampaign", "draft", id=campaign)
    execution = run.call("startCampaign", "started", {"commonVariables": {}}, id=campaign).get("executionId", "")
    run.call("readExecution", "processing", id=campaign, executionId=execution)
    run.call("readCampaign", "processing", id=campaign)
    run.hosted.dispatch.advance(until_idle=True)
    run.call("readExecution", "completed", id=campaign, executionId=execution)
    run.call("readCampaign", "completed", id=campaign)
    other = {"name": "Sem filtros", "platform": "chatapp", "templateId": _TEMPLATE, "cadence": 30}
    canceled = run.call("createCampaign", "everyone", other).get("campaignId", "")
    run.call("cancelCampaign", "canceled", id=canceled)
    run.call("readCampaign", "canceled", id=canceled)
    run.call("listCampaigns", "campaigns")


def _shorten_catalog(run: _Run) -> None:
    """Cut the sample of the catalog: linters take an entry of the type `array` for a schema without `items`."""
    for answer in run.answers.get("readFilterSchema", {}).values():
        answer["fields"] = answer["fields"][:_CATALOG_SHOWN]


def _play_content(run: _Run) -> None:
    run.call("readEntrypoint", "entrypoint", id="entrypoint_recepcao")
    run.call("uploadMedia", "text")
    run.call("listMessages", "page", query="?limit=2", chatId="chat_helena")
    run.call("listMessages", "last", chatId="chat_helena")
    run.call("readFormPolicy", "policy", id="form_primeira_consulta")


def _play_sessions(run: _Run) -> None:
    """Create a session for each end, read it while it is pending, and read how it ended."""
    sandbox, tenant = run.hosted.sandbox, run.hosted.tenant
    for end in ("completed", "failed", "expired"):
        body = {"funnelStepId": "funnel_step_primeiro_contato", "coexistence": True} if end == "completed" else {}
        session_id = run.call("createConnectionSession", "funnel" if body else "plain", body).get("sessionId", "")
        run.call("readConnectionSession", "pending", sessionId=session_id)
        if session_id not in tenant.sessions:
            continue  # the choices refuse the creation
        session = tenant.sessions[session_id]
        with sandbox.lock:
            if end == "completed":
                phone = connections.unused_phone(sandbox)
                connections.complete(Scope(sandbox, tenant, {"forced": "complete"}), session, phone, tenant.name)
            elif end == "failed":
                connections.fail(Scope(sandbox, tenant, {"forced": "fail"}), session, "phone_in_use")
            else:
                connections.expire(Scope(sandbox, tenant, {"forced": "expire"}), session)
        run.call("readConnectionSession", end, sessionId=session_id)


def _play_wrong_calls(run: _Run) -> None:
    """Call every operation wrongly: the choices that decide how it refuses show in it too."""
    unknown_platform = [
        {"combinator": "or", "statements": [{"field": "chat.platform", "operator": "equals", "value": ""}]}
    ]
    for endpoint in ENDPOINTS.values():
        own_id = _ANY_PATH if "{" in endpoint.path else {}
        run.call(endpoint.id, "", **own_id)
        for body in (
            {"unknown": None, "funnelId": "funnel"},
            {**_CAMPAIGN, "filters": []},
            {**_CAMPAIGN, "filters": unknown_platform},
        ):
            if endpoint.body == "json":
                run.call(endpoint.id, "", body, **own_id)


def _events(hosted: HostedSandbox) -> dict[str, JSON]:
    """Return the body of each event of the run, under the status of its session."""
    bodies: dict[str, JSON] = {}
    for event in views.events(hosted.sandbox)["events"]:
        bodies.setdefault(event["event"], {})[event["data"].get("status", "completed")] = {
            key: value for key, value in event.items() if key not in ("id", "at", "deliveries")
        }
    return bodies


def _refusals(base_url: str) -> dict[str, JSON]:
    """Return what each refusal of each operation has: the n-th call of an operation gets its n-th code from a rule."""
    script = [
        {"on": endpoint.id, "nth": number, "do": {"error": code}}
        for endpoint in ENDPOINTS.values()
        for number, code in enumerate(_codes(endpoint), start=1)
    ]
    run = _Run(base_url, script)
    injected: dict[str, JSON] = {}
    for endpoint in ENDPOINTS.values():
        for code in _codes(endpoint):
            refusal = _injected(run, endpoint)
            assert code == refusal.code
            injected.setdefault(endpoint.id, {})[code] = {
                "location": refusal.location,
                "reason": refusal.reason,
                **refusal.details,
            }
    return injected


def _injected(run: _Run, endpoint: Endpoint) -> ApiError:
    refusals: list[ApiError] = []

    def noted(*args: Any) -> ApiError:
        refusals.append(inject(*args))
        return refusals[-1]

    inject = injected_errors.refusal
    with mock.patch.object(injected_errors, "refusal", noted):
        run.send(endpoint, None, "", _ANY_PATH)
    (refusal,) = refusals
    return refusal


def _codes(endpoint: Endpoint) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*COMMON_ERRORS, *endpoint.errors, HEAD_ERROR)))
