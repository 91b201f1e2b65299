"""One life of a service that keeps the document, as a HAR whose entries have names: what the lies of a table bend."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from mockserver import Sandbox, sample_file
from mockserver._json import JSON
from mockserver.trace.reading import read_recording
from mockserver.trace.trace import Trace
from tests.recordings.hars import har
from tests.recordings.random_lives import SESSIONS, Recorder

CAMPAIGNS = "/v1/campaigns"
_MESSAGES = [
    {"id": f"message_{n}", "chatId": "chat_ana", "text": f"Mensagem {n}", "createdAt": f"2026-03-01T10:0{n}:00Z"}
    for n in range(6)
]
# Three chats of another channel, whose sends fail, are the first of the audience.
GIVEN: JSON = {
    "templates": [
        {"id": "template_hello"},
        {"id": "template_asking", "items": [{"text": "{{1}}"}], "variables": [{"key": "var1", "required": True}]},
        {"id": "template_official", "isOfficial": True},
    ],
    "funnels": [{"id": "funnel_1", "steps": [{"id": "funnel_step_1"}]}],
    "chats": [
        {"id": "chat_ana", "platform": "photoapp"}, {"id": "chat_bia", "platform": "photoapp"}, {"id": "chat_caio", "platform": "photoapp"},
        *({"id": f"chat_{n}", "platform": "chatapp"} for n in range(87)),
    ],
    "messages": _MESSAGES,
}  # fmt: skip


FILTERS: list[JSON] = [
    {"combinator": "and", "statements": [{"field": "chat.platform", "operator": "equals", "value": "chatapp"}]}
]


class Bent:
    """
    The life, in which a lie changes one answer or delivery.

    Attributes:
        entries: The entries of the HAR by their names, in order.
    """

    def __init__(self, entries: dict[str, JSON]) -> None:
        self.entries = copy.deepcopy(entries)

    def answer(self, name: str) -> Any:
        """Return the JSON of an answer."""
        return json.loads(self.entries[name]["response"]["content"]["text"])

    def reply(self, name: str, body: Any, status: int | None = None) -> None:
        """Replace the body of an answer, and its status."""
        response = self.entries[name]["response"]
        response["content"]["text"] = "" if body is None else json.dumps(body)
        response["status"] = response["status"] if status is None else status

    def change(self, name: str, change: Callable[[Any], Any]) -> None:
        """Change the body of an answer in place."""
        body = self.answer(name)
        change(body)
        self.reply(name, body)

    def send(self, name: str, body: Any) -> None:
        """Replace the body that a call sent."""
        self.entries[name]["request"]["postData"] = {"mimeType": "application/json", "text": json.dumps(body)}

    def event(self, name: str, change: Callable[[Any], Any]) -> None:
        """Change the body of a delivery in place."""
        posted = self.entries[name]["request"]["postData"]
        body = json.loads(posted["text"])
        change(body)
        posted["text"] = json.dumps(body)

    def recording(self, folder: Path) -> Trace:
        """Return the recording."""
        file = folder / "life.har"
        file.write_text(json.dumps(har(*self.entries.values())), encoding="utf-8")
        return read_recording(file)

    def index(self, name: str, recording: Trace) -> tuple[str, int]:
        """Return whether an entry is an exchange or a delivery, and its index in the recording."""
        entry = self.entries[name]
        deliveries = [row for row in self.entries.values() if row["request"]["url"].endswith("/hooks")]
        if any(entry is row for row in deliveries):
            return "delivery", 1 + next(n for n, row in enumerate(deliveries) if row is entry)
        calls = [row for row in self.entries.values() if not any(row is other for other in deliveries)]
        return "exchange", 1 + next(n for n, row in enumerate(calls) if row is entry)


class _Writer:
    """Lives the life, and names its entries."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.recorder = Recorder(sandbox, random.Random(1), 1)
        self.entries: dict[str, JSON] = {}
        self._events = 0

    def call(self, name: str, call: str, sent: Any = None, **more: Any) -> Any:
        method, _, path = call.partition(" ")
        before = len(self.recorder.entries)
        answer = self.recorder.call(method, path, sent=sent, **more)
        self._name(name, before)
        return answer

    def _name(self, name: str, start: int) -> None:
        for row in self.recorder.entries[start:]:
            if row["request"]["url"].endswith("/hooks"):
                self._events += 1
                self.entries[f"event {self._events}"] = row
            else:
                self.entries[name] = row

    def wait(self, seconds: float) -> None:
        before = len(self.recorder.entries)
        self.recorder.now_ms += round(seconds * 1000)
        self.sandbox.advance(timedelta(seconds=seconds))
        self._name("", before)

    def end(self, end: Callable[[str], Any], session: str) -> None:
        before = len(self.recorder.entries)
        end(session)
        self._name("", before)
        self.wait(4)


def honest_life(sandbox: Sandbox) -> dict[str, JSON]:
    """Return the entries of the life by their names; no answer contradicts another."""
    life = _Writer(sandbox)
    sandbox.freeze("2026-03-01T12:00:00Z")
    sandbox.apply({"given": GIVEN})
    sandbox.receive_webhooks(lambda request: life.recorder.receive(request) and 204)
    _campaigns(life)
    _sessions(life)
    _content(life)
    return life.entries


def _draft(name: str, template: str = "template_hello", **more: Any) -> JSON:
    return {"name": name, "platform": "chatapp", "templateId": template, "cadence": 60, **more}


