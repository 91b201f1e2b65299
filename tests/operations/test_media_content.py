"""The content that a file needs for its declared type: real files of each type, brands, codecs and texts."""

import gzip
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import Sandbox
from mockserver.contract.media_types import KINDS
from mockserver.contract.samples import FOLDER as SAMPLES
from mockserver.core.operations.file_types import TEXT_READ_MAX_BYTES, is_text, media_types
from tests.harness.options import in_force
from tests.harness.rows import each_row
from tests.operations.media_files import File, stored, upload
from tests.operations.world import refused

OWN = Path(__file__).with_name("real_media")
OPEN = "application/vnd.openxmlformats-officedocument."
DOCX, XLSX, PPTX = (
    f"{OPEN}{kind}" for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
)
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"

# By file: the one type that an upload accepts it as, or None.
REAL = {
    "baseline.jpg": "image/jpeg",
    "progressive.jpg": "image/jpeg",
    "exif.jpg": "image/jpeg",
    "cmyk.jpg": "image/jpeg",
    "rgb.png": "image/png",
    "palette.png": "image/png",
    "grey.png": "image/png",
    "animated.png": "image/png",
    "lossy.webp": "image/webp",
    "lossless.webp": "image/webp",
    "animated.webp": "image/webp",
    "h264.mp4": "video/mp4",
    "h264-aac.mp4": "video/mp4",
    "hevc.mp4": "video/mp4",
    "mpeg4.mp4": "video/mp4",
    "faststart.mp4": "video/mp4",
    "fragmented.mp4": "video/mp4",
    "brand-mp42.mp4": "video/mp4",
    "brand-iso6.mp4": "video/mp4",
    "brand-dash.mp4": "video/mp4",
    "itunes.m4v": "video/mp4",
    "psp.mp4": "video/mp4",
    "h264.3gp": "video/3gpp",
    "h263-amr.3gp": "video/3gpp",
    "aac.aac": "audio/aac",
    "amr.amr": "audio/amr",
    "id3.mp3": "audio/mpeg",
    "bare.mp3": "audio/mpeg",
    "mpeg2.mp3": "audio/mpeg",
    "layer2.mp2": "audio/mpeg",
    "aac.m4a": "audio/mp4",
    "alac.m4a": "audio/mp4",
    "aac-only.mp4": "audio/mp4",
    "opus.ogg": "audio/ogg",
    "vorbis.ogg": "audio/ogg",
    "flac.ogg": "audio/ogg",
    "pillow.pdf": "application/pdf",
    "writer.pdf": "application/pdf",
    "writer.doc": DOC,
    "calc.xls": XLS,
    "impress.ppt.gz": PPT,
    "writer.docx": DOCX,
    "calc.xlsx": XLSX,
    "impress.pptx": PPTX,
    "writer.rtf": "text/plain",
    "jpeg2000.jp2": None,
    "jpeg2000-codestream.j2k": None,
    "jpegls.jls": None,
    "pillow.gif": None,
    "bitmap.bmp": None,
    "tiff.tif": None,
    "avif.avif": None,
    "heic.heic": None,
    "h264.mov": None,
    "h264.3g2": None,
    "theora.ogv": None,
    "theora-vorbis.ogv": None,
    "pcm.wav": None,
    "mpeg4.avi": None,
    "vp8.webm": None,
    "flac.flac": None,
    "writer.odt": None,
}


def content_of(name: str) -> bytes:
    """The content of a real file; one that is stored compressed is unpacked."""
    content = next(folder / name for folder in (OWN, SAMPLES) if (folder / name).is_file()).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content


def branded(*brands: str) -> bytes:
    """A real film with these brands: the major one, then the compatible ones."""
    film = content_of("h264.mp4")
    written = b"".join(brand.encode().ljust(4) for brand in brands)
    box = struct.pack(">I", 16 + len(written[4:])) + b"ftyp" + written[:4] + bytes(4) + written[4:]
    return box + film[int.from_bytes(film[:4], "big") :]


@pytest.mark.clause("media.format", "media.upload")
def test_a_real_file_is_taken_as_its_own_type_and_as_no_other(mockserver: Sandbox) -> None:
    taken = {
        name: [kind for kind in KINDS if upload(mockserver, File(content_of(name), kind)).status == 201]
        for name in REAL
    }

    assert {name: [kind] if kind else [] for name, kind in REAL.items()} == taken


def test_every_type_that_an_upload_takes_has_a_real_file() -> None:
    assert set(KINDS) == {kind for kind in REAL.values() if kind}


@pytest.mark.parametrize(
    ("brands", "kind"),
    [
        (["qt"], "video/quicktime"),
        (["heic", "mif1"], "image/heic"),
        (["mif1", "heic"], "image/heif"),
        (["mif1", "avif"], "image/avif"),
        (["avif", "isom"], "image/avif"),
        (["3g2a"], "video/3gpp2"),
        (["crx", "isom"], "image/x-canon-cr3"),
        (["zzzz"], "none of the accepted types; expected ftyp at byte 4 with a brand such as "),
    ],
    ids=str,
)
@pytest.mark.clause("media.format")
def test_a_file_of_another_brand_is_not_mp4_however_long_the_list(
    mockserver: Sandbox, brands: list[str], kind: str
) -> None:
    for declared in ("video/mp4", "audio/mp4", "video/3gpp"):
        reply = upload(mockserver, File(branded(*brands), declared))

        assert (400, "MEDIA_INVALID_FORMAT") == refused(reply)
        assert f"declared {declared}, but the content looks like {kind}" in reply.headers["x-mock-reason"]


