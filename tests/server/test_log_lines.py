"""The lines of the server's log: what each kind of line contains, in JSON and in text."""

from __future__ import annotations

import json
import logging
import threading
from datetime import datetime, timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mockserver import MockServer, Sandbox
from mockserver.cli.serve import _logger
from mockserver.core.instants import SECOND
from mockserver.core.state.journal import JournalEntry
from mockserver.server.api.request import HttpRequest, parse_call
from mockserver.server.api.response import HttpResponse
from mockserver.server.hosting import log_lines
from mockserver.server.hosting.limits import Limiter, ServerLimits
from mockserver.server.hosting.log_lines import (
    Line,
    LoggedRequest,
    PlainCalls,
    ServerLog,
    as_json,
    as_text,
    call_line,
)
from mockserver.server.log import LogWriter

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


class Logged:
    """A served sandbox, frozen at 2026-03-01T12:00:00Z, and the lines of its server's log."""

    def __init__(self, server: MockServer) -> None:
        self.sandbox: Sandbox = server.sandbox(now="2026-03-01T12:00:00Z")
        hosted = self.sandbox._hosted
        hosted.config = hosted.config._replace(labels={"team": "sends"})
        self.lines: list[Line] = []
        self.host: Any = server._host
        self.host.log = ServerLog(self.lines.append)

    def in_texts(self) -> list[str]:
        """Have the log in text from here on; return the plain lines, which it gets."""
        plain: list[str] = []
        self.host.log = ServerLog(
            self.lines.append,
            lambda text, date: plain.extend(f"{date} {line}" for line in text.splitlines(keepends=True)),
        )
        return plain

    def objects(self) -> list[dict[str, Any]]:
        """Return the lines as a log in JSON has them."""
        texts = [as_json(line) for line in self.lines]
        assert [1] * len(texts) == [text.count("\n") for text in texts]
        return [json.loads(text) for text in texts]

    def texts(self) -> list[str]:
        """Return the lines as a log in text has them."""
        stream = StringIO()
        with LogWriter(stream, str) as writer:
            for line in self.lines:
                writer.write(as_text(line), line.date)
        return stream.getvalue().splitlines(keepends=True)


@pytest.fixture
def logged() -> Any:
    with MockServer() as server:
        yield Logged(server)


def test_a_call_is_an_object_with_its_members(logged: Logged) -> None:
    sandbox = logged.sandbox
    sandbox.call("GET", "/v1/campaigns?page=2", headers={"traceparent": TRACEPARENT})
    (line,) = logged.objects()

    assert datetime.fromisoformat(line.pop("at")).utcoffset() is not None
    assert line.pop("durationMs") >= 0
    assert line.pop("bytes") == len(json.dumps(sandbox.call("GET", "/v1/campaigns?page=2").json()).replace(" ", ""))
    assert {
        "kind": "call",
        "sandbox": sandbox.id,
        "labels": {"team": "sends"},
        "clock": "2026-03-01T12:00:00.000Z",
        "n": 1,
        "operation": "listCampaigns",
        "method": "GET",
        "path": f"/sandboxes/{sandbox.id}/v1/campaigns?page=2",
        "traceparent": TRACEPARENT,
        "status": 200,
    } == line


def test_a_refused_call_has_its_code_and_its_reason(logged: Logged) -> None:
    logged.sandbox.call("GET", "/v1/campaigns/campaign_x")
    (line,) = logged.objects()

    assert (404, "CAMPAIGN_NOT_FOUND") == (line["status"], line["code"])
    assert line["reason"].startswith("campaigns.detail at path.id")


def test_a_call_that_a_rule_changes_has_the_rule(logged: Logged) -> None:
    rule = logged.sandbox.on("listCampaigns").drop("before")
    with pytest.raises(OSError):
        logged.sandbox.call("GET", "/v1/campaigns")
    line = logged.objects()[-1]

    assert (rule.id, "drop", "listCampaigns") == (line["rule"], line["noResponse"], line["operation"])
    assert "status" not in line


