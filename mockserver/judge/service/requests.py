"""What the service must refuse or accept: bodies, filters, variables and platforms, by the other answers of the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from mockserver.contract import schemas
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS
from mockserver.contract.filters import FIELDS, OPERATORS, FieldType, statements
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.text import whole_number
from mockserver.judge.service.evidence import Rows, before, ends, is_refused, shown_around, shown_of
from mockserver.judge.service.verdicts import TENANTS, UNCHANGED, ClauseCheck, Excused, Found, Kept, breach, judged
from mockserver.trace.exchange import Exchange
from mockserver.trace.recorded import names_tenant
from mockserver.trace.sightings import Sighting, first_text, objects_of, rows_of, sent, sighted, variables_of
from mockserver.trace.trace import Trace

_TABLES: Final = "the service's own filter schema has the fields and operators of the document"
_NO_KEY: Final = "the recorder, which has the keys of other calls, left out none"
_CREATIONS: Final = ("createCampaign", "createConnectionSession", "startCampaign")
_NOT_FOUND: Final = ("MESSAGE_TEMPLATE_NOT_FOUND", "CAMPAIGN_TEMPLATE_NOT_FOUND")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# Refusals of a cancel that are not about the campaign's state.
_OF_ANY_CANCEL: Final = frozenset((*COMMON_ERRORS, "CAMPAIGN_NOT_FOUND", "VALIDATION_ERROR"))
_INVALID_FILTERS: Final = ("CAMPAIGN_INVALID_FILTERS", "PLATFORM_UNSUPPORTED")
# Clauses that every body of an operation is compared with, besides those of its fields.
_OF_BODIES: Final[Mapping[str, frozenset[str]]] = {
    "createCampaign": frozenset(("campaigns.validation",)),
    "createConnectionSession": frozenset(("session.no-extra",)),
}


def keys(trace: Trace) -> Found:
    """A call without a key is not accepted, nor one with a public key but that which reads a form."""
    keyed_sources = {call.source for call in trace.exchanges if names_tenant(call.key)}
    for call in trace.calls:
        if not (call.succeeded or is_refused(call)):
            continue
        answer, is_kept = f"answered with {call.status}", not call.succeeded
        if call.key is None and call.source in keyed_sources:
            yield judged("auth.header", is_kept, ("a call without a key", answer), call, assumption=_NO_KEY)
        if (call.key or "").startswith("pk_") and ENDPOINTS[call.operation or ""].keys == "secret":
            yield judged("auth.secret-only", is_kept, ("a call with a public key", answer), call)


def bodies(trace: Trace) -> Found:
    """A body that fails its schema is not accepted."""
    for call in trace.of(*_CREATIONS):
        operation, body = call.operation or "", sent(call)
        if not call.succeeded or body is None:
            continue
        wrong = dict(_problems(operation, body))
        for clause in sorted(_clauses_of(operation) | wrong.keys()):
            values = wrong.get(clause, ""), f"answered with {call.status}"
            yield judged(clause, clause not in wrong, values, call)


def _clauses_of(operation: str) -> frozenset[str]:
    """Return the clauses that every body of an operation is compared with."""
    of_fields = {clause for _, clause in ENDPOINTS[operation].field_clauses}
    return _OF_BODIES.get(operation, frozenset()) | of_fields - {"audience.same-filters"}


def _problems(operation: str, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the clause and the place of each part of a body that every option of every choice refuses."""
    endpoint = ENDPOINTS[operation]
    for problem in schemas.check(f"{operation}.request", body):
        field = problem.pointer.split("/")[1] if problem.pointer else ""
        is_open = problem.found is None or field == "filters"  # null-for-optional; filters have checks of their own
        is_default = field == "platform" and problem.found is schemas.ABSENT  # platform-required
        if is_open or is_default:
            continue
        if problem.keyword == "additionalProperties":
            if endpoint.creates == "session":
                yield "session.no-extra", f"got the unknown property {field}"
            continue  # unknown-body-keys
        place = f"got {problem.pointer or 'the body'}; expected {problem.wanted}"
        yield endpoint.clause_of(field), place
        if endpoint.creates == "campaign":
            yield "campaigns.validation", place
    url = body.get("returnUrl")
    if endpoint.creates == "session" and isinstance(url, str) and not _is_return_url(url):
        yield "session.return-url", "got a returnUrl; expected https, without user or password"


def _is_return_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_loopback = parts.scheme == "http" and parts.hostname in _LOOPBACK  # return-url-scheme
    return (parts.scheme == "https" or is_loopback) and "@" not in parts.netloc


def filters(trace: Trace) -> Found:
    """An operator of another type and a value of another type are refused, by preview and creation alike."""
    outcomes: dict[str, Exchange] = {}
    for call in (*trace.of("previewAudience"), *trace.of("createCampaign")):
        groups = call.sent.get("filters")
        if not isinstance(groups, list) or not (call.succeeded or call.code in _INVALID_FILTERS):
            continue
        if call.succeeded:
            yield from _accepted_filters(call, groups)
        first = outcomes.setdefault(json.dumps(groups, sort_keys=True), call)
        is_same = first.succeeded == call.succeeded
        values = _outcome(first), _outcome(call)
        yield judged("audience.same-filters", is_same, values, first, call, record=f"#{call.number}")


