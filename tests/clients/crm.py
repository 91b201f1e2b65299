"""
A client of the gateway before and after a sweep of its own suite.

`FirstCrm` is a first version: it works, and assumes more than the API document specifies.
What it takes for granted is marked A1 to A10; `tests/examples/test_crm_swept.py` shows which options of the mock find each.
`Crm` relies only on what the document specifies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import requests

from mockserver._json import JSON
from tests.clients.calls import Calls, Refused
from tests.clients.operations import Operations

KINDS = {"text": "text", "image": "picture", "audio": "voice", "document": "file", "template": "campaign"}
ENDS = ("completed", "failed", "canceled")


class NameTakenError(Exception):
    """A campaign of this name exists."""


class VariableMissingError(Exception):
    """The template uses a variable that the launch did not give."""


class RefusedError(Exception):
    """The gateway refused for another reason."""


class NotConnectedError(Exception):
    """The end user did not finish; the reason is the gateway's."""


REFUSALS: Mapping[str | None, type[Exception]] = {
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
    """The gateway, as one tenant sees it; `sleep` waits for the seconds between polls."""

    def __init__(
        self, base_url: str, key: str, http: requests.Session, sleep: Callable[[float], object] | None = None
    ) -> None:
        self.sleep = sleep or time.sleep
        self.api = Calls(base_url, key, http, self.sleep)

    def launch(self, name: str, template: str, cadence: int, **variables: str) -> tuple[str, str]:
        """Make a campaign for every chat and start it; the ids of campaign and execution."""
        body = {"name": name, "platform": "chatapp", "templateId": template, "cadence": cadence}
        try:
            campaign = self.api.create_campaign(body)["campaignId"]
            started = self.api.start_campaign(campaign, {"commonVariables": variables} if variables else {})
        except Refused as refusal:
            raise REFUSALS.get(refusal.code, RefusedError)(refusal.code) from refusal
        return campaign, started["executionId"]

    def wait(self, campaign: str, execution: str) -> Progress:
        """Poll an execution until its status is a final one."""
        while (read := self.api.read_execution(campaign, execution))["status"] not in ENDS:
            self.sleep(10)
        return Progress(read["status"], read["sentCount"], read["failedCount"])

    def messages(self, chat: str) -> Iterator[Message]:
        """The messages of a chat, newest first, read a page at a time."""
        query: dict[str, Any] = {"limit": 2}
        while True:
            page = self.api.list_messages(chat, query)
            for record in page["records"]:
                at = datetime.fromisoformat(record["createdAt"])
                yield Message(KINDS.get(record["type"], "other"), record.get("text") or "", at)
            if not page.get("nextCursor"):
                return
            query["cursor"] = page["nextCursor"]

    def connect(self, show: Callable[[str, str], object]) -> Channel:
        """Have an end user connect a number; `show` gets the session's id and the link to open."""
        session = self.api.create_session({})
        show(session["sessionId"], session["url"])
        while (read := self.api.read_session(session["sessionId"]))["status"] == "pending":
            self.sleep(15)
        if read["status"] != "completed":
            raise NotConnectedError(read.get("reason") or read["status"])
        channel = read["entrypoint"]
        return Channel(channel["id"], channel["displayPhone"], channel.get("funnelId"))


@dataclass(frozen=True)
class WholeProgress:
    """The progress of an execution. (A5: no other field will ever be added.)"""

    id: str
    status: str
    targetCount: int
    sentCount: int
    failedCount: int
    progress: int


@dataclass(frozen=True)
class WholeChannel:
    """A connected number. (A6: these fields are always there, and no others.)"""

    id: str
    name: str
    displayPhone: str
    phoneNumberId: str
    businessAccountId: str
    funnelId: str | None
    funnelStepId: str | None
    isCoexistence: bool


class FirstCrm(Crm):
    """The same client as it was first written."""

    def __init__(
        self, base_url: str, key: str, http: requests.Session, sleep: Callable[[float], object] | None = None
    ) -> None:
        super().__init__(base_url, key, http, sleep)
        self.raw = Operations(base_url, key, http)

    def launch(self, name: str, template: str, cadence: int, **variables: str) -> tuple[str, str]:
        body = {"name": name, "platform": "chatapp", "templateId": template, "cadence": cadence}
        created = self.raw.create_campaign(body)
        if created.status_code == 400 and "nome" in created.json()["message"]:  # A1: the status, A2: the text
            raise NameTakenError(name)
        if created.status_code != 201:  # A3: what is created answers 201
            raise RefusedError(created.text)
        campaign = created.json()["campaignId"]
        started = self.raw.start_campaign(campaign, {"commonVariables": variables})
        if started.status_code == 400:  # A1 again
            raise VariableMissingError(started.json()["message"])
        return campaign, _read(started)["executionId"]

    def wait(self, campaign: str, execution: str) -> Any:
        while True:
            progress = WholeProgress(**_read(self.raw.read_execution(campaign, execution)))
            if progress.progress == 100:  # A4: a hundred means over
                return progress
            self.sleep(10)

    def messages(self, chat: str) -> Iterator[Message]:
        query: dict[str, Any] = {"limit": 2}
        while True:
            page = _read(self.raw.list_messages(chat, query))
            for record in page["records"]:
                at = datetime.strptime(record["createdAt"], "%Y-%m-%dT%H:%M:%S.%fZ")  # A7: always in this form
                text = record.get("text", "")  # A10: absent, or a text
                yield Message(KINDS[record["type"]], text, at)  # A8: no other type
            query["cursor"] = page["nextCursor"]
            if query["cursor"] is None:  # A9: the last page has null
                return

    def connect(self, show: Callable[[str, str], object]) -> Any:
        session = self.raw.create_session({}).json()
        show(session["sessionId"], session["url"])
        while True:
            read = _read(self.raw.read_session(session["sessionId"]))
            if read["status"] == "completed":
                return WholeChannel(**read["entrypoint"])
            if read["status"] != "pending":
                raise NotConnectedError(read["reason"])
            self.sleep(3)


def _read(answer: requests.Response) -> dict[str, Any]:
    answer.raise_for_status()
    body: JSON = answer.json()
    return body
