"""The tables of `verify`: every clause and every choice of the contract is asked about, or it is said why not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mockserver.verify
from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.verify.coverage import HIDDEN, OBSERVABLE, UNMET, UNOBSERVABLE
from mockserver.verify.passive_checks import RESPONSE_CHECKS, RUN_CHECKS
from mockserver.verify.probes import PROBES
from tests.verify.worlds import run, world

ROOM = Path(mockserver.verify.__file__).parent
ROWS = (*PROBES, *RUN_CHECKS, *RESPONSE_CHECKS)
JUDGED = {clause for row in ROWS for clause in row.clauses}
OBSERVED = {choice for row in ROWS for choice in row.choices}
CLAUSES = {row.id for row in clauses.read()}


def test_every_clause_is_judged_or_it_is_said_why_not():
    assert set() == JUDGED & set(UNOBSERVABLE)
    assert CLAUSES == JUDGED | set(UNOBSERVABLE)
    assert set() == set(UNMET) - JUDGED


def test_every_choice_is_observable_or_it_is_said_why_not():
    assert set() == set(OBSERVABLE) & set(HIDDEN)
    assert set(CHOICES) == set(OBSERVABLE) | set(HIDDEN)


def test_every_observable_choice_is_observed_by_some_row_and_no_other_is():
    assert set(OBSERVABLE) == OBSERVED


@pytest.mark.parametrize("row", OBSERVABLE.values(), ids=OBSERVABLE)
def test_what_an_observable_choice_speaks_of_exists(row):
    assert set() == set(row.tells) - set(CHOICES[row.choice].options)
    assert all(set(options) <= set(CHOICES[choice].options) for choice, options in row.when)


def test_the_names_of_probes_are_distinct():
    assert len({probe.name for probe in PROBES}) == len(PROBES)


def test_a_full_run_judges_every_clause_that_a_service_in_order_shows(mockserver_server):
    with world(mockserver_server) as sandbox:
        report = run(sandbox)

    unseen = {each.id for each in report.clauses if each.verdict == "not seen"}
    assert set(UNOBSERVABLE) | {"base.internal", "base.rate-limit", "auth.subscription", "media.upload"} == unseen


@pytest.mark.parametrize("file", sorted(ROOM.rglob("*.py")), ids=lambda file: file.name)
def test_the_room_imports_the_contract_and_nothing_else_of_the_package(file):
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    rooms = {name.split(".")[1] for name in names if name.startswith("mockserver.")}

    assert rooms <= {"contract", "verify"}
    assert set() == {name.partition(".")[0] for name in names} & {"flask", "werkzeug", "requests", "httpx"}
