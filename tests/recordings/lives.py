"""Random traffic of a client with a sandbox under a random profile, as a recording."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any, Final

from mockserver import MockServer, Sandbox, sample_file
from mockserver.contract.choices import CHOICES
from mockserver.core.instants import MILLISECOND, format_milliseconds, parse
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


def random_profile(random: Random) -> dict[str, str]:
    """Return an option for each choice that has options."""
    return {id: random.choice(choice.options) for id, choice in CHOICES.items() if choice.options and not choice.value}


class Life:
    """A client that calls at random, and remembers the ids that it has got."""

    def __init__(self, sandbox: Sandbox, random: Random) -> None:
        self.sandbox = sandbox
        self.random = random
        self.campaigns = [str(row["id"]) for row in PAST]
        self.executions: list[tuple[str, str]] = []
        self.sessions: list[str] = []
        self.entrypoints = ["entrypoint_recepcao", "entrypoint_fotos"]
        self.names = 0

    def call(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """Call with the secret key; return the JSON of a success, else an empty object."""
        try:
            response = self.sandbox.call(method, path, json=json, key=more.pop("key", self.sandbox.secret_key), **more)
        except (OSError, HTTPException):  # a fault: there is no answer, or a part of one
            return {}
        is_json = 200 <= response.status < 300 and response.body[:1] in (b"{", b"[")
        return response.json() if is_json else {}

    def run(self, calls: int) -> None:
        """Act at random until there are so many calls."""
        actions: list[Callable[[], object]] = [
            self.reads, self.reads, self.creates, self.starts, self.starts, self.polls, self.polls, self.cancels, self.connects, self.sessions_read,
            self.previews, self.odd, self.pages, self.uploads, self.unknown,
        ]  # fmt: skip
        while self.sandbox.log.call_count < calls:
            self.random.choice(actions)()
            if self.random.random() < 0.3:
                self.sandbox.advance(seconds=self.random.choice([0.4, 3, 20, 61, 600]))

    def reads(self) -> None:
        """Read lists and details."""
        path = self.random.choice(
            ["/v1/message-templates", "/v1/campaigns", f"/v1/message-templates/{self.random.choice(TEMPLATES)}",
             f"/v1/campaigns/{self.random.choice(self.campaigns)}", "/v1/campaigns/filters/schema",
             f"/v1/entrypoints/{self.random.choice(self.entrypoints)}", "/v1/forms/form_primeira_consulta/embed-frame-policy"]
        )  # fmt: skip
        self.call("GET", path)

    def creates(self) -> None:
        """Create a campaign, sometimes with a name that is taken, or is nearly the same."""
        self.names += self.random.random() < 0.7
        name = f"Campanha {self.names}"
        name = self.random.choice([name, name, name, name.upper(), f" {name}"])
        body: dict[str, Any] = {
            "name": name,
            "platform": "chatapp_lite",
            "templateId": self.random.choice(TEMPLATES),
            "cadence": 60,
        }
        if self.random.random() < 0.5:
            body |= {"filters": self.random.choice([THIRDS, NO_CHAT]), "cadence": self.random.choice([1, 60])}
        if self.random.random() < 0.15:
            del body["platform"]
        if self.random.random() < 0.15:
            body["description"] = None
        if "campaignId" in (answer := self.call("POST", "/v1/campaigns", body)):
            self.campaigns.append(answer["campaignId"])

    def starts(self) -> None:
        """Start a campaign, sometimes a second time or with values that the template lacks."""
        campaign = self.random.choice(self.campaigns[-3:])
        values = self.random.choice([{}, {"var3": "amanhã"}, {"var3": ""}, {"var2": "10"}, {"var9": "x"}])
        answer = self.call("POST", f"/v1/campaigns/{campaign}/start", {"commonVariables": values} if values else {})
        if "executionId" in answer:
            self.executions.append((campaign, answer["executionId"]))

    def polls(self) -> None:
        """Read an execution, or the detail of its campaign."""
        if self.executions:
            campaign, execution = self.random.choice(self.executions[-2:])
            self.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}")
            if self.random.random() < 0.5:
                status = self.call("GET", f"/v1/campaigns/{campaign}").get("status")
                if status == "processing" and self.random.random() < 0.2:
                    self.sandbox.admin.fail_campaign(campaign)

    def cancels(self) -> None:
        """Cancel a campaign, sometimes twice."""
        campaign = self.random.choice(self.campaigns)
        for _ in range(self.random.choice([1, 1, 2])):
            self.call("POST", f"/v1/campaigns/{campaign}/cancel")

    def connects(self) -> None:
        """Create a session, and often end it."""
        funnel = {"funnelId": "funnel_pacientes_novos", "funnelStepId": "funnel_step_primeiro_contato"}
        body = self.random.choice(
            [{}, {}, funnel, {"funnelId": "funnel_retorno"}, {"funnelStepId": "funnel_step_unknown"}]
        )
        session = self.call("POST", SESSIONS, body).get("sessionId")
        if session is None:
            return
        self.sessions.append(session)
        end = self.random.choice(["", "complete", "complete", "fail", "expire"])
        if end == "complete":
            done = self.sandbox.complete_session(session)
            self.entrypoints += [done["entrypoint"]["id"]] if done.get("entrypoint") else []
        elif end:
            getattr(self.sandbox, f"{end}_session")(session)

    def sessions_read(self) -> None:
        """Read a session and its entrypoint."""
        if self.sessions:
            answer = self.call("GET", f"{SESSIONS}/{self.random.choice(self.sessions)}")
            if isinstance(answer.get("entrypoint"), dict):
                self.call("GET", f"/v1/entrypoints/{answer['entrypoint']['id']}")

    def previews(self) -> None:
        """Count an audience, sometimes by filters whose meaning is open."""
        self.call("POST", "/v1/campaigns/audience-preview", self.random.choice(PREVIEWS))

    def odd(self) -> None:
        """Send a body that the document leaves open."""
        kind = {"Content-Type": "application/json"}
        calls: list[Callable[[], object]] = [
            lambda: self.call("POST", "/v1/campaigns/audience-preview", headers=kind),
            lambda: self.call("POST", SESSIONS, {"returnUrl": "http://localhost:3000/done"}),
            lambda: self.call("POST", "/v1/campaigns", {"name": "x", "template": 1}),
            lambda: self.call("GET", "/v1/campaigns", key=None),
            lambda: self.call("GET", "/v1/message-templates/template_vizinha_buque"),
        ]
        self.random.choice(calls)()

    def pages(self) -> None:
        """Read the messages of a chat in pages."""
        self.read_pages(self.random.choice([1, 2, 50]))

    def read_pages(self, limit: int) -> None:
        """Read at most four pages of a chat's messages."""
        cursor = ""
        for _ in range(4):
            answer = self.call("GET", f"/v1/messaging/chats/chat_helena?limit={limit}{cursor}")
            if not answer.get("nextCursor"):
                return
            cursor = f"&cursor={answer['nextCursor']}"

    def uploads(self) -> None:
        """Upload two files, of which one may be none of its type."""
        content = self.random.choice([b"plain text", bytes(range(256)), sample_file("image/png")])
        self.upload(content, self.random.choice(["\r\nContent-Type: image/png", ""]))

    def upload(self, content: bytes, kind: str) -> None:
        """Upload a text, and a file with this header of its type."""
        body = b"".join(
            [b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\noi\r\n',
             f'--x\r\nContent-Disposition: form-data; name="files"; filename="b.png"{kind}\r\n\r\n'.encode(), content, b"\r\n--x--\r\n"]
        )  # fmt: skip
        self.call("POST", "/v1/messaging/media", body=body, headers={"Content-Type": "multipart/form-data; boundary=x"})

    def unknown(self) -> None:
        """Read what does not exist."""
        path = self.random.choice(
            ["/v1/campaigns/campaign_unknown", f"{SESSIONS}/connection_session_unknown", "/v1/entrypoints/unknown",
             f"/v1/campaigns/{self.random.choice(self.campaigns)}/executions/execution_unknown"]
        )  # fmt: skip
        self.call("GET", path)


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


