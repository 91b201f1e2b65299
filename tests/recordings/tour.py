"""A tour of the API that shows most choices, as a recording."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mockserver import MockServer, Sandbox, sample_file
from mockserver.trace.reading import read_recording
from mockserver.trace.trace import Trace
from tests.probe.worlds import MORE_CHATS, NOW, THIRDS

TEMPLATES: Final = (
    "template_revisao_semestral", "template_semana_clareamento", "template_atualizacao_cadastro", "template_pesquisa_satisfacao",
    "template_unknown",
)  # fmt: skip
PAST: Final = [
    {"id": f"campaign_past_{status}", "name": f"past {status}", "status": status, "startedAt": "2026-02-20T12:00:00Z", "filters": THIRDS,
     "platform": "chatapp_lite", "cadence": 1, "templateId": "template_atualizacao_cadastro",
     **({"completedAt": "2026-02-20T12:01:30Z"} if status != "completed" else {})}
    for status in ("completed", "failed", "canceled")
]  # fmt: skip
SESSIONS: Final = "/v1/entrypoints/chatapp/connection-sessions"
MESSAGES: Final = [
    {"chatId": "chat_helena", "type": kind, "text": text, "createdAt": f"2026-02-2{n}T12:00:00Z"}
    for n, (kind, text) in enumerate((("text", "Oi"), ("image", ""), ("text", "Tudo bem?"), ("system", "entrou")))
]


def _statement(field: str, operator: str, value: Any) -> Mapping[str, Any]:
    row = {"field": field, "operator": operator} | ({} if value is None else {"value": value})
    return {"filters": [{"combinator": "and", "statements": [row]}]}


NO_CHAT: Final = _statement("chat.tagIds", "has-any", ["tag_of_none"])["filters"]
PREVIEWS: Final[tuple[Mapping[str, Any], ...]] = (
    {}, {}, {"filters": []}, {"filters": None}, {"filters": [{"combinator": "and", "statements": []}]}, {"filters": [{"statements": []}]},
    {"unknown": 1}, _statement("chat.platform", "equals", "telegraph"), _statement("chat.platform", "contains", "app"),
    _statement("chat.virtual.lastMessageAt", "greater-than", "2026-01-01"), _statement("chat.virtual.lastMessageAt", "greater-than", "2026-01-01T00:00:00-03:00"),
    _statement("chat.nothing", "equals", 1), _statement("chat.isAnswered", "equals", True),
)  # fmt: skip


class Tour:
    """The calls of an ordinary integration, and those whose answers are open, in an order that shows most choices."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def call(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """Call with the secret key; return the JSON of a success, else an empty object."""
        response = self.sandbox.call(method, path, json=json, **more)
        return response.json() if 200 <= response.status < 300 and response.body else {}

    def read_pages(self, limit: int) -> None:
        """Read at most four pages of a chat's messages."""
        cursor = ""
        for _ in range(4):
            answer = self.call("GET", f"/v1/messaging/chats/chat_helena?limit={limit}{cursor}")
            if not answer.get("nextCursor"):
                return
            cursor = f"&cursor={answer['nextCursor']}"

    def upload(self, content: bytes, kind: str) -> None:
        """Upload a text, and a file with this header of its type."""
        body = b"".join(
            [b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\noi\r\n',
             f'--x\r\nContent-Disposition: form-data; name="files"; filename="b.png"{kind}\r\n\r\n'.encode(), content, b"\r\n--x--\r\n"]
        )  # fmt: skip
        self.call("POST", "/v1/messaging/media", body=body, headers={"Content-Type": "multipart/form-data; boundary=x"})

    def create(self, name: str, template: str = "template_atualizacao_cadastro", **more: Any) -> str:
        """Create a campaign and return its id."""
        body = {"name": name, "platform": "chatapp_lite", "templateId": template, "cadence": 60, **more}
        return str(self.call("POST", "/v1/campaigns", body).get("campaignId"))

    def start(self, campaign: str, **values: str) -> str:
        """Start a campaign and return the id of its execution."""
        body = {"commonVariables": values} if values else {}
        return str(self.call("POST", f"/v1/campaigns/{campaign}/start", body).get("executionId"))

    def read(self, campaign: str, *execution: str) -> None:
        """Read a campaign, or its execution."""
        self.call("GET", "/".join([f"/v1/campaigns/{campaign}", *(f"executions/{id}" for id in execution)]))

    def cancel(self, campaign: str) -> None:
        """Cancel a campaign."""
        self.call("POST", f"/v1/campaigns/{campaign}/cancel")

    def templates_and_audiences(self) -> None:
        """Read each template, and count audiences."""
        for path in ("/v1/message-templates", *(f"/v1/message-templates/{id}" for id in TEMPLATES)):
            self.call("GET", path)
        for body in PREVIEWS:
            self.call("POST", "/v1/campaigns/audience-preview", body)
        self.call("POST", "/v1/campaigns/audience-preview", headers={"Content-Type": "application/json"})

    def drafts(self) -> None:
        """Create drafts with similar names, and cancel one."""
        draft = self.create("draft")
        for name in ("DRAFT", " draft", "draft"):
            self.create(name)
        self.call("POST", "/v1/campaigns", {"name": "no platform", "templateId": TEMPLATES[2], "cadence": 1})
        self.create("unknown template", "template_unknown")
        for _ in range(2):
            self.cancel(draft)
            self.read(draft)
        self.create("draft")

    def runs(self) -> None:
        """Start campaigns in each way, poll them, cancel one, and read how they ended."""
        for name, template, values in (("extra", TEMPLATES[2], {"var9": "x"}), ("none", TEMPLATES[2], {})):
            self.start(self.create(name, template), **values)
        self.start(self.create("empty value", TEMPLATES[0], platform="chatapp"), var3="")
        unapproved = self.create("unapproved", TEMPLATES[3], filters=THIRDS)
        self.start(unapproved)
        done = self.create("done", filters=THIRDS)
        execution = self.start(done)
        self.sandbox.advance(seconds=1)
        self.read(done)
        self.start(done)
        self.read(done)
        self.read(done, execution)
        self.sandbox.advance(minutes=5)
        for campaign in (unapproved, done):
            self.read(campaign)
        self.read(done, execution)
        self.cancel(done)
        long = self.create("long", cadence=50)
        execution = self.start(long, var9="x")
        for seconds in (3, 7):
            self.sandbox.advance(seconds=seconds)
            self.read(long, execution)
        self.cancel(long)
        for seconds in (0, 2, 70):
            self.sandbox.advance(seconds=seconds)
            self.read(long, execution)
            self.read(long)
        empty = self.create("no chat", filters=NO_CHAT)
        self.read(empty, self.start(empty))
        self.read(empty)
        self.call("GET", "/v1/campaigns")

    def connections(self) -> None:
        """Create sessions, and read how they end."""
        funnel = {"funnelId": "funnel_retorno", "funnelStepId": "unknown"}
        for body in ({}, {"funnelId": "funnel_retorno"}, funnel, {"returnUrl": "http://localhost/done"}):
            self.call("POST", SESSIONS, body)
        for end in ("complete", "fail", "expire"):
            session = self.call("POST", SESSIONS, {})["sessionId"]
            self.call("GET", f"{SESSIONS}/{session}")
            getattr(self.sandbox, f"{end}_session")(session)
            entrypoint = self.call("GET", f"{SESSIONS}/{session}").get("entrypoint")
            if entrypoint:
                self.call("GET", f"/v1/entrypoints/{entrypoint['id']}")
        self.call("GET", "/v1/entrypoints/entrypoint_robo")

    def contents(self) -> None:
        """Read what does not exist, the pages of a chat, and upload files."""
        for path in (
            "/v1/campaigns/unknown", "/v1/campaigns/campaign_past_failed/executions/unknown", f"{SESSIONS}/unknown",
            "/v1/message-templates/template_vizinha_buque", "/v1/campaigns/campaign_past_failed",
        ):  # fmt: skip
            self.call("GET", path)
        for limit in (1, 2, 50):
            self.read_pages(limit)
        for content in (b"plain text", bytes(range(256)), sample_file("image/png")):
            for kind in ("\r\nContent-Type: image/png", ""):
                self.upload(content, kind)

    def whole(self) -> None:
        """Make all calls."""
        self.templates_and_audiences()
        self.drafts()
        self.runs()
        self.connections()
        self.contents()


def toured(server: MockServer, chosen: Mapping[str, object], folder: Path) -> Trace:
    """Return the recording of a tour of a sandbox under these choices."""
    with server.sandbox("demo", choices=dict(chosen), now=NOW) as sandbox:
        sandbox.apply({"given": {"chats": MORE_CHATS, "campaigns": PAST, "messages": MESSAGES}})
        sandbox.receive_webhooks(lambda request: 204)
        Tour(sandbox).whole()
        file = folder / "tour.har"
        file.write_text(json.dumps(sandbox.log.har()), encoding="utf-8")
    return read_recording(file)
