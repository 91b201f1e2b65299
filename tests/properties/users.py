"""
Users of one careful app, at once: each is a program that yields the seconds which it waits between its calls.

They share the app's key and user agent, so the service and the judge of conduct see one caller. `together` runs them by the
sandbox's clock, in the order in which their waits end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import requests

from mockserver import Sandbox, sample_file
from mockserver._json import JSON

Waits = Generator[int, None, Any]  # seconds
FINAL = ("completed", "failed", "canceled", "expired")
TRANSIENT = (429, 500, 502, 503, 504)
TRIES, TIMEOUT_S = 4, 15
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
GIVEN: Mapping[str, Any] = MappingProxyType(
    {
        "templates": [{"id": "template_hello"}],
        "chats": [{"id": f"chat_{number}", "platform": "chatapp"} for number in range(12)],
        "messages": [{"chatId": "chat_0", "text": f"Mensagem {number}"} for number in range(45)],
    }
)


class GaveUp(Exception):
    """A user's task could not be done."""


class Answer(NamedTuple):
    """A whole response; none is one of status 0."""

    status: int
    body: Any = None
    retry_after: str = ""

    @property
    def is_unclear(self) -> bool:
        """Return True if the call may have taken effect."""
        return self.status == 0 or self.status >= 500


class User(NamedTuple):
    """What a user does, and how."""

    task: Callable[[App, User], Waits]
    begins_s: int
    every_s: int
    patience_s: int
    ending: str

    @property
    def name(self) -> str:
        return f"{self.begins_s} {self.every_s} {self.patience_s} {self.ending}"


class App:
    """The calls that all users make."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.http = sandbox.requests_session()
        self.http.headers["X-API-Key"] = sandbox.secret_key

    def once(self, method: str, path: str, **rest: Any) -> Answer:
        try:
            response = self.http.request(method, self.sandbox.base_url + path, timeout=TIMEOUT_S, **rest)
            body = response.json() if response.content else None
        except (requests.RequestException, ValueError):
            return Answer(0)
        if response.status_code >= 400 and not (isinstance(body, dict) and "code" in body):
            return Answer(0)
        return Answer(response.status_code, body, response.headers.get("Retry-After", ""))

    def get(self, path: str, **params: Any) -> Generator[int, None, Any]:
        for attempt in range(TRIES):
            answer = self.once("GET", path, params=params)
            if answer.status in (200, 201):
                return answer.body
            if answer.status not in (0, *TRANSIENT):
                break
            yield pause(answer, attempt)
        raise GaveUp(path)

    def post(self, path: str, **rest: Any) -> Generator[int, None, Answer]:
        """Send a POST until it is refused, succeeds, or may have taken effect."""
        answer = Answer(429)
        for attempt in range(TRIES):
            answer = self.once("POST", path, **rest)
            if answer.status != 429:
                break
            yield pause(answer, attempt)
        return answer


def pause(answer: Answer, attempt: int) -> int:
    """Return the seconds to wait before the next attempt."""
    requested = int(answer.retry_after) if answer.retry_after.isdigit() else 60 if answer.retry_after else 0
    return max(requested, 5 << attempt)


def launch(app: App, user: User) -> Waits:
    """Send a campaign, follow it for a while, and cancel what takes too long."""
    templates = (yield from app.get("/v1/message-templates"))["templates"]
    body = {"name": user.name, "platform": "chatapp", "templateId": templates[0]["id"], "cadence": user.every_s}
    campaign = yield from create(app, body)
    path = f"/v1/campaigns/{campaign}"
    for attempt in range(TRIES):
        start = yield from app.post(f"{path}/start", json={})
        if not start.is_unclear:
            break
        yield pause(start, attempt)
        if (yield from app.get(path))["status"] != "draft":
            break
    waited_s = 0
    while (yield from app.get(path))["status"] not in FINAL:
        if waited_s > user.patience_s:
            return (yield from cancel(app, path))
        yield max(10, user.every_s)
        waited_s += max(10, user.every_s)


def create(app: App, body: JSON) -> Generator[int, None, str]:
    for attempt in range(TRIES):
        answer = yield from app.post("/v1/campaigns", json=body)
        if answer.status in (200, 201):
            return str(answer.body["campaignId"])
        if not answer.is_unclear:
            break
        yield pause(answer, attempt)
        campaigns = (yield from app.get("/v1/campaigns"))["campaigns"]
        if found := [campaign["id"] for campaign in campaigns if campaign["name"] == body["name"]]:
            return str(found[0])
    raise GaveUp("create")


def cancel(app: App, path: str) -> Waits:
    for attempt in range(TRIES):
        answer = yield from app.post(f"{path}/cancel")
        if not answer.is_unclear:
            return
        yield pause(answer, attempt)
        if (yield from app.get(path))["status"] in FINAL:
            return


def connect(app: App, user: User) -> Waits:
    """Connect a number, which fails in the user's hands, is left until it expires, or succeeds; and try once more, later."""
    for attempt in range(2):
        yield 180 * attempt
        created = yield from app.post(SESSIONS, json={})
        if created.status != 202:
            raise GaveUp("session")
        session, expires = created.body["sessionId"], datetime.fromisoformat(created.body["expiresAt"])
        status, waited_s = "pending", 0
        while status == "pending" and app.sandbox.now <= expires + timedelta(seconds=user.every_s):
            if waited_s >= user.patience_s:
                end(app.sandbox, session, user.ending)
            status = (yield from app.get(f"{SESSIONS}/{session}"))["status"]
            yield user.every_s
            waited_s += user.every_s
        if status == "completed":
            return


