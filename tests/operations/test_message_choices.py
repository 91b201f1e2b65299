"""What the document leaves open about message lists: each option, seen from outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.options import in_force, option_case
from tests.operations.message_pages import ALWAYS, CHAT, GIVEN, NOON, OPTIONAL, add, ids, page, read_all_pages

SEVEN = {**GIVEN, "messages": [{"chatId": CHAT} for _ in range(7)]}


@pytest.mark.mockserver(given=GIVEN)
@pytest.mark.clause("messages.record")
class TestFields:
    @pytest.mark.option("message-required-fields", "minimal")
    @pytest.mark.option("message-absent-vs-null", "absent")
    def test_what_a_message_does_not_have_is_absent(self, mockserver: Sandbox) -> None:
        add(mockserver, {"type": "sticker"}, {"text": "oi"})

        with_text, without = page(mockserver)["records"]

        assert ALWAYS == set(without)
        assert ALWAYS | {"text"} == set(with_text)

    @in_force("message-required-fields", "text-always")
    def test_a_message_without_a_text_may_have_an_empty_one(self, mockserver: Sandbox) -> None:
        add(mockserver, {"type": "sticker"}, {"text": "oi"})

        with_text, without = page(mockserver)["records"]

        assert ("oi", "") == (with_text["text"], without["text"])
        assert ALWAYS | {"text"} == set(without) == set(with_text)

    @in_force("message-absent-vs-null", "null")
    def test_what_a_message_does_not_have_may_be_null(self, mockserver: Sandbox) -> None:
        add(mockserver, {"type": "sticker"}, {"text": "oi", "isOfficialTemplate": True})

        with_text, without = page(mockserver)["records"]

        assert ALWAYS | OPTIONAL == set(without) == set(with_text)
        assert {None} == {without[key] for key in OPTIONAL}
        assert ("oi", True, None) == (with_text["text"], with_text["isOfficialTemplate"], with_text["ad"])

    @pytest.mark.option("message-absent-vs-null", "null")
    @pytest.mark.option("message-required-fields", "text-always")
    def test_a_text_that_is_always_there_is_not_null(self, mockserver: Sandbox) -> None:
        mockserver.choose({"message-absent-vs-null": "null", "message-required-fields": "text-always"})
        add(mockserver, {"type": "sticker"})

        [record] = page(mockserver)["records"]

        assert ("", None) == (record["text"], record["media"])


@pytest.mark.parametrize(
    "end",
    [
        option_case("next-cursor-end", "null", {"nextCursor": None}),
        option_case("next-cursor-end", "absent", {}),
        option_case("next-cursor-end", "empty", {"nextCursor": ""}),
    ],
)
@pytest.mark.mockserver(given=SEVEN)
@pytest.mark.clause("messages.list")
class TestEnd:
    def test_the_last_page_is_marked_by_the_chosen_option(self, mockserver: Sandbox, end: JSON) -> None:
        first = page(mockserver, limit=4)
        last = page(mockserver, limit=4, cursor=first["nextCursor"])

        assert {"records", "nextCursor"} == set(first) and first["nextCursor"]
        assert {"records": last["records"], **end} == last


@pytest.mark.mockserver(given=SEVEN, choices={"short-pages": "short"})
@pytest.mark.option("short-pages", "short")
@pytest.mark.clause("messages.list")
class TestShortPages:
    def test_a_page_may_have_fewer_records_than_its_limit_or_none_while_more_remain(self, mockserver: Sandbox) -> None:
        sizes = [len(each) for each in read_all_pages(mockserver, 4)]

        assert 7 == sum(sizes)
        assert 0 in sizes[:-1]
        assert any(0 < size < 4 for size in sizes[:-1])
        assert max(sizes) <= 4

    def test_all_pages_together_are_the_whole_list(self, mockserver: Sandbox) -> None:
        everything = [each for shown in read_all_pages(mockserver, 3) for each in shown]

        mockserver.choose({"short-pages": "full"})

        assert ids(page(mockserver)) == everything


@pytest.mark.mockserver(given=SEVEN, now=NOON, choices={"page-stability": "offset"})
@pytest.mark.option("page-stability", "offset")
@pytest.mark.clause("messages.list")
class TestOffset:
    def test_new_messages_push_known_ones_into_the_next_page(self, mockserver: Sandbox) -> None:
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
