"""Bounds of the journal in bytes: the parts of large calls that it cuts and marks, and the memory that a reset frees."""

from __future__ import annotations

import gc
import io
import json
import tracemalloc
from collections.abc import Iterator

import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract.limits import JOURNAL_ANSWER_MAX_BYTES, JOURNAL_BODY_MAX_BYTES
from mockserver.testing.report.replay import print_replay

MEBIBYTE = 1024 * 1024
MEDIA = "/v1/messaging/media"
FORM = {"content-type": "multipart/form-data; boundary=b"}
PREVIEW = "/v1/campaigns/audience-preview"


def upload(size_bytes: int) -> bytes:
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.exe"\r\nContent-Type: application/x-evil\r\n\r\n'
    return part + b"x" * size_bytes + b"\r\n--b--\r\n"


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    gc.disable()  # what only the collector of cycles frees is not freed
    yield
    gc.enable()
    tracemalloc.stop()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with MockServer() as server:
        yield server.sandbox()


def test_a_long_json_body_that_waited_is_sent_again_whole(sandbox: Sandbox) -> None:
    sandbox.on("previewAudience").delay("5s")
    sandbox.call("POST", PREVIEW, json={"filters": [], "note": "x" * 70_000})

    document = sandbox.log.replay_document()
    assert "summary" not in document
    assert [70_000] == [len(each["json"]["note"]) for each in document["calls"] if "json" in each]


def test_a_body_that_is_cut_is_marked_with_its_whole_size(sandbox: Sandbox) -> None:
    sandbox.call("POST", MEDIA, body=upload(MEBIBYTE), headers=FORM)
    sandbox.call("POST", MEDIA, body=upload(10), headers=FORM)

    cut, whole = (each["request"] for each in sandbox.log.journal["exchanges"])
    assert (JOURNAL_BODY_MAX_BYTES, len(upload(MEBIBYTE))) == (len(cut["body"]), cut["cutFromBytes"])
    assert "cutFromBytes" not in whole


def test_a_truncated_response_is_marked_in_every_view(sandbox: Sandbox) -> None:
    long = "y" * (JOURNAL_ANSWER_MAX_BYTES + 7)
    sandbox.on("listCampaigns").reply(200, long)
    answered = sandbox.call("GET", "/v1/campaigns").body

    (shown,) = (each["response"] for each in sandbox.log.journal["exchanges"])
    (entry,) = (each for each in sandbox.log.replay_document()["calls"] if "call" in each)
    assert (len(long), JOURNAL_ANSWER_MAX_BYTES) == (len(answered), len(shown["body"]))
    assert len(long) == shown["cutFromBytes"]
    assert {"status": 200, "cut": True} == entry["answer"]
    with pytest.raises(AssertionError, match=f"only the beginning of these {len(long):,} bytes"):
        _ = sandbox.calls("listCampaigns").one().answer


@pytest.mark.parametrize(("status", "code"), [(200, 0), (500, 1)])
def test_a_replay_compares_of_an_answer_that_was_cut_the_status(sandbox: Sandbox, status: int, code: int) -> None:
    sandbox.on("listCampaigns").reply(200, "y" * (JOURNAL_ANSWER_MAX_BYTES + 1))
    sandbox.call("GET", "/v1/campaigns")
    document = json.loads(
        json.dumps(sandbox.log.replay_document()).replace('"status": 200, "cut"', f'"status": {status}, "cut"')
    )

    assert code == print_replay(document, io.StringIO())


def test_the_oldest_exchanges_are_dropped_for_the_latest() -> None:
    with MockServer(journal_max_bytes=MEBIBYTE) as server, server.sandbox() as sandbox:
        for _ in range(40):
            sandbox.call("POST", MEDIA, body=upload(MEBIBYTE), headers=FORM)
        journal = sandbox._hosted.sandbox.journal

        assert journal.size_bytes <= MEBIBYTE
        assert journal.size_bytes == sum(
            each.size_bytes for kept in (journal.exchanges, journal.commands) for each in kept
        )
        assert list(range(41 - len(journal.exchanges), 41)) == [each.n for each in journal.exchanges]
        assert 10 < len(journal.exchanges) < 20
        missing = f"The first {40 - len(journal.exchanges)} calls and commands are missing"
        assert sandbox.log.replay_document()["summary"].startswith(missing)


def test_steps_and_exchanges_are_dropped_oldest_first() -> None:
    with MockServer(journal_max_bytes=200_000) as server, server.sandbox() as sandbox:
        for number in range(100):
            sandbox.apply({"given": {"chats": [{"id": f"c{number}", "name": "n" * 1000}]}})
            sandbox.call("GET", "/v1/campaigns")
        journal = sandbox._hosted.sandbox.journal

        assert journal.size_bytes <= 200_000
        assert journal.dropped_commands == 100 - len(journal.commands)
        assert 0 <= journal.commands[0].exchanges - journal.exchanges[0].n + 1 <= 1


def test_the_latest_exchange_is_never_dropped() -> None:
    with MockServer(journal_max_bytes=1) as server, server.sandbox() as sandbox:
        sandbox.call("GET", "/v1/campaigns")
        sandbox.call("GET", "/v1/nowhere")

        assert ["/v1/nowhere"] == [each["request"]["path"] for each in sandbox.log.journal["exchanges"]]


def test_the_journal_has_the_configured_number_of_exchanges() -> None:
    with MockServer(journal_max_entries=3) as server, server.sandbox() as sandbox:
        for _ in range(5):
            sandbox.call("GET", "/v1/campaigns")
        with sandbox.checkpoint():
            sandbox.call("GET", "/v1/campaigns")

        assert [3, 4, 5] == [each["n"] for each in sandbox.log.journal["exchanges"]]


def test_an_answer_that_is_lost_does_not_count(sandbox: Sandbox) -> None:
    sandbox.call("GET", "/v1/message-templates")
    journal = sandbox._hosted.sandbox.journal
    answer, before = journal.exchanges[-1].answer, journal.size_bytes
    journal.mark_unanswered(1)

    assert before - len(answer) == journal.size_bytes
    assert journal.size_bytes == sum(each.size_bytes for each in journal.exchanges)


def test_an_entry_counts_with_at_least_what_it_takes_and_at_most_four_times_as_much(
    traced: None, sandbox: Sandbox
) -> None:
    def calls() -> None:
        for _ in range(200):
            sandbox.call("GET", "/v1/message-templates?limit=3", headers={"user-agent": "a" * 100, "accept": "*/*"})

    calls()
    before, counted = tracemalloc.get_traced_memory()[0], sandbox._hosted.sandbox.journal.size_bytes
    calls()
    taken = tracemalloc.get_traced_memory()[0] - before
    counted = sandbox._hosted.sandbox.journal.size_bytes - counted

    assert taken <= counted <= 4 * taken
