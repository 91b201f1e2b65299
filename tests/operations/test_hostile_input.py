"""What no honest client sends: in process or over a socket, the answer is the documented error and never a page."""

import json

import pytest

from mockserver import Sandbox
from tests.clients.operations import SESSIONS
from tests.harness.access import Access, Answer, verdict
from tests.harness.rows import each_row
from tests.operations.world import DRAFT, GIVEN, MULTIPART

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

PREVIEW = "/v1/campaigns/audience-preview"
JSON_TYPE = ("Content-Type", "application/json")
WHOLE = json.dumps(DRAFT)


def post(sandbox: Sandbox, access: Access, path: str, body: str | bytes, *headers: tuple[str, str]) -> Answer:
    sent = body if isinstance(body, bytes) else body.encode()
    return access.ask("POST", path, [("X-API-Key", sandbox.secret_key), *(headers or [JSON_TYPE])], sent)


def get(sandbox: Sandbox, access: Access, path: str, body: bytes = b"") -> Answer:
    return access.ask("GET", path, [("X-API-Key", sandbox.secret_key)], body)


def with_cadence(written: str) -> bytes:
    return WHOLE.replace('"cadence": 60', f'"cadence": {written}').encode()


def with_name(written: bytes) -> bytes:
    return WHOLE.encode().replace('"Março"'.encode(), written).replace(b'"Mar\\u00e7o"', written)


UNREADABLE = {
    "cut": WHOLE[:-1].encode(),
    "cut in a text": WHOLE[:12].encode(),
    "a comma too many": WHOLE.replace("}", ",}").encode(),
    "single quotes": WHOLE.replace('"', "'").encode(),
    "two values": WHOLE.encode() * 2,
    "a comment": b"/* no */" + WHOLE.encode(),
    "blanks only": b" \r\n\t",
    "a NUL": b"\0",
    "a NUL at the end": WHOLE.encode() + b"\0",
    "a NUL in a text": with_name(b'"a\0b"'),
    "a line end in a text": with_name(b'"a\nb"'),
    "a byte order mark": b"\xef\xbb\xbf" + WHOLE.encode(),
    "UTF-16": WHOLE.encode("utf-16"),
    "Latin-1": with_name("'é'".replace("'", '"').encode("latin-1")),
    "half a character": with_name(b'"\xc3"'),
    "an overlong slash": with_name(b'"\xc0\xaf"'),
    "a surrogate in UTF-8": with_name(b'"\xed\xa0\x80"'),
    "half of a surrogate pair": with_name(b'"\\ud800"'),
    "the other half": with_name(b'"\\udc00 "'),
    "an unknown escape": with_name(b'"\\x41"'),
    "NaN": with_cadence("NaN"),
    "Infinity": with_cadence("Infinity"),
    "minus Infinity": with_cadence("-Infinity"),
    "NaN in an unknown member": WHOLE.replace("}", ', "x": NaN}').encode(),
    "a number beyond every float": with_cadence("1e999"),
    "its negative": with_cadence("-1e999"),
    "a huge exponent": with_cadence("1e999999999999"),
    "five thousand digits": with_cadence("9" * 5000),
    "five thousand digits below zero": with_cadence("-" + "9" * 5000),
    "five thousand zeros": with_cadence("1" + "0" * 5000),
    "a fraction just above the maximum": with_cadence("9007199254740991.4"),
    "a leading zero": with_cadence("060"),
    "hexadecimal": with_cadence("0x3c"),
    "nested arrays": b"[" * 100_000,
    "nested arrays, closed": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "nested in an unknown member": WHOLE.replace("}", ', "x": ').encode() + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "two mebibytes of text": with_name(b'"' + b"a" * 2 * 1024 * 1024 + b'"'),
    "two mebibytes of blanks": WHOLE.encode() + b" " * 2 * 1024 * 1024,
    "two mebibytes of nothing": b"\0" * 2 * 1024 * 1024,
}


@pytest.mark.clause("base.json", "campaigns.validation")
def test_a_body_that_cannot_be_read_is_a_validation_error(mockserver: Sandbox, access: Access) -> None:
    verdicts = {name: verdict(post(mockserver, access, "/v1/campaigns", body)) for name, body in UNREADABLE.items()}

    assert dict.fromkeys(UNREADABLE, (400, "VALIDATION_ERROR")) == verdicts
    assert [] == get(mockserver, access, "/v1/campaigns").json()["campaigns"]


