"""
Careful apps, in the styles of strangers, on campaigns and pages: several users, programs and restarts behind one key.

Each client acts as the API document says, and none has a finding of severity 1 or 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import requests

from mockserver import Sandbox
from tests.conduct.findings import change, severe

ON_CHATAPP = [
    {"combinator": "and", "statements": [{"field": "chat.platform", "operator": "equals", "value": "chatapp"}]}
]
ANSWERED = [{"combinator": "and", "statements": [{"field": "chat.isAnswered", "operator": "equals", "value": True}]}]
TO_EVERYONE = {"name": "Promo", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}
BODY = {**TO_EVERYONE, "filters": ON_CHATAPP}
GIVEN = {"templates": [{"id": "template_hello"}], "chats": {"count": 60}}
pytestmark = pytest.mark.mockserver(given=GIVEN)


class App:
    """A back end with one key and no state of its own: each handler does what one user clicked."""

    def __init__(self, sandbox: Sandbox, agent: str = "acme-app/1") -> None:
        self.http, self.url = sandbox.requests_session(), f"{sandbox.base_url}/v1"
        self.http.headers.update({"X-API-Key": sandbox.secret_key, "User-Agent": agent})

    def __call__(self, method: str, path: str, body: object = None) -> requests.Response:
        return self.http.request(method, self.url + path, json=body, timeout=10)

    def create(self, body: Mapping[str, object] = BODY, **other: object) -> str:
        return str(self("POST", "/campaigns", {**body, **other}).json()["campaignId"])

    def start(self, campaign: str, **values: str) -> requests.Response:
        return self("POST", f"/campaigns/{campaign}/start", {"commonVariables": values} if values else None)

    def cancel(self, campaign: str) -> int:
        return self("POST", f"/campaigns/{campaign}/cancel").status_code

    def status(self, campaign: str) -> str:
        return str(self("GET", f"/campaigns/{campaign}").json()["status"])

    def execution(self, campaign: str, execution: str) -> requests.Response:
        return self("GET", f"/campaigns/{campaign}/executions/{execution}")

    def page(self, cursor: str | None = None) -> str | None:
        """Read a page of the chat, and return the cursor of the next one."""
        query = f"?cursor={cursor}" if cursor else ""
        answer = self("GET", f"/messaging/chats/chat_ana{query}").json()
        following: str | None = answer.get("nextCursor")
        return following


def lost(call: Callable[..., object], *arguments: object, **named: object) -> None:
    """Make a call whose answer is lost."""
    with pytest.raises(requests.ConnectionError):
        call(*arguments, **named)


def started(sandbox: Sandbox, agent: str = "acme-app/1") -> tuple[App, str, str]:
    """Return a client, its campaign and the execution."""
    app = App(sandbox, agent)
    campaign = app.create()
    return app, campaign, str(app.start(campaign).json()["executionId"])


def adopted(sandbox: Sandbox, app: App, name: str = "Promo") -> str:
    """Create a campaign, whose answer is lost, and return the id by which the client finds it."""
    sandbox.on("createCampaign").nth(1).drop("after")
    lost(app.create, name=name)
    (row,) = app("GET", "/campaigns").json()["campaigns"]
    return str(row["id"])


def variable(number: int) -> dict[str, Any]:
    return {"key": f"var{number}", "label": f"V{number}", "required": number == 1}


WITH_VARIABLES = {
    "templates": [
        {
            "id": "template_hello",
            "items": [{"type": "text", "text": "{{1}} {{2}}"}],
            "variables": [variable(1), variable(2)],
        }
    ],
    "chats": {"count": 6},
}


def give_chat(sandbox: Sandbox, count: int, text: str = "Oi", **choices: object) -> None:
    messages = [{"chatId": "chat_ana", "id": f"message_{number:03}", "text": text} for number in range(count)]
    sandbox.apply(given={"chats": [{"id": "chat_ana", "name": "Ana"}], "messages": messages}, choices=choices)


def test_a_start_of_another_user_who_was_shown_a_draft_is_no_second_start(mockserver: Sandbox) -> None:
    ana, bob = App(mockserver), App(mockserver)
    campaign = ana.create()
    mockserver.on("startCampaign").nth(1).drop("after")
    assert ana.status(campaign) == bob.status(campaign) == "draft"  # both users' pages offer "start"
    lost(ana.start, campaign)  # Ana's answer is lost
    assert bob.start(campaign).status_code == 422  # Bob's first and only start
    assert ana.status(campaign) == bob.status(campaign) == "processing"  # both read, and none starts again

    assert [] == severe(mockserver)


def test_a_creation_shows_its_user_a_draft(mockserver: Sandbox) -> None:
    ana, bob = App(mockserver), App(mockserver)
    mockserver.on("startCampaign").nth(1).drop("before")
    mockserver.on("startCampaign").nth(2).drop("before")
    campaign = ana.create()
    lost(ana.start, campaign)  # her page shows the draft since its creation
    assert bob("GET", "/campaigns").json()["campaigns"][0]["status"] == "draft"
    assert ana.status(campaign) == "draft"
    lost(ana.start, campaign)
    assert bob("GET", "/entrypoints/entrypoint_gone").status_code == 404  # a page that he opens first
    assert bob.start(campaign).ok  # Bob's first and only start

    assert [] == severe(mockserver)


def test_a_start_right_after_one_without_an_answer_is_a_retry_although_the_creation_and_a_read_showed_a_draft(
    mockserver: Sandbox,
) -> None:
    app = App(mockserver)
    mockserver.on("startCampaign").nth(1).drop("before")
    campaign = app.create()
    assert app.status(campaign) == "draft"
    lost(app.start, campaign)
    assert app.start(campaign).ok

    assert ["duplicate-start"] == [finding.rule for finding in mockserver.conduct.findings]


@pytest.mark.parametrize("creator", ["worker/1", "web/1"])
def test_a_start_after_a_page_is_a_retry_if_only_one_read_showed_the_draft(mockserver: Sandbox, creator: str) -> None:
    app = App(mockserver, "worker/1")
    mockserver.on("startCampaign").nth(1).drop("after")
    campaign = App(mockserver, creator).create()
    assert app.status(campaign) == "draft"
    lost(app.start, campaign)
    assert app("GET", "/message-templates").ok
    assert app.start(campaign).status_code == 422

    assert "duplicate-start" in [finding.rule for finding in mockserver.conduct.findings]


def test_a_start_of_another_user_is_no_retry_of_one_that_failed(mockserver: Sandbox) -> None:
    ana, bob = App(mockserver, "web/1"), App(mockserver, "web/1")
    campaign = ana.create()
    mockserver.on("startCampaign").nth(1).error("INTERNAL_ERROR")
    assert ana.status(campaign) == bob.status(campaign) == "draft"
    assert ana.start(campaign).status_code == 500
    assert bob.start(campaign).ok
    assert ana.status(campaign) == bob.status(campaign) == "processing"

    assert [] == severe(mockserver)


def test_a_failed_campaign_is_created_anew_under_another_name(mockserver: Sandbox) -> None:
    app = App(mockserver)
    campaign = adopted(mockserver, app)
    assert app.start(campaign).ok
    mockserver.admin.fail_campaign(campaign)
    assert app.status(campaign) == "failed"
    assert app.start(app.create(name="Promo - retry")).ok

    assert [] == severe(mockserver)


@pytest.mark.parametrize("cadence", [100_000, 9_007_199_254_740_991])
def test_a_cadence_beyond_the_ceiling_means_as_fast_as_possible(mockserver: Sandbox, cadence: int) -> None:
    app = App(mockserver)
    campaign = app.create(cadence=cadence)
    assert app.start(campaign).ok

    assert [] == severe(mockserver)


@pytest.mark.mockserver(given={"templates": [{"id": "template_hello"}], "chats": {"count": 30}})
def test_a_segment_that_was_compared_with_everyone_restricts_nothing(mockserver: Sandbox) -> None:
    app = App(mockserver)
    everyone = app("POST", "/campaigns/audience-preview", {}).json()["estimatedCount"]
    some = app("POST", "/campaigns/audience-preview", {"filters": ANSWERED}).json()["estimatedCount"]
    assert some < everyone  # the page shows the share, and the user decides for everyone
    campaign = app.create(TO_EVERYONE)
    assert app.start(campaign).ok

    assert [] == severe(mockserver)


@pytest.mark.mockserver(given={"templates": [{"id": "template_hello"}], "chats": {"count": 30}})
def test_a_preview_of_another_program_restricts_nothing(mockserver: Sandbox) -> None:
    ana, bob = App(mockserver, "web/1"), App(mockserver, "cli/1")
    ana("POST", "/campaigns/audience-preview", {"filters": ANSWERED})
    campaign = bob.create(TO_EVERYONE)
    assert bob.start(campaign).ok

    assert [] == severe(mockserver)


@pytest.mark.parametrize("end", ["suspended", "revoked"])
def test_a_cancel_without_an_answer_is_not_repeated_once_every_call_is_refused(mockserver: Sandbox, end: str) -> None:
    app, campaign, _ = started(mockserver)
    mockserver.on("cancelCampaign").nth(1).drop("before")
    lost(app.cancel, campaign)
    if end == "suspended":
        mockserver.admin.set_tenant(subscription="suspended")
    else:
        mockserver.at("1s").revoke_key()
        mockserver.advance(seconds=2)
    assert app("GET", f"/campaigns/{campaign}").status_code in (401, 403)  # a person gets a message
    mockserver.advance(minutes=5)

    assert [] == severe(mockserver)


def test_counts_are_read_after_a_cancel_until_they_settle(mockserver: Sandbox) -> None:
    mockserver.choose({"late-sends-after-cancel": "current-minute"})
    app, campaign, execution = started(mockserver)
    mockserver.sleep(12)
    assert app.cancel(campaign) == 204
    counts: list[int] = []
    while len(counts) < 2 or counts[-1] != counts[-2]:  # "already queued sends may still be processed"
        mockserver.sleep(10)
        row = app.execution(campaign, execution).json()
        assert row["status"] == "canceled"
        counts.append(row["sentCount"])

    assert [] == severe(mockserver)


def test_a_poll_that_waits_for_its_retry_after_has_not_died(mockserver: Sandbox) -> None:
    app, campaign, execution = started(mockserver)
    mockserver.sleep(15)
    assert app.execution(campaign, execution).json()["status"] == "processing"
    mockserver.sleep(15)
    mockserver.on("readExecution").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=600)
    assert app.execution(campaign, execution).status_code == 429
    mockserver.sleep(180)  # the client waits 600 s; the test ends here

    assert [] == severe(mockserver)


def test_a_job_reads_two_pages_a_run_and_keeps_the_cursor(mockserver: Sandbox) -> None:
    """The next run goes on at the cursor; the test ends between two runs."""
    give_chat(mockserver, 120, **{"short-pages": "short"})
    app = App(mockserver)
    assert app.page(app.page())
    mockserver.advance(seconds=30)  # the next run would be 30 s later

    assert [] == severe(mockserver)


def test_a_user_who_changes_her_mind_repeats_no_cancel(mockserver: Sandbox) -> None:
    app = App(mockserver)
    campaign = app.create()
    mockserver.on("cancelCampaign").nth(1).error("INTERNAL_ERROR")
    assert app.cancel(campaign) == 500
    assert app.status(campaign) == "draft"  # so the page shows, and its user starts the campaign after all
    mockserver.sleep(60)
    app.start(campaign)
    mockserver.sleep(120)
    assert app.status(campaign) == "completed"

    assert [] == severe(mockserver)


@pytest.mark.parametrize("failing", ["cancelCampaign", "readCampaign"])
def test_a_client_reports_an_outage_after_three_tries_of_a_cancel_or_of_the_read_before_it(
    mockserver: Sandbox, failing: str
) -> None:
    app, campaign, _ = started(mockserver)
    mockserver.on("cancelCampaign").times(3).error("INTERNAL_ERROR")
    mockserver.on("readCampaign").error("INTERNAL_ERROR")
    for _ in range(3 if failing == "cancelCampaign" else 1):
        app.cancel(campaign)
    for _ in range(3 if failing == "readCampaign" else 0):
        app("GET", f"/campaigns/{campaign}")
    mockserver.advance(minutes=5)

    assert [] == severe(mockserver)


def test_a_cancel_waits_for_its_retry_after(mockserver: Sandbox) -> None:
    app, campaign, _ = started(mockserver)
    mockserver.on("cancelCampaign").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=300)
    assert app.cancel(campaign) == 429
    mockserver.sleep(200)

    assert [] == severe(mockserver)


def test_a_list_shows_the_end_after_a_poll_that_failed(mockserver: Sandbox) -> None:
    app, campaign, execution = started(mockserver)
    mockserver.sleep(15)
    app.execution(campaign, execution)
    mockserver.sleep(60)
    mockserver.on("readExecution").nth(1).error("INTERNAL_ERROR")
    assert app.execution(campaign, execution).status_code == 500
    mockserver.sleep(15)
    (row,) = app("GET", "/campaigns").json()["campaigns"]
    assert row["status"] == "completed"
    mockserver.advance(minutes=5)

    assert [] == severe(mockserver)


def test_a_start_of_another_user_is_no_repetition_of_one_that_was_limited(mockserver: Sandbox) -> None:
    ana, bob = App(mockserver), App(mockserver)
    campaign = ana.create()
    assert ana.status(campaign) == bob.status(campaign) == "draft"
    mockserver.on("startCampaign").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=30)
    assert ana.start(campaign).status_code == 429
    mockserver.sleep(5)
    assert bob.start(campaign).ok
    mockserver.sleep(25)
    assert ana.status(campaign) == "processing"

    assert [] == severe(mockserver)


@pytest.mark.mockserver(given=WITH_VARIABLES)
def test_campaigns_with_other_values_are_no_clones(mockserver: Sandbox) -> None:
    app = App(mockserver)
    assert app.start(adopted(mockserver, app, "Aviso"), var1="segunda").ok
    mockserver.advance(minutes=10)
    assert app.start(app.create(name="Aviso terça"), var1="terça").ok

    assert [] == severe(mockserver)


def test_a_read_that_was_sent_before_a_delayed_start_had_arrived_is_one_after_it(mockserver: Sandbox) -> None:
    """Over a socket the server may not know yet that the client has gone: the start then takes effect after the read."""
    app = App(mockserver)
    campaign = app.create()
    mockserver.on("startCampaign").nth(1).delay("11s")
    with pytest.raises(requests.Timeout):
        app.start(campaign)
    assert app.status(campaign) == "draft"
    mockserver.advance(seconds=2)
    app.start(campaign)
    change(mockserver, 3, given_up=None)

    assert [] == severe(mockserver)


@pytest.mark.parametrize("text", ["for example sk_your_key_here", ""])
def test_the_text_of_an_uploaded_file_is_no_key_and_an_upload_without_a_file_no_wrong_field(
    mockserver: Sandbox, text: str
) -> None:
    app = App(mockserver)
    files = [("files", ("manual.txt", text.encode(), "text/plain"))] if text else []
    boundary = {} if text else {"Content-Type": "multipart/form-data; boundary=a"}
    body: Any = {"files": files} if text else {"data": b"--a--\r\n"}
    app.http.post(f"{app.url}/messaging/media", headers=boundary, timeout=10, **body)

    assert [] == severe(mockserver)