@each_row(
    "text",
    ["ID3 é uma etiqueta", "RIFF raff", "%PDF-1.4 é um formato", "OggS", "#!AMR\n", "ADIF", "PK", "MZ", "GIF89a"],
)
@pytest.mark.clause("media.format")
def test_a_text_may_begin_as_a_file_of_another_type_does(mockserver: Sandbox, text: str) -> None:
    assert 201 == upload(mockserver, File(text.encode(), "text/plain")).status


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.clause("media.format")
def test_a_text_in_a_wide_encoding_is_a_text_by_its_mark_or_its_charset(mockserver: Sandbox, encoding: str) -> None:
    text = "Olá, 9h?\r\n"
    marked, bare = ("\ufeff" + text).encode(encoding), text.encode(encoding)

    assert 201 == upload(mockserver, File(marked, "text/plain")).status
    assert 201 == upload(mockserver, File(bare, f'text/plain; charset="{encoding[:6].upper()}{encoding[7:]}"')).status
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(bare, "text/plain")))
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(marked + b"\0", "text/plain")))


@pytest.mark.parametrize("binary", [b"\0", b"\x01", b"\x08", b"\x0b", b"\x1a", b"\xff\xfe\x01\x00"], ids=repr)
@pytest.mark.clause("media.format")
def test_a_content_with_a_binary_byte_is_not_text(mockserver: Sandbox, binary: bytes) -> None:
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(binary + b" ", "text/plain")))


def test_a_text_that_is_longer_than_what_is_read_may_be_cut_within_a_character() -> None:
    text = "\ufeff" + "a" * (TEXT_READ_MAX_BYTES // 2 - 2) + "\U0001f600" * 3

    assert is_text(text.encode("utf-16-le"))


WHOLE = [content_of(name) for name in REAL if len(content_of(name)) < 5_000]


@given(content=st.sampled_from(WHOLE), data=st.data())
def test_a_content_that_is_cut_or_changed_anywhere_is_read_without_an_exception(
    content: bytes, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(content)))
    at = data.draw(st.integers(0, len(content)))
    noise = data.draw(st.binary(max_size=8))

    changed = (content[:at] + noise + content[at + len(noise) :])[:cut]

    assert isinstance(media_types(changed), tuple)
    assert is_text(changed) in (True, False)


def mpeg(*, version: int = 3, layer: int = 1, bit_rate: int = 9, sampling: int = 0) -> bytes:
    """A header of a frame of MPEG audio (ISO 11172-3, 2.4): each field has a value that none may have, or is reserved."""
    return bytes([0xFF, 0xE0 | version << 3 | layer << 1, bit_rate << 4 | sampling << 2, 0])


def adts(*, rate: int = 4, length: int = 7, mpeg2: bool = False) -> bytes:
    """A header of a frame of AAC (ISO 13818-7, 6.2), at least as long as itself."""
    return bytes([0xFF, 0xF1 | mpeg2 << 3, rate << 2]) + (length << 5).to_bytes(3, "big") + b"\xfc"


def tagged(content: bytes, *, version: int = 4, size: int = 300, last: int | None = None) -> bytes:
    """A content after a tag of ID3v2, whose size has seven bits in each byte."""
    low = size & 0x7F if last is None else last
    return b"ID3" + bytes([version, 0, 0, size >> 21, size >> 14 & 0x7F, size >> 7 & 0x7F, low, *bytes(size)]) + content


@each_row(
    ("content", "kind"),
    [
        *((mpeg(version=version), "audio/mpeg" if version != 1 else None) for version in range(4)),
        (mpeg(layer=2), "audio/mpeg"),
        (mpeg(layer=3), None),
        *((mpeg(version=0, layer=0, sampling=sampling), None) for sampling in range(4)),
        *((mpeg(bit_rate=bit_rate), "audio/mpeg" if 0 < bit_rate < 15 else None) for bit_rate in (0, 1, 2, 14, 15)),
        *((mpeg(sampling=sampling), "audio/mpeg" if sampling < 3 else None) for sampling in range(4)),
        (mpeg()[:3], None),
        (b"\xff\x1b" + mpeg()[2:], None),
        (tagged(b"\x01" + adts()[1:]), "audio/mpeg"),
        *((adts(rate=rate), "audio/aac" if rate < 13 else None) for rate in (0, 3, 12, 13, 15)),
        *((adts(length=length), "audio/aac" if length > 6 else None) for length in (0, 6, 7, 8, 4096, 8191)),
        (adts(mpeg2=True), "audio/aac"),
        *((tagged(adts(), size=size), "audio/aac") for size in (0, 127, 128, 16384, 1 << 21)),
        *((tagged(adts(), version=version), "audio/aac" if version in (2, 3, 4) else None) for version in range(1, 6)),
        (tagged(b"\0" * 4000 + adts()), "audio/aac"),
        (tagged(b"fLaC"), "audio/flac"),
        (tagged(b"unknown"), "audio/mpeg"),
        (tagged(adts(), last=0x80), None),
        (tagged(b"", size=0), "audio/mpeg"),
        (tagged(b"", size=0)[:9], None),
    ],
)
def test_a_sound_is_known_by_the_header_of_its_first_frame(content: bytes, kind: str | None) -> None:
    assert (() if kind is None else (kind,)) == media_types(content)


