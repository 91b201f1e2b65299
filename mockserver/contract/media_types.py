"""The media types that an upload accepts, by kind (fixed decision `media-mime-list`), and the bytes that show them."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_MS = "application/vnd.ms-"
_OOXML = "application/vnd.openxmlformats-officedocument."
WORD, SHEET, SLIDES = (
    f"{_OOXML}wordprocessingml.document",
    f"{_OOXML}spreadsheetml.sheet",
    f"{_OOXML}presentationml.presentation",
)

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "image/jpeg": "image",
        "image/png": "image",
        "image/webp": "sticker",
        "video/mp4": "video",
        "video/3gpp": "video",
        "audio/aac": "audio",
        "audio/amr": "audio",
        "audio/mpeg": "audio",
        "audio/mp4": "audio",
        "audio/ogg": "audio",
        "text/plain": "document",
        "application/pdf": "document",
        "application/msword": "document",
        f"{_MS}excel": "document",
        f"{_MS}powerpoint": "document",
        WORD: "document",
        SHEET: "document",
        SLIDES: "document",
    }
)


class Signature(NamedTuple):
    """Bytes at one place of a file, and the types whose files have them, the likeliest first."""

    at: int
    content: bytes
    types: tuple[str, ...]


# The first row that a content has decides: a brand of ISO media comes before the general one. Types that share a container
# are not distinguished; some that no upload accepts have a row, so that a refusal can name them.
# fmt: off
SIGNATURES: Final = (
    Signature(0, b"\xff\xd8\xff",         ("image/jpeg",)),
    Signature(0, b"\x89PNG\r\n\x1a\n",    ("image/png",)),
    Signature(8, b"WEBP",                 ("image/webp",)),
    Signature(4, b"ftypM4A",              ("audio/mp4",)),
    Signature(4, b"ftyp3gp",              ("video/3gpp",)),
    Signature(4, b"ftypqt",               ("video/quicktime",)),
    Signature(4, b"ftyphe",               ("image/heic",)),
    Signature(4, b"ftypmif1",             ("image/heif",)),
    Signature(4, b"ftypavi",              ("image/avif",)),
    Signature(4, b"ftyp",                 ("video/mp4", "audio/mp4")),
    Signature(0, b"\xff\xf1",             ("audio/aac",)),
    Signature(0, b"\xff\xf9",             ("audio/aac",)),
    Signature(0, b"#!AMR\n",              ("audio/amr",)),
    Signature(0, b"ID3",                  ("audio/mpeg",)),
    Signature(0, b"\xff\xe3",             ("audio/mpeg",)),
    Signature(0, b"\xff\xf2",             ("audio/mpeg",)),
    Signature(0, b"\xff\xf3",             ("audio/mpeg",)),
    Signature(0, b"\xff\xfa",             ("audio/mpeg",)),
    Signature(0, b"\xff\xfb",             ("audio/mpeg",)),
    Signature(0, b"OggS\0",               ("audio/ogg", "video/ogg")),
    Signature(0, b"%PDF-",                ("application/pdf",)),
    Signature(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ("application/msword", f"{_MS}excel", f"{_MS}powerpoint")),
    Signature(0, b"PK\x03\x04",           (WORD, SHEET, SLIDES, "application/zip")),
    Signature(0, b"GIF8",                 ("image/gif",)),
    Signature(0, b"II*\0",                ("image/tiff",)),
    Signature(0, b"MM\0*",                ("image/tiff",)),
    Signature(8, b"WAVE",                 ("audio/wav",)),
    Signature(8, b"AVI ",                 ("video/x-msvideo",)),
    Signature(0, b"fLaC\0",               ("audio/flac",)),
    Signature(0, b"\x1a\x45\xdf\xa3",     ("video/webm",)),
    Signature(0, b"\x1f\x8b\x08",         ("application/gzip",)),
    Signature(0, b"MZ",                   ("application/vnd.microsoft.portable-executable",)),
)
# fmt: on

# Bytes that no text contains (WHATWG MIME Sniffing, 3: a binary data byte).
_BINARY: Final = bytes((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))


def types_of(content: bytes) -> tuple[str, ...]:
    """Return the types that a content may have by its first bytes, the likeliest first; none if they show none."""
    for signature in SIGNATURES:
        if content.startswith(signature.content, signature.at):
            return signature.types
    return ()


def is_text(content: bytes) -> bool:
    """Return True if the content can be text/plain: it contains no binary byte. UTF-16 is known by its byte order mark."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16", "ignore").encode("utf-8", "surrogatepass")
    return len(content) == len(content.translate(None, _BINARY))


def marks_of(mime_type: str) -> str:
    """Return the words for what a file of an accepted type has."""
    if mime_type == "text/plain":
        return "text without control characters"
    signatures = [signature for signature in SIGNATURES if mime_type in signature.types]
    return " or ".join(f"{_shown(signature.content)} at byte {signature.at}" for signature in signatures)


def _shown(content: bytes) -> str:
    written = content.decode("latin-1")
    return written if written.isascii() and written.isprintable() else content.hex(" ")
