"""Reading an upload: multipart parts by werkzeug's parser, and what each content looks like by puremagic."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from mockserver.core.calls import FilePart

_FIELD = "files"


def reader(content_type: str, body: bytes) -> Callable[[], Sequence[FilePart]]:
    """A function that reads the files of the field `files`; it is called only if the operation gets that far."""
    return lambda: read(content_type, body)


def read(content_type: str, body: bytes) -> Sequence[FilePart]:
    """The files of the field `files`, in order; none where the body is no multipart that can be read."""
    from werkzeug.formparser import MultiPartParser
    from werkzeug.http import parse_options_header

    kind, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if kind != "multipart/form-data" or not boundary or not boundary.isascii():
        return ()
    try:
        _, files = MultiPartParser().parse(io.BytesIO(body), boundary.encode("ascii"), len(body))
    except ValueError:  # werkzeug's word for a body that breaks the format
        return ()
    return [_part(each.filename or "", each.content_type or "", each.stream.read()) for each in files.getlist(_FIELD)]


def _part(name: str, declared_type: str, content: bytes) -> FilePart:
    return FilePart(name, declared_type, sniff(content), content)


def sniff(content: bytes) -> tuple[str, ...]:
    """The types that the content may have, MIME types and extensions, likeliest first; empty where nothing is known."""
    import puremagic

    try:
        found = puremagic.magic_string(content) if content else []
    except puremagic.PureError:
        return ()
    return tuple(dict.fromkeys(name for match in found for name in (match.mime_type, match.extension) if name))
