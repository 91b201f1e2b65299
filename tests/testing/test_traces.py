"""The trace of a test: what is in the file, its size and its cost, and the states that it shows and serves again."""

from __future__ import annotations

import copy
import itertools
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.report.problem import CallLine, Problem
from mockserver.report.run.problems import problems
from mockserver.server import worlds
from mockserver.server.control import views
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.testing.report import trace_page
from mockserver.testing.report.replay import replay, replay_in
from mockserver.testing.report.snapshots import snapshot
from mockserver.testing.report.trace import TracedRun, TraceHead, position_of, trace
from tests.harness.steps import python_calls
from tests.server.hostile import TEXTS
from tests.server.test_no_key_in_any_view import FORMS
from tests.testing.test_replay import GIVEN, NOW, RUNS

CAMPAIGN = {"platform": "chatapp", "templateId": "template_hello", "cadence": 10}
SEED: dict[str, Any] = {"templates": [{"id": "template_hello"}], "chats": {"count": 30}}


def run_of(sandbox: Sandbox, name: str = "tests/test_it.py::test_it", **changed: Any) -> TracedRun:
    """The run of a sandbox so far, as a failing test would trace it."""
    hosted, views = sandbox._hosted, snapshot(sandbox._backend, sandbox.settings)
    found = problems(views, None)
    head = TraceHead(
        name=name,
        outcome="failed",
        problems=found,
        failure="AssertionError: assert 1 == 2",
        frames=["client.py:3 `assert count == 2`", "test_it.py:9 `read(client)`"],
        report=sandbox.report().splitlines(),
    )
    return TracedRun(
        head=replace(head, **changed),
        journal=sandbox.log.journal["exchanges"],
        document=sandbox.log.replay_document(name),
        secrets=hosted.sandbox.secrets(),
        base_url=hosted.base_url,
        sandbox_id=sandbox.id,
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
    return trace_page.render(trace(run_of(sandbox, **changed))).decode()


def data_of(page: str) -> Any:
    match = re.search(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def worlds_of(page: str) -> list[Any]:
    """The world after each step, as the script of the page has it."""
    data = data_of(page)
    states = [data["start"]]
    for changes in data["changes"][1:]:
        states.append(copy.deepcopy(states[-1]))
        worlds.apply(states[-1], [[data["paths"][number], *value] for number, *value in changes])
    return states


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


@pytest.mark.deep
@pytest.mark.mockserver(now=NOW, given=SEED)
def test_200_calls_are_in_a_file_of_less_than_300_kb(mockserver: Sandbox) -> None:
    campaigns(mockserver, 200)

    page = page_of(mockserver)

    assert 200 == mockserver.log.call_count == data_of(page)["calls"][-1]
    assert len(page.encode()) < 300_000


@pytest.mark.law
@pytest.mark.mockserver(now=NOW, given=SEED)
def test_a_trace_costs_a_few_times_what_its_replay_costs(mockserver: Sandbox) -> None:
    """A ratio of steps, since the machine may be busy; `python -m tests.benchmarks.traces` prints milliseconds."""
    campaigns(mockserver, 200)
    run = run_of(mockserver)
    trace_page.render(trace(run))

    replayed = python_calls(lambda: list(replay(run.document)))
    traced = python_calls(lambda: trace_page.render(trace(run)))

    assert traced < 6 * replayed


@pytest.mark.parametrize("play", RUNS)
def test_the_states_of_a_trace_are_those_of_its_replay(mockserver_server: MockServer, play: Callable[..., Any]) -> None:
    with mockserver_server.sandbox(now=NOW, given=GIVEN) as sandbox:
        play(sandbox)
        states = worlds_of(page_of(sandbox))
        hosted = SandboxHost().create(SandboxConfig(sandbox.log.replay_document()))
        expected = [worlds.world(views.state(hosted.sandbox, chats=20))]
        for _ in replay_in(hosted, sandbox.log.replay_document()):
            expected.append(worlds.world(views.state(hosted.sandbox, chats=20)))

        final = worlds.world(views.state(sandbox._hosted.sandbox, chats=20))

    assert expected == states
    assert final == states[-1]  # no endpoint of a webhook is in these runs


JSON_VALUES = st.recursive(st.none() | st.booleans() | st.text(max_size=2), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=1), inner, max_size=3))  # fmt: skip
OBJECTS = st.dictionaries(st.text(max_size=1), JSON_VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_the_differences_of_two_worlds_lead_from_one_to_the_other(before: JSON, after: JSON) -> None:
    changed = copy.deepcopy(before)

    worlds.apply(changed, list(worlds.differences(before, after)))

    assert after == changed
    assert [] == list(worlds.differences(after, copy.deepcopy(after)))


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
        report=evil,
        problems=[problem_with(text) for text in evil],
    )

    assert 3 == len(re.findall(r"<script\b", page)) == page.count("</script>")
    assert [] == re.findall(r"<(?:img|svg|b)\b", re.sub(r"<b>(?=[^<]*</b>)", "", page))


