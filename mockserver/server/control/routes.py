"""
The control plane: `/_mock/...` as a table of routes over the commands.

Bodies are held to `schemas/control.*.json`; a refusal says where, what came, what was wanted, and the nearest name.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from mockserver.contract import schemas
from mockserver.contract.text import nearest_hint
from mockserver.core.operations.validation import parse_json
from mockserver.core.state.calls import ApiError
from mockserver.scenario.explaining import explained
from mockserver.server.api import formats
from mockserver.server.api.formats import encoded
from mockserver.server.api.request import HttpRequest
from mockserver.server.api.response import HttpResponse, redactor
from mockserver.server.control import records, reports, sandboxes, scenarios, webhooks
from mockserver.server.errors import ControlError
from mockserver.server.hosting import command_log
from mockserver.server.hosting.host import HostedSandbox, SandboxHost

_LOG = logging.getLogger("mockserver")

Command = Callable[[HostedSandbox, Mapping[str, Any]], Any]


class Route(NamedTuple):
    """One call of the control plane; `of` says whether it speaks to the host or to the sandbox of the prefix."""

    method: str
    path: str
    target: str
    command: Any
    status: int
    schema: str | None
    summary: str


# fmt: off
ROUTES: tuple[Route, ...] = (
    #     method    path                                  of         command                      status  body schema                 what it does
    Route("GET",    "/_mock/health",                      "host",    sandboxes.health,            200, None,                          "Whether the server runs, and its version"),
    Route("POST",   "/_mock/sandboxes",                   "host",    sandboxes.create_sandbox,    201, "control.createSandbox",       "Make a fresh sandbox"),
    Route("GET",    "/_mock/sandboxes",                   "host",    sandboxes.list_sandboxes,    200, None,                          "List the sandboxes"),
    Route("DELETE", "/_mock/sandboxes/{id}",              "host",    sandboxes.delete_sandbox,    204, None,                          "End a sandbox"),
    Route("POST",   "/_mock/reset",                       "sandbox", sandboxes.reset,              204, None,                          "Take the sandbox back to its birth"),
    Route("GET",    "/_mock/clock",                       "sandbox", sandboxes.read_clock,         200, None,                          "Read the clock"),
    Route("PUT",    "/_mock/clock",                       "sandbox", sandboxes.set_clock,          200, "control.setClock",            "Freeze the clock or let it follow"),
    Route("POST",   "/_mock/clock/advance",               "sandbox", sandboxes.advance,            200, "control.advanceClock",        "Let time pass"),
    Route("GET",    "/_mock/choices",                     "sandbox", sandboxes.read_choices,       200, None,                          "List the choices"),
    Route("PATCH",  "/_mock/choices",                     "sandbox", sandboxes.choose,             200, "control.choose",              "Set choices"),
    Route("GET",    "/_mock/choices/watch",               "sandbox", reports.read_watched,      200, None,                          "The choices that were read since they are watched"),
    Route("POST",   "/_mock/choices/watch",               "sandbox", reports.watch_choices,     204, None,                          "Remember which choices are read"),
    Route("GET",    "/_mock/scenarios",                   "sandbox", scenarios.list_scenarios,      200, None,                          "List the scenario library"),
    Route("POST",   "/_mock/scenarios",                   "sandbox", scenarios.apply_scenario,      201, "control.applyScenario",       "Apply a scenario"),
    Route("GET",    "/_mock/rules",                       "sandbox", scenarios.list_rules,          200, None,                          "List the rules in force"),
    Route("DELETE", "/_mock/rules",                       "sandbox", scenarios.remove_rules,        204, None,                          "End all rules"),
    Route("DELETE", "/_mock/rules/{id}",                  "sandbox", scenarios.remove_rules,        204, None,                          "End a rule"),
    Route("GET",    "/_mock/tenants/{id}",                "sandbox", sandboxes.read_tenant,        200, None,                          "Read a tenant's settings"),
    Route("PATCH",  "/_mock/tenants/{id}",                "sandbox", sandboxes.set_tenant,         200, "control.setTenant",           "Change a tenant's settings"),
    Route("GET",    "/_mock/state",                       "sandbox", sandboxes.read_state,         200, None,                          "The sandbox's world as JSON"),
    Route("POST",   "/_mock/checkpoints",                 "sandbox", sandboxes.make_checkpoint,    201, None,                          "Keep the state"),
    Route("POST",   "/_mock/checkpoints/{id}/restore",    "sandbox", sandboxes.restore_checkpoint, 204, None,                          "Restore a kept state"),
    Route("GET",    "/_mock/journal",                     "sandbox", sandboxes.read_journal,       200, None,                          "Exchanges and transitions so far"),
    Route("POST",   "/_mock/journal/verify",              "sandbox", sandboxes.verify_journal,     200, "control.verifyJournal",       "Count the calls of an operation"),
    Route("GET",    "/_mock/steps",                       "sandbox", reports.read_steps,        200, None,                          "What was done beside the API, what waits, what is due"),
    Route("GET",    "/_mock/replay",                      "sandbox", reports.read_replay,       200, None,                          "The document that repeats the run"),
    Route("GET",    "/_mock/ledger",                      "sandbox", reports.read_ledger,         200, None,                          "What the calls so far have caused"),
    Route("GET",    "/_mock/conduct",                     "sandbox", reports.read_conduct,        200, None,                          "What the client did against the document's advice"),
    Route("POST",   "/_mock/sessions/{sessionId}/complete", "sandbox", records.complete_session, 200, "control.completeSession",     "The end user finishes the flow"),
    Route("POST",   "/_mock/sessions/{sessionId}/fail",   "sandbox", records.fail_session,         200, "control.failSession",         "The connection fails"),
    Route("POST",   "/_mock/sessions/{sessionId}/cancel", "sandbox", records.cancel_session,       200, None,                          "The end user cancels"),
    Route("POST",   "/_mock/sessions/{sessionId}/expire", "sandbox", records.expire_session,       200, None,                          "The session expires now"),
    Route("POST",   "/_mock/campaigns/{id}/fail",         "sandbox", records.fail_campaign,        200, None,                          "A running campaign fails"),
    Route("GET",    "/_mock/events",                      "sandbox", sandboxes.read_events,        200, None,                          "The events so far"),
    Route("POST",   "/_mock/events/{id}/redeliver",       "sandbox", webhooks.redeliver,             200, None,                          "Send an event again"),
    Route("POST",   "/_mock/webhooks/{id}/recover",       "sandbox", webhooks.recover,               200, None,                          "Send an endpoint all that was given up"),
    Route("POST",   "/_mock/webhooks/{id}/rotate",        "sandbox", webhooks.rotate,                200, "control.rotateWebhook",       "Give an endpoint a new secret"),
)
# fmt: on


def handle_control_request(host: SandboxHost, hosted: HostedSandbox | None, wire: HttpRequest) -> HttpResponse:
    """The answer to one call of the control plane, dated by the clock of its sandbox; every refusal is JSON in English."""
    answer = _served(host, hosted, wire)
    if hosted is None:
        return answer
    with hosted.sandbox.lock:  # after the command, which may have moved the clock
        date = ("Date", formats.http_date(hosted.sandbox.read_clock()))
    return answer._replace(headers=(*answer.headers, date))


def _served(host: SandboxHost, hosted: HostedSandbox | None, wire: HttpRequest) -> HttpResponse:
    try:
        _check_access(host, wire)
        route, params = _routed(wire)
        return _answer(route.status, _run(host, hosted, route, {**params, **_arguments(route, wire), **params}))
    except ControlError as refusal:
        return _answer(refusal.status, _without_secrets(hosted, refusal.as_json()), refusal.headers)
    except Exception as failure:  # noqa: BLE001 - a bug of the mock is told as one, in JSON
        _LOG.exception("unexpected failure in the control plane")
        message = f"the mock failed: {type(failure).__name__}; its log says how"
        return _answer(500, {"statusCode": 500, "code": "MOCK_INTERNAL_ERROR", "message": message})


def _without_secrets(hosted: HostedSandbox | None, body: dict[str, Any]) -> dict[str, Any]:
    """The body of a refusal, which quotes the call, without the sandbox's own keys and signing secrets."""
    if hosted is None:
        return body
    with hosted.sandbox.lock:
        hide = redactor(hosted.sandbox)
    hidden: dict[str, Any] = hide.value(body)
    return hidden