def _outcome(call: Exchange) -> str:
    return f"{call.operation} answered {call.code or call.status}"


def _accepted_filters(call: Exchange, groups: Sequence[Any]) -> Found:
    names = {name for operators in OPERATORS.values() for name in operators}
    answer = f"answered with {call.status}"
    for row in statements(groups):
        field, name = FIELDS.get(str(row.get("field"))), row.get("operator")
        if field is None or not isinstance(name, str) or name not in names:
            continue
        operator = OPERATORS[field.type].get(name)
        values = f"the operator {name} of the field {field.name}", answer
        yield judged("filters.operators", operator is not None, values, call, assumption=_TABLES)
        if operator is None or operator.operand == "none" or "value" not in row:
            continue
        operands = row["value"] if operator.operand == "list" else [row["value"]]
        fits = isinstance(operands, list) and all(_fits(field.type, value) for value in operands)
        values = f"a value of another type than {field.type} for {field.name} {name}", answer
        yield judged("filters.types", fits, values, call, assumption=_TABLES)


def _fits(kind: FieldType, value: Any) -> bool:
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, bool if kind == "boolean" else str)


def catalog(trace: Trace) -> Found:
    """The service's own filter schema has the documented fields and operators, in whatever shape."""
    names = [*FIELDS, *dict.fromkeys(name for operators in OPERATORS.values() for name in operators)]
    for call in trace.of("readFilterSchema"):
        if call.succeeded and call.response_body:
            text = call.response_body.decode("utf-8", "replace")
            missing = next((name for name in names if f'"{name}"' not in text), None)
            yield judged("filters.schema", missing is None, ("a filter schema", f"without {missing}"), call, record="")


def platforms(trace: Trace) -> Found:
    """An official template is refused with chatapp_lite alone, and a template that is there is not unknown."""
    for call in trace.of("createCampaign"):
        rows = shown_of(trace, "template", call.sent.get("templateId"))
        yield from _platform(call, [row for row in rows if "isOfficial" in row.shown])
        yield from _unknown("campaigns.template", call, rows)
    for call in trace.of("readTemplate"):
        yield from _unknown("templates.unknown", call, shown_of(trace, "template", call.params.get("id")))


def _platform(call: Exchange, rows: Rows) -> Found:
    """Compare the answer to a creation with what shows whether its template is official, before and after it."""
    clause, platform = "campaigns.template-mismatch", call.sent.get("platform")
    is_mismatch = call.code == "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH"
    shown = shown_around(call, rows)
    if is_mismatch and platform in ("chatapp", "photoapp"):
        yield breach(clause, (f"platform {platform}", f"refused with {call.code}"), call)
    elif shown is not None and platform == "chatapp_lite" and (call.succeeded or is_mismatch):
        was, is_official = (row.shown["isOfficial"] is True for row in shown)
        values = f"isOfficial {was} before and after", f"with chatapp_lite {_answered(call)}"
        is_kept = was != is_official or is_mismatch == was
        yield judged(clause, is_kept, values, shown[0], call, assumption=UNCHANGED, record=f"#{call.number}")


def _answered(call: Exchange) -> str:
    return f"answered {call.code or call.status}"


def _unknown(clause: str, call: Exchange, rows: Rows) -> Found:
    """Compare the refusal of an unknown template with answers before and after it that show the template."""
    if call.code not in _NOT_FOUND:
        return
    shown = shown_around(call, rows)
    if shown is None:
        yield Kept(clause)
    else:
        values = f"refused with {call.code}", f"{shown[1].id} is there before and after it"
        yield breach(clause, values, call, shown[1], assumption=UNCHANGED)


def variables(trace: Trace) -> Found:
    """A start without a required variable is refused, and one with all of them is not refused for them."""
    for call in trace.of("startCampaign"):
        shown, body = shown_around(call, _template_reads(trace, call)), sent(call)
        if shown is None or body is None or _required(shown[0]) != _required(shown[1]):
            continue
        required, given = _required(shown[0]), body.get("commonVariables")
        given = given if isinstance(given, dict) else {}
        if call.succeeded:
            is_kept = all(key in given for key in required)
        elif call.code == "CAMPAIGN_MISSING_COMMON_VARIABLES":
            is_kept = not all(given.get(key) for key in required)  # an empty text may count as missing
        else:
            continue
        values = (
            f"required {', '.join(required) or 'none'}",
            f"sent {', '.join(given) or 'none'}, {_answered(call)}",
        )
        record = f"#{call.number}"
        yield judged("start.missing-variables", is_kept, values, shown[0], call, assumption=UNCHANGED, record=record)


def _template_reads(trace: Trace, start: Exchange) -> list[Sighting]:
    """Return what reads show of the template of the campaign that a call starts."""
    id = first_text(shown_of(trace, "campaign", start.params.get("id")), "templateId")
    return [row for row in shown_of(trace, "template", id) if row.how == "read"]