ODD_BUT_RIGHT = {
    "a paired surrogate": with_name(b'"\\ud83d\\ude00"'),
    "an escaped NUL": with_name(b'"a\\u0000b"'),
    "brackets in a text": with_name(b'"' + b"[" * 100 + b'"'),
    "a right-to-left name": with_name('"\u202eabc"'.encode()),
    "blanks around it": b"\r\n\t " + WHOLE.encode() + b"\r\n",
    "an integral fraction": with_cadence("60.0"),
    "an integral exponent": with_cadence("6e1"),
    "the greatest cadence": with_cadence("9007199254740991"),
}


@pytest.mark.clause("base.json")
@pytest.mark.parametrize("body", ODD_BUT_RIGHT.values(), ids=ODD_BUT_RIGHT)
def test_a_body_that_is_only_odd_is_taken(mockserver: Sandbox, access: Access, body: bytes) -> None:
    got = post(mockserver, access, "/v1/campaigns", body)

    assert 201 == got.status, got.body


@pytest.mark.clause("base.json")
@each_row(
    "content_type",
    [
        None,
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/x-www-form-urlencoded",
        "application/xml",
        "json",
        ";",
        MULTIPART,
    ],
)
def test_json_under_another_type_is_a_validation_error(
    mockserver: Sandbox, access: Access, content_type: str | None
) -> None:
    headers = [("Accept", "text/html")] if content_type is None else [("Content-Type", content_type)]

    for path in ("/v1/campaigns", PREVIEW, SESSIONS):
        assert (400, "VALIDATION_ERROR") == verdict(post(mockserver, access, path, WHOLE, *headers))


STRANGE_IDS = [
    "%2F",
    "a%2Fb",
    "..%2F..",
    "%00",
    "a%00b",
    "%FF",
    "%ff%fe",
    "%",
    "%zz",
    "%C3%A3",
    "%F0%9F%98%80",
    "a;b=c",
]
STRANGE_IDS += ["..", ".", "~", "a+b", "%20", "%0d%0aX:%20y", "'%22%3E%3Cscript%3E", "{id}", "\xff", "a" * 4000]


@pytest.mark.clause(
    "campaigns.detail",
    "messages.list",
    "session.read",
    "entrypoints.read",
    "forms.policy",
    "templates.unknown",
    "execution.read",
)
@each_row(
    ("path", "code"),
    [
        ("/v1/campaigns/{id}", "CAMPAIGN_NOT_FOUND"),
        ("/v1/campaigns/{id}/executions/{id}", "CAMPAIGN_NOT_FOUND"),
        ("/v1/message-templates/{id}", "MESSAGE_TEMPLATE_NOT_FOUND"),
        ("/v1/entrypoints/{id}", "ENTRYPOINT_NOT_FOUND"),
        (SESSIONS + "/{id}", "RESOURCE_NOT_FOUND"),
        ("/v1/messaging/chats/{id}", "CHAT_NOT_FOUND"),
        ("/v1/forms/{id}/embed-frame-policy", "FORM_NOT_FOUND"),
    ],
)
def test_a_strange_id_is_an_unknown_one(mockserver: Sandbox, access: Access, path: str, code: str) -> None:
    verdicts = {id[:20]: verdict(get(mockserver, access, path.replace("{id}", id))) for id in STRANGE_IDS}

    assert {id[:20]: (404, code) for id in STRANGE_IDS} == verdicts


@pytest.mark.clause("auth.unknown")
@pytest.mark.parametrize("second", ["same", "sk_nobodys", ""], ids=["the same", "another", "blank"])
def test_two_keys_are_refused_as_a_missing_key(mockserver: Sandbox, access: Access, second: str) -> None:
    values = [mockserver.secret_key, mockserver.secret_key if second == "same" else second]
    for pair in (values, values[::-1]):
        headers = [("X-API-Key", value) for value in pair]

        assert (401, "API_KEY_INVALID") == verdict(access.ask("GET", "/v1/campaigns", headers, b""))


@pytest.mark.parametrize(("query", "trace", "place"), [("a" * 9000, "", "path"), ("", "a" * 9000, "headers")])
def test_the_reason_of_a_head_beyond_its_bound_names_its_part(
    mockserver: Sandbox, query: str, trace: str, place: str
) -> None:
    reply = mockserver.call("GET", f"/v1/campaigns?{query}", headers={"X-Trace": trace})

    assert reply.headers["x-mock-reason"].startswith(f"base.input at {place}: got a ")
