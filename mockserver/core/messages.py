"""
The messages of a chat, newest first, page by page.

Messages come from seed data and from sends; the sent ones are derived when they are listed, never stored.

1. Order is (createdAt, order of creation, item of the template), newest first; the key of a message never changes.
2. A cursor holds the key of the last message that was given out, so that arriving messages move nothing; under the
   option `offset` of `page-stability` it holds a number of messages instead, and pages shift.
3. A cursor belongs to its chat and its sandbox's seed; any other is VALIDATION_ERROR.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from mockserver.contract.limits import OWN_BOUND, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX
from mockserver.core import ids, sends
from mockserver.core.bodies import refuse
from mockserver.core.calls import ApiError, Call, Shown
from mockserver.core.instants import Instant
from mockserver.core.lookup import find
from mockserver.core.records import Chat, Execution, TemplateItem
from mockserver.core.redaction import shown
from mockserver.core.sandbox import Sandbox
from mockserver.core.templates import render
from mockserver.core.tenant import Tenant

Key = tuple[int | Fraction, int, int]  # the exact instant in microseconds, the order of creation, the item


class Listed(NamedTuple):
    """One message as the edge spells it: documented fields, instants as Instant."""

    key: Key
    id: str
    created_at: Instant
    fields: Mapping[str, Any]


class Page(NamedTuple):
    """Messages newest first, and the cursor of the next page, None at the end."""

    records: list[Listed]
    next_cursor: str | None


def list_messages(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """A page of the chat's messages (messages.list). Checks: limit, cursor, chat."""
    query = dict(call.query)
    limit = _limit(query.get("limit"))
    chat_id = call.params["chatId"]
    bookmark = _read_cursor(sandbox, chat_id, query["cursor"]) if "cursor" in query else None
    chat = find(sandbox, tenant, "chats", chat_id, code="CHAT_NOT_FOUND", clause="messages.list", at="path.chatId")
    return Shown(_page(sandbox, chat, all_messages(sandbox, tenant, chat), limit, bookmark))


def _limit(written: str | None) -> int:
    if written is None:
        return PAGE_LIMIT_DEFAULT
    if not (written.isascii() and written.isdigit() and len(written) <= 4 and 1 <= int(written) <= PAGE_LIMIT_MAX):
        reason = f"got {written!r}; expected a whole number from 1 to {PAGE_LIMIT_MAX} ({OWN_BOUND})"
        raise refuse("limit", reason, "messages.list")
    return int(written)


def all_messages(sandbox: Sandbox, tenant: Tenant, chat: Chat) -> list[Listed]:
    """Every message of the chat by now, newest first."""
    seeded = (
        Listed((message.created_at, message.seq, 0), message.id, message.created_at, message.fields)
        for message in tenant.messages.get(chat.id, ())
    )
    sent = (each for execution in tenant.executions.values() for each in _sent(sandbox, tenant, execution, chat))
    return sorted((*seeded, *sent), key=lambda listed: listed.key, reverse=True)


