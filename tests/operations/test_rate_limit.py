"""Too many requests: a sliding budget for each key, and the wait that a 429 specifies."""

from datetime import timedelta
from email.utils import parsedate_to_datetime

import pytest

from mockserver import Sandbox
from mockserver.testing.transports.in_process import Response
from tests.operations.world import GIVEN, OPERATIONS, OTHER_KEY, refused

pytestmark = [
    pytest.mark.clause("base.rate-limit"),
    pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z"),
]

LIST = OPERATIONS["listCampaigns"]
limited = (429, "RATE_LIMIT_EXCEEDED")


@pytest.mark.option("rate-limit-numbers", "off")
def test_by_default_there_is_no_rate_limit(mockserver: Sandbox) -> None:
    assert {200} == {mockserver.call(*LIST).status for _ in range(300)}


def test_a_limit_switched_on_without_numbers_has_the_default_numbers(mockserver: Sandbox) -> None:
    mockserver.choose({"rate-limit-numbers": {"per": 60}})
    statuses = [mockserver.call(*LIST).status for _ in range(121)]

    assert [200] * 120 + [429] == statuses


def test_the_budget_slides_with_the_clock_and_a_refusal_costs_nothing(mockserver: Sandbox) -> None:
    mockserver.choose({"rate-limit-numbers": {"requests": 2, "per": "1m"}})
    assert 200 == mockserver.call(*LIST).status
    mockserver.advance("20s")
    assert 200 == mockserver.call(*LIST).status
    mockserver.advance("20s")

    reply = mockserver.call(*LIST)
    assert (*limited, "20") == (*refused(reply), reply.headers["retry-after"])
    assert {limited} == {refused(mockserver.call(*LIST)) for _ in range(5)}
    mockserver.advance("20s")
    assert 200 == mockserver.call(*LIST).status
    assert "20" == mockserver.call(*LIST).headers["retry-after"]


def test_each_key_has_a_budget_of_its_own_and_calls_without_a_known_key_have_none(mockserver: Sandbox) -> None:
    mockserver.choose({"rate-limit-numbers": {"requests": 1, "per": 60}})
    policy = OPERATIONS["readFormPolicy"]
    for key in ("", "sk_nobodys"):
        assert {401} == {mockserver.call(*LIST, key=key).status for _ in range(3)}

    assert [200, 200] == [mockserver.call(*policy, key=key).status for key in (None, mockserver.public_key)]
    assert 200 == mockserver.call(*LIST, key=OTHER_KEY).status
    assert limited == refused(mockserver.call(*policy, key=mockserver.public_key))
    assert {limited} == {refused(mockserver.call(*call)) for call in OPERATIONS.values()}


def test_other_refusals_of_the_operation_count_as_requests(mockserver: Sandbox) -> None:
    mockserver.choose({"rate-limit-numbers": {"requests": 2, "per": 60}})
    assert 404 == mockserver.call("GET", "/v1/campaigns/nobodys").status
    assert 400 == mockserver.call("POST", "/v1/campaigns", json={}).status

    assert limited == refused(mockserver.call(*LIST))


def over_budget(sandbox: Sandbox, option: str, *, requests: int = 1, per: int = 60) -> Response:
    """The 429 in this format, half a second after the only request of the budget."""
    sandbox.choose({"rate-limit-numbers": {"requests": requests, "per": per}, "rate-limit-headers": option})
    for _ in range(requests):
        assert 200 == sandbox.call(*LIST).status
    sandbox.advance("500ms")
    reply = sandbox.call(*LIST)
    assert limited == refused(reply)
    return reply


@pytest.mark.option("rate-limit-headers", "seconds")
@pytest.mark.parametrize("per", [1, 7, 60, 3600])
def test_after_the_seconds_of_retry_after_the_next_request_passes(mockserver: Sandbox, per: int) -> None:
    wait = over_budget(mockserver, "seconds", per=per).headers["retry-after"]

    assert str(per) == wait  # half a second has passed, and a wait is never reported too short
    mockserver.advance(int(wait) - 1)
    assert limited == refused(mockserver.call(*LIST))
    mockserver.advance(1)
    assert 200 == mockserver.call(*LIST).status


@pytest.mark.option("rate-limit-headers", "http-date")
@pytest.mark.parametrize(("spent_after", "limited_after"), [("400ms", "500ms"), ("0s", "900ms"), ("1ms", "999ms")])
def test_the_date_of_retry_after_is_the_first_one_at_which_the_next_request_passes(
    mockserver: Sandbox, spent_after: str, limited_after: str
) -> None:
    mockserver.choose({"rate-limit-numbers": {"requests": 1, "per": 7}, "rate-limit-headers": "http-date"})
    mockserver.advance(spent_after)
    mockserver.call(*LIST)
    mockserver.advance(limited_after)
    retry_after = mockserver.call(*LIST).headers["retry-after"]
    date = parsedate_to_datetime(retry_after)

    assert retry_after.endswith(" GMT")
    mockserver.advance(to=date - timedelta(seconds=1))
    assert limited == refused(mockserver.call(*LIST))
    mockserver.advance(to=date)
    assert 200 == mockserver.call(*LIST).status


@pytest.mark.option("rate-limit-headers", "draft-fields")
def test_the_ratelimit_fields_contain_the_budget_and_the_wait(mockserver: Sandbox) -> None:
    reply = over_budget(mockserver, "draft-fields", requests=3, per=60)

    assert '"default";q=3;w=60' == reply.headers["ratelimit-policy"]
    assert '"default";r=0;t=60' == reply.headers["ratelimit"]
    assert "retry-after" not in reply.headers
    mockserver.advance(60)
    assert 200 == mockserver.call(*LIST).status


@pytest.mark.option("rate-limit-headers", "none")
def test_a_429_may_have_no_retry_after(mockserver: Sandbox) -> None:
    headers = over_budget(mockserver, "none").headers

    assert [] == [name for name in headers if "retry" in name or "ratelimit" in name]


@pytest.mark.option("rate-limit-headers", "garbage")
def test_a_429_may_have_an_unreadable_retry_after(mockserver: Sandbox) -> None:
    retry_after = over_budget(mockserver, "garbage").headers["retry-after"]

    assert not retry_after.isdigit()
    with pytest.raises(ValueError):
        parsedate_to_datetime(retry_after)


@pytest.mark.parametrize("option", ["seconds", "http-date", "garbage", "draft-fields"])
def test_only_a_429_has_retry_after(mockserver: Sandbox, option: str) -> None:
    mockserver.choose({"rate-limit-numbers": {"requests": 5, "per": 60}, "rate-limit-headers": option})
    replies = [mockserver.call(*LIST), mockserver.call("GET", "/v1/campaigns/nobodys")]

    assert [] == [name for reply in replies for name in reply.headers if "retry" in name or "ratelimit" in name]
