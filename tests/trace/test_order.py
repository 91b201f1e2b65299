"""What is proved about the order of two calls, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.core.instants import SECOND
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.order import Ranked, around, precedes, reversal
from mockserver.trace.sightings import Sighting
from tests.trace.traces import call

UNTIMED: dict[str, Any] = {"sent_at": None, "ended_at": None}
EARLY, LATE = ({"date": f"Sun, 01 Mar 2026 12:0{minute}:00 GMT"} for minute in (0, 5))


def pair(first: dict[str, Any], second: dict[str, Any]) -> tuple[Exchange, Exchange]:
    return call(1, **first), call(2, **second)


@pytest.mark.parametrize(
    ("first", "second", "proved"),
    [
        pytest.param({}, {}, (True, None), id="one was over when the other began"),
        pytest.param({"ended_at": 5 * SECOND}, {}, (None, None), id="two that overlap"),
        pytest.param(UNTIMED, UNTIMED, (None, None), id="no times and no order"),
        pytest.param(
            {**UNTIMED, "is_ordered": True}, {**UNTIMED, "is_ordered": True}, (True, None), id="a file in order"
        ),
        pytest.param({}, {"source": "two.har"}, (None, None), id="two recorders without the service's clock"),
        pytest.param(
            {"response_headers": EARLY}, {"source": "two.har", "response_headers": LATE}, (True, None), id="by Date"
        ),
        pytest.param({"response_headers": LATE}, {"response_headers": EARLY}, (None, None), id="a clock was set back"),
    ],
)
def test_an_order_is_said_only_where_it_is_proved(
    first: dict[str, Any], second: dict[str, Any], proved: tuple[bool | None, bool | None]
) -> None:
    one, other = pair(first, second)

    assert proved == (precedes(one, other), precedes(other, one))


def test_a_delivery_has_no_order_with_the_calls_of_another_recorder() -> None:
    delivery = DeliveryAttempt(
        number=1, source="receiver.har", endpoint="", event_id="#1", kind="", session_id="", at=0, ended_at=0,
        status=200, headers={}, body=b"",
    )  # fmt: skip

    assert (None, None) == (precedes(delivery, call(9)), precedes(call(9), delivery))


def test_the_calls_around_one_are_the_nearest_that_certainly_precede_and_follow_it() -> None:
    rows = [call(number) for number in (1, 2, 4, 5)]
    during = call(3, sent_at=rows[1].ended_at)  # begins as the second ends: neither is first

    assert (rows[0], rows[2]) == around(during, rows, lambda row: row)


def test_a_rank_has_fallen_only_between_two_calls_whose_order_is_proved() -> None:
    def ranked(number: int, rank: int, **changes: Any) -> Ranked:
        sighting = Sighting(cited=call(number, **changes), how="read", kind="campaign", id="campaign_1", shown={})
        return Ranked(sighting, rank, rank)

    fallen = [ranked(1, 0), ranked(2, 2), ranked(3, 1)]
    overlapping = [ranked(2, 2, ended_at=9 * SECOND), ranked(3, 1)]

    assert (fallen[1].sighting, fallen[2].sighting) == reversal(fallen)
    assert reversal(overlapping) is None
