"""The page on scenarios is generated from the tables and the library."""

from __future__ import annotations

from docs.reference.contract_pages import scenarios_page
from mockserver.contract.effects import EFFECTS
from mockserver.scenario import library


def test_every_effect_and_every_scenario_has_its_line() -> None:
    lines = scenarios_page().splitlines()

    assert [] == [name for name in EFFECTS if sum(line.startswith(f"| `{name}` |") for line in lines) != 1]
    assert [] == [name for name in library.paths() if sum(line.startswith(f"- [{name}]") for line in lines) != 1]
