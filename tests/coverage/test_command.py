"""`mockserver coverage`: the forms of a coverage, from a file or a running sandbox, and files combined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mockserver import Coverage, MockServer
from mockserver.cli import main
from mockserver.contract import clauses
from mockserver.judge.coverage.dimensions import DIMENSIONS, universe
from mockserver.report import coverage_page as page
from mockserver.report import coverage_text as render
from tests.runs.faults.test_explore_page import Reader

TOTAL = sum(map(len, universe().values()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The coverage of two calls."""
    coverage = Coverage()
    with MockServer(coverage=coverage) as server, server.sandbox() as sandbox:
        sandbox.call("GET", "/v1/campaigns")
        sandbox.call("GET", "/v1/campaigns/campaign_none")
    coverage.save(tmp_path / "coverage.json")
    return tmp_path / "coverage.json"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert 0 == main(["coverage", *map(str, arguments)])
    return capsys.readouterr().out


def whole() -> Coverage:
    coverage = Coverage()
    for dimension in DIMENSIONS[:-1]:
        coverage.add(dimension, *universe()[dimension])
    return coverage


def test_a_report_has_the_table_and_each_gap(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    report = printed(capsys, "report", file, "--operations", "all")

    assert render.table(Coverage.load(file), None) == report.splitlines()[:9]
    for dimension in DIMENSIONS:
        for item in Coverage.load(file).missing(dimension):
            assert f"\n  {item}\n" in report
    for item in Coverage.load(file).covered("answers"):
        assert f"\n  {item}\n" not in report


@pytest.mark.parametrize("arguments", [[], ["--operations", "used"], ["--operations", "readCampaign, listCampaigns"]])
def test_a_report_has_the_items_of_the_operations_that_were_called_or_are_named(
    capsys: pytest.CaptureFixture[str], file: Path, arguments: list[str]
) -> None:
    table, _, gaps = printed(capsys, "report", file, *arguments).partition("\n\n")
    items = [item for name in ("operations", "answers", "faults") for item in universe()[name]]
    own = [item for item in items if item.partition(" ")[0] in ("listCampaigns", "readCampaign")]
    found = re.findall(r"^  (\w.*)$", gaps, re.MULTILINE)

    assert [re.sub(r"\s+", " ", line) for line in table.splitlines()[1:2]] == ["operations 2 2 100 %"]
    assert re.fullmatch(rf"total +4 +{len(own)} +\d+ %", table.splitlines()[-2])
    assert re.fullmatch(rf"everything +\d+ +{TOTAL} +\d+ %", table.splitlines()[-1])
    assert {*own} - {"listCampaigns", "readCampaign", "listCampaigns success", "readCampaign CAMPAIGN_NOT_FOUND"} == {
        *found
    }


def test_a_threshold_of_a_report_decides_its_status(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    assert 1 == main(["coverage", "report", str(file), "--fail-under", "operations=50"])
    assert "coverage of operations: got 12 % (2 of 16); expected at least 50 %" in capsys.readouterr().out
    assert 0 == main(["coverage", "report", str(file), "--fail-under", "operations=12"])


def test_combined_files_have_what_one_of_them_has(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path
) -> None:
    other = Coverage()
    other.add("operations", "uploadMedia")
    other.save(tmp_path / "other.json")
    for order in ((file, tmp_path / "other.json"), (tmp_path / "other.json", file, file)):
        printed(capsys, "combine", *order, "-o", tmp_path / "all" / "coverage.json")

        combined = Coverage.load(tmp_path / "all" / "coverage.json")
        assert ("listCampaigns", "readCampaign", "uploadMedia") == combined.covered("operations")
        assert Coverage.load(file).covered("answers") == combined.covered("answers")


def test_the_page_shows_every_item_once_and_the_sentence_of_each_missing_clause(file: Path) -> None:
    coverage = Coverage.load(file)
    texts = Reader(page.render(coverage)).texts

    for dimension in DIMENSIONS[1:]:
        assert [] == [item for item in universe()[dimension] if item not in texts]
    for clause in coverage.missing("clauses"):
        sentence = clauses.sentence_of(clause)
        assert sentence is not None
        ours = f"In our words: {sentence.text} ({sentence.where} of the API document)"
        assert (sentence.text if sentence.is_quoted else ours) in texts


def test_a_share_is_rounded_down_so_that_100_percent_is_everything() -> None:
    almost = whole()
    almost._covered["filters"].discard("chat.platform equals")

    assert ("100 %", "99 %") == (whole().count().text, almost.count().text)
