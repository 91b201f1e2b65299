"""A law: whatever request is made up, the answer is a success or the documented error, and never an internal one."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.depth import at_depth
from tests.harness.access import Answer, in_process, over_socket, verdict
from tests.operations.world import DRAFT, GIVEN, MULTIPART, OPERATIONS, form

SCENARIO: JSON = {"given": GIVEN, "now": "2026-03-01T12:00:00Z"}
PREVIEW = "/v1/campaigns/audience-preview"
# Found by drawing: an integer that no float holds.
HUGE = b'{"filters": [{"combinator": "and", "statements": [{"field": "chat.monetization", "operator": "equals", "value": 1%s}]}]}'
HUGE %= b"0" * 400
FIELDS = ["chat.status", "chat.monetization", "chat.isAnswered", "chat.tagIds", "chat.virtual.lastMessageAt", "chat.no"]
OPERATORS = ["equals", "in", "not-in", "between", "exists", "has-any", "starts-with", "greater-than", "nearly"]
BODY_KEYS = ["name", "platform", "templateId", "cadence", "description", "filters", "commonVariables", "var1"]
BODY_KEYS += ["funnelStepId", "funnelId", "coexistence", "returnUrl", "combinator", "statements", "field", "operator"]
BODY_KEYS += ["value", "value2"]

# A file's content ends up in no header and no path; a header's value is what a header may hold.
header_text = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
target_text = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=30)
percent = st.binary(max_size=6).map(lambda raw: "".join(f"%{byte:02x}" for byte in raw))
ids = st.one_of(
    st.sampled_from(["template_plain", "template_coupon", "entrypoint_desk", "chat_ana", "form_visit", "chatapp"]),
    target_text,
    percent,
)


documented = st.sampled_from(sorted({path for _, path in OPERATIONS.values()}))


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A documented path with another id, now and then cut, doubled, or with a query."""
    parts = draw(documented).split("/")
    parts[draw(st.integers(2, len(parts) - 1))] = draw(ids)
    path = "/".join(parts[: draw(st.integers(2, len(parts)))])
    return path + draw(st.one_of(st.sampled_from(["", "/", "?limit=2&cursor=", "/start"]), target_text, percent))


targets = st.one_of(documented, documented, mangled())
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([2**53 - 1, 2**53, 10**400, 5e-324]))
scalars = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=20), st.sampled_from(["2026-03-01T12:00:00Z"]))
values = st.one_of(scalars, st.lists(scalars, max_size=3))
statements = st.fixed_dictionaries(
    {"field": st.sampled_from(FIELDS), "operator": st.sampled_from(OPERATORS)},
    optional={"value": values, "value2": values},
)
groups = st.fixed_dictionaries(
    {"combinator": st.sampled_from(["and", "or", "xor"]), "statements": st.lists(statements, max_size=3)}
)
bodies_near_the_document = st.one_of(
    st.fixed_dictionaries({"filters": st.lists(groups, max_size=2)}),
    st.dictionaries(st.sampled_from(BODY_KEYS), values, max_size=4).map(lambda changes: DRAFT | changes),
    st.dictionaries(
        st.sampled_from(BODY_KEYS), st.recursive(values, lambda deep: st.lists(deep, max_size=2)), max_size=3
    ),
)
json_bodies = st.one_of(bodies_near_the_document, st.recursive(values, lambda deep: st.lists(deep, max_size=3))).map(
    lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
)


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """A body with a few bytes of it cut out or written over."""
    whole = draw(
        st.one_of(json_bodies, st.just(form(("a.txt", "text/plain", b"a"), ("b.png", "image/png", b"\x89PNG"))))
    )
    begin = draw(st.integers(0, len(whole)))
    return whole[:begin] + draw(st.binary(max_size=4)) + whole[draw(st.integers(begin, len(whole))) :]


