"""
The control plane: `/_mock/...` as a table of commands.

The schemas `control.*` validate the bodies. An error has the place, the value received, the expected one and the nearest name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from mockserver.contract import schemas
from mockserver.contract.text import brief, closest_match_hint
from mockserver.core.redaction import Redactor
from mockserver.scenario.explaining import explained
from mockserver.server.control import access
from mockserver.server.control.arguments import json_body, query_of
from mockserver.server.control.commands import AddressedHost, CommandId, Route
from mockserver.server.errors import ControlError, log_failure
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.wire import formats
from mockserver.wire.browsing import OWN_TYPE, SANDBOX
from mockserver.wire.formats import encoded_in_slices
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, redactor
from mockserver.wire.router import Router

# fmt: off
ROUTES: tuple[Route, ...] = (
    # The server and its sandboxes
    Route("readHealth",         "GET /_mock/health",                         "sandboxes.health",             "Whether the server runs, and its version",
        target="host"),
    Route("createSandbox",      "POST /_mock/sandboxes",                     "sandboxes.create_sandbox",     "Make a fresh sandbox",
        target="host", status=201, has_body=True, refusals=("MOCK_BAD_SCENARIO", "MOCK_TOO_MANY_SANDBOXES", "MOCK_DRAINING")),
    Route("listSandboxes",      "GET /_mock/sandboxes",                      "sandboxes.list_sandboxes",     "List the sandboxes",
        target="host", query=("label",)),
    Route("deleteSandboxes",    "DELETE /_mock/sandboxes",                   "sandboxes.delete_sandboxes",   "End the sandboxes that have a label",
        target="host", query=("label",)),
    Route("deleteSandbox",      "DELETE /_mock/sandboxes/{id}",              "sandboxes.delete_sandbox",     "End a sandbox",
        target="host", status=204, refusals=("MOCK_DEFAULT_SANDBOX",)),
    Route("reset",              "POST /_mock/reset",                         "sandboxes.reset",              "Take the sandbox back to its initial state",
        status=204),
    # Time
    Route("readClock",          "GET /_mock/clock",                          "sandboxes.read_clock",         "Read the clock"),
    Route("setClock",           "PUT /_mock/clock",                          "sandboxes.set_clock",          "Freeze the clock or let it follow",
        phase="delivered", recorded="set_clock", has_body=True, refusals=("MOCK_BAD_CLOCK", "MOCK_BAD_INSTANT", "MOCK_TIME_GOES_FORWARD")),
    Route("advanceClock",       "POST /_mock/clock/advance",                 "sandboxes.advance_clock",      "Let time pass",
        phase="unlocked", recorded="advance", has_body=True, refusals=("MOCK_BAD_ADVANCE", "MOCK_BAD_INSTANT", "MOCK_BAD_DURATION", "MOCK_TIME_GOES_FORWARD")),
    # Behaviour
    Route("readChoices",        "GET /_mock/choices",                        "sandboxes.read_choices",       "List the choices"),
    Route("choose",             "PATCH /_mock/choices",                      "sandboxes.choose",             "Set choices",
        recorded="choose", has_body=True, refusals=("MOCK_BAD_CHOICE",)),
    Route("readTrackedChoices", "GET /_mock/choices/watch",                  "history.read_tracked_choices", "List the choices that were read since tracking began",
        refusals=("MOCK_NOT_WATCHED",)),
    Route("trackChoices",       "POST /_mock/choices/watch",                 "history.track_choices",        "Begin to record which choices are read",
        status=204),
    Route("listScenarios",      "GET /_mock/scenarios",                      "scenarios.list_scenarios",     "List the scenario library"),
    Route("readScenario",       "GET /_mock/scenarios/{name}",               "scenarios.read_scenario",      "The document of a library scenario",
        phase="unlocked"),
    Route("applyScenario",      "POST /_mock/scenarios",                     "scenarios.apply_scenario",     "Apply a scenario",
        recorded="apply_scenario", status=201, has_body=True, refusals=("MOCK_BAD_SCENARIO",)),
    Route("listRules",          "GET /_mock/rules",                          "scenarios.list_rules",         "List the rules in force"),
    Route("addRules",           "POST /_mock/rules",                         "scenarios.add_rules",          "Add a rule or several",
        recorded="add_rules", status=201, has_body=True, refusals=("MOCK_BAD_SCENARIO",)),
    Route("removeRules",        "DELETE /_mock/rules",                       "scenarios.remove_rules",       "End all rules",
        recorded="remove_rules", status=204),
    Route("removeRule",         "DELETE /_mock/rules/{id}",                  "scenarios.remove_rules",       "End a rule",
        recorded="remove_rules", status=204),
    Route("readTenant",         "GET /_mock/tenants/{id}",                   "sandboxes.read_tenant",        "Read a tenant's settings"),
    Route("setTenant",          "PATCH /_mock/tenants/{id}",                 "sandboxes.set_tenant",         "Change a tenant's settings",
        recorded="set_tenant", has_body=True),
    # The state
    Route("readState",          "GET /_mock/state",                          "sandboxes.read_state",         "Read the sandbox's state as JSON",
        phase="snapshot", query=("chats",)),
    Route("createCheckpoint",   "POST /_mock/checkpoints",                   "sandboxes.create_checkpoint",  "Store the state",
        status=201, has_body=True),
    Route("listCheckpoints",    "GET /_mock/checkpoints",                    "sandboxes.list_checkpoints",   "List the stored states that have a label"),
    Route("restoreCheckpoint",  "POST /_mock/checkpoints/{id}/restore",      "sandboxes.restore_checkpoint", "Restore a stored state",
        status=204),
    # Evidence
    Route("readJournal",        "GET /_mock/journal",                        "history.read_journal",       "Exchanges and transitions so far",
        phase="snapshot", query=("operation", "status", "text", "since", "before", "limit", "last"), refusals=("MOCK_BAD_OPERATION",)),
    Route("verifyJournal",      "POST /_mock/journal/verify",                "history.verify_journal",     "Count the calls of an operation",
        has_body=True, refusals=("MOCK_BAD_WHERE", "MOCK_BAD_VERIFY", "MOCK_BAD_OPERATION")),
    Route("readHistory",        "GET /_mock/steps",                          "history.read_history",         "Commands so far, calls that wait, and the next due timer",
        phase="snapshot"),
    Route("readReplay",         "GET /_mock/replay",                         "replay_document.read_replay",          "The document that repeats the run",
        phase="snapshot", query=("name",)),
    Route("readHar",            "GET /_mock/har",                            "har.read_har",             "Calls and deliveries as a HAR 1.2",
        phase="snapshot"),
    Route("readReport",         "GET /_mock/report",                         "reports.read_report",          "The most likely cause of a failure, and everything that happened",
        phase="snapshot", query=("failure",), takes_address=True, form="report"),
    Route("keepReport",         "POST /_mock/report",                        "reports.keep_report",          "The report of a failed test, whose files a server with a folder for them keeps",
        phase="snapshot", query=("failure", "name"), takes_address=True, form="report"),
    Route("readLedger",         "GET /_mock/ledger",                         "history.read_ledger",          "The side effects of the calls so far",
        phase="snapshot"),
    Route("readConduct",        "GET /_mock/conduct",                        "reports.read_conduct",         "Findings on the client's conduct",
        phase="snapshot"),
    Route("readCheck",          "GET /_mock/check",                          "reports.read_check",           "What fails a test at its end",
        phase="snapshot", query=("conduct",)),
    Route("readCoverage",       "GET /_mock/coverage",                       "reports.read_coverage",        "What the calls so far have covered of the contract"),
    # Sessions and campaigns
    Route("completeSession",    "POST /_mock/sessions/{sessionId}/complete", "records.complete_session",     "The end user finishes the flow",
        phase="delivered", recorded="complete_session", has_body=True, refusals=("MOCK_BAD_PHONE", "MOCK_ILLEGAL_MOVE")),
    Route("failSession",        "POST /_mock/sessions/{sessionId}/fail",     "records.fail_session",         "The connection fails",
        phase="delivered", recorded="fail_session", has_body=True, refusals=("MOCK_BAD_REASON", "MOCK_ILLEGAL_MOVE")),
    Route("cancelSession",      "POST /_mock/sessions/{sessionId}/cancel",   "records.cancel_session",       "The end user cancels",
        phase="delivered", recorded="cancel_session", refusals=("MOCK_ILLEGAL_MOVE",)),
    Route("expireSession",      "POST /_mock/sessions/{sessionId}/expire",   "records.expire_session",       "The session expires now",
        phase="delivered", recorded="expire_session", refusals=("MOCK_ILLEGAL_MOVE",)),
    Route("failCampaign",       "POST /_mock/campaigns/{id}/fail",           "records.fail_campaign",        "A running campaign fails",
        recorded="fail_campaign", refusals=("MOCK_ILLEGAL_MOVE",)),
    # Events and webhooks
    Route("readEvents",         "GET /_mock/events",                         "sandboxes.read_events",        "The events so far"),
    Route("readEvent",          "GET /_mock/events/{id}",                    "webhooks.read_event",          "An event with the requests of its deliveries"),
    Route("redeliverEvent",     "POST /_mock/events/{id}/redeliver",         "webhooks.redeliver",           "Send an event again",
        phase="unlocked", recorded="redeliver", refusals=("MOCK_ILLEGAL_MOVE",)),
    Route("createWebhook",      "POST /_mock/webhooks",                      "webhooks.create_webhook",      "Register an endpoint",
        phase="delivered", recorded="create_webhook", status=201, has_body=True, refusals=("MOCK_BAD_EVENT", "MOCK_BAD_TARGET", "MOCK_BAD_SECRET")),
    Route("recoverWebhook",     "POST /_mock/webhooks/{id}/recover",         "webhooks.recover",             "Send an endpoint all abandoned events again",
        phase="delivered", recorded="recover"),
    Route("rotateWebhook",      "POST /_mock/webhooks/{id}/rotate",          "webhooks.rotate",              "Give an endpoint a new secret",
        recorded="rotate", has_body=True, refusals=("MOCK_BAD_SECRET",)),
    # Documents, and calls of the API
    Route("readOpenapi",        "GET /_mock/openapi.json",                   "openapi.documents.read_document",      "The OpenAPI document of either plane",
        phase="unlocked", query=("plane", "profile", "openapi"), takes_address=True, refusals=("MOCK_BAD_PLANE", "MOCK_BAD_PROFILE", "MOCK_BAD_OPENAPI")),
    Route("readMetrics",        "GET /_mock/metrics",                        "metrics.read_metrics",         "The server's figures in the text format of Prometheus",
        target="host", form="text"),
    Route("readSample",         "GET /_mock/samples",                        "calls.read_sample",            "A small file of a media type that uploads accept",
        phase="unlocked", query=("type",)),
    Route("sendCall",           "POST /_mock/calls",                         "calls.send_call",              "Call the API, with waits by the sandbox's clock",
        phase="unlocked", has_body=True, takes_address=True, refusals=("MOCK_BAD_CALL", "MOCK_BAD_DURATION")),
)
# fmt: on
COMMANDS: Mapping[str, Route] = MappingProxyType({route.id: route for route in ROUTES})
# The paths of the commands that concern the whole server begin with one of these.
SERVER_PATHS: tuple[str, ...] = tuple({route.path.partition("/{")[0]: 0 for route in ROUTES if route.target == "host"})
# A label, percent-encoded: the state before the command is stored under it, unless it is refused.
UNDO_HEADER = "x-mock-undo"
_LABEL_MAX_CHARS = 200
_IDS = frozenset(("id", "sessionId"))  # the parameters of paths, which are no part of a body
_RECORDED: Mapping[str, Route] = MappingProxyType({route.recorded: route for route in ROUTES if route.recorded})


def handle_control_request(host: SandboxHost, hosted: HostedSandbox | None, request: HttpRequest) -> HttpResponse:
    """Return the response to one request of the control plane, dated by the sandbox's clock; every error is JSON."""
    response = _respond(host, hosted, request)
    named = {name.lower() for name, _ in response.headers}
    own = tuple(header for header in OWN_TYPE if header[0].lower() not in named)
    response = response._replace(headers=(*response.headers, *own))
    if hosted is None or not access.is_open_to(host, hosted.id, request):  # a refusal does not show the clock
        return response
    with hosted.sandbox.lock:  # after the command, which may have moved the clock
        date = ("Date", formats.http_date(hosted.sandbox.read_clock()))
    return response._replace(headers=(*response.headers, date))


