"""The edges of time: the first and last instants, invalid durations, deadlines noticed by another driver."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver.contract.durations import PATTERN, parse_duration
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row


@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_no_sandbox_is_moved_beyond_the_representable_instants(mockserver: Sandbox, instant: str) -> None:
    before = mockserver.now

    with pytest.raises(ValueError, match="the instants that can be shown"):
        mockserver.freeze(instant)
    with pytest.raises(ScenarioError):
        mockserver.apply({"given": {"templates": [{"createdAt": instant}]}})

    assert before == mockserver.now
    assert 200 == mockserver.call("GET", "/v1/message-templates").status


@pytest.mark.mockserver(now="2026-03-01T12:00:00Z")
@pytest.mark.parametrize("is_called", [True, False])
def test_a_clock_goes_back_only_before_anything_is_called_or_due(mockserver: Sandbox, is_called: bool) -> None:
    mockserver.freeze("2026-03-01T11:00:00Z")
    if is_called:
        mockserver.call("GET", "/v1/campaigns")
    else:
        mockserver.at("5m").set_tenant(name="Later")

    with pytest.raises(ValueError, match="time only moves forward"):
        mockserver.freeze("2026-03-01T10:00:00Z")
    mockserver.admin.remove_rules()


@pytest.mark.mockserver(clock="follow")
def test_a_following_clock_can_be_advanced_by_nothing(mockserver: Sandbox) -> None:
    assert [] == mockserver.advance(0)


@each_row(
    ("written", "microseconds"),
    [
        ("20m", 1_200_000_000),
        ("1h30m", 5_400_000_000),
        ("3500ms", 3_500_000),
        ("1d2h", 93_600_000_000),
        ("PT20M", None),
        (2.5, 2_500_000),
        (0, 0),
        ("P1M", None),
        ("p20m", None),
        ("P20M", None),
        ("", None),
        ("9" * 400 + "s", None),
        (-1, None),
        (10**400, None),
        (True, None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_a_duration_has_one_format_everywhere(written: str | float | bool, microseconds: int | None) -> None:
    assert microseconds == parse_duration(written)


@given(st.from_regex(PATTERN, fullmatch=True) | st.text("019.dhmsPTDHMS", max_size=12))
def test_the_pattern_of_durations_is_that_of_the_texts_that_are_durations(written: str) -> None:
    assert (re.fullmatch(PATTERN, written) is not None) == (parse_duration(written) is not None)


@pytest.mark.clause("session.expired", "session.user-cancels")
@pytest.mark.mockserver(now="2026-03-01T12:00:30Z")
@pytest.mark.parametrize("driver", ["sweeper", "on-read"])
def test_after_the_deadline_a_session_expires_whatever_ends_it(mockserver: Sandbox, driver: str) -> None:
    mockserver.choose({"expiry-driver": driver})
    completed, canceled, failed = (mockserver.call("POST", SESSIONS, json={}).json()["sessionId"] for _ in range(3))
    mockserver.advance("20m")

    ended = (
        mockserver.complete_session(completed),
        mockserver.cancel_session(canceled),
        mockserver.fail_session(failed),
    )
    assert ["expired"] * 3 == [each["status"] for each in ended]
    assert [] == mockserver.state()["tenants"][0]["entrypoints"]


@pytest.mark.clause("filters.invalid")
@pytest.mark.mockserver(choices={"group-no-statements": "ignore"})
def test_an_ignored_group_retains_its_place_in_the_reason(mockserver: Sandbox) -> None:
    groups = [{"combinator": "and", "statements": []}, {"combinator": "xor", "statements": []}]
    reply = mockserver.call("POST", "/v1/campaigns/audience-preview", json={"filters": groups})

    assert "/filters/1/combinator" in reply.headers["x-mock-reason"]


def test_choices_given_with_a_scenario_leave_its_other_numbers(mockserver_server: MockServer) -> None:
    scenario = {"choices": {"size-limit-values": {"chatapp": 10}}}
    with mockserver_server.sandbox(scenario, choices={"size-limit-values": {"photoapp": 5}}) as sandbox:
        assert {"chatapp": 10, "chatapp_lite": 1000, "photoapp": 5} == sandbox.state()["choices"]["size-limit-values"]
