"""What the document leaves open about message lists: each option, seen from outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.options import each_option, in_force
from tests.harness.rows import each_row
from tests.operations.message_pages import ALWAYS, CHAT, GIVEN, NOON, OPTIONAL, add, ids, page, read_all_pages

SEVEN = {**GIVEN, "messages": [{"chatId": CHAT} for _ in range(7)]}


@pytest.mark.mockserver(given=GIVEN)
@pytest.mark.clause("messages.record")
@pytest.mark.option("message-required-fields", "minimal")
@pytest.mark.option("message-required-fields", "text-always")
@pytest.mark.option("message-absent-vs-null", "absent")
@pytest.mark.option("message-absent-vs-null", "null")
@each_row(
    ("choices", "keys", "text"),
    [
        ({}, ALWAYS, "nothing"),
        ({"message-required-fields": "text-always"}, ALWAYS | {"text"}, ""),
        ({"message-absent-vs-null": "null"}, ALWAYS | OPTIONAL, None),
        ({"message-absent-vs-null": "null", "message-required-fields": "text-always"}, ALWAYS | OPTIONAL, ""),
    ],
)
def test_what_a_message_does_not_have_is_absent_null_or_an_empty_text(
    mockserver: Sandbox, choices: JSON, keys: set[str], text: str | None
) -> None:
    with mockserver.checkpoint():
        mockserver.choose(choices)
        add(mockserver, {"type": "sticker"}, {"text": "oi", "isOfficialTemplate": True})

        with_text, without = page(mockserver)["records"]

    assert ("oi", True) == (with_text["text"], with_text["isOfficialTemplate"])
    assert keys | {"text", "isOfficialTemplate"} == set(with_text)
    assert (keys, text) == (set(without), without.get("text", "nothing"))
    assert {None} >= {without[key] for key in keys - ALWAYS - {"text"}}


@each_option("end", "next-cursor-end", {"null": {"nextCursor": None}, "absent": {}, "empty": {"nextCursor": ""}})
@pytest.mark.mockserver(given=SEVEN)
@pytest.mark.clause("messages.list")
def test_the_last_page_is_marked_by_the_chosen_option(mockserver: Sandbox, end: JSON) -> None:
    first = page(mockserver, limit=4)
    last = page(mockserver, limit=4, cursor=first["nextCursor"])

    assert {"records", "nextCursor"} == set(first) and first["nextCursor"]
    assert {"records": last["records"], **end} == last


@in_force("short-pages", "short")
@pytest.mark.mockserver(given=SEVEN)
@pytest.mark.clause("messages.list")
def test_a_page_may_have_fewer_records_than_its_limit_or_none_while_more_remain(mockserver: Sandbox) -> None:
    pages = read_all_pages(mockserver, 4)
    sizes = [len(each) for each in pages]
    mockserver.choose({"short-pages": "full"})

    assert ids(page(mockserver)) == [each for shown in pages for each in shown]
    assert 0 in sizes[:-1]
    assert any(0 < size < 4 for size in sizes[:-1])
    assert max(sizes) <= 4


@in_force("page-stability", "offset")
@pytest.mark.mockserver(given=SEVEN, now=NOON)
@pytest.mark.clause("messages.list")
def test_new_messages_may_push_known_ones_into_the_next_page(mockserver: Sandbox) -> None:
    first = page(mockserver, limit=3)
    add(mockserver, {}, {})

    second = page(mockserver, limit=3, cursor=first["nextCursor"])

    assert ids(first)[1:] == ids(second)[:2]


@given(
    count=st.integers(0, 30),
    limit=st.integers(1, 12),
    stability=st.sampled_from(["keyset", "offset"]),
    short=st.sampled_from(["full", "short"]),
    end=st.sampled_from(["null", "absent", "empty"]),
)
@pytest.mark.clause("messages.list")
def test_a_client_that_follows_the_cursor_reads_all_under_every_option(
    mockserver_server: MockServer, count: int, limit: int, stability: str, short: str, end: str
) -> None:
    choices = {"page-stability": stability, "short-pages": short, "next-cursor-end": end}
    given_ = {**GIVEN, "messages": [{"chatId": CHAT} for _ in range(count)]}
    with mockserver_server.sandbox(given=given_, choices=choices) as sandbox:
        pages = read_all_pages(sandbox, limit)

        whole = [each for shown in pages for each in shown]
        assert count == len(whole) == len(set(whole))
        assert whole == ids(page(sandbox, limit=100)) or short == "short"
