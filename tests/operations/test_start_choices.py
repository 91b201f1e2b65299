"""Starting a campaign where the document is silent: sizes, empty audiences, odd variables, unapproved templates."""

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.options import each_option, in_force
from tests.harness.rows import each_row
from tests.operations.campaigning import (
    NOBODY,
    NOON,
    counts,
    create,
    entry,
    messages,
    progress,
    read,
    run,
    start,
    statuses,
)
from tests.operations.world import refused

ASKING = {
    "id": "template_asking",
    "items": [{"text": "{{1}}, {{2}}{{9}}"}],  # a placeholder that no variable declares is blank
    "variables": [{"key": "var1", "source": "chat.name"}, {"key": "var2", "label": "Cupom", "required": True}],
}
CHATS = [{"id": "chat_ana", "name": "Ana"}, {"id": "chat_bia", "name": "Bia"}]
pytestmark = pytest.mark.mockserver(now=NOON, given={"templates": [{"id": "template_plain"}, ASKING], "chats": CHATS})
TOO_LARGE = (422, "CAMPAIGN_SIZE_LIMIT_EXCEEDED")


@pytest.mark.clause("start.size")
@pytest.mark.parametrize(("platform", "limit"), [("chatapp", 2000), ("photoapp", 1000), ("chatapp_lite", 1000)])
def test_an_audience_of_exactly_the_platforms_volume_starts_and_one_more_does_not(
    mockserver_server: MockServer, platform: str, limit: int
) -> None:
    given = {"templates": [{"id": "template_plain"}], "chats": {"count": limit, "each": {"platform": platform}}}
    with mockserver_server.sandbox(now=NOON, given=given) as sandbox:
        ids = run(sandbox, name="Fits", platform=platform)
        sandbox.apply({"given": {"chats": [{"platform": "botapp"}]}})
        campaign_id = create(sandbox, name="Too large", platform=platform)

        assert limit == progress(sandbox, ids)["targetCount"]
        assert TOO_LARGE == refused(start(sandbox, campaign_id))
        assert ("draft", []) == (read(sandbox, campaign_id)["status"], read(sandbox, campaign_id)["executions"])


@pytest.mark.clause("start.size")
def test_the_volume_is_the_platforms_and_the_audience_the_filters(mockserver: Sandbox) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 1, "photoapp": 2, "chatapp_lite": None}})
    vips = [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "equals", "value": "vip"}]}]
    mockserver.apply({"given": {"chats": [{"status": "vip"}]}})

    assert {"estimatedCount": 3} == mockserver.call("POST", "/v1/campaigns/audience-preview", json={}).json()
    assert TOO_LARGE == refused(start(mockserver, create(mockserver, "a", platform="chatapp")))
    assert TOO_LARGE == refused(start(mockserver, create(mockserver, "b", platform="photoapp")))
    assert 202 == start(mockserver, create(mockserver, "c", platform="chatapp_lite")).status
    assert 202 == start(mockserver, create(mockserver, "d", platform="chatapp", filters=vips)).status


@pytest.mark.clause("start.size")
@each_option("second", "size-limit-base", {"absolute": 202, "moving-day": 422})
def test_what_was_sent_in_the_last_day_counts_by_choice(mockserver: Sandbox, second: int) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 3, "photoapp": 3}})
    run(mockserver, name="First")
    mockserver.advance(until="idle")
    campaign_id = create(mockserver, "Second")

    assert second == start(mockserver, campaign_id).status
    assert 202 == start(mockserver, create(mockserver, "Elsewhere", platform="photoapp")).status


@pytest.mark.clause("start.size")
@pytest.mark.option("size-limit-base", "moving-day")
def test_a_rolling_day_drops_each_send_a_day_after_it(mockserver: Sandbox) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 3}, "size-limit-base": "moving-day"})
    run(mockserver, name="First", cadence=1)  # the second send a minute after the first
    campaign_id = create(mockserver, "Second")

    mockserver.advance(to="2026-03-02T11:59:59.999999Z")
    assert TOO_LARGE == refused(start(mockserver, campaign_id))
    mockserver.advance(to="2026-03-02T12:00:00.000001Z")
    assert 202 == start(mockserver, campaign_id).status


@pytest.mark.clause("start.size")
@pytest.mark.option("size-limit-base", "moving-day")
def test_the_message_of_a_moving_day_has_what_is_left_of_the_limit(mockserver: Sandbox) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 3}, "size-limit-base": "moving-day"})
    run(mockserver, name="First")
    mockserver.advance(until="idle")
    answer = start(mockserver, create(mockserver, "Second"))

    expected = "O público tem 2 conversas e o limite estimado para 24 horas é 1. Ajuste os filtros."
    assert expected == answer.json()["message"]


@pytest.mark.clause("start.size")
@pytest.mark.option("size-limit-base", "moving-day")
def test_a_moving_day_counts_no_send_that_failed_or_is_still_queued(mockserver: Sandbox) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 3, "photoapp": 3}, "size-limit-base": "moving-day"})
    failed = run(mockserver, name="Failed", platform="photoapp")
    run(mockserver, name="First", cadence=1)  # two sends, of which one is made
    mockserver.advance(2)

    assert (2, 0, 2) == counts(mockserver, failed)
    for platform, name in (("photoapp", "Second"), ("chatapp", "Third")):
        assert 202 == start(mockserver, create(mockserver, name, platform=platform)).status
    assert TOO_LARGE == refused(start(mockserver, create(mockserver, "Fourth")))


