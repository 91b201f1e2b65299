"""
Requests of the public API: from HTTP to a call, with the parts of an upload.

Reading an upload: the parts of a multipart/form-data body (RFC 7578), in time that grows with the body alone.

1. A body that breaks the format has no files: a parser finds none in it (fixed decision `media-wrong-field-or-boundary`).
2. The boundary at the beginning of a line always ends a part (RFC 2046, 5.1.1); lines end as the first one does.
3. The number of parts and the size of a part's head are bounded; what is beyond a bound is refused with the bound.

The gateway: `serve` takes a request to the public API and gives its answer. It is the whole of `/v1`.

The Flask view and the in-process transports are shells around it, so the two ways in cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from mockserver.contract.limits import (
    FORM_BODY_MAX_BYTES,
    JSON_BODY_MAX_BYTES,
    OWN_BOUND,
    PART_HEAD_MAX_BYTES,
    UPLOAD_MAX_BYTES,
    UPLOAD_OTHER_PARTS_MAX,
    own_bound,
)
from mockserver.core.scheduler import run_until
from mockserver.core.state.calls import ApiError, Call, UploadedFile
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.api import exchange, router
from mockserver.server.api.exchange import NO_TIMEOUT, ClientWait
from mockserver.server.api.response import HttpResponse, ResponseOptions

_FIELD = "files"
_PERCENT_ESCAPES = (("%0A", "\n"), ("%0D", "\r"))  # WHATWG HTML, 4.10.21.8; werkzeug decodes the third one, %22
# A backslash and what it escapes, or one that escapes nothing; the last quote of a header ends its text.
_ESCAPE = re.compile(r'\\(?!"[^"]*\Z)(["\\])|\\')


class _Part(NamedTuple):
    head: bytes
    content: bytes


def reader(content_type: str, body: bytes) -> Callable[[int], Sequence[UploadedFile]]:
    """Return a function that reads the files of the field `files`, given how many the operation takes."""
    return lambda files_max: read(content_type, body, files_max)


def read(content_type: str, body: bytes, files_max: int) -> Sequence[UploadedFile]:
    """
    Return the files of the field `files`, in order; none where the body is no multipart that can be read.

    Refuses more parts than `files_max` and `UPLOAD_OTHER_PARTS_MAX` with MEDIA_UPLOAD_TOO_MANY_FILES, and a part whose
    head is larger than `PART_HEAD_MAX_BYTES` with MEDIA_UPLOAD_EMPTY.
    """
    from werkzeug.http import parse_options_header

    kind, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if kind.lower() != "multipart/form-data" or not boundary or not boundary.isascii():
        return ()
    files: list[UploadedFile] = []
    try:
        for number, part in enumerate(_parts(body, boundary.encode("ascii")), start=1):
            if number > files_max + UPLOAD_OTHER_PARTS_MAX:
                raise _too_many(files_max)
            files.extend(_files(part))
    except (ValueError, LookupError):  # a body that breaks the format, a part without a disposition
        return ()
    return files


def _files(part: _Part) -> Iterator[UploadedFile]:
    """The file of a part, if it is one; LookupError where the part has no disposition."""
    from werkzeug.http import parse_options_header

    headers = _headers(part.head)
    _, disposition = parse_options_header(_ESCAPE.sub(_escaped, headers["content-disposition"]))
    if disposition.get("name") != _FIELD or "filename" not in disposition:
        return
    name = disposition["filename"]
    for escape, character in _PERCENT_ESCAPES:
        name = name.replace(escape, character)
    yield UploadedFile(name, headers.get("content-type", ""), part.content)


def _parts(body: bytes, boundary: bytes) -> Iterator[_Part]:
    """The parts between the delimiter lines; ValueError where the body ends before the last delimiter."""
    dashes = b"--" + boundary
    at = 0 if body.startswith(dashes) else body.index(b"\n" + dashes) + 1
    line_end = body.index(b"\n", at)
    end_of_line = b"\r\n" if body[line_end - 1 : line_end] == b"\r" else b"\n"
    while body[at + len(dashes) : at + len(dashes) + 2] != b"--":
        line_end = body.index(b"\n", at, at + len(dashes) + PART_HEAD_MAX_BYTES)
        if body[at + len(dashes) : line_end].strip(b" \t\r"):
            raise ValueError("a line that begins with the boundary and is no delimiter")
        start = line_end + 1
        end = body.index(end_of_line + dashes, start - len(end_of_line))
        head_limit = min(end + len(end_of_line), start + PART_HEAD_MAX_BYTES)
        head_end = body.find(2 * end_of_line, start - len(end_of_line), head_limit)
        if head_end < 0 and end - start > PART_HEAD_MAX_BYTES:
            raise _long_head()
        if head_end < 0:
            raise ValueError("a part without a head")
        yield _Part(body[start:head_end], body[head_end + 2 * len(end_of_line) : end])
        at = end + len(end_of_line)


def _headers(head: bytes) -> dict[str, str]:
    """A part's headers, names in lower case; UTF-8, or Latin-1 where it is not (fixed decision `media-file-name`)."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\n ", " ").replace("\n\t", " ").split("\n")
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _escaped(escape: re.Match[str]) -> str:
    """The escape, or an escaped backslash where it escapes nothing: browsers send the backslash of a name as it is."""
    return escape[0] if escape[1] else r"\\"