def end(sandbox: Sandbox, session: str, ending: str) -> None:
    with suppress(ValueError):  # a rule has ended it
        if ending == "connects":
            sandbox.complete_session(session)
        elif ending != "leaves":
            sandbox.fail_session(session, reason=ending)


def read(app: App, user: User) -> Waits:
    """Upload a file, and read a chat to its first message."""
    yield from app.post("/v1/messaging/media", files={"files": ("a.png", sample_file("image/png"), "image/png")})
    query: dict[str, Any] = {"limit": 5 + user.every_s}
    for _ in range(60):
        page = yield from app.get("/v1/messaging/chats/chat_0", **query)
        if page.get("nextCursor") in (None, "", query.get("cursor")):
            return
        query["cursor"] = page["nextCursor"]


def browse(app: App, user: User) -> Waits:
    """Open pages, one of which is gone, and start what the list of campaigns shows as a draft."""
    for number in range(4):
        campaigns = (yield from app.get("/v1/campaigns"))["campaigns"]
        yield user.every_s
        with suppress(GaveUp):
            yield from app.get("/v1/entrypoints/entrypoint_gone")
        drafts = [campaign["id"] for campaign in campaigns if campaign["status"] == "draft"]
        if drafts:
            yield from app.post(f"/v1/campaigns/{drafts[number % len(drafts)]}/start", json={})


TASKS = (launch, connect, read, browse)
ENDINGS = ("connects", "leaves", "phone_in_use", "token_exchange_failed")


def together(sandbox: Sandbox, users: Sequence[User]) -> None:
    """Run all users to the end of their tasks."""
    sandbox.apply(given=dict(GIVEN))
    app, begin = App(sandbox), sandbox.now
    queue = [(begin + timedelta(seconds=user.begins_s), n, user.task(app, user)) for n, user in enumerate(users)]
    heapq.heapify(queue)
    while queue:
        due, n, task = heapq.heappop(queue)
        if due > sandbox.now:
            sandbox.sleep((due - sandbox.now).total_seconds())
        try:
            heapq.heappush(queue, (sandbox.now + timedelta(seconds=next(task)), n, task))
        except (StopIteration, GaveUp):
            continue
