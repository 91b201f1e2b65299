"""A small tenant with its neighbour, one successful call of each operation, and what an error body must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockserver.contract.errors import ERRORS
from tests.clients.operations import SESSIONS

if TYPE_CHECKING:
    from mockserver import Sandbox
    from mockserver.testing.transports.in_process import Response
    from tests.harness.access import Answer

GIVEN: dict[str, Any] = {
    "funnels": [{"id": "funnel_sales", "steps": [{"id": "funnel_step_first"}]}],
    "entrypoints": [
        {
            "id": "entrypoint_desk",
            "name": "Recepção",
            "platform": "chatapp",
            "displayName": "Clínica Sabiá",
            "displayPhone": "+55 11 5550-0101",
            "funnelStepId": "funnel_step_first",
            "isCoexistence": True,
        }
    ],
    "templates": [
        {"id": "template_plain", "items": [{"type": "text", "text": "Olá!"}]},
        {"id": "template_official", "isOfficial": True, "items": [{"type": "text", "text": "Olá!"}]},
        {
            "id": "template_coupon",
            "items": [{"type": "text", "text": "Use {{1}}"}],
            "variables": [{"key": "var1", "label": "Cupom", "required": True}],
        },
    ],
    "chats": [{"id": "chat_ana", "name": "Ana"}, {"id": "chat_bia"}, {"id": "chat_caio"}],
    "messages": [{"chatId": "chat_ana", "id": "message_ana", "text": "Oi"}],
    "forms": [{"id": "form_visit", "iframeEmbedAllowedOrigins": ["https://www.clinica.example"]}],
    "tenants": [
        {
            "id": "tenant_other",
            "secretKey": "sk_other_secret",
            "publicKey": "pk_other_public",
            "entrypoints": [{"id": "entrypoint_other"}],
            "templates": [{"id": "template_other"}],
            "chats": [{"id": "chat_other"}],
            "forms": [{"id": "form_other", "iframeEmbedAllowedOrigins": ["https://other.example"]}],
        }
    ],
}
OTHER_KEY = "sk_other_secret"

DRAFT: dict[str, Any] = {"name": "Março", "platform": "chatapp", "templateId": "template_plain", "cadence": 60}

# The sixteen operations as the document lists them; the ids of campaigns, executions and sessions are unknown ones.
OPERATIONS = {
    "listTemplates": ("GET", "/v1/message-templates"),
    "readTemplate": ("GET", "/v1/message-templates/template_plain"),
    "readFilterSchema": ("GET", "/v1/campaigns/filters/schema"),
    "previewAudience": ("POST", "/v1/campaigns/audience-preview"),
    "createCampaign": ("POST", "/v1/campaigns"),
    "listCampaigns": ("GET", "/v1/campaigns"),
    "readCampaign": ("GET", "/v1/campaigns/campaign_none"),
    "readExecution": ("GET", "/v1/campaigns/campaign_none/executions/execution_none"),
    "startCampaign": ("POST", "/v1/campaigns/campaign_none/start"),
    "cancelCampaign": ("POST", "/v1/campaigns/campaign_none/cancel"),
    "createConnectionSession": ("POST", SESSIONS),
    "readConnectionSession": ("GET", f"{SESSIONS}/session_none"),
    "readEntrypoint": ("GET", "/v1/entrypoints/entrypoint_desk"),
    "uploadMedia": ("POST", "/v1/messaging/media"),
    "listMessages": ("GET", "/v1/messaging/chats/chat_ana"),
    "readFormPolicy": ("GET", "/v1/forms/form_visit/embed-frame-policy"),
}

_BOUNDARY = "a-line-that-no-file-holds"
MULTIPART = f"multipart/form-data; boundary={_BOUNDARY}"


def form(*files: tuple[str, str, bytes], field: str = "files") -> bytes:
    """A multipart body of these files, each a name, a type and its content; its type is `MULTIPART`."""
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
        f"Content-Type: {kind}\r\n\r\n".encode()
        + content
        + b"\r\n"
        for name, kind, content in files
    ]
    return b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode()


def upload(sandbox: Sandbox, *files: tuple[str, str, bytes]) -> Response:
    return sandbox.call("POST", "/v1/messaging/media", body=form(*files), headers={"Content-Type": MULTIPART})


def refused(reply: Response | Answer) -> tuple[int, str]:
    """The status and code of a refusal, whose body is exactly the documented one."""
    body = reply.json()

    assert {"statusCode", "code", "message"} == set(body), body
    assert reply.status == body["statusCode"]
    assert type(body["statusCode"]) is int
    assert isinstance(body["message"], str)
    assert body["code"] in ERRORS
    assert "application/json" == reply.headers["content-type"].partition(";")[0]
    return reply.status, body["code"]


def draft(sandbox: Sandbox, *, key: str | None = None, **fields: Any) -> str:
    """The id of a new draft campaign."""
    reply = sandbox.call("POST", "/v1/campaigns", key=key, json=DRAFT | fields)
    assert 201 == reply.status, reply.body
    return str(reply.json()["campaignId"])


def campaigns_in_each_status(sandbox: Sandbox) -> dict[str, str]:
    """The id of a campaign in each status, by its name, which is the status."""
    ids = {name: draft(sandbox, name=name) for name in ("draft", "processing", "completed", "canceled", "failed")}
    for name in ("completed", "failed"):
        sandbox.call("POST", f"/v1/campaigns/{ids[name]}/start")
    sandbox.admin.fail_campaign(ids["failed"])
    sandbox.advance(until="idle")
    sandbox.call("POST", f"/v1/campaigns/{ids['processing']}/start")
    sandbox.call("POST", f"/v1/campaigns/{ids['canceled']}/cancel")
    return ids


def running(sandbox: Sandbox, *, key: str | None = None, **fields: Any) -> tuple[str, str]:
    """The ids of a new campaign that is processing, and of its execution."""
    campaign_id = draft(sandbox, key=key, **fields)
    reply = sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start", key=key)
    assert 202 == reply.status, reply.body
    return campaign_id, str(reply.json()["executionId"])


def session(sandbox: Sandbox, *, key: str | None = None, **fields: Any) -> str:
    """The id of a new connection session."""
    reply = sandbox.call("POST", SESSIONS, key=key, json=fields)
    assert 202 == reply.status, reply.body
    return str(reply.json()["sessionId"])


def every_success(sandbox: Sandbox) -> dict[str, Response]:
    """One call of each operation, all of which succeed; in the order of the document."""
    call = sandbox.call
    replies = {
        operation: call(*OPERATIONS[operation])
        for operation in ("listTemplates", "readTemplate", "readFilterSchema", "previewAudience")
    }
    replies["createCampaign"] = call("POST", "/v1/campaigns", json=DRAFT)
    replies["listCampaigns"] = call("GET", "/v1/campaigns")
    at = f"/v1/campaigns/{replies['createCampaign'].json()['campaignId']}"
    replies["readCampaign"] = call("GET", at)
    replies["startCampaign"] = call("POST", f"{at}/start")
    execution_id = replies["startCampaign"].json()["executionId"]
    replies["readExecution"] = call("GET", f"{at}/executions/{execution_id}")
    replies["cancelCampaign"] = call("POST", f"{at}/cancel")
    replies["createConnectionSession"] = call("POST", SESSIONS, json={})
    session_id = replies["createConnectionSession"].json()["sessionId"]
    replies["readConnectionSession"] = call("GET", f"{SESSIONS}/{session_id}")
    replies["readEntrypoint"] = call(*OPERATIONS["readEntrypoint"])
    replies["uploadMedia"] = upload(sandbox, ("nota.txt", "text/plain", b"nota"))
    replies["listMessages"] = call(*OPERATIONS["listMessages"])
    replies["readFormPolicy"] = call(*OPERATIONS["readFormPolicy"])
    assert set(OPERATIONS) == set(replies)
    return replies
