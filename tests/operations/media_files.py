"""Small true files of every accepted media type, byte by byte, and the upload that carries them."""

import io
import struct
import zipfile
import zlib
from typing import NamedTuple

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.testing.transports.in_process import Response

UPLOAD = "/v1/messaging/media"
BOUNDARY = "------------------------boundary"


class File(NamedTuple):
    """One part of an upload; a `type` of None sends no Content-Type, a `name` of None no filename."""

    content: bytes
    type: str | None
    name: str | None = "file"
    field: str = "files"
    raw_disposition: str | None = None

    def part(self) -> bytes:
        """The part as it is sent between two boundaries."""
        filename = "" if self.name is None else f'; filename="{self.name}"'
        disposition = self.raw_disposition or f'form-data; name="{self.field}"{filename}'
        declared = "" if self.type is None else f"\r\nContent-Type: {self.type}"
        return f"Content-Disposition: {disposition}{declared}\r\n\r\n".encode() + self.content


def multipart(files: list[File] | tuple[File, ...]) -> bytes:
    """The body of an upload of these files."""
    parts = b"".join(f"--{BOUNDARY}\r\n".encode() + file.part() + b"\r\n" for file in files)
    return parts + f"--{BOUNDARY}--\r\n".encode()


def upload(sandbox: Sandbox, *files: File, key: str | None = None) -> Response:
    """The answer to an upload of these files, in this order."""
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    return sandbox.call("POST", UPLOAD, body=multipart(files), headers={"content-type": content_type}, key=key)


def stored(sandbox: Sandbox) -> list[JSON]:
    """The files that the default tenant has by now."""
    media: list[JSON] = sandbox.state()["tenants"][0]["media"]
    return media


def _png() -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _jpeg() -> bytes:
    quantization = b"\xff\xdb\x00\x43\x00" + bytes(range(1, 65))
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00" + quantization + b"\xff\xd9"


def _webp() -> bytes:
    lossless = b"\x2f\x00\x00\x00\x00\x07\xd0\xff\xfe\xf7\xbf\xff\x81\x88\x88\xe8\x7f\x00\x00"
    chunk = b"VP8L" + struct.pack("<I", len(lossless)) + lossless + b"\0" * (len(lossless) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def _box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + kind + body


def _iso_media(brand: bytes, *compatible: bytes) -> bytes:
    brands = brand + struct.pack(">I", 0x200) + b"".join((brand, *compatible))
    return _box(b"ftyp", brands) + _box(b"moov", _box(b"mvhd", bytes(100))) + _box(b"mdat", bytes(8))


def _ogg(codec: bytes) -> bytes:
    head = b"OggS\x00\x02" + bytes(8) + struct.pack("<III", 1, 0, 0)
    return head + bytes([1, len(codec)]) + codec


def _ole(stream: str, class_id: str) -> bytes:
    """A compound file of three sectors: allocation table, directory, and one small stream's name."""
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    header += struct.pack("<I", 0) + b"\xff" * (512 - len(header) - 4)
    table = struct.pack("<II", 0xFFFFFFFD, 0xFFFFFFFE) + b"\xff" * 504

    def entry(name: str, kind: int, child: int, of_class: bytes) -> bytes:
        written = name.encode("utf-16-le") + b"\0\0"
        row = written.ljust(64, b"\0") + struct.pack("<HBB", len(written), kind, 1)
        row += struct.pack("<III", 0xFFFFFFFF, 0xFFFFFFFF, child) + of_class
        return row.ljust(116, b"\0") + struct.pack("<IQ", 0xFFFFFFFE, 0)

    directory = entry("Root Entry", 5, 1, bytes.fromhex(class_id)) + entry(stream, 2, 0xFFFFFFFF, bytes(16))
    return header + table + directory.ljust(512, b"\0")


def _office(part: str, kind: str) -> bytes:
    packed = io.BytesIO()
    overrides = f'<Override PartName="/{part}" ContentType="{kind}.main+xml"/>'
    types = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{overrides}</Types>'
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{relation}" Target="{part}"/></Relationships>'
    )
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", relations)
        archive.writestr(part, "<root/>")
    return packed.getvalue()


def _pdf() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
        b"3 0 obj<</Length 4>>stream\n\x00\x01\x02\x03\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
    )


_DOCUMENT = "application/vnd.openxmlformats-officedocument."
DOCX, XLSX, PPTX = (
    f"{_DOCUMENT}{kind}" for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
)
TEXT = "Olá! Vaga às 9h?\n".encode()
PNG, JPEG, PDF, MP3, WEBP, MP4 = (
    _png(),
    _jpeg(),
    _pdf(),
    b"ID3\x03\x00\x00\x00\x00\x00\x00" + b"\xff\xfb\x90\x64" + bytes(413),
    _webp(),
    _iso_media(b"isom", b"iso2", b"avc1", b"mp41"),
)

# Declared type, kind for the limits, contents of that type.
ACCEPTED: list[tuple[str, str, list[bytes]]] = [
    ("image/png", "image", [PNG]),
    ("image/jpeg", "image", [JPEG, JPEG.replace(b"\xff\xe0\x00\x10JFIF", b"\xff\xe1\x00\x10Exif", 1)]),
    ("image/webp", "sticker", [WEBP]),
    ("video/mp4", "video", [MP4, _iso_media(b"mp42", b"isom", b"mp42")]),
    ("video/3gpp", "video", [_iso_media(b"3gp4", b"isom"), _iso_media(b"3gp5", b"isom")]),
    ("audio/aac", "audio", [b"\xff\xf1\x50\x80\x02\x1f\xfc" + bytes(9), b"\xff\xf9\x50\x80\x02\x1f\xfc" + bytes(9)]),
    ("audio/amr", "audio", [b"#!AMR\n\x3c" + bytes(31)]),
    ("audio/mpeg", "audio", [MP3, b"\xff\xfb\x90\x64" + bytes(413)]),
    ("audio/mp4", "audio", [_iso_media(b"M4A ", b"mp42", b"isom")]),
    ("audio/ogg", "audio", [_ogg(b"OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00")]),
    ("application/pdf", "document", [PDF]),
    ("application/msword", "document", [_ole("WordDocument", "0609020000000000c000000000000046")]),
    ("application/vnd.ms-excel", "document", [_ole("Workbook", "2008020000000000c000000000000046")]),
    ("application/vnd.ms-powerpoint", "document", [_ole("PowerPoint Document", "108d81649b4fcf1186ea00aa00b929e8")]),
    (DOCX, "document", [_office("word/document.xml", DOCX)]),
    (XLSX, "document", [_office("xl/workbook.xml", XLSX)]),
    (PPTX, "document", [_office("ppt/presentation.xml", PPTX)]),
    ("text/plain", "document", [TEXT, b"a"]),
]
