"""
How a gap is closed: by a scenario of the library, or by a line of Python.

`scenarios.json` has the scenario of each item. It is written by playing the library with careful clients, and a test
plays it again: a scenario closes each gap that it is offered for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mockserver._records import NamedTuple
from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.model import RATE_WHEN_ON
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.filters import FIELDS, OPERATORS, Operand
from mockserver.contract.wire_faults import WIRE_FAULTS
from mockserver.coverage.dimensions import DIMENSIONS, SUCCESS, VALUE, Dimension, clauses_of_items, universe

_FILE: Final = Path(__file__).with_name("scenarios.json")
_VALUES: Final[Mapping[str, Any]] = MappingProxyType(
    {"string": "a", "number": 1, "boolean": True, "date": "2026-03-01T12:00:00Z", "array": "tag_a"}
)
_OF_SEED_DATA: Final = ("birthdate-zone",)  # read only while seed data is added, which covers nothing
# Of the steps and ends that no scenario leads to: the records are those of the client.
_ACTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "campaign processing fail": "mockserver.admin.fail_campaign(campaign_id)",
        "delivery due abandon": "mockserver.receive_webhooks(lambda webhook: 410)",
        "delivery delivered resend": "mockserver.webhooks.redeliver(event_id)",
        "delivery abandoned resend": "mockserver.webhooks.recover(webhook_id)",
    }
)
# What leads to a refusal of any operation, in place of a rule that gives it.
_CAUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DEVELOPERS_DISABLED": "mockserver.admin.set_tenant(developers_enabled=False)",
        "SUBSCRIPTION_INACTIVE": 'mockserver.admin.set_tenant(subscription="suspended")',
    }
)


class Remedy(NamedTuple):
    """The scenario that closes a gap, None if none does, and the line that applies it or has the same effect."""

    scenario: str | None
    line: str | None

    @property
    def text(self) -> str:
        """The remedy in one line."""
        if self.line is None:
            return "no scenario and no line of Python is known that closes it"
        return f"{self.scenario}: {self.line}" if self.scenario else self.line


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
    if dimension == "clauses":  # of the items whose row names it the first with a scenario, else the first
        named = clauses_of_items()
        items = ((name, row) for name in DIMENSIONS[:-1] for row in universe()[name] if item in named.get(row, ()))
        remedies = [remedy(name, row) for name, row in items]
        return next((found for found in remedies if found.scenario), remedies[0])
    scenario = _scenarios()[dimension].get(item)
    if scenario is not None:
        return Remedy(scenario, f'@pytest.mark.mockserver(scenario="{scenario}")')
    return Remedy(None, _LINES[dimension](item))


def _line_of_call(operation: str) -> str:
    endpoint = ENDPOINTS[operation]
    return f'mockserver.call("{endpoint.method}", "{endpoint.path}")'


def _line_of_answer(item: str) -> str:
    operation, code = item.split(" ")
    if code == SUCCESS:
        return _line_of_call(operation)
    return _CAUSES.get(code, f'mockserver.on("{operation}").nth(1).error("{code}")')


def _line_of_fault(item: str) -> str:
    operation, name, *when = item.split(" ")
    argument = when[0] if when else WIRE_FAULTS[name].examples[0]
    if isinstance(argument, dict):
        arguments = ", ".join(f"{key}={value!r}" for key, value in argument.items())
    else:
        arguments = "" if argument is True else json.dumps(argument)
    return f'mockserver.on("{operation}").nth(1).{name.replace("-", "_")}({arguments})'


def _line_of_filter(item: str) -> str:
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
    return f'mockserver.call("POST", "/v1/campaigns/audience-preview", json={{"filters": {filters!r}}})'


def _line_of_choice(item: str) -> str | None:
    choice, _, option = item.partition("=")
    if choice in _OF_SEED_DATA:
        return None
    row = CHOICES[choice]
    numbers = {"rate": RATE_WHEN_ON, "duration": "1h"}.get(row.value, row.default)
    value = option if option != VALUE else dict(numbers) if isinstance(numbers, Mapping) else numbers
    return f"@pytest.mark.mockserver(choices={{{choice!r}: {value!r}}})"


_LINES: Final[Mapping[Dimension, Callable[[str], str | None]]] = MappingProxyType(
    {
        "operations": _line_of_call,
        "answers": _line_of_answer,
        "steps": _ACTS.get,
        "deliveries": lambda item: _ACTS["delivery due abandon"],
        "filters": _line_of_filter,
        "faults": _line_of_fault,
        "choices": _line_of_choice,
        "conduct": lambda rule: None,
    }
)
