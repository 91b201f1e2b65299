"""Bounds of the mock itself: no body within them makes a call work long, and what is beyond them is refused with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.contract.limits import FILTER_ENTRIES_MAX, JSON_BODY_MAX_BYTES, JSON_DEPTH_MAX, JSON_VALUES_MAX
from tests.clients.operations import SESSIONS
from tests.depth import at_depth
from tests.harness.steps import python_calls
from tests.operations.world import DRAFT, GIVEN, draft, refused

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

PREVIEW = "/v1/campaigns/audience-preview"
JSON = {"Content-Type": "application/json"}
STATEMENT = {"field": "chat.status", "operator": "equals", "value": "open"}
INVALID = (400, "VALIDATION_ERROR")
STEPS_MAX = 300_000  # Python calls; a core makes some millions a second


def group(*statements: Any) -> dict[str, Any]:
    return {"combinator": "and", "statements": list(statements)}


def comparing(**operand: Any) -> bytes:
    return json.dumps({"filters": [group({**STATEMENT, **operand})]}).encode()


def filled(unit: str, before: str = '{"filters": [', after: str = "]}") -> bytes:
    """A body as large as the mock reads, of one piece again and again."""
    room = JSON_BODY_MAX_BYTES - len(before) - len(after)
    return (before + ",".join([unit] * (room // (len(unit) + 1))) + after).encode()


def within(unit: str, count: int, last: str, before: str, after: str) -> bytes:
    return (before + ",".join([unit] * (count - 1) + [last]) + after).encode()


IN = '{"filters": [{"combinator": "and", "statements": [{"field": "chat.monetization", "operator": "in", "value": ['
OR = '{"filters": [{"combinator": "or", "statements": ['
HUGE = JSON_BODY_MAX_BYTES - 1_000
WHOLE = json.dumps(STATEMENT)

# Bodies that were, or could be, long work: all are as large as a bound lets them be.
HOSTILE: dict[str, bytes] = {
    "entries that are no groups": filled("1"),
    "entries without a member": filled("{}"),
    "statements that are none": filled("1", OR, "]}]}"),
    "as many statements as are judged, all wrong": within("1", FILTER_ENTRIES_MAX - 1, "1", OR, "]}]}"),
    "as many statements as are judged, the last one wrong": within(WHOLE, FILTER_ENTRIES_MAX - 1, "1", OR, "]}]}"),
    "as many statements as are judged": within(WHOLE, FILTER_ENTRIES_MAX - 1, WHOLE, OR, "]}]}"),
    "numbers": filled("1", IN, "]}]}]}"),
    "fractions": filled("1.0", IN, "]}]}]}"),
    "as many numbers as are read": within("1.0", JSON_VALUES_MAX - 20, "1.0", IN, "]}]}]}"),
    "as many numbers as are read, the last one wrong": within("0.0e99999999", JSON_VALUES_MAX - 20, '"x"', IN, "]}]}]}"),
    "a long platform": comparing(field="chat.platform", value="%41" * (HUGE // 3)),
    "a long text for a number": comparing(field="chat.monetization", value="%41" * (HUGE // 3)),
    "a long date": comparing(field="chat.virtual.lastMessageAt", value="0" * HUGE),
    "a long field": comparing(field="a" * HUGE),
    "a long operator": comparing(operator="a" * HUGE),
    "brackets alone": b"[" * HUGE,
    "escaped quotes without an end": b'["' + b'\\"' * (HUGE // 2),
    "unknown keys": b"{" + b",".join(b'"k%d":1' % number for number in range(90_000)) + b"}",
    "as many keys as are read": b"{" + b",".join(b'"k%d":1' % number for number in range(JSON_VALUES_MAX - 2)) + b"}",
    "one long key": b'{"' + b"a" * HUGE + b'":1}',
    "variables with one that is no text": b'{"commonVariables": {'
    + b",".join(b'"var%d":"x"' % number for number in range(JSON_VALUES_MAX - 20))
    + b',"last":1}}',
}  # fmt: skip


@pytest.mark.clause("filters.invalid", "base.input")
@pytest.mark.parametrize(
    "choices",
    [
        pytest.param({}, id="default"),
        pytest.param({"unknown-body-keys": "reject"}, id="reject", marks=pytest.mark.deep),
    ],
)
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_body_within_the_bounds_makes_a_call_work_long(
    mockserver: Sandbox, body: bytes, choices: dict[str, Any]
) -> None:
    started = draft(mockserver)
    mockserver.choose(choices)
    for path in (PREVIEW, "/v1/campaigns", SESSIONS, f"/v1/campaigns/{started}/start"):

        def call(path: str = path) -> None:
            assert mockserver.call("POST", path, body=body, headers=JSON).status < 500

        assert python_calls(call) < STEPS_MAX


@pytest.mark.clause("filters.invalid")
def test_the_maximum_number_of_statements_is_accepted_and_one_more_is_refused(mockserver: Sandbox) -> None:
    groups = [group(*[STATEMENT] * 9)] * (FILTER_ENTRIES_MAX // 10)
    most, more = {"filters": groups}, {"filters": [*groups, group()]}

    assert mockserver.call("POST", PREVIEW, json=most).status == 200
    for reply in (
        mockserver.call("POST", PREVIEW, json=more),
        mockserver.call("POST", "/v1/campaigns", json={**DRAFT, **more}),
    ):
        assert INVALID == refused(reply)
        assert (
            "got 1001 groups and statements; expected at most 1000 (the mock's own bound; the document sets none)"
            in reply.headers["x-mock-reason"]
        )


def test_as_many_values_as_are_read_are_taken_and_more_are_refused(mockserver: Sandbox) -> None:
    values = JSON_VALUES_MAX - 8  # the body has eight other elements and members
    most = comparing(field="chat.monetization", operator="in", value=list(range(values)))
    more = comparing(field="chat.monetization", operator="in", value=list(range(JSON_VALUES_MAX + 1)))
    reply = mockserver.call("POST", PREVIEW, body=more, headers=JSON)

    assert mockserver.call("POST", PREVIEW, body=most, headers=JSON).status == 200
    assert INVALID == refused(reply)
    assert f"more than {JSON_VALUES_MAX} values (the mock's own bound" in reply.headers["x-mock-reason"]


@pytest.mark.parametrize("text", [",", "[", "{", '\\",[{', "\\\\"])
def test_signs_within_a_text_count_neither_as_values_nor_as_depth(mockserver: Sandbox, text: str) -> None:
    body = b'{"colour": "' + (text * (JSON_VALUES_MAX + 1)).encode() + b'"}'

    assert mockserver.call("POST", PREVIEW, body=body, headers=JSON).status == 200


def test_brackets_after_a_text_count_as_depth(mockserver: Sandbox) -> None:
    deep = "[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX
    reply = mockserver.call("POST", PREVIEW, body=f'{{"a": "\\\\", "b": {deep}}}'.encode(), headers=JSON)

    assert INVALID == refused(reply)
    assert "nests deeper" in reply.headers["x-mock-reason"]


@pytest.mark.law
@pytest.mark.parametrize("form", [lambda key: key, lambda key: "".join(f"%{ord(char):02x}" for char in key)])
def test_a_reason_that_is_cut_within_a_key_shows_nothing_of_the_key(
    mockserver: Sandbox, form: Callable[..., Any]
) -> None:
    key = form(mockserver.secret_key)
    for filler in range(0, 600, at_depth(29, 7)):
        value = "x" * filler + key + "y" * 5_000
        reply = mockserver.call("POST", PREVIEW, body=comparing(field="chat.platform", value=value), headers=JSON)
        kept = mockserver.log.journal["exchanges"][-1]["reason"]

        assert mockserver.secret_key[3:9] not in reply.headers["x-mock-reason"] + kept
        assert key[:12] not in reply.headers["x-mock-reason"] + kept
