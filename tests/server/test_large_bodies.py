"""Large bodies over a socket: refused by their head where nothing reads them, and in files while a rule delays them."""

from __future__ import annotations

import errno
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest
import requests

from mockserver import Sandbox
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.hosting.log_lines import ServerLog
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body
from tests.server.rawclient import DEADLINE_SECONDS, Answer, RawClient
from tests.wheels import ROOT, run

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
        self.server.measure_lag()

    def ask(self, method: str, target: str, *fields: str, body: bytes = b"") -> Answer:
        with RawClient(self.server.port) as client:
            return client.send(f"{method} {target} HTTP/1.1", *fields, body=body).answer()


@pytest.fixture
def served() -> Iterator[Served]:
    host = SandboxHost()
    host.token = TOKEN
    hosted = host.create(SandboxConfig("demo"), id=DEFAULT_ID)
    now = [0.0]
    with Server(SocketHandler(host), error_body=error_body, clock=lambda: now[0]) as server:
        host.origin = server.url
        yield Served(hosted, server, now)
    host.close_all()


# name of the case, method, target, header
UNKNOWN = [
    ("no key", "POST", MEDIA, "X-Other: 1"),
    ("an unknown key", "POST", MEDIA, "X-API-Key: sk_unknown"),
    ("an unknown key for JSON", "POST", "/v1/campaigns", "X-API-Key: sk_unknown"),
    ("an encoded path", "POST", "/v1/%6dessaging/media", "X-API-Key: sk_unknown"),
    ("an unknown path", "POST", "/v1/messaging/medias", "X-API-Key: {key}"),
    ("an unknown method", "PUT", MEDIA, "X-API-Key: {key}"),
    ("an unknown sandbox", "POST", "/sandboxes/sandbox_9/v1/messaging/media", "X-API-Key: {key}"),
    ("no token", "POST", "/_mock/scenarios", "X-Other: 1"),
    ("an unknown token", "POST", "/_mock/sandboxes", "Authorization: Bearer guess"),
    ("the control plane of an unknown sandbox", "POST", "/sandboxes/sandbox_9/_mock/reset", f"Authorization: Bearer {TOKEN}"),
    ("a page of an unknown sandbox", "POST", "/sandboxes/sandbox_9/_mock/", "Accept: text/html"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "target", "field"), [case[1:] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN]
)
@pytest.mark.parametrize(
    "sent",
    [
        (f"Content-Length: {LARGE}",),
        (f"Content-Length: {LARGE}", "Expect: 100-continue"),
        ("Transfer-Encoding: chunked", "Expect: 100-continue"),
    ],
    ids=["counted", "expecting", "chunked, expecting"],
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


def test_a_known_key_is_bidden_to_send_its_large_body(served: Served) -> None:
    with RawClient(served.server.port) as client:
        key = f"X-API-Key: {served.hosted.tenant.secret_key}"
        client.send(f"POST {MEDIA} HTTP/1.1", key, f"Content-Length: {LARGE}", "Expect: 100-continue")
        assert 100 == client.answer().status
        client.socket.sendall(b"a" * LARGE)

        assert "MEDIA_UPLOAD_EMPTY" == client.answer().json()["code"]


@pytest.mark.parametrize("is_own", [False, True])
def test_a_known_token_may_send_a_large_body(served: Served, is_own: bool) -> None:
    """The server's, and that of a sandbox for its own commands."""
    token, prefix = TOKEN, ""
    if is_own:
        created = served.ask("POST", "/_mock/sandboxes", f"Authorization: Bearer {TOKEN}").json()
        token, prefix = created["token"], urlsplit(created["baseUrl"]).path
    fields = (f"Authorization: Bearer {token}", "Content-Length: 200012")
    answer = served.ask("POST", f"{prefix}/_mock/clock/advance", *fields, body=b'{"by": "1m"' + b" " * 200_000 + b"}")

    assert 200 == answer.status, answer.body


def test_the_journal_has_the_call_whose_body_was_refused(served: Served) -> None:
    served.ask("POST", MEDIA, "X-API-Key: sk_unknown", f"Content-Length: {LARGE}")

    assert ["uploadMedia"] == [each.operation for each in served.hosted.sandbox.journal.exchanges]


UPLOAD = (
    b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'
    + b"x" * LARGE
    + b"\r\n--b--\r\n"
)


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def begin_delayed(served: Served, client: RawClient, effect: str = "delay") -> None:
    """Send an upload that a rule delays by an hour."""
    script = json.dumps({"script": [{"on": "uploadMedia", "do": {effect: "1h"}}]}).encode()
    size = f"Content-Length: {len(script)}"
    assert 201 == served.ask("POST", "/_mock/scenarios", f"Authorization: Bearer {TOKEN}", size, body=script).status
    key = f"X-API-Key: {served.hosted.tenant.secret_key}"
    fields = (key, "Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(UPLOAD)}")
    client.send(f"POST {MEDIA} HTTP/1.1", *fields, body=UPLOAD)
    until(served.hosted.sandbox.runtime.has_waits)


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
            until(lambda: len(stored) == sum(trace.size >= LARGE for trace in tracemalloc.take_snapshot().traces))
            assert (len(UPLOAD), stored) == (served.taken_bytes, media(served))
            served.wait(3600.0)

            assert (201, True) == ((answer := client.answer()).status, answer.json()[0]["success"])
    finally:
        tracemalloc.stop()
    assert [LARGE] == media(served)
    until(lambda: served.taken_bytes == 0)


def test_it_counts_also_once_its_client_has_given_up(served: Served) -> None:
    with RawClient(served.server.port) as client:
        begin_delayed(served, client)
    served.ask("GET", "/_mock/health")
    assert len(UPLOAD) == served.taken_bytes
    served.wait(3600.0)

    until(lambda: served.taken_bytes == 0)
    assert [LARGE] == media(served)


@pytest.mark.deep
def test_a_body_that_was_delayed_takes_no_memory_after_its_response_until_a_collection_of_garbage(
    served: Served,
) -> None:
    gc.disable()
    tracemalloc.start()
    try:
        with RawClient(served.server.port) as client:
            begin_delayed(served, client)
            served.wait(3600.0)
            assert 201 == client.answer().status
        until(lambda: served.taken_bytes == 0)
        held = sum(trace.size >= LARGE for trace in tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()
        gc.enable()
    assert (1, [LARGE]) == (held, media(served))


def test_a_reset_ends_the_wait_and_frees_the_file(served: Served) -> None:
    with RawClient(served.server.port) as client:
        begin_delayed(served, client)
        assert 204 == served.ask("POST", "/_mock/reset", f"Authorization: Bearer {TOKEN}", "Content-Length: 0").status
        assert client.ended()

    until(lambda: served.taken_bytes == 0)
    assert [] == media(served)


def test_a_body_of_a_call_that_is_deferred_in_process_is_memory_of_its_sandbox(mockserver: Sandbox) -> None:
    mockserver.on("uploadMedia").delay("1h")
    hosted = mockserver._hosted
    hosted.usage.refresh(hosted.sandbox, hosted.checkpoints, 0)
    before = hosted.usage.memory_bytes
    url, files = f"{mockserver.base_url}/v1/messaging/media", {"files": ("a.txt", b"x" * LARGE)}
    with mockserver.requests_session() as session, pytest.raises(requests.exceptions.ReadTimeout):
        session.post(url, files=files, headers={"X-API-Key": mockserver.secret_key}, timeout=1)
    hosted.usage.is_called = True
    hosted.usage.refresh(hosted.sandbox, hosted.checkpoints, 1)

    assert hosted.usage.memory_bytes - before > LARGE


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
    until(lambda: served.taken_bytes == 0)
    assert 200 == served.ask("GET", "/v1/campaigns", fields[0]).status


def test_a_command_whose_body_cannot_be_stored_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.server.http1.body.TemporaryFile", no_descriptor)
    body = b'{"given": {}}' + b" " * 500_000

    token = f"Authorization: Bearer {TOKEN}"
    answer = served.ask("POST", "/_mock/scenarios", token, f"Content-Length: {len(body)}", body=body)

    assert (500, "MOCK_INTERNAL_ERROR") == (answer.status, answer.json()["code"])
    assert "the mock could not store the body: [Errno 24] Too many open files" == answer.json()["message"]


def test_a_delayed_upload_whose_file_cannot_be_read_any_more_is_an_internal_error(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = BrokenFile(True)
    monkeypatch.setattr("mockserver.server.http1.body.TemporaryFile", lambda: file)
    with RawClient(served.server.port) as client:
        begin_delayed(served, client)
        file.is_readable = False
        served.wait(3600.0)

        assert (500, "INTERNAL_ERROR") == ((answer := client.answer()).status, answer.json()["code"])
    assert [500] == [entry.status for entry in served.hosted.sandbox.journal.exchanges]


def test_a_replay_leaves_out_the_body_that_was_not_stored(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.server.http1.body.TemporaryFile", no_descriptor)
    key = f"X-API-Key: {served.hosted.tenant.secret_key}"
    served.ask("POST", MEDIA, key, f"Content-Length: {len(UPLOAD)}", body=UPLOAD)

    (call,) = served.ask("GET", "/_mock/replay", f"Authorization: Bearer {TOKEN}").json()["calls"]

    assert ("POST /v1/messaging/media", True) == (call["call"], call["cut"])


# The last descriptor is taken before the body arrives: a module that is loaded from then on cannot be.
WITHOUT_DESCRIPTORS = """
import resource, socket, sys
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body

host = SandboxHost()
hosted = host.create(SandboxConfig("demo"), id=DEFAULT_ID)
with Server(SocketHandler(host), error_body=error_body, log=lambda line: None) as server:
    client = socket.create_connection(("127.0.0.1", server.port))
    head = ["POST /v1/messaging/media HTTP/1.1", "Host: localhost", f"X-API-Key: {hosted.tenant.secret_key}", "Expect: 100-continue"]
    client.sendall("\\r\\n".join([*head, "Content-Length: 3000000", "", ""]).encode())
    assert client.recv(100).startswith(b"HTTP/1.1 100")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    client.sendall(b"x" * 3_000_000)
    answer = client.recv(65536)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(answer.partition(b"\\r\\n")[0].decode(), [entry.error.reason for entry in hosted.sandbox.journal.exchanges])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no limit of descriptors to set")
def test_without_a_free_descriptor_an_upload_has_its_answer_and_its_entry() -> None:
    done = run(sys.executable, "-c", WITHOUT_DESCRIPTORS, PYTHONPATH=str(ROOT))

    status, _, reasons = done.stdout.partition(" [")
    assert "HTTP/1.1 500 Internal Server Error" == status
    assert reasons.startswith('"the mock could not store the body: [Errno')
