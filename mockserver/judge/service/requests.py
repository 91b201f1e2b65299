"""What the service must refuse or accept: bodies, filters, variables and platforms, by the other answers of the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final
from urllib.parse import urlsplit

from mockserver.contract import schemas
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, FIELD_CLAUSES
from mockserver.contract.filters import FIELDS, OPERATORS, FieldType
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.text import whole_number
from mockserver.judge.service.evidence import History, is_refused
from mockserver.judge.service.verdicts import ONE_ANSWER, UNCHANGED, Verdicts
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.order import around, precedes
from mockserver.trace.sightings import Sighting, rows_of, sent

_TABLES: Final = "the service's own filter schema has the fields and operators of the document"
_NO_KEY: Final = "the recorder, which has the keys of other calls, left out none"
_CREATIONS: Final = ("createCampaign", "createConnectionSession", "startCampaign")
_NOT_FOUND: Final = ("MESSAGE_TEMPLATE_NOT_FOUND", "CAMPAIGN_TEMPLATE_NOT_FOUND")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# Refusals of a cancel that are not about the campaign's state.
_OF_ANY_CANCEL: Final = frozenset((*COMMON_ERRORS, "CAMPAIGN_NOT_FOUND", "VALIDATION_ERROR"))
_INVALID_FILTERS: Final = ("CAMPAIGN_INVALID_FILTERS", "PLATFORM_UNSUPPORTED")


def keys(history: History, verdicts: Verdicts) -> None:
    """A call without a key is not accepted, nor one with a public key but that which reads a form."""
    for call in history.exchanges:
        endpoint = ENDPOINTS.get(call.operation or "")
        if endpoint is None or not (call.succeeded or is_refused(call)):
            continue
        answer, number = f"answered with {call.status}", f"#{call.number}"
        if call.key is None and call.source in history.keyed_sources:
            values = "a call without a key", answer
            verdicts.judge("auth.header", not call.succeeded, [call], number, values, _NO_KEY)
        if (call.key or "").startswith("pk_") and endpoint.keys == "secret":
            values = "a call with a public key", answer
            verdicts.judge("auth.secret-only", not call.succeeded, [call], number, values, ONE_ANSWER)


def bodies(history: History, verdicts: Verdicts) -> None:
    """A body that fails its schema is not accepted."""
    for operation in _CREATIONS:
        for call in history.calls(operation):
            body = sent(call)
            if call.succeeded and body is not None:
                _accepted(operation, call, body, verdicts)


def _accepted(operation: str, call: Exchange, body: Mapping[str, Any], verdicts: Verdicts) -> None:
    judged = {clause for (of, _), clause in FIELD_CLAUSES.items() if of == operation} - {"audience.same-filters"}
    wrong = dict(_problems(operation, body))
    if operation == "createCampaign":
        judged.add("campaigns.validation")
    if operation == "createConnectionSession":
        judged.add("session.no-extra")
    for clause in sorted({*judged, *wrong}):
        values = wrong.get(clause, ""), f"answered with {call.status}"
        verdicts.judge(clause, clause not in wrong, [call], f"#{call.number}", values, ONE_ANSWER)


def _problems(operation: str, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the clause and the place of each part of a body that every option of every choice refuses."""
    for problem in schemas.check(f"{operation}.request", body):
        field = problem.pointer.split("/")[1] if problem.pointer else ""
        is_open = problem.found is None or field == "filters"  # null-for-optional; filters have checks of their own
        is_default = field == "platform" and problem.found is schemas.ABSENT  # platform-required
        if is_open or is_default:
            continue
        if problem.keyword == "additionalProperties":
            if operation == "createConnectionSession":
                yield "session.no-extra", f"got the unknown property {field}"
            continue  # unknown-body-keys
        clause = FIELD_CLAUSES.get((operation, field), ENDPOINTS[operation].clause)
        place = f"got {problem.pointer or 'the body'}; expected {problem.wanted}"
        yield clause, place
        if operation == "createCampaign":
            yield "campaigns.validation", place
    url = body.get("returnUrl") if operation == "createConnectionSession" else None
    if isinstance(url, str) and not _is_return_url(url):
        yield "session.return-url", "got a returnUrl; expected https, without user or password"


def _is_return_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_loopback = parts.scheme == "http" and parts.hostname in _LOOPBACK  # return-url-scheme
    return (parts.scheme == "https" or is_loopback) and "@" not in parts.netloc