def _run(host: SandboxHost, hosted: HostedSandbox | None, route: Route, args: Mapping[str, Any]) -> Any:
    if route.target == "host":
        if hosted is not None and hosted.own_origin is not None and route.command is not sandboxes.health:
            told = f"this port belongs to {hosted.id} alone; other sandboxes are made, listed and ended at the server's own address"
            raise ControlError(409, "MOCK_OWN_PORT", told)
        return route.command(host, args)
    if hosted is None:
        raise ControlError(
            404,
            "MOCK_NOT_FOUND",
            "this server has no default sandbox; make one with POST /_mock/sandboxes and use its baseUrl",
        )
    return hosted.run_command(route.command, args, command_log.command_name(route.method, route.command))


def _answer(status: int, body: Any, headers: tuple[tuple[str, str], ...] = ()) -> HttpResponse:
    if status == 204:
        return HttpResponse(204, (("Cache-Control", "no-store"),), b"")
    kinds = (("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-store"))
    return HttpResponse(status, (*kinds, *headers), encoded(body))


def _routed(wire: HttpRequest) -> tuple[Route, dict[str, str]]:
    parts = wire.target.partition("?")[0].split("/")
    methods = []
    for route in ROUTES:
        template = route.path.split("/")
        if len(template) != len(parts) or not all(
            a == b or (a[:1] == "{" and b) for a, b in zip(template, parts, strict=True)
        ):
            continue
        if route.method == wire.method:
            return route, {a[1:-1]: unquote(b) for a, b in zip(template, parts, strict=True) if a[:1] == "{"}
        methods.append(route.method)
    path = "/".join(parts)
    if methods:
        allow = ", ".join(methods)
        raise ControlError(
            405, "MOCK_WRONG_METHOD", f"{path} takes {allow}, not {wire.method}", headers=(("Allow", allow),)
        )
    hint = nearest_hint(path, {route.path for route in ROUTES})
    raise ControlError(404, "MOCK_NOT_FOUND", f"the control plane has no {path}{hint}")


