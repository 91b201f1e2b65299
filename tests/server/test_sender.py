"""Webhook requests over real sockets: valid for reference verifiers, bounded in time and size, and to this machine only."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
import svix.webhooks
from freezegun import freeze_time
from werkzeug.wrappers import Response

from mockserver import MockServer, Sandbox
from mockserver.core.webhooks import url_policy
from mockserver.server.webhooks.results import RESPONSE_MAX_BYTES, SendResult
from mockserver.server.webhooks.sender import HttpSender
from mockserver.testing.transports.loopback_receiver import LoopbackReceiver
from tests.harness.rows import each_row
from tests.harness.waiting import wait_until
from tests.operations.inbox import attempts
from tests.operations.session_calls import NOON, begin
from tests.server.conftest import Serve
from tests.server.receivers import ACCEPTED, PATIENCE_SECONDS, read_request, receiving
from tests.server.sockets import ReceivedRequest, app, over_tls, raw

pytestmark = [pytest.mark.mockserver(now=NOON), pytest.mark.clause("events.subscribed")]
HEADERS = {"Content-Type": "application/json"}


def post(url: str, sender: HttpSender | None = None) -> SendResult:
    return (sender or HttpSender()).send(url, HEADERS, b"{}")


@pytest.mark.parametrize(
    ("option", "verifier"),
    [("standard-webhooks", standardwebhooks.Webhook), ("standard-webhooks", svix.webhooks.Webhook), ("svix", svix.webhooks.Webhook)],
)  # fmt: skip
def test_the_reference_verifiers_take_every_attempt_of_a_service_that_is_months_ahead(
    mockserver: Sandbox, serve: Serve, option: str, verifier: type[Any]
) -> None:
    mockserver.choose({"wh-signature": option})
    seen: list[str] = []

    def answer(request: ReceivedRequest) -> Response:
        verifier(secret).verify(request.data, request.sent)
        seen.append(request.json["data"]["entrypoint"]["name"])
        return Response(status=500 if len(seen) == 1 else 204)

    url = serve(app(answer)).url
    secret = mockserver.receive_webhooks(url).secret
    mockserver.advance("100d")
    mockserver.complete_session(begin(mockserver), name="São João ☕/")
    mockserver.advance("1m")

    assert ["São João ☕/"] * 2 == seen


def test_a_redirect_is_a_failure_and_is_not_followed(mockserver: Sandbox, serve: Serve) -> None:
    paths = []

    def answer(request: ReceivedRequest) -> Response:
        paths.append(request.path)
        return Response(status=308, headers={"Location": "/elsewhere"})

    receiver = mockserver.receive_webhooks(f"{serve(app(answer)).url}/hook")
    mockserver.complete_session(begin(mockserver))

    assert ["/hook"] == paths
    assert [308] == [each["status"] for each in receiver.deliveries[0]["attempts"]]
    assert "waiting" == receiver.deliveries[0]["status"]


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@each_row(
    ("reply", "status", "body"),
    [
        (ACCEPTED, 204, b""),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", 204, b""),
        (b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204, b""),
        (OK, 200, b"ok"),
        (OK + b"HTTP/1.1 500 Not asked for\r\n\r\n", 200, b"ok"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", 200, b"ok"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 200, b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: a\r\n\r\n", 200, b"ok"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", 503, b"busy"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 103 Early Hints\r\nConnection: close\r\nLink: </a>\r\n\r\n" * 2 + OK, 200, b"ok"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 101, b""),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200_000, 200, b"x" * RESPONSE_MAX_BYTES),
    ],
)
def test_a_response_is_read_to_its_end_or_the_bound_and_then_the_connection_ends(
    reply: bytes, status: int, body: bytes
) -> None:
    with receiving([reply]) as receiver:
        outcome = post(receiver.url)
        assert receiver.closed[0].wait(PATIENCE_SECONDS)

    assert (status, None, body) == (outcome.status, outcome.error, outcome.body)


@each_row(
    ("reply", "error"),
    [
        (b"", "RemoteDisconnected"),
        (b"SSH-2.0-OpenSSH\r\n", "BadStatusLine"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "RemoteDisconnected"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok", "IncompleteRead"),
    ],
)
def test_a_connection_that_ends_before_a_whole_response_is_a_failed_attempt(reply: bytes, error: str) -> None:
    with raw(reply) as url:
        assert (None, f"no response: {error}") == ((outcome := post(url)).status, outcome.error)


def expire(sandbox: Sandbox, count: int) -> None:
    """Let this many sessions expire at one instant."""
    for _ in range(count):
        begin(sandbox)
    sandbox.advance("20m")


def end_after_reading(wire: socket.socket) -> None:
    read_request(wire)


def test_each_request_has_a_connection_of_its_own_and_an_unanswered_one_is_sent_again(mockserver: Sandbox) -> None:
    with receiving([ACCEPTED], [end_after_reading], [ACCEPTED], [ACCEPTED]) as receiver:
        hook = mockserver.receive_webhooks(receiver.url)
        expire(mockserver, 3)
        mockserver.advance("5s")
        assert all(closed.wait(PATIENCE_SECONDS) for closed in receiver.closed)

    assert [1, 0, 1, 1] == receiver.counts
    assert [[204], [None, 204], [204]] == [[each.get("status") for each in row["attempts"]] for row in hook.deliveries]


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
    ],
)
def test_the_time_limit_applies_to_a_dripping_response_as_a_whole(head: bytes) -> None:
    with raw(head, drips=250) as url:
        outcome = post(url, HttpSender(timeout_seconds=0.2))

    assert (None, "timeout") == (outcome.status, outcome.error)


def test_an_endpoint_that_does_not_listen_is_a_failed_attempt(mockserver: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    receiver = mockserver.receive_webhooks(url)
    mockserver.complete_session(begin(mockserver))

    [attempt] = receiver.deliveries[0]["attempts"]
    assert {"at", "error", "durationMs"} == set(attempt)
    assert attempt["error"].startswith("no response: ")


@each_row(
    "url",
    [
        "http://192.0.2.1/hook",
        "https://example.com/hook",
        "http://0.0.0.0:80/",
        "http://2130706433/",
        "http://127.0.0.1@example.com/",
        "http://user:word@127.0.0.1/",
        "http://127.0.0.1.example.com/",
        "ftp://127.0.0.1/",
        "http://[::ffff:192.0.2.1]/",
        "http://127.0.0.1:99999/",
        "http://[::1/",
        "http://127.0.0.1/a\r\nX-Evil: y",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/é",
        "http://localhost\t/",
        "http://127.0.0.1:0/",
    ],
)
def test_a_target_that_is_not_this_machine_is_refused(mockserver: Sandbox, url: str) -> None:
    with pytest.raises(ValueError, match="; expected "):
        mockserver.receive_webhooks(url)
    with pytest.raises(ValueError, match="webhooks/0"):
        mockserver.apply({"given": {"webhooks": [{"url": url}]}})
    assert str(post(url).error).startswith("refused: expected ")


@pytest.mark.parametrize(
    "url", ["http://localhost:1/", "http://127.1.2.3:1/", "http://[::1]:1/", "https://LOCALHOST:1/"]
)
def test_this_machine_is_a_target_by_any_of_its_names(mockserver: Sandbox, url: str) -> None:
    assert url == mockserver.receive_webhooks(url).url


LOOPBACK = ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/", "http://127.1:1/", "http://a.localhost:1/"]


@pytest.mark.parametrize("url", LOOPBACK)
def test_a_server_that_does_not_allow_its_own_machine_reads_nothing_there(url: str) -> None:
    allowed = frozenset({"hooks.example"})

    expected = url_policy.rejection_reason(url, allowed)

    assert expected is not None
    assert expected.startswith("a host allowed by --allow-webhook-host (in Python `allow_webhook_hosts`)")
    assert f"refused: expected {expected}" == post(url, HttpSender(allowed)).error


def test_a_host_that_was_allowed_is_a_target() -> None:
    with MockServer(allow_webhook_hosts=["Hooks.Example"]) as server, server.sandbox() as sandbox:
        assert "http://hooks.example/a" == sandbox.receive_webhooks("http://hooks.example/a").url
        sandbox.apply({"given": {"webhooks": [{"url": "https://hooks.example/b"}]}})
        with pytest.raises(ValueError, match="--allow-webhook-host"):
            sandbox.receive_webhooks("http://other.example/")


def resolve(monkeypatch: pytest.MonkeyPatch, *lookups: Sequence[str]) -> list[str]:
    """Give the lookups of names these addresses, one after another; return the names, as they are looked up."""
    real, names = socket.getaddrinfo, []

    def getaddrinfo(host: str, port: int, *rest: Any, **named: Any) -> list[Any]:
        if url_policy.is_address(host):
            return real(host, port, *rest, **named)
        names.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in lookups[len(names) - 1]]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    return names


def test_a_name_that_resolves_to_another_machine_is_refused_when_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, ["127.0.0.1", "192.0.2.7"])

    assert "refused: localhost is 192.0.2.7, which is not this machine" == post("http://localhost:1/").error


PRIVATE = [
    "127.0.0.1", "10.0.0.7", "172.18.0.3", "192.168.1.1", "169.254.169.254", "0.0.0.0", "::1", "fd00::1", "::ffff:127.0.0.1",
    # Addresses of IPv6 that stand for one of this machine or of a private network, of a former local range, and of groups.
    "64:ff9b::7f00:1", "64:ff9b::a00:5", "2002:7f00:1::", "::127.0.0.1", "fec0::1", "224.0.0.1", "ff02::1",
]  # fmt: skip


@each_row("address", PRIVATE)
def test_a_name_that_was_allowed_does_not_allow_this_machine_and_its_network(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    resolve(monkeypatch, ["8.8.8.8", address])
    connected: list[object] = []
    monkeypatch.setattr("socket.socket.connect", lambda _, to: connected.append(to))

    outcome = post("http://hooks.example:1/", HttpSender(frozenset({"hooks.example"})))

    reason = "which is on this machine or on a private network; expected a public address, or --allow-webhook-host"
    assert (
        f"refused: hooks.example is {address}, {reason} {address}, or --allow-webhook-host localhost" == outcome.error
    )
    assert [] == connected


@each_row("address", PRIVATE)
@each_row("also", ["localhost", "the address"])
def test_a_name_that_was_allowed_with_this_machine_or_with_its_address_is_a_target(address: str, also: str) -> None:
    allowed = {"hooks.example", address if also == "the address" else also}

    assert url_policy.address_rejection("hooks.example", address, allowed) is None


def test_the_address_of_a_name_is_checked_for_each_connection(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    server = serve(app(lambda _: None))
    connect = socket.socket.connect
    resolve(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
    monkeypatch.setattr("socket.socket.connect", lambda wire, to: connect(wire, ("127.0.0.1", to[1])))
    sender = HttpSender(frozenset({"hooks.example"}))
    url = f"http://hooks.example:{server.port}/"

    assert 200 == post(url, sender).status
    assert str(post(url, sender).error).startswith("refused: hooks.example is 127.0.0.1, which is on this machine")


def test_the_connection_is_made_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    hosts = []
    server = serve(app(lambda request: hosts.append(request.headers["Host"])))
    names = resolve(monkeypatch, ["127.0.0.1"])
    outcome = post(f"http://hooks.example:{server.port}/a", HttpSender(url_policy.THIS_MACHINE | {"hooks.example"}))

    assert 200 == outcome.status
    assert [f"hooks.example:{server.port}"] == hosts
    assert ["hooks.example"] == names


def test_a_certificate_is_required_if_the_target_is_https(serve: Serve) -> None:
    outcome = post(serve(app(lambda _: None)).url.replace("http://", "https://"))

    assert outcome.status is None and "SSL" in str(outcome.error)


@pytest.mark.parametrize(
    ("host", "error"), [("localhost", None), ("127.0.0.1", "no response: SSLCertVerificationError")]
)
def test_a_certificate_has_to_be_of_the_urls_host(
    monkeypatch: pytest.MonkeyPatch, host: str, error: str | None
) -> None:
    certificate = Path(__file__).with_name("localhost.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with over_tls(certificate) as port:
        outcome = post(f"https://{host}:{port}/hook")

    assert (None if error else 204, error) == (outcome.status, outcome.error)


@each_row("way", ["in process", "socket", "function of another process"])
@each_row(
    ("clock", "date", "second"),
    [
        ("sandbox-clock", "Sun, 01 Mar 2026 12:01:40 GMT", "12:01:40"),
        ("sandbox-clock", "Sun, 01 Mar 2026 13:00:00 GMT", "12:02:00"),  # twice the wait at most
        ("sandbox-clock", "Sun, 01 Mar 2026 11:00:00 GMT", "12:01:00"),
        ("sandbox-clock", "Sun Mar  1 12:01:40 2026", "12:01:40"),
        ("process-clock", "Thu, 03 Jan 2030 05:01:40 GMT", "12:01:40"),
        ("process-clock", "Sun, 01 Mar 2026 12:01:40 GMT", "12:01:00"),  # long past for the process
    ],
)
def test_a_date_of_retry_after_is_read_by_the_clock_that_signed_the_request(
    serve: Serve, way: str, clock: str, date: str, second: str
) -> None:
    answers = [429, 200]
    with freeze_time("2030-01-03T05:00:00Z"), MockServer() as server, ExitStack() as stack:
        sandbox = stack.enter_context(server.sandbox(now=NOON, choices={"wh-timestamp": clock}))
        target: Any = lambda _: (answers.pop(0), {"Retry-After": date}, b"")
        if way == "socket":
            target = serve(app(lambda _: Response(status=answers.pop(0), headers={"Retry-After": date}))).url
        elif way == "function of another process":
            loopback = LoopbackReceiver(target, "", None)
            stack.callback(loopback.stop)
            target = loopback.url
        receiver = sandbox.receive_webhooks(target)
        sandbox.complete_session(begin(sandbox))
        sandbox.advance("10m")

        assert [[("12:00:00", 429), (second, 200)]] == attempts(receiver)


@contextmanager
def without_an_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A host whose name is never resolved."""
    held, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, *rest: Any, **named: Any) -> list[Any]:
        if host == "hooks.example":
            held.wait(30)
            return []
        return real(host, *rest, **named)

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    yield "http://hooks.example/"
    held.set()


