"""The content that a file needs for its declared type: real files of each type, containers that several share, and texts."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import Sandbox
from mockserver.contract.media_types import KINDS, SIGNATURES, is_text, types_of
from mockserver.contract.samples import FOLDER as SAMPLES
from tests.harness.options import in_force
from tests.harness.rows import each_row
from tests.operations.media_files import DOCX, PPTX, XLSX, File, stored, upload
from tests.operations.world import refused

OWN = Path(__file__).with_name("real_media")
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"
FILM = ["video/mp4", "audio/mp4"]
COMPOUND = [DOC, XLS, PPT]
ARCHIVE = [DOCX, XLSX, PPTX]

# By file: the types that an upload accepts it as. Those of one container are not distinguished.
REAL = {
    "baseline.jpg": ["image/jpeg"],
    "progressive.jpg": ["image/jpeg"],
    "exif.jpg": ["image/jpeg"],
    "rgb.png": ["image/png"],
    "lossy.webp": ["image/webp"],
    "lossless.webp": ["image/webp"],
    "h264.mp4": FILM,
    "brand-mp42.mp4": FILM,
    "h264.3gp": ["video/3gpp"],
    "aac.aac": ["audio/aac"],
    "amr.amr": ["audio/amr"],
    "id3.mp3": ["audio/mpeg"],
    "bare.mp3": ["audio/mpeg"],
    "mpeg2.mp3": ["audio/mpeg"],
    "aac.m4a": ["audio/mp4"],
    "opus.ogg": ["audio/ogg"],
    "vorbis.ogg": ["audio/ogg"],
    "pillow.pdf": ["application/pdf"],
    "writer.pdf": ["application/pdf"],
    "writer.doc": COMPOUND,
    "calc.xls": COMPOUND,
    "impress.ppt.gz": COMPOUND,
    "writer.docx": ARCHIVE,
    "calc.xlsx": ARCHIVE,
    "impress.pptx": ARCHIVE,
    "writer.rtf": ["text/plain"],
    "pillow.gif": [],
    "bitmap.bmp": [],
    "tiff.tif": [],
    "avif.avif": [],
    "heic.heic": [],
    "h264.mov": [],
    "pcm.wav": [],
    "mpeg4.avi": [],
    "vp8.webm": [],
    "flac.flac": [],
}


def content_of(name: str) -> bytes:
    """The content of a real file; one that is stored compressed is unpacked."""
    content = next(folder / name for folder in (OWN, SAMPLES) if (folder / name).is_file()).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content


@pytest.mark.clause("media.format", "media.upload")
def test_a_real_file_is_taken_as_a_type_of_its_container_and_as_no_other(mockserver: Sandbox) -> None:
    taken = {
        name: {kind for kind in KINDS if upload(mockserver, File(content_of(name), kind)).status == 201}
        for name in REAL
    }

    assert {name: set(kinds) for name, kinds in REAL.items()} == taken


def test_every_type_that_an_upload_takes_has_a_real_file() -> None:
    assert set(KINDS) == {kind for kinds in REAL.values() for kind in kinds}


@pytest.mark.clause("media.format")
def test_a_refusal_says_what_the_content_looks_like_and_what_the_type_needs(mockserver: Sandbox) -> None:
    reply = upload(mockserver, File(content_of("h264.mov"), "video/mp4"))

    looks = "declared video/mp4, but the content looks like video/quicktime; expected ftyp at byte 4"
    assert looks in reply.headers["x-mock-reason"]


@each_row(
    "text",
    ["ID3 é uma etiqueta", "RIFF raff", "%PDF-1.4 é um formato", "OggS", "#!AMR\n", "PK", "MZ", "GIF89a"],
)
@pytest.mark.clause("media.format")
def test_a_text_may_begin_as_a_file_of_another_type_does(mockserver: Sandbox, text: str) -> None:
    assert 201 == upload(mockserver, File(text.encode(), "text/plain")).status


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.clause("media.format")
def test_a_text_in_utf_16_is_a_text_by_its_mark(mockserver: Sandbox, encoding: str) -> None:
    marked, bare = ("\ufeffOlá, 9h?\r\n".encode(encoding), "Olá, 9h?\r\n".encode(encoding))

    assert 201 == upload(mockserver, File(marked, "text/plain")).status
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(bare, "text/plain")))


@each_row("binary", [b"\0", b"\x01", b"\x08", b"\x0b", b"\x1a", b"\xff\xfe\x01\x00"])
@pytest.mark.clause("media.format")
def test_a_content_with_a_binary_byte_is_not_text(mockserver: Sandbox, binary: bytes) -> None:
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(binary + b" ", "text/plain")))


@given(content=st.sampled_from([signature.content for signature in SIGNATURES]), rest=st.binary(max_size=20))
def test_any_content_is_read_without_an_exception(content: bytes, rest: bytes) -> None:
    for each in (content + rest, rest + content, content[: len(rest)]):
        assert isinstance(types_of(each), tuple)
        assert is_text(each) in (True, False)


@pytest.mark.option("media-missing-type", "text-plain")
@pytest.mark.clause("media.format")
def test_a_file_without_a_type_is_a_text(mockserver: Sandbox) -> None:
    assert 201 == upload(mockserver, File("Olá".encode(), None)).status
    assert ["text/plain"] == [media["mimeType"] for media in stored(mockserver)]
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, File(content_of("rgb.png"), None)))


@in_force("media-missing-type", "sniff")
@pytest.mark.clause("media.format")
def test_a_file_without_a_type_may_have_the_one_that_its_content_has(mockserver: Sandbox) -> None:
    for name in ("rgb.png", "writer.doc", "h264.mp4", "aac.m4a"):
        assert 201 == upload(mockserver, File(content_of(name), None)).status
    assert 201 == upload(mockserver, File("Olá".encode(), None)).status

    assert ["image/png", "application/msword", "video/mp4", "audio/mp4", "text/plain"] == [
        media["mimeType"] for media in stored(mockserver)
    ]
    for name in ("pillow.gif", "heic.heic", "bitmap.bmp"):
        reply = upload(mockserver, File(content_of(name), None))
        assert (400, "MEDIA_INVALID_FORMAT") == refused(reply)
        assert "got no Content-Type" in reply.headers["x-mock-reason"]


@in_force("media-missing-type", "refuse")
@pytest.mark.clause("media.format")
def test_a_file_without_a_type_may_be_refused(mockserver: Sandbox) -> None:
    for content in (b"texto", content_of("rgb.png")):
        reply = upload(mockserver, File(content, None))
        assert (400, "MEDIA_INVALID_FORMAT") == refused(reply)
        assert "got no Content-Type; expected one of" in reply.headers["x-mock-reason"]
    assert 201 == upload(mockserver, File(b"texto", "text/plain")).status