def _respond(host: SandboxHost, hosted: HostedSandbox | None, request: HttpRequest) -> HttpResponse:
    try:
        route, params = _match(request)
        access.check_command(host, hosted, request, route.id, params)
        origin = request.base_url.removesuffix(hosted.prefix) if hosted is not None else request.base_url
        query = _query(route, request)
        waits = _waits(query.pop("wait", "true"))
        # The parameters of the path are first, and take precedence over members of the body.
        arguments = {**params, **query, **_body(route, request), **params}
        run = partial(_run, AddressedHost(host, origin), hosted, route, arguments, waits)
        label = request.headers.get(UNDO_HEADER)
        result = run() if hosted is None or label is None else _undoable(hosted, unquote(label), run)
        return _response(route, request, result)
    except ControlError as refusal:
        body = _redactor(host, hosted).value(refusal.as_json())  # it quotes the request
        return _json_response(refusal.status, body, refusal.headers)
    except Exception as failure:  # noqa: BLE001 - a bug of the mock has a JSON error too
        log_failure("unexpected failure in the control plane", _redactor(host, hosted))
        message = f"the mock failed: {type(failure).__name__}; its log has the traceback"
        bug = ControlError("MOCK_INTERNAL_ERROR", message)
        return _json_response(bug.status, bug.as_json())


