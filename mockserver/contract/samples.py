"""A small file of each media type that an upload accepts, made by the programs that people use."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from mockserver.contract.media_types import KINDS, SHEET, SLIDES, WORD
from mockserver.contract.text import closest_match_hint

FOLDER: Final = Path(__file__).with_name("sample_files")
_TEXT: Final = "Olá! Vaga às 9h?\n".encode()
_FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "image/jpeg": "baseline.jpg",
        "image/png": "rgb.png",
        "image/webp": "lossy.webp",
        "video/mp4": "h264.mp4",
        "video/3gpp": "h264.3gp",
        "audio/aac": "aac.aac",
        "audio/amr": "amr.amr",
        "audio/mpeg": "bare.mp3",
        "audio/mp4": "aac.m4a",
        "audio/ogg": "opus.ogg",
        "application/pdf": "pillow.pdf",
        "application/msword": "writer.doc",
        "application/vnd.ms-excel": "calc.xls",
        "application/vnd.ms-powerpoint": "impress.ppt.gz",
        WORD: "writer.docx",
        SHEET: "calc.xlsx",
        SLIDES: "impress.pptx",
    }
)


def sample_file(media_type: str) -> bytes:
    """
    Return the bytes of a small real file of a media type, for an upload that is accepted.

    The same bytes in each call; the largest, of `application/vnd.ms-powerpoint`, has 448 KB, the others at most 24 KB.

    Args:
        media_type: one that uploads accept (fixed decision `media-mime-list`), such as `image/png`.

    Raises:
        ValueError: Uploads do not accept the type; the message has those that they do.
    """
    if media_type not in KINDS:
        hint = closest_match_hint(media_type, KINDS)
        raise ValueError(f"got the media type {media_type!r}; expected one of {', '.join(KINDS)}{hint}")
    if media_type not in _FILES:
        return _TEXT
    content = (FOLDER / _FILES[media_type]).read_bytes()
    return gzip.decompress(content) if _FILES[media_type].endswith(".gz") else content
