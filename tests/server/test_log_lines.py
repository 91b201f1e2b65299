"""The lines of the server's log: what each kind of line contains, in JSON and in text."""

from __future__ import annotations

import json
import logging
import threading
from datetime import datetime
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mockserver import MockServer, Sandbox
from mockserver.cli.serve import _logger
from mockserver.core.instants import SECOND
from mockserver.server.hosting import host
from mockserver.server.hosting.limits import Limiter, ServerLimits
from mockserver.server.hosting.log_lines import Line, ServerLog, as_json, as_text
from mockserver.server.log import LogWriter
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.clients.operations import SESSIONS


class Logged:
    """A served sandbox, frozen at 2026-03-01T12:00:00Z, and the lines of its server's log."""

    def __init__(self, server: MockServer) -> None:
        self.sandbox: Sandbox = server.sandbox(now="2026-03-01T12:00:00Z")
        hosted = self.sandbox._hosted
        hosted.config = hosted.config._replace(labels={"team": "sends"})
        self.lines: list[Line] = []
        self.host: Any = server._host
        self.host.log = ServerLog(self.lines.append)

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
                writer.write(*as_text(line))
        return stream.getvalue().splitlines(keepends=True)


@pytest.fixture
def logged() -> Any:
    with MockServer() as server:
        yield Logged(server)


def test_a_call_is_an_object_with_its_members(logged: Logged) -> None:
    sandbox = logged.sandbox
    sandbox.call("GET", "/v1/campaigns?page=2")
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
        "status": 200,
    } == line


def test_a_refused_call_has_its_code_and_its_reason(logged: Logged) -> None:
    logged.sandbox.call("GET", "/v1/campaigns/campaign_x")
    (line,) = logged.objects()

    assert (404, "CAMPAIGN_NOT_FOUND") == (line["status"], line["code"])
    assert line["reason"].startswith("campaigns.detail at path.id")


def test_a_control_command_is_a_line_and_a_read_is_none(logged: Logged) -> None:
    call = logged.sandbox.call
    call("GET", "/_mock/clock")
    call("POST", "/_mock/clock/advance", json={"by": "1d"})
    call("POST", "/_mock/clock/advance", json={"by": "soon"})
    done, refused = logged.objects()

    assert ("command", "advanceClock", 200) == (done["kind"], done["command"], done["status"])
    assert ("advanceClock", 400, "MOCK_BAD_DURATION") == (refused["command"], refused["status"], refused["code"])
    assert "got 'soon'" in refused["reason"]


def test_a_line_waits_for_no_thread_that_holds_the_sandbox(logged: Logged) -> None:
    """A call is logged while another thread is at work, at its own instant."""
    sandbox = logged.sandbox
    response = sandbox.call("GET", "/v1/campaigns")
    hosted, held, may_end = sandbox._hosted, threading.Event(), threading.Event()

    def hold() -> None:
        with hosted.sandbox.lock:
            sandbox.advance("36h")
            held.set()
            may_end.wait()

    worker = threading.Thread(target=hold)
    worker.start()
    held.wait()
    (entry,) = hosted.sandbox.journal.exchanges
    request = HttpRequest("GET", "/v1/campaigns", {}, b"", hosted.base_url)
    hosted.log_call(request, 0, HttpResponse(response.status, (), response.body, entry=entry))
    may_end.set()
    worker.join()

    assert [as_text(line)[1] for line in logged.lines] == ["2026-03-01", "2026-03-01"]


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


def test_the_text_of_a_call_shows_its_refusal_its_rule_and_a_response_that_it_did_not_get(
    logged: Logged,
) -> None:
    sandbox = logged.sandbox
    sandbox.call("GET", "/v1/campaigns/campaign_x")
    sandbox.on("listCampaigns").reply(status=200, body={})
    sandbox.call("GET", "/v1/campaigns")
    sandbox.on("listTemplates").drop("before")
    with pytest.raises(OSError):
        sandbox.call("GET", "/v1/message-templates")

    texts = [as_text(line)[0] for line in logged.lines if line["kind"] == "call"]
    assert "CAMPAIGN_NOT_FOUND" in texts[0]
    assert "rule=rule_1" in texts[1]
    assert "drop" in texts[2]


@pytest.mark.parametrize("body", [{"code": 5, "message": ["a"]}, {"code": None}, [], "text"], ids=str)
def test_the_line_of_a_refusal_that_a_rule_gives_has_a_text(logged: Logged, body: object) -> None:
    logged.sandbox.on("listCampaigns").reply(status=500, body=body)
    logged.sandbox.call("GET", "/v1/campaigns")

    assert as_text(logged.lines[-1])[0].startswith(f"12:00:00 500 GET {logged.sandbox._hosted.prefix}/v1/campaigns")


def test_a_line_that_cannot_be_made_is_reported_and_breaks_no_call(
    logged: Logged, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Line:
        raise ValueError("no line")

    monkeypatch.setattr(host, "call_line", fail)

    assert 200 == logged.sandbox.call("GET", "/v1/campaigns").status
    assert ["unexpected failure in a line of the log"] == [record.getMessage() for record in caplog.records]


def test_a_failure_of_the_server_is_a_line_of_a_log_in_json() -> None:
    lines: list[str] = []
    logger = logging.getLogger("mockserver")
    with _logger("json", cast("LogWriter", SimpleNamespace(write=lines.append))):
        logger.error("unexpected failure")
    logger.handle(logger.makeRecord("mockserver", logging.DEBUG, "", 0, "after its end", (), None))

    (line,) = map(json.loads, lines)
    assert ("failure", "ERROR", "unexpected failure") == (line["kind"], line["level"], line["message"])
