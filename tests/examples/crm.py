"""
A client of the gateway as one writes it after a first reading: it works, and takes more for granted than the API document says.

What it takes for granted is marked A1 to A10; `test_crm_swept.py` shows which options of the mock find each.
`careful_crm.py` is the same client after the sweep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import requests

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
KINDS = {"text": "text", "image": "picture", "audio": "voice", "document": "file", "template": "campaign"}


class NameTakenError(Exception):
    """A campaign of this name exists."""


class VariableMissingError(Exception):
    """The template asks for a variable that the launch did not give."""


class RefusedError(Exception):
    """The gateway said no for another reason."""


class NotConnectedError(Exception):
    """The end user did not finish; the reason is the gateway's."""


@dataclass(frozen=True)
class Progress:
    """How far an execution is. (A5: no other field will ever come.)"""

    id: str
    status: str
    targetCount: int
    sentCount: int
    failedCount: int
    progress: int


@dataclass(frozen=True)
class Channel:
    """A connected number. (A6: these fields are always there, and no others.)"""

    id: str
    name: str
    displayPhone: str
    phoneNumberId: str
    businessAccountId: str
    funnelId: str | None
    funnelStepId: str | None
    isCoexistence: bool


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
        made = self.http.post(f"{self.url}/v1/campaigns", json=body)
        if made.status_code == 400 and "nome" in made.json()["message"]:  # A1: the status, A2: the text
            raise NameTakenError(name)
        if made.status_code != 201:  # A3: what is created answers 201
            raise RefusedError(made.text)
        campaign = made.json()["campaignId"]
        started = self.http.post(f"{self.url}/v1/campaigns/{campaign}/start", json={"commonVariables": variables})
        if started.status_code == 400:  # A1 again
            raise VariableMissingError(started.json()["message"])
        started.raise_for_status()
        return campaign, started.json()["executionId"]

    def wait(self, campaign: str, execution: str) -> Progress:
        """Poll an execution until it is over."""
        while True:
            progress = Progress(**self._get(f"/v1/campaigns/{campaign}/executions/{execution}"))
            if progress.progress == 100:  # A4: a hundred means over
                return progress
            self.sleep(10)

    def messages(self, chat: str) -> Iterator[Message]:
        """The messages of a chat, newest first, read a page at a time."""
        cursor = None
        while True:
            page = self._get(f"/v1/messaging/chats/{chat}", limit=2, cursor=cursor)
            for record in page["records"]:
                at = datetime.strptime(record["createdAt"], "%Y-%m-%dT%H:%M:%S.%fZ")  # A7: always so spelt
                text = record.get("text", "")  # A10: absent, or a text
                yield Message(KINDS[record["type"]], text, at)  # A8: no other type
            cursor = page["nextCursor"]
            if cursor is None:  # A9: the last page says null
                return

    def connect(self, show: Callable[[str, str], object]) -> Channel:
        """Have an end user connect a number; `show` gets the session's id and the link to open."""
        session = self.http.post(self.url + SESSIONS, json={}).json()
        show(session["sessionId"], session["url"])
        while True:
            read = self._get(f"{SESSIONS}/{session['sessionId']}")
            if read["status"] == "completed":
                return Channel(**read["entrypoint"])
            if read["status"] != "pending":
                raise NotConnectedError(read["reason"])
            self.sleep(3)

    def _get(self, path: str, **query: object) -> dict:
        answer = self.http.get(self.url + path, params={key: each for key, each in query.items() if each is not None})
        answer.raise_for_status()
        return answer.json()