def test_a_control_command_is_a_line_and_a_read_is_none(logged: Logged) -> None:
    call = logged.sandbox.call
    call("GET", "/_mock/clock")
    call("POST", "/_mock/clock/advance", json={"by": "1d"})
    call("POST", "/_mock/clock/advance", json={"by": "soon"})
    done, refused = logged.objects()

    assert ("command", "advanceClock", 200) == (done["kind"], done["command"], done["status"])
    assert ("advanceClock", 400, "MOCK_BAD_DURATION") == (refused["command"], refused["status"], refused["code"])
    assert "got 'soon'" in refused["reason"]


def test_a_call_by_a_command_is_a_line_of_the_call_and_one_of_the_command(logged: Logged) -> None:
    sandbox = logged.sandbox
    key = {"X-API-Key": sandbox.secret_key}
    sandbox.call("POST", "/_mock/calls", json={"method": "GET", "path": "/v1/campaigns", "headers": key})
    made, command = logged.objects()

    assert ("call", 1, "listCampaigns", 200) == (made["kind"], made["n"], made["operation"], made["status"])
    assert ("command", "sendCall", 200) == (command["kind"], command["command"], command["status"])
    assert sandbox.secret_key not in str(logged.texts())


@pytest.mark.parametrize("log", [None, ServerLog(lambda line: None, lambda text, date: None)], ids=["none", "text"])
def test_without_a_log_that_shows_how_long_a_call_took_no_clock_is_read_for_it(
    logged: Logged, monkeypatch: pytest.MonkeyPatch, log: ServerLog | None
) -> None:
    readings: list[int] = []
    monkeypatch.setattr(logged.host, "monotonic_us", lambda: readings.append(1) or 0)
    logged.host.log = log
    logged.sandbox.call("GET", "/v1/campaigns")
    logged.sandbox.call("PATCH", "/_mock/choices", json={})

    assert [] == readings


def test_an_attempt_at_a_delivery_is_a_line_with_its_result_and_what_follows(logged: Logged) -> None:
    sandbox = logged.sandbox
    receiver = sandbox.receive_webhooks(lambda request: 503)
    sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])
    line = next(each for each in logged.objects() if each["kind"] == "delivery")

    assert (1, 503, "waiting", receiver.url) == tuple(line[name] for name in ("attempt", "status", "delivery", "url"))
    assert "entrypoints.chatapp.connected" == line["type"]
    assert line["next"] > line["clock"]
    (text,) = [each for each in logged.texts() if "delivery" in each]
    assert f"503 delivery {line['event']} {line['type']} to {receiver.url} attempt 1: waiting until " in text


def test_a_sandbox_that_a_limit_ends_is_a_line(logged: Logged) -> None:
    limiter = Limiter(logged.host, ServerLimits(age=SECOND))
    begun = logged.host.monotonic_us()
    logged.host.monotonic_us = lambda: begun + 10 * SECOND
    limiter.sweep()
    (line,) = logged.objects()

    assert ("end", logged.sandbox.id, "age") == (line["kind"], line["sandbox"], line["limit"])
    assert "(--age)" in line["reason"]


def test_the_text_has_the_date_if_it_is_not_that_of_the_line_before(logged: Logged) -> None:
    sandbox = logged.sandbox
    path = f"/sandboxes/{sandbox.id}/v1/campaigns"
    for _ in range(2):
        sandbox.call("GET", "/v1/campaigns")
    sandbox.advance(timedelta(days=1))
    sandbox.call("GET", "/v1/campaigns")

    calls = [line for line in logged.texts() if path in line]
    assert [f"2026-03-01 12:00:00 200 GET {path}\n", f"12:00:00 200 GET {path}\n"] == calls[:2]
    assert [f"2026-03-02 12:00:00 200 GET {path}\n"] == calls[2:]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/campaigns?page=2"),
        ("POST", "/v1/campaigns/audience-preview"),
        ("DELETE", "/v1/campaigns"),
        ("OPTIONS-WITH-A-LONG-NAME", "/v1/campaigns/\u0000{key}"),
    ],
)
def test_the_plain_line_of_a_call_has_the_text_of_its_members(logged: Logged, method: str, path: str) -> None:
    hosted, key = logged.sandbox._hosted, logged.sandbox.secret_key
    context, request = hosted.log_context(), HttpRequest(method, path.replace("{key}", key), {}, b"", "")
    response = HttpResponse(200, (), b"{}")
    line = call_line(context, LoggedRequest(method, request.target, None, 0), response, None)
    lines, entry = PlainCalls(context.prefix, hosted.sandbox.secrets), plain_entry(hosted.sandbox.now, method)
    lines.hide_secrets()
    first, plain = (lines.line(entry, request.target) for _ in range(2))

    assert (as_text(line), line.date) == first == plain
    assert key not in plain[0]


