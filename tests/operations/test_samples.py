"""A small real file for each media type: uploads accept it, other programs read it, and refusals name it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import requests

import mockserver as package
from mockserver import MockServer, Sandbox
from mockserver.contract.media_types import KINDS, marks_of
from tests.harness.rows import each_row
from tests.operations.media_files import File, upload
from tests.operations.world import refused


def get_sample(server: MockServer, **query: str) -> requests.Response:
    """The answer of a sandbox's control plane to a request for a sample."""
    with server.sandbox() as sandbox:
        return requests.get(f"{sandbox.base_url}/_mock/samples", params=query, timeout=10)


# What `file` calls the types that it has another name for.
OTHER_NAMES = {"audio/aac": "audio/x-hx-aac-adts", "audio/mp4": "audio/x-m4a"}


@pytest.mark.skipif(shutil.which("file") is None, reason="the program `file` is not installed")
@each_row("media_type", KINDS)
def test_another_program_reads_the_sample_as_its_type(media_type: str, tmp_path: Path) -> None:
    path = tmp_path / "sample"
    path.write_bytes(package.sample_file(media_type))

    read = subprocess.run(
        ["file", "--brief", "--mime-type", str(path)], capture_output=True, encoding="utf-8", check=True
    )

    assert OTHER_NAMES.get(media_type, media_type) == read.stdout.strip()


@each_row("media_type", KINDS)
def test_the_refusal_of_a_wrong_file_names_what_is_missing_and_the_sample(mockserver: Sandbox, media_type: str) -> None:
    reply = upload(mockserver, File(b"\x00\x01" * 40, media_type))

    assert (400, "MEDIA_INVALID_FORMAT") == refused(reply)
    expected = f"; expected {marks_of(media_type)}, as in mockserver.sample_file(type), /_mock/samples"
    assert expected in reply.headers["x-mock-reason"]


@pytest.mark.parametrize(("received", "nearest"), [("image/jpg", "image/jpeg"), ("image/PNG", "image/png")])
def test_another_type_is_refused_with_the_nearest(mockserver_server: MockServer, received: str, nearest: str) -> None:
    hint = f"; did you mean {nearest!r}?"
    reply = get_sample(mockserver_server, type=received)

    assert (400, "MOCK_BAD_QUERY") == (reply.status_code, reply.json()["code"])
    assert reply.json()["message"].startswith(f"type: got the media type {received!r}; expected one of image/jpeg, ")
    assert reply.json()["message"].endswith(hint)
    with pytest.raises(ValueError, match=f"got the media type '{received}'; expected one of .*{nearest}"):
        package.sample_file(received)
