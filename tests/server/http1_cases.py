"""Requests for the fuzzer of the HTTP/1.1 server: good ones, known attempts to smuggle, and seeded mutations of both."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

END = b"\r\n"
HOST = b"Host: here\r\n"
SECOND = b"GET /second HTTP/1.1\r\nHost: here\r\n\r\n"
KEY = b"X-API-Key: sk_jewlrcunwropxcywym25ish2mrruiboh\r\n"  # of the sandbox with seed 0
JSON = KEY + b"Content-Type: application/json\r\n"
UPLOAD = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--b--\r\n'


def _get(*headers: bytes, target: bytes = b"/v1/campaigns?limit=5", version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET " + target + b" " + version + END + HOST + b"".join(each + END for each in headers) + END


def _post(*headers: bytes, body: bytes = b"", version: bytes = b"HTTP/1.1") -> bytes:
    head = b"POST /v1/campaigns " + version + END + HOST + JSON
    return head + b"".join(each + END for each in headers) + END + body


CHUNKED = b"Transfer-Encoding: chunked"
GOOD = (
    _get(),
    _get(b"X-API-Key: sk_x", b"Accept: */*", b"Cookie: a=1", b"Cookie: b=2"),
    _get(target=b"http://there/v1/campaigns?a=b"),
    _get(b"Connection: close"),
    _get(version=b"HTTP/1.0"),
    _get(b"Connection: keep-alive", version=b"HTTP/1.0"),
    _get(b"Upgrade: websocket", b"Connection: Upgrade"),
    _get(target=b"/a%20b/%C3%A7?q=%00&" + b"x" * 300),
    b"HEAD /v1/campaigns HTTP/1.1\r\n" + HOST + END,
    b"OPTIONS * HTTP/1.1\r\n" + HOST + END,
    b"DELETE /v1/campaigns HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n",
    _post(b"Content-Length: 0"),
    _post(b"Content-Length: 11", body=b'{"name": 1}'),
    _post(b"Content-Length: 4, 4", body=b"null"),
    _post(b"Content-Length: 4", b"Content-Length: 4", body=b"null"),
    _post(b"Content-Length: 2", b"Expect: 100-continue", body=b"{}"),
    _post(CHUNKED, body=b"0\r\n\r\n"),
    _post(CHUNKED, body=b"4\r\nnull\r\n0\r\n\r\n"),
    _post(CHUNKED, body=b'3;a="b"\r\n{"a\r\n00C\r\n": [1, 2, 3]}\r\n0;z\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n'),
    END + _get(),
    b"GET /v1/messaging/chats/chat_helena?limit=2&cursor= HTTP/1.1\r\n" + HOST + KEY + END,
    b"POST /v1/campaigns/audience-preview HTTP/1.1\r\n" + HOST + JSON + b'Content-Length: 15\r\n\r\n{"filters": []}',
    b"POST /v1/messaging/media HTTP/1.1\r\n" + HOST + KEY + b"Content-Type: multipart/form-data; boundary=b\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(UPLOAD), UPLOAD),
)
# Each hides a second request in the first for a reader that settles the contradiction in another way.
SMUGGLING = (
    _post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n" + SECOND),
    _post(CHUNKED, b"Content-Length: 41", body=b"0\r\n\r\n" + SECOND),
    _post(b"Content-Length: 0", b"Content-Length: 38", body=SECOND),
    _post(b"Content-Length: 0,38", body=SECOND),
    *(
        _post(coding, b"Content-Length: 43", body=b"0\r\n\r\n" + SECOND)
        for coding in (
            b"Transfer-Encoding: xchunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding: chunked, identity",
            b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding:\tchunked", b"Transfer-Encoding: chunked\x00",
            b"X: y\rTransfer-Encoding: chunked", b"X: y\nTransfer-Encoding: chunked", b"Transfer_Encoding: chunked",
            b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", b" Transfer-Encoding: chunked",
            b"Transfer-Encoding:\r\n chunked", b'Transfer-Encoding: "chunked"', b"Transfer-Encoding: chunked;q=1",
            b"transfer-encoding: CHUNKED", b"Transfer-Encoding: \xa0chunked", b"Transfer-Encoding: chu\xadnked",
        )
    ),
    *(
        _post(b"Content-Length:" + length, body=SECOND)
        for length in (
            b" +38", b" -1", b" 0x26", b" 3_8", b" 38.0", b" 38 0", b"", b" ", b" \xb2", b" 38,", b",38", b" 038",
            b" 99999999999999999999", b' "38"', b"\x0b38", b" 38\x00", b" 3\xa08", b" 38;38", b" 0\r\n 38",
        )
    ),
    *(
        _post(CHUNKED, body=size + b"\r\nnull\r\n0\r\n\r\n" + SECOND)
        for size in (
            b"0x4", b"+4", b"-4", b"4 ", b" 4", b"4\t;x", b"4;x\ry", b"4;x\ny", b"\xb2", b"4_", b"000000000000000000004",
            b"10000000000000004", b"", b"4,4", b"4;" + b"a" * 300, b"4;" + b"a" * 9000, b"4\x00",
        )
    ),
    _post(CHUNKED, body=b"4\r\nnullX\r\n0\r\n\r\n" + SECOND),
    _post(CHUNKED, body=b"4\nnull\n0\n\n" + SECOND),
    _post(CHUNKED, body=b"4\r\nnull\r\n0\r\nGET /second HTTP/1.1\r\nHost: here\r\n\r\n"),
    _post(CHUNKED, body=b"4\r\nnull\r\n0\r\nX: a\r\n b\r\n\r\n" + SECOND),
    _post(CHUNKED, version=b"HTTP/1.0", body=b"0\r\n\r\n" + SECOND),
    _get(b"Content-Length: 38") + SECOND,
    b"GET / HTTP/1.1\r\n" + HOST + b"Host: there\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: here, there\r\n\r\n",
    b"GET http://there/ HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\nHost: here\n\n" + SECOND,
    b"GET /a HTTP/1.1\r\n /b: HTTP/1.1\r\nHost: here\r\n\r\n",
    b"GET /a\x0bHTTP/1.1\r\nHost: here\r\n\r\n",
    b"CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\n" + SECOND,
    b"GET / HTTP/1.1\r\nX:" + b" a\r\nX:" * 99 + b" a\r\n" + HOST + END,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    _post(CHUNKED, body=(b"1;" + b"a" * 200 + b"\r\n1\r\n") * 60 + b"0\r\n\r\n" + SECOND),
    END * 2000 + SECOND,
)  # fmt: skip
SEEDS = GOOD + SMUGGLING
WORDS = (
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b"\t", b"\x00", b"\x0b", b"\x0c", b"\x1f", b"\x7f", b"\x80", b"\xa0", b"\xb2",
    b"\xff", b":", b",", b";", b"%", b"%zz", b"/", b"?", b"#", b"*", b"_", b"0", b"-1", b"+", b"1e9", b"0x", b"9" * 19,
    b"9" * 5000, b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/3.0", b"http://[", b"http://a@b:c/", HOST, b"Host:\r\n",
    CHUNKED + END, b"Content-Length: 5\r\n", b"Content-Length: \r\n", b"Expect: 100-continue\r\n", b"Expect: x\r\n",
    b"Connection: close\r\n", b"Connection: keep-alive, close\r\n", b"Upgrade: h2c\r\n", b"0\r\n\r\n", b"X" * 9000, SECOND,
    b"[", b"]", b"Host: [\r\n", b"HEAD", b"CONNECT", b"get",
)  # fmt: skip


def _insert(random: Random, sent: bytes) -> bytes:
    at = random.randint(0, len(sent))
    return sent[:at] + random.choice(WORDS) + sent[at:]


def _overwrite(random: Random, sent: bytes) -> bytes:
    at = random.randrange(len(sent))
    return sent[:at] + bytes([random.choice((random.randrange(256), sent[at] ^ 0x20, sent[at] ^ 1))]) + sent[at + 1 :]


def _remove(random: Random, sent: bytes) -> bytes:
    at = random.randrange(len(sent))
    return sent[:at] + sent[at + random.choice((1, 1, 2, 5, 20)) :]


def _cut(random: Random, sent: bytes) -> bytes:
    return sent[: random.randrange(len(sent))]


def _repeat_line(random: Random, sent: bytes) -> bytes:
    lines = sent.split(END)
    at = random.randrange(len(lines))
    return END.join(lines[: at + 1] + lines[at:])


def _move_line(random: Random, sent: bytes) -> bytes:
    lines = sent.split(END)
    line = lines.pop(random.randrange(len(lines)))
    lines.insert(random.randint(0, len(lines)), line)
    return END.join(lines)


def _end_a_line_otherwise(random: Random, sent: bytes) -> bytes:
    lines = sent.split(END)
    at = random.randrange(len(lines))
    return (
        END.join(lines[:at]) + random.choice((b"\n", b"\r", b"\r\r\n", b"\n\r", b"\r\n ", b"")) + END.join(lines[at:])
    )


def _splice(random: Random, sent: bytes) -> bytes:
    other = random.choice(SEEDS)
    return sent[: random.randint(0, len(sent))] + other[random.randrange(len(other)) :]


def _follow(random: Random, sent: bytes) -> bytes:
    return sent + random.choice(SEEDS)


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _insert, _insert, _insert, _overwrite, _overwrite, _remove, _cut, _repeat_line, _move_line, _end_a_line_otherwise, _splice,
    _follow, _follow,
)  # fmt: skip


def case(seed: int, number: int) -> bytes:
    """What is sent in this case: first every seed as it is, then mutations of them."""
    if number < len(SEEDS):
        return SEEDS[number]
    random = Random(f"{seed}/{number}")
    sent = random.choice(GOOD if random.random() < 0.7 else SMUGGLING)
    for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3))):
        sent = random.choice(MUTATIONS)(random, sent) or b"\r"
    return sent
