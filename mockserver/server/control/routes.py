"""
The control plane: `/_mock/...` as a table of commands.

The schemas `control.*` validate the bodies. An error has the place, the value received, the expected one and the nearest name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import unquote

from mockserver.contract import schemas
from mockserver.contract.text import brief, closest_match_hint
from mockserver.core.redaction import Redactor
from mockserver.scenario.explaining import explained
from mockserver.server.control import (
    access,
    calls,
    metrics,
    records,
    reports,
    sandboxes,
    scenarios,
    stream,
    webhooks,
)
from mockserver.server.control.accept import (
    HTML_TYPES,
    JSON_TYPES,
    REPORT_TYPES,
    SCRIPT_TYPES,
    TEXT_TYPES,
    YAML_TYPES,
    accepted_type,
    json_body,
    query_of,
)
from mockserver.server.control.commands import CommandId, Route
from mockserver.server.errors import ControlError, log_failure
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.wire import formats
from mockserver.wire.browsing import OWN_TYPE, SANDBOX
from mockserver.wire.formats import encoded_in_slices
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, redactor
from mockserver.wire.router import Router

# Of the page of a document and its script.
ASSET_HEADERS: Final = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS: Final = (("Content-Security-Policy", _POLICY), *ASSET_HEADERS)


def _document(form: Literal["json", "yaml", "html"]) -> Callable[..., bytes]:
    """Return the handler that reads a document in this form."""

    def read(hosted: HostedSandbox, args: Mapping[str, Any], base_url: str | None = None) -> bytes:
        # Imported here: few servers are asked for a document, and the tables that it is made of take long to import.
        from mockserver.server.control.openapi import documents

        return documents.read_document(hosted, args, base_url or hosted.base_url, ROUTES, form)

    return read


def _read_docs_script(_hosted: HostedSandbox, _args: Mapping[str, Any], base_url: str | None = None) -> str:
    from mockserver.server.docs_page import page  # imported here: it loads Jinja

    return page.script()


# fmt: off
ROUTES: tuple[Route, ...] = (
    #     id                     method    path                                     target      handler                           phase        recorded as         status body schema                 summary
    Route("readHealth",          "GET",    "/_mock/health",                         "host",     sandboxes.health,                 "unlocked",  None,                200,  None,                       "Whether the server runs, and its version"),
    Route("createSandbox",       "POST",   "/_mock/sandboxes",                      "host",     sandboxes.create_sandbox,         "unlocked",  None,                201,  "control.createSandbox",    "Make a fresh sandbox"),
    Route("listSandboxes",       "GET",    "/_mock/sandboxes",                      "host",     sandboxes.list_sandboxes,         "unlocked",  None,                200,  None,                       "List the sandboxes"),
    Route("deleteSandboxes",     "DELETE", "/_mock/sandboxes",                      "host",     sandboxes.delete_sandboxes,       "unlocked",  None,                200,  None,                       "End the sandboxes that have a label"),
    Route("deleteSandbox",       "DELETE", "/_mock/sandboxes/{id}",                 "host",     sandboxes.delete_sandbox,         "unlocked",  None,                204,  None,                       "End a sandbox"),
    Route("reset",               "POST",   "/_mock/reset",                          "sandbox",  sandboxes.reset,                  "locked",    None,                204,  None,                       "Take the sandbox back to its initial state"),
    Route("readClock",           "GET",    "/_mock/clock",                          "sandbox",  sandboxes.read_clock,             "locked",    None,                200,  None,                       "Read the clock"),
    Route("setClock",            "PUT",    "/_mock/clock",                          "sandbox",  sandboxes.set_clock,              "delivered", "set_clock",         200,  "control.setClock",         "Freeze the clock or let it follow"),
    Route("advanceClock",        "POST",   "/_mock/clock/advance",                  "sandbox",  sandboxes.advance_clock,          "unlocked",  "advance",           200,  "control.advanceClock",     "Let time pass"),
    Route("readChoices",         "GET",    "/_mock/choices",                        "sandbox",  sandboxes.read_choices,           "locked",    None,                200,  None,                       "List the choices"),
    Route("choose",              "PATCH",  "/_mock/choices",                        "sandbox",  sandboxes.choose,                 "locked",    "choose",            200,  "control.choose",           "Set choices"),
    Route("readTrackedChoices",  "GET",    "/_mock/choices/watch",                  "sandbox",  reports.read_tracked_choices,     "locked",    None,                200,  None,                       "List the choices that were read since tracking began"),
    Route("trackChoices",        "POST",   "/_mock/choices/watch",                  "sandbox",  reports.track_choices,            "locked",    None,                204,  None,                       "Begin to record which choices are read"),
    Route("listScenarios",       "GET",    "/_mock/scenarios",                      "sandbox",  scenarios.list_scenarios,         "locked",    None,                200,  None,                       "List the scenario library"),
    Route("readScenario",        "GET",    "/_mock/scenarios/{name}",               "sandbox",  scenarios.read_scenario,          "unlocked",  None,                200,  None,                       "The document of a library scenario"),
    Route("applyScenario",       "POST",   "/_mock/scenarios",                      "sandbox",  scenarios.apply_scenario,         "locked",    "apply_scenario",    201,  "control.applyScenario",    "Apply a scenario"),
    Route("listRules",           "GET",    "/_mock/rules",                          "sandbox",  scenarios.list_rules,             "locked",    None,                200,  None,                       "List the rules in force"),
    Route("addRules",            "POST",   "/_mock/rules",                          "sandbox",  scenarios.add_rules,              "locked",    "add_rules",         201,  "control.addRules",         "Add a rule or several"),
    Route("removeRules",         "DELETE", "/_mock/rules",                          "sandbox",  scenarios.remove_rules,           "locked",    "remove_rules",      204,  None,                       "End all rules"),
    Route("removeRule",          "DELETE", "/_mock/rules/{id}",                     "sandbox",  scenarios.remove_rules,           "locked",    "remove_rules",      204,  None,                       "End a rule"),
    Route("readTenant",          "GET",    "/_mock/tenants/{id}",                   "sandbox",  sandboxes.read_tenant,            "locked",    None,                200,  None,                       "Read a tenant's settings"),
    Route("setTenant",           "PATCH",  "/_mock/tenants/{id}",                   "sandbox",  sandboxes.set_tenant,             "locked",    "set_tenant",        200,  "control.setTenant",        "Change a tenant's settings"),
    Route("readState",           "GET",    "/_mock/state",                          "sandbox",  sandboxes.read_state,             "snapshot",  None,                200,  None,                       "Read the sandbox's state as JSON"),
    Route("createCheckpoint",    "POST",   "/_mock/checkpoints",                    "sandbox",  sandboxes.create_checkpoint,      "locked",    None,                201,  "control.createCheckpoint", "Store the state"),
    Route("listCheckpoints",     "GET",    "/_mock/checkpoints",                    "sandbox",  sandboxes.list_checkpoints,       "locked",    None,                200,  None,                       "List the stored states that have a label"),
    Route("restoreCheckpoint",   "POST",   "/_mock/checkpoints/{id}/restore",       "sandbox",  sandboxes.restore_checkpoint,     "locked",    None,                204,  None,                       "Restore a stored state"),
    Route("readJournal",         "GET",    "/_mock/journal",                        "sandbox",  sandboxes.read_journal,           "snapshot",  None,                200,  None,                       "Exchanges and transitions so far"),
    Route("verifyJournal",       "POST",   "/_mock/journal/verify",                 "sandbox",  sandboxes.verify_journal,         "locked",    None,                200,  "control.verifyJournal",    "Count the calls of an operation"),
    Route("readHistory",         "GET",    "/_mock/steps",                          "sandbox",  reports.read_history,             "snapshot",  None,                200,  None,                       "Commands so far, calls that wait, and the next due timer"),
    Route("readReplay",          "GET",    "/_mock/replay",                         "sandbox",  reports.read_replay,              "snapshot",  None,                200,  None,                       "The document that repeats the run"),
    Route("readHar",             "GET",    "/_mock/har",                            "sandbox",  reports.read_har,                 "snapshot",  None,                200,  None,                       "Calls and deliveries as a HAR 1.2"),
    Route("readReport",          "GET",    "/_mock/report",                         "sandbox",  reports.read_report,              "snapshot",  None,                200,  None,                       "The most likely cause of a failure, and everything that happened", REPORT_TYPES),
    Route("keepReport",          "POST",   "/_mock/report",                         "sandbox",  reports.keep_report,              "snapshot",  None,                200,  None,                       "The report of a failed test, whose files a server with a folder for them keeps", REPORT_TYPES),
    Route("readLedger",          "GET",    "/_mock/ledger",                         "sandbox",  reports.read_ledger,              "snapshot",  None,                200,  None,                       "The side effects of the calls so far"),
    Route("readConduct",         "GET",    "/_mock/conduct",                        "sandbox",  reports.read_conduct,             "snapshot",  None,                200,  None,                       "Findings on the client's conduct"),
    Route("readCheck",           "GET",    "/_mock/check",                          "sandbox",  reports.read_check,               "snapshot",  None,                200,  None,                       "What fails a test at its end"),
    Route("readCoverage",        "GET",    "/_mock/coverage",                       "sandbox",  reports.read_coverage,            "locked",    None,                200,  None,                       "What the calls so far have covered of the contract"),
    Route("completeSession",     "POST",   "/_mock/sessions/{sessionId}/complete",  "sandbox",  records.complete_session,         "delivered", "complete_session",  200,  "control.completeSession",  "The end user finishes the flow"),
    Route("failSession",         "POST",   "/_mock/sessions/{sessionId}/fail",      "sandbox",  records.fail_session,             "delivered", "fail_session",      200,  "control.failSession",      "The connection fails"),
    Route("cancelSession",       "POST",   "/_mock/sessions/{sessionId}/cancel",    "sandbox",  records.cancel_session,           "delivered", "cancel_session",    200,  None,                       "The end user cancels"),
    Route("expireSession",       "POST",   "/_mock/sessions/{sessionId}/expire",    "sandbox",  records.expire_session,           "delivered", "expire_session",    200,  None,                       "The session expires now"),
    Route("failCampaign",        "POST",   "/_mock/campaigns/{id}/fail",            "sandbox",  records.fail_campaign,            "locked",    "fail_campaign",     200,  None,                       "A running campaign fails"),
    Route("readEvents",          "GET",    "/_mock/events",                         "sandbox",  sandboxes.read_events,            "locked",    None,                200,  None,                       "The events so far"),
    Route("readEvent",           "GET",    "/_mock/events/{id}",                    "sandbox",  webhooks.read_event,              "locked",    None,                200,  None,                       "An event with the requests of its deliveries"),
    Route("redeliverEvent",      "POST",   "/_mock/events/{id}/redeliver",          "sandbox",  webhooks.redeliver,               "unlocked",  "redeliver",         200,  None,                       "Send an event again"),
    Route("createWebhook",       "POST",   "/_mock/webhooks",                       "sandbox",  webhooks.create_webhook,          "delivered", "create_webhook",    201,  "control.createWebhook",    "Register an endpoint"),
    Route("recoverWebhook",      "POST",   "/_mock/webhooks/{id}/recover",          "sandbox",  webhooks.recover,                 "delivered", "recover",           200,  None,                       "Send an endpoint all abandoned events again"),
    Route("rotateWebhook",       "POST",   "/_mock/webhooks/{id}/rotate",           "sandbox",  webhooks.rotate,                  "locked",    "rotate",            200,  "control.rotateWebhook",    "Give an endpoint a new secret"),
    Route("readOpenapi",         "GET",    "/_mock/openapi.json",                   "sandbox",  _document("json"),                "unlocked",  None,                200,  None,                       "The OpenAPI document of either plane, as JSON", JSON_TYPES),
    Route("readOpenapiYaml",     "GET",    "/_mock/openapi.yaml",                   "sandbox",  _document("yaml"),                "unlocked",  None,                200,  None,                       "The OpenAPI document of either plane, as YAML", YAML_TYPES),
    Route("readDocs",            "GET",    "/_mock/docs",                           "sandbox",  _document("html"),                "unlocked",  None,                200,  None,                       "The OpenAPI document of either plane, as a page", HTML_TYPES, PAGE_HEADERS),
    Route("readDocsScript",      "GET",    "/_mock/docs/script.js",                 "sandbox",  _read_docs_script,                "unlocked",  None,                200,  None,                       "The script of that page", SCRIPT_TYPES, ASSET_HEADERS),
    Route("readStream",          "GET",    "/_mock/stream",                         "sandbox",  stream.read_stream,               "unlocked",  None,                200,  None,                       "Calls, changes and deliveries as they happen", stream.STREAM_TYPES),
    Route("readMetrics",         "GET",    "/_mock/metrics",                        "host",     metrics.read_metrics,             "unlocked",  None,                200,  None,                       "The server's figures in the text format of Prometheus", TEXT_TYPES),
    Route("readSample",          "GET",    "/_mock/samples",                        "sandbox",  calls.read_sample,                "unlocked",  None,                200,  None,                       "A small file of a media type that uploads accept"),
    Route("sendCall",            "POST",   "/_mock/calls",                          "sandbox",  calls.send_call,                  "unlocked",  None,                200,  "control.sendCall",         "Call the API, with waits by the sandbox's clock"),
)
# fmt: on
COMMANDS: Mapping[str, Route] = MappingProxyType({route.id: route for route in ROUTES})
# The paths of the commands that concern the whole server begin with one of these.
SERVER_PATHS: tuple[str, ...] = tuple({route.path.partition("/{")[0]: 0 for route in ROUTES if route.target == "host"})
# The parameters of queries by command; a command that waits for deliveries also has `wait`.
QUERIES: Mapping[CommandId, tuple[str, ...]] = MappingProxyType(
    {
        "readState": ("chats", "chatsFrom"),
        "readJournal": ("operation", "status", "text", "since", "before", "limit", "last"),
        "readReplay": ("name",),
        "readReport": ("failure",),
        "keepReport": ("failure", "name"),
        "deleteSandbox": ("failed", "name", "failure"),
        "readCheck": ("conduct",),
        "readOpenapi": ("plane", "profile", "openapi"),
        "readOpenapiYaml": ("plane", "profile", "openapi"),
        "readDocs": ("plane", "profile"),
        "readStream": ("since",),
        "readSample": ("type",),
        "listSandboxes": ("label",),
        "deleteSandboxes": ("label",),
    }
)
UNDO_HEADER = (
    "x-mock-undo"  # a label, percent-encoded: the state before the command is stored under it, unless it is refused
)
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
    vary: tuple[tuple[str, str], ...] = ()
    try:
        route, params = _match(request)
        access.check_command(host, hosted, request, route.id, params)
        vary = (("Vary", "Accept"),) if route.media_types else ()
        media_type = accepted_type(request.headers.get("accept", ""), route.media_types)
        origin = request.base_url.removesuffix(hosted.prefix) if hosted is not None else request.base_url
        addressed = sandboxes.AddressedHost(host, origin)
        query = _query(route, request)
        wait = query.pop("wait", "true")
        if wait not in ("true", "false"):
            hint = closest_match_hint(wait, ("true", "false"))
            raise ControlError("MOCK_BAD_QUERY", f"wait: got {brief(wait, 100)!r}; expected true or false{hint}")
        arguments = {**params, **query, **_body(route, request), **params}
        label = request.headers.get(UNDO_HEADER)
        before = None
        if hosted is not None and label is not None:
            before = hosted.run_command(lambda hosted, _: hosted.sandbox.checkpoint(), {})
        result = _run(addressed, hosted, route, arguments, wait == "true")
        if hosted is not None and before is not None:
            with hosted.sandbox.lock:
                hosted.checkpoints.add(before, unquote(label or "")[:_LABEL_MAX_CHARS])
        return _response(route, media_type, result, vary)
    except ControlError as refusal:
        body = _without_secrets(host, hosted, refusal.as_json())
        return _json_response(refusal.status, body, (*refusal.headers, *vary))
    except Exception as failure:  # noqa: BLE001 - a bug of the mock has a JSON error too
        log_failure("unexpected failure in the control plane", _redactor(host, hosted))
        message = f"the mock failed: {type(failure).__name__}; its log has the traceback"
        bug = ControlError("MOCK_INTERNAL_ERROR", message)
        return _json_response(bug.status, bug.as_json(), vary)


def _without_secrets(host: SandboxHost, hosted: HostedSandbox | None, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an error, which quotes the request, with the sandbox's secrets and the server's token masked."""
    hidden: dict[str, Any] = _redactor(host, hosted).value(body)
    return hidden


