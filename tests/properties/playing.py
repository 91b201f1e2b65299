"""
A small language of commands to a sandbox - calls, control commands, waits - and who plays it.

A command is a list of JSON values, so that a program can be printed, cut, joined and sent to another process. Records
are named by their tenant and a number, counted round over those that there are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS

NOON = "2026-03-01T12:00:00.000001Z"
TENANTS = ("tenant_default", "tenant_other")
TEMPLATES = ("internal", "official", "pending", "asking")
VARY = {"platform": ["chatapp", "photoapp", "chatapp"], "status": ["open", "open", "closed", "vip"]}

# The document's table of transitions, and the initial state of each kind.
MOVES = {
    "campaign": {
        "draft": {"processing", "canceled"},
        "processing": {"completed", "failed", "canceled"},
    },
    "execution": {"processing": {"completed", "failed", "canceled"}},
    "session": {"pending": {"completed", "failed", "expired"}},
}


def _belongings(stem: str) -> dict[str, Any]:
    """Templates, a funnel and five chats, with ids that name their owner."""
    asking = {"items": [{"text": "{{1}} {{2}}"}], "variables": [{"key": "var1", "label": "Cupom", "required": True}]}
    kinds: tuple[JSON, ...] = ({}, {"isOfficial": True}, {"providerTemplateStatus": "PENDING"}, asking)
    chats = [
        {"id": f"chat_{stem}_{n}", **{key: values[n % len(values)] for key, values in VARY.items()}} for n in range(5)
    ]
    return {
        "templates": [{"id": f"template_{stem}_{n}", **kind} for n, kind in zip(TEMPLATES, kinds, strict=True)],
        "funnels": [{"id": f"funnel_{stem}", "steps": [{"id": f"funnel_step_{stem}"}]}],
        "chats": chats,
    }


GIVEN = {"tenants": [{"id": each, **_belongings(each)} for each in TENANTS]}

Command = Sequence[Any]
Program = Sequence[Command]


class Played(NamedTuple):
    """A command and its result; `kind` is call, read, control or wait, `status` None if it has none."""

    command: Command
    kind: str
    status: int | None
    answer: Any

    @property
    def is_refused(self) -> bool:
        return self.status is not None and self.status >= 400


class Player:
    """Plays commands on one sandbox and remembers the returned ids."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.keys = {tenant: sandbox.admin.keys(tenant)[0] for tenant in TENANTS}
        self.ids: dict[tuple[str, str], list[str]] = {}
        self.chats = 0

    def play(self, program: Program) -> list[Played]:
        return [self.do(command) for command in program]

    def do(self, command: Command) -> Played:
        """One command; what the mock itself refuses to do counts as a refused control command."""
        verb, *arguments = command
        try:
            kind, status, answer = getattr(self, f"_{verb}")(*arguments)
        except ValueError as refusal:
            return Played(command, "control", 409, str(refusal))
        return Played(command, kind, status, answer)

    def id(self, kind: str, tenant: str, number: int) -> str:
        known = self.ids.get((kind, tenant), [])
        return known[number % len(known)] if known else f"{kind}_nowhere"

    def survey(self, tenant: str, *, messages: bool = True) -> dict[str, Any]:
        """Everything that this tenant can read: path -> answer."""
        paths = ["/v1/campaigns", "/v1/message-templates"] if messages else []
        for campaign_id in self.ids.get(("campaign", tenant), []):
            path = f"/v1/campaigns/{campaign_id}"
            detail = self.sandbox.call("GET", path, key=self.keys[tenant]).json()
            paths += [path, *(f"{path}/executions/{each['id']}" for each in detail["executions"])]
        paths += [f"{SESSIONS}/{each}" for each in self.ids.get(("session", tenant), [])]
        paths += [f"/v1/messaging/chats/chat_{tenant}_{number}" for number in range(5) if messages]
        return {path: self.sandbox.call("GET", path, key=self.keys[tenant]).json() for path in paths}

    def _call(self, kind: str, tenant: str, method: str, path: str, body: Any = None) -> tuple[str, int, Any]:
        reply = self.sandbox.call(method, path, key=self.keys[tenant], json=body)
        return kind, reply.status, {"headers": dict(reply.headers), "body": reply.body.decode()}

    def _keep(self, kind: str, tenant: str, key: str, played: tuple[str, int, Any]) -> tuple[str, int, Any]:
        if played[1] < 400:
            self.ids.setdefault((kind, tenant), []).append(json.loads(played[2]["body"])[key])
        return played

    def _create(self, tenant: str, template: str, body: Any) -> Any:
        body = {"templateId": f"template_{tenant}_{template}", **body}
        return self._keep("campaign", tenant, "campaignId", self._call("call", tenant, "POST", "/v1/campaigns", body))

    def _start(self, tenant: str, owner: str, number: int, body: Any) -> Any:
        path = f"/v1/campaigns/{self.id('campaign', owner, number)}/start"
        return self._keep("execution", tenant, "executionId", self._call("call", tenant, "POST", path, body))

    def _cancel(self, tenant: str, owner: str, number: int) -> Any:
        return self._call("call", tenant, "POST", f"/v1/campaigns/{self.id('campaign', owner, number)}/cancel")

    def _connect(self, tenant: str, body: Any) -> Any:
        return self._keep("session", tenant, "sessionId", self._call("call", tenant, "POST", SESSIONS, body))

    def _read(self, tenant: str, owner: str, what: str, number: int) -> Any:
        path = {
            "campaigns": "/v1/campaigns",
            "campaign": f"/v1/campaigns/{self.id('campaign', owner, number)}",
            "execution": f"/v1/campaigns/{self.id('campaign', owner, number)}/executions/{self.id('execution', owner, number)}",
            "session": f"{SESSIONS}/{self.id('session', owner, number)}",
            "messages": f"/v1/messaging/chats/chat_{owner}_{number}?limit=2",
            "templates": "/v1/message-templates",
        }[what]
        return self._call("read", tenant, "GET", path)

    def _preview(self, tenant: str, body: Any) -> Any:
        return self._call("read", tenant, "POST", "/v1/campaigns/audience-preview", body)

    def _chat(self, tenant: str, platform: str) -> Any:
        self.chats += 1
        chat = {"id": f"chat_{tenant}_late_{self.chats}", "platform": platform}
        return "control", 200, self.sandbox.apply({"given": {"tenants": [{"id": tenant, "chats": [chat]}]}})["created"]

    def _fail(self, tenant: str, number: int) -> Any:
        return "control", 200, self.sandbox.admin.fail_campaign(self.id("campaign", tenant, number))

    def _end(self, tenant: str, number: int, how: str | None) -> Any:
        session_id = self.id("session", tenant, number)
        if how is None:
            return "control", 200, self.sandbox.complete_session(session_id)
        if how == "expire":
            return "control", 200, self.sandbox.expire_session(session_id)
        if how.startswith("+"):
            return "control", 200, self.sandbox.complete_session(session_id, phone=how)
        return "control", 200, self.sandbox.fail_session(session_id, reason=how)

    def _wait(self, microseconds: int) -> Any:
        return "wait", None, self.sandbox.advance(timedelta(microseconds=microseconds))


