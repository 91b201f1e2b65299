"""Careful clients that a stranger wrote: none has a finding of any severity."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Literal

import pytest

from mockserver import Sandbox
from tests.clients.operations import SESSIONS
from tests.conduct.test_careful_apps import BODY, GIVEN, App, adopted, lost, started, variable
from tests.operations.session_calls import NOON

Act = Callable[[Sandbox], None]
_CONNECTION = SESSIONS.removeprefix("/v1")


def _campaign_that_ends_in_three_seconds(sandbox: Sandbox, app: App) -> str:
    campaign = app.create()
    app.start(campaign)
    sandbox.sleep(57)
    return campaign


def _failed_cancel(sandbox: Sandbox) -> tuple[App, str]:
    app = App(sandbox)
    campaign = _campaign_that_ends_in_three_seconds(sandbox, app)
    sandbox.on("cancelCampaign").nth(1).error("INTERNAL_ERROR")
    assert app.cancel(campaign) == 500
    return app, campaign


def looks_at_the_list_after_a_lost_cancel(sandbox: Sandbox) -> None:
    app = App(sandbox)
    campaign = _campaign_that_ends_in_three_seconds(sandbox, app)
    sandbox.on("cancelCampaign").nth(1).drop("before")
    lost(app.cancel, campaign)
    sandbox.sleep(4)
    assert app("GET", "/campaigns").json()["campaigns"][0]["status"] == "completed"
    sandbox.advance(minutes=5)


def sends_a_reminder_after_it_adopted_a_campaign_whose_name_was_taken(sandbox: Sandbox) -> None:
    app = App(sandbox)
    sandbox.on("createCampaign").nth(1).drop("after")
    lost(app.create)
    assert app("POST", "/campaigns", BODY).status_code == 400
    (found,) = app("GET", "/campaigns").json()["campaigns"]
    app.start(found["id"])
    sandbox.advance(minutes=40)
    app.start(app.create(name="Promo - lembrete"))


def looks_again_while_a_campaign_that_it_could_not_cancel_ends(sandbox: Sandbox) -> None:
    app, campaign = _failed_cancel(sandbox)
    sandbox.sleep(1)
    assert app.status(campaign) == "processing"
    sandbox.sleep(4)
    assert app.status(campaign) == "completed"
    sandbox.advance(minutes=5)


def creates_a_second_round_long_after_a_refused_start(sandbox: Sandbox) -> None:
    ana, bob = App(sandbox), App(sandbox)
    campaign = ana.create()
    assert ana.status(campaign) == bob.status(campaign) == "draft"
    ana.start(campaign)
    assert bob.start(campaign).status_code == 422
    assert bob.status(campaign) == "processing"
    sandbox.advance(minutes=45)
    assert ana.status(campaign) == "completed"
    ana.start(ana.create(name="Promo - segunda rodada"))


def starts_what_another_program_has_canceled(sandbox: Sandbox) -> None:
    job, admin = App(sandbox, "scheduler/1"), App(sandbox, "admin-ui/3")
    campaign = job.create()
    sandbox.advance(minutes=30)
    assert admin.cancel(campaign) == 204
    sandbox.advance(minutes=30)
    assert job.start(campaign).status_code == 422
    assert job.status(campaign) == "canceled"


def starts_with_the_variables_that_its_own_user_was_shown(sandbox: Sandbox) -> None:
    template = {"id": "template_two", "items": [{"type": "text", "text": "{{1}} {{2}}"}]}
    sandbox.apply(given={"templates": [template | {"variables": [variable(1), variable(2)]}]})
    ana, bob = App(sandbox), App(sandbox)
    campaign = ana.create({**BODY, "templateId": "template_two"})
    assert len(ana("GET", "/message-templates/template_two").json()["commonVariables"]) == 2
    sandbox.at("1m").set_template(id="template_two", variables=[variable(1)])
    sandbox.advance(minutes=2)
    assert len(bob("GET", "/message-templates/template_two").json()["commonVariables"]) == 1
    assert ana.start(campaign, var1="a", var2="b").ok


def _locked_out(sandbox: Sandbox, app: App) -> None:
    sandbox.admin.set_tenant(subscription="suspended")
    assert app("GET", "/message-templates").status_code == 403
    sandbox.advance(minutes=10)


def is_locked_out_after_a_poll_that_failed(sandbox: Sandbox) -> None:
    app, campaign, execution = started(sandbox)
    sandbox.sleep(15)
    assert app.execution(campaign, execution).ok
    sandbox.sleep(15)
    sandbox.on("readExecution").nth(1).error("INTERNAL_ERROR")
    app.execution(campaign, execution)
    _locked_out(sandbox, app)


def is_locked_out_after_a_progress_of_100(sandbox: Sandbox) -> None:
    sandbox.choose({"execution-status-lag": "campaign-first"})
    app, campaign, execution = started(sandbox)
    sandbox.sleep(60)
    assert app.execution(campaign, execution).json()["progress"] == 100
    _locked_out(sandbox, app)


def _connected(sandbox: Sandbox, app: App) -> str:
    sandbox.receive_webhooks(lambda _: 204)
    session = str(app("POST", _CONNECTION, {}).json()["sessionId"])
    sandbox.advance(minutes=1)
    sandbox.complete_session(session)
    return f"{_CONNECTION}/{session}"


def is_locked_out_after_an_event(sandbox: Sandbox) -> None:
    app = App(sandbox)
    session = _connected(sandbox, app)
    sandbox.on("readConnectionSession").nth(1).error("INTERNAL_ERROR")
    assert app("GET", session).status_code == 500
    _locked_out(sandbox, app)


def gives_up_after_three_reads_of_a_session_whose_event_it_has(sandbox: Sandbox) -> None:
    app = App(sandbox)
    session = _connected(sandbox, app)
    sandbox.on("readConnectionSession").times(3).error("INTERNAL_ERROR")
    for wait in (1, 2, 4):
        assert app("GET", session).status_code == 500
        sandbox.sleep(wait)
    sandbox.advance(minutes=5)


def proxies_a_browser_and_adds_the_key(sandbox: Sandbox) -> None:
    headers = {
        "User-Agent": "Mozilla/5.0 (X11) Chrome/126",
        "Referer": "https://app.acme.example/",
        "Sec-Fetch-Mode": "cors",
    }
    headers |= {"Sec-Fetch-Site": "same-origin"}
    for hop in ({"X-Forwarded-For": "203.0.113.9"}, {"Via": "1.1 bff"}, {"Forwarded": "for=203.0.113.9"}):
        sandbox.call("GET", "/v1/message-templates", headers=headers | hop)


def polls_on_a_schedule_that_is_a_few_milliseconds_off(sandbox: Sandbox) -> None:
    app, campaign, execution = started(sandbox)
    late = 0
    for next_late in (8, 6, 4, 2, 0, 9, 7, 5):
        sandbox.sleep(10 + (next_late - late) / 1000)
        late = next_late
        if app.execution(campaign, execution).json()["status"] == "completed":
            return


def lists_by_cron_while_the_subscription_is_suspended(sandbox: Sandbox) -> None:
    sandbox.admin.set_tenant(subscription="suspended")
    for _ in range(20):
        App(sandbox)("GET", "/campaigns")
        sandbox.advance(seconds=60)


def starts_the_next_campaign_of_a_series_later(sandbox: Sandbox) -> None:
    app = App(sandbox)
    app.start(adopted(sandbox, app))
    reminder = app.create(name="Promo - lembrete")
    sandbox.advance(minutes=50)
    app.start(reminder)


CLIENTS: list[Act] = [
    starts_the_next_campaign_of_a_series_later,
    looks_at_the_list_after_a_lost_cancel,
    sends_a_reminder_after_it_adopted_a_campaign_whose_name_was_taken,
    looks_again_while_a_campaign_that_it_could_not_cancel_ends,
    creates_a_second_round_long_after_a_refused_start,
    starts_what_another_program_has_canceled,
    starts_with_the_variables_that_its_own_user_was_shown,
    is_locked_out_after_a_poll_that_failed,
    is_locked_out_after_a_progress_of_100,
    is_locked_out_after_an_event,
    gives_up_after_three_reads_of_a_session_whose_event_it_has,
    proxies_a_browser_and_adds_the_key,
    polls_on_a_schedule_that_is_a_few_milliseconds_off,
    lists_by_cron_while_the_subscription_is_suspended,
]


@pytest.mark.mockserver(given=GIVEN, now=NOON)
@pytest.mark.parametrize("act", CLIENTS)
def test_a_careful_client_has_no_finding(mockserver: Sandbox, act: Act) -> None:
    act(mockserver)

    assert [] == [(finding.rule, finding.message) for finding in mockserver.conduct]


def filters_under_another_name(sandbox: Sandbox) -> None:
    statement = {"field": "chat.platform", "operator": "equals", "value": "chatapp"}
    app = App(sandbox)
    body = {**BODY, "segment": [{"combinator": "and", "statements": [statement]}]}
    app.start(app("POST", "/campaigns", body).json()["campaignId"])


def lists_without_a_pause_while_the_subscription_is_suspended(sandbox: Sandbox) -> None:
    sandbox.admin.set_tenant(subscription="suspended")
    for _ in range(20):
        App(sandbox)("GET", "/campaigns")
        sandbox.advance(seconds=2)


@pytest.mark.mockserver(given=GIVEN, now=NOON)
@pytest.mark.parametrize(
    ("act", "rule"),
    [
        (filters_under_another_name, "lost-filters"),
        (lists_without_a_pause_while_the_subscription_is_suspended, "retry-hopeless"),
    ],
)
def test_a_careless_client_of_these_has_one(mockserver: Sandbox, act: Act, rule: str) -> None:
    act(mockserver)

    assert rule in {finding.rule for finding in mockserver.conduct}


def _end_of_another_program(sandbox: Sandbox) -> tuple[App, str, str]:
    """Return a client, its campaign, which another program has canceled, and the execution."""
    app, campaign, execution = started(sandbox, "scheduler/1")
    assert App(sandbox, "admin-ui/3").cancel(campaign) == 204
    return app, campaign, execution


def starts_although_its_list_shows_the_end(sandbox: Sandbox) -> None:
    app, campaign, _ = _end_of_another_program(sandbox)
    assert app("GET", "/campaigns").json()["campaigns"][0]["status"] == "canceled"
    assert app.start(campaign).status_code == 422


def starts_although_its_execution_shows_the_end(sandbox: Sandbox) -> None:
    app, campaign, execution = _end_of_another_program(sandbox)
    assert app.execution(campaign, execution).json()["status"] == "canceled"
    assert app.start(campaign).status_code == 422


def forgets_a_cancel_while_another_program_looks(sandbox: Sandbox) -> None:
    _, campaign = _failed_cancel(sandbox)
    sandbox.sleep(4)
    assert App(sandbox, "dashboard/2").status(campaign) == "completed"
    sandbox.advance(minutes=5)


def reads_without_end_after_a_cancel(sandbox: Sandbox) -> None:
    app, campaign, execution = started(sandbox)
    assert app.cancel(campaign) == 204
    for _ in range(20):
        app.execution(campaign, execution)


@pytest.mark.mockserver(given=GIVEN, now=NOON)
@pytest.mark.parametrize(
    ("act", "rule"),
    [
        (starts_although_its_list_shows_the_end, "restart-canceled"),
        (starts_although_its_execution_shows_the_end, "restart-canceled"),
        (forgets_a_cancel_while_another_program_looks, "cancel-and-forget"),
        (reads_without_end_after_a_cancel, "poll-final-set-incomplete"),
    ],
)
def test_a_careless_client_at_a_similar_task_has_one(mockserver: Sandbox, act: Act, rule: str) -> None:
    act(mockserver)

    assert {rule} == {finding.rule for finding in mockserver.conduct}


def growing(_: random.Random) -> Iterator[float]:
    yield from (0.3, 0.6, 1.2, 2.4)


def growing_from_a_millisecond(_: random.Random) -> Iterator[float]:
    yield from (0.001 * 2**attempt for attempt in range(8))


def full_jitter(draw: random.Random) -> Iterator[float]:
    yield from (draw.uniform(0, 0.5 * 2**attempt) for attempt in range(5))


@pytest.mark.mockserver(choices={"rate-limit-headers": "none"}, now=NOON)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("operation", ["listCampaigns", "readExecution"])
@pytest.mark.parametrize("waits", [growing, growing_from_a_millisecond, full_jitter])
def test_a_backoff_without_a_retry_after_is_no_burst(
    mockserver: Sandbox,
    waits: Callable[[random.Random], Iterator[float]],
    operation: Literal["listCampaigns", "readExecution"],
    seed: int,
) -> None:
    mockserver.on(operation).error("RATE_LIMIT_EXCEEDED")
    path = "/v1/campaigns" if operation == "listCampaigns" else "/v1/campaigns/campaign_a/executions/execution_a"
    mockserver.call("GET", path)
    for wait in waits(random.Random(seed)):
        mockserver.sleep(wait)
        mockserver.call("GET", path)

    assert [] == [(finding.rule, finding.message) for finding in mockserver.conduct]


@pytest.mark.mockserver(choices={"rate-limit-headers": "none"}, now=NOON)
@pytest.mark.parametrize("wait", [0, 0.01, 0.3])
def test_a_loop_without_a_backoff_is_a_burst(mockserver: Sandbox, wait: float) -> None:
    mockserver.on("listCampaigns").error("RATE_LIMIT_EXCEEDED")
    for _ in range(5):
        mockserver.call("GET", "/v1/campaigns")
        mockserver.sleep(wait)
    mockserver.sleep(1)
    mockserver.call("GET", "/v1/campaigns")

    assert {"ignore-retry-after"} == {finding.rule for finding in mockserver.conduct}
