"""A chat's messages: newest first, whole records, and cursors that neither skip nor repeat."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.rows import each_row
from tests.operations.message_pages import (
    ALWAYS,
    CHAT,
    GIVEN,
    NOON,
    OPTIONAL,
    add,
    ids,
    page,
    page_of,
    read_all_pages,
)
from tests.operations.world import refused

FULL = {
    "id": "message_full",
    "type": "comment",
    "status": "read",
    "sender": {"id": "p1", "name": "Ana", "isParticipant": True, "avatarUrl": "https://media.example/a.jpg"},
    "isOfficialTemplate": False,
    "templateCharged": True,
    "createdAt": "2026-03-01T10:20:30.400Z",
    "text": 'Olá, \u2028 🦷 "aspas"',
    "transcription": "oi",
    "forward": {"displayName": "Joaquim", "type": "user", "date": 1771594200000},
    "replyToId": "message_full",
    "photoapp": {"kind": "comment", "commentId": "c1", "mediaId": "m1", "parentCommentId": "c0"},
    "media": {
        "id": "media_x",
        "type": "image",
        "url": "https://media.example/x.jpg",
        "mimeType": "image/jpeg",
        "fileName": "x.jpg",
    },
    "location": {
        "latitude": -23.5505,
        "longitude": 0,
        "name": "Clínica",
        "address": "Rua, 1",
        "url": "https://map.example",
    },
    "templateComponents": {"body": [1, 2.5, None, True, {"a": []}]},
    "ad": {"id": "ad_1", "type": "ad", "url": "https://ad.example", "headline": "Oferta"},
}


@pytest.mark.mockserver(given=GIVEN, now=NOON)
@pytest.mark.clause("messages.list")
@pytest.mark.mockserver(now="2026-03-01T12:00:00.000000Z")
def test_the_most_recent_are_first_and_of_one_instant_what_was_made_later_is_the_newer(mockserver: Sandbox) -> None:
    assert {"records": [], "nextCursor": None} == page(mockserver)
    made = add(mockserver, *[{"createdAt": NOON}] * 5) + add(mockserver, {}, {"createdAt": "2026-03-01T09:00:00-03:00"})
    earlier = add(mockserver, *[{"createdAt": f"2026-03-01T{hour:02}:00:00Z"} for hour in (8, 10, 9)])
    newest_first = [*made[::-1], earlier[1], earlier[2], earlier[0]]

    assert newest_first == ids(page(mockserver))
    assert [[each] for each in newest_first] == read_all_pages(mockserver, 1)


@pytest.mark.mockserver(given={**GIVEN, "messages": [{"chatId": CHAT}] * 100})
@pytest.mark.clause("messages.list")
def test_a_page_has_fifty_records_by_default_and_at_most_a_hundred(mockserver: Sandbox) -> None:
    assert 50 == len(page(mockserver)["records"])
    assert 1 == len(page(mockserver, limit=1)["records"])
    assert 100 == len(page(mockserver, limit=100)["records"])
    assert [50, 50] == [len(each) for each in read_all_pages(mockserver, 50)]  # the last one ends with the last message


@each_row("limit", ["0", "101", "-1", "+5", "5.0", "1e1", "ten", "", " 5", "5 ", "٥", "99999999999999"])
@pytest.mark.mockserver(given=GIVEN)
@pytest.mark.clause("messages.list")
def test_a_limit_out_of_bounds_is_refused(mockserver: Sandbox, limit: str) -> None:
    assert (400, "VALIDATION_ERROR") == refused(page_of(mockserver, limit=limit))


THREE_EACH = {**GIVEN, "messages": [{"chatId": chat} for chat in (CHAT, "chat_bruno") for _ in range(3)]}


@pytest.mark.mockserver(given=THREE_EACH)
@pytest.mark.clause("messages.list")
def test_a_cursor_can_be_used_again_with_another_page_size_and_in_its_own_chat_alone(
    mockserver: Sandbox, mockserver_server: MockServer
) -> None:
    everything, cursor = ids(page(mockserver)), page(mockserver, limit=1)["nextCursor"]
    of_another_chat = page(mockserver, "chat_bruno", limit=1)["nextCursor"]
    with mockserver_server.sandbox(seed=5, given=THREE_EACH) as other:
        of_another_run = page(other, limit=1)["nextCursor"]

    assert isinstance(cursor, str)
    assert [everything[1:2], everything[1:]] == [
        ids(page(mockserver, limit=limit, cursor=cursor)) for limit in (1, 100)
    ]
    for chat, wrong in ((CHAT, of_another_chat), (CHAT, of_another_run), ("chat_unknown", "x")):
        assert (400, "VALIDATION_ERROR") == refused(page_of(mockserver, chat, cursor=wrong))


@each_row("character", [*"AZaz09-_=.!~ /+", "%00", "é"])
@pytest.mark.mockserver(given=THREE_EACH)
@pytest.mark.clause("messages.list")
def test_a_cursor_with_one_character_altered_or_more_is_refused(mockserver: Sandbox, character: str) -> None:
    cursor = page(mockserver, limit=1)["nextCursor"]
    altered = {cursor[:at] + character + cursor[at + taken :] for at in range(len(cursor) + 1) for taken in (0, 1)} - {
        cursor
    }

    accepted = [each for each in altered if page_of(mockserver, cursor=each).status == 200]

    assert [] == accepted


MINUTES = st.integers(0, 30)


@given(
    old=st.lists(MINUTES, max_size=25),
    arrivals=st.lists(st.lists(MINUTES | st.none(), max_size=3), max_size=10),
    limits=st.lists(st.integers(1, 7), min_size=1, max_size=8),
)
@pytest.mark.option("page-stability", "keyset")
@pytest.mark.option("short-pages", "full")
@pytest.mark.clause("messages.list")
def test_pages_neither_skip_nor_repeat_while_messages_arrive(
    mockserver_server: MockServer, old: list[int], arrivals: list[list[int | None]], limits: list[int]
) -> None:
    with mockserver_server.sandbox(now=NOON, given=GIVEN) as sandbox:
        if old:
            add(sandbox, *[{"createdAt": f"2026-03-01T11:{minute:02}:00Z"} for minute in old])
        before = [each for shown in read_all_pages(sandbox, 100) for each in shown]
        seen, turn = [], 0
        query: JSON = {"limit": limits[0]}
        while True:
            shown = page(sandbox, **query)
            seen += ids(shown)
            if shown["nextCursor"] is None:
                break
            assert query["limit"] == len(shown["records"])
            for minute in arrivals[turn] if turn < len(arrivals) else ():
                add(sandbox, {} if minute is None else {"createdAt": f"2026-03-01T11:{minute:02}:00Z"})
                sandbox.advance(1)
            turn += 1
            query = {"limit": limits[turn % len(limits)], "cursor": shown["nextCursor"]}

        assert len(seen) == len(set(seen))
        assert before == [each for each in seen if each in before]
        # Only messages dated behind the reader can have arrived in between.
        if all(minute is None for arrived in arrivals for minute in arrived):
            assert before == seen


@pytest.mark.clause("messages.record")
def test_every_documented_field_is_returned_with_its_type(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {**GIVEN, "messages": [{"chatId": CHAT, **FULL}]}})

    [record] = page(mockserver)["records"]

    assert ALWAYS | OPTIONAL == set(record)
    assert json.dumps(FULL, sort_keys=True) == json.dumps(record, sort_keys=True)
