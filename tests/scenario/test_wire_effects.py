"""Effects on the wire, in process: errors, replies, waits and what is stale."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from mockserver import Sandbox
from mockserver.contract.endpoints import Operation
from mockserver.testing.rules.builder import ActiveRule
from tests.operations.world import DRAFT, GIVEN, OPERATIONS, draft, running

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

LIST = OPERATIONS["listCampaigns"]


@pytest.mark.parametrize("code", ["RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR"])
def test_an_injected_error_has_the_given_retry_after(mockserver: Sandbox, code: str) -> None:
    mockserver.on("listCampaigns").times(1).error(code, retry_after=12)
    mockserver.on("listCampaigns").error("INTERNAL_ERROR")

    assert ["12", None] == [mockserver.call(*LIST).headers.get("retry-after") for _ in range(2)]


@pytest.mark.parametrize(
    "body, content, kind",
    [
        ({"data": [1, "ã"]}, '{"data":[1,"ã"]}', "application/json; charset=utf-8"),
        ([], "[]", "application/json; charset=utf-8"),
        (False, "false", "application/json; charset=utf-8"),
        ("<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>", None),
        (None, "", None),
    ],
)
def test_a_reply_is_text_as_it_is_or_json(mockserver: Sandbox, body: Any, content: str, kind: str | None) -> None:
    mockserver.on("listCampaigns").reply(502, body)
    reply = mockserver.call(*LIST)

    assert (502, content.encode(), kind) == (reply.status, reply.body, reply.headers.get("content-type"))


def test_headers_of_a_reply_win(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").reply(503, "x", {"content-type": "text/html", "Date": "yesterday", "X-A": "1"})
    reply = mockserver.call(*LIST)

    assert ("text/html", "yesterday", "1") == tuple(reply.headers[each] for each in ("content-type", "date", "x-a"))


@pytest.mark.parametrize("status", [200, 204, 299, 304, 418, 499, 520, 599])
def test_a_reply_has_any_status_for_every_client(mockserver: Sandbox, status: int) -> None:
    mockserver.on("listCampaigns").reply(status)
    url = mockserver.base_url + LIST[1]

    assert status == mockserver.call(*LIST).status
    assert status == mockserver.requests_session().get(url).status_code
    assert status == mockserver.httpx_client().get(url).status_code
    assert status == mockserver.admin.app.test_client().get(LIST[1]).status_code


def test_a_delay_moves_the_clock_before_the_operation_and_a_late_answer_after_it(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").nth(1).delay("5s")
    mockserver.on("createCampaign").nth(2).delay_after("7s")
    for name in "AB":
        mockserver.call("POST", "/v1/campaigns", json=DRAFT | {"name": name})

    campaigns = mockserver.state()["tenants"][0]["campaigns"]
    assert ["12:00:05", "12:00:05"] == [each["createdAt"][11:19] for each in campaigns]
    assert 12 == mockserver.now.second


def test_a_garbled_answer_is_200_and_no_json_though_the_operation_ran(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").garble()
    reply = mockserver.call("POST", "/v1/campaigns", json=DRAFT)

    assert 200 == reply.status
    with pytest.raises(UnicodeDecodeError):
        json.loads(reply.body)
    assert 1 == len(mockserver.state()["tenants"][0]["campaigns"])


@pytest.mark.parametrize("when, campaigns", [((), 0), (("before",), 0), (("after",), 1)])
@pytest.mark.option("non-json-errors", "effect")
def test_a_bad_gateway_is_a_page_of_a_proxy_whether_or_not_the_operation_ran(
    mockserver: Sandbox, when: tuple[Any, ...], campaigns: int
) -> None:
    mockserver.on("createCampaign").bad_gateway(*when)

    reply = mockserver.call("POST", "/v1/campaigns", json=DRAFT)

    assert (502, "text/html", "nginx") == (reply.status, reply.headers["content-type"], reply.headers["server"])
    assert b"<h1>502 Bad Gateway</h1>" in reply.body
    with pytest.raises(ValueError, match="Expecting value"):
        reply.json()
    assert campaigns == len(mockserver.state()["tenants"][0]["campaigns"])
    [entry] = mockserver.log.journal["exchanges"]
    assert (502, bool(campaigns)) == (entry["response"]["status"], entry["applied"])


@pytest.mark.parametrize(
    "status, title", [(502, "Bad Gateway"), (503, "Service Unavailable"), (504, "Gateway Timeout")]
)
def test_a_bad_gateway_has_its_status_and_the_name_of_its_proxy(
    mockserver: Sandbox, status: Literal[502, 503, 504], title: str
) -> None:
    mockserver.on("listCampaigns").bad_gateway(status=status, server="edge <1>")

    reply = mockserver.call(*LIST)

    assert (status, "edge <1>") == (reply.status, reply.headers["server"])
    assert f"<title>{status} {title}</title>" in reply.body.decode()
    assert "edge &lt;1&gt;" in reply.body.decode()


def _stale(sandbox: Sandbox, operation: Operation) -> ActiveRule:
    return sandbox.on(operation).times(1).stale()


def test_after_a_create_a_stale_read_returns_not_found(mockserver: Sandbox) -> None:
    rule = _stale(mockserver, "readCampaign")
    mockserver.call(*LIST)
    path = f"/v1/campaigns/{draft(mockserver)}"

    assert [404, 200] == [mockserver.call("GET", path).status for _ in range(2)]
    assert None is rule.no_target


def test_a_stale_read_is_of_the_last_instant_before_the_change(mockserver: Sandbox) -> None:
    mockserver.on("readCampaign").nth(2).stale()
    campaign_id, _ = running(mockserver)
    mockserver.call("GET", f"/v1/campaigns/{campaign_id}")
    mockserver.advance("1s")
    mockserver.call(*LIST)
    mockserver.call("POST", f"/v1/campaigns/{campaign_id}/cancel")

    read = mockserver.call("GET", f"/v1/campaigns/{campaign_id}").json()

    assert ("processing", 2) == (read["status"], read["executions"][0]["sentCount"])


def test_time_alone_is_a_change_too(mockserver: Sandbox) -> None:
    campaign_id, _ = running(mockserver)
    _stale(mockserver, "readCampaign")
    mockserver.call(*LIST)
    mockserver.advance("1h")

    assert ["processing", "completed"] == [
        mockserver.call("GET", f"/v1/campaigns/{campaign_id}").json()["status"] for _ in range(2)
    ]


def test_a_stale_read_without_a_change_returns_the_present_state_and_records_it(mockserver: Sandbox) -> None:
    draft(mockserver)
    rule = _stale(mockserver, "listCampaigns")

    assert 1 == len(mockserver.call(*LIST).json()["campaigns"])
    assert "stale: nothing has changed since the rule was applied" == rule.no_target


def test_a_call_with_an_effect_on_the_wire_has_its_fault_in_the_journal(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").nth(1).error("INTERNAL_ERROR")
    mockserver.on("listCampaigns").nth(2).set_tenant(name="World alone")
    for _ in range(2):
        mockserver.call(*LIST)

    assert [{"rule": "rule_1", "effects": {"error": "INTERNAL_ERROR"}}, None] == [
        each["fault"] for each in mockserver.log.journal["exchanges"]
    ]
