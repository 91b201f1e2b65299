"""Media and message scenarios, each played by the careful client."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from mockserver.contract import schemas
from tests.clients.calls import Refused
from tests.clients.careful import Uploaded
from tests.operations.media_files import PDF, PNG, TEXT
from tests.scenario.scenario_runs import played

FILES = {
    "vitrine.png": (PNG, "image/png"),
    "precos.pdf": (PDF, "application/pdf"),
    "recado.txt": (TEXT, "text/plain"),
}


@pytest.mark.parametrize(
    ("name", "parts"),
    [("media-one-bad-file", [3, 1]), ("media-storage-down", [3, 3]), ("media-proxy-413", [3, 1, 1, 1])],
)
def test_a_careful_client_stores_every_file_and_sends_none_twice_that_was_stored(
    mockserver_server: MockServer, name: str, parts: list[int]
) -> None:
    with played(mockserver_server, name) as run:
        uploaded = run.careful().upload(FILES)

        stored = {each["id"]: each["name"] for each in run.tenant["media"]}
        assert list(FILES) == sorted(uploaded.ids, key=list(FILES).index)
        assert {id: file for file, id in uploaded.ids.items()} == stored
        assert len(parts) == len(run.calls("uploadMedia"))


def test_a_file_that_is_not_taken_is_named(mockserver_server: MockServer) -> None:
    files = FILES | {"planilha.bin": (b"\x00\x01", "application/octet-stream")}
    with played(mockserver_server, "media-one-refused-file") as run:
        uploaded = run.careful().upload(files)

        assert Uploaded(uploaded.ids, ("planilha.bin",)) == uploaded
        assert set(FILES) == set(uploaded.ids)
        assert 3 == len(run.tenant["media"])


@pytest.mark.option("media-request-limit", "effect")
def test_a_file_that_is_too_large_for_a_proxy_remains_refused(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "media-proxy-413") as run, pytest.raises(Refused) as refusal:
        run.careful().upload({"video.mp4": (b"", "video/mp4")})

    assert (413, None) == (refusal.value.status, refusal.value.code)


# The scenario, its chat, and how many messages there were at the beginning.
CHATS = [
    ("long-chat-moving", "chat_moving", 9),
    ("long-chat-ends-with-null", "chat_ends_null", 5),
    ("long-chat-ends-without-cursor", "chat_ends_absent", 5),
    ("page-read-fails-midway", "chat_page_fails", 5),
]


@pytest.mark.parametrize(("name", "chat_id", "count"), CHATS)
def test_a_careful_client_reads_every_message_once(
    mockserver_server: MockServer, name: str, chat_id: str, count: int
) -> None:
    with played(mockserver_server, name) as run:
        there = [each["id"] for each in run.tenant["messages"]]

        read = [each["id"] for each in run.careful().messages(chat_id, limit=4)]

        assert count == len(there)
        assert there[::-1] == read


def test_unknown_fields_and_values_do_no_harm(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "answers-gain-fields") as run:
        (message,) = run.careful().messages("chat_gain_fields")

        assert "Oi" == message["text"]
        assert "text" != message["type"]
        assert set(message) - set(schemas.load("messageRecord")["properties"])