@pytest.mark.clause("send.progress", "send.completed")
@pytest.mark.option("start-empty-audience", "complete")
def test_an_empty_audience_completes_with_nothing_sent(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver, filters=NOBODY)
    reply = start(mockserver, campaign_id)
    ids = (campaign_id, reply.json()["executionId"])

    assert (202, "processing") == (reply.status, reply.json()["status"])
    assert ("completed", "completed") == statuses(mockserver, ids)
    assert (0, 0, 0) == counts(mockserver, ids)
    assert 100 == progress(mockserver, ids)["progress"]
    assert entry(mockserver, campaign_id)["startedAt"] == entry(mockserver, campaign_id)["completedAt"]


@pytest.mark.clause("start.refused-changes-nothing")
@in_force("start-empty-audience", "unprocessable")
def test_an_empty_audience_may_be_refused(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver, filters=NOBODY)
    before = mockserver.state()

    assert (422, "UNPROCESSABLE_REQUEST") == refused(start(mockserver, campaign_id))
    assert before == mockserver.state()


@pytest.mark.clause("send.failed")
@in_force("start-empty-audience", "failed")
def test_an_empty_audience_may_fail_the_campaign(mockserver: Sandbox) -> None:
    ids = run(mockserver, filters=NOBODY)

    assert ("failed", "failed") == statuses(mockserver, ids)
    assert (0, 0, 0) == counts(mockserver, ids)


@pytest.mark.clause("start.common-variables", "templates.automatic")
@pytest.mark.option("common-vars-extra-keys", "ignore")
@each_row("extra", [{"var1": "Somebody"}, {"var9": "x"}, {"coupon": "x"}])
def test_values_that_the_template_does_not_use_are_ignored(mockserver: Sandbox, extra: JSON) -> None:
    run(mockserver, {"var2": "DEZ", **extra}, name=str(extra), templateId="template_asking")

    assert "Ana, DEZ" == messages(mockserver, "chat_ana")[0]["text"]


@pytest.mark.clause("start.common-variables")
@in_force("common-vars-extra-keys", "reject")
@each_row("extra", [{"var1": "Somebody"}, {"var9": "x"}, {"coupon": "x"}])
def test_values_that_the_template_does_not_use_may_be_refused(mockserver: Sandbox, extra: JSON) -> None:
    campaign_id = create(mockserver, str(extra), templateId="template_asking")
    before = mockserver.state()

    assert (400, "VALIDATION_ERROR") == refused(start(mockserver, campaign_id, {"var2": "DEZ", **extra}))
    assert before == mockserver.state()
    assert 202 == start(mockserver, campaign_id, {"var2": "DEZ"}).status


@pytest.mark.clause("start.common-variables", "send.failures")
@in_force("common-vars-extra-keys", "fail-sends")
@pytest.mark.parametrize(("extra", "expected"), [({"var9": "x"}, (2, 0, 2)), ({}, (2, 2, 0))])
def test_values_that_the_template_does_not_use_may_fail_every_send(
    mockserver: Sandbox, extra: JSON, expected: tuple[int, int, int]
) -> None:
    ids = run(mockserver, {"var2": "DEZ", **extra}, templateId="template_asking")
    mockserver.advance(until="idle")

    assert expected == counts(mockserver, ids)


@pytest.mark.clause("start.common-variables", "start.missing-variables")
@each_option(
    ("status", "texts"), "common-vars-empty", {"accept": (202, ["Ana,  ", "Ana, "]), "missing": (400, ["Ana,  "])}
)
def test_an_empty_text_is_a_value_or_counts_as_missing(mockserver: Sandbox, status: int, texts: list[str]) -> None:
    campaign_id = create(mockserver, templateId="template_asking")

    assert status == start(mockserver, campaign_id, {"var2": ""}).status
    run(mockserver, {"var2": " "}, name="Blank", templateId="template_asking")
    assert texts == [each["text"] for each in messages(mockserver, "chat_ana")]


UNAPPROVED = ["PENDING", "REJECTED", "PAUSED", "DISABLED"]


def _with_template(mockserver: Sandbox, status: str) -> str:
    id = f"template_{status.lower()}"
    mockserver.apply({"given": {"templates": [{"id": id, "providerTemplateStatus": status}]}})
    return create(mockserver, status, templateId=id)


@pytest.mark.clause("send.failures", "templates.status")
@pytest.mark.option("unapproved-template", "sends-fail")
@each_row("status", UNAPPROVED)
def test_an_unapproved_template_starts_and_its_sends_fail_at_their_pace(mockserver: Sandbox, status: str) -> None:
    campaign_id = _with_template(mockserver, status)
    ids = (campaign_id, start(mockserver, campaign_id).json()["executionId"])

    assert (2, 0, 1) == counts(mockserver, ids)
    mockserver.advance(until="idle")
    assert (2, 0, 2) == counts(mockserver, ids)
    assert ("completed", "completed") == statuses(mockserver, ids)
    assert [] == messages(mockserver, "chat_ana")


@each_row("status", UNAPPROVED)
@each_option(
    "expected",
    "unapproved-template",
    {"unprocessable": (422, "UNPROCESSABLE_REQUEST"), "not-found": (404, "MESSAGE_TEMPLATE_NOT_FOUND")},
)
@pytest.mark.clause("start.refused-changes-nothing")
def test_an_unapproved_template_may_refuse_the_start(
    mockserver: Sandbox, expected: tuple[int, str], status: str
) -> None:
    campaign_id = _with_template(mockserver, status)
    before = mockserver.state()

    assert expected == refused(start(mockserver, campaign_id))
    assert before == mockserver.state()