def _too_many(files_max: int) -> ApiError:
    reason = (
        f"got more than {files_max + UPLOAD_OTHER_PARTS_MAX} parts; expected at most {files_max} files "
        f"({own_bound('media-max-files')}) and {UPLOAD_OTHER_PARTS_MAX} other parts ({OWN_BOUND})"
    )
    return ApiError(
        "MEDIA_UPLOAD_TOO_MANY_FILES", clause="media.too-many", location="files", reason=reason, max=files_max
    )


def _long_head() -> ApiError:
    reason = f"got a part whose headers are longer than {PART_HEAD_MAX_BYTES} bytes ({OWN_BOUND})"
    return ApiError("MEDIA_UPLOAD_EMPTY", clause="media.empty", location="files", reason=reason)


class HttpRequest(NamedTuple):
    """
    A request as it came: the raw target after the sandbox's prefix, headers with lower-case names, the whole body.

    `body` is None where it was larger than `body_limit` of its target and was not read.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    base_url: str

    def __repr__(self) -> str:  # headers, target and body may hold a key
        return f"Wire(method={self.method!r}, base_url={self.base_url!r})"


def body_limit_bytes(target: str) -> int:
    """How large a body of this target may be."""
    if target.startswith("/connect/"):
        return FORM_BODY_MAX_BYTES
    return UPLOAD_MAX_BYTES if target.startswith("/v1/messaging/media") else JSON_BODY_MAX_BYTES


def handle_api_request(
    sandbox: SandboxState,
    wire: HttpRequest,
    manner: ResponseOptions = ResponseOptions(),  # noqa: B008 - an immutable default
    door: ClientWait = NO_TIMEOUT,
) -> HttpResponse:
    """
    The answer to one request, after letting time pass up to now; the exchange is in the journal when this returns.

    Whatever comes, the answer is the documented one or the documented error, unless a script bends it; an unexpected
    failure is INTERNAL_ERROR. `door` is how a scripted wait is spent.
    """
    call = parse_call(wire)
    if sandbox.rule_set.rules and call.endpoint is not None:
        answer = exchange.exchange_with_rules(sandbox, call, manner, door)
    else:
        with sandbox.lock:
            run_until(sandbox, sandbox.read_clock())
            answer = exchange.exchange(sandbox, call, manner)
    if call.method != "HEAD" or not answer.status:
        return answer
    length = ("Content-Length", str(len(answer.body)))  # as GET would have it
    return answer._replace(headers=(*answer.headers, length), body=b"")


def parse_call(wire: HttpRequest) -> Call:
    """The request as the core takes it; nothing of it is believed yet."""
    path, _, query = wire.target.partition("?")
    found = router.route(wire.method, path)
    content_type = wire.headers.get("content-type", "")
    return Call(
        wire.method,
        path,
        found.endpoint,
        found.allow,
        found.params,
        _pairs(query) if query else (),
        wire.headers,
        wire.body,
        reader(content_type, wire.body or b""),
        wire.base_url,
    )


def _pairs(query: str) -> Sequence[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="replace", max_num_fields=200)
    except ValueError:  # more pairs than any operation could want: none of them counts
        return ()
