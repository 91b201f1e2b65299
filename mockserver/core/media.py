"""Media: which files an upload takes, and the records that it leaves. Checks: empty, count, format, size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockserver.contract.limits import OWN_BOUND, UPLOAD_MAX_BYTES, own_bound
from mockserver.contract.media import KINDS, kind_of
from mockserver.core import ids
from mockserver.core.calls import ApiError, Call, FilePart, Shown
from mockserver.core.file_types import is_text, media_types
from mockserver.core.records import Media
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant

_TEXT = "text/plain"


class Result(NamedTuple):
    """One file's outcome; `media` is None where it was not stored."""

    name: str
    media: Media | None


def upload(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """Store the files of the field `files` (media.upload); one bad file refuses all, or itself alone by choice."""
    if call.body is None:
        reason = f"got a request larger than the {UPLOAD_MAX_BYTES} bytes that the mock reads ({OWN_BOUND})"
        raise _too_large("the upload", reason, sandbox)
    most: Any = sandbox.choices["media-max-files"]
    parts = [
        part._replace(declared_type=_declared(sandbox, part))
        for part in call.files(most)
        if part.name or part.content  # a nameless empty part is no file
    ]
    if not parts:
        came = call.headers.get("content-type", "") or "no Content-Type"
        reason = f"got {came.partition(';')[0]!r} with no file in a field named 'files'; expected multipart/form-data with at least one"
        raise ApiError("MEDIA_UPLOAD_EMPTY", clause="media.empty", at="files", reason=reason)
    if len(parts) > most:
        reason = f"got {len(parts)} files; expected at most {most} ({own_bound('media-max-files')})"
        raise ApiError("MEDIA_UPLOAD_TOO_MANY_FILES", clause="media.too-many", at="files", reason=reason, max=most)
    refusals = [problem(sandbox, part) for part in parts]
    if sandbox.choices["media-partial-failure"] == "all-or-nothing":
        _refuse_any(refusals)
    failed = _failed_by_storage(sandbox, parts)
    return Shown(
        [
            Result(part.name, None) if refusal is not None or lost else _stored(sandbox, tenant, part)
            for part, refusal, lost in zip(parts, refusals, failed, strict=True)
        ]
    )


def _failed_by_storage(sandbox: Sandbox, parts: Sequence[FilePart]) -> Sequence[bool]:
    """Which of the files storage fails, by the fault that a script has set; none without one."""
    fault = sandbox.script.storage
    if fault is None:
        return [False] * len(parts)
    ratio, every = fault.ratio or 0, fault.every or 0
    places = [sandbox.count("stored file") for _ in parts]
    return [
        part.name in fault.names
        or (every > 0 and place % every == 0)
        or ids.number(sandbox.seed, "storage", place, below=1_000_000) < ratio * 1_000_000
        for part, place in zip(parts, places, strict=True)
    ]


def _refuse_any(refusals: Sequence[ApiError | None]) -> None:
    """Format comes before size, across all files."""
    found = [refusal for refusal in refusals if refusal is not None]
    if found:
        raise min(found, key=lambda refusal: refusal.code != "MEDIA_INVALID_FORMAT")


def _stored(sandbox: Sandbox, tenant: Tenant, part: FilePart) -> Result:
    stored = Media(
        seq=sandbox.next_seq(),
        id=sandbox.new_id("media_"),
        name=part.name,
        mime_type=_essence(part.declared_type),
        kind=kind_of(_essence(part.declared_type)) or "",
        content=part.content,
        uploaded_at=sandbox.now,
    )
    tenant.media[stored.id] = stored
    return Result(part.name, stored)


def problem(sandbox: Sandbox, part: FilePart) -> ApiError | None:
    """Return why this file is not taken (its declared type, its content or its size), or None if it is taken."""
    declared = _essence(part.declared_type)
    kind = kind_of(declared)
    if kind is None or not part.content:
        missing = "no content" if kind else f"type {declared!r}" if declared else "no Content-Type"
        return _invalid_format(part.name, f"got {missing}; expected one of the mock's own list: {', '.join(KINDS)}")
    reason = _mismatch(part, declared)
    if reason:
        return _invalid_format(part.name, f"declared {declared}, but {reason}")
    sizes: Any = sandbox.choices["media-max-size"]
    if len(part.content) > sizes[kind]:
        bound = own_bound("media-max-size")
        reason = f"got {len(part.content)} bytes; expected at most {sizes[kind]} for kind {kind} ({bound})"
        return _too_large(part.name, reason, sandbox, sizes[kind])
    return None


def _declared(sandbox: Sandbox, part: FilePart) -> str:
    """The type that the sender declared, or the one that the choice `media-missing-type` puts in its place."""
    if part.declared_type or sandbox.choices["media-missing-type"] == "refuse":
        return part.declared_type
    if sandbox.choices["media-missing-type"] == "text-plain":
        return _TEXT
    return next(iter(media_types(part.content)), _TEXT if is_text(part.content) else "")


def _mismatch(part: FilePart, declared: str) -> str:
    """What the content looks like where it does not look like the declared type; a text may begin as it likes."""
    if declared == _TEXT:
        if is_text(part.content, _charset(part.declared_type)):
            return ""
        looks = next(iter(media_types(part.content)), "binary data")
    else:
        types = media_types(part.content)
        if declared in types:
            return ""
        looks = " or ".join(types) or "none of the accepted types"
    return f"the content looks like {looks}"


def _charset(declared: str) -> str:
    """The parameter `charset` of a declared type, "" where it has none."""
    pairs = (parameter.partition("=") for parameter in declared.split(";")[1:])
    return next((value.strip(' "') for name, _, value in pairs if name.strip().lower() == "charset"), "")


def _essence(declared: str) -> str:
    return declared.partition(";")[0].strip().lower()


def _invalid_format(name: str, reason: str) -> ApiError:
    return ApiError("MEDIA_INVALID_FORMAT", clause="media.format", at=f"files[{name}]", reason=reason, name=name)


def _too_large(name: str, reason: str, sandbox: Sandbox, limit_bytes: int | None = None) -> ApiError:
    sizes: Any = sandbox.choices["media-max-size"]
    limit = limit_bytes if limit_bytes is not None else max(sizes.values())
    return ApiError(
        "MEDIA_FILE_TOO_LARGE",
        clause="media.too-large",
        at=f"files[{name}]",
        reason=reason,
        name=name,
        max=spelled_size(limit),
    )


def spelled_size(size_bytes: int) -> str:
    """5242880 as `5 MB`, 512000 as `500 KB`, 100 as `100 bytes`."""
    for unit, name in ((1024 * 1024, "MB"), (1024, "KB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} bytes"