def _waits(value: str) -> bool:
    if value not in ("true", "false"):
        hint = closest_match_hint(value, ("true", "false"))
        raise ControlError("MOCK_BAD_QUERY", f"wait: got {brief(value, 100)!r}; expected true or false{hint}")
    return value == "true"


def _undoable(hosted: HostedSandbox, label: str, run: Callable[[], Any]) -> Any:
    """Return the result of a command, and store the state before it under a label, unless it is refused."""
    before = hosted.run_command(lambda hosted, _: hosted.sandbox.clone(), {})
    result = run()
    with hosted.sandbox.lock:
        hosted.checkpoints.add(before, label[:_LABEL_MAX_CHARS])
    return result


def _redactor(host: SandboxHost, hosted: HostedSandbox | None) -> Redactor:
    """Return what masks the secrets of the sandbox and the server's token."""
    return Redactor(host.tokens()) if hosted is None else redactor(hosted.sandbox)


def _run(
    addressed: AddressedHost, hosted: HostedSandbox | None, route: Route, args: Mapping[str, Any], waits: bool
) -> Any:
    if route.target == "host":
        check_own_port(hosted, route.id)
        return route.handler(addressed, args)
    if hosted is None:
        raise ControlError(
            "MOCK_NOT_FOUND",
            "this server has no default sandbox; create one with POST /_mock/sandboxes and use its baseUrl",
        )
    handler = _handler(route, addressed.base_url(hosted))
    return hosted.run_command(handler, args, phase=route.phase, recorded=route.recorded, waits=waits)


