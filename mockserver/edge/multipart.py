"""Reading an upload: multipart parts by werkzeug's parser, and what each content looks like by puremagic."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import IO, Any

from mockserver.core.calls import FilePart

_FIELD = "files"
_OFFICE_FOLDERS = {"word": ".docx", "xl": ".xlsx", "ppt": ".pptx"}


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
        _, files = MultiPartParser(stream_factory=_in_memory).parse(
            io.BytesIO(body), boundary.encode("ascii"), len(body)
        )
    except ValueError:  # werkzeug's word for a body that breaks the format
        return ()
    return [_part(each.filename or "", each.content_type or "", each.stream.read()) for each in files.getlist(_FIELD)]


def _part(name: str, declared_type: str, content: bytes) -> FilePart:
    return FilePart(name, declared_type, sniff(content), content)


def _in_memory(*_: Any, **__: Any) -> IO[bytes]:
    """The body is in memory already: no part of it needs a file of its own."""
    return io.BytesIO()


def sniff(content: bytes) -> tuple[str, ...]:
    """The types that the content may have, MIME types and extensions, likeliest first; empty where nothing is known."""
    import puremagic

    if content.startswith(b"PK\x03\x04"):
        return _in_archive(content)
    try:
        found = puremagic.magic_string(content) if content else []
    except puremagic.PureError:
        found = []
    names = [name for match in found for name in (match.mime_type, match.extension) if name]
    return tuple(dict.fromkeys([*names, *(["audio/mpeg"] if _begins_an_mp3_frame(content) else [])]))


def _in_archive(content: bytes) -> tuple[str, ...]:
    """What a zip archive is: the office document whose folder it holds, else just an archive."""
    from zipfile import BadZipFile, ZipFile

    try:
        members = ZipFile(io.BytesIO(content)).namelist()
    except (BadZipFile, ValueError, OSError):
        return ()
    folders = {member.partition("/")[0] for member in members} if "[Content_Types].xml" in members else set()
    return ("application/zip", *(extension for folder, extension in _OFFICE_FOLDERS.items() if folder in folders))


def _begins_an_mp3_frame(content: bytes) -> bool:
    """
    True where the content begins with the header of an MPEG audio frame of layer III: eleven set bits, a version and a layer.

    puremagic knows a few of these headers by their bytes, not the many that other rates and checksums make.
    """
    if len(content) < 4 or content[0] != 0xFF or content[1] & 0xE0 != 0xE0:
        return False
    version, layer, bit_rate, sampling = content[1] >> 3 & 3, content[1] >> 1 & 3, content[2] >> 4, content[2] >> 2 & 3
    return version != 1 and layer == 1 and bit_rate not in (0, 15) and sampling != 3
