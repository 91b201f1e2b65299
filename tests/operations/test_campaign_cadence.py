"""The cadence is a whole number of messages a minute from 1 to 9007199254740991, compared exactly in every format."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from tests.harness.rows import each_row
from tests.operations.filter_world import TEMPLATE
from tests.operations.world import refused

CAMPAIGNS = "/v1/campaigns"
LARGEST = 9007199254740991
pytestmark = pytest.mark.mockserver(given={"templates": [TEMPLATE], "chats": [{}]}, now="2026-03-01T12:00:00Z")


def create(sandbox: Any, written: str) -> Any:
    """A creation whose cadence is this very text of JSON."""
    body = f'{{"name": "Março", "platform": "chatapp", "templateId": "{TEMPLATE["id"]}", "cadence": {written}}}'
    return sandbox.call("POST", CAMPAIGNS, body=body.encode(), headers={"Content-Type": "application/json"})


@pytest.mark.clause("campaigns.cadence", "campaigns.cadence-kept")
@pytest.mark.parametrize(
    ("written", "cadence"),
    [
        ("1", 1),
        ("60", 60),
        ("60.0", 60),
        ("6e1", 60),
        ("6E+1", 60),
        ("600e-1", 60),
        ("60.000000000000000000000", 60),
        ("9007199254740990", LARGEST - 1),
        ("9007199254740991", LARGEST),
        ("9007199254740991.0", LARGEST),
        ("9.007199254740991e15", LARGEST),
    ],
)
def test_a_whole_number_in_the_range_is_accepted_and_read_back_as_it_is(
    mockserver: Sandbox, written: str, cadence: int
) -> None:
    reply = create(mockserver, written)

    assert 201 == reply.status
    (entry,) = mockserver.call("GET", CAMPAIGNS).json()["campaigns"]
    detail = mockserver.call("GET", f"{CAMPAIGNS}/{reply.json()['campaignId']}")
    assert (cadence, int) == (entry["cadence"], type(entry["cadence"]))
    assert f'"cadence":{cadence},'.encode() in detail.body.replace(b" ", b"")


@pytest.mark.clause("campaigns.cadence", "campaigns.validation")
@each_row(
    "written",
    [
        "0",
        "-0",
        "0.0",
        "-1",
        "-60",
        "9007199254740992",
        "9007199254740993",
        "9007199254740991.4",
        "9007199254740991.5",
        "9007199254740992.0",
        "60.5",
        "0.5",
        "1.0000000000000000001",
        "59.99999999999999999999",
        "1e400",
        "-1e400",
        "1e16",
        "1e-400",
        "1" + "0" * 400,
        '"60"',
        '""',
        "true",
        "false",
        "null",
        "[]",
        "[60]",
        "{}",
        "60.",
        "+60",
        "060",
        "NaN",
        "Infinity",
    ],
)
def test_anything_else_is_refused(mockserver: Sandbox, written: str) -> None:
    assert (400, "VALIDATION_ERROR") == refused(create(mockserver, written))
    assert {"campaigns": []} == mockserver.call("GET", CAMPAIGNS).json()