def _campaigns(life: _Writer) -> None:
    call = life.call
    call("empty list", f"GET {CAMPAIGNS}")
    call("templates first", "GET /v1/message-templates")
    call("template first", "GET /v1/message-templates/template_asking")
    call("preview", f"POST {CAMPAIGNS}/audience-preview", {"filters": FILTERS})
    a = call("create A", f"POST {CAMPAIGNS}", _draft("A", description="Uma"))["campaignId"]
    b = call("create B", f"POST {CAMPAIGNS}", _draft("B", "template_asking"))["campaignId"]
    call("create B again", f"POST {CAMPAIGNS}", _draft("B"))
    call("create D badly", f"POST {CAMPAIGNS}", _draft("D", cadence=0))
    call("list 1", f"GET {CAMPAIGNS}")
    call("start B badly", f"POST {CAMPAIGNS}/{b}/start", {})
    call("read B", f"GET {CAMPAIGNS}/{b}")
    execution = call("start A", f"POST {CAMPAIGNS}/{a}/start")["executionId"]
    call("read A 1", f"GET {CAMPAIGNS}/{a}")
    life.wait(30)
    call("poll A 1", f"GET {CAMPAIGNS}/{a}/executions/{execution}")
    call("start A again", f"POST {CAMPAIGNS}/{a}/start")
    life.wait(30)
    call("poll A 2", f"GET {CAMPAIGNS}/{a}/executions/{execution}")
    call("read A 2", f"GET {CAMPAIGNS}/{a}")
    call("cancel B", f"POST {CAMPAIGNS}/{b}/cancel")
    call("read B canceled", f"GET {CAMPAIGNS}/{b}")
    c = call("create C", f"POST {CAMPAIGNS}", _draft("C", filters=FILTERS))["campaignId"]
    other = call("start C", f"POST {CAMPAIGNS}/{c}/start")["executionId"]
    life.wait(10)
    call("cancel C", f"POST {CAMPAIGNS}/{c}/cancel")
    call("read C canceled", f"GET {CAMPAIGNS}/{c}")
    call("poll C", f"GET {CAMPAIGNS}/{c}/executions/{other}")
    call("start C after cancel", f"POST {CAMPAIGNS}/{c}/start")
    life.wait(120)
    call("read A completed", f"GET {CAMPAIGNS}/{a}")
    call("poll A completed", f"GET {CAMPAIGNS}/{a}/executions/{execution}")
    call("cancel A completed", f"POST {CAMPAIGNS}/{a}/cancel")
    call("list 2", f"GET {CAMPAIGNS}")
    call("read A late", f"GET {CAMPAIGNS}/{a}")
    call("poll A late", f"GET {CAMPAIGNS}/{a}/executions/{execution}")


def _sessions(life: _Writer) -> None:
    call, sandbox = life.call, life.sandbox
    sent = {"funnelId": "funnel_1", "funnelStepId": "funnel_step_1", "coexistence": True}
    one = call("connect 1", f"POST {SESSIONS}", sent)["sessionId"]
    call("session 1 pending", f"GET {SESSIONS}/{one}")
    life.end(sandbox.complete_session, one)
    entrypoint = call("session 1 completed", f"GET {SESSIONS}/{one}")["entrypoint"]["id"]
    call("entrypoint", f"GET /v1/entrypoints/{entrypoint}")
    life.wait(4)
    call("session 1 again", f"GET {SESSIONS}/{one}")
    two = call("connect 2", f"POST {SESSIONS}")["sessionId"]
    call("session 2 pending", f"GET {SESSIONS}/{two}")
    life.end(sandbox.fail_session, two)
    call("session 2 failed", f"GET {SESSIONS}/{two}")
    call("session 2 again", f"GET {SESSIONS}/{two}")
    three = call("connect 3", f"POST {SESSIONS}", {})["sessionId"]
    life.end(sandbox.complete_session, three)
    call("session 3 completed", f"GET {SESSIONS}/{three}")
    four = call("connect 4", f"POST {SESSIONS}", {})["sessionId"]
    life.wait(1_202)
    call("session 4 expired", f"GET {SESSIONS}/{four}")
    life.wait(300)
    call("session 4 again", f"GET {SESSIONS}/{four}")
    life.wait(300)
    call("session 4 late", f"GET {SESSIONS}/{four}")


def _content(life: _Writer) -> None:
    call = life.call
    call("templates 1", "GET /v1/message-templates")
    call("template", "GET /v1/message-templates/template_asking")
    call("templates 2", "GET /v1/message-templates")
    for name, key in (
        ("schema", life.sandbox.secret_key),
        ("schema, public key", life.sandbox.public_key),
        ("schema, no key", ""),
    ):
        call(name, "GET /v1/campaigns/filters/schema", key=key)
    chat, cursor = "/v1/messaging/chats/chat_ana?limit=2", ""
    call("all messages", "GET /v1/messaging/chats/chat_ana")
    for number in (1, 2, 3):
        page = call(f"page {number}", f"GET {chat}{cursor}")
        cursor = f"&cursor={page['nextCursor']}"
    call("all messages again", "GET /v1/messaging/chats/chat_ana")
    png, boundary = sample_file("image/png"), "limite"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    for number in (1, 2):
        body = head.encode() + png + f"\r\n--{boundary}--\r\n".encode()
        call(f"upload {number}", "POST /v1/messaging/media", body=body, headers=headers)
