"""The client of `crm.py` after the sweep: it holds on to what the API document promises, and to nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import requests

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
KINDS = {"text": "text", "image": "picture", "audio": "voice", "document": "file", "template": "campaign"}
ENDS = ("completed", "failed", "canceled")


class NameTakenError(Exception):
    """A campaign of this name exists."""


class VariableMissingError(Exception):
    """The template asks for a variable that the launch did not give."""


class RefusedError(Exception):
    """The gateway said no for another reason: its code."""


class NotConnectedError(Exception):
    """The end user did not finish; the reason is the gateway's."""


REFUSALS: Mapping[str, type[Exception]] = {
    "CAMPAIGN_NAME_ALREADY_EXISTS": NameTakenError,
    "CAMPAIGN_MISSING_COMMON_VARIABLES": VariableMissingError,
}


@dataclass(frozen=True)
class Progress:
    """How far an execution is, in the fields that this program reads."""

    status: str
    sentCount: int
    failedCount: int


@dataclass(frozen=True)
class Channel:
    """A connected number, in the fields that this program reads."""

    id: str
    displayPhone: str
    funnelId: str | None


@dataclass(frozen=True)
class Message:
    """What one sees of a message in a list."""

    kind: str
    text: str
    at: datetime


class Crm:
    """The gateway, as one tenant sees it; `sleep` waits for so many seconds between polls."""

    def __init__(
        self, base_url: str, key: str, http: requests.Session, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.url, self.http, self.sleep = base_url, http, sleep
        self.http.headers["X-API-Key"] = key

    def launch(self, name: str, template: str, cadence: int, **variables: str) -> tuple[str, str]:
        """Make a campaign for every chat and start it; the ids of campaign and execution."""
        body = {"name": name, "platform": "chatapp", "templateId": template, "cadence": cadence}
        campaign = self._call("POST", "/v1/campaigns", json=body)["campaignId"]
        given = {"commonVariables": variables} if variables else {}
        started = self._call("POST", f"/v1/campaigns/{campaign}/start", json=given)
        return campaign, started["executionId"]

    def wait(self, campaign: str, execution: str) -> Progress:
        """Poll an execution until its status is a final one."""
        while True:
            read = self._call("GET", f"/v1/campaigns/{campaign}/executions/{execution}")
            if read["status"] in ENDS:
                return Progress(read["status"], read["sentCount"], read["failedCount"])
            self.sleep(10)

    def messages(self, chat: str) -> Iterator[Message]:
        """The messages of a chat, newest first, read a page at a time."""
        query: dict[str, Any] = {"limit": 2}
        while True:
            page = self._call("GET", f"/v1/messaging/chats/{chat}", params=query)
            for record in page["records"]:
                at = datetime.fromisoformat(record["createdAt"])
                yield Message(KINDS.get(record["type"], "other"), record.get("text") or "", at)
            if not page.get("nextCursor"):
                return
            query["cursor"] = page["nextCursor"]

    def connect(self, show: Callable[[str, str], object]) -> Channel:
        """Have an end user connect a number; `show` gets the session's id and the link to open."""
        session = self._call("POST", SESSIONS, json={})
        show(session["sessionId"], session["url"])
        while True:
            read = self._call("GET", f"{SESSIONS}/{session['sessionId']}")
            if read["status"] == "completed":
                found = read["entrypoint"]
                return Channel(found["id"], found["displayPhone"], found.get("funnelId"))
            if read["status"] != "pending":
                raise NotConnectedError(read.get("reason") or read["status"])
            self.sleep(3)

    def _call(self, method: str, path: str, **rest: Any) -> dict[str, Any]:
        """The body of a success of any kind; a refusal becomes an exception by its code."""
        answer = self.http.request(method, self.url + path, **rest)
        if answer.ok:
            return answer.json()
        code = answer.json()["code"]
        raise REFUSALS.get(code, RefusedError)(code)
