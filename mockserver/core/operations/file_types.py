"""
The media types of a file by its content: the first bytes and, if several types share them, the parts of the container.

Libraries recognise first bytes only: they take a theora film for audio, a 3GPP film for MP4 and a spreadsheet for a
text. So the types that an upload accepts are recognised here; other types have a row so that a refusal can name them.

1. A reader receives the whole content and returns media types, the likeliest first, or none if it cannot decide.
2. A reader never raises: a cut or broken content contains less.
3. A reader reads a bounded number of boxes, tracks, members or sectors, so that its time does not grow with the content.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

# More than the files of phones and office programs have.
_BOXES_MAX: Final = 256
_TRACKS_MAX: Final = 16
_STREAMS_MAX: Final = 64
_MEMBERS_MAX: Final = 10_000
_SECTORS_MAX: Final = 256


def _brands(text: str) -> frozenset[bytes]:
    """Return brands of four characters; `_` is a space at the end of one."""
    return frozenset(brand.replace("_", " ").encode("ascii") for brand in text.split())


# The brands of ISO media (ISO 14496-12, 4.3; registry of mp4ra.org). For an unlisted major brand the compatible brands
# decide.
_GENERAL: Final = _brands(
    "isom iso2 iso3 iso4 iso5 iso6 iso7 iso8 iso9 isoa isob isoc mp41 mp42 mp71 avc1 av01 hvc1 dash cmfc cmf2 mmp4 piff "
    "MSNV NDSC NDSH NDSM NDSP NDSS NDXC NDXH NDXM NDXP NDXS XAVC M4V_ M4VH M4VP f4v_ F4V_"
)
_OTHER_BRANDS: Final[Mapping[str, frozenset[bytes]]] = MappingProxyType(
    {
        "audio/mp4": _brands("M4A_ M4B_ M4P_ F4A_ F4B_"),
        "video/3gpp": _brands(
            "3gp1 3gp2 3gp3 3gp4 3gp5 3gp6 3gp7 3gp8 3gp9 3ge6 3ge7 3ge9 3gf9 3gg6 3gg9 3gh9 3gr6 3gr7 3gr9 3gs6 3gs7 "
            "3gs9 3gt8 3gt9 3gtv"
        ),
        "video/3gpp2": _brands("3g2a 3g2b 3g2c KDDI"),
        "video/quicktime": _brands("qt__"),
        "image/avif": _brands("avif avis"),
        "image/heic": _brands("heic heix heim heis hevc hevx hevm hevs"),
        "image/heif": _brands("mif1 mif2 msf1"),
        "image/jp2": _brands("jp2_ jpx_ jpm_ mjp2 mj2s"),
        "image/x-canon-cr3": _brands("crx_"),
    }
)

# The first bytes of an Ogg stream's first packet.
_OGG_SOUND: Final = (b"OpusHead", b"\x01vorbis", b"\x7fFLAC", b"fLaC", b"Speex   ", b"PCM     ", b"CELT    ")
_OGG_PICTURES: Final = (b"\x80theora", b"\x01video", b"BBCD\0", b"OVP80", b"\x80daala")

_OOXML = "application/vnd.openxmlformats-officedocument."
_OFFICE_FOLDERS: Final[Mapping[bytes, str]] = MappingProxyType(
    {
        b"word": f"{_OOXML}wordprocessingml.document",
        b"xl": f"{_OOXML}spreadsheetml.sheet",
        b"ppt": f"{_OOXML}presentationml.presentation",
    }
)
_OFFICE_STREAMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "WordDocument": "application/msword",
        "Workbook": "application/vnd.ms-excel",
        "Book": "application/vnd.ms-excel",
        "PowerPoint Document": "application/vnd.ms-powerpoint",
    }
)


class _Box(NamedTuple):
    """A box of ISO media: its type, and the first and last position of its content."""

    kind: bytes
    start: int
    end: int


def iso_media(content: bytes) -> tuple[str, ...]:
    """
    Return the types of a file that begins with a `ftyp` box, by its brand and by the pictures in its tracks.

    A general brand without readable tracks may be video or audio.
    """
    first = next(_boxes(content, 0, len(content)), None)
    if first is None or first.kind != b"ftyp" or first.end - first.start < 8:
        return ()
    brands = [content[at : at + 4] for at in (first.start, *range(first.start + 8, min(first.end, 512) - 3, 4))]
    families = [family for family in map(_family, brands) if family]
    family = families[0] if families else ""
    if family == "image/heif" and "image/avif" in families:
        family = "image/avif"
    if family in ("video/mp4", "video/3gpp", "video/3gpp2"):
        handlers = _handlers(content)
        audio = family.replace("video", "audio")
        if b"vide" in handlers:
            return (family,)
        if b"soun" in handlers:
            return (audio,)
        return (family, audio) if family == "video/mp4" else (family,)
    return (family,) if family else ()


def _family(brand: bytes) -> str:
    if brand in _GENERAL:
        return "video/mp4"
    return next((family for family, brands in _OTHER_BRANDS.items() if brand in brands), "")


def _boxes(content: bytes, start: int, end: int) -> Iterator[_Box]:
    """Yield the boxes between two positions; the last one may be cut."""
    for _ in range(_BOXES_MAX):
        if start + 8 > end:
            return
        size, kind = struct.unpack_from(">I4s", content, start)
        head = 8
        if size == 1 and start + 16 <= end:
            size, head = struct.unpack_from(">Q", content, start + 8)[0], 16
        elif size == 0:
            size = end - start
        if size < head:
            return
        yield _Box(kind, start + head, min(start + size, end))
        start += size


def _handlers(content: bytes) -> set[bytes]:
    """Return the kinds of tracks: `vide`, `soun` and others."""
    handlers = set()
    for track in islice(_inside(content, _Box(b"", 0, len(content)), b"moov", b"trak"), _TRACKS_MAX):
        for box in _inside(content, track, b"mdia", b"hdlr"):
            handlers.add(content[box.start + 8 : box.start + 12])
    return handlers


def _inside(content: bytes, outer: _Box, name: bytes, inner_name: bytes) -> Iterator[_Box]:
    """Yield the boxes `inner_name` in the first box `name` of an outer one."""
    box = next((box for box in _boxes(content, outer.start, outer.end) if box.kind == name), None)
    if box is not None:
        yield from (inner for inner in _boxes(content, box.start, box.end) if inner.kind == inner_name)


def ogg(content: bytes) -> tuple[str, ...]:
    """Return the type of an Ogg file by the codecs of its streams, whose first pages are at its beginning (RFC 3533, 5338)."""
    has_sound, at = False, 0
    for _ in range(_STREAMS_MAX):
        if content[at : at + 4] != b"OggS" or len(content) < at + 27 or not content[at + 5] & 2:
            break
        segments = content[at + 27 : at + 27 + content[at + 26]]
        packet = at + 27 + len(segments)
        if content.startswith(_OGG_PICTURES, packet):
            return ("video/ogg",)
        has_sound = has_sound or content.startswith(_OGG_SOUND, packet)
        at = packet + sum(segments)
    return ("audio/ogg",) if has_sound else ("application/ogg",)


def archive(content: bytes) -> tuple[str, ...]:
    """Return the type of a zip archive: an office document by its folders, the type that its first member names, or zip."""
    names = set(_members(content))
    folders = {name.partition(b"/")[0] for name in names} if b"[Content_Types].xml" in names else set()
    for folder, kind in _OFFICE_FOLDERS.items():
        if folder in folders:
            return (kind,)
    if content[30:38] == b"mimetype":  # an OpenDocument file's first member, stored uncompressed
        kind_name = content[38 : 38 + min(struct.unpack_from("<I", content, 18)[0], 100)]
        if kind_name.startswith(b"application/vnd.oasis.") and kind_name.isascii():
            return (kind_name.decode("ascii"),)
    return ("application/zip",)


def _members(content: bytes) -> Iterator[bytes]:
    """Yield the names in a zip archive's central directory, in any compression."""
    end = content.rfind(b"PK\x05\x06", -(22 + 0xFFFF))
    if end < 0 or len(content) < end + 22:
        return
    count, _, at = struct.unpack_from("<HII", content, end + 10)
    for _ in range(min(count, _MEMBERS_MAX)):
        if content[at : at + 4] != b"PK\x01\x02" or len(content) < at + 46:
            return
        name, extra, comment = struct.unpack_from("<HHH", content, at + 28)
        yield content[at + 46 : at + 46 + name]
        at += 46 + name + extra + comment


