"""Random lives of a sandbox under random choices, as a client's recorder would have them."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

from mockserver import MockServer, Sandbox, sample_file
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.trace.reading import read_recording
from mockserver.trace.trace import Trace
from tests.properties.playing import GIVEN as SOME_CHATS
from tests.properties.playing import TEMPLATES, TENANTS
from tests.recordings.hars import entry, har

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
ADDRESS = "https://crm.example"
EPOCH_MS = 1_772_366_400_000 + 7_654  # the recorder's clock is not the service's
# Not `reply` and `stale`, which put another answer in place of the service's own.
FAULTS: Sequence[JSON] = (
    {"drop": "after"}, {"drop": "before"}, {"reset": "after"}, {"error": "INTERNAL_ERROR"}, {"error": {"code": "RATE_LIMIT_EXCEEDED", "retryAfter": 5}},
    {"truncate": 20}, {"garble": True}, {"bad-gateway": "after"}, {"bad-gateway": "before"}, {"delay": "5s"}, {"delay-after": "40s"},
    {"dribble": {"chunks": 3, "over": "2s"}},
)  # fmt: skip
# Choices of numbers keep their defaults, and what a test of the mock itself reads.
OPTIONS = {row.id: row.options for row in CHOICES.values() if len(row.options) > 1 and row.id != "simulate-panel"}


def random_profile(chance: random.Random) -> dict[str, object]:
    """Return an option for each choice."""
    chosen: dict[str, object] = {id: chance.choice(options) for id, options in OPTIONS.items()}
    chosen["throughput-ceilings"] = {"chatapp": chance.choice((None, 30, 600))}
    return chosen


def given() -> JSON:
    """Return the seed data of a life: two tenants with templates, a funnel, five chats and some messages."""
    messages = [
        {"chatId": f"chat_{TENANTS[0]}_{chat}", "createdAt": f"2026-03-01T1{number // 2}:00:00Z", "text": "Oi"}
        for chat in (0, 1)
        for number in range(5)
    ]
    first, *others = SOME_CHATS["tenants"]
    return {"tenants": [first | {"messages": messages}, *others]}


class Recorder:
    """
    Records the calls of a life as entries of a HAR, by a clock of its own.

    Attributes:
        entries: The entries so far.
        now_ms: The instant of the recorder's clock, which only rises.
    """

    def __init__(self, sandbox: Sandbox, chance: random.Random, clients: int) -> None:
        self.entries: list[JSON] = []
        self.now_ms = EPOCH_MS
        self._sandbox = sandbox
        self._chance = chance
        self._clients = clients

    def call(self, method: str, path: str, *, key: str | None = None, sent: Any = None, **more: Any) -> Any:
        """Send a call, an empty key as none, and return the JSON of its answer; None if none arrived."""
        key = self._sandbox.secret_key if key is None else key
        self.now_ms += self._chance.randint(1, 300)
        start, before = self.now_ms, self._sandbox.now
        status, headers, body = 0, {}, b""
        try:
            answer = self._sandbox.call(method, path, key=key, json=sent, **more)
            status, headers, body = answer.status, dict(answer.headers), answer.body
        except (OSError, HTTPException):
            pass
        passed_ms = (self._sandbox.now - before) // timedelta(milliseconds=1)
        self.now_ms += passed_ms + 1
        end = self.now_ms
        if (
            self._clients > 1
        ):  # calls of several clients overlap: each began earlier and ended later than it took effect
            start, end = start - self._chance.randint(0, 2_500), end + self._chance.randint(0, 2_500)
        row = entry(
            f"{method} {path}", status, at=date(start), time=end - start, sent=sent, key=key or None, address=ADDRESS
        )
        if "headers" in more:
            row["request"]["headers"] += pairs(more["headers"])
        if "body" in more:
            row["request"]["postData"] = {"text": base64.b64encode(more["body"]).decode(), "encoding": "base64"}
        row["response"]["headers"] = pairs(headers)
        row["response"]["content"] = content(body, headers)
        self.entries.append(row)
        try:
            return json.loads(body) if 200 <= status < 300 and body else None
        except ValueError:
            return None

    def receive(self, request: Any) -> int:
        """Record an event, and accept it or not."""
        status = self._chance.choice((204, 204, 204, 500))
        row = entry("POST /hooks", status, at=date(self.now_ms), time=2, key=None, address="https://me.example")
        row["request"]["headers"] = pairs(dict(request.headers))
        row["request"]["postData"] = {"mimeType": "application/json", "text": request.body.decode()}
        self.entries.append(row)
        return status

    def recording(self, folder: Path) -> Trace:
        """Return the recording of what happened."""
        file = folder / "life.har"
        file.write_text(json.dumps(har(*self.entries)), encoding="utf-8")
        return read_recording(file)


def date(at_ms: int) -> str:
    """Return an instant of the recorder as a HAR has it."""
    seconds, ms = divmod(at_ms - EPOCH_MS, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"2026-03-{2 + day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"


def pairs(headers: Any) -> list[JSON]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def content(body: bytes, headers: Any) -> JSON:
    return {"size": len(body), "mimeType": headers.get("content-type", ""), "text": body.decode("utf-8", "replace")}


class Life:
    """One life: what two tenants' clients, end users and the service itself do."""

    def __init__(self, sandbox: Sandbox, chance: random.Random, clients: int, *, jumps: bool) -> None:
        self.sandbox = sandbox
        self.recorder = Recorder(sandbox, chance, clients)
        self._chance = chance
        self._jumps = jumps
        self._keys = {tenant: sandbox.admin.keys(tenant)[0] for tenant in TENANTS}
        self._ids: dict[str, list[tuple[str, str]]] = {}
        self._stalled = False

    def live(self, steps: int) -> None:
        """Take steps, between two reads of the templates."""
        acts: Sequence[Callable[[], None]] = (
            *[self._create] * 3, *[self._start] * 3, *[self._read] * 6, *[self._execution] * 6, self._cancel, *[self._list] * 2, self._templates,
            self._connect, self._connect, *[self._session] * 5, self._end, self._end, self._media, self._preview, *[self._messages] * 2,
            self._fail, self._unknown, self._schema, *[self._wait] * 6,
        )  # fmt: skip
        for act in (self._templates, *(self._chance.choice(acts) for _ in range(steps)), self._templates):
            act()

    def _call(self, method: str, path: str, tenant: str, sent: Any = None, **more: Any) -> Any:
        return self.recorder.call(method, path, key=self._keys[tenant], sent=sent, **more)

    def _tenant(self) -> str:
        return self._chance.choice((TENANTS[0], TENANTS[0], TENANTS[0], TENANTS[1]))

    def _some(self, kind: str) -> tuple[str, str]:
        return self._chance.choice(self._ids.get(kind) or [(TENANTS[0], f"{kind}_nowhere")])

    def _keep(self, kind: str, tenant: str, answer: Any, key: str) -> None:
        if isinstance(answer, dict) and isinstance(answer.get(key), str):
            self._ids.setdefault(kind, []).append((tenant, answer[key]))

    def _create(self) -> None:
        tenant = self._tenant()
        body: JSON = {
            "name": self._chance.choice(("Natal", "natal", " Natal", "Ano novo", f"N{self._chance.randint(0, 99)}")),
            "platform": self._chance.choice(("chatapp", "photoapp", "chatapp_lite")),
            "templateId": f"template_{tenant}_{self._chance.choice(TEMPLATES)}",
            "cadence": self._chance.choice((1, 2, 60, 60.0, 4800, 2**53 - 1, 0)),
        }
        if self._chance.random() < 0.3:
            body["description"] = self._chance.choice(("Uma", None))
        if self._chance.random() < 0.3:
            row = {"field": "chat.platform", "operator": "equals", "value": self._chance.choice(("chatapp", "botapp"))}
            body["filters"] = [{"combinator": "and", "statements": [row]}]
        if self._chance.random() < 0.1:
            del body["platform"]
        self._keep("campaign", tenant, self._call("POST", "/v1/campaigns", tenant, body), "campaignId")

    def _start(self) -> None:
        tenant, campaign = self._some("campaign")
        sent = self._chance.choice((None, {}, {"commonVariables": {"var1": "DEZ"}}, {"commonVariables": {"var1": ""}}))
        answer = self._call("POST", f"/v1/campaigns/{campaign}/start", tenant, sent)
        if isinstance(answer, dict) and "executionId" in answer:
            self._ids.setdefault("execution", []).append((tenant, f"{campaign}/executions/{answer['executionId']}"))

    def _cancel(self) -> None:
        tenant, campaign = self._some("campaign")
        self._call("POST", f"/v1/campaigns/{campaign}/cancel", tenant)

    def _read(self) -> None:
        tenant, campaign = self._some("campaign")
        self._call("GET", f"/v1/campaigns/{campaign}", tenant)

    def _execution(self) -> None:
        tenant, execution = self._some("execution")
        for _ in range(self._chance.randint(1, 3)):
            self._call("GET", f"/v1/campaigns/{execution}", tenant)
            self._pass(self._chance.choice((1, 10, 30)))

    def _list(self) -> None:
        self._call("GET", "/v1/campaigns", self._tenant())

    def _templates(self) -> None:
        for tenant in TENANTS:
            self._call("GET", "/v1/message-templates", tenant)
            self._call("GET", f"/v1/message-templates/template_{tenant}_asking", tenant)

    def _connect(self) -> None:
        tenant = self._tenant()
        step = {"funnelStepId": f"funnel_step_{tenant}"}
        sent = self._chance.choice(
            (None, {}, {"coexistence": True}, step, step | {"funnelId": f"funnel_{tenant}"}, {"x": 1})
        )
        self._keep("session", tenant, self._call("POST", SESSIONS, tenant, sent), "sessionId")

    def _session(self) -> None:
        tenant, session = self._some("session")
        answer = self._call("GET", f"{SESSIONS}/{session}", tenant)
        entrypoint = answer.get("entrypoint") if isinstance(answer, dict) else None
        if isinstance(entrypoint, dict):
            self._call("GET", f"/v1/entrypoints/{entrypoint['id']}", tenant)

    def _end(self) -> None:
        """The end user finishes, fails or closes the flow."""
        _, session = self._some("session")
        end = self._chance.choice(("complete", "complete", "same number", "fail", "cancel"))
        try:
            if end == "complete":
                self.sandbox.complete_session(session)
            elif end == "same number":
                self.sandbox.complete_session(session, phone="+5511999990000")
            elif end == "fail":
                self.sandbox.fail_session(session)
            else:
                self.sandbox.cancel_session(session)
        except ValueError:  # it has ended, or there is none
            pass

    def _media(self) -> None:
        png, boundary = sample_file("image/png"), "limite"
        parts = b"".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{n}.png"\r\n'.encode()
            + b"Content-Type: image/png\r\n\r\n" + png + b"\r\n"
            for n in range(2)
        )  # fmt: skip
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        self._call(
            "POST", "/v1/messaging/media", TENANTS[0], body=parts + f"--{boundary}--\r\n".encode(), headers=headers
        )

    def _preview(self) -> None:
        self._call("POST", "/v1/campaigns/audience-preview", self._tenant(), {})

    def _messages(self) -> None:
        tenant = self._tenant()
        chat, cursor = f"/v1/messaging/chats/chat_{tenant}_{self._chance.randint(0, 1)}?limit=2", ""
        for _ in range(self._chance.randint(1, 6)):
            answer = self._call("GET", chat + cursor, tenant)
            following = answer.get("nextCursor") if isinstance(answer, dict) else None
            cursor = f"&cursor={following}" if following else ""
            if self._chance.random() < 0.3:
                self._pass(self._chance.choice((1, 20)))

    def _fail(self) -> None:
        """The service itself ends a campaign, or its sends fail or pause."""
        _, campaign = self._some("campaign")
        effects: Sequence[JSON] = (
            {"fail-campaign": {"id": campaign}}, {"fail-sends": {"id": campaign, "every": 2}},
            {"resume-sends" if self._stalled else "stall-sends": {"id": campaign}},
        )  # fmt: skip
        effect = self._chance.choice(effects)
        self._stalled = "stall-sends" in effect
        with suppress(ValueError):  # there is no such campaign
            self.sandbox.apply({"script": [{"at": 0, "do": effect}]})

    def _unknown(self) -> None:
        tenant = self._tenant()
        self._call("GET", f"/v1/campaigns/campaign_{self._chance.choice(('nowhere', 'other'))}", tenant)
        other = TENANTS[1] if tenant == TENANTS[0] else TENANTS[0]
        self._call("GET", f"/v1/message-templates/template_{other}_internal", tenant)

    def _schema(self) -> None:
        """Read the filter schema with each kind of key."""
        for key in (self.sandbox.secret_key, self.sandbox.public_key, ""):
            self.recorder.call("GET", "/v1/campaigns/filters/schema", key=key)

    def _wait(self) -> None:
        self._pass(self._chance.choice((0.5, 2, 5, 30, 60, 61, 600, 1_199, 1_201)))

    def _pass(self, seconds: float) -> None:
        """Let time pass, for the service and the recorder or, if clocks jump, for one of them alone."""
        jump = self._chance.choice(("both", "service", "recorder")) if self._jumps else "both"
        if jump != "recorder":
            self.sandbox.advance(timedelta(seconds=seconds))
        if jump != "service":
            self.recorder.now_ms += round(seconds * 1000)