def _handler(route: Route, base_url: str) -> Callable[..., Any]:
    return partial(route.handler, base_url=base_url) if route.takes_address else route.handler


def check_own_port(hosted: HostedSandbox | None, command: str) -> None:
    """Raise ControlError for a command on other sandboxes at a port that only one sandbox has."""
    if hosted is not None and hosted.own_origin is not None and command != "readHealth":
        message = f"got a request at the port of {hosted.id}; expected the server's own address, which manages other sandboxes"
        raise ControlError("MOCK_OWN_PORT", message)


def _json_response(status: int, body: Any, headers: tuple[tuple[str, str], ...] = ()) -> HttpResponse:
    if status == 204:
        return HttpResponse(204, (("Cache-Control", "no-store"),), b"")
    own = (("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-store"))
    return HttpResponse(status, (*own, *headers), encoded_in_slices(body))


def _response(route: Route, request: HttpRequest, result: Any) -> HttpResponse:
    """Return the result of a command in the form of its route; a file as it is."""
    if isinstance(result, HttpResponse):
        return result
    vary = (("Vary", "Accept"),) if route.form == "report" else ()
    if isinstance(result, str):
        text, media_type = result, "text/plain" if route.form == "text" else "application/json"
    elif route.form == "report" and "application/json" not in request.headers.get("accept", "").lower():
        text, media_type = result["text"], "text/plain"
    else:
        return _json_response(route.status, result, vary)
    # It may contain any text of a client, and a browser must not take it for a page.
    own = (("Content-Type", f"{media_type}; charset=utf-8"), ("Cache-Control", "no-store"), *vary, *SANDBOX)
    return HttpResponse(route.status, own, text.encode())


