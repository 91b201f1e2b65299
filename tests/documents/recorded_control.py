"""
Examples for the document of the control plane: real answers of each command, and of each refusal of its own.

1. Seed and clock are fixed, so that each run gives the same examples, byte for byte.
2. The server exists only for the run; keys are masked, and long lists are cut.
3. Refusals that all commands share, such as that of a wrong token, have no example.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from mockserver._json import View
from mockserver.contract.endpoints import ENDPOINTS, Operation
from mockserver.core.instants import Duration, Instant, parse
from mockserver.core.redaction import Redactor
from mockserver.report.trace_page import TracedRun
from mockserver.server.control import webhooks
from mockserver.server.control.routes import COMMANDS, handle_control_request
from mockserver.server.exchange import api_steps, response_of
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.failed_runs import KeptFiles
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.hosting.limits import Limiter, ServerLimits
from mockserver.server.hosting.runtime import HostRuntime
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.documents.recorded_api import NOW, SEED

JSON = dict[str, Any]

_SHOWN: Final = 2  # of a list in an answer
_TEXT_LINES: Final = 10  # of a text in an answer
_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
_GIVEN: Final[JSON] = {
    "templates": [{"id": "template_revisao", "name": "Revisão", "items": [{"type": "text", "text": "Oi, {{1}}!"}]}],
    "chats": {"count": 3},
}
_CAMPAIGN: Final[JSON] = {"platform": "chatapp", "templateId": "template_revisao", "cadence": 60}
_FAULT: Final[JSON] = {"on": "startCampaign", "nth": 2, "do": {"drop": "after"}}
_ENDPOINT: Final = "http://127.0.0.1:8080/webhooks"
_SECRET: Final = "dGhlIHNpZ25pbmcgc2VjcmV0IG9mIHJlcXVlc3Rz"


def record(base_url: str) -> JSON:
    """
    Return examples of every command.

    Args:
        base_url: the address that the urls of the answers begin with.

    Returns:
        `requests` and `answers` by command and name, `refusals` by command and code.
    """
    run = _Run(base_url)
    _play_behaviour(run)
    _play_campaigns(run)
    _play_sessions(run)
    _play_time(run)
    _play_evidence(run)
    _play_webhooks(run)  # after all that sends an event: its endpoint would be called
    _play_server(run)
    _play_wrong_bodies(run)
    return {"requests": run.requests, "answers": run.answers, "refusals": run.refusals}


class _StoppedRuntime(HostRuntime):
    """A runtime whose real clock does not advance, so that a slow or frozen process has the same examples."""

    __slots__ = ()

    def monotonic_us(self) -> Duration:
        return 0

    def process_frozen_at(self) -> Instant | None:
        return None


class NamedFiles:
    """A folder for failed runs that names files and writes none."""

    def note_failure(self, sandbox_id: str) -> None:
        """It remembers none."""

    def keep(self, run: TracedRun, har: View) -> KeptFiles:
        endings = ("yaml", "har", "html", "txt")
        replay, calls, trace, report = (f"/home/me/failures/{run.name}.{ending}" for ending in endings)
        return KeptFiles(
            replay,
            calls,
            trace,
            report,
            [f"to repeat its calls, without the client: mockserver replay-calls {replay}", f"this report: {report}"],
        )


class _Run:
    """One run of the control plane on a host of its own."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self.host = SandboxHost()
        self.host.frozen_at = (parse(NOW) or (0,))[0]
        self.hosted = self.host.create(SandboxConfig({"given": _GIVEN}, SEED, {}, {"freeze": NOW}), id=DEFAULT_ID)
        self.hosted.sandbox.runtime = _StoppedRuntime()
        self.hosted.sandbox.process_now = lambda: self.host.frozen_at or 0  # a webhook's signature has it
        self.requests: dict[str, JSON] = {}
        self.answers: dict[str, JSON] = {}
        self.refusals: dict[str, JSON] = {}

    def api(self, operation: Operation, body: Any = None, **params: str) -> JSON:
        """Call an operation of the API with the secret key; return its answer, {} for none."""
        endpoint = ENDPOINTS[operation]
        headers = {"x-api-key": self.hosted.tenant.secret_key, "content-type": "application/json"}
        content = b"" if body is None else json.dumps(body).encode()
        request = HttpRequest.create(
            endpoint.method, endpoint.path.format_map(params), headers, content, self._base_url
        )
        response = response_of(api_steps(self.hosted.sandbox, request))
        answer: JSON = response.json() if isinstance(response, HttpResponse) else {}
        return answer

    def call(self, command: str, example: str, body: Any = None, **options: Any) -> JSON:
        """Run a command; record its body and its answer, unless it is refused."""
        response = self.send(command, body, **options)
        if response.status >= 400:
            return {}
        if body is not None:
            self.requests.setdefault(command, {})[example] = Redactor((), by_name=False).value(body)
        if not response.body:
            return {}
        is_json = dict(response.headers)["Content-Type"].startswith("application/json")
        answer = response.json() if is_json else response.body.decode()
        self.answers.setdefault(command, {})[example] = _shortened(Redactor((), by_name=False).value(answer))
        return answer if isinstance(answer, dict) else {}

    def refuse(self, command: str, code: str, body: Any = None, **options: Any) -> None:
        """Run a command that is refused with this code; record the refusal."""
        response = self.send(command, body, **options)
        answer = response.json() if response.body else {}
        if response.status >= 400 and answer["code"] == code:
            self.refusals.setdefault(command, {})[code] = _shortened(answer)

    def send(
        self,
        command: str,
        body: Any = None,
        query: Mapping[str, str] = _EMPTY,
        accept: str = "",
        **params: str,
    ) -> HttpResponse:
        """Send one request of a command."""
        row = COMMANDS[command]
        target = row.path.format_map(params) + (f"?{urlencode(query)}" if query else "")
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"accept": accept} if accept else {}
        request = HttpRequest.create(row.method, target, headers, content, self._base_url)
        return handle_control_request(self.host, self.hosted, request)


