"""The trace of a test: what is in the file, and its size."""

from __future__ import annotations

import itertools
import re
from html import unescape
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.report.problem import CallLine, Problem
from mockserver.report.run.text import Report
from mockserver.report.run.text import report as report_of
from mockserver.report.trace_page import TracedRun, render
from mockserver.testing.report.snapshots import snapshot
from tests.server.hostile import TEXTS
from tests.server.test_no_key_in_any_view import FORMS
from tests.testing.test_replay import NOW

CAMPAIGN = {"platform": "chatapp", "templateId": "template_hello", "cadence": 10}
SEED: dict[str, Any] = {"templates": [{"id": "template_hello"}], "chats": {"count": 30}}


def run_of(sandbox: Sandbox, **changed: Any) -> TracedRun:
    """The run of a sandbox so far, as a failing test would trace it; `problems` and `sections` are those of its report."""
    hosted, views = sandbox._hosted, snapshot(sandbox._backend, sandbox.settings)
    report = report_of(views, None)
    own = {
        "name": "tests/test_it.py::test_it",
        "failure": "AssertionError: assert 1 == 2",
        "frames": ["client.py:3 `assert count == 2`", "test_it.py:9 `read(client)`"],
        **changed,
    }
    found, sections = own.pop("problems", report.problems), own.pop("sections", report.sections)
    return TracedRun(
        snapshot=views,
        report=Report(problems=found, summary=[], sections=sections),
        document=sandbox.log.replay_document(own["name"]),
        secrets=hosted.sandbox.secrets(),
        base_url=hosted.base_url,
        **own,
    )


def problem_with(text: str) -> Problem:
    """A problem each of whose texts is this one."""
    return Problem(
        headline=text,
        calls=[CallLine(1, text, text)],
        got=[text],
        expected=text,
        assumption=text,
        caused=[text],
        advice=text,
        ids=[text],
    )


def page_of(sandbox: Sandbox, **changed: Any) -> str:
    return render(run_of(sandbox, **changed)).decode()


def rows_of(page: str) -> list[str]:
    """The text of each row of what happened, on one line."""
    (history,) = re.findall(r'<ol class="history">(.*?)</ol>', page, re.DOTALL)
    rows = re.findall(r"<li\b.*?</li>", history, re.DOTALL)
    return [" ".join(unescape(re.sub("<[^>]*>", " ", row)).split()) for row in rows]


def campaigns(sandbox: Sandbox, calls: int) -> None:
    """Create, start and poll campaigns, so that about every second call changes something."""
    for number in itertools.count():
        if sandbox.log.call_count >= calls:
            return
        created = sandbox.call("POST", "/v1/campaigns", json={"name": f"promo {number}", **CAMPAIGN}).json()
        sandbox.call("POST", f"/v1/campaigns/{created['campaignId']}/start")
        for _ in range(7):
            sandbox.call("GET", f"/v1/campaigns/{created['campaignId']}")
            sandbox.advance("1s")
        sandbox.call("GET", "/v1/campaigns")


@pytest.mark.parametrize("opens_socket", [False, True], ids=["in process", "over a socket"])
def test_equal_runs_have_equal_bytes(opens_socket: bool) -> None:
    pages = []
    for earlier in (0, 3):
        with MockServer() as server:
            for _ in range(earlier):
                with server.sandbox():
                    pass
            with server.sandbox(now=NOW, given=SEED) as sandbox:
                if opens_socket:
                    sandbox.base_url  # noqa: B018 - opens the socket, at another port each time
                campaigns(sandbox, 20)
                session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
                sandbox.end_user(session).connect()
                pages.append(page_of(sandbox))

    assert pages[0] == pages[1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.mockserver(
    now=NOW,
    given={
        "tenants": [
            {"id": "tenant_b", "name": "B", "secretKey": "sk_ofTenantB0123456789", "publicKey": "pk_of_tenant_b0123"}
        ]
    },
)
def test_no_key_is_in_the_file(mockserver: Sandbox, form: str) -> None:
    keys = mockserver._hosted.sandbox.secrets()
    for key in keys:
        written = FORMS[form](key)
        mockserver.call("POST", "/v1/campaigns", json={"name": written, "description": written, **CAMPAIGN})
        mockserver.call("GET", "/v1/campaigns", key=key, headers={"X-Own": key, "X-Request-Id": written})
        mockserver.admin.set_tenant(name=written)

    page = page_of(
        mockserver,
        failure="\n".join(FORMS[form](key) for key in keys),
        problems=[problem_with(FORMS[form](key)) for key in keys],
    )

    assert 4 <= len(keys)
    assert [] == [key for key in keys if key in page or FORMS[form](key) in page]


@pytest.mark.mockserver(now=NOW)
def test_no_text_of_a_run_is_markup(mockserver: Sandbox) -> None:
    evil = [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '"><svg/onload=alert(1)>',
        "<!--",
        "]]>",
        *TEXTS,
    ]
    for text in evil:
        mockserver.call("POST", "/v1/campaigns", json={"name": text, text: text, **CAMPAIGN}, headers={"X-Own": "<b>"})
    mockserver.admin.set_tenant(name=evil[0])
    mockserver.call("GET", "/v1/<script>alert(1)</script>")

    page = page_of(
        mockserver,
        name=evil[0],
        failure="\n".join(evil),
        frames=evil,
        sections=evil,
        problems=[problem_with(text) for text in evil],
    )

    assert [] == re.findall(r"<script\b", page)
    assert [] == re.findall(r"<(?:img|svg|b)\b", page)


@pytest.mark.mockserver(now=NOW)
def test_the_file_asks_for_nothing_from_outside(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")

    page = page_of(mockserver)

    assert [] == re.findall(r"\b(?:src|href)=(?!\"#)|@import|url\(", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert unescape(policy).startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_each_call_has_its_request_its_reason_and_its_answer_and_what_followed_is_below_it(mockserver: Sandbox) -> None:
    created = mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN}).json()["campaignId"]
    for _ in range(2):
        mockserver.call("POST", f"/v1/campaigns/{created}/start")
    for _ in range(2):
        mockserver.call("GET", "/v1/message-templates")
    mockserver.advance("1s")

    create, drafted, start, running, started, refused, first, second, advanced = rows_of(page_of(mockserver))

    assert create.startswith("12:00:00.000 #1 createCampaign POST /v1/campaigns 201 Sent curl -X POST")
    assert '"name": "promo"' in create
    assert ["campaign promo: draft", "campaign promo: draft -> processing"] == [row[13:] for row in (drafted, started)]
    assert "#2 startCampaign" in start and "execution promo" in running
    assert "Because" in refused and "start.already" in refused and "Sent as #2 Answered" in refused
    assert "Answered" in first and "template_hello" in first
    assert second.endswith("200 Equal to #4")
    assert "clock: advance by 1s" == advanced[13:]