@contextmanager
def waiting_at(step: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The url of a receiver to which a request waits without end at this step."""
    with ExitStack() as stack:
        if step == "name":
            yield stack.enter_context(without_an_address(monkeypatch))
        elif step == "handshake":
            yield stack.enter_context(raw(b"", hold=threading.Event())).replace("http://", "https://")
        else:
            reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"
            yield stack.enter_context(raw(reply, hold=threading.Event()))


@pytest.mark.parametrize("step", ["name", "handshake", "response"])
@pytest.mark.parametrize("error", ["canceled", "timeout"])
def test_a_request_ends_when_it_is_canceled_or_at_its_time_limit_wherever_it_waits(
    monkeypatch: pytest.MonkeyPatch, step: str, error: str
) -> None:
    allowed = url_policy.THIS_MACHINE | {"hooks.example"}
    sender = HttpSender(allowed, timeout_seconds=0.05 if error == "timeout" else 3_600)
    outcomes: list[SendResult] = []
    with waiting_at(step, monkeypatch) as url:
        thread = threading.Thread(target=lambda: outcomes.append(post(url, sender)))
        thread.start()

        def has_ended() -> bool:
            if error == "canceled":
                sender.cancel_all()
            return not thread.is_alive()

        wait_until(has_ended)

    assert [(None, error)] == [(outcome.status, outcome.error) for outcome in outcomes]


def test_nothing_is_sent_after_the_sender_is_closed(serve: Serve) -> None:
    seen: list[bytes] = []
    url, sender = serve(app(lambda request: seen.append(request.data))).url, HttpSender()

    sender.cancel_all(for_good=True)

    assert ("canceled", []) == (post(url, sender).error, seen)
