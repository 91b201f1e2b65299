"""A fault of the wire is one row: nothing else in the package names it, but for words that mean another thing there."""

from __future__ import annotations

import inspect

from mockserver.contract.effects import UNREADABLE, WAITING, WIRE_FAULTS, WITHOUT_RESPONSE
from mockserver.contract.effects.wire import WireMethods
from tests.harness.rows import each_row


def test_each_fault_is_a_method_of_its_own_name_which_begins_with_its_meaning() -> None:
    methods = {name: method for name, method in vars(WireMethods).items() if inspect.isfunction(method)}
    meanings = {name: (inspect.getdoc(method) or "").partition("\n\n")[0] for name, method in methods.items()}
    rows = {row.name.replace("-", "_"): row.sentence for row in WIRE_FAULTS.values()}

    assert rows == meanings


def test_each_fault_describes_what_the_client_receives() -> None:
    assert {"truncate", "garble", "bad-gateway"} == UNREADABLE
    assert {"drop", "reset"} == WITHOUT_RESPONSE
    assert {"delay", "delay-after", "dribble"} == WAITING


@each_row("name", WIRE_FAULTS)
def test_a_row_has_its_meaning_and_an_example(name: str) -> None:
    row = WIRE_FAULTS[name]

    assert row.meaning and "." not in row.meaning and row.meaning[0].islower()
    assert row.examples