def compound(content: bytes) -> tuple[str, ...]:
    """Return the type of a compound file: an office document by its streams ([MS-CFB]), or the general type."""
    names = set(_streams(content))
    return next(
        ((kind,) for name, kind in _OFFICE_STREAMS.items() if name in names),
        ("application/x-ole-storage",),
    )


def _streams(content: bytes) -> Iterator[str]:
    """Yield the names in a compound file's directory, sector by sector in the order of its allocation table."""
    if len(content) < 512:
        return
    shift = struct.unpack_from("<H", content, 30)[0]
    if shift not in (9, 12):
        return
    size = 1 << shift
    tables = struct.unpack_from("<109I", content, 76)
    sector = struct.unpack_from("<I", content, 48)[0]
    for _ in range(_SECTORS_MAX):
        start = (sector + 1) * size
        rows = content[start : start + size]
        for at in range(0, len(rows) - 127, 128):
            length = struct.unpack_from("<H", rows, at + 64)[0]
            yield rows[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        table, place = divmod(sector, size // 4)
        if not rows or table >= len(tables):
            return
        link = (tables[table] + 1) * size + 4 * place
        if len(content) < link + 4:
            return
        sector = struct.unpack_from("<I", content, link)[0]


TEXT_READ_MAX_BYTES: Final = 1024 * 1024  # of a content that may be text

# Bytes that no text contains (WHATWG MIME Sniffing, 3: a binary data byte).
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
    """Return the types that the content may have, the likeliest first; none if it matches no listed type."""
    for prefix, read in _READERS:
        if content.startswith(prefix):
            return read(content)
    if content[4:8] == b"ftyp":
        return iso_media(content)
    if content[:1] == b"\xff":
        return _audio_frame(content)
    return ("application/pdf",) if content[:1024].lstrip(_PDF_BLANKS).startswith(b"%PDF-") else ()


def is_text(content: bytes, charset: str = "") -> bool:
    """
    Return True if the content can be text/plain: it contains no binary byte.

    UTF-16 and UTF-32 are recognised by their byte order mark, or by the `charset` that the sender declares.
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


def _riff(content: bytes) -> tuple[str, ...]:
    """Return the type of a RIFF file by its form, which is not in its first four bytes."""
    if content[8:12] == b"WEBP":
        return ("image/webp",) if content[12:16] in (b"VP8 ", b"VP8L", b"VP8X") else ()
    kind = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(content[8:12])
    return (kind,) if kind else ()


def _tagged(content: bytes) -> tuple[str, ...]:
    """Return the type of the content after an ID3v2 tag: by its first frame, else MPEG audio."""
    if len(content) < 10 or content[3] not in (2, 3, 4) or max(content[6:10]) > 0x7F:
        return ()
    size = sum(byte << shift for byte, shift in zip(content[6:10], (21, 14, 7, 0), strict=True))
    frame = content[10 + size : 10 + size + 4096].lstrip(b"\0")
    if frame.startswith(b"fLaC"):
        return ("audio/flac",)
    return _audio_frame(frame) or ("audio/mpeg",)


def _audio_frame(content: bytes) -> tuple[str, ...]:
    """Return AAC for the header of an ADTS frame (ISO 13818-7, 6.2), MPEG audio for that of its frame (ISO 11172-3, 2.4)."""
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
    (b"\xff\xd8\xff\xf7",                 _is("image/jls")),
    (b"\xff\xd8\xff",                     _is("image/jpeg")),
    (b"\x89PNG\r\n\x1a\n",                lambda content: ("image/png",) if content[12:16] == b"IHDR" else ()),
    (b"RIFF",                             _riff),
    (b"ID3",                              _tagged),
    (b"#!AMR\n",                          _is("audio/amr")),
    (b"#!AMR-WB\n",                       _is("audio/amr-wb")),
    (b"ADIF",                             _is("audio/aac")),
    (b"OggS\0",                           ogg),
    (b"PK\x03\x04",                       archive),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", compound),
    # Types that no upload accepts.
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
