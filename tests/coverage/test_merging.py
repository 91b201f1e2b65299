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


AS_WRITTEN = "expected a file as"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop("steps"), rf"file: steps: got None; {AS_WRITTEN} --mockserver-cov wrote it"),
        (
            lambda rows: rows["operations"].update(covered=["startCampain"]),
            rf"file: operations: got {{'covered': \['startCampain'\].*; {AS_WRITTEN}",
        ),
        (
            lambda rows: rows["operations"].update(covered=["startCampaign"]),
            r"file: operations: got {'covered': \['startCampaign'\].*; expected .*, with each item once",
        ),
        (
            lambda rows: rows.update(operation={"covered": [], "missing": []}),
            rf"file: operation: got {{'covered': \[\], 'missing': \[\]}}; {AS_WRITTEN}",
        ),
        (
            lambda rows: rows["clauses"].update(covered=[rows["clauses"]["missing"].pop(0)]),
            rf"file: clauses: got {{'covered': .*; {AS_WRITTEN}",
        ),
    ],
    ids=["without a dimension", "an unknown item", "an item twice", "an unknown dimension", "a clause"],
)
def test_another_document_is_refused_with_the_reason(change: Callable[[Any], object], message: str) -> None:
    document = Coverage().as_json()
    change(document["dimensions"])

    with pytest.raises(CoverageError, match=message):
        Coverage.from_json(document, "file")


def test_a_document_of_another_version_is_refused_since_its_items_may_differ() -> None:
    with pytest.raises(CoverageError, match=r"file: got version '0.0.1' of mockserver; expected '.*', since the items"):
        Coverage.from_json({**Coverage().as_json(), "version": "0.0.1"}, "file")


@pytest.mark.parametrize("document", [None, [], 3, "text", {}, {"dimensions": []}])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(CoverageError, match="without dimensions; expected a file that --mockserver-cov wrote"):
        Coverage.from_json(document)
