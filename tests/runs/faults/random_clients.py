"""Clients drawn at random: some calls, each with its own way to react to a lost answer, a 5xx, a 429 and a refusal."""

from __future__ import annotations

import random
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, NamedTuple

from mockserver import Sandbox
from mockserver.testing.transports.in_process import Response

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
GIVEN: dict[str, Any] = {"templates": [{"id": "template_t"}], "chats": {"count": 3}}
REACTIONS = ("raise", "ignore", "repeat", "wait and repeat", "look and repeat", "rename and repeat")
POLLS = ("until final", "until completed", "a few times", "beyond the end")


class Failed(Exception):
    """The client gives up."""


class Habits(NamedTuple):
    """How one client reacts, by operation, and how it polls."""

    reactions: dict[str, str]
    polls: str
    every_s: int
    tries: int
    cancels: bool
    connects: bool
    lists: int


def draw(seed: int) -> Habits:
    chance = random.Random(seed)
    names = ("create", "start", "read", "cancel", "connect", "list")
    return Habits(
        {name: chance.choice(REACTIONS) for name in names},
        chance.choice(POLLS),
        chance.choice((5, 15, 30)),
        chance.randint(2, 4),
        chance.random() < 0.4,
        chance.random() < 0.3,
        chance.randint(0, 3),
    )


class RandomClient:
    """The client with these habits."""

    def __init__(self, sandbox: Sandbox, habits: Habits) -> None:
        self._sandbox, self._habits = sandbox, habits

    def run(self) -> None:
        habits = self._habits
        for _ in range(habits.lists):
            self._do("list", lambda _: self._call("GET", "/v1/campaigns"))
        created = self._do("create", self._create)
        campaign = created.get("campaignId") if isinstance(created, dict) else None
        if campaign is None:
            return
        self._do("start", lambda _: self._call("POST", f"/v1/campaigns/{campaign}/start"))
        if habits.cancels:
            self._do("cancel", lambda _: self._call("POST", f"/v1/campaigns/{campaign}/cancel"))
        self._poll(f"/v1/campaigns/{campaign}")
        if habits.connects:
            self._do("connect", lambda _: self._call("POST", SESSIONS, {}))

    def _create(self, attempt: int) -> Any:
        renames = attempt and self._habits.reactions["create"] == "rename and repeat"
        name = f"Natal ({attempt + 1})" if renames else "Natal"
        body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 4}
        return self._call("POST", "/v1/campaigns", body)

    def _poll(self, path: str) -> None:
        finals = {"completed"} if self._habits.polls == "until completed" else {"completed", "failed", "canceled"}
        beyond = 4 if self._habits.polls == "beyond the end" else 0
        for number in range(self._habits.tries if self._habits.polls == "a few times" else 60):
            read = self._do("read", lambda _: self._call("GET", path))
            status = read.get("status") if isinstance(read, dict) else None
            if status in finals:
                if not beyond:
                    return
                beyond -= 1
            self._sandbox.sleep(self._habits.every_s if number else 1)

    def _do(self, name: str, call: Callable[[int], Any]) -> Any:
        reaction = self._habits.reactions[name]
        for attempt in range(self._habits.tries):
            try:
                return call(attempt)
            except (OSError, HTTPException, ValueError, Failed):
                if reaction == "raise":
                    raise
                if reaction == "ignore":
                    return None
            if reaction != "repeat":
                self._sandbox.sleep(31)
            if reaction == "look and repeat":
                self._sandbox.call("GET", "/v1/campaigns", timeout=5)
        return None

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer: Response = self._sandbox.call(method, path, json=body, timeout=5)
        if answer.status >= 400:
            raise Failed(f"{answer.status}")
        return answer.json() if answer.body else {}


def running(habits: Habits) -> Callable[[Sandbox], None]:
    """Return the ordinary test of a client: it runs once."""

    def run(sandbox: Sandbox) -> None:
        sandbox.apply(given=GIVEN)
        RandomClient(sandbox, habits).run()

    return run