def filters(history: History, verdicts: Verdicts) -> None:
    """An operator of another type and a value of another type are refused, by preview and creation alike."""
    outcomes: dict[str, Exchange] = {}
    for operation in ("previewAudience", "createCampaign"):
        for call in history.calls(operation):
            groups = (sent(call) or {}).get("filters")
            if not isinstance(groups, list) or not (call.succeeded or call.code in _INVALID_FILTERS):
                continue
            if call.succeeded:
                _accepted_filters(call, groups, verdicts)
            first = outcomes.setdefault(json.dumps(groups, sort_keys=True), call)
            values = [f"{each.operation} answered {each.code or each.status}" for each in (first, call)]
            is_same = first.succeeded == call.succeeded
            verdicts.judge("audience.same-filters", is_same, [first, call], f"#{call.number}", (values[0], values[1]))


def _accepted_filters(call: Exchange, groups: Sequence[Any], verdicts: Verdicts) -> None:
    statements = [row for group in groups if isinstance(group, dict) for row in _dicts(group.get("statements"))]
    for row in statements:
        field = FIELDS.get(str(row.get("field")))
        if field is None:
            continue
        known, name = OPERATORS[field.type], row.get("operator")
        if not isinstance(name, str) or all(name not in operators for operators in OPERATORS.values()):
            continue
        cited, record = [call], f"#{call.number}"
        values = f"the operator {name} of the field {field.name}", f"answered with {call.status}"
        verdicts.judge("filters.operators", name in known, cited, record, values, _TABLES)
        operand = known[name].operand if name in known else "none"
        if "value" in row and operand != "none":
            operands = row["value"] if operand == "list" else [row["value"]]
            fits = isinstance(operands, list) and all(_fits(field.type, value) for value in operands)
            values = (
                f"a value of another type than {field.type} for {field.name} {name}",
                f"answered with {call.status}",
            )
            verdicts.judge("filters.types", fits, cited, record, values, _TABLES)


def _dicts(rows: Any) -> list[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _fits(kind: FieldType, value: Any) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str)


def catalog(history: History, verdicts: Verdicts) -> None:
    """The service's own filter schema has the documented fields and operators, in whatever shape."""
    names = [*FIELDS, *dict.fromkeys(name for operators in OPERATORS.values() for name in operators)]
    for call in history.calls("readFilterSchema"):
        if not call.succeeded or not call.response_body:
            continue
        text = call.response_body.decode("utf-8", "replace")
        missing = next((name for name in names if f'"{name}"' not in text), None)
        values = "a filter schema", f"without {missing}"
        verdicts.judge("filters.schema", missing is None, [call], "", values, ONE_ANSWER)


def platforms(history: History, verdicts: Verdicts) -> None:
    """An official template is refused with chatapp_lite alone, and a template that is there is not unknown."""
    for call in history.calls("createCampaign"):
        body = sent(call) or {}
        id = body.get("templateId")
        rows = history.records("template").get(id, ()) if isinstance(id, str) else ()
        _platform(call, body.get("platform"), rows, verdicts)
        _unknown("campaigns.template", call, rows, verdicts)
    for call in history.calls("readTemplate"):
        _unknown("templates.unknown", call, history.records("template").get(call.params.get("id", ""), ()), verdicts)


def _platform(call: Exchange, platform: Any, rows: Sequence[Sighting], verdicts: Verdicts) -> None:
    """Compare the answer to a creation with what shows whether its template is official, before and after it."""
    is_mismatch = call.code == "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH"
    shown = _around(call, [row for row in rows if "isOfficial" in row.shown])
    if is_mismatch and platform in ("chatapp", "photoapp"):
        values = f"platform {platform}", f"refused with {call.code}"
        verdicts.broken("campaigns.template-mismatch", [call], f"#{call.number}", values, ONE_ANSWER)
    elif shown is not None and platform == "chatapp_lite" and (call.succeeded or is_mismatch):
        before, after = (row.shown["isOfficial"] is True for row in shown)
        values = f"isOfficial {before} before and after", f"with chatapp_lite answered {call.code or call.status}"
        is_kept = before != after or is_mismatch == before
        cited = [shown[0].cited, call]
        verdicts.judge("campaigns.template-mismatch", is_kept, cited, f"#{call.number}", values, UNCHANGED)


def _around(call: Exchange, rows: Sequence[Sighting]) -> tuple[Sighting, Sighting] | None:
    """Return what was shown last before a call and first after it: a template is edited outside of the API."""
    return around(call, rows, attrgetter("cited"))


def _unknown(clause: str, call: Exchange, rows: Sequence[Sighting], verdicts: Verdicts) -> None:
    """Compare the refusal of an unknown template with answers before and after it that show the template."""
    if call.code not in _NOT_FOUND:
        return
    shown = _around(call, rows)
    if shown is None:
        verdicts.hold(clause)
        return
    values = f"refused with {call.code}", f"{shown[1].id} is there before and after it"
    verdicts.broken(clause, [call, shown[1].cited], shown[1].id, values, UNCHANGED)


