"""A fault of the wire is one row: nothing else in the package names it, but for words that mean another thing there."""

from __future__ import annotations

import inspect

from mockserver.contract.effects import UNREADABLE, WAITING, WITHOUT_RESPONSE
from mockserver.contract.wire_faults import WIRE_FAULTS, WireFaultMethods
from tests.harness.rows import each_row


def test_each_fault_is_a_method_of_its_own_name_which_begins_with_its_meaning() -> None:
    methods = {name: method for name, method in vars(WireFaultMethods).items() if inspect.isfunction(method)}
    meanings = {name: (inspect.getdoc(method) or "").partition("\n\n")[0] for name, method in methods.items()}
    rows = {row.name.replace("-", "_"): f"{row.meaning[:1].upper()}{row.meaning[1:]}." for row in WIRE_FAULTS.values()}

    assert rows == {name: meaning for name, meaning in meanings.items() if name != "do"}


def test_each_fault_describes_what_the_client_receives() -> None:
    assert {"truncate", "garble", "bad-gateway"} == UNREADABLE
    assert {"drop", "reset"} == WITHOUT_RESPONSE
    assert {"delay", "delay-after", "dribble"} == WAITING


@each_row("name", WIRE_FAULTS)
def test_a_row_has_its_meaning_and_an_example(name: str) -> None:
    row = WIRE_FAULTS[name]

    assert row.meaning and "." not in row.meaning and row.meaning[0].islower()
    assert row.examples
