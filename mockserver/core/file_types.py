"""
The media type of a file by its content: first bytes, and where several types share them, the container's parts.

Libraries know first bytes alone: they call a theora film a sound, a 3GPP film an MP4 and a spreadsheet a text, so that
the types which an upload takes are read here. Other types have a row so that a refusal can name them.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from mockserver.core.containers import archive, compound, iso_media, ogg

TEXT_READ_MAX_BYTES: Final = 1024 * 1024  # of a content that may be a text

# Bytes that no text holds (WHATWG MIME Sniffing, 3: a binary data byte).
_BINARY: Final = bytes((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_BINARY_CHARACTERS: Final = frozenset(_BINARY.decode("ascii"))
_MARKS: Final = (  # the longer ones first: UTF-32 begins as UTF-16 does
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_CHARSETS: Final = MappingProxyType(
    {"utf-16": "utf-16-be", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "utf-32": "utf-32-be"}
    | {"utf-32le": "utf-32-le", "utf-32be": "utf-32-be"}
)
_PDF_BLANKS: Final = codecs.BOM_UTF8 + b"\0\t\n\x0c\r "


def media_types(content: bytes) -> tuple[str, ...]:
    """The types that the content may have, the likeliest first; none where it looks like no type that is listed."""
    for begins, read in _READERS:
        if content.startswith(begins):
            return read(content)
    if content[4:8] == b"ftyp":
        return iso_media(content)
    if content[:1] == b"\xff":
        return _audio_frame(content)
    return ("application/pdf",) if content[:1024].lstrip(_PDF_BLANKS).startswith(b"%PDF-") else ()


def is_text(content: bytes, charset: str = "") -> bool:
    """
    Return True if the content can be text/plain: it holds no binary byte, whatever its first letters are.

    UTF-16 and UTF-32 are understood by their byte order mark, or by the `charset` that the sender declares.
    """
    head = content[:TEXT_READ_MAX_BYTES]
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return _is_wide_text(head[len(mark) :], encoding, is_cut=len(content) > len(head))
    if charset.lower() in _WIDE_CHARSETS:
        return _is_wide_text(head, _WIDE_CHARSETS[charset.lower()], is_cut=len(content) > len(head))
    return len(head) == len(head.translate(None, _BINARY))


def _is_wide_text(head: bytes, encoding: str, *, is_cut: bool) -> bool:
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(head, not is_cut)
    except UnicodeDecodeError:
        return False
    return _BINARY_CHARACTERS.isdisjoint(text)


def _jpeg(content: bytes) -> tuple[str, ...]:
    return ("image/jls",) if content[3:4] == b"\xf7" else ("image/jpeg",)


def _png(content: bytes) -> tuple[str, ...]:
    return ("image/png",) if content[12:16] == b"IHDR" else ()


def _riff(content: bytes) -> tuple[str, ...]:
    """The type by the form of a RIFF file, which its first four bytes do not name."""
    if content[8:12] == b"WEBP":
        return ("image/webp",) if content[12:16] in (b"VP8 ", b"VP8L", b"VP8X") else ()
    kind = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(content[8:12])
    return (kind,) if kind else ()


def _tagged(content: bytes) -> tuple[str, ...]:
    """The type of what follows an ID3v2 tag: MPEG audio, unless the frames say otherwise."""
    if len(content) < 10 or content[3] not in (2, 3, 4) or max(content[6:10]) > 0x7F:
        return ()
    size = sum(byte << shift for byte, shift in zip(content[6:10], (21, 14, 7, 0), strict=True))
    frame = content[10 + size : 10 + size + 4096].lstrip(b"\0")
    if frame.startswith(b"fLaC"):
        return ("audio/flac",)
    return _audio_frame(frame) or ("audio/mpeg",)


def _audio_frame(content: bytes) -> tuple[str, ...]:
    """AAC by the header of an ADTS frame (ISO 13818-7, 6.2), or MPEG audio by that of its frame (ISO 11172-3, 2.4)."""
    if len(content) < 4 or content[0] != 0xFF or content[1] & 0xE0 != 0xE0:
        return ()
    if content[1] & 0xF6 == 0xF0:
        length = int.from_bytes(content[3:6], "big") >> 5 & 0x1FFF
        return ("audio/aac",) if content[2] >> 2 & 15 < 13 and length >= 7 else ()
    version, layer, bit_rate, sampling = content[1] >> 3 & 3, content[1] >> 1 & 3, content[2] >> 4, content[2] >> 2 & 3
    return ("audio/mpeg",) if version != 1 and layer in (1, 2) and bit_rate not in (0, 15) and sampling != 3 else ()


def _is(kind: str) -> Callable[[bytes], tuple[str, ...]]:
    return lambda content: (kind,)


# By the first bytes.
# fmt: off
_READERS: Final[tuple[tuple[bytes, Callable[[bytes], tuple[str, ...]]], ...]] = (
    (b"\xff\xd8\xff",                     _jpeg),
    (b"\x89PNG\r\n\x1a\n",                _png),
    (b"RIFF",                             _riff),
    (b"ID3",                              _tagged),
    (b"#!AMR\n",                          _is("audio/amr")),
    (b"#!AMR-WB\n",                       _is("audio/amr-wb")),
    (b"ADIF",                             _is("audio/aac")),
    (b"OggS\0",                           ogg),
    (b"PK\x03\x04",                       archive),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", compound),
    # Types that no upload takes.
    (b"\0\0\0\x0cjP  \r\n\x87\n",         _is("image/jp2")),
    (b"\xff\x4f\xff\x51",                 _is("image/jp2")),
    (b"GIF87a",                           _is("image/gif")),
    (b"GIF89a",                           _is("image/gif")),
    (b"II*\0",                            _is("image/tiff")),
    (b"MM\0*",                            _is("image/tiff")),
    (b"fLaC\0",                           _is("audio/flac")),
    (b"\x1a\x45\xdf\xa3",                 _is("video/webm")),
    (b"{\\rtf",                           _is("text/rtf")),
    (b"\x1f\x8b\x08",                     _is("application/gzip")),
    (b"7z\xbc\xaf\x27\x1c",               _is("application/x-7z-compressed")),
    (b"Rar!\x1a\x07",                     _is("application/vnd.rar")),
    (b"MZ",                               _is("application/vnd.microsoft.portable-executable")),
)
# fmt: on