@pytest.mark.mockserver(now=NOW)
def test_the_file_asks_for_nothing_from_outside(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")

    page = page_of(mockserver)

    assert [] == re.findall(r"\b(?:src|href)=(?!\"#)|@import|url\(|\bfetch\(|XMLHttpRequest", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


@pytest.mark.mockserver(now=NOW, given=SEED)
def test_each_call_has_its_bodies_its_reason_and_what_it_changed(mockserver: Sandbox) -> None:
    created = mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN}).json()["campaignId"]
    mockserver.call("POST", f"/v1/campaigns/{created}/start")
    mockserver.call("POST", f"/v1/campaigns/{created}/start")
    for _ in range(2):
        mockserver.call("GET", "/v1/message-templates")

    made = trace(run_of(mockserver))

    create, start, again, first, second = made.steps
    assert '"name": "promo"' in create.calls[0].sent
    assert [f"new: campaigns {created}"] == create.changed
    assert f"campaigns {created}: status draft → processing" in start.changed
    assert ("refused", []) == (again.calls[0].tone, again.changed)
    assert "start.already" in again.calls[0].because
    assert "template_hello" in first.calls[0].answered
    assert ("", 4, "", 4) == (second.calls[0].sent, second.calls[0].sent_as, second.calls[0].answered, second.calls[0].answered_as)  # fmt: skip


