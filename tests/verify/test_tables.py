"""The tables of `verify`: every clause and every choice of the contract is probed, or has a reason why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mockserver.verify
from mockserver import MockServer
from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.verify.context import Probe
from mockserver.verify.coverage import HIDDEN, NOT_PROVOKED, OBSERVABLE, UNOBSERVABLE
from mockserver.verify.passive_checks import RESPONSE_CHECKS, RUN_CHECKS, ResponseCheck
from mockserver.verify.probes import PROBES
from tests.verify.worlds import run, world

ROOM = Path(mockserver.verify.__file__).parent
ROWS: list[Probe | ResponseCheck] = [*PROBES, *RUN_CHECKS, *RESPONSE_CHECKS]
JUDGED = {clause for row in ROWS for clause in row.clauses}
OBSERVED = {choice for row in ROWS for choice in row.choices}
CLAUSES = {row.id for row in clauses.read()}


def test_every_clause_is_judged_or_has_a_reason_why_not() -> None:
    assert set() == JUDGED & set(UNOBSERVABLE)
    assert CLAUSES == JUDGED | set(UNOBSERVABLE)
    assert set() == set(NOT_PROVOKED) - JUDGED


def test_every_choice_is_observable_or_has_a_reason_why_not() -> None:
    assert set() == set(OBSERVABLE) & set(HIDDEN)
    assert set(CHOICES) == set(OBSERVABLE) | set(HIDDEN)


def test_every_observable_choice_is_observed_by_some_row_and_no_other_is() -> None:
    assert set(OBSERVABLE) == OBSERVED


def test_the_options_that_an_observable_choice_names_exist() -> None:
    named = [(row.choice, row.choice, option) for row in OBSERVABLE.values() for option in row.distinguishes]
    named += [
        (row.choice, choice, option)
        for row in OBSERVABLE.values()
        for choice, options in row.when
        for option in options
    ]

    assert [] == [each for each in named if each[2] not in CHOICES[each[1]].options]


def test_the_names_of_probes_are_distinct() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES)


def test_a_full_run_judges_every_clause_that_a_correct_service_shows(mockserver_server: MockServer) -> None:
    with world(mockserver_server) as sandbox:
        report = run(sandbox)

    unseen = {each.id for each in report.clauses if each.verdict == "not observed"}
    assert set(UNOBSERVABLE) | {"base.internal", "base.rate-limit", "auth.subscription", "media.upload"} == unseen


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_the_package_imports_the_contract_and_nothing_else_of_the_mock() -> None:
    imports = [(file.name, *name.split(".")[:2]) for file in sorted(ROOM.rglob("*.py")) for name in imported(file)]

    own = [each for each in imports if each[1] == "mockserver" and len(each) > 2]
    assert [] == [each for each in own if each[2] not in ("contract", "verify", "version", "_json")]
    assert [] == [each for each in imports if each[1] in ("flask", "werkzeug", "requests", "httpx")]
