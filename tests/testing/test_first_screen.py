"""The first lines of a report name the cause of a client's mistake, whichever call fails last."""

from __future__ import annotations

import re

import pytest

from tests.testing.conftest import Suite
from tests.testing.test_reports import summary

HELPERS = """
    def send(mockserver, method, path, **body):
        return mockserver.call(method, path, json=body or None).json()

    def launched(mockserver):
        campaign = create(mockserver, cadence=60)
        start(mockserver, campaign)
        mockserver.advance(until="idle")
        return campaign
"""
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
# What a test does, and the lines that follow the failure itself.
CASES = {
    "a write to the id that a refused create did not return": (
        """
        made = send(mockserver, "POST", "/v1/campaigns", name="A", platform="chatapp", templateId="none", cadence=1)
        started = send(mockserver, "POST", f"/v1/campaigns/{made.get('campaignId')}/start")
        assert started["status"] == "processing"
        """,
        [
            "Call #1 createCampaign was refused: 404 MESSAGE_TEMPLATE_NOT_FOUND",
            ".*",
            "then #2 startCampaign .*/None/start",
        ],
    ),
    "a write to an id that the client reads under another name": (
        """
        made = send(mockserver, "POST", "/v1/campaigns", name="A", platform="chatapp", templateId="t", cadence=1)
        assert "executionId" in send(mockserver, "POST", f"/v1/campaigns/{made.get('id')}/start")
        """,
        [
            "Call #2 startCampaign was refused: 404",
            ".*",
            "  the path has 'None', for which the client has no value; the answer of #1 has campaignId, status",
        ],
    ),
    "a refused write before a read of something unknown": (
        """
        mockserver.call("POST", "/v1/campaigns", json={"name": "A"})
        mockserver.call("GET", "/v1/entrypoints/entrypoint_none")
        assert mockserver.ledger["executions"]
        """,
        ["Call #1 createCampaign was refused: 400 VALIDATION_ERROR", ".*", "then #2 readEntrypoint .* -> 404"],
    ),
    "a look whether a record exists before calls that succeed": (
        """
        mockserver.call("GET", "/v1/campaigns/campaign_none")
        campaign = create(mockserver)
        assert send(mockserver, "GET", f"/v1/campaigns/{campaign}")["status"] == "processing"
        """,
        ["2 calls were answered with success; the last: #3 readCampaign", "  answered .*", "#1 readCampaign .* -> 404"],
    ),
    "a cleanup that comes too late": (
        """
        campaign = launched(mockserver)
        try:
            assert send(mockserver, "GET", f"/v1/campaigns/{campaign}")["executions"][0]["targetCount"] == 1
        finally:
            mockserver.call("POST", f"/v1/campaigns/{campaign}/cancel")
        """,
        [
            "3 calls were answered with success; the last: #3 readCampaign",
            "  execution had 2 sent and 0 failed of 2, 1 s after its start, when it was completed",
            "  answered .*",
        ],
    ),
    "an event that the receiver has accepted": (
        f"""
        mockserver.receive_webhooks(lambda request: 204)
        session = send(mockserver, "POST", "{SESSIONS}", returnUrl="https://a.example/ok")["sessionId"]
        mockserver.complete_session(session)
        assert [] == ["connected"]
        """,
        [r"the receiver webhook_\w+ answered 204 to entrypoints.chatapp.connected event"],
    ),
    "a key of a body that the operation does not have": (
        """
        campaign = create(mockserver)
        send(mockserver, "POST", f"/v1/campaigns/{campaign}/start", common_variables={"var1": "a"})
        assert mockserver.ledger["executions"] == 0
        """,
        ["#2 startCampaign sent the key 'common_variables', which is ignored; did you mean 'commonVariables'"],
    ),
    "a query parameter that the operation does not have": (
        """
        send(mockserver, "GET", "/v1/campaigns?pageSize=2")
        assert [] == ["two"]
        """,
        ["#1 listCampaigns sent the query parameter 'pageSize', which is ignored; it takes "],
    ),
    "reads that go on after the end": (
        """
        campaign = launched(mockserver)
        for _ in range(4):
            seen = send(mockserver, "GET", f"/v1/campaigns/{campaign}")
        assert seen["status"] == "done"
        """,
        ["#3 to #6 have returned the status completed, which is final, and the client read on"],
    ),
    "sends that failed, in the answer about an execution": (
        """
        mockserver.on("startCampaign").fail_sends(every=2)
        campaign = launched(mockserver)
        mockserver.admin.remove_rules()
        execution = send(mockserver, "GET", f"/v1/campaigns/{campaign}")["executions"][0]["id"]
        assert send(mockserver, "GET", f"/v1/campaigns/{campaign}/executions/{execution}")["sentCount"] == 2
        """,
        [".* the last: #4 readExecution .*", r"  execution\w* had 1 sent and 1 failed of 2"],
    ),
    "a partial answer that a rule has made": (
        """
        mockserver.on("uploadMedia").fail_media(names=["a.png"])
        from mockserver import sample_file
        files = {"files": ("a.png", sample_file("image/png"), "image/png")}
        with mockserver.requests_session() as session:
            headers = {"X-API-Key": mockserver.secret_key}
            answer = session.post(f"{mockserver.base_url}/v1/messaging/media", files=files, headers=headers).json()
        assert answer[0]["id"]
        """,
        [r"rule rule_1 \(fail-media names \['a.png'\] at each uploadMedia\) fired at #1", "  answered .*success"],
    ),
    "a slash at the end of a path": (
        """
        assert send(mockserver, "GET", "/v1/campaigns/") == {"campaigns": []}
        """,
        [
            "Call #1 GET /v1/campaigns/ is not an operation",
            "  did you mean /v1/campaigns, without the slash at its end?",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_lines_after_the_failure_name_the_cause(suite: Suite, name: str) -> None:
    body, expected = CASES[name]
    test = f'{HELPERS}\n    @pytest.mark.mockserver(conduct="off")\n    def test_it(mockserver):{body}'
    lines = summary(suite, test)[1:]

    assert [] == [
        (pattern, lines) for pattern, line in zip(expected, lines, strict=False) if not re.match(pattern, line)
    ]
    assert len(expected) <= len(lines)


def test_a_refused_act_of_the_test_is_followed_by_the_call_that_was_refused_before(suite: Suite) -> None:
    lines = summary(
        suite,
        f"""
    def test_it(mockserver):
        answer = mockserver.call("POST", "{SESSIONS}", json={{"returnUrl": "ftp://a"}}).json()
        mockserver.complete_session(answer.get("sessionId"))
        """,
    )

    assert "sessionId: got" in lines[0]
    assert lines[1].startswith("Call #1 createConnectionSession was refused: 400 VALIDATION_ERROR")
