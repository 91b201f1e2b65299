"""Bounds of the journal in bytes: the parts of large calls that it cuts and marks, and the memory that a reset frees."""

from __future__ import annotations

import gc
import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal
from types import FrameType, ModuleType, TracebackType
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.limits import JOURNAL_ANSWER_MAX_BYTES, JOURNAL_BODY_MAX_BYTES
from mockserver.core.state import journal
from mockserver.testing.report.replay import print_replay
from tests.harness.access import BOTH, Opener

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


def reachable(root: object) -> list[object]:
    """Everything that refers to one another from here, without classes, functions and modules."""
    found: dict[int, object] = {}
    left = [root]
    while left:
        thing = left.pop()
        if id(thing) in found or isinstance(thing, type | ModuleType) or callable(thing):
            continue
        found[id(thing)] = thing
        left += gc.get_referents(thing)
    return list(found.values())


@pytest.mark.deep
@pytest.mark.parametrize("access", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("key", [None, "sk_unknown"], ids=["refused by its type", "unknown key"])
def test_a_refused_upload_leaves_only_the_beginning_of_its_body(
    traced: None, sandbox: Sandbox, key: str | None, access: Opener
) -> None:
    headers = [*FORM.items(), ("X-API-Key", key or sandbox.secret_key)]

    def refused() -> int:
        status = access(sandbox).ask("POST", MEDIA, headers, upload(2 * MEBIBYTE)).status
        assert access(sandbox).ask("GET", "/v1/campaigns", headers, b"").status  # by now the call before is over
        return status

    assert 400 <= refused()  # the first imports what it needs
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(5):
        refused()
    grown = tracemalloc.get_traced_memory()[0] - before

    assert grown < MEBIBYTE


def test_no_entry_of_the_journal_refers_to_an_exception_or_a_frame(sandbox: Sandbox) -> None:
    sandbox.call("POST", MEDIA, body=upload(10), headers=FORM)
    sandbox.call("POST", "/v1/campaigns", body=b"{")
    sandbox.call("GET", "/v1/nowhere")

    entries = list(sandbox._hosted.sandbox.journal.exchanges)
    assert 3 == sum(entry.error is not None for entry in entries)
    assert [] == [each for each in reachable(entries) if isinstance(each, BaseException | TracebackType | FrameType)]


def test_a_call_that_waits_is_cut_in_the_steps(sandbox: Sandbox) -> None:
    sandbox.on("uploadMedia").delay("5s")
    sandbox.call("POST", MEDIA, body=upload(MEBIBYTE), headers=FORM)

    (step,) = (each for each in sandbox._hosted.sandbox.journal.commands if each.command == "call")
    call = step.arguments["call"]
    assert (JOURNAL_BODY_MAX_BYTES, len(upload(MEBIBYTE))) == (len(call.body), call.cut_from_bytes)
    assert "not sent again" in sandbox.log.replay_document()["summary"]


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


def test_an_untruncated_json_body_is_not_marked(sandbox: Sandbox) -> None:
    sandbox.call("POST", PREVIEW, json={"filters": [], "note": "x" * 70_000})

    (shown,) = (each["request"] for each in sandbox.log.journal["exchanges"])
    assert (70_000, False) == (len(shown["body"]["note"]), "cutFromBytes" in shown)


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


@pytest.mark.parametrize("bound", ["journal_max_entries", "journal_max_bytes"])
def test_a_journal_of_size_zero_is_refused(bound: str) -> None:
    settings: JSON = {bound: 0}
    with pytest.raises(ValueError, match=f"{bound}: got 0; expected a whole number of at least 1"):
        MockServer(**settings)


def test_an_answer_that_is_lost_does_not_count(sandbox: Sandbox) -> None:
    sandbox.call("GET", "/v1/message-templates")
    journal = sandbox._hosted.sandbox.journal
    answer, before = journal.exchanges[-1].answer, journal.size_bytes
    journal.mark_unanswered(1)

    assert before - len(answer) == journal.size_bytes
    assert journal.size_bytes == sum(each.size_bytes for each in journal.exchanges)


def test_a_reset_frees_what_the_journal_held_immediately(traced: None, sandbox: Sandbox) -> None:
    sandbox.call("POST", PREVIEW, json={"filters": []})
    sandbox.reset()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        sandbox.call("POST", PREVIEW, json={"filters": [], "note": ["x" * 100] * 2000})
    held = tracemalloc.get_traced_memory()[0] - before
    sandbox.reset()
    left = tracemalloc.get_traced_memory()[0] - before

    assert held > 4 * MEBIBYTE
    assert left < MEBIBYTE // 10


def size_bytes(value: Any) -> int:
    """The bytes of a JSON value's objects; None, booleans and small whole numbers are the process's own."""
    return sum(sys.getsizeof(each) for each in reachable(value) if not (isinstance(each, int) and -5 <= each <= 256))


@pytest.mark.parametrize(
    "member",
    ["{}", "[]", '{"a":1}', "[1]", '"ab"', '"ç€"', '"\U0001f600"', "1.5", "123456789012", '{"a":{"b":[1.5,"x"]}}'],
)
def test_a_json_value_is_counted_with_at_least_what_its_objects_take(member: str) -> None:
    text = f"[{','.join([member] * 100)}]"

    assert size_bytes(json.loads(text, parse_float=Decimal)) <= journal.of_json(text.encode())


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
