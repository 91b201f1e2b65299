"""In careful clients of other styles nothing is found: no finding, and no advice."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer
from tests.runs.faults import other_styles
from tests.runs.faults.other_styles import GatewayError

STYLES = ("converging", "concurrent", "polling")
# The first two take twenty times as many runs.
MARKED = (*(pytest.param(style, marks=pytest.mark.deep) for style in STYLES[:2]), STYLES[2])


def explored(server: MockServer, style: str, **options: Any) -> Any:
    return server.explore(getattr(other_styles, style), strict=True, tolerates=(GatewayError,), **options)


@pytest.mark.deep
@pytest.mark.parametrize("style", MARKED)
def test_no_single_placement_finds_anything(mockserver_server: MockServer, style: str) -> None:
    report = explored(mockserver_server, style)

    assert [] == report.findings, report.text()
    assert 0 == report.coverage.singles.left


@pytest.mark.deep
@pytest.mark.parametrize("style", STYLES)
def test_no_pair_of_faults_finds_anything(mockserver_server: MockServer, style: str) -> None:
    report = explored(mockserver_server, style, pairs=400)

    assert [] == report.findings, report.text()
    assert 400 == report.coverage.pairs.tried
