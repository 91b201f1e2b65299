"""
How a gap is closed: by a scenario of the library or an act, each as a line of Python and as a request to the server.

`scenarios.json` has the scenario of each item. It is written by playing the library with careful clients, and a test
plays it again: a scenario closes each gap that it is offered for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.model import RATE_WHEN_ON
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.filters import FIELDS, OPERATORS, Operand
from mockserver.contract.wire_faults import WIRE_FAULTS
from mockserver.judge.coverage.dimensions import SUCCESS, VALUE, Dimension, universe

_FILE: Final = Path(__file__).with_name("scenarios.json")
_VALUES: Final[Mapping[str, Any]] = MappingProxyType(
    {"string": "a", "number": 1, "boolean": True, "date": "2026-03-01T12:00:00Z", "array": "tag_a"}
)
_OF_SEED_DATA: Final = ("birthdate-zone",)  # read only while seed data is added, which covers nothing


class Act(NamedTuple):
    """What a test does, as a line of Python and as a request."""

    line: str
    request: str


# Of the steps and ends that no scenario leads to: the records are those of the client.
_ACTS: Final[Mapping[str, Act]] = MappingProxyType(
    {
        "campaign processing fail": Act(
            "mockserver.admin.fail_campaign(campaign_id)", "POST /_mock/campaigns/CAMPAIGN_ID/fail"
        ),
        "delivery due abandon": Act(
            "mockserver.receive_webhooks(lambda webhook: 410)",
            'POST /_mock/webhooks {"url": "URL of a receiver that answers 410"}',
        ),
        "delivery delivered resend": Act(
            "mockserver.webhooks.redeliver(event_id)", "POST /_mock/events/EVENT_ID/redeliver"
        ),
        "delivery abandoned resend": Act(
            "mockserver.webhooks.recover(webhook_id)", "POST /_mock/webhooks/WEBHOOK_ID/recover"
        ),
    }
)
# What leads to a refusal of any operation, in place of a rule that gives it.
_CAUSES: Final[Mapping[str, Act]] = MappingProxyType(
    {
        "DEVELOPERS_DISABLED": Act(
            "mockserver.admin.set_tenant(developers_enabled=False)",
            'PATCH /_mock/tenants/TENANT_ID {"developersEnabled": false}',
        ),
        "SUBSCRIPTION_INACTIVE": Act(
            'mockserver.admin.set_tenant(subscription="suspended")',
            'PATCH /_mock/tenants/TENANT_ID {"subscription": "suspended"}',
        ),
    }
)


class Remedy(NamedTuple):
    """The scenario that closes a gap, None if none does, and the act that applies it or has the same effect."""

    scenario: str | None
    act: Act | None

    @property
    def line(self) -> str | None:
        """The act as a line of Python."""
        return None if self.act is None else self.act.line

    def text(self, *, as_request: bool = False) -> str:
        """Return the remedy in one line, for a test of Python or in any language."""
        if self.act is None:
            return f"no scenario and no {'request' if as_request else 'line of Python'} is known that closes it"
        act = self.act.request if as_request else self.act.line
        return f"{self.scenario}: {act}" if self.scenario else act


@cache
def _scenarios() -> Mapping[Dimension, Mapping[str, str]]:
    rows: Mapping[Dimension, Mapping[str, str]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return rows


def remedy(dimension: Dimension, item: str) -> Remedy:
    """
    Return how a gap is closed.

    Args:
        dimension: One of the nine.
        item: An item of it.
    """
    if dimension == "clauses":
        return _of_clause(item)
    scenario = _scenarios()[dimension].get(item)
    if scenario is not None:
        return Remedy(scenario, _of_new_sandbox(f'scenario="{scenario}"', {"scenario": scenario}))
    return Remedy(None, _ACTS_BY_DIMENSION[dimension](item))


def _of_clause(clause: str) -> Remedy:
    """Return how one of the items is closed whose row names a clause: the first with a scenario, else the first."""
    remedies: list[Remedy] = []
    for dimension, items in universe().items():
        remedies += [remedy(dimension, item) for item, clauses in items.items() if clause in clauses]
    return next((found for found in remedies if found.scenario), remedies[0])


def _of_new_sandbox(argument: str, settings: Mapping[str, Any]) -> Act:
    return Act(f"@pytest.mark.mockserver({argument})", f"POST /_mock/sandboxes {json.dumps(settings)}")


def _rule(operation: str, line: str, effects: Mapping[str, Any]) -> Act:
    rule = json.dumps({"on": operation, "nth": 1, "do": effects})
    return Act(f'mockserver.on("{operation}").nth(1).{line}', f"POST /_mock/rules {rule}")


def _call(operation: str) -> Act:
    endpoint = ENDPOINTS[operation]
    return Act(f'mockserver.call("{endpoint.method}", "{endpoint.path}")', f"{endpoint.method} {endpoint.path}")


def _answer(item: str) -> Act:
    operation, code = item.split(" ")
    if code == SUCCESS:
        return _call(operation)
    return _CAUSES.get(code) or _rule(operation, f'error("{code}")', {"error": code})


def _fault(item: str) -> Act:
    operation, name, *when = item.split(" ")
    argument = when[0] if when else WIRE_FAULTS[name].examples[0]
    if isinstance(argument, dict):
        arguments = ", ".join(f"{key}={value!r}" for key, value in argument.items())
    else:
        arguments = "" if argument is True else json.dumps(argument)
    return _rule(operation, f"{name.replace('-', '_')}({arguments})", {name: argument})


def _filter(item: str) -> Act:
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
    filters = [{"combinator": "and", "statements": [statement]}]
    path = "/v1/campaigns/audience-preview"
    line = f'mockserver.call("POST", "{path}", json={{"filters": {filters!r}}})'
    return Act(line, f"POST {path} {json.dumps({'filters': filters})}")


def _choice(item: str) -> Act | None:
    choice, _, option = item.partition("=")
    if choice in _OF_SEED_DATA:
        return None
    row = CHOICES[choice]
    value: Any = option
    if option == VALUE:
        numbers = {"rate": RATE_WHEN_ON, "duration": "1h"}.get(row.value, row.default)
        value = dict(numbers) if isinstance(numbers, Mapping) else numbers
    return _of_new_sandbox(f"choices={{{choice!r}: {value!r}}}", {"choices": {choice: value}})


_ACTS_BY_DIMENSION: Final[Mapping[Dimension, Callable[[str], Act | None]]] = MappingProxyType(
    {
        "operations": _call,
        "answers": _answer,
        "steps": _ACTS.get,
        "deliveries": lambda item: _ACTS["delivery due abandon"],
        "filters": _filter,
        "faults": _fault,
        "choices": _choice,
        "conduct": lambda rule: None,
    }
)
