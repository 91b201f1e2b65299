"""The parts of an upload: how they are separated and named, and the number and size that the mock reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import Sandbox
from mockserver.contract.limits import PART_HEAD_MAX_BYTES, UPLOAD_OTHER_PARTS_MAX
from mockserver.core.state.calls import ApiError
from mockserver.testing.transports.in_process import Response
from mockserver.wire import request
from mockserver.wire.request import read_upload
from tests.harness.rows import each_row
from tests.operations.media_files import BOUNDARY, PNG, TEXT, UPLOAD, File, multipart, upload
from tests.operations.world import refused

MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
FILE = File(TEXT, "text/plain", "a.txt")


def send(sandbox: Sandbox, body: bytes, content_type: str = MULTIPART) -> Response:
    return sandbox.call("POST", UPLOAD, body=body, headers={"content-type": content_type})


def named(filename: bytes) -> bytes:
    """An upload of one text whose disposition ends in these bytes."""
    head = b'Content-Disposition: form-data; name="files"; ' + filename
    return multipart([FILE]).replace(FILE.part().partition(b"\r\n")[0], head)


@pytest.mark.parametrize("media_type", ["Multipart/Form-Data", "MULTIPART/FORM-DATA", "multipart/form-data "])
@pytest.mark.clause("media.upload")
def test_the_type_of_an_upload_ignores_case(mockserver: Sandbox, media_type: str) -> None:
    reply = send(mockserver, multipart([FILE]), f"{media_type}; Boundary={BOUNDARY}")

    assert ["a.txt"] == [item["name"] for item in reply.json()]


@each_row(
    ("filename", "name"),
    [
        (rb'filename="a\b.png"', r"a\b.png"),  # a backslash
        (rb'filename="C:\fotos\a.png"', r"C:\fotos\a.png"),  # a path of windows
        (b'filename="../a.png"', "../a.png"),  # a path
        (rb'filename="a\"b.png"', 'a"b.png'),  # a quote after a backslash
        (rb'filename="a\\b.png"', r"a\b.png"),  # a backslash after a backslash
        (rb'filename="a.png\"', "a.png\\"),  # a backslash before the last quote
        (rb'filename="a.png\\"', "a.png\\"),  # two backslashes before the last quote
        (rb'filename="a.png\""', 'a.png"'),  # a quote after a backslash before the last quote
        (b'filename="a%22b.png"', 'a"b.png'),  # a quote as browsers escape it
        (b'filename="a%0D%0Ab.png"', "a\r\nb.png"),  # line ends as browsers escape them
        (b'filename="100%25.png"', "100%25.png"),  # another percent
        ('filename="promoção.png"'.encode(), "promoção.png"),  # utf 8
        ('filename="promoção.png"'.encode("latin-1"), "promoção.png"),  # latin 1
        (b"filename*=UTF-8''promo%C3%A7%C3%A3o.png", "promoção.png"),  # an extended parameter
        (b"filename=\"a.png\"; filename*=UTF-8''%C3%A9.png", "é.png"),  # an extended parameter too
        (b"filename*=UTF-8''%C3%A9.png; filename=\"a.png\"", "a.png"),  # an extended parameter first
        (b"filename*=UTF-8''%FF.png", "\ufffd.png"),  # an extended parameter not of utf 8
        (b"filename=\"a; filename*=UTF-8''b\"", "a; filename*=UTF-8''b"),  # a name like an extended parameter
        (b'filename="a;b.png"; x="y"', "a;b.png"),  # a semicolon
        (b"filename=a.png", "a.png"),  # without quotes
    ],
)
@pytest.mark.clause("media.upload")
def test_a_file_has_the_name_that_was_sent(mockserver: Sandbox, filename: bytes, name: str) -> None:
    reply = send(mockserver, named(filename))

    assert [name] == [item["name"] for item in reply.json()]
    assert TEXT == mockserver.call("GET", f"/media/{reply.json()[0]['id']}").body


@pytest.mark.parametrize(
    "disposition",
    [
        'form-data; name="files"',
        'attachment; name="files"; filename="a.txt"',
        'inline; name="files"; filename="a.txt"',
        'file; name="files"; filename="a.txt"',
    ],
)
@pytest.mark.clause("media.empty")
def test_a_part_is_a_file_only_as_form_data_with_a_file_name(mockserver: Sandbox, disposition: str) -> None:
    other = FILE._replace(raw_disposition=disposition)

    assert (400, "MEDIA_UPLOAD_EMPTY") == refused(upload(mockserver, other))
    assert ["a.txt"] == [item["name"] for item in upload(mockserver, other, FILE).json()]


WITHOUT_FILE: list[tuple[str, bytes, str]] = [
    (
        "application/json",
        b"{}",
        "got the Content-Type 'application/json'; expected multipart/form-data",
    ),
    ("", b"x", "got no Content-Type; expected multipart/form-data"),
    ("multipart/form-data", multipart([FILE]), "got a Content-Type without a boundary, which HTTP"),
    (
        "multipart/form-data; boundary=xyz",
        multipart([FILE]),
        "got a body without the boundary 'xyz' of its Content-Type",
    ),
    (MULTIPART, b"", "got an empty body"),
    (MULTIPART, multipart([FILE])[:-10], "got a body that is cut or breaks the format"),
    (
        MULTIPART.replace("form-data", "mixed"),
        multipart([FILE]),
        "got the Content-Type 'multipart/mixed",
    ),
    (MULTIPART, multipart([]), "got a body without parts"),
    (MULTIPART, multipart([FILE._replace(field="files[]")]), "got a file in the field 'files[]'"),
    (
        MULTIPART,
        multipart([FILE._replace(field="upload"), FILE._replace(field="upload"), FILE._replace(name=None)]),
        "got a file in the field 'upload' and the field 'files' without a file name; expected",
    ),
    (
        MULTIPART,
        multipart([File(b"", "application/octet-stream", "")]),
        "got an empty file without a name in the field 'files'",
    ),
]


@pytest.mark.clause("media.empty")
@each_row(("content_type", "body", "expected"), WITHOUT_FILE)
def test_the_reason_of_an_upload_without_a_file_names_what_arrived(
    mockserver: Sandbox, content_type: str, body: bytes, expected: str
) -> None:
    reply = send(mockserver, body, content_type)
    reason = reply.headers["x-mock-reason"]

    assert (400, "MEDIA_UPLOAD_EMPTY") == refused(reply)
    assert expected in reason
    assert "expected multipart/form-data with at least one file in a field named 'files'" in reason


@pytest.mark.clause("media.upload")
def test_an_upload_may_have_a_preamble_an_epilogue_blanks_and_bare_line_feeds(mockserver: Sandbox) -> None:
    whole = multipart([FILE, FILE])

    for body in (
        b"preamble\r\n" + whole + b"epilogue",
        whole.replace(f"--{BOUNDARY}\r\n".encode(), f"--{BOUNDARY} \t\r\n".encode()),
        whole.replace(b"\r\n", b"\n"),
    ):
        assert ["a.txt", "a.txt"] == [item["name"] for item in send(mockserver, body).json()]


@pytest.mark.clause("media.upload")
def test_a_content_retains_blank_lines_and_lines_that_resemble_a_boundary(mockserver: Sandbox) -> None:
    content = b"\r\n\r\na --" + BOUNDARY.encode() + b"\r\n--\r\n"

    reply = upload(mockserver, File(content, "text/plain"))

    assert content == mockserver.call("GET", f"/media/{reply.json()[0]['id']}").body


@pytest.mark.parametrize("count", [UPLOAD_OTHER_PARTS_MAX + 11, 100_000])
@pytest.mark.clause("media.too-many")
def test_more_parts_than_the_mock_reads_are_too_many(mockserver: Sandbox, count: int) -> None:
    reply = send(mockserver, multipart([File(b"x", None, None, "field")] * count))

    assert (400, "MEDIA_UPLOAD_TOO_MANY_FILES") == refused(reply)
    assert "the mock's own bound, settable by the choice media-max-files" in reply.headers["x-mock-reason"]


@pytest.mark.clause("media.upload")
def test_fields_besides_the_files_are_read_up_to_the_bound(mockserver: Sandbox) -> None:
    fields = [File(b"x", None, None, "field")] * UPLOAD_OTHER_PARTS_MAX

    assert 10 == len(upload(mockserver, *fields, *[FILE] * 10).json())


@pytest.mark.parametrize("size", [PART_HEAD_MAX_BYTES, 20 * 1024 * 1024])
@pytest.mark.clause("media.empty")
def test_a_head_longer_than_the_mock_reads_is_refused_with_the_bound(mockserver: Sandbox, size: int) -> None:
    reply = send(mockserver, named(b'filename="' + b"a" * size + b'"'))

    assert (400, "MEDIA_UPLOAD_EMPTY") == refused(reply)
    assert "longer than 4096 bytes (the mock's own bound" in reply.headers["x-mock-reason"]


@each_row(("spaces", "status"), [(PART_HEAD_MAX_BYTES - 2, 201), (PART_HEAD_MAX_BYTES - 1, 400)])
def test_a_delimiter_may_be_followed_by_spaces_up_to_the_bound(mockserver: Sandbox, spaces: int, status: int) -> None:
    delimiter = f"--{BOUNDARY}".encode()
    body = multipart([FILE]).replace(delimiter + b"\r\n", delimiter + b" " * spaces + b"\r\n", 1)

    assert status == send(mockserver, body).status


PIECES = [
    b"--b", b"--b--", b"--bc", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\n\n", b" ", b"Content-Disposition: form-data;",
    b' name="files"', b'; filename="a"', b"; filename*=utf-8''%FF", b";;", b'="', b"\\", b":", b"\xff", b"\0", b"x",
    b"Content-Type", b"Content-Disposition", b'name*0="a', b"filename*=x'y'%",
]  # fmt: skip


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=30), content_type=st.sampled_from(["boundary=b", 'boundary="b"'])
)
def test_any_pieces_of_an_upload_are_files_or_none_and_never_another_exception(
    pieces: list[bytes], content_type: str
) -> None:
    try:
        files = read_upload(f"multipart/form-data; {content_type}", b"".join(pieces), 3).files
    except ApiError as refused:
        assert refused.code in ("MEDIA_UPLOAD_EMPTY", "MEDIA_UPLOAD_TOO_MANY_FILES")
    else:
        assert all(isinstance(file.name, str) and isinstance(file.content, bytes) for file in files)


@given(contents=st.lists(st.binary(max_size=40), max_size=5), line=st.sampled_from([b"\r\n", b"\n", b""]))
def test_every_content_without_the_boundary_is_read_as_sent(contents: list[bytes], line: bytes) -> None:
    files = [File(line + content + line, "text/plain") for content in contents]

    assert [file.content for file in files] == [
        part.content for part in read_upload(MULTIPART, multipart(files), 10).files
    ]
    assert PNG == read_upload(MULTIPART, multipart([File(PNG, "image/png")]), 10).files[0].content


@each_row("size", [0, 1, 2, 3, 4, 5, 6, 7, 8])
def test_a_delimiter_is_recognized_at_any_distance_from_the_bytes_that_are_searched_in_one_step(size: int) -> None:
    content = b"%PDF-1.7\r\n--" + b"x" * (2 * request._STEP_BYTES - 60 + size)
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\n'
    parts = list(request._parts(head + content + b"\r\n--b--\r\n", b"b"))

    assert [content] == [part.content for part in parts]
