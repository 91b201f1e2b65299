"""Open points whose other answers are seed data or an effect of a scenario instead of a choice: each is reached."""

from __future__ import annotations

import pytest

from mockserver.testing.sandbox import Sandbox

TEMPLATE = {"id": "template_t", "name": "T"}
BODY = {"name": "Spring", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"


def started(sandbox: Sandbox) -> tuple[str, str]:
    campaign = sandbox.call("POST", "/v1/campaigns", json=BODY).json()["campaignId"]
    return campaign, sandbox.call("POST", f"/v1/campaigns/{campaign}/start").json()["executionId"]


@pytest.mark.option("non-json-errors", "effect")
def test_a_proxy_before_the_service_answers_in_html(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").reply(502, HTML, {"Content-Type": "text/html"})
    reply = mockserver.call("GET", "/v1/campaigns")

    assert (reply.status, reply.headers["content-type"], reply.body) == (502, "text/html", HTML.encode())


@pytest.mark.option("media-request-limit", "effect")
def test_a_proxy_refuses_an_upload_as_too_large(mockserver: Sandbox) -> None:
    mockserver.on("uploadMedia").reply(413, "<h1>413</h1>", {"Content-Type": "text/html"})

    assert mockserver.call("POST", "/v1/messaging/media", body=b"x").status == 413
    assert mockserver.state()["tenants"][0]["media"] == []


@pytest.mark.option("failed-trigger", "effect")
@pytest.mark.mockserver(given={"templates": [TEMPLATE], "chats": {"count": 10}})
def test_a_campaign_fails_midway_and_the_other_messages_are_neither_sent_nor_failed(mockserver: Sandbox) -> None:
    mockserver.after(sent=4).fail_campaign()
    campaign, execution = started(mockserver)
    mockserver.advance(minutes=1)
    shown = mockserver.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}").json()

    assert (shown["status"], shown["sentCount"], shown["failedCount"], shown["targetCount"]) == ("failed", 4, 0, 10)


@pytest.mark.option("preview-vs-target", "effect")
@pytest.mark.mockserver(given={"templates": [TEMPLATE], "chats": {"count": 10}})
def test_an_audience_grows_between_its_preview_and_the_start(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").given({"chats": {"count": 5}})
    estimate = mockserver.call("POST", "/v1/campaigns/audience-preview", json={}).json()["estimatedCount"]
    campaign, execution = started(mockserver)
    shown = mockserver.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}").json()

    assert (estimate, shown["targetCount"]) == (10, 15)


@pytest.mark.option("provider-status-values", "effect")
@pytest.mark.parametrize("status", ["APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED"])
def test_a_template_has_each_status_of_the_provider(mockserver: Sandbox, status: str) -> None:
    mockserver.apply({"given": {"templates": [TEMPLATE | {"providerTemplateStatus": "APPROVED"}]}})
    mockserver.on("readTemplate").times(1).do({"set-template": {"status": status}})
    mockserver.call("GET", "/v1/message-templates/template_t")
    (shown,) = mockserver.call("GET", "/v1/message-templates").json()["templates"]

    assert (shown["providerTemplateStatus"], shown["isOfficial"]) == (status, status == "APPROVED")


MESSAGE_TYPES = (
    "text", "image", "audio", "video", "document", "sticker", "location", "contact", "template", "comment", "system",
    "unsupported",
)  # fmt: skip


@pytest.mark.option("message-type-values", "effect")
@pytest.mark.parametrize("kind", MESSAGE_TYPES)
def test_a_message_has_each_type(mockserver: Sandbox, kind: str) -> None:
    mockserver.apply({"given": {"chats": [{"id": "chat_a"}], "messages": [{"chatId": "chat_a", "type": kind}]}})
    (record,) = mockserver.call("GET", "/v1/messaging/chats/chat_a").json()["records"]

    assert record["type"] == kind


@pytest.mark.option("message-status-values", "effect")
@pytest.mark.parametrize("status", ["pending", "sent", "delivered", "read", "failed"])
def test_a_message_has_each_status(mockserver: Sandbox, status: str) -> None:
    mockserver.apply({"given": {"chats": [{"id": "chat_a"}], "messages": [{"chatId": "chat_a", "status": status}]}})
    (record,) = mockserver.call("GET", "/v1/messaging/chats/chat_a").json()["records"]

    assert record["status"] == status


@pytest.mark.option("entrypoint-platforms", "effect")
@pytest.mark.parametrize("platform", ["chatapp", "chatapp_lite", "photoapp", "botapp"])
def test_an_entrypoint_has_each_platform(mockserver: Sandbox, platform: str) -> None:
    mockserver.apply({"given": {"entrypoints": [{"id": "entrypoint_e", "platform": platform}]}})

    shown = mockserver.call("GET", "/v1/entrypoints/entrypoint_e").json()["entrypoint"]
    assert shown["platform"] == platform
