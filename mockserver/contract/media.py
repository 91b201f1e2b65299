"""The media types that an upload takes, by kind, and what their contents look like (fixed decision `media-mime-list`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_MS = "application/vnd.ms-"
_OOXML = "application/vnd.openxmlformats-officedocument."
_WORD, _SHEET, _SLIDES = (
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
        _WORD: "document",
        _SHEET: "document",
        _SLIDES: "document",
    }
)

# What a content sniffer may call the content of a declared type: MIME types, or extensions where it knows no type.
# `text/plain` has no row, since text has no magic number.
SNIFFED_AS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "image/jpeg": frozenset({"image/jpeg"}),
        "image/png": frozenset({"image/png"}),
        "image/webp": frozenset({"image/webp"}),
        "video/mp4": frozenset({"video/mp4", ".mp4"}),
        "video/3gpp": frozenset({"video/3gpp", ".3gp"}),
        "audio/aac": frozenset({"audio/aac", ".aac"}),
        "audio/amr": frozenset({"audio/amr", ".amr"}),
        "audio/mpeg": frozenset({"audio/mpeg", ".mp3"}),
        "audio/mp4": frozenset({"audio/mp4", ".m4a", "video/mp4", ".mp4"}),  # one container; its brand tells no more
        "audio/ogg": frozenset({"audio/ogg", ".oga", ".opus"}),
        "application/pdf": frozenset({"application/pdf"}),
        "application/msword": frozenset({"application/msword", ".doc"}),
        f"{_MS}excel": frozenset({f"{_MS}excel", ".xls"}),
        f"{_MS}powerpoint": frozenset({f"{_MS}powerpoint", ".ppt"}),
        _WORD: frozenset({_WORD, ".docx"}),
        _SHEET: frozenset({_SHEET, ".xlsx"}),
        _SLIDES: frozenset({_SLIDES, ".pptx"}),
    }
)


def kind_of(mime_type: str) -> str | None:
    """image, video, audio, document or sticker; None for a type that is not taken."""
    return KINDS.get(mime_type)