@contextmanager
def world(seed: int = 0) -> Iterator[Player]:
    """A player on the first sandbox of a server of its own, so that every address in an answer is the same."""
    server = MockServer(strict=True)
    try:
        yield Player(server.sandbox(seed=seed, now=NOON, given=GIVEN))
    finally:
        server.close()


def last_states(sandbox: Sandbox) -> dict[tuple[str, str], str]:
    """The last recorded state of each record; each recorded transition has to follow the one before it, as the table permits."""
    states: dict[tuple[str, str], str] = {}
    for step in sandbox.log.journal["transitions"]:
        kind, id = step["kind"], step["id"]
        assert step["from"] == states.get((kind, id))
        assert step["to"] in (MOVES[kind][step["from"]] if step["from"] else {next(iter(MOVES[kind]))})
        states[kind, id] = step["to"]
    return states


def whole(seed: int, program: Program) -> dict[str, Any]:
    """Everything that a run shows: answers, journal, events, state."""
    with world(seed) as player:
        played = [each._asdict() for each in player.play(program)]
        sandbox = player.sandbox
        return {"played": played, "journal": sandbox.log.journal, "events": sandbox.events, "state": sandbox.state()}


if __name__ == "__main__":
    json.dump(whole(*json.load(sys.stdin)), sys.stdout)
