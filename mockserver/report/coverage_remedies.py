"""How a gap is closed: what a test does, as a line of Python and as a request for a test in any language."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.model import RATE_WHEN_ON
from mockserver.contract.effects import WIRE_FAULTS
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.filters import FIELDS, OPERATORS, Operand
from mockserver.judge.client.rules import RULES
from mockserver.judge.coverage.dimensions import SUCCESS, VALUE, Dimension, universe


class Remedy(NamedTuple):
    """What a test does; both are the same words if no single line or request is enough."""

    line: str
    request: str

    @property
    def is_code(self) -> bool:
        return self.line != self.request


def _in_words(text: str) -> Remedy:
    return Remedy(line=text, request=text)


def _call(operation: str, body: Any = None) -> Remedy:
    endpoint = ENDPOINTS[operation]
    argument, sent = ("", "") if body is None else (f", json={body!r}", f" {json.dumps(body)}")
    return Remedy(
        line=f'mockserver.call("{endpoint.method}", "{endpoint.path}"{argument})',
        request=f"{endpoint.method} {endpoint.path}{sent}",
    )


def _command(line: str, request: str) -> Remedy:
    """Return what a test has the mock do; the records are those of the client."""
    return Remedy(line=f"mockserver.{line}", request=request.replace(" /", " /_mock/", 1))


def _receiver(status: int) -> Remedy:
    target = json.dumps({"url": f"URL of a receiver that answers {status}"})
    return _command(f"receive_webhooks(lambda webhook: {status})", f"POST /webhooks {target}")


_BODIES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "previewAudience": {"filters": []},
        "createCampaign": {"name": "Promo", "platform": "chatapp", "templateId": "TEMPLATE_ID", "cadence": 30},
        "createConnectionSession": {},
    }
)
_UPLOAD: Final = _in_words("POST /v1/messaging/media with a form that has a file")
_IDLE: Final = _command('advance(until="idle")', 'POST /clock/advance {"until": "idle"}')
_FAIL: Final = _command("admin.fail_campaign(campaign_id)", "POST /campaigns/CAMPAIGN_ID/fail")
# fmt: off
_STEPS: Final[Mapping[str, Remedy]] = MappingProxyType({
    "campaign draft start":        _call("startCampaign"),
    "campaign draft cancel":       _call("cancelCampaign"),
    "campaign processing finish":  _IDLE,
    "campaign processing fail":    _FAIL,
    "campaign processing cancel":  _call("cancelCampaign"),
    "execution processing finish": _IDLE,
    "execution processing fail":   _FAIL,
    "execution processing cancel": _call("cancelCampaign"),
    "session pending complete":    _command("complete_session(session_id)", "POST /sessions/SESSION_ID/complete"),
    "session pending fail":        _command("fail_session(session_id)", 'POST /sessions/SESSION_ID/fail {"reason": "token_exchange_failed"}'),
    "session pending expire":      _command("expire_session(session_id)", "POST /sessions/SESSION_ID/expire"),
    "session pending deadline":    _IDLE,
    "delivery due accept":         _receiver(204),
    "delivery due wait":           _receiver(503),
    "delivery due abandon":        _receiver(410),
    "delivery waiting wake":       _IDLE,
    "delivery delivered resend":   _command("webhooks.redeliver(event_id)", "POST /events/EVENT_ID/redeliver"),
    "delivery abandoned resend":   _command("webhooks.recover(webhook_id)", "POST /webhooks/WEBHOOK_ID/recover"),
})
# Refusals of any operation that have a cause of their own; a rule gives the others.
_CAUSES: Final[Mapping[str, Remedy]] = MappingProxyType({
    "DEVELOPERS_DISABLED":   _command("admin.set_tenant(developers_enabled=False)", 'PATCH /tenants/TENANT_ID {"developersEnabled": false}'),
    "SUBSCRIPTION_INACTIVE": _command('admin.set_tenant(subscription="suspended")', 'PATCH /tenants/TENANT_ID {"subscription": "suspended"}'),
})
# fmt: on
_VALUES: Final[Mapping[str, Any]] = MappingProxyType(
    {"string": "a", "number": 1, "boolean": True, "date": "2026-03-01T12:00:00Z", "array": "tag_a"}
)
_OF_SEED_DATA: Final = ("birthdate-zone",)  # read only while seed data is added


def remedy(dimension: Dimension, item: str) -> Remedy:
    """
    Return how a gap is closed.

    Args:
        dimension: One of the nine.
        item: An item of it.
    """
    return _BY_DIMENSION[dimension](item)


def _operation(operation: str) -> Remedy:
    return _UPLOAD if ENDPOINTS[operation].body == "multipart" else _call(operation, _BODIES.get(operation))


def _answer(item: str) -> Remedy:
    operation, code = item.split(" ")
    if code == SUCCESS:
        return _operation(operation)
    return _CAUSES.get(code) or _rule(operation, f'error("{code}")', {"error": code})


def _rule(operation: str, effect: str, do: Mapping[str, Any]) -> Remedy:
    rule = json.dumps({"on": operation, "nth": 1, "do": do})
    return _command(f'on("{operation}").nth(1).{effect}', f"POST /rules {rule}")


def _delivery(item: str) -> Remedy:
    return _receiver(204 if item.endswith(" delivered") else 410)


def _filter(item: str) -> Remedy:
    name, operator = item.split(" ")
    field = FIELDS[name]
    value = field.allowed[0] if field.allowed else _VALUES[field.type]
    forms: Mapping[Operand, Mapping[str, Any]] = {
        "none": {},
        "one": {"value": value},
        "list": {"value": [value]},
        "pair": {"value": value, "value2": value},
    }
    statement = {"field": name, "operator": operator, **forms[OPERATORS[field.type][operator].operand]}
    return _call("previewAudience", {"filters": [{"combinator": "and", "statements": [statement]}]})


def _fault(item: str) -> Remedy:
    operation, name, *when = item.split(" ")
    argument = when[0] if when else WIRE_FAULTS[name].examples[0]
    if isinstance(argument, dict):
        arguments = ", ".join(f"{key}={value!r}" for key, value in argument.items())
    else:
        arguments = "" if argument is True else json.dumps(argument)
    return _rule(operation, f"{name.replace('-', '_')}({arguments})", {name: argument})


def _choice(item: str) -> Remedy:
    choice, _, option = item.partition("=")
    if choice in _OF_SEED_DATA:
        return _in_words("only seed data reads it, which covers nothing")
    row = CHOICES[choice]
    value: Any = option
    if option == VALUE:
        numbers = {"rate": RATE_WHEN_ON, "duration": "1h"}.get(row.value, row.default)
        value = dict(numbers) if isinstance(numbers, Mapping) else numbers
    return Remedy(
        line=f"@pytest.mark.mockserver(choices={{{choice!r}: {value!r}}})",
        request=f"POST /_mock/sandboxes {json.dumps({'choices': {choice: value}})}",
    )


def _conduct(rule: str) -> Remedy:
    return _in_words(f"a run in which a careless client shows: {RULES[rule].proof}")


def _clause(clause: str) -> Remedy:
    """Return how one of the items is closed whose row names a clause: the first with a line of code, else the first."""
    remedies: list[Remedy] = []
    for dimension, items in universe().items():
        remedies += [remedy(dimension, item) for item, clauses in items.items() if clause in clauses]
    return next((found for found in remedies if found.is_code), remedies[0])


_BY_DIMENSION: Final[Mapping[Dimension, Callable[[str], Remedy]]] = MappingProxyType(
    {
        "operations": _operation,
        "answers": _answer,
        "steps": _STEPS.__getitem__,
        "deliveries": _delivery,
        "filters": _filter,
        "faults": _fault,
        "choices": _choice,
        "conduct": _conduct,
        "clauses": _clause,
    }
)