def variables(history: History, verdicts: Verdicts) -> None:
    """A start without a required variable is refused, and one with all of them is not refused for them."""
    for call in history.calls("startCampaign"):
        shown, body = _around(call, _template_reads(history, call)), sent(call)
        if shown is None or body is None or _required(shown[0]) != _required(shown[1]):
            continue
        given, required = body.get("commonVariables"), _required(shown[0])
        given = given if isinstance(given, dict) else {}
        is_refused = call.code == "CAMPAIGN_MISSING_COMMON_VARIABLES"
        cited: list[Cited] = [shown[0].cited, call]
        values = (
            f"required {', '.join(required) or 'none'}",
            f"sent {', '.join(given) or 'none'}, answered {call.code or call.status}",
        )
        if call.succeeded:
            has_all = all(key in given for key in required)
            verdicts.judge("start.missing-variables", has_all, cited, f"#{call.number}", values, UNCHANGED)
        elif is_refused:
            has_all = all(given.get(key) for key in required)  # an empty text may count as missing
            verdicts.judge("start.missing-variables", not has_all, cited, f"#{call.number}", values, UNCHANGED)


def _template_reads(history: History, start: Exchange) -> list[Sighting]:
    """Return what reads show of the template of the campaign that a call starts."""
    campaign = history.records("campaign").get(start.params.get("id", ""), ())
    template = next((row.shown["templateId"] for row in campaign if isinstance(row.shown.get("templateId"), str)), "")
    return [row for row in history.records("template").get(template, ()) if row.how == "read"]


def _required(detail: Sighting) -> list[str]:
    """Return the keys of the required variables of a template."""
    return [str(row.get("key")) for row in _dicts(detail.shown.get("commonVariables")) if row.get("required") is True]


def templates(history: History, verdicts: Verdicts) -> None:
    """The items of a template are in order from 0, and its variables are called varN, each once."""
    for id, rows in history.records("template").items():
        for row in rows:
            if row.how != "read":
                continue
            items, manual = rows_of(row.shown, "items"), _dicts(row.shown.get("commonVariables"))
            orders = [item.get("order") for item in items]
            values = "an order from 0 on", f"orders {orders}"
            if items and all(type(order) is int for order in orders):
                is_kept = 0 in orders and len(orders) == len({*orders})
                verdicts.judge("templates.items", is_kept, [row.cited], id, values, ONE_ANSWER)
            keys = [variable.get("key") for variable in manual]
            for key in keys:
                number = key.removeprefix("var") if isinstance(key, str) and key.startswith("var") else ""
                is_key = whole_number(number) is not None and not number.startswith("0")
                values = f"the variable {key}", "expected var1, var2 ..."
                is_kept = is_key and keys.count(key) == 1
                verdicts.judge("templates.common-variables", is_kept, [row.cited], id, values, ONE_ANSWER)


def cancels(history: History, verdicts: Verdicts) -> None:
    """A cancel takes no body; the cancel of a draft or of an ended campaign is refused, if at all, by the codes of choices."""
    for call in history.calls("cancelCampaign"):
        answer, number = f"answered {call.code or call.status}", f"#{call.number}"
        if call.request_body == b"":
            is_kept = call.code != "VALIDATION_ERROR"
            verdicts.judge("cancel.no-body", is_kept, [call], number, ("a cancel without a body", answer), ONE_ANSWER)
        if call.code in _OF_ANY_CANCEL or not (call.succeeded or is_refused(call)):
            continue
        rows = history.records("campaign").get(call.params.get("id", ""), ())
        _cancel_of_draft(call, rows, verdicts)
        ended = next((row for row in rows if row.status in CAMPAIGN.final and precedes(row.cited, call)), None)
        if ended is not None:
            is_kept = call.succeeded or call.code in ("UNPROCESSABLE_REQUEST", "CAMPAIGN_NOT_DRAFT")
            values = f"status {ended.status}", answer
            verdicts.judge("cancel.final", is_kept, [ended.cited, call], number, values)


def _cancel_of_draft(call: Exchange, rows: Sequence[Sighting], verdicts: Verdicts) -> None:
    drafts = [row for row in rows if row.status == CAMPAIGN.initial]
    if call.succeeded and all(row.status in (None, "draft", "canceled") for row in rows):
        verdicts.hold("cancel.draft")
    elif _around(call, drafts) is not None:
        values = "a draft before and after", f"answered {call.code or call.status}"
        is_kept = call.code == "UNPROCESSABLE_REQUEST"
        verdicts.judge("cancel.draft", is_kept, [drafts[0].cited, call], f"#{call.number}", values)
        verdicts.excuse("cancel.draft", "cancel-draft")
