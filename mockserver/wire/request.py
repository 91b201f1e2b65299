"""
Requests of the public API: from HTTP to a call, with the parts of an upload.

Rules of reading an upload, a multipart/form-data body (RFC 7578), in time linear in the body's size:

1. A body that breaks the format has no files (fixed decision `media-wrong-field-or-boundary`).
2. The boundary at the beginning of a line always ends a part (RFC 2046, 5.1.1); lines end as the first one does.
3. The number of parts and the size of a part's head are bounded; the refusal names the bound.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import NamedTuple, Self
from urllib.parse import parse_qsl

from mockserver.contract.limits import (
    FORM_BODY_MAX_BYTES,
    HEAD_HEADERS_MAX,
    HEAD_LINE_MAX_BYTES,
    JSON_BODY_MAX_BYTES,
    OWN_BOUND,
    PART_HEAD_MAX_BYTES,
    UPLOAD_MAX_BYTES,
    UPLOAD_OTHER_PARTS_MAX,
    own_bound,
)
from mockserver.core.state.calls import ApiError, Call, Excess, Upload, UploadedFile, no_files
from mockserver.wire import router

SANDBOXES = "/sandboxes/"  # followed by a sandbox's id: the prefix of that sandbox
_STEP_BYTES = 64 * 1024  # of an upload, searched or copied without letting another thread run
_FIELD = "files"
_UNRESERVED = "%(2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|5[0-9AaFf]|7[0-9AaEe])"  # RFC 3986, 2.3
_PERCENT_ESCAPES = (("%0A", "\n"), ("%0D", "\r"))  # WHATWG HTML, 4.10.21.8; werkzeug decodes the third one, %22
# A backslash and what it escapes, or one that escapes nothing; the last quote of a header ends its text.
_ESCAPE = r'\\(?!"[^"]*\Z)(["\\])|\\'


def _parse_options(header: str) -> tuple[str, dict[str, str]]:
    from werkzeug.http import parse_options_header  # late: it is slow to import, and only uploads need it

    return parse_options_header(header)


class _Part(NamedTuple):
    head: bytes
    content: bytes


def files_of(call: Call, files_max: int) -> Upload:
    """Return the files of an upload (see `read_upload`)."""
    return read_upload(call.headers.get("content-type", ""), call.body or b"", files_max)


def read_upload(content_type: str, body: bytes, files_max: int) -> Upload:
    """
    Return the files of the field `files`, in order; none if the body is not a readable multipart.

    Args:
        content_type: the request's Content-Type.
        body: the whole body.
        files_max: the number of files that the operation takes.

    Raises:
        ApiError: MEDIA_UPLOAD_TOO_MANY_FILES for more parts than `files_max` and `UPLOAD_OTHER_PARTS_MAX`;
            MEDIA_UPLOAD_EMPTY for a part whose head is larger than `PART_HEAD_MAX_BYTES`.
    """
    kind, options = _parse_options(content_type)
    boundary = options.get("boundary", "")
    if kind.lower() != "multipart/form-data":
        return Upload((), f"the Content-Type {kind!r}" if kind else "no Content-Type")
    if not boundary:
        return Upload(
            (), "a Content-Type without a boundary, which HTTP libraries set if a client leaves the header out"
        )
    if not body:
        return Upload((), "an empty body")
    if not boundary.isascii() or f"--{boundary}".encode() not in body:
        return Upload((), f"a body without the boundary {boundary!r} of its Content-Type")
    try:
        read = [_file(part) for part in _bounded(_parts(body, boundary.encode("ascii")), files_max)]
    except ValueError:
        return Upload((), "a body that is cut or breaks the format of multipart/form-data")
    files = [part for part in read if isinstance(part, UploadedFile)]
    others = [part for part in read if isinstance(part, str)]
    return Upload(files, "" if files else " and ".join(dict.fromkeys(others)) or "a body without parts")


def _bounded(parts: Iterator[_Part], files_max: int) -> Iterator[_Part]:
    """Yield the parts; refuse those beyond the bound on their number."""
    for number, part in enumerate(parts, start=1):
        if number > files_max + UPLOAD_OTHER_PARTS_MAX:
            reason = (
                f"got more than {files_max + UPLOAD_OTHER_PARTS_MAX} parts; expected at most {files_max} files "
                f"({own_bound('media-max-files')}) and {UPLOAD_OTHER_PARTS_MAX} other parts ({OWN_BOUND})"
            )
            raise ApiError("MEDIA_UPLOAD_TOO_MANY_FILES", location="files", reason=reason, max=files_max)
        yield part


def _file(part: _Part) -> UploadedFile | str:
    """Return the part's file; of any other part, what it is."""
    # UTF-8, else Latin-1 (fixed decision `media-file-name`).
    try:
        text = part.head.decode("utf-8")
    except UnicodeDecodeError:
        text = part.head.decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\n ", " ").replace("\n\t", " ").split("\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if "content-disposition" not in headers:
        raise ValueError("a part without a Content-Disposition")
    disposition = re.sub(_ESCAPE, _escaped, headers["content-disposition"])
    kind, parameters = _parse_options(disposition)
    name = parameters.get("filename")
    if kind.lower() != "form-data":
        return f"a part whose Content-Disposition is {kind!r}"
    field = parameters.get("name", "")
    if name is None:
        return f"the field {field!r} without a file name"
    if field != _FIELD:
        return f"a file in the field {field!r}"
    for escape, character in _PERCENT_ESCAPES:
        name = name.replace(escape, character)
    return UploadedFile(name, headers.get("content-type", ""), part.content)