class Tour(Life):
    """The calls of an ordinary integration, and those whose answers are open, in an order that shows most choices."""

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


def tour(sandbox: Sandbox) -> None:
    """Make the calls of the tour."""
    Tour(sandbox, Random(0)).whole()


FAULTS: Final = [
    {"on": "startCampaign", "every": 3, "do": {"drop": "after"}},
    {"on": "createCampaign", "every": 4, "do": {"drop": "before"}},
    {"on": "readExecution", "every": 4, "do": {"error": "INTERNAL_ERROR"}},
    {"on": "listCampaigns", "every": 2, "do": {"bad-gateway": "before"}},
    {"on": "readCampaign", "every": 5, "do": {"error": "RATE_LIMIT_EXCEEDED"}},
    {"on": "cancelCampaign", "every": 3, "do": {"reset": "after"}},
    {"on": "listTemplates", "every": 2, "do": {"truncate": 40}},
]


def blurred(har: Any, random: Random) -> Any:
    """Return a HAR whose calls took up to four seconds each, so that they overlap."""
    for row in har["log"]["entries"]:
        before, after = random.randrange(2000), random.randrange(2000)
        started, _ = parse(row["startedDateTime"]) or (0, True)
        row |= {"startedDateTime": format_milliseconds(started - before * MILLISECOND), "time": before + after}
        row.pop("_mockserver", None)
    return har


def recorded(
    server: MockServer,
    chosen: Mapping[str, object],
    folder: Path,
    live: Callable[[Sandbox], object],
    overlaps: Random | None = None,
) -> Trace:
    """Return the recording of a life of a client with a sandbox under these choices; its calls overlap by chance if given."""
    given = {"chats": MORE_CHATS, "campaigns": PAST, "messages": MESSAGES}
    with server.sandbox("demo", choices=dict(chosen), now=NOW) as sandbox:
        sandbox.apply({"given": given})
        sandbox.receive_webhooks(lambda request: 204)
        live(sandbox)
        file = folder / "life.har"
        har = sandbox.log.har()
        file.write_text(json.dumps(har if overlaps is None else blurred(har, overlaps)), encoding="utf-8")
    return read_recording(file)


def recorded_life(server: MockServer, chosen: Mapping[str, object], folder: Path, seed: int, calls: int) -> Trace:
    """Return the recording of a random life; every second one has faults, and in every third one calls overlap."""

    def live(sandbox: Sandbox) -> None:
        if seed % 2:
            sandbox.apply({"script": FAULTS})
        Life(sandbox, Random(seed)).run(calls)

    return recorded(server, chosen, folder, live, Random(seed) if seed % 3 == 0 else None)


def life_of(server: MockServer, folder: Path, seed: int) -> Trace:
    """Return the recording of a life of one client under a random profile that follows from its seed."""
    return recorded_life(server, random_profile(Random(seed)), folder, seed, 40)
