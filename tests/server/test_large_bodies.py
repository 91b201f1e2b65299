"""Large bodies over a socket: refused by their head where nothing reads them, and in files while a rule delays them."""

from __future__ import annotations

import errno
import json
import tracemalloc
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox
from mockserver.server.hosting.log_lines import ServerLog
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body
from tests.harness.rows import each_row
from tests.harness.waiting import wait_until
from tests.server.hosts import host_of
from tests.server.rawclient import Answer, RawClient

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LARGE = 3 * 1024 * 1024
MEDIA = "/v1/messaging/media"
TOKEN = "let-me-in"


class Served(NamedTuple):
    """A server with a default sandbox and a token."""

    hosted: HostedSandbox
    server: Server
    now: list[float]  # the seconds of the server's clock

    @property
    def taken_bytes(self) -> int:
        """The bytes of the large bodies under way."""
        assert self.server._shared is not None
        return self.server._shared.bodies.taken_bytes

    def wait(self, seconds: float) -> None:
        """Let this time pass on the server's clock, and wake its loop."""
        self.now[0] += seconds
        assert self.server._loop is not None
        self.server._loop.call_soon_threadsafe(lambda: None)

    def ask(self, method: str, target: str, *fields: str, body: bytes = b"") -> Answer:
        with RawClient(self.server.port) as client:
            return client.send(f"{method} {target} HTTP/1.1", *fields, body=body).answer()


@pytest.fixture
def served() -> Iterator[Served]:
    host = host_of("demo")
    host.token = TOKEN
    now = [0.0]
    with Server(SocketHandler(host), error_body=error_body, clock=lambda: now[0]) as server:
        host.origin = server.url
        yield Served(host.sandboxes[DEFAULT_ID], server, now)
    host.close_all()


# What nothing reads: method, target, header.
UNKNOWN = [
    ("POST", MEDIA, "X-Other: 1"),  # no key
    ("POST", MEDIA, "X-API-Key: sk_unknown"),  # an unknown key
    ("POST", "/v1/campaigns", "X-API-Key: sk_unknown"),  # an unknown key for JSON
    ("POST", "/v1/%6dessaging/media", "X-API-Key: sk_unknown"),  # an encoded path
    ("POST", "/v1/messaging/medias", "X-API-Key: {key}"),  # an unknown path
    ("PUT", MEDIA, "X-API-Key: {key}"),  # an unknown method
    ("POST", "/sandboxes/sandbox_9/v1/messaging/media", "X-API-Key: {key}"),  # an unknown sandbox
    ("POST", "/_mock/scenarios", "X-Other: 1"),  # no token
    ("POST", "/_mock/sandboxes", "Authorization: Bearer guess"),  # an unknown token
    ("POST", "/sandboxes/sandbox_9/_mock/reset", f"Authorization: Bearer {TOKEN}"),  # the control plane of an unknown sandbox
    ("POST", "/sandboxes/sandbox_9/_mock/", "Accept: text/html"),  # a page of an unknown sandbox
]  # fmt: skip


@each_row(("method", "target", "field"), UNKNOWN)
@each_row(
    "sent",
    [
        (f"Content-Length: {LARGE}",),
        (f"Content-Length: {LARGE}", "Expect: 100-continue"),
        ("Transfer-Encoding: chunked", "Expect: 100-continue"),
    ],
)
def test_a_large_body_that_nothing_reads_is_refused_by_its_head(
    served: Served, method: str, target: str, field: str, sent: tuple[str, ...]
) -> None:
    field = field.format(key=served.hosted.tenant.secret_key)
    expected = served.ask(method, target, field, "Content-Length: 2", body=b"{}")
    answer = served.ask(method, target, field, *sent)

    assert 400 <= expected.status < 500
    assert (expected.status, "close") == (answer.status, answer.headers["connection"])
    assert expected.body == answer.body


def test_a_chunked_body_of_an_unknown_key_is_refused_once_it_is_larger_than_what_stays_in_memory(
    served: Served,
) -> None:
    with RawClient(served.server.port) as client:
        client.send(f"POST {MEDIA} HTTP/1.1", "Transfer-Encoding: chunked")
        client.socket.sendall(b"20000\r\n" + b"a" * 0x10001)

        assert "API_KEY_MISSING" == client.answer().json()["code"]


def test_the_journal_has_the_call_whose_body_was_refused(served: Served) -> None:
    served.ask("POST", MEDIA, "X-API-Key: sk_unknown", f"Content-Length: {LARGE}")

    assert ["uploadMedia"] == [each.operation for each in served.hosted.sandbox.journal.exchanges]


UPLOAD = (
    b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'
    + b"x" * LARGE
    + b"\r\n--b--\r\n"
)