def _parts(body: bytes, boundary: bytes) -> Iterator[_Part]:
    """Yield the parts between the delimiter lines; ValueError if the body ends before the last delimiter."""
    dashes = b"--" + boundary
    at = 0 if body.startswith(dashes) else _index(body, b"\n" + dashes, 0) + 1
    line_end = body.index(b"\n", at)
    end_of_line = b"\r\n" if body[line_end - 1 : line_end] == b"\r" else b"\n"
    while body[at + len(dashes) : at + len(dashes) + 2] != b"--":
        line_end = body.index(b"\n", at, at + len(dashes) + PART_HEAD_MAX_BYTES)
        if body[at + len(dashes) : line_end].strip(b" \t\r"):
            raise ValueError("a line begins with the boundary and is not a delimiter")
        start = line_end + 1
        end = _index(body, end_of_line + dashes, start - len(end_of_line))
        head_limit = min(end + len(end_of_line), start + PART_HEAD_MAX_BYTES)
        head_end = body.find(2 * end_of_line, start - len(end_of_line), head_limit)
        if head_end < 0 and end - start > PART_HEAD_MAX_BYTES:
            reason = f"got a part whose headers are longer than {PART_HEAD_MAX_BYTES} bytes ({OWN_BOUND})"
            raise ApiError("MEDIA_UPLOAD_EMPTY", location="files", reason=reason)
        if head_end < 0:
            raise ValueError("a part without a head")
        yield _Part(body[start:head_end], _copied(body, head_end + 2 * len(end_of_line), end))
        at = end + len(end_of_line)


def _index(body: bytes, wanted: bytes, start: int) -> int:
    """Return `body.index(wanted, start)`, searched in short steps: other threads run in between, however large the body is."""
    for begin in range(start, len(body), _STEP_BYTES):
        place = body.find(wanted, begin, begin + _STEP_BYTES + len(wanted) - 1)
        if place >= 0:
            return place
        _let_others_run()
    raise ValueError("got a body without the end of a part")


def _copied(body: bytes, start: int, end: int) -> bytes:
    """Return `body[start:end]`, copied in short steps."""
    if end - start <= _STEP_BYTES:
        return body[start:end]
    copy, view = BytesIO(), memoryview(body)  # the value of `copy` is its buffer, not another copy
    for begin in range(start, end, _STEP_BYTES):
        copy.write(view[begin : min(begin + _STEP_BYTES, end)])
        _let_others_run()
    return copy.getvalue()


