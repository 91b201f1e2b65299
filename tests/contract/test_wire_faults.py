"""A fault of the wire is one row: nothing else in the package names it, but for words that mean another thing there."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mockserver.contract.effects import ALIASES, UNREADABLE, WAITING, WIRE_FAULTS, WITHOUT_RESPONSE
from mockserver.contract.effects.wire import WireMethods

PACKAGE = Path(__file__).resolve().parents[2] / "mockserver"
ROWS = "contract/effects/wire.py"

# By module, the names of faults that it has: those of the transports, and words with another meaning.
ELSEWHERE = {
    "scenario/rule_parser.py": {"reply": "the headers of a reply are checked there", "delay": "of `deliver`"},
    "wire/response.py": {
        "drop": "why there is no response",
        "reset": "why there is no response",
        "error": "the schema of an error body",
    },
    "server/exchange.py": {"drop": "why there is no response"},
    "server/socket_handler.py": {"reset": "a transport: why there is no response"},
    "testing/transports/httpx_transport.py": {"reset": "a transport: why there is no response"},
    "testing/transports/control_calls.py": {
        "drop": "a transport: why there is no response",
        "reset": "a transport: why there is no response",
    },
    "core/state/rules.py": {"drop": "how a connection ends", "reset": "how a connection ends"},
    "core/faults/injection.py": {"delay": "of `deliver`"},
    "core/operations/hosted_flow.py": {"error": "a query parameter of the return url"},
    "core/webhooks/deliveries.py": {"delay": "of `deliver`"},
    "server/control/views.py": {"error": "a key of an attempt"},
    "server/dashboard/events.py": {"error": "a key of an attempt"},
    "server/hosting/log_lines.py": {"error": "a key of an attempt"},
    "server/control/routes.py": {"reset": "a command"},
    "server/control/commands.py": {"reset": "a command"},
    "contract/openapi/components.py": {"error": "the schema of an error body"},
    "server/control/answers.py": dict.fromkeys(("drop", "reset"), "why there is no response"),
    "pytest_plugin/conduct.py": {"error": "a mode of the marker"},
    "pytest_plugin/trace.py": {"error": "a status of pytest's reports"},
    "testing/remote.py": {"reset": "a command"},
    "testing/machine/faults.py": {"delay": "of `deliver`"},
    "server/control/reports.py": {"error": "a mode of conduct"},
    "server/control/webhooks.py": {"error": "a key of an attempt"},
    "server/dashboard/behaviour.py": {
        **dict.fromkeys(
            ("drop", "reset", "bad-gateway", "error", "delay-after", "truncate", "garble", "stale"),
            "the effect of a rule that the form of a page adds",
        ),
        "delay": "of `deliver`",
    },
    "testing/runs/faults/tables.py": {
        **dict.fromkeys(
            ("drop", "reset", "bad-gateway", "error", "delay-after", "truncate", "garble", "dribble", "stale"),
            "the effect of a rule that causes what is tried, and some names of those",
        ),
        "delay": "of `deliver`",
    },
    "report/run/causes/receivers.py": {"error": "a key of an attempt"},
    "report/run/sections.py": {"error": "a key of an attempt"},
    "contract/effects/deliveries.py": {"delay": "of `deliver`"},
    "report/coverage_remedies.py": {"error": "the effect of the rule that closes a gap"},
}


def named(source: str) -> Iterator[str]:
    """The faults, and their other names, that some string of the source is."""
    names = {*WIRE_FAULTS, *ALIASES}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in names:
            yield node.value


@cache
def found() -> dict[str, set[str]]:
    files = {file.relative_to(PACKAGE).as_posix(): file for file in PACKAGE.rglob("*.py")}
    return {
        name: faults
        for name, file in sorted(files.items())
        if name != ROWS and (faults := set(named(file.read_text(encoding="utf-8"))))
    }


def test_a_name_is_detected_in_any_expression() -> None:
    assert ["garble", "drop"] == list(named("EFFECTS = frozenset(['garble'])\ndef f(x): return x == 'drop' or 'drops'"))


def test_a_wire_fault_is_named_only_in_its_row() -> None:
    others = {name: faults - set(ELSEWHERE.get(name, {})) for name, faults in found().items()}

    assert {} == {name: faults for name, faults in others.items() if faults}


def test_every_word_that_is_excepted_is_there() -> None:
    assert {name: set(words) for name, words in ELSEWHERE.items()} == found()


def test_each_fault_is_a_method_of_its_own_name_which_begins_with_its_meaning() -> None:
    methods = {name: method for name, method in vars(WireMethods).items() if inspect.isfunction(method)}
    meanings = {name: (inspect.getdoc(method) or "").partition("\n\n")[0] for name, method in methods.items()}
    rows = {row.name.replace("-", "_"): row.sentence for row in WIRE_FAULTS.values()}

    assert rows == meanings


def test_each_fault_describes_what_the_client_receives() -> None:
    assert {"truncate", "garble", "bad-gateway"} == UNREADABLE
    assert {"drop", "reset"} == WITHOUT_RESPONSE
    assert {"delay", "delay-after", "dribble"} == WAITING


@pytest.mark.parametrize("name", WIRE_FAULTS)
def test_a_row_has_its_meaning_and_an_example(name: str) -> None:
    row = WIRE_FAULTS[name]

    assert row.meaning and "." not in row.meaning and row.meaning[0].islower()
    assert row.examples
