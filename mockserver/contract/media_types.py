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


# What a file of a type has, as far as an upload looks at it; the texts of refusals.
MARKS: Mapping[str, str] = MappingProxyType(
    {
        "image/jpeg": "the bytes ff d8 ff at its beginning",
        "image/png": "the bytes 89 50 4e 47 0d 0a 1a 0a at its beginning and IHDR at byte 12",
        "image/webp": "RIFF at its beginning, WEBP at byte 8 and VP8 at byte 12",
        "video/mp4": "ftyp at byte 4 with a brand such as isom, and a track of pictures",
        "video/3gpp": "ftyp at byte 4 with a brand such as 3gp4, and a track of pictures",
        "audio/aac": "a frame of ADTS at its beginning: ff f1 or ff f9, then rate, channels and length",
        "audio/amr": "the bytes 23 21 41 4d 52 0a (#!AMR and a line feed) at its beginning",
        "audio/mpeg": "ID3 with its size, or a frame such as ff fb 90, at its beginning",
        "audio/mp4": "ftyp at byte 4 with a brand such as M4A, and a track of sound",
        "audio/ogg": "OggS at its beginning, and a stream of sound such as OpusHead",
        "text/plain": "text without control characters, in its charset",
        "application/pdf": "%PDF- at its beginning",
        "application/msword": "a compound file (d0 cf 11 e0 a1 b1 1a e1) with the stream WordDocument",
        f"{_MS}excel": "a compound file (d0 cf 11 e0 a1 b1 1a e1) with the stream Workbook",
        f"{_MS}powerpoint": "a compound file (d0 cf 11 e0 a1 b1 1a e1) with the stream PowerPoint Document",
        _WORD: "a zip archive (50 4b 03 04) with [Content_Types].xml and word",
        _SHEET: "a zip archive (50 4b 03 04) with [Content_Types].xml and xl",
        _SLIDES: "a zip archive (50 4b 03 04) with [Content_Types].xml and ppt",
    }
)


def kind_of(mime_type: str) -> str | None:
    """Return image, video, audio, document or sticker, or None for a type that an upload refuses."""
    return KINDS.get(mime_type)