def _sent(sandbox: Sandbox, tenant: Tenant, execution: Execution, chat: Chat) -> Iterator[Listed]:
    """What this execution has sent into the chat so far, one message an item of its template."""
    position = bisect_left(execution.targets, chat.seq, key=lambda target: target.seq)
    if position == len(execution.targets) or execution.targets[position].id != chat.id:
        return
    if position >= sends.processed(execution.sends, sandbox.now) or sends.is_failed(execution.sends, position):
        return
    exact = sends.due(execution.sends, position)
    if exact is None:
        return
    instant = max(Fraction(*exact), Fraction(execution.started_at))  # no message is older than the start that sent it
    for item in execution.template.items:
        message_id = "message_" + ids.draw(sandbox.seed, "message_", execution.id, position, item.order)
        key = (instant, execution.seq, item.order)
        yield Listed(key, message_id, int(instant // 1), _fields(tenant, execution, chat, item))


def _fields(tenant: Tenant, execution: Execution, chat: Chat, item: TemplateItem) -> dict[str, Any]:
    """The record of a sent message (fixed decision `campaign-message-shape`)."""
    official = execution.template.is_official
    fields: dict[str, Any] = {
        "type": item.type,
        "status": "sent",
        "sender": {"id": tenant.id, "name": tenant.name, "isParticipant": False},
        "isOfficialTemplate": official,
        "templateCharged": official and execution.platform == "chatapp",
    }
    if item.text is not None:
        fields["text"] = render(execution.template, execution.values, chat, item.text)
    if item.media_id is not None:
        fields["media"] = {"id": item.media_id, "type": item.type}
        stored = tenant.media.get(item.media_id)
        if stored is not None:
            fields["media"] |= {"mimeType": stored.mime_type, "fileName": stored.name}
    return fields


def _page(sandbox: Sandbox, chat: Chat, listed: list[Listed], limit: int, bookmark: _Bookmark | None) -> Page:
    begin = _begin(listed, bookmark)
    size = _size(sandbox, limit, bookmark)
    records = listed[begin : begin + size]
    if begin + size >= len(listed):
        return Page(records, None)
    last = records[-1].key if records else bookmark.key if bookmark else None
    following = _Bookmark(
        begin + size if sandbox.choices["page-stability"] == "offset" else None,
        last,
        pages=bookmark.pages + 1 if bookmark else 1,
    )
    return Page(records, _write_cursor(sandbox, chat.id, following))


class _Bookmark(NamedTuple):
    """Where the next page begins: after a number of messages, or after the message with a key; and the pages so far."""

    offset: int | None
    key: Key | None
    pages: int


def _begin(listed: list[Listed], bookmark: _Bookmark | None) -> int:
    if bookmark is None:
        return 0
    if bookmark.offset is not None:
        return bookmark.offset
    key = bookmark.key
    return 0 if key is None else next((place for place, each in enumerate(listed) if each.key < key), len(listed))


def _size(sandbox: Sandbox, limit: int, bookmark: _Bookmark | None) -> int:
    """How many messages this page holds: as many as asked, or fewer - even none - under `short-pages`."""
    if sandbox.choices["short-pages"] == "full":
        return limit
    pages = bookmark.pages if bookmark else 0
    return 0 if pages % 3 == 1 else -(-limit // 2)


def _write_cursor(sandbox: Sandbox, chat_id: str, bookmark: _Bookmark) -> str:
    offset = "" if bookmark.offset is None else str(bookmark.offset)
    key = "" if bookmark.key is None else ",".join(str(each) for each in bookmark.key)
    return _sealed(sandbox, chat_id, f"{offset};{key};{bookmark.pages}")


def _sealed(sandbox: Sandbox, chat_id: str, plain: str) -> str:
    seal = ids.draw(sandbox.seed, "cursor", chat_id, plain, chars=10)
    return urlsafe_b64encode(f"{plain}!{seal}".encode()).decode().rstrip("=")


def _read_cursor(sandbox: Sandbox, chat_id: str, written: str) -> _Bookmark:
    """The bookmark of a cursor; only the very text that was given out is one, and no other is looked into."""
    try:
        plain = urlsafe_b64decode(written + "=" * (-len(written) % 4)).decode("ascii").partition("!")[0]
    except ValueError:
        raise _bad_cursor(sandbox, written) from None
    if _sealed(sandbox, chat_id, plain) != written:
        raise _bad_cursor(sandbox, written)
    offset, key, pages = plain.split(";")
    instant, seq, item = key.split(",") if key else ("0", "0", "0")
    place = (Fraction(instant), int(seq), int(item)) if key else None
    return _Bookmark(int(offset) if offset else None, place, int(pages))


def _bad_cursor(sandbox: Sandbox, written: str) -> ApiError:
    return refuse(
        "cursor",
        f"cursor came as {shown(written, sandbox.secrets(), 60)!r}; wanted a nextCursor of this chat, as it was given out",
        "messages.list",
    )
