"""
Reading an upload: the parts of a multipart/form-data body (RFC 7578), in time that grows with the body alone.

1. A body that breaks the format has no files: a parser finds none in it (fixed decision `media-wrong-field-or-boundary`).
2. The boundary at the beginning of a line always ends a part (RFC 2046, 5.1.1); lines end as the first one does.
3. The number of parts and the size of a part's head are bounded; what is beyond a bound is refused with the bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mockserver.contract.limits import OWN_BOUND, PART_HEAD_MAX_BYTES, UPLOAD_OTHER_PARTS_MAX, own_bound
from mockserver.core.calls import ApiError, FilePart

_FIELD = "files"
_PERCENT_ESCAPES = (("%0A", "\n"), ("%0D", "\r"))  # WHATWG HTML, 4.10.21.8; werkzeug decodes the third one, %22
# A backslash and what it escapes, or one that escapes nothing; the last quote of a header ends its text.
_ESCAPE = re.compile(r'\\(?!"[^"]*\Z)(["\\])|\\')


class _Part(NamedTuple):
    head: bytes
    content: bytes


def reader(content_type: str, body: bytes) -> Callable[[int], Sequence[FilePart]]:
    """Return a function that reads the files of the field `files`, given how many the operation takes."""
    return lambda files_max: read(content_type, body, files_max)


def read(content_type: str, body: bytes, files_max: int) -> Sequence[FilePart]:
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
    files: list[FilePart] = []
    try:
        for number, part in enumerate(_parts(body, boundary.encode("ascii")), start=1):
            if number > files_max + UPLOAD_OTHER_PARTS_MAX:
                raise _too_many(files_max)
            files.extend(_files(part))
    except (ValueError, LookupError):  # a body that breaks the format, a part without a disposition
        return ()
    return files


def _files(part: _Part) -> Iterator[FilePart]:
    """The file of a part, if it is one; LookupError where the part has no disposition."""
    from werkzeug.http import parse_options_header

    headers = _headers(part.head)
    _, disposition = parse_options_header(_ESCAPE.sub(_escaped, headers["content-disposition"]))
    if disposition.get("name") != _FIELD or "filename" not in disposition:
        return
    name = disposition["filename"]
    for escape, character in _PERCENT_ESCAPES:
        name = name.replace(escape, character)
    yield FilePart(name, headers.get("content-type", ""), part.content)


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
    return ApiError("MEDIA_UPLOAD_TOO_MANY_FILES", clause="media.too-many", at="files", reason=reason, max=files_max)


def _long_head() -> ApiError:
    reason = f"got a part whose headers are longer than {PART_HEAD_MAX_BYTES} bytes ({OWN_BOUND})"
    return ApiError("MEDIA_UPLOAD_EMPTY", clause="media.empty", at="files", reason=reason)
