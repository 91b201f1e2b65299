"""Playwright records Chromium as a HAR, and the recording shows what the server was set to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockserver import MockServer, read_recording
from mockserver.report.recording import RecordingReport
from tests.recordings.record import FILE, PROFILE, record

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.deep


def test_a_recording_made_now_shows_what_the_stored_one_shows(
    browser: Browser, mockserver_server: MockServer, tmp_path: Path
) -> None:
    with mockserver_server.sandbox("demo", profile=PROFILE, own_port=True, now="2026-03-01T12:00:00Z") as sandbox:
        record(browser, sandbox, tmp_path / "clinic.har")
    made, stored = (RecordingReport(read_recording(file)) for file in (tmp_path / "clinic.har", FILE))

    assert [] == made.service.broken
    assert {row.id: row.options for row in stored.choices} == {row.id: row.options for row in made.choices}