bodies = st.one_of(st.just(b""), json_bodies, broken(), st.binary(max_size=200))
content_types = st.one_of(
    st.sampled_from(["application/json", "application/json", MULTIPART, "multipart/form-data", "text/html"]),
    header_text,
)
tokens = st.text(st.sampled_from("ABCDEFGabcdefg-_.!~0123456789"), min_size=1, max_size=12)
methods = st.one_of(st.sampled_from(["GET", "POST", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]), tokens)
further_headers = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(["Accept", "Accept-Language", "Origin", "Range", "If-None-Match", "Cookie"]), tokens),
        header_text,
    ),
    max_size=3,
)
keys = st.one_of(st.sampled_from(["secret", "secret", "secret", "public", "none"]), header_text)
requests = st.tuples(methods, targets, keys, content_types, further_headers, bodies)


def headers_of(sandbox: Sandbox, key: str, content_type: str, further: list[tuple[str, str]]) -> list[tuple[str, str]]:
    sent = {"secret": sandbox.secret_key, "public": sandbox.public_key}.get(key, key)
    own = [("Content-Type", content_type)] if key == "none" else [("X-API-Key", sent), ("Content-Type", content_type)]
    # A generated header does not repeat the headers that frame a request, nor the two above.
    taken = {"host", "connection", "content-length", "transfer-encoding", "expect", "content-type", "x-api-key"}
    return own + [(name, value) for name, value in further if name.lower() not in taken]


def is_documented(method: str, got: Answer) -> bool:
    """Whether an answer is a success in JSON or nothing, or the documented error."""
    if method == "HEAD":
        return got.body == b"" and got.status != 500
    if 200 <= got.status < 300:
        return got.body == b"" if got.status == 204 else json.loads(got.body) is not None
    return verdict(got)[1] != "INTERNAL_ERROR"


def ask(
    mockserver_server: MockServer,
    access: Callable[..., Any],
    request: tuple[str, str, str, str, list[tuple[str, str]], bytes],
) -> None:
    method, target, key, content_type, further, body = request
    with mockserver_server.sandbox(**SCENARIO) as sandbox:
        got = access(sandbox).ask(method, target, headers_of(sandbox, key, content_type, further), body)

        assert is_documented(method, got), got
        assert 1 == len(sandbox.log.journal["exchanges"])


@given(request=requests)
@example(request=("POST", "/v1/campaigns", "secret", "application/json", [], b'{"filters": 1e400}'))
@example(request=("POST", PREVIEW, "secret", "application/json", [], HUGE))
@example(request=("GET", f"{SESSIONS}/%00", "secret", "", [], b"\0"))
def test_in_process_no_request_breaks_the_mock(
    mockserver_server: MockServer, request: tuple[str, str, str, str, list[tuple[str, str]], bytes]
) -> None:
    ask(mockserver_server, in_process, request)


@settings(max_examples=at_depth(5, 100))
@given(request=requests)
def test_over_a_socket_no_request_breaks_the_mock(
    mockserver_server: MockServer, request: tuple[str, str, str, str, list[tuple[str, str]], bytes]
) -> None:
    ask(mockserver_server, over_socket, request)


@given(
    bodies=st.lists(st.tuples(st.sampled_from(["", "/start", "/cancel", "/audience-preview"]), json_bodies), max_size=6)
)
def test_no_body_breaks_a_campaign(mockserver_server: MockServer, bodies: list[tuple[str, bytes]]) -> None:
    with mockserver_server.sandbox(**SCENARIO) as sandbox:
        headers = [("X-API-Key", sandbox.secret_key), ("Content-Type", "application/json")]
        made = sandbox.call("POST", "/v1/campaigns", json=DRAFT | {"templateId": "template_coupon"}).json()[
            "campaignId"
        ]
        for verb, body in bodies:
            path = f"/v1/campaigns/{made}{verb}" if verb in ("/start", "/cancel") else f"/v1/campaigns{verb}"

            assert is_documented("POST", in_process(sandbox).ask("POST", path, headers, body))