def _let_others_run() -> None:
    """Let a thread that waits for the interpreter have it now, and not after the interval of the switch."""
    time.sleep(0)


def _escaped(escape: re.Match[str]) -> str:
    """Return the escape, or an escaped backslash if it escapes nothing: browsers send a name's backslash unescaped."""
    return escape[0] if escape[1] else r"\\"


class HttpRequest(NamedTuple):
    """
    A request to the server.

    Attributes:
        target: path and query, encoded, as `equal_target` has them; below the sandbox's prefix once the sandbox is resolved.
        headers: values by lower-case name.
        body: the whole body; None if it was larger than the limit of its target and was not read.
        base_url: the address that the client used, for the urls that a response contains.
        excess: what the head has beyond the mock's bounds, or None.
        body_failure: why the mock could not store the body, or None.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    base_url: str
    excess: Excess | None = None
    body_failure: str | None = None

    @classmethod
    def create(
        cls,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        base_url: str,
    ) -> Self:
        """
        Return a request whose body is within the limit of its target.

        Args:
            method: as received.
            target: raw path and query, with or without a sandbox's prefix.
            headers: values by lower-case name.
            body: the whole body; None for one that is larger than the limit.
            base_url: the address that the client used.
        """
        longest = max((len(f"{name}: {value}") for name, value in headers.items()), default=0)
        excess = excess_of(len(f"{method} {target} HTTP/1.1"), longest, len(headers))
        target = equal_target(target)
        if body is not None and len(body) > body_limit_bytes(target):
            body = None
        return cls(method, target, headers, body, base_url, excess)

    def __repr__(self) -> str:  # headers, target and body may contain a key
        return f"HttpRequest(method={self.method!r}, base_url={self.base_url!r})"


def excess_of(line_bytes: int, header_bytes: int, headers: int) -> Excess | None:
    """
    Return what a head has beyond the mock's bounds; None if nothing.

    Args:
        line_bytes: of the request line.
        header_bytes: of the longest header's line.
        headers: their number.
    """
    if line_bytes > HEAD_LINE_MAX_BYTES:
        got, most, status = f"a request line of {line_bytes} bytes", HEAD_LINE_MAX_BYTES, 414
    elif header_bytes > HEAD_LINE_MAX_BYTES:
        got, most, status = f"a header of {header_bytes} bytes", HEAD_LINE_MAX_BYTES, 431
    elif headers > HEAD_HEADERS_MAX:
        got, most, status = f"{headers} headers", HEAD_HEADERS_MAX, 431
    else:
        return None
    return Excess(status, f"got {got}; expected at most {most} ({OWN_BOUND})")


def equal_target(target: str) -> str:
    """Return the target with the unreserved characters of its path decoded, which does not change what it names (RFC 3986, 6.2.2.2)."""
    if "%" not in target:
        return target
    path, mark, query = target.partition("?")
    return re.sub(_UNRESERVED, lambda escape: chr(int(escape[1], 16)), path) + mark + query


def body_limit_bytes(target: str) -> int:
    """Return the limit for a body sent to this target, with or without a sandbox's prefix."""
    if target.startswith(SANDBOXES):
        target = "/" + target[len(SANDBOXES) :].partition("/")[2]
    if target.startswith("/connect/"):
        return FORM_BODY_MAX_BYTES
    return UPLOAD_MAX_BYTES if target.startswith("/v1/messaging/media") else JSON_BODY_MAX_BYTES


def parse_call(request: HttpRequest) -> Call:
    """Return the request as a call, before any check of it."""
    path, _, query = request.target.partition("?")
    match = router.route(request.method, path)
    is_upload = match.target is not None and match.target.body == "multipart"
    return Call(
        method=request.method,
        path=path,
        endpoint=match.target,
        allowed_methods=match.allow,
        params=match.params,
        query=parse_qsl(query, keep_blank_values=True, errors="replace") if query else (),
        headers=request.headers,
        body=request.body,
        read_files=files_of if is_upload else no_files,
        base_url=request.base_url,
        excess=request.excess,
        body_failure=request.body_failure,
    )