def _required(detail: Sighting) -> list[str]:
    """Return the keys of the required variables of a template."""
    return [key for key, is_required in variables_of(detail.shown).items() if is_required]


def templates(trace: Trace) -> Found:
    """The items of a template are in order from 0, and its variables are called varN, each once."""
    for rows in sighted(trace, "template").values():
        for row in rows:
            if row.how == "read":
                yield from _template(row)


def _template(row: Sighting) -> Found:
    orders = [item.get("order") for item in rows_of(row.shown, "items")]
    if orders and all(type(order) is int for order in orders):
        is_kept = 0 in orders and len(orders) == len({*orders})
        yield judged("templates.items", is_kept, ("an order from 0 on", f"orders {orders}"), row)
    keys = [variable.get("key") for variable in objects_of(row.shown, "commonVariables")]
    for key in keys:
        prefix, number = str(key)[:3], str(key)[3:]
        is_key = prefix == "var" and whole_number(number) is not None and not number.startswith("0")
        values = f"the variable {key}", "expected var1, var2 ..."
        yield judged("templates.common-variables", is_key and keys.count(key) == 1, values, row)


def cancels(trace: Trace) -> Found:
    """A cancel takes no body; the cancel of a draft or of an ended campaign is refused, if at all, by the codes of choices."""
    for call in trace.of("cancelCampaign"):
        answer = _answered(call)
        if call.request_body == b"":
            yield judged("cancel.no-body", call.code != "VALIDATION_ERROR", ("a cancel without a body", answer), call)
        if call.code in _OF_ANY_CANCEL or not (call.succeeded or is_refused(call)):
            continue
        rows = shown_of(trace, "campaign", call.params.get("id"))
        yield from _cancel_of_draft(call, rows)
        ended = before(ends(rows, CAMPAIGN), call)
        if ended is not None:
            is_kept = call.succeeded or call.code in ("UNPROCESSABLE_REQUEST", "CAMPAIGN_NOT_DRAFT")
            values = f"status {ended.status}", answer
            yield judged("cancel.final", is_kept, values, ended, call, record=f"#{call.number}")


def _cancel_of_draft(call: Exchange, rows: Rows) -> Found:
    drafts = [row for row in rows if row.status == CAMPAIGN.initial]
    if call.succeeded and all(row.status in (None, "draft", "canceled") for row in rows):
        yield Kept("cancel.draft")
    elif shown_around(call, drafts) is not None:
        is_kept, values = call.code == "UNPROCESSABLE_REQUEST", ("a draft before and after", _answered(call))
        yield judged("cancel.draft", is_kept, values, drafts[0], call, record=f"#{call.number}")
        yield Excused("cancel.draft", "cancel-draft")


# fmt: off
CHECKS: Final = (
    ClauseCheck(("auth.header", "auth.secret-only"), keys, scope="trace"),
    ClauseCheck(tuple(clause for operation in _CREATIONS for clause in _clauses_of(operation)), bodies),
    ClauseCheck(("filters.operators", "filters.types", "audience.same-filters"), filters),
    ClauseCheck(("filters.schema",), catalog),
    ClauseCheck(("campaigns.template-mismatch", "campaigns.template", "templates.unknown"), platforms, needs=TENANTS),
    ClauseCheck(("start.missing-variables",), variables),
    ClauseCheck(("templates.items", "templates.common-variables"), templates),
    ClauseCheck(("cancel.no-body", "cancel.draft", "cancel.final"), cancels),
    ClauseCheck(("base.prefix",), unshown="calls of other paths are left out"),
    ClauseCheck(("auth.unknown", "auth.any-secret-key", "auth.denied"), unshown="a recording does not show to whom a key belongs, and recorders mask keys"),
    ClauseCheck(("auth.developers-disabled",), unshown="a recording does not show the settings of a tenant"),
    ClauseCheck(("filters.groups-and", "filters.combinator", "filters.no-value", "filters.value2", "filters.dates", "filters.semantics", "audience.all", "audience.platform-free"), unshown="a recording does not show the chats of an audience"),
    ClauseCheck(("media.audio-single", "media.empty", "media.too-many", "media.too-large", "media.format"), unshown="the limits and accepted types are not documented, and recorders leave out the contents of files"),
    ClauseCheck(("base.invalid-request", "base.input", "auth.public-elsewhere", "auth.precedence", "templates.status"), unshown="the document leaves it open"),
    ClauseCheck(("base.unknown-path",), unshown="the service may have calls that the document does not contain"),
    ClauseCheck(("filters.fields", "filters.platform-values", "filters.invalid"), unshown="the filter schema of the service is the authority, and its shape is not documented"),
    ClauseCheck(("templates.automatic",), unshown="the API does not show which placeholders are automatic"),
    ClauseCheck(("templates.varn",), unshown="a variable may be one that no text uses"),
    ClauseCheck(("start.size",), unshown="the volume of a platform is not documented"),
)
# fmt: on
