"""Reading a chat's messages page by page, as a client does."""

from typing import Any
from urllib.parse import quote, urlencode

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response

CHAT = "chat_ana"
NOON = "2026-03-01T12:00:00Z"
GIVEN = {"chats": [{"id": CHAT}, {"id": "chat_bruno"}]}
ALWAYS = {"id", "type", "status", "sender", "createdAt"}  # the fields that every message has
OPTIONAL = {
    "isOfficialTemplate",
    "templateCharged",
    "text",
    "transcription",
    "forward",
    "replyToId",
    "photoapp",
    "media",
    "location",
    "templateComponents",
    "ad",
}


def page_of(sandbox: Sandbox, chat_id: str = CHAT, *, key: str | None = None, **query: Any) -> Response:
    """The answer to a listing with this query."""
    target = f"/v1/messaging/chats/{quote(chat_id, safe='')}" + (f"?{urlencode(query)}" if query else "")
    return sandbox.call("GET", target, key=key)


def page(sandbox: Sandbox, chat_id: str = CHAT, **query: Any) -> JSON:
    """The page of this query."""
    reply = page_of(sandbox, chat_id, **query)
    assert 200 == reply.status, reply.body
    body: JSON = reply.json()
    return body


def ids(shown: JSON) -> list[str]:
    return [record["id"] for record in shown["records"]]


def add(sandbox: Sandbox, *entries: JSON, chat_id: str = CHAT) -> list[str]:
    """Let messages arrive; answers their ids in the order of arrival."""
    messages = [{"chatId": chat_id, **entry} for entry in entries]
    found: list[str] = sandbox.apply({"given": {"messages": messages}})["created"]["messages"]
    return found


def read_all_pages(sandbox: Sandbox, limit: int, chat_id: str = CHAT) -> list[list[str]]:
    """The ids of every page, to the end."""
    pages = [page(sandbox, chat_id, limit=limit)]
    while pages[-1].get("nextCursor"):
        assert len(pages) < 500
        pages.append(page(sandbox, chat_id, limit=limit, cursor=pages[-1]["nextCursor"]))
    return [ids(each) for each in pages]
