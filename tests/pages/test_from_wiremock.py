"""The test with WireMock on the page passes under WireMock itself, where its jar is (see `tests.benchmarks.peers`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks.peers import Unavailable, serving, wiremock
from tests.pages.blocks import blocks
from tests.wheels import attempt

PAGE = "docs/from-wiremock.md"


@pytest.mark.deep
def test_the_test_before_the_migration_passes_under_wiremock(tmp_path: Path) -> None:
    client, mapping, test, *_ = blocks(PAGE)
    (tmp_path / "mappings").mkdir()
    (tmp_path / "mappings" / "campaign.json").write_text(mapping.text, encoding="utf-8")
    (tmp_path / "crm.py").write_text(client.text, encoding="utf-8")
    (tmp_path / "test_before.py").write_text(test.text, encoding="utf-8")
    try:
        with serving("WireMock", wiremock, tmp_path) as (url, _):
            pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_before.py")
            done = attempt(*pytest_, cwd=tmp_path, WIREMOCK_URL=url, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    except Unavailable as reason:
        pytest.skip(f"WireMock: {reason}")

    assert "1 passed" in done.stdout, done.stdout + done.stderr