def begin_delayed(served: Served, client: RawClient, effect: str = "delay") -> None:
    """Send an upload that a rule delays by an hour."""
    script = json.dumps({"script": [{"on": "uploadMedia", "do": {effect: "1h"}}]}).encode()
    size = f"Content-Length: {len(script)}"
    assert 201 == served.ask("POST", "/_mock/scenarios", f"Authorization: Bearer {TOKEN}", size, body=script).status
    key = f"X-API-Key: {served.hosted.tenant.secret_key}"
    fields = (key, "Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(UPLOAD)}")
    client.send(f"POST {MEDIA} HTTP/1.1", *fields, body=UPLOAD)
    wait_until(served.hosted.sandbox.runtime.has_waits)


def media(served: Served) -> list[int]:
    """The sizes of the files of the sandbox."""
    return [len(record.content) for _, record in served.hosted.sandbox.records("media")]


@pytest.mark.parametrize("has_log", [False, True])
@pytest.mark.parametrize(("effect", "stored"), [("delay", []), ("delay-after", [LARGE])])
def test_an_upload_that_a_rule_delays_is_in_a_file_and_counts_until_its_response(
    served: Served, effect: str, stored: list[int], has_log: bool
) -> None:
    host = served.server._config.handler._host  # type: ignore[attr-defined]
    host.log = ServerLog(lambda line: None) if has_log else None
    tracemalloc.start()
    try:
        with RawClient(served.server.port) as client:
            begin_delayed(served, client, effect)
            wait_until(lambda: len(stored) == sum(trace.size >= LARGE for trace in tracemalloc.take_snapshot().traces))
            assert (len(UPLOAD), stored) == (served.taken_bytes, media(served))
            served.wait(3600.0)

            assert (201, True) == ((answer := client.answer()).status, answer.json()[0]["success"])
    finally:
        tracemalloc.stop()
    assert [LARGE] == media(served)
    wait_until(lambda: served.taken_bytes == 0)


# Bodies that cannot be stored


class BrokenFile(BytesIO):
    """A file that cannot be written, or that can no longer be read."""

    def __init__(self, is_writable: bool) -> None:
        super().__init__()
        self.is_writable = self.is_readable = is_writable

    def write(self, piece: ReadableBuffer) -> int:
        if not self.is_writable:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(piece)

    def read(self, size: int | None = -1) -> bytes:
        if not self.is_readable:
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size)


def no_descriptor() -> BrokenFile:
    raise OSError(errno.EMFILE, "Too many open files")


BROKEN = {
    "no descriptor": (no_descriptor, "[Errno 24] Too many open files"),
    "full disk": (lambda: BrokenFile(False), "[Errno 28] No space left on device"),
}
JSON_BODY = b'{"name": "' + b"x" * 500_000 + b'"}'


@pytest.mark.parametrize(("file", "error"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("is_chunked", [False, True], ids=["counted", "chunked"])
@pytest.mark.parametrize(
    ("target", "kind", "body"),
    [(MEDIA, "multipart/form-data; boundary=b", UPLOAD), ("/v1/campaigns", "application/json", JSON_BODY)],
    ids=["upload", "json"],
)
def test_a_call_whose_body_cannot_be_stored_is_an_internal_error_with_its_entry(
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    file: Callable[[], BrokenFile],
    error: str,
    is_chunked: bool,
    target: str,
    kind: str,
    body: bytes,
) -> None:
    monkeypatch.setattr("mockserver.server.http1.body.TemporaryFile", file)
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
    content = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if is_chunked else body
    fields = (f"X-API-Key: {served.hosted.tenant.secret_key}", f"Content-Type: {kind}", framing)

    answer = served.ask("POST", target, *fields, body=content)

    assert (500, "INTERNAL_ERROR") == (answer.status, answer.json()["code"])
    reason = f"the mock could not store the body: {error}"
    assert f"base.internal: {reason}" == answer.headers["x-mock-reason"]
    (entry,) = served.hosted.sandbox.journal.exchanges
    assert entry.error is not None
    assert (500, "INTERNAL_ERROR", reason) == (entry.status, entry.error.code, entry.error.reason)
    assert [] == media(served)
    wait_until(lambda: served.taken_bytes == 0)
    assert 200 == served.ask("GET", "/v1/campaigns", fields[0]).status


def test_a_command_whose_body_cannot_be_stored_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.server.http1.body.TemporaryFile", no_descriptor)
    body = b'{"given": {}}' + b" " * 500_000

    token = f"Authorization: Bearer {TOKEN}"
    answer = served.ask("POST", "/_mock/scenarios", token, f"Content-Length: {len(body)}", body=body)

    assert (500, "MOCK_INTERNAL_ERROR") == (answer.status, answer.json()["code"])
    assert "the mock could not store the body: [Errno 24] Too many open files" == answer.json()["message"]
