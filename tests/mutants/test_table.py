"""The table of mutants stays true to the tree: each text is there, once, and the tests that it names are too."""

from __future__ import annotations

from tests.mutants.__main__ import ROOT, places
from tests.mutants.table import MUTANTS


def test_each_text_occurs_once_in_the_package() -> None:
    found = {each.name: len(places(ROOT, each.before)) for each in MUTANTS}

    assert {} == {name: count for name, count in found.items() if count != 1}


def test_each_mutant_changes_its_text_and_has_a_name_of_its_own() -> None:
    assert [] == [each.name for each in MUTANTS if each.before == each.after]
    assert len(MUTANTS) == len({each.name for each in MUTANTS})


def test_the_nearest_tests_exist() -> None:
    assert [] == [(each.name, path) for each in MUTANTS for path in each.near if not (ROOT / path).exists()]
    assert [] == [each.name for each in MUTANTS if not each.near]
