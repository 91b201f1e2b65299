"""The patterns of the document refuse no text that the server accepts, and most of those that it refuses."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver.contract.choices import CHOICES
from mockserver.contract.openapi.patterns import HTTPS_URL, filter_date
from mockserver.core.operations import return_urls
from tests.depth import at_depth
from tests.documents.reading import public, validator
from tests.harness.rows import each_row

PREVIEW = "/v1/campaigns/audience-preview"
_PARTS_OF_URLS = [
    *("1", "0", "256", "255", "0x", "0xg", "08", "09", "999999999999", "65535", "65536", "99999"),
    *(".", "..", "%31", "%", "%2e", ":", "a", "é", "１", "。", "[", "]", "::1", "/", " ", "?", "#", "-", "_"),
    *("xn--", "\u00ad", "\u2028", "!", "<", "^", "|", "*", "@", "\\", "\x7f", "\t"),
]
_DATES = [
    *("2026-03-01T12:00:00Z", "20260301T120000Z", "2026-W10-5T12:00+05", "2026W105T12-0300", "2026-060T24:00:00Z"),
    *(
        "2026060T0000Z",
        "20241231T24,0Z",
        "2024-366T12Z",
        "2016-12-31T23:59:60Z",
        "2026-03-01t12:00:00,5\u221203:00",
        "2026-03-01T12:00:00",
        "2026-03-01",
    ),
]
_PARTS_OF_DATES = [
    "2026",
    "-",
    "03",
    "T",
    "t",
    "12",
    ":",
    "Z",
    "+",
    "\u2212",
    "W",
    "5",
    "060",
    ".5",
    ",25",
    "24",
    "60",
    "0530",
]
LENIENT = CHOICES["date-only-and-naive"].options
OFFSETS = CHOICES["date-offset"].options


@settings(deadline=None, max_examples=at_depth(5, 5_000))
@given(st.lists(st.sampled_from(_PARTS_OF_URLS), min_size=1, max_size=8))
@example(["."])
@example(["%31", ".", "256"])
@example(["1", "..", "?"])
@example(["a", ":", "0", "65535"])
def test_the_pattern_of_a_return_url_accepts_what_the_server_accepts(parts: list[str]) -> None:
    url = "https://" + "".join(parts)

    if not return_urls.problem(url, allows_loopback_http=False):
        assert re.search(HTTPS_URL, url)


@st.composite
def _edited_dates(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(_DATES))
    for _ in range(draw(st.integers(0, 3))):
        place, length = draw(st.integers(0, len(text))), draw(st.integers(0, 2))
        text = text[:place] + draw(st.sampled_from(["", *_PARTS_OF_DATES])) + text[place + length :]
    return text


@pytest.mark.parametrize(("lenient", "offset"), list(product(LENIENT, OFFSETS)))
def test_the_pattern_of_a_date_accepts_what_the_server_accepts(
    mockserver_server: MockServer, lenient: str, offset: str
) -> None:
    pattern = filter_date({"date-only-and-naive": lenient, "date-offset": offset})
    with mockserver_server.sandbox(choices={"date-only-and-naive": lenient, "date-offset": offset}) as sandbox:

        @settings(deadline=None, max_examples=at_depth(5, 2_000))
        @given(_edited_dates())
        def accepts_what_the_server_accepts(date: str) -> None:
            if _previewed(sandbox, date):
                assert re.search(pattern, date)

        accepts_what_the_server_accepts()


def _previewed(sandbox: Sandbox, date: str) -> bool:
    statement = {"field": "chat.virtual.lastMessageAt", "operator": "equals", "value": date}
    body = {"filters": [{"combinator": "and", "statements": [statement]}]}
    return sandbox.call("POST", PREVIEW, json=body).status < 400


@each_row(
    ("date", "accepting"),
    [
        ("2026-03-01T12:00:00Z", {("reject", "any"), ("reject", "z-only"), ("midnight-utc", "any")}),
        ("2026-03-01T12:00:00+0300", set()),
        ("2026-W10-5T12:00:00,5-03", {("reject", "any"), ("midnight-utc", "any")}),
        ("20260301T120000", {("midnight-utc", "any")}),
        ("2026-03-01", {("midnight-utc", "any")}),
        ("20260301", set()),
        ("2026-060T24:00:00.0Z", {("reject", "any"), ("reject", "z-only"), ("midnight-utc", "any")}),
        ("2026-03-01T24:00:01Z", set()),
        ("2026-03-01T24:01Z", set()),
        ("2026-04-31T12:00:00Z", set()),
        ("20260230T120000Z", set()),
        ("2026-000T12:00:00Z", set()),
        ("2026-367T12:00:00Z", set()),
        ("2026-W00-1T12:00:00Z", set()),
        ("2026-W54-1T12:00:00Z", set()),
        ("soon", set()),
    ],
)
def test_a_date_operand_is_accepted_by_the_options_that_admit_it(
    mockserver_server: MockServer, date: str, accepting: set[tuple[str, str]]
) -> None:
    for lenient, offset in (("reject", "any"), ("reject", "z-only"), ("midnight-utc", "any")):
        options = {"date-only-and-naive": lenient, "date-offset": offset}
        document = public(**options)
        body = document["components"]["schemas"]["PreviewAudienceRequest"]
        statement = {"field": "chat.virtual.lastMessageAt", "operator": "in", "value": [date]}
        filters = [{"combinator": "and", "statements": [statement]}]
        with mockserver_server.sandbox(choices=options) as sandbox:
            reply = sandbox.call("POST", PREVIEW, json={"filters": filters})

        assert ((lenient, offset) in accepting) == (reply.status < 400)
        assert ((lenient, offset) in accepting) == validator(document, body, formats=False).is_valid(
            {"filters": filters}
        )
