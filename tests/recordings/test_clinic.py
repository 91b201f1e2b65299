"""A recording that Playwright has made of Chromium against the server under a profile, and what it shows."""

from __future__ import annotations

from collections import Counter

import pytest

from mockserver.contract.choices.profiles import PROFILES
from mockserver.report.recording import RecordingReport
from mockserver.trace.reading import read_recording
from tests.recordings.record import FILE, PROFILE


@pytest.fixture(scope="module")
def clinic() -> RecordingReport:
    return RecordingReport(read_recording(FILE))


@pytest.mark.deep
def test_the_service_of_the_recording_breaks_nothing(clinic: RecordingReport) -> None:
    assert ([], 29) == (clinic.service.broken, len(clinic.recording.exchanges))
    assert {"other": 1} == clinic.recording.left_out


def test_ordinary_traffic_of_29_calls_settles_23_choices(clinic: RecordingReport) -> None:
    assert {"settled": 23, "set": 1, "not-shown": 65} == Counter(choice.state for choice in clinic.choices)


def test_the_profile_of_the_recorded_server_is_learnt(clinic: RecordingReport) -> None:
    settled = {choice.id: choice.options[0] for choice in clinic.choices if choice.state == "settled"}

    assert dict(PROFILES[PROFILE]) == {id: settled[id] for id in PROFILES[PROFILE]}


def test_a_secret_key_in_a_browser_is_found(clinic: RecordingReport) -> None:
    assert "secret-in-browser" in [finding.rule for finding in clinic.client.findings]