def _shortened(value: Any) -> Any:
    """Return an answer with its long lists and texts cut."""
    if isinstance(value, dict):
        return {key: _shortened(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_shortened(below) for below in value[:_SHOWN]]
    if isinstance(value, str) and value.count("\n") > _TEXT_LINES:
        return "\n".join([*value.splitlines()[:_TEXT_LINES], "..."])
    return value


def _play_behaviour(run: _Run) -> None:
    run.refuse("readTrackedChoices", "MOCK_NOT_WATCHED")
    run.call("trackChoices", "")
    run.call("readChoices", "choices")
    run.call("choose", "choice", {"subscription-scope": "writes-only"})
    run.refuse("choose", "MOCK_BAD_CHOICE", {"subscription-scop": "writes-only"})
    run.call("createCheckpoint", "checkpoint")
    run.call("listScenarios", "library")
    run.call("readScenario", "library", name="start-timeout-applied")
    run.refuse("readScenario", "MOCK_NOT_FOUND", name="start-timeout-aplied")
    run.call("applyScenario", "library", {"name": "start-timeout-applied"})
    run.call("applyScenario", "fault", {"script": [_FAULT]})
    run.call("applyScenario", "data", {"given": {"chats": {"count": 2}, "webhooks": [{"url": _ENDPOINT}]}})
    run.call("restoreCheckpoint", "", id="checkpoint_1")
    run.call("applyScenario", "fault", {"script": [_FAULT]})
    run.refuse("applyScenario", "MOCK_BAD_SCENARIO", {"script": [{"on": "startCampain", "do": {"drop": "after"}}]})
    run.refuse("restoreCheckpoint", "MOCK_NOT_FOUND", id="checkpoint_9")
    run.call("readTenant", "tenant", id="tenant_default")
    run.call("setTenant", "suspended", {"subscription": "suspended"}, id="tenant_default")
    run.call("setTenant", "active", {"name": "Clínica", "subscription": "active"}, id="tenant_default")
    for command in ("readTenant", "setTenant"):
        run.refuse(command, "MOCK_NOT_FOUND", None if command == "readTenant" else {}, id="tenant_defalt")
    run.call("listRules", "fault")
    run.call("addRules", "one", {"on": "listTemplates", "nth": 2, "do": {"delay": "2s"}})
    run.call("addRules", "several", [{"on": "listTemplates", "times": 1, "do": {"drop": "before"}}])
    run.refuse("addRules", "MOCK_BAD_SCENARIO", {"on": "listTemplate", "do": {"drop": "before"}})
    run.call("readCheck", "failures")
    run.refuse("removeRule", "MOCK_NOT_FOUND", id="rule_9")


def _play_campaigns(run: _Run) -> None:
    for name in ("Março", "Abril"):
        campaign = run.api("createCampaign", {**_CAMPAIGN, "name": name}).get("campaignId", "")
        run.api("startCampaign", {}, id=campaign)
    run.call("failCampaign", "failed", id=campaign)
    run.refuse("failCampaign", "MOCK_ILLEGAL_MOVE", id=campaign)
    run.refuse("failCampaign", "MOCK_NOT_FOUND", id="campaign_none")
    run.api("readCampaign", id="campaign_none")
    run.call("sendCall", "read", _call(run, f"/v1/campaigns/{campaign}"))
    run.send("applyScenario", {"script": [{**_FAULT, "on": "listCampaigns", "nth": 1}]})
    run.call("sendCall", "no-response", {**_call(run, "/v1/campaigns"), "timeout": "3s"})
    run.refuse("sendCall", "MOCK_BAD_CALL", {**_call(run, "/v1/campaigns"), "bodyBase64": "{}"})
    run.refuse("sendCall", "MOCK_BAD_DURATION", {**_call(run, "/v1/campaigns"), "timeout": "soon"})


def _call(run: _Run, path: str) -> JSON:
    return {"method": "GET", "path": path, "headers": {"X-API-Key": run.hosted.tenant.secret_key}}


def _play_sessions(run: _Run) -> None:
    expired = run.api("createConnectionSession", {}).get("sessionId", "")
    run.send("expireSession", sessionId=expired)
    for event in run.send("readEvents").json()["events"]:
        run.refuse("redeliverEvent", "MOCK_ILLEGAL_MOVE", id=event["id"])  # no endpoint is registered for it
    webhooks.register(run.hosted, lambda request: 204, run.hosted.tenant.id, ("entrypoints",), None, "/webhooks")
    ends: dict[str, Any] = {
        "completeSession": {"phone": "+55 11 5550-0142", "name": "Recepção"},
        "failSession": {"reason": "phone_in_use"},
        "cancelSession": None,
        "expireSession": None,
    }
    wrong = {
        "completeSession": ("MOCK_BAD_PHONE", {"phone": "12"}),
        "failSession": ("MOCK_BAD_REASON", {"reason": "phone_used"}),
    }
    for command, body in ends.items():
        session = run.api("createConnectionSession", {}).get("sessionId", "")
        if command in wrong:
            run.refuse(command, *wrong[command], sessionId=session)
        run.refuse(command, "MOCK_BAD_QUERY", body, query={"wait": "no"}, sessionId=session)
        run.refuse(command, "MOCK_NOT_FOUND", body, sessionId="connection_session_none")
        run.call(command, command.removesuffix("Session"), body, sessionId=session)
        run.refuse(command, "MOCK_ILLEGAL_MOVE", body, sessionId=expired)


def _play_webhooks(run: _Run) -> None:
    events = run.call("readEvents", "events").get("events", [])
    newest = events[0]["id"] if events else ""
    run.call("readEvent", "event", id=newest)
    run.call("redeliverEvent", "again", id=newest)
    for command in ("readEvent", "redeliverEvent"):
        run.refuse(command, "MOCK_NOT_FOUND", id="event_none")
    made = run.call("createWebhook", "endpoint", {"url": _ENDPOINT, "events": ["entrypoints"]}).get("webhookId", "")
    run.refuse("createWebhook", "MOCK_BAD_EVENT", {"url": _ENDPOINT, "events": ["entrypoint"]})
    run.refuse("createWebhook", "MOCK_BAD_TARGET", {"url": "https://clinic.example/webhooks"})
    run.refuse("createWebhook", "MOCK_NOT_FOUND", {"url": _ENDPOINT, "tenantId": "tenant_none"})
    run.call("recoverWebhook", "nothing", id=made)
    run.call("rotateWebhook", "rotated", {"secret": _SECRET}, id=made)
    run.refuse("createWebhook", "MOCK_BAD_SECRET", {"url": _ENDPOINT, "secret": "the next secret"})
    run.refuse("rotateWebhook", "MOCK_BAD_SECRET", {"secret": "the next secret"}, id=made)
    run.refuse("recoverWebhook", "MOCK_NOT_FOUND", id="webhook_none")
    run.refuse("createWebhook", "MOCK_BAD_QUERY", {"url": _ENDPOINT}, query={"wait": "no"})
    run.refuse("recoverWebhook", "MOCK_BAD_QUERY", query={"wait": "no"}, id=made)
    run.refuse("rotateWebhook", "MOCK_NOT_FOUND", {"secret": "the next secret"}, id="webhook_none")


def _play_evidence(run: _Run) -> None:
    run.call("readState", "part", query={"chats": "1"})
    run.call("readJournal", "newest", query={"last": "1"})
    for body in ({"operation": "startCampaign", "times": 2}, {"operation": "startCampaign", "times": 1}):
        run.call("verifyJournal", "as-expected" if body["times"] == 2 else "too-many", body)
    run.call("verifyJournal", "where", {"operation": "createCampaign", "atLeast": 1, "where": {"body.name": "Março"}})
    run.refuse("verifyJournal", "MOCK_BAD_WHERE", {"operation": "*", "where": {"color": 1}})
    run.refuse("verifyJournal", "MOCK_BAD_VERIFY", {"operation": "*", "times": 1, "atLeast": 1})
    run.refuse("verifyJournal", "MOCK_BAD_OPERATION", {"operation": "startCampain", "times": 1})
    run.refuse("readJournal", "MOCK_BAD_OPERATION", query={"operation": "startCampain"})
    run.call("readReport", "text", query={"failure": "expected one start"})
    run.call("readReport", "json", query={"failure": "expected one start"}, accept="application/json")
    run.host.failures = NamedFiles()
    named = {"failure": "expected one start", "name": "StartTest"}
    run.call("keepReport", "kept", query=named, accept="application/json")
    run.host.failures = None
    run.refuse("readCheck", "MOCK_BAD_QUERY", query={"conduct": "errors"})
    for command in (
        "readHistory",
        "readReplay",
        "readHar",
        "readLedger",
        "readConduct",
        "readCoverage",
        "readTrackedChoices",
    ):
        run.call(command, "run")
    for command in ("readState", "readJournal", "readReplay", "readHar", "readReport", "keepReport"):
        run.refuse(command, "MOCK_BAD_QUERY", query={"colour": "blue"})
    run.refuse("readOpenapi", "MOCK_BAD_PLANE", query={"plane": "contrl"})
    run.refuse("readOpenapi", "MOCK_BAD_PROFILE", query={"profile": "gide"})
    run.refuse("readOpenapi", "MOCK_BAD_QUERY", query={"plan": "control"})
    run.refuse("readOpenapi", "MOCK_BAD_OPENAPI", query={"openapi": "3.2"})


def _play_time(run: _Run) -> None:
    run.call("readClock", "frozen")
    run.call("setClock", "freeze", {"freeze": "2026-03-02T09:00:00Z"})
    run.refuse("setClock", "MOCK_BAD_CLOCK", {})
    run.refuse("setClock", "MOCK_BAD_INSTANT", {"freeze": "noon"})
    run.refuse("setClock", "MOCK_TIME_GOES_FORWARD", {"freeze": NOW})
    run.refuse("setClock", "MOCK_BAD_QUERY", {"freeze": NOW}, query={"wait": "no"})
    run.api("createConnectionSession", {})
    run.call("advanceClock", "by", {"by": "20m"})
    run.call("advanceClock", "to", {"to": "2026-03-02T12:00:00Z"})
    run.call("advanceClock", "next", {"to": "next"})
    run.call("advanceClock", "idle", {"until": "idle"})
    run.refuse("advanceClock", "MOCK_BAD_ADVANCE", {})
    run.refuse("advanceClock", "MOCK_BAD_INSTANT", {"to": "noon"})
    run.refuse("advanceClock", "MOCK_BAD_DURATION", {"by": "soon"})
    run.refuse("advanceClock", "MOCK_TIME_GOES_FORWARD", {"to": NOW})


def _play_server(run: _Run) -> None:
    run.call("readHealth", "running")
    made = run.call("createSandbox", "demo", {"scenario": "demo", "seed": 7, "clock": {"freeze": NOW}})
    run.call("createSandbox", "own-data", {"profile": "guide", "given": _GIVEN})
    run.refuse("createSandbox", "MOCK_BAD_SCENARIO", {"choices": {"subscription-scop": "writes-only"}})
    run.call("listSandboxes", "open")
    run.refuse("listSandboxes", "MOCK_BAD_QUERY", query={"label": "job"})
    run.call("readMetrics", "figures")
    run.call("deleteSandbox", "", id=made.get("sandboxId", ""))
    run.refuse("deleteSandbox", "MOCK_DEFAULT_SANDBOX", id=DEFAULT_ID)
    run.refuse("deleteSandbox", "MOCK_NOT_FOUND", id="sandbox_9")
    run.call("createSandbox", "labelled", {"labels": {"job": "4711"}})
    admission, run.host.admission = run.host.admission, Limiter(run.host, ServerLimits(sandboxes=2)).admission
    run.refuse("createSandbox", "MOCK_TOO_MANY_SANDBOXES", {})
    limiter = Limiter(run.host, ServerLimits())
    limiter.drain(0)
    run.host.admission = limiter.admission
    run.refuse("createSandbox", "MOCK_DRAINING", {})
    run.host.admission = admission
    run.call("deleteSandboxes", "job", query={"label": "job:4711"})
    run.refuse("deleteSandboxes", "MOCK_BAD_QUERY")


def _play_wrong_bodies(run: _Run) -> None:
    for command in run.requests:
        run.refuse(command, "MOCK_BAD_BODY", {"colour": "blue"}, id="", sessionId="")