def plain_entry(at: int, method: str = "GET") -> JournalEntry:
    """Return the record of a call that was answered with 200."""
    call = parse_call(HttpRequest(method, "/v1/campaigns", {}, b"", ""))
    return JournalEntry(1, at, None, None, call, None, 200, (), b"", True, None, {})


def test_a_plain_line_hides_a_key_that_is_new() -> None:
    secrets, shown = list[str](), list[str]()
    lines = PlainCalls("", secrets.copy)
    for known in ([], ["a-new-key"]):
        secrets.extend(known)
        lines.hide_secrets()
        shown.append(lines.line(plain_entry(0), "/v1/campaigns/a-new-key")[0])

    assert ["00:00:00 200 GET /v1/campaigns/a-new-key\n", "00:00:00 200 GET /v1/campaigns/a-n...\n"] == shown


def test_plain_lines_have_the_time_of_their_call_and_are_written_by_date() -> None:
    written = list[tuple[str, str]]()
    log = ServerLog(lambda line: None, lambda text, date: written.append((text, date)))
    lines = PlainCalls("", tuple)
    for seconds in (-1, 1, 2, 86_400, 1):
        log.add((lines, plain_entry(seconds * SECOND), "/v1/campaigns"))
    log.write_plain_calls()

    assert [
        ("23:59:59 200 GET /v1/campaigns\n", "1969-12-31"),
        ("00:00:01 200 GET /v1/campaigns\n00:00:02 200 GET /v1/campaigns\n", "1970-01-01"),
        ("00:00:00 200 GET /v1/campaigns\n", "1970-01-02"),
        ("00:00:01 200 GET /v1/campaigns\n", "1970-01-01"),
    ] == written


def test_a_successful_call_has_a_plain_line_in_a_log_of_texts(logged: Logged) -> None:
    sandbox = logged.sandbox
    sandbox.call("POST", "/v1/campaigns/audience-preview", json={"filters": []})
    plain = logged.in_texts()
    sandbox.call("POST", "/v1/campaigns/audience-preview", json={"filters": []})
    logged.host.log.write_plain_calls()

    assert logged.texts() == plain


def test_a_call_whose_line_has_more_than_the_plain_one_has_a_whole_line(logged: Logged) -> None:
    sandbox, plain = logged.sandbox, logged.in_texts()
    sandbox.call("GET", "/v1/campaigns", headers={"traceparent": TRACEPARENT})
    sandbox.call("GET", "/v1/campaigns/campaign_x")
    sandbox.on("listCampaigns").reply(status=200, body={})
    sandbox.call("GET", "/v1/campaigns")
    sandbox.on("listTemplates").drop("before")
    with pytest.raises(OSError):
        sandbox.call("GET", "/v1/message-templates")
    logged.host.log.write_plain_calls()

    assert [] == plain
    texts = logged.texts()
    assert f"traceparent={TRACEPARENT}" in texts[0]
    assert "CAMPAIGN_NOT_FOUND" in texts[1]
    assert "rule=rule_1" in texts[2]
    assert "drop" in texts[3]


def test_plain_and_whole_lines_are_written_in_the_order_of_their_calls(logged: Logged) -> None:
    order, lines = list[str](), list[str]()

    def write_plain(text: str, date: str) -> None:
        lines.append(text)
        order.append("plain")

    logged.host.log = ServerLog(lambda line: order.append("whole"), write_plain)
    for path in ("/v1/campaigns", "/v1/campaigns", "/v1/campaigns/unknown", "/v1/campaigns"):
        logged.sandbox.call("GET", path)
    logged.host.log.write_plain_calls()

    assert ["plain", "whole", "plain"] == order
    assert [2, 1] == [text.count("\n") for text in lines]