@cache
def _router() -> Router[Route]:
    return Router(((route.method, route.path, route) for route in ROUTES), has_head=False)


def command_of(request: HttpRequest) -> str | None:
    """Return the id of the command of a request, None if there is none."""
    route = _router().match(request.method, request.target.partition("?")[0]).target
    return route.id if route is not None else None


def _match(request: HttpRequest) -> tuple[Route, Mapping[str, str]]:
    path = request.target.partition("?")[0]
    match = _router().match(request.method, path)
    if match.target is not None:
        return match.target, match.params
    if match.allow:
        allow = ", ".join(match.allow)
        raise ControlError(
            "MOCK_WRONG_METHOD",
            f"method: got {request.method} of {path}; expected {allow}",
            headers=(("Allow", allow),),
        )
    hint = closest_match_hint(path, {route.path for route in ROUTES})
    expected = "one of the control plane, which /_mock/openapi.json?plane=control lists"
    raise ControlError("MOCK_NOT_FOUND", f"path: got {path}; expected {expected}{hint}")


def _query(route: Route, request: HttpRequest) -> dict[str, str]:
    if route.id == "readHealth":  # probes add parameters of their own, such as one against caches
        return {}
    query, known = query_of(request), route.query_names
    unknown = next((name for name in query if name not in known), None)
    if unknown is not None:
        expected = f"expected {'some of ' * (len(known) > 1)}{', '.join(known)}" if known else "expected no query"
        hint = closest_match_hint(unknown, known)
        raise ControlError("MOCK_BAD_QUERY", f"query: got {brief(unknown, 100)!r}; {expected}{hint}")
    return query


def _body(route: Route, request: HttpRequest) -> Mapping[str, Any]:
    if route.schema is None:
        if request.body is None or request.body.strip() not in (b"", b"{}"):
            raise ControlError("MOCK_BAD_BODY", f"got a body; expected none: {route.id} has no arguments in one")
        return {}
    body = json_body(request)
    check_body(route.schema, body)
    return {"rules": body} if isinstance(body, list) else body  # only one schema takes a list


def find_command(name: str) -> CommandId:
    """
    Return the id of the sandbox's command that has this id, or this name in the history.

    Raises:
        ValueError: No command has it; the message contains the nearest name.
    """
    route = COMMANDS.get(name) or _RECORDED.get(name)
    if route is None or route.target == "host":
        known = [*_RECORDED, *(row.id for row in ROUTES if row.target == "sandbox")]
        raise ValueError(f"command: got {name!r}; expected the id of a command{closest_match_hint(name, known)}")
    return route.id


def run_command(hosted: HostedSandbox, command: CommandId, arguments: Mapping[str, Any]) -> Any:
    """
    Run a command of the sandbox without HTTP, with its body checked against the same schema.

    Args:
        hosted: The sandbox.
        command: The command's id.
        arguments: The values of the body and of the path's parameters.

    Raises:
        ControlError: The command is refused; then nothing has changed.
    """
    route = COMMANDS[command]
    own_ids = {name for name in _IDS if f"{{{name}}}" in route.path}
    for name in _IDS & {*own_ids, *arguments}:
        if not isinstance(arguments.get(name), str):
            got = f"a value of the type {type(arguments[name]).__name__}" if name in arguments else "none"
            raise ControlError("MOCK_BAD_BODY", f"{name}: got {got}; expected an id, a string")
    if route.schema is not None:
        check_body(route.schema, {key: value for key, value in arguments.items() if key not in own_ids})
    handler = _handler(route, hosted.base_url)
    return hosted.run_command(handler, arguments, phase=route.phase, recorded=route.recorded)


def check_body(schema: str, body: Any) -> None:
    """Check a body against its schema; ControlError with every problem and the nearest names."""
    if not schemas.is_valid(schema, body):
        problems = explained(schema, body)[:10]
        raise ControlError("MOCK_BAD_BODY", f"the body does not fit: {problems[0]}", problems)
