"""Files of coverage: merging equals running together, and no other file passes for one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import Coverage, MockServer
from mockserver.judge.coverage.coverage import CoverageError, combine
from mockserver.judge.coverage.dimensions import DIMENSIONS, universe
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON, Provocation
from tests.conduct.provocations_of_campaigns import PROVOCATIONS
from tests.conduct.provocations_of_sessions import PROVOCATIONS as OF_SESSIONS

RUNS = (*PROVOCATIONS, *OF_SESSIONS)
ITEMS = st.sampled_from([(name, item) for name in DIMENSIONS if name != "clauses" for item in universe()[name]])
COVERAGES = st.lists(ITEMS, max_size=40).map(lambda rows: _of(rows))


def _of(rows: Iterable[tuple[Any, str]]) -> Coverage:
    coverage = Coverage()
    for dimension, item in rows:
        coverage.add(dimension, item)
    return coverage


def played(*runs: Provocation) -> Coverage:
    """The coverage of one session with these runs."""
    coverage = Coverage()
    with MockServer(coverage=coverage) as server:
        for run in runs:
            with server.sandbox(given=GIVEN, now=NOON) as sandbox:
                run.careless(Client(sandbox))
    return coverage


@given(COVERAGES, COVERAGES, COVERAGES)
def test_merging_is_a_union(one: Coverage, two: Coverage, three: Coverage) -> None:
    assert combine([one, two]) == combine([two, one])
    assert combine([combine([one, two]), three]) == combine([one, combine([two, three])])
    assert one == combine([one, one]) == combine([one, Coverage()])
    for dimension in DIMENSIONS:
        union = {*one.covered(dimension), *two.covered(dimension)}
        assert union == {*combine([one, two]).covered(dimension)}


@given(st.lists(st.sampled_from(RUNS), max_size=6), st.integers(0, 6))
def test_two_sessions_merged_equal_one_session(runs: list[Provocation], cut: int) -> None:
    assert played(*runs) == combine([played(*runs[:cut]), played(*runs[cut:])])


@given(COVERAGES)
def test_a_document_is_read_as_it_was_written(coverage: Coverage) -> None:
    assert coverage == Coverage.from_json(json.loads(json.dumps(coverage.as_json())))


def test_a_file_has_each_item_once_in_the_order_of_the_tables(tmp_path: Path) -> None:
    _of([("operations", "startCampaign"), ("operations", "listTemplates")]).save(tmp_path / "new" / "coverage.json")
    document = json.loads((tmp_path / "new" / "coverage.json").read_text(encoding="utf-8"))

    assert ["version", "dimensions"] == list(document)
    assert list(DIMENSIONS) == list(document["dimensions"])
    assert ["listTemplates", "startCampaign"] == document["dimensions"]["operations"]["covered"]
    for name, row in document["dimensions"].items():
        assert sorted(universe()[name]) == sorted([*row["covered"], *row["missing"]])


def _without_steps(document: Any) -> None:
    del document["dimensions"]["steps"]


def _with_unknown(document: Any) -> None:
    document["dimensions"]["operations"]["covered"] = ["startCampain"]


def _with_item_twice(document: Any) -> None:
    document["dimensions"]["operations"]["covered"] = ["startCampaign"]


def _with_dimension(document: Any) -> None:
    document["dimensions"]["operation"] = {"covered": [], "missing": []}


def _with_clause(document: Any) -> None:
    clauses = document["dimensions"]["clauses"]
    clauses["covered"] = [clauses["missing"].pop(0)]


def _of_another_version(document: Any) -> None:
    document["version"] = "0.0.1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_steps, r"file: steps: got None; expected a file as --mockserver-cov wrote it"),
        (_with_unknown, r"file: operations: got {'covered': \['startCampain'\].*; expected a file as"),
        (
            _with_item_twice,
            r"file: operations: got {'covered': \['startCampaign'\].*; expected .*, with each item once",
        ),
        (_with_dimension, r"file: operation: got {'covered': \[\], 'missing': \[\]}; expected a file as"),
        (_with_clause, r"file: clauses: got {'covered': .*; expected a file as"),
        (
            _of_another_version,
            r"file: got version '0.0.1' of mockserver; expected '.*', since the items of another version may differ",
        ),
    ],
)
def test_another_document_is_refused_with_the_reason(change: Callable[[Any], None], message: str) -> None:
    document = Coverage().as_json()
    change(document)

    with pytest.raises(CoverageError, match=message):
        Coverage.from_json(document, "file")


@pytest.mark.parametrize("document", [None, [], 3, "text", {}, {"dimensions": []}])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(CoverageError, match="without dimensions; expected a file that --mockserver-cov wrote"):
        Coverage.from_json(document)
