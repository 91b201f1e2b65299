"""What the pages put first: the problems, what is coming, what happened, the endpoints; and what can be undone."""

from __future__ import annotations

import cProfile
import re
from contextlib import suppress

import pytest

from mockserver import Sandbox
from mockserver.server.control.page_access import PageAccess

TEMPLATE = "template_atualizacao_cadastro"
CAMPAIGN = {"platform": "chatapp", "templateId": TEMPLATE, "cadence": 10}
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
pytestmark = pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z")


def page(sandbox: Sandbox, query: str = "") -> str:
    return sandbox.call("GET", f"/_mock/now{query}", headers={"Accept": "text/html"}).body.decode()


def section(text: str, id: str) -> str:
    """The text of a section, without its tags."""
    part = text.partition(f'aria-labelledby="{id}"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def campaign(sandbox: Sandbox, name: str) -> str:
    created: str = sandbox.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": name}).json()["campaignId"]
    return created


def problems(sandbox: Sandbox, query: str = "") -> list[str]:
    """The lines of the list of problems."""
    lines = re.findall(r'<a class="pick .*?</a>', page(sandbox, query), re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in lines]


def test_what_failed_is_first_and_what_comes_is_next(mockserver: Sandbox) -> None:
    for status in (204, 503, 400):
        mockserver.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    mockserver.on("startCampaign").may_fire().fail_sends(ratio=0.5)
    started = campaign(mockserver, "Março")
    for _ in range(3):
        mockserver.call("POST", f"/v1/campaigns/{started}/start", json={})
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.advance(minutes=1)
    mockserver.on("listCampaigns").may_fire().revoke_key()
    for _ in range(2):
        mockserver.call("GET", "/v1/campaigns")
    text, lines = page(mockserver), problems(mockserver)
    clock = section(text, "clock")

    for status in (503, 400):
        assert any(
            re.fullmatch(rf"the receiver \S+/{status} answered {status} to \S+connected", line) for line in lines
        )
    assert any(re.fullmatch(r"\d+ of 40 sends of Março failed", line) for line in lines)
    assert any("startCampaign was repeated after 202 ×2, since #2" in line for line in lines)
    assert f"{len(lines)} problems in 7 calls; the worst at #" in section(text, "problems")
    assert re.search(r"in 2m 54s the last message of Março at 12:03:54.000 Advance to here", clock), clock
    assert re.search(r"the next attempt of entrypoints.chatapp.connected to \S+/503", clock)
    assert ["problems", "clock", "latest", "rules", "inventory"] == re.findall(r'<h2[^>]* id="([a-z]+)"', text)


def test_a_rule_that_never_had_an_effect_is_a_problem(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").may_fire().fail_campaign()
    mockserver.call("GET", "/v1/campaigns")

    assert "rule_1 (fail-campaign at each listCampaigns) had no effect: " in problems(mockserver)[0]


def test_a_call_that_a_rule_changed_shows_what_the_rule_does_in_words(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").nth(1).drop("before")
    with suppress(ConnectionError):
        mockserver.call("GET", "/v1/campaigns")
    words = "rule_1: the operation does not run, and no answer arrives"
    calls = mockserver.call("GET", "/_mock/calls", headers={"Accept": "text/html"}).body.decode()
    one = mockserver.call("GET", "/_mock/calls/1", headers={"Accept": "text/html"}).body.decode()

    assert words in calls
    assert words in " ".join(re.sub(r"<[^>]+>", "", one).split())


def test_a_refused_call_before_a_hundred_good_ones_is_a_problem(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": "Março", "cadence": 0})
    for _ in range(120):
        mockserver.call("GET", "/v1/campaigns")
    text = page(mockserver)

    assert "> 1 problem in 121 calls; at #1: " in section(text, "problems")
    assert 'href="/sandboxes/' in text and '/_mock/calls/1">#1</a>' in text


def test_many_calls_that_were_refused_alike_are_counted(mockserver: Sandbox) -> None:
    started = campaign(mockserver, "Março")
    for _ in range(301):
        mockserver.call("POST", f"/v1/campaigns/{started}/start", json={})

    assert any(line.endswith("×300, since #3") for line in problems(mockserver))


def test_a_link_chooses_the_problem_that_is_shown_in_full(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": "Março", "cadence": 0})
    mockserver.call("GET", "/v1/campaigns/none")
    chosen = {
        query: section(page(mockserver, query), "chosen") for query in ("", "?problem=1", "?problem=2", "?problem=x")
    }

    assert chosen[""] == chosen["?problem=1"] == chosen["?problem=x"]
    assert "#2 readCampaign GET /v1/campaigns/none" in chosen["?problem=2"]
    assert "curl http" in chosen["?problem=2"]


def test_an_endpoint_that_fails_can_be_tried_again_from_its_problem(mockserver: Sandbox) -> None:
    for status in (503, 410):
        mockserver.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    chosen = [section(page(mockserver, f"?problem={number}"), "chosen") for number in (1, 2)]

    assert "1 attempt; of the deliveries 1 waiting" in chosen[0]
    assert "advance to the next attempt" in chosen[0]
    assert "resend to this one" not in chosen[0]
    assert "1 attempt; of the deliveries 1 abandoned" in chosen[1]
    assert "advance to the next attempt" not in chosen[1]
    assert "resend to this one" in chosen[1]


def test_every_page_names_what_is_due_next(mockserver: Sandbox) -> None:
    mockserver.call("POST", f"/v1/campaigns/{campaign(mockserver, 'Março')}/start", json={})
    for view in ("now", "calls", "scenarios"):
        text = mockserver.call("GET", f"/_mock/{view}", headers={"Accept": "text/html"}).body.decode()
        assert "Next: <strong>the last message of Março</strong>" in text


def test_failing_endpoints_are_counted_in_the_title_and_beside_events(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda request: 503)
    before = page(mockserver)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    after = page(mockserver)

    assert "<title>Now" in before
    assert "<title>(1) Now" in after
    assert 'Events <span class="badge refused">1<span class="hidden"> endpoint failing' in after


def test_an_endpoint_whose_next_attempt_is_accepted_no_longer_fails(mockserver: Sandbox) -> None:
    answers = iter((503,))
    receiver = mockserver.receive_webhooks(lambda request: next(answers, 204))
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    failing = mockserver.call("GET", "/_mock/steps").json()["failing"]
    mockserver.advance(minutes=1)

    assert [receiver.id] == failing
    assert [] == mockserver.call("GET", "/_mock/steps").json()["failing"]


def test_a_fresh_sandbox_says_what_was_counted(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")

    assert "> No problem in 1 call: " in section(page(mockserver), "problems")


def test_equal_calls_in_a_row_are_one_row_as_in_a_report(mockserver: Sandbox) -> None:
    created = campaign(mockserver, "Março")
    for _ in range(15):
        mockserver.call("GET", f"/v1/campaigns/{created}")
    mockserver.call("GET", "/v1/campaigns")
    latest = section(page(mockserver), "latest")

    assert "campaign Março: draft" in latest
    assert "... the same 14 times more, until #16 at 12:00:00.000" in latest
    assert 1 == latest.count("readCampaign")


def events_page(sandbox: Sandbox, query: str = "") -> str:
    return sandbox.call("GET", f"/_mock/events{query}", headers={"Accept": "text/html"}).body.decode()


def test_the_endpoints_are_a_table_with_what_waits_for_each(mockserver: Sandbox) -> None:
    for status in (204, 503):
        mockserver.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    for _ in range(2):
        mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    table = section(events_page(mockserver), "endpoints")

    assert re.search(r"/503 failing answer 503 of 1 try in 5s 12:00:05.000 2 every event 0 delivered", table), table
    assert re.search(r"/204 delivering answer 204 of 2 tries none 0 every event 2 delivered", table), table
    assert "Recover" not in table


def test_an_endpoint_with_abandoned_deliveries_can_be_recovered(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda request: 410)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    table = section(events_page(mockserver), "endpoints")

    assert "disabled answer 410" in table
    assert "Recover" in table


@pytest.mark.parametrize(
    ("show", "statuses", "expected"),
    [
        ("failing", (503,), 1),
        ("failing", (204,), 0),
        ("waiting", (503,), 1),
        ("delivered", (204,), 1),
        ("delivered", (503,), 0),
        ("abandoned", (410,), 1),
    ],
)
def test_events_are_filtered_by_their_deliveries(
    mockserver: Sandbox, show: str, statuses: tuple[int, ...], expected: int
) -> None:
    for status in statuses:
        mockserver.receive_webhooks(lambda request, status=status: status)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])

    assert expected == len(re.findall(r'id="event-', events_page(mockserver, f"?show={show}")))


def test_the_page_of_an_event_has_a_line_for_each_attempt(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda request: 503)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.advance(minutes=1)
    event = mockserver.events[0]["id"]
    text = mockserver.call("GET", f"/_mock/events/{event}", headers={"Accept": "text/html"}).body.decode()
    lines = [
        " ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in re.findall(r"<summary>(Attempt.*?)</summary>", text)
    ]

    assert ["Attempt 2", "Attempt 1"] == [line[:9] for line in lines]
    assert " 503 " in lines[0]


def test_a_command_with_a_label_for_undo_stores_the_state_before_it(mockserver: Sandbox) -> None:
    headers = {"X-Mock-Undo": "advance by 20%20m"}
    mockserver.call("POST", "/_mock/clock/advance", json={"by": "20m"}, headers=headers)
    (stored,) = mockserver.call("GET", "/_mock/checkpoints").json()["checkpoints"]

    assert ("advance by 20 m", "2026-03-01T12:00:00.000Z") == (stored["label"], stored["at"])


def test_a_refused_command_leaves_nothing_to_undo(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/_mock/clock/advance", json={"by": "soon"}, headers={"X-Mock-Undo": "advance"})
    mockserver.call("POST", "/_mock/campaigns/campaign_x/fail", headers={"X-Mock-Undo": "fail"})

    assert [] == mockserver.call("GET", "/_mock/checkpoints").json()["checkpoints"]


def objects_page(sandbox: Sandbox, kind: str) -> str:
    text = sandbox.call("GET", f"/_mock/objects?kind={kind}", headers={"Accept": "text/html"}).body.decode()
    return section(text, f"kind-{kind}")


def test_a_campaign_with_failed_sends_shows_how_many(mockserver: Sandbox) -> None:
    mockserver.on("startCampaign").may_fire().fail_sends(ratio=0.5)
    started = campaign(mockserver, "Março")
    mockserver.call("POST", f"/v1/campaigns/{started}/start", json={})
    mockserver.advance(hours=1)
    text = mockserver.call("GET", "/_mock/objects?kind=campaign", headers={"Accept": "text/html"}).body.decode()

    assert re.search(r'<span class="badge faulted">completed</span> <span class="quiet">\d+ of 40 sends failed', text)


def test_objects_have_the_tenant_of_each_if_there_are_several(mockserver: Sandbox) -> None:
    assert "Id name providerStatus tenant" in objects_page(mockserver, "template")
    mockserver.apply(given={"tenants": [{"id": "tenant_b", "name": "B"}]})
    mockserver.receive_webhooks(lambda request: 204)
    row = objects_page(mockserver, "webhook")
    assert "every event" in row


def test_a_rule_is_shown_as_what_it_does_with_its_document_behind(mockserver: Sandbox) -> None:
    mockserver.on("startCampaign").nth(2).may_fire().drop("after")
    rules = section(page(mockserver), "rules")

    assert "drop after at the 2nd startCampaign as a document {&#34;drop&#34;: &#34;after&#34;}" in rules


def test_an_unknown_path_is_a_page_for_a_browser_alone(mockserver: Sandbox) -> None:
    shown = mockserver.call("GET", "/_mock/nonsense", headers={"Accept": "text/html"})
    other = mockserver.call("GET", "/_mock/nonsense", headers={"Accept": "application/json"})

    assert (404, "text/html; charset=utf-8") == (shown.status, shown.headers["content-type"])
    assert "expected one of the control plane" in shown.body.decode()
    assert (404, "MOCK_NOT_FOUND") == (other.status, other.json()["code"])


def work_of_now(sandbox: Sandbox) -> int:
    """The number of calls of functions that render the page of the present."""
    page(sandbox)
    profile = cProfile.Profile()
    profile.runcall(page, sandbox)
    return sum(row.callcount for row in profile.getstats() if not isinstance(row.code, str))


def test_the_page_of_the_present_reads_only_what_it_shows(mockserver: Sandbox) -> None:
    def add(count: int) -> int:
        for number in range(count):
            mockserver.call("POST", SESSIONS, json={})
            campaign(mockserver, f"{count}-{number}")
        mockserver.apply(given={"chats": {"count": 10 * count, "each": {"status": "open"}}})
        for _ in range(100):  # what the page shows
            mockserver.call("GET", "/v1/campaigns")
        return work_of_now(mockserver)

    few = add(60)
    many = add(240)

    calls_of_each_kind = 2 * 240 + 100
    assert (many - few) / calls_of_each_kind < 25  # of which the conduct of a call takes most


def test_a_page_reads_the_history_once(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    original = PageAccess.read
    monkeypatch.setattr(
        PageAccess, "read", lambda self, command, **rest: reads.append(command) or original(self, command, **rest)
    )
    page(mockserver)

    assert 1 == reads.count("readHistory")