def test_a_request_is_a_command_of_curl_that_its_test_may_run_at_any_server(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns?own=1", json={"name": "it's", **CAMPAIGN})

    (call,) = trace(run_of(mockserver)).steps[0].calls
    command, *options = call.sent.split(" \\\n  ")
    assert "curl -X POST \"$URL\"'/v1/campaigns?own=1'" == command
    assert '-H "X-API-Key: $KEY"' == options[0]
    assert ["--data-raw", json.dumps({"name": "it's", **CAMPAIGN})] == shlex.split(options[-1])


def test_each_number_of_a_call_is_a_link_to_it_and_no_other_number_is(mockserver: Sandbox) -> None:
    for _ in range(2):
        mockserver.call("GET", "/v1/campaigns/none")
    text = "#1 and #2, not #3, delivery #1, promo#1 or it's"

    page = page_of(mockserver, failure=text, report=[text], problems=[problem_with(text)])

    shown = 'and <a href="#call-2">#2</a>, not #3, delivery #1, promo#1 or it'
    assert 10 == page.count(f'<a href="#call-1">#1</a> {shown}')
    assert {"call-1", "call-2"} == set(re.findall(r'href="#(call-[^"]*)"', page))
    assert {"call-1", "call-2"} <= set(re.findall(r'id="([^"]*)"', page))


def test_the_cause_is_first_then_the_exception_with_its_frames_then_the_other_problems(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")
    found = [Problem(headline=f"problem {number}") for number in range(5)]

    page = page_of(mockserver, problems=found, failure="KeyError: 'id'", frames=["client.py:3 `body['id']`", "test_it.py:9"])  # fmt: skip

    words = ["problem 0", "KeyError: 'id'", "client.py:3", "test_it.py:9", "problem 1", "problem 2", "2 more problems", "problem 3", "problem 4", "The whole report"]  # fmt: skip
    places = [page.index(each) for each in words]
    assert sorted(places) == places


def test_a_run_without_a_problem_says_so(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")

    assert "<p>No problem in 1 call</p>" in page_of(mockserver, problems=[], verdict="No problem in 1 call")


def test_the_command_that_repeats_the_calls_is_on_the_page_if_their_document_was_written(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")

    assert "<pre>mockserver replay-calls runs/a.yaml</pre>" in page_of(mockserver, replay="runs/a.yaml")
    assert "replay-calls" not in page_of(mockserver)


def test_a_name_that_may_be_written_from_right_to_left_is_isolated(mockserver: Sandbox) -> None:
    mockserver.admin.set_tenant(name="עסק")

    assert "<h1><bdi>test_עסק</bdi></h1>" in page_of(mockserver, name="test_עסק")
    assert "<dt>name</dt><dd><bdi>עסק</bdi></dd>" in page_of(mockserver)


@pytest.mark.mockserver(now=NOW)
def test_the_changes_of_a_command_that_makes_a_world_are_folded(mockserver: Sandbox) -> None:
    mockserver.apply(given=SEED)
    mockserver.call("POST", "/v1/campaigns", json={"name": "promo", **CAMPAIGN})
    page = page_of(mockserver)
    folded = re.findall(r'<details class="seed"><summary>(.*?)</summary><ul>(.*?)</ul></details>', page)
    assert [("What it changed", 13)] == [(words, lines.count("<li>")) for words, lines in folded]


def test_a_call_shows_the_trace_context_of_its_client(mockserver: Sandbox) -> None:
    context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    mockserver.call("GET", "/v1/campaigns", headers={"traceparent": context})

    assert f"-H 'traceparent: {context}'" in page_of(mockserver)


@pytest.mark.mockserver(now=NOW)
def test_a_visit_of_the_hosted_page_is_a_step_without_its_secret(mockserver: Sandbox) -> None:
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    mockserver.end_user(session).open()

    labels = [step.label for step in trace(run_of(mockserver)).steps]

    assert "end user: GET of the hosted page" == labels[-1]


@pytest.mark.mockserver(now=NOW)
def test_calls_that_the_journal_has_dropped_keep_the_numbers_of_the_others(mockserver: Sandbox) -> None:
    for _ in range(5):
        mockserver.call("GET", "/v1/campaigns")
    for _ in range(3):
        mockserver._hosted.sandbox.journal.exchanges.popleft()

    made = trace(run_of(mockserver))

    assert [[4], [5]] == [[call.n for call in step.calls] for step in made.steps]
    assert [4, 5] == [step.last_call for step in made.steps]
    assert made.notes[0].startswith("The first 3 calls and commands are missing")


@pytest.mark.mockserver(now=NOW)
def test_a_call_that_is_not_sent_again_keeps_its_place_and_the_numbers_of_the_others(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")
    mockserver.call("POST", "/v1/messaging/media", body=b"x" * 200_000, headers={"content-type": "text/plain"})
    mockserver.call("GET", "/v1/message-templates")

    made = trace(run_of(mockserver))

    assert [[1], [2], [3]] == [[call.n for call in step.calls] for step in made.steps]
    assert "uploadMedia" in made.steps[1].calls[0].line
    assert ["The head or body of 1 call is larger than the journal stores: not sent again."] == made.notes


@pytest.mark.mockserver(now=NOW)
def test_a_replay_with_another_outcome_is_noted(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")
    run = run_of(mockserver)
    run.document["calls"][0]["answer"]["status"] = 500

    assert any("1 step has another outcome than in the run" in note for note in trace(run).notes)


@pytest.mark.parametrize(("call", "position"), [(None, 4), (1, 1), (2, 3), (3, 4)])
def test_a_call_has_a_position(call: int | None, position: int) -> None:
    assert position == position_of([1, 1, 2, 3], call)


@pytest.mark.parametrize("call", [0, -1, 4])
def test_a_call_that_the_run_does_not_have_is_refused(call: int) -> None:
    with pytest.raises(ValueError, match=f"got call {call}; expected one from 1 to 3"):
        position_of([1, 1, 2, 3], call)


@pytest.mark.parametrize("data", ["{}", "[]", "{", '{"calls": 1}', '{"calls": ["1"]}', "[" * 100_000])
@pytest.mark.parametrize("document", ["{}", "[]", "{"])
def test_a_page_that_is_no_trace_is_not_read(data: str, document: str) -> None:
    scripts = {"trace": data, "replay": document}
    html = "".join(f'<script type="application/json" id="{id}">{text}</script>' for id, text in scripts.items())

    assert None is trace_page.read_trace("<html><script>{}</script></html>")
    assert None is trace_page.read_trace(html)


def test_the_script_and_the_page_are_short() -> None:
    folder = Path(trace_page.__file__).parent / "trace_assets"

    assert all((folder / name).stat().st_size < 12_000 for name in ("script.js", "page.html"))
