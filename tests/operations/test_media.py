"""Media: what an upload takes and refuses, and in which order it looks."""

import itertools

import pytest

from mockserver import Sandbox, sample_file
from mockserver._json import JSON
from mockserver.contract.media_types import KINDS
from tests.harness.options import each_option
from tests.harness.rows import each_row
from tests.operations.media_files import (
    MP3,
    MP4,
    PDF,
    PNG,
    TEXT,
    WEBP,
    File,
    stored,
    upload,
)
from tests.operations.world import refused

GOOD, OTHER = File(PNG, "image/png", "a.png"), File(PDF, "application/pdf", "b.pdf")
BAD_FORMAT = File(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "image/gif", "c.gif")
ONE_OF_EACH = {
    "image": File(PNG, "image/png"),
    "video": File(MP4, "video/mp4"),
    "audio": File(MP3, "audio/mpeg"),
    "document": File(PDF, "application/pdf"),
    "sticker": File(WEBP, "image/webp"),
}
VARIANTS = [
    ("audio/mpeg", b"\xff\xf3\x40\xc0" + bytes(413)),
    ("text/plain", b"%d por cento" % 5),
    ("text/plain", b'{"a": [1]}'),
    ("text/plain", b"<p>oi</p>"),
    ("text/plain; charset=utf-8", TEXT),
    ("IMAGE/PNG", PNG),
]


@each_row(("declared", "content"), [*((kind, sample_file(kind)) for kind in KINDS), *VARIANTS])
@pytest.mark.clause("media.upload", "media.format")
def test_a_true_file_of_an_accepted_type_is_taken(mockserver: Sandbox, declared: str, content: bytes) -> None:
    reply = upload(mockserver, File(content, declared, "nome.bin"))

    assert 201 == reply.status, reply.headers
    [item] = reply.json()
    assert {"success", "name", "id", "url"} == set(item)
    assert (True, "nome.bin") == (item["success"], item["name"])
    assert item["id"].startswith("media_")
    assert item["id"] == stored(mockserver)[-1]["id"]


@each_row(
    "file",
    [
        BAD_FORMAT,
        File(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        File(b"<html></html>", "text/html"),
        File(PNG, "application/octet-stream"),
        File(PNG, "image/*"),
        File(PNG, "png"),
        File(b"PK\x03\x04" + bytes(18), "application/zip"),
        File(b"MZ" + bytes(100), "text/plain"),
        File(b"\0", "text/plain"),
        File(bytes(20), "image/png"),
        File(PNG[:3], "image/png"),
        File(b"", "image/png"),
        File(b"", "text/plain"),
    ],
)
@pytest.mark.clause("media.format")
def test_another_type_or_a_content_that_is_nothing_is_refused(mockserver: Sandbox, file: File) -> None:
    assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, file))
    assert [] == stored(mockserver)


@pytest.mark.clause("media.empty", "media.upload")
def test_next_to_a_file_other_parts_do_not_count(mockserver: Sandbox) -> None:
    nameless = File(b"", "application/octet-stream", "")

    reply = upload(mockserver, nameless, GOOD._replace(field="other"), OTHER, File(b"x", None, None))

    assert ["b.pdf"] == [each["name"] for each in reply.json()]


@each_row("most", [None, 1, 30])
@pytest.mark.option("media-max-files", "10")
@pytest.mark.option("media-max-files", "any")
@pytest.mark.clause("media.too-many", "media.upload")
def test_ten_files_or_as_many_as_chosen_are_taken_and_one_more_is_too_many(
    mockserver: Sandbox, most: int | None
) -> None:
    mockserver.choose({} if most is None else {"media-max-files": most})
    count = most or 10

    assert count == len(upload(mockserver, *[GOOD] * count).json())
    assert (400, "MEDIA_UPLOAD_TOO_MANY_FILES") == refused(upload(mockserver, *[GOOD] * (count + 1)))


@pytest.mark.parametrize("kind", ONE_OF_EACH)
@pytest.mark.option("media-max-size", "any")
@pytest.mark.clause("media.too-large")
def test_a_file_of_exactly_the_limit_passes_and_one_byte_more_does_not(mockserver: Sandbox, kind: str) -> None:
    file = ONE_OF_EACH[kind]
    mockserver.choose({"media-max-size": {kind: len(file.content)}})

    assert 201 == upload(mockserver, file).status
    assert (400, "MEDIA_FILE_TOO_LARGE") == refused(upload(mockserver, file._replace(content=file.content + b"\0")))
    assert 201 == upload(mockserver, *(other for other in ONE_OF_EACH.values() if other != file)).status


@pytest.mark.parametrize(
    ("content", "declared", "limit"), [(PNG, "image/png", 5 * 1024 * 1024), (WEBP, "image/webp", 500 * 1024)]
)
@pytest.mark.option("media-max-size", "default")
@pytest.mark.clause("media.too-large")
def test_a_picture_has_five_megabytes_and_a_sticker_five_hundred_kilobytes(
    mockserver: Sandbox, content: bytes, declared: str, limit: int
) -> None:
    at, above = (File(content.ljust(size, b"\0"), declared) for size in (limit, limit + 1))

    assert 201 == upload(mockserver, at).status
    assert (400, "MEDIA_FILE_TOO_LARGE") == refused(upload(mockserver, above))


@pytest.mark.mockserver(choices={"media-max-files": 2, "media-max-size": {"image": 10}})
@pytest.mark.option("media-partial-failure", "all-or-nothing")
@pytest.mark.clause("media.empty", "media.too-many", "media.format", "media.too-large")
def test_count_is_looked_at_before_format_and_format_before_size(mockserver: Sandbox) -> None:
    too_large = GOOD

    assert (400, "MEDIA_UPLOAD_TOO_MANY_FILES") == refused(upload(mockserver, too_large, BAD_FORMAT, too_large))
    for files in itertools.permutations([too_large, BAD_FORMAT]):
        assert (400, "MEDIA_INVALID_FORMAT") == refused(upload(mockserver, *files))
    assert (400, "MEDIA_FILE_TOO_LARGE") == refused(upload(mockserver, too_large, OTHER))
    assert [] == stored(mockserver)


@each_option(
    "nothing",
    "media-failed-item-shape",
    {"absent": {}, "null": {"id": None, "url": None}, "empty": {"id": "", "url": ""}},
)
@pytest.mark.option("media-partial-failure", "per-file")
@pytest.mark.clause("media.format", "media.upload", "media.too-large")
def test_one_bad_file_may_fail_alone(mockserver: Sandbox, nothing: JSON) -> None:
    mockserver.choose({"media-partial-failure": "per-file", "media-max-size": {"document": 10}})

    reply = upload(mockserver, GOOD, BAD_FORMAT, OTHER)

    good, bad, large = reply.json()
    assert 201 == reply.status
    assert {"success": True, "name": "a.png", "id": good["id"], "url": good["url"]} == good
    assert [{"success": False, "name": name, **nothing} for name in ("c.gif", "b.pdf")] == [bad, large]
    assert [good["id"]] == [each["id"] for each in stored(mockserver)]


@each_option("names", "media-result-order", {"request": ["a", "b", "b"], "reversed": ["b", "b", "a"]})
@pytest.mark.clause("media.upload", "media.audio-single")
def test_results_come_in_the_chosen_order_and_names_and_audios_may_repeat(
    mockserver: Sandbox, names: list[str]
) -> None:
    reply = upload(mockserver, *[File(MP3, "audio/mpeg", name) for name in "abb"])

    assert names == [each["name"] for each in reply.json()]
    assert 3 == len({each["id"] for each in reply.json()}) == len({each["url"] for each in reply.json()})
