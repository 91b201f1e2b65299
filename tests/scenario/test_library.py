"""The library as documents: each applies anywhere, is has a name and a summary, and is played by some test."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver.contract import clauses
from mockserver.contract.errors import ERRORS
from mockserver.scenario import library

NAMES = sorted(set(library.paths()) - {"demo"})


@cache
def rule_counts() -> dict[str, int]:
    """The number of rules of each document; not read while tests are collected, which every worker does."""
    return {name: len(library.document(name).get("script", ())) for name in NAMES}


def test_every_error_code_has_a_scenario() -> None:
    named = {f"error-{code.lower().replace('_', '-')}" for code in ERRORS}

    assert named == {name for name in NAMES if name.startswith("error-")}


def test_an_unknown_name_is_refused_with_the_closest_match_and_not_the_whole_list(mockserver: Sandbox) -> None:
    with pytest.raises(ScenarioError, match="did you mean 'start-timeout-applied'") as refusal:
        mockserver.apply("start-timeout-aplied")

    assert 300 > len(str(refusal.value))


def test_a_document_has_the_name_of_its_file_and_a_description_of_one_sentence() -> None:
    summaries = {name: library.document(name)["summary"] for name in NAMES}

    assert [] == [name for name in NAMES if name != library.document(name)["scenario"]]
    assert {} == {name: each for name, each in summaries.items() if not re.fullmatch(r"[A-Z][^.!?]*\.(?<!\.\.)", each)}
    assert {} == {name: each for name, each in summaries.items() if len(each) > 100}


def test_a_document_names_clauses_that_exist() -> None:
    known = {clause.id for clause in clauses.read()}
    named = {name: set(library.document(name)["clauses"]) for name in NAMES}

    assert {} == {name: ids - known for name, ids in named.items() if not ids or ids - known}


def test_a_document_leaves_clock_and_seed_to_its_sandbox() -> None:
    assert [] == [name for name in NAMES if {"clock", "seed"} & set(library.document(name))]


def test_a_document_makes_a_sandbox_of_its_own(mockserver_server: MockServer) -> None:
    rules = {}
    for name in NAMES:
        with mockserver_server.sandbox(name) as fresh:
            rules[name] = len(fresh.rules)

    assert rule_counts() == rules


@pytest.mark.deep
def test_a_document_joins_the_sandbox_of_the_demo(mockserver_server: MockServer) -> None:
    applied = {}
    for name in NAMES:
        with mockserver_server.sandbox("demo") as furnished:
            applied[name] = furnished.apply(name)

    assert {} == {
        name: each
        for name, each in applied.items()
        if (name, rule_counts()[name], []) != (each["scenario"], len(each["rules"]), each["ignored"])
    }


def test_all_documents_that_seed_records_apply_to_one_sandbox(mockserver: Sandbox) -> None:
    """Their ids are their own, whatever else has been applied."""
    joined = [mockserver.apply({"given": library.document(name).get("given", {})}) for name in NAMES]

    assert len(NAMES) == len(joined)


def test_every_document_is_played_by_a_test() -> None:
    played = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*_played.py"))
    by_code = {f"error-{code.lower().replace('_', '-')}" for code in ERRORS}  # one test plays them all

    assert set() == {name for name in NAMES if f'"{name}"' not in played} - by_code
