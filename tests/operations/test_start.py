"""Starting a campaign: what it takes, what it answers, and what a refused start leaves behind."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response
from tests.harness.options import each_option
from tests.harness.rows import each_row
from tests.operations.campaigning import NOON, counts, create, end, messages, read, run, start
from tests.operations.world import refused

CHATS = [{"id": "chat_ana", "name": "Ana"}, {"id": "chat_bia", "name": "Bia"}]
PLAIN = {"id": "template_plain"}
ASKING = {
    "id": "template_asking",
    "items": [{"text": "{{1}}, {{2}}, {{3}}"}],
    "variables": [
        {"key": "var1", "source": "chat.name"},
        {"key": "var2", "label": "Cupom", "required": True},
        {"key": "var3", "label": "Loja", "required": False},
    ],
}
GIVEN = {"templates": [PLAIN, ASKING], "chats": CHATS}
pytestmark = pytest.mark.mockserver(now=NOON, given=GIVEN)


@pytest.mark.clause("start.response")
@each_row("body", [b"", b"{}", b'{"commonVariables":{}}'])
def test_a_draft_starts_with_an_optional_body(mockserver: Sandbox, body: bytes) -> None:
    campaign_id = create(mockserver, body.decode() or "no body")
    headers = {"content-type": "application/json"} if body else {}

    reply = mockserver.call("POST", f"/v1/campaigns/{campaign_id}/start", body=body, headers=headers)

    assert (202, {"executionId", "status"}) == (reply.status, set(reply.json()))
    assert "processing" == reply.json()["status"]
    detail = read(mockserver, campaign_id)
    assert "processing" == detail["status"]
    assert [reply.json()["executionId"]] == [each["id"] for each in detail["executions"]]


@pytest.mark.clause("start.response")
def test_the_response_has_the_status_processing_although_the_only_send_is_due_immediately(
    mockserver_server: MockServer,
) -> None:
    with mockserver_server.sandbox(now=NOON, given={"templates": [PLAIN], "chats": {"count": 1}}) as sandbox:
        campaign_id = create(sandbox)

        assert "processing" == start(sandbox, campaign_id).json()["status"]
        assert "completed" == read(sandbox, campaign_id)["status"]


@pytest.mark.clause("start.audience-fixed")
def test_the_audience_is_taken_at_the_start_and_fixed_then(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver)
    mockserver.apply({"given": {"chats": [{"id": "chat_before"}]}})
    execution_id = start(mockserver, campaign_id).json()["executionId"]
    mockserver.apply({"given": {"chats": {"count": 5}}})

    assert (3, 1, 0) == counts(mockserver, (campaign_id, execution_id))
    mockserver.advance(until="idle")
    assert (3, 3, 0) == counts(mockserver, (campaign_id, execution_id))
    assert ["chat_ana", "chat_bia", "chat_before"] == mockserver.state()["tenants"][0]["executions"][0]["targets"]


@pytest.mark.clause("start.missing-variables")
@each_row("given", [None, {}, {"var3": "Centro"}, {"var1": "Ana"}, {"2": "X"}, {"{{2}}": "X"}])
def test_a_required_variable_that_is_missing_refuses_the_start(mockserver: Sandbox, given: JSON | None) -> None:
    campaign_id = create(mockserver, str(given), templateId="template_asking")

    assert (400, "CAMPAIGN_MISSING_COMMON_VARIABLES") == refused(start(mockserver, campaign_id, given))
    assert "draft" == read(mockserver, campaign_id)["status"]


@pytest.mark.clause("start.missing-variables")
def test_an_optional_variable_may_be_left_out(mockserver: Sandbox) -> None:
    run(mockserver, {"var2": "DEZ"}, templateId="template_asking")

    assert "Ana, DEZ, " == messages(mockserver, "chat_ana")[0]["text"]


@pytest.mark.clause("start.not-draft")
@pytest.mark.parametrize("how", ["canceled", "completed", "failed"])
def test_a_campaign_that_has_ended_is_not_a_draft(mockserver: Sandbox, how: str) -> None:
    campaign_id, _ = run(mockserver)
    end(mockserver, campaign_id, how)

    assert (422, "CAMPAIGN_NOT_DRAFT") == refused(start(mockserver, campaign_id))


@pytest.mark.clause("start.already", "start.not-draft")
@each_option(
    "code",
    "not-draft-vs-already-processing",
    {"already-processing": "CAMPAIGN_ALREADY_PROCESSING", "not-draft": "CAMPAIGN_NOT_DRAFT"},
)
def test_the_start_of_a_processing_campaign_gets_the_chosen_code(mockserver: Sandbox, code: str) -> None:
    campaign_id, execution_id = run(mockserver)

    assert (422, code) == refused(start(mockserver, campaign_id))
    assert [execution_id] == [each["id"] for each in read(mockserver, campaign_id)["executions"]]


@pytest.mark.clause("start.common-variables")
@each_row("variables", [[], "var2", 3, *({"var2": value} for value in (1, True, None, ["DEZ"], {"text": "DEZ"}))])
def test_common_variables_are_a_map_of_texts(mockserver: Sandbox, variables: Any) -> None:
    campaign_id = create(mockserver, str(variables), templateId="template_asking")

    assert (400, "VALIDATION_ERROR") == refused(start(mockserver, campaign_id, variables))
    assert "draft" == read(mockserver, campaign_id)["status"]


@pytest.mark.clause("start.missing-variables")
def test_the_reason_of_a_missing_variable_names_the_misspelt_key_that_was_ignored(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver, templateId="template_asking")
    mockserver.call("POST", f"/v1/campaigns/{campaign_id}/start", json={"variables": {"var2": "DEZ"}})

    expected = (
        "expected var2 too, by template 'template_asking'; the unknown key 'variables' is ignored; "
        "did you mean 'commonVariables'?"
    )
    assert str(mockserver.calls("startCampaign").one().reason).endswith(expected)


@pytest.mark.clause("start.once")
def test_of_concurrent_starts_exactly_one_creates_an_execution(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver)
    together = Barrier(16)

    def try_it(_: object) -> Response:
        together.wait()
        return start(mockserver, campaign_id)

    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(try_it, range(16)))

    (won,) = [reply for reply in replies if reply.status == 202]
    assert [(422, "CAMPAIGN_ALREADY_PROCESSING")] * 15 == [refused(each) for each in replies if each is not won]
    assert [won.json()["executionId"]] == [each["id"] for each in read(mockserver, campaign_id)["executions"]]
