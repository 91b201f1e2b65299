"""Media: the bytes that an upload's urls serve, and file names that would do harm."""

import pytest
import requests

from mockserver import MockServer, Sandbox, sample_file
from mockserver.contract.media_types import KINDS
from tests.harness.rows import each_row
from tests.operations.media_files import JPEG, PNG, UPLOAD, File, upload

GOOD = File(PNG, "image/png", "a.png")
NAMES = [
    "foto.png",
    "foto da clínica.png",
    "牙医 🦷.png",
    'a\\"b.png',
    "a;b=c.png",
    "a%0d%0aX-Evil%3A 1.png",
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "/etc/passwd",
    "<script>alert(1)</script>",
    "x" * 500,
    " ",
]


@each_row("declared", list(KINDS))
@pytest.mark.clause("media.upload")
def test_the_url_serves_the_bytes_without_a_key_and_without_being_guessed_at(
    mockserver: Sandbox, declared: str
) -> None:
    content = sample_file(declared)
    [item] = upload(mockserver, File(content, declared, "nome")).json()

    served = mockserver.call("GET", item["url"].partition(f"/{mockserver.id}")[2], key="")

    assert 200 == served.status
    assert content == served.body
    assert declared == served.headers["content-type"]
    assert "nosniff" == served.headers["x-content-type-options"]


@each_row("name", NAMES)
@pytest.mark.clause("media.upload")
def test_no_file_name_does_any_harm(mockserver: Sandbox, name: str) -> None:
    origin = mockserver.base_url
    files = [("files", (name.replace('\\"', '"'), JPEG, "image/jpeg"))]

    made = requests.post(origin + UPLOAD, files=files, headers={"X-API-Key": mockserver.secret_key}, timeout=60)
    [item] = made.json()
    served = requests.get(item["url"], timeout=60)

    assert 201 == made.status_code
    assert f"{origin}/media/{item['id']}" == item["url"]
    assert (200, JPEG, "image/jpeg") == (served.status_code, served.content, served.headers["Content-Type"])
    assert "X-Evil" not in served.headers
    assert set() == set("\r\n<") & set(served.headers.get("Content-Disposition", ""))


@pytest.mark.parametrize("raw", ["form-data; name=\"files\"; filename*=UTF-8''a%0D%0AX-Evil%3A%201.jpg"])
@pytest.mark.clause("media.upload")
def test_a_line_break_in_a_name_breaks_no_header(mockserver: Sandbox, raw: str) -> None:
    [item] = upload(mockserver, File(JPEG, "image/jpeg", raw_disposition=raw)).json()

    served = mockserver.call("GET", f"/media/{item['id']}", key="")

    assert "\r" not in str(served.headers) and "\\r" not in str(served.headers)
    assert "x-evil" not in served.headers


@pytest.mark.clause("media.upload", "base.tenant-scope")
def test_a_file_of_another_sandbox_is_not_served(mockserver: Sandbox, mockserver_server: MockServer) -> None:
    with mockserver_server.sandbox(seed=5) as other:
        [item] = upload(other, GOOD).json()

        assert 404 == mockserver.call("GET", f"/media/{item['id']}", key="").status
