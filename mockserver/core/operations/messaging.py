"""
Messages of a chat, newest first, page by page, and uploads of media.

Messages come from seed data and from sends; those of sends are derived for each listing, never stored.

1. The order is (createdAt, order of creation, item of the template), newest first; the key of a message never changes.
2. A cursor holds the key of the last message returned, so that new messages move nothing; under the option `offset` of
   `page-stability` it holds a number of messages instead, and pages shift.
3. A cursor belongs to its chat and its sandbox's seed; any other is VALIDATION_ERROR.
4. An upload checks for emptiness, count, format and size, in this order, and then creates the records.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from mockserver.contract.limits import OWN_BOUND, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, UPLOAD_MAX_BYTES, own_bound
from mockserver.contract.media_types import KINDS, is_text, marks_of, types_of
from mockserver.core import ids
from mockserver.core.instants import Instant
from mockserver.core.operations import sending
from mockserver.core.operations.templates import render
from mockserver.core.operations.validation import validation_error
from mockserver.core.state.calls import ApiError, Call, Success, UploadedFile
from mockserver.core.state.records import Chat, Execution, Media, TemplateItem
from mockserver.core.state.sandbox import SandboxState, Scope, require_record
from mockserver.core.state.tenant import Tenant

Key: TypeAlias = "tuple[int | Fraction, int, int]"  # the exact instant in microseconds, the order of creation, the item


class ListedMessage(NamedTuple):
    """One message for the serializer: its documented fields, with instants as Instant."""

    key: Key
    id: str
    created_at: Instant
    fields: Mapping[str, Any]


class MessagePage(NamedTuple):
    """Messages newest first, and the cursor of the next page, None at the end."""

    records: list[ListedMessage]
    next_cursor: str | None


def list_messages(scope: Scope, call: Call) -> Success:
    """Return a page of the chat's messages (messages.list). Checks: limit, cursor, chat."""
    query = dict(call.query)
    limit = _limit(query.get("limit"))
    chat_id = call.params["chatId"]
    cursor = _read_cursor(scope.sandbox, chat_id, query["cursor"]) if "cursor" in query else None
    chat = require_record(scope, "chat", chat_id, code="CHAT_NOT_FOUND", at="path.chatId")
    return Success(_page(scope.sandbox, chat, all_messages(scope, chat), limit, cursor))


def _limit(written: str | None) -> int:
    if written is None:
        return PAGE_LIMIT_DEFAULT
    if not (written.isascii() and written.isdigit() and len(written) <= 4 and 1 <= int(written) <= PAGE_LIMIT_MAX):
        reason = f"got {written!r}; expected a whole number from 1 to {PAGE_LIMIT_MAX} ({OWN_BOUND})"
        raise validation_error("limit", reason, "messages.list")
    return int(written)


def all_messages(scope: Scope, chat: Chat) -> list[ListedMessage]:
    """Return every message of the chat, newest first."""
    seeded = (
        ListedMessage((message.created_at, message.seq, 0), message.id, message.created_at, message.fields)
        for message in scope.tenant.messages.get(chat.id, ())
    )
    sent = (message for execution in scope.tenant.executions.values() for message in _sent(scope, execution, chat))
    return sorted((*seeded, *sent), key=lambda listed: listed.key, reverse=True)


