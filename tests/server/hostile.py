"""Hostile values and calls, and what an answer must never be: shared by the fuzz tests of the control plane and the hosted page."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple
from urllib.parse import quote

from hypothesis import strategies as st

# fmt: off
TEXTS = (
    "", " ", "0", "-1", "+5", "1_0", "5, 5", "²", "٣", "1e999", "NaN", "Infinity", "0x10", "9" * 5_000, "x" * 2_000,
    "null", "true", "[", "]", "[::1", "a[b", "//", "\\", "/", "..", "*", "%", "%zz", "%ff", "%00", "\x00", "\r\n", "\x1b[0m",
    "é", "\U0001f600", "{id}", "{0}", "?a", "#", ";", "=", "&", "'", '"', "<b>", "http://[", "https://[::1", "http://a:b@c",
    "2026-03-01T12:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+23:59", "20m", "9" * 400 + "m", "PT" + "9" * 400 + "M",
    "idle", "default", "tenant_default", "sandbox_1", "chat_ana", "startCampaign", "POST /v1/campaigns", "sk_" + "a" * 30,
)
# fmt: on
TEXT = st.sampled_from(TEXTS) | st.text(max_size=8)
LEAF = (
    st.sampled_from(
        (None, True, False, 0, -1, 1, 2**63, -(2**63), 10**400, 0.5, 1e308, -1e-320, float("inf"), float("nan"))
    )
    | TEXT
    | st.sampled_from(("\ud800", "a\udfff"))
)
VALUE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
NUMBERS_BEYOND = (b"1e999", b"-1e999", b"1" * 5_000)


class Request(NamedTuple):
    """A call as a WSGI server would pass it on; nothing of it has to be lawful."""

    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def send(app: Any, request: Request) -> Answer:
    """The answer of a WSGI application, called without a client library that would refuse to send this."""
    path, _, query = request.target.partition("?")
    environ = {
        "REQUEST_METHOD": request.method,
        "REQUEST_URI": request.target,
        "PATH_INFO": path.encode("utf-8", "replace").decode("latin-1"),
        "QUERY_STRING": query,
        "SCRIPT_NAME": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(len(request.body)),
    }
    for name, value in request.headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value.encode("utf-8", "replace").decode("latin-1")
    started: list[Any] = []
    pieces = app(environ, lambda status, headers, exc_info=None: started.append((status, headers)))
    body = b"".join(pieces)
    status, headers = started[-1]
    return Answer(int(status[:3]), {name.lower(): value for name, value in headers}, body)


def check(answer: Answer, request: Request) -> Any:
    """The answer's JSON, held to what every answer must be: no failure of the mock, and JSON that any parser reads."""
    assert answer.status < 500, (request, answer)
    for name, value in answer.headers.items():
        assert value.isprintable(), (request, name, value)
    if not answer.headers.get("content-type", "").startswith("application/json") or not answer.body:
        return None
    return strict_json(answer.body)


def strict_json(body: bytes) -> Any:
    """The value of JSON as RFC 8259 has it: no NaN, no Infinity, and text that is UTF-8 without half a surrogate pair."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON: {body[:300]!r}")

    value = json.loads(body.decode("utf-8"), parse_constant=refuse, parse_float=finite)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def finite(written: str) -> float:
    number = float(written)
    assert number not in (float("inf"), float("-inf")), f"{written} is beyond a double"
    return number


@st.composite
def mangled(draw: Any, lawful: Any) -> Any:
    """A lawful value with some of its parts replaced by hostile ones, at any depth."""
    value = deepcopy(lawful)
    for _ in range(draw(st.integers(1, 2))):
        value = _replaced(draw, value)
    return value


def _replaced(draw: Any, value: Any) -> Any:
    places: Iterable[Any] = (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    if not places or draw(st.integers(0, 5)) == 0:
        return draw(VALUE)
    place = draw(st.sampled_from(list(places)))
    how = draw(st.integers(0, 9))
    if how == 0 and isinstance(value, dict):
        return {(draw(TEXT) if key == place else key): each for key, each in value.items()}
    if how == 1:
        return {k: v for k, v in value.items() if k != place} if isinstance(value, dict) else value[:place]
    inner = _replaced(draw, value[place])
    if isinstance(value, dict):
        return {**value, place: inner}
    return [*value[:place], inner, *value[place + 1 :]]


@st.composite
def written(draw: st.DrawFn, lawful: Any) -> bytes:
    """A body: a mangled value as JSON, at times with numbers beyond a double, or no JSON at all."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.sampled_from((b"", b"{", b"\xff", b"[" * 1_000, b'{"a":1}{', b"null", b"[]", *NUMBERS_BEYOND)))
    text = json.dumps(draw(mangled(lawful))).encode("utf-8", "surrogatepass")
    number = draw(st.sampled_from(NUMBERS_BEYOND))
    for constant in (b"-Infinity", b"Infinity", b"NaN"):
        if draw(st.booleans()):
            text = text.replace(constant, number)
    return text


@st.composite
def targets(draw: Any, template: str, known: Mapping[str, tuple[str, ...]], keys: tuple[str, ...]) -> str:
    """A path of the template with hostile parameters, and a hostile query."""
    parts = []
    for part in template.split("/"):
        if part[:1] == "{":
            text = draw(st.sampled_from(known.get(part, ("x",))) | TEXT)
            part = quote(text, safe=draw(st.sampled_from(("", "[]@:%")))) or "x"
        parts.append(part)
    pairs = draw(st.lists(st.tuples(st.sampled_from(keys) | TEXT, TEXT), max_size=3))
    query = "&".join(f"{quote(key)}={quote(value, safe=draw(st.sampled_from(('', '%[]'))))}" for key, value in pairs)
    return "/".join(parts) + (f"?{query}" if query else "")


HEADERS = st.dictionaries(
    st.sampled_from(("Host", "Origin", "Authorization", "Content-Type", "Sec-Fetch-Site", "X-API-Key", "Cookie", "Accept",
                     "X-Forwarded-Host", "Content-Encoding", "User-Agent", "Referer")),
    TEXT.filter(lambda text: "\r" not in text and "\n" not in text and "\x00" not in text),
    max_size=2,
)  # fmt: skip