def _arguments(route: Route, wire: HttpRequest) -> Mapping[str, Any]:
    query = dict(parse_qsl(wire.target.partition("?")[2], keep_blank_values=True))
    if route.method == "GET" or route.schema is None:
        return query
    if wire.body is None:
        raise ControlError(413, "MOCK_BODY_TOO_LARGE", "the body is larger than the mock reads")
    try:
        body = parse_json(wire.body) if wire.body.strip() else {}
    except ApiError as refusal:
        raise ControlError(400, "MOCK_BAD_JSON", refusal.reason) from None
    check_body(route.schema, body)
    arguments: Mapping[str, Any] = body
    return arguments


def run_command(hosted: HostedSandbox, command: Command, arguments: Mapping[str, Any]) -> Any:
    """A command by another door than HTTP, its body held to the same schema; ids that HTTP has in the path stand beside."""
    route = next((route for route in ROUTES if route.command is command), None)
    if route is not None and route.schema is not None:
        check_body(route.schema, {key: each for key, each in arguments.items() if key not in ("id", "sessionId")})
    return hosted.run_command(command, arguments, command_log.command_name(route.method if route else "GET", command))


def check_body(schema: str, body: Any) -> None:
    """Refuse a body that does not fit its schema, with every problem and the nearest names."""
    if not schemas.is_valid(schema, body):
        shown = explained(schema, body)[:10]
        raise ControlError(400, "MOCK_BAD_BODY", f"the body does not fit: {shown[0]}", shown)


def _check_access(host: SandboxHost, wire: HttpRequest) -> None:
    """Only who speaks to this server by its own name, from no other site, and with its token where it has one."""
    if host.token is not None:
        came = wire.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(came.encode(), host.token.encode()):
            raise ControlError(
                401, "MOCK_TOKEN_WANTED", "send the token that the server printed, as Authorization: Bearer TOKEN"
            )
    name, answers = _host_name(f"//{wire.headers.get('host', '')}"), ", ".join(sorted(host.allowed_hosts))
    if (
        wire.headers.get("host") and name not in host.allowed_hosts and host.token is None
    ):  # a token stands for the name
        raise ControlError(403, "MOCK_FOREIGN_HOST", f"Host is {name!r}; the control plane answers to {answers}")
    origin = wire.headers.get("origin")
    if origin is not None and _host_name(origin) not in host.allowed_hosts:
        raise ControlError(403, "MOCK_FOREIGN_ORIGIN", "a page of another site may not call the control plane")


def _host_name(url: str) -> str:
    """The host of a url in lower case; empty where it has none, or a user beside it."""
    try:
        parts = urlsplit(url)
        return "" if "@" in parts.netloc else parts.hostname or ""
    except ValueError:
        return ""