def _sent(scope: Scope, execution: Execution, chat: Chat) -> Iterator[ListedMessage]:
    """Yield the messages that this execution has sent to the chat, one per item of its template."""
    position = bisect_left(execution.targets, chat.seq, key=lambda target: target.seq)
    if position == len(execution.targets) or execution.targets[position].id != chat.id:
        return
    if position >= sending.processed_count(execution.schedule, scope.sandbox.now) or sending.is_failed(
        execution.schedule, position
    ):
        return
    exact = sending.exact_due(execution.schedule, position)
    if exact is None:
        return
    instant = max(Fraction(*exact), Fraction(execution.started_at))  # no message is older than the start that sent it
    for item in execution.template.items:
        message_id = "message_" + ids.seeded_id(scope.sandbox.seed, "message_", execution.id, position, item.order)
        key = (instant, execution.seq, item.order)
        yield ListedMessage(key, message_id, int(instant // 1), _fields(scope.tenant, execution, chat, item))


def _fields(tenant: Tenant, execution: Execution, chat: Chat, item: TemplateItem) -> dict[str, Any]:
    """Return the fields of a sent message (fixed decision `campaign-message-shape`)."""
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


def _page(
    sandbox: SandboxState, chat: Chat, listed: list[ListedMessage], limit: int, cursor: _Cursor | None
) -> MessagePage:
    begin = 0
    if cursor is not None and cursor.offset is not None:
        begin = cursor.offset
    elif cursor is not None and cursor.key is not None:
        key_before = cursor.key
        begin = next((place for place, message in enumerate(listed) if message.key < key_before), len(listed))
    size, pages = limit, cursor.pages if cursor else 0
    if sandbox.choices["short-pages"] != "full":  # fewer than the limit, and even none
        size = 0 if pages % 3 == 1 else -(-limit // 2)
    records = listed[begin : begin + size]
    if begin + size >= len(listed):
        return MessagePage(records, None)
    last = cursor.key if cursor else None
    if records:
        last = records[-1].key
    offset = str(begin + size) if sandbox.choices["page-stability"] == "offset" else ""
    key = ",".join(map(str, last)) if last else ""
    return MessagePage(records, _sign_cursor(sandbox, chat.id, f"{offset};{key};{pages + 1}"))


class _Cursor(NamedTuple):
    """The position of the next page: after `offset` messages, or after the message with `key`; `pages` counts the earlier pages."""

    offset: int | None
    key: Key | None
    pages: int


def _sign_cursor(sandbox: SandboxState, chat_id: str, plain: str) -> str:
    signature = ids.seeded_id(sandbox.seed, "cursor", chat_id, plain, chars=10)
    return urlsafe_b64encode(f"{plain}!{signature}".encode()).decode().rstrip("=")


def _read_cursor(sandbox: SandboxState, chat_id: str, written: str) -> _Cursor:
    """Return the cursor of a text that `_sign_cursor` has made; raises ApiError for any other text, which is not parsed."""
    try:
        plain = urlsafe_b64decode(written + "=" * (-len(written) % 4)).decode("ascii").partition("!")[0]
    except ValueError:
        raise _bad_cursor(sandbox, written) from None
    if _sign_cursor(sandbox, chat_id, plain) != written:
        raise _bad_cursor(sandbox, written)
    offset, key, pages = plain.split(";")
    instant, seq, item = key.split(",") if key else ("0", "0", "0")
    place = (Fraction(instant), int(seq), int(item)) if key else None
    return _Cursor(int(offset) if offset else None, place, int(pages))


def _bad_cursor(sandbox: SandboxState, written: str) -> ApiError:
    return validation_error(
        "cursor",
        f"got the cursor {sandbox.excerpt(written, 60)!r}; expected a nextCursor of this chat",
        "messages.list",
    )


_TEXT = "text/plain"
_INSTEAD_MAX_CHARS = 300  # of the words for what an upload has in place of a file
_NO_TYPE = "none of the accepted types"


class UploadResult(NamedTuple):
    """The result of one file; `media` is None if it was not stored."""

    name: str
    media: Media | None


def upload(scope: Scope, call: Call) -> Success:
    """Store the files of the field `files` (media.upload); one bad file refuses all, or itself alone by choice."""
    parts = _files(scope, call)
    refusals = [upload_error(scope.sandbox, part) for part in parts]
    errors = [refusal for refusal in refusals if refusal is not None]
    if scope.sandbox.choices["media-partial-failure"] == "all-or-nothing" and errors:
        raise min(errors, key=lambda refusal: refusal.code != "MEDIA_INVALID_FORMAT")  # a format before a size
    failed = _failed_by_storage(scope.sandbox, parts)
    return Success(
        [
            UploadResult(part.name, None) if refusal is not None or lost else _stored(scope, part)
            for part, refusal, lost in zip(parts, refusals, failed, strict=True)
        ]
    )


def _files(scope: Scope, call: Call) -> list[UploadedFile]:
    """Return the files of a request; raises ApiError for none, too many, or a request that is too large."""
    if call.body is None:
        reason = f"got a request larger than the {UPLOAD_MAX_BYTES} bytes that the mock reads ({OWN_BOUND})"
        raise _too_large("the upload", reason, scope.sandbox)
    most: Any = scope.sandbox.choices["media-max-files"]
    upload = call.upload(most)
    parts = [part for part in upload.files if part.name or part.content]  # an empty part without a name is not a file
    if not parts:
        instead = upload.instead or "an empty file without a name in the field 'files'"
        received = scope.sandbox.excerpt(instead, _INSTEAD_MAX_CHARS)
        reason = f"got {received}; expected multipart/form-data with at least one file in a field named 'files'"
        raise ApiError("MEDIA_UPLOAD_EMPTY", location="files", reason=reason)
    if len(parts) > most:
        reason = f"got {len(parts)} files; expected at most {most} ({own_bound('media-max-files')})"
        raise ApiError("MEDIA_UPLOAD_TOO_MANY_FILES", location="files", reason=reason, max=most)
    return parts


def _failed_by_storage(sandbox: SandboxState, parts: Sequence[UploadedFile]) -> Sequence[bool]:
    """Which of the files storage fails, by the fault that a script has set; none without one."""
    fault = sandbox.rule_set.storage
    if not fault:
        return [False] * len(parts)
    ratio, every, names = fault.get("ratio", 0), fault.get("every", 0), fault.get("names", ())
    places = [sandbox.next_number("stored file") for _ in parts]
    return [
        part.name in names
        or (every > 0 and place % every == 0)
        or ids.seeded_int(sandbox.seed, "storage", place, below=1_000_000) < ratio * 1_000_000
        for part, place in zip(parts, places, strict=True)
    ]


def _stored(scope: Scope, part: UploadedFile) -> UploadResult:
    media_type = _media_type(_type(scope.sandbox, part))
    stored = Media(
        seq=scope.sandbox.next_seq(),
        id=scope.sandbox.new_id("media_"),
        name=part.name,
        mime_type=media_type,
        kind=KINDS.get(media_type, ""),
        content=part.content,
        uploaded_at=scope.sandbox.now,
    )
    scope.tenant.media[stored.id] = stored
    return UploadResult(part.name, stored)


def upload_error(sandbox: SandboxState, part: UploadedFile) -> ApiError | None:
    """Return why this file is not taken (its declared type, its content or its size), or None if it is taken."""
    media_type = _media_type(_type(sandbox, part))
    kind = KINDS.get(media_type)
    if kind is None:
        received = f"type {media_type!r}" if part.declared_type else "no Content-Type"
        if media_type and not part.declared_type:
            received = f"no Content-Type, and a content that looks like {media_type}"
        return _invalid_format(part.name, f"got {received}; expected one of the mock's own list: {', '.join(KINDS)}")
    if not part.content:
        return _invalid_format(part.name, f"got no content; expected one of the mock's own list: {', '.join(KINDS)}")
    reason = _mismatch(part, media_type)
    if reason:
        source = f"declared {media_type}" if part.declared_type else f"no Content-Type, which stands for {media_type}"
        expected = f"expected {marks_of(media_type)}, as in mockserver.sample_file(type), /_mock/samples"
        if not part.declared_type:
            expected += ", or the file's own Content-Type (choice media-missing-type)"
        return _invalid_format(part.name, f"{source}, but {reason}; {expected}")
    sizes: Any = sandbox.choices["media-max-size"]
    if len(part.content) > sizes[kind]:
        bound = own_bound("media-max-size")
        reason = f"got {len(part.content)} bytes; expected at most {sizes[kind]} for kind {kind} ({bound})"
        return _too_large(part.name, reason, sandbox, sizes[kind])
    return None


def _type(sandbox: SandboxState, part: UploadedFile) -> str:
    """Return the type that the sender declared, or the one of the choice `media-missing-type`."""
    if part.declared_type or sandbox.choices["media-missing-type"] == "refuse":
        return part.declared_type
    if sandbox.choices["media-missing-type"] == "text-plain":
        return _TEXT
    return next(iter(types_of(part.content)), _TEXT if is_text(part.content) else "")


def _mismatch(part: UploadedFile, media_type: str) -> str:
    """Return what the content looks like if that is not the file's type; a text may begin with any characters."""
    if media_type == _TEXT and is_text(part.content):
        return ""
    types = types_of(part.content)
    if media_type in types:
        return ""
    looks = " or ".join(types) or ("binary data" if media_type == _TEXT else _NO_TYPE)
    return f"the content looks like {looks}"


def _media_type(declared: str) -> str:
    return declared.partition(";")[0].strip().lower()


def _invalid_format(name: str, reason: str) -> ApiError:
    return ApiError("MEDIA_INVALID_FORMAT", location=f"files[{name}]", reason=reason, name=name)


def _too_large(name: str, reason: str, sandbox: SandboxState, limit_bytes: int | None = None) -> ApiError:
    sizes: Any = sandbox.choices["media-max-size"]
    limit = limit_bytes if limit_bytes is not None else max(sizes.values())
    return ApiError(
        "MEDIA_FILE_TOO_LARGE",
        location=f"files[{name}]",
        reason=reason,
        name=name,
        max=format_size(limit),
    )


def format_size(size_bytes: int) -> str:
    """5242880 as `5 MB`, 512000 as `500 KB`, 100 as `100 bytes`."""
    for unit, name in ((1024 * 1024, "MB"), (1024, "KB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} bytes"