def record(
    server: MockServer,
    folder: Path,
    seed: int,
    *,
    clients: int = 1,
    faults: bool = False,
    jumps: bool = False,
    steps: int = 60,
) -> Trace:
    """
    Return the recording of a life that follows from its seed.

    The folder then has the file of its recorder, `life.har`, and the exports of the sandbox itself, `own.har` and `own.json`, by another clock.
    """
    chance = random.Random(seed)
    with server.sandbox(
        seed=seed, now="2026-03-01T12:00:00Z", given=given(), choices=random_profile(chance)
    ) as sandbox:
        life = Life(sandbox, chance, clients, jumps=jumps)
        if chance.random() < 0.7:
            sandbox.receive_webhooks(life.recorder.receive)
        if faults:
            script = [{"on": "*", "chance": 0.1, "do": fault} for fault in chance.sample(list(FAULTS), 4)]
            sandbox.apply({"script": script})
        life.live(steps)
        for name, export in (("own.har", sandbox.log.har()), ("own.json", sandbox.log.journal)):
            (folder / name).write_text(json.dumps(export), encoding="utf-8")
        return life.recorder.recording(folder)


def life_of_two(server: MockServer, folder: Path, seed: int) -> Trace:
    """Return a short life: every second one has two clients at a time, two of four have faults, and four of eight clocks that jump."""
    has_faults, has_jumps = seed // 2 % 2 == 1, seed // 4 % 2 == 1
    return record(server, folder, seed, clients=1 + seed % 2, faults=has_faults, jumps=has_jumps, steps=25)