def test_as_many_plain_calls_as_are_made_together_are_written_without_a_wait(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "_TOGETHER_MAX", 3)
    plain = logged.in_texts()
    for _ in range(3):
        logged.sandbox.call("GET", "/v1/campaigns")

    assert 3 == len(plain)


def test_the_line_of_a_call_with_a_query_is_made_at_once(logged: Logged) -> None:
    """It may have a secret, which a command may take away."""
    plain = logged.in_texts()
    logged.sandbox.call("GET", "/v1/campaigns?page=1")

    assert 1 == len(plain)


def test_a_secret_that_a_command_takes_away_is_hidden_in_the_lines_of_earlier_calls(logged: Logged) -> None:
    sandbox, plain = logged.sandbox, logged.in_texts()
    secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # without the form of a key
    webhook = {"url": "http://127.0.0.1:9/hook", "secret": secret}
    created = sandbox.call("POST", "/_mock/webhooks", json=webhook).json()
    rotate = f"/_mock/webhooks/{created['webhookId']}/rotate"
    sandbox.call("POST", rotate, json={"secret": f"whsec_{secret[::-1]}"})  # the former one is kept
    sandbox.call("GET", f"/v1/campaigns?name={secret}")
    sandbox.call("POST", rotate, json={"secret": f"whsec_{secret.swapcase()}"})

    assert secret not in sandbox._hosted.sandbox.secrets()
    assert [f"2026-03-01 12:00:00 200 GET {sandbox._hosted.prefix}/v1/campaigns?name=MfK...\n"] == plain


def test_a_handler_that_writes_within_a_write_takes_no_line_away() -> None:
    written, lines = list[str](), PlainCalls("", tuple)

    def write(text: str, date: str) -> None:
        if not written:
            written.append("handler")
            log.write_plain_calls()
        written.extend(text.splitlines())

    log = ServerLog(lambda line: None, write)
    for second in (0, 86_400, 2 * 86_400):
        log.add((lines, plain_entry(second * SECOND), f"/{second}"))
    log.write_plain_calls()

    assert ["handler", *(f"00:00:00 200 GET /{second}" for second in (0, 86_400, 172_800))] == sorted(written, key=len)


def test_lines_of_several_threads_are_all_written_once() -> None:
    written, lines = list[str](), PlainCalls("", tuple)
    log = ServerLog(lambda line: None, lambda text, date: written.extend(text.splitlines()))

    def write(letter: str) -> None:
        for number in range(300):
            log.add((lines, plain_entry(0), f"/{letter}{number}"))

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.write_plain_calls()

    assert sorted(f"00:00:00 200 GET /{letter}{number}" for letter in "abcd" for number in range(300)) == sorted(
        written
    )


def test_a_trace_context_is_in_the_journal_and_on_the_page_of_the_call(logged: Logged) -> None:
    sandbox = logged.sandbox
    sandbox.call("GET", "/v1/campaigns", headers={"traceparent": TRACEPARENT})

    assert TRACEPARENT == sandbox.log.journal["exchanges"][0]["request"]["headers"]["traceparent"]
    page = sandbox.call("GET", "/_mock/calls/1", headers={"Accept": "text/html"}).body.decode()
    assert TRACEPARENT in page.partition("<details>")[0]


def test_a_failure_of_the_server_is_a_line_of_a_log_in_json() -> None:
    lines: list[str] = []
    logger = logging.getLogger("mockserver")
    with _logger("json", cast("LogWriter", SimpleNamespace(write=lambda text: lines.append(text())))):
        logger.error("unexpected failure")
    logger.handle(logger.makeRecord("mockserver", logging.DEBUG, "", 0, "after its end", (), None))

    (line,) = map(json.loads, lines)
    assert ("failure", "ERROR", "unexpected failure") == (line["kind"], line["level"], line["message"])
