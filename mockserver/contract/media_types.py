"""The media types that an upload accepts, by kind (fixed decision `media-mime-list`)."""

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


def kind_of(mime_type: str) -> str | None:
    """Return image, video, audio, document or sticker, or None for a type that an upload refuses."""
    return KINDS.get(mime_type)