def _redactor(host: SandboxHost, hosted: HostedSandbox | None) -> Redactor:
    return Redactor(host.tokens()) if hosted is None else redactor(hosted.sandbox)


def _run(
    addressed: sandboxes.AddressedHost, hosted: HostedSandbox | None, route: Route, args: Mapping[str, Any], waits: bool
) -> Any:
    if route.target == "host":
        check_own_port(hosted, route.id)
        return route.handler(addressed, args)
    if hosted is None:
        raise ControlError(
            "MOCK_NOT_FOUND",
            "this server has no default sandbox; create one with POST /_mock/sandboxes and use its baseUrl",
        )
    # What contains the sandbox's address has it as the client has written it.
    has_address = route.media_types or route.id == "sendCall"
    handler = partial(route.handler, base_url=addressed.base_url(hosted)) if has_address else route.handler
    return hosted.run_command(handler, args, phase=route.phase, recorded=route.recorded, waits=waits)


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


def _response(route: Route, media_type: str | None, result: Any, vary: tuple[tuple[str, str], ...]) -> HttpResponse:
    """Return the result of a command under the media type that was negotiated, None for JSON alone; a file as it is."""
    if isinstance(result, HttpResponse):
        return result
    if media_type is None or (media_type == "application/json" and not isinstance(result, str | bytes)):
        return _json_response(route.status, result, vary)
    text = result if isinstance(result, str | bytes) else result["text"]
    # What is no page of the mock's own may contain any text of a client, and a browser must not take it for a page.
    headers = (*vary, *(route.headers or SANDBOX))
    own = (("Content-Type", f"{media_type}; charset=utf-8"), ("Cache-Control", "no-store"), *headers)
    return HttpResponse(route.status, own, text if isinstance(text, bytes) else text.encode())


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
    expected = "one of the control plane, which /_mock/docs?plane=control lists"
    raise ControlError("MOCK_NOT_FOUND", f"path: got {path}; expected {expected}{hint}")


def query_names(route: Route) -> tuple[str, ...]:
    """Return the parameters that the query of a command may have."""
    return (*QUERIES.get(route.id, ()), *(("wait",) if route.phase == "delivered" else ()))


def _query(route: Route, request: HttpRequest) -> dict[str, str]:
    if route.id == "readHealth":  # probes add parameters of their own, such as one against caches
        return {}
    query = stream.stream_arguments(request) if route.id == "readStream" else query_of(request)
    known = query_names(route)
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
    return hosted.run_command(route.handler, arguments, phase=route.phase, recorded=route.recorded)


def check_body(schema: str, body: Any) -> None:
    """Check a body against its schema; ControlError with every problem and the nearest names."""
    if not schemas.is_valid(schema, body):
        problems = explained(schema, body)[:10]
        raise ControlError("MOCK_BAD_BODY", f"the body does not fit: {problems[0]}", problems)