def ogg_page(packet: bytes, *, is_first: bool = True, mark: bytes = b"OggS") -> bytes:
    """A page of Ogg with one packet (RFC 3533, 6)."""
    return mark + bytes([0, 2 * is_first]) + bytes(20) + bytes([1, len(packet)]) + packet


OPUS, THEORA = ogg_page(b"OpusHead"), b"\x80theora"


@each_row(
    ("content", "kind"),
    [
        (OPUS, "audio/ogg"),
        (OPUS + ogg_page(THEORA), "video/ogg"),
        (ogg_page(THEORA) + OPUS, "video/ogg"),
        (OPUS + ogg_page(THEORA, is_first=False), "audio/ogg"),
        (OPUS + ogg_page(THEORA, mark=b"Ogg\0"), "audio/ogg"),
        (OPUS + ogg_page(b"text"), "audio/ogg"),
        (OPUS + ogg_page(b"")[:26], "audio/ogg"),
        (ogg_page(b"OpusHead")[:26], "application/ogg"),
        (ogg_page(b""), "application/ogg"),
    ],
)
def test_an_ogg_file_is_known_by_the_first_page_of_each_stream(content: bytes, kind: str) -> None:
    assert (kind,) == media_types(content)


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + kind + body


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(box(b"ftyp", b"isom\0\0\0\0") + box(b"free", b"") * 200_000, id="boxes"),
        pytest.param(
            box(b"ftyp", b"isom\0\0\0\0") + box(b"moov", box(b"trak", box(b"free", b"") * 2_000) * 200), id="tracks"
        ),
        pytest.param(b"OggS\0\2" + bytes(20) + b"\0" + (b"OggS\0\2" + bytes(20) + b"\0") * 100_000, id="streams"),
        pytest.param(
            content_of("writer.doc")[:76] + bytes(436) + content_of("writer.doc")[512:] * 100, id="a-ring-of-sectors"
        ),
        pytest.param(b"\xff\xfb" * 500_000, id="frames"),
    ],
)
def test_a_content_of_very_many_parts_is_read_in_bounded_steps(content: bytes) -> None:
    steps = 0

    def count(*_: object) -> Callable[..., Any]:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        media_types(content)
    finally:
        sys.settrace(before)

    assert steps < 100_000


@pytest.mark.option("media-missing-type", "text-plain")
@pytest.mark.clause("media.format")
def test_a_file_without_a_type_is_a_text(mockserver: Sandbox) -> None:
    assert 201 == upload(mockserver, File("Olá".encode(), None)).status
    assert ["text/plain"] == [media["mimeType"] for media in stored(mockserver)]
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(content_of("rgb.png"), None)))


@in_force("media-missing-type", "sniff")
@pytest.mark.clause("media.format")
def test_a_file_without_a_type_may_have_the_one_that_its_content_has(mockserver: Sandbox) -> None:
    for name in ("rgb.png", "calc.xls", "h264.mp4", "aac.m4a"):
        assert 201 == upload(mockserver, File(content_of(name), None)).status
    assert 201 == upload(mockserver, File("Olá".encode(), None)).status

    assert ["image/png", XLS, "video/mp4", "audio/mp4", "text/plain"] == [
        media["mimeType"] for media in stored(mockserver)
    ]
    for name in ("pillow.gif", "heic.heic", "bitmap.bmp"):
        assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(content_of(name), None)))


@pytest.mark.mockserver(choices={"media-missing-type": "sniff"})
@pytest.mark.clause("media.format")
def test_the_reason_of_a_refused_file_without_a_type_names_what_its_content_looks_like(mockserver: Sandbox) -> None:
    reason = upload(mockserver, File(content_of("pillow.gif"), None)).headers["x-mock-reason"]

    assert "got no Content-Type" in reason


@in_force("media-missing-type", "refuse")
@pytest.mark.clause("media.format")
def test_a_file_without_a_type_may_be_refused(mockserver: Sandbox) -> None:
    for content in (b"texto", content_of("rgb.png")):
        reply = upload(mockserver, File(content, None))
        assert (400, "MEDIA_INVALID_FORMAT") == refused(reply)
        assert "got no Content-Type; expected one of" in reply.headers["x-mock-reason"]
    assert 201 == upload(mockserver, File(b"texto", "text/plain")).status
