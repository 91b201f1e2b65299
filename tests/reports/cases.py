"""
Clients with a bug, each in a test that fails, and the reports of them in `golden`, one file for each test.

A docstring says what the cause is. `python -m tests.reports` writes the reports again; a reviewer reads how they differ.
A test that records a property `report` has that as its report: the words that a test in another language gets.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from itertools import count
from typing import Any
from urllib.parse import urljoin

import freezegun
import httpx
import pytest
import requests
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox, sample_file
from mockserver.server.hosting.runtime import HostRuntime

NOON = "2026-03-01T12:00:00Z"
GIVEN: dict[str, Any] = {"templates": [{"id": "t"}], "chats": [{"id": "one"}, {"id": "two"}]}
NEW: dict[str, Any] = {"name": "Promo", "platform": "chatapp", "templateId": "t", "cadence": 60}
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
MEDIA = "/v1/messaging/media"
VIPS = [{"combinator": "and", "statements": [{"field": "chat.tagIds", "operator": "has-any", "value": ["vip"]}]}]
MANY = {**GIVEN, "chats": {"count": 500}}
Record = Callable[[str, object], None]

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)


@pytest.fixture(scope="session")
def mockserver_settings() -> dict[str, Any]:
    return {"seed": 0}


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 0.7 s of real time pass between two calls, for which no test waits."""
    ticks = count(0, 700_000)
    monkeypatch.setattr(HostRuntime, "monotonic_us", lambda runtime: next(ticks))


def send(api: Sandbox, method: str, path: str, body: Any = None) -> Any:
    return api.call(method, path, json=body).json()


def create(api: Sandbox, **changes: Any) -> Any:
    return send(api, "POST", "/v1/campaigns", {**NEW, **changes}).get("campaignId")


def start(api: Sandbox, campaign: Any, body: Any = None) -> Any:
    return send(api, "POST", f"/v1/campaigns/{campaign}/start", body).get("executionId")


def read(api: Sandbox, campaign: str) -> Any:
    return send(api, "GET", f"/v1/campaigns/{campaign}")


def launched(api: Sandbox, **changes: Any) -> str:
    campaign = str(create(api, **changes))
    start(api, campaign)
    return campaign


def connecting(api: Sandbox) -> str:
    return str(send(api, "POST", SESSIONS, {})["sessionId"])


def connected(api: Sandbox) -> None:
    api.complete_session(connecting(api))


def upload(api: Sandbox, name: str, content: bytes, kind: str) -> requests.Response:
    disposition = f'Content-Disposition: form-data; name="files"; filename="{name}"'
    head = f"--part\r\n{disposition}\r\nContent-Type: {kind}\r\n\r\n"
    headers = {"X-API-Key": api.secret_key, "Content-Type": "multipart/form-data; boundary=part"}
    body = head.encode() + content + b"\r\n--part--\r\n"
    return api.requests_session().post(f"{api.base_url}{MEDIA}", data=body, headers=headers)


# Where the calls go, and who makes them


def test_wrong_key(mockserver: Sandbox) -> None:
    """The client sends a key that no tenant has."""
    requests.get(f"{mockserver.base_url}/v1/campaigns", headers={"X-API-Key": "wrong"}).raise_for_status()


def test_lost_prefix(mockserver: Sandbox) -> None:
    """The client joins the base url and the path by `urljoin`, which drops the sandbox's prefix."""
    answer = requests.get(urljoin(mockserver.base_url, "/v1/campaigns"), headers={"X-API-Key": mockserver.secret_key})
    assert answer.json()["campaigns"] == []


def test_proxy(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names a proxy, to which the client sends its calls."""
    monkeypatch.setenv("HTTP_PROXY", "http://user:password@proxy.example:3128")
    raise ConnectionError(f"no route to {mockserver.base_url}")


def test_no_call(mockserver: Sandbox) -> None:
    """The client is not made with the sandbox's address, and makes no call."""
    assert mockserver.ledger.executions


def test_name_that_nothing_resolves(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of its own opens the link of a session that was created in process."""

    def lookup(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    link = send(mockserver, "POST", SESSIONS, {})["url"]
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", lookup)
        httpx.get(link, trust_env=False)


def test_base_url_with_a_part_too_many(mockserver: Sandbox) -> None:
    """The client's base url ends with `/api`."""
    assert mockserver.call("GET", "/api/v1/campaigns").status == 200


def test_unknown_path(mockserver: Sandbox) -> None:
    """The client writes a name of the path in the singular."""
    assert mockserver.call("POST", "/v1/campaign/campaign_1/start").status == 202


def test_slash_at_the_end(mockserver: Sandbox) -> None:
    """The client ends a path with a slash."""
    assert mockserver.call("GET", "/v1/campaigns/").status == 200


# What the calls send


def test_refused_write(mockserver: Sandbox) -> None:
    """The cadence of a campaign is 0, and the client starts what was not created."""
    assert start(mockserver, create(mockserver, cadence=0))


def test_refused_write_before_a_read(mockserver: Sandbox) -> None:
    """A create without a template is refused; a read of something else, that fails too, says less."""
    send(mockserver, "POST", "/v1/campaigns", {"name": "Promo"})
    mockserver.call("GET", "/v1/entrypoints/entrypoint_none")
    assert mockserver.ledger.executions


def test_look_before_a_create(mockserver: Sandbox) -> None:
    """The client looks in vain for a campaign and creates it, which it may; it does not start it."""
    mockserver.call("GET", "/v1/campaigns/campaign_none")
    assert read(mockserver, create(mockserver))["status"] == "processing"


def test_misspelt_key(mockserver: Sandbox) -> None:
    """The client sends `template_id` for `templateId`, twenty times."""
    body = {"name": "Promo", "platform": "chatapp", "template_id": "t", "cadence": 1}
    statuses = [mockserver.call("POST", "/v1/campaigns", json=body).status for _ in range(20)]
    assert 201 in statuses


def test_id_under_another_name(mockserver: Sandbox) -> None:
    """The client reads `id` in an answer that has `campaignId`."""
    created = send(mockserver, "POST", "/v1/campaigns", NEW)
    assert start(mockserver, created.get("id"))


def test_ignored_key(mockserver: Sandbox) -> None:
    """The client sends `common_variables`, which the operation ignores."""
    start(mockserver, create(mockserver), {"common_variables": {"name": "Ana"}})
    assert mockserver.ledger.executions == []


def test_wrong_page(mockserver: Sandbox) -> None:
    """The client asks for a page by its number, which is ignored, instead of the cursor."""
    mockserver.apply(given={"messages": [{"chatId": "one", "text": str(n)} for n in range(120)]})
    assert send(mockserver, "GET", "/v1/messaging/chats/one?page=2")["records"][0]["text"] == "19"


def test_wrong_filter(mockserver: Sandbox) -> None:
    """No chat has the tag by which the client filters."""
    campaign = launched(mockserver, filters=VIPS)
    mockserver.advance(until="idle")
    assert read(mockserver, campaign)["executions"][0]["sentCount"] == 2


@pytest.mark.mockserver(given={**GIVEN, "campaigns": [{**NEW, "id": "seeded", "filters": VIPS}]})
def test_wrong_filter_of_seed_data(mockserver: Sandbox) -> None:
    """No chat has the tag of a campaign that the seed data has."""
    start(mockserver, "seeded")
    assert read(mockserver, "seeded")["executions"][0]["sentCount"] == 2


@pytest.mark.mockserver(given={"templates": [{"id": "t"}]}, choices={"success-status": "all-200"})
def test_tenant_without_chats(mockserver: Sandbox) -> None:
    """The test gives the tenant no chat; the creation of the campaign is answered with 200."""
    campaign = create(mockserver)
    execution = start(mockserver, campaign)
    mockserver.advance(until="idle")
    assert send(mockserver, "GET", f"/v1/campaigns/{campaign}/executions/{execution}")["sentCount"] == 2


def test_estimate(mockserver: Sandbox) -> None:
    """The test expects another estimate of an audience than the filters give."""
    assert send(mockserver, "POST", "/v1/campaigns/audience-preview", {"filters": VIPS})["estimatedCount"] == 2


def test_oldest_message_first(mockserver: Sandbox) -> None:
    """The client takes the messages of a chat for the oldest first."""
    mockserver.apply(given={"messages": [{"chatId": "one", "text": text} for text in ("first", "second")]})
    assert send(mockserver, "GET", "/v1/messaging/chats/one")["records"][0]["text"] == "first"


def test_lost_filters(mockserver: Sandbox) -> None:
    """The client previews with `filters` and creates with `filter`, in the middle of a long history."""
    for number in range(30):
        create(mockserver, name=f"Other {number}")
    send(mockserver, "POST", "/v1/campaigns/audience-preview", {"filters": VIPS})
    launched(mockserver, filter=VIPS)
    for number in range(30):
        mockserver.call("GET", f"/v1/campaigns?unlike={number}")
    assert mockserver.ledger.sends == []


def test_upload_of_another_type(mockserver: Sandbox) -> None:
    """The client uploads a program."""
    upload(mockserver, "x.exe", bytes(range(256)) * 9, "application/x-msdownload").raise_for_status()


def test_partial_upload(mockserver: Sandbox) -> None:
    """One file of an upload failed, as a rule says, and the client reads its id."""
    mockserver.on("uploadMedia").fail_media(names=["a.pdf"])
    answer = upload(mockserver, "a.pdf", sample_file("application/pdf"), "application/pdf").json()
    assert answer[0]["id"]


# What the client makes of an answer


def test_null(mockserver: Sandbox) -> None:
    """The client reads the end of an execution that goes on."""
    campaign = launched(mockserver)
    mockserver.advance(microseconds=588)
    execution = read(mockserver, campaign)["executions"][0]
    assert execution["completedAt"].startswith("2026")


def test_word_for_a_number(mockserver: Sandbox) -> None:
    """The client reads a word as a number, which no wait would change."""
    assert int(read(mockserver, launched(mockserver))["status"])


def test_empty_list(mockserver: Sandbox) -> None:
    """The client reads the first execution of a campaign that has none."""
    campaign = read(mockserver, create(mockserver))
    assert campaign["executions"][0]


def test_empty_answer(mockserver: Sandbox) -> None:
    """The client reads JSON in an empty answer."""
    campaign = launched(mockserver)
    mockserver.call("POST", f"/v1/campaigns/{campaign}/cancel").json()


def test_late_cleanup(mockserver: Sandbox) -> None:
    """The test expects one chat too few, and its cleanup cancels what is done."""
    campaign = launched(mockserver)
    mockserver.advance(until="idle")
    try:
        assert read(mockserver, campaign)["executions"][0]["targetCount"] == 1
    finally:
        mockserver.call("POST", f"/v1/campaigns/{campaign}/cancel")


@pytest.mark.mockserver(given=MANY)
def test_count_of_sends(mockserver: Sandbox) -> None:
    """The test forgets that the first message is sent at the start."""
    campaign = launched(mockserver, cadence=10)
    mockserver.advance("3m")
    assert read(mockserver, campaign)["executions"][0]["sentCount"] == 30


# Expectations on calls


def test_expected_call_is_another(mockserver: Sandbox) -> None:
    """The client sends the name with a space at its end."""
    create(mockserver, name="Promo ", cadence=0)
    create(mockserver, name="Other")
    mockserver.calls("createCampaign").where(name="Promo", cadence=0).one()


def test_one_call_too_many(mockserver: Sandbox) -> None:
    """The client creates two campaigns."""
    create(mockserver)
    create(mockserver, name="Promo (2)")
    mockserver.calls("createCampaign").one()


def test_one_start_too_many(mockserver: Sandbox) -> None:
    """The client starts again without a look after a lost answer, which explains the count."""
    mockserver.on("startCampaign").nth(1).drop("after")
    campaign = create(mockserver)
    with pytest.raises(ConnectionError):
        start(mockserver, campaign)
    start(mockserver, campaign)
    mockserver.calls("startCampaign").one()


def test_no_call_is_expected(mockserver: Sandbox) -> None:
    """The client lists what the test expects it to know."""
    mockserver.call("GET", "/v1/campaigns?limit=1")
    mockserver.calls("listCampaigns").none()


def test_call_of_a_thread_is_missing(mockserver: Sandbox) -> None:
    """The test looks for a call before the client's thread has made it."""
    assert mockserver.base_url
    mockserver.calls("startCampaign").one()


def test_calls_in_another_order(mockserver: Sandbox) -> None:
    """The client starts before it reads."""
    read(mockserver, launched(mockserver))
    mockserver.calls.assert_order("createCampaign", "readCampaign", "startCampaign")


# Faults


def test_fault_is_not_retried(mockserver: Sandbox) -> None:
    """The answer of a start is lost, and the client does not look what became of it."""
    mockserver.on("startCampaign").drop("after")
    launched(mockserver)


def test_repeated_by_the_transport(mockserver: Sandbox) -> None:
    """The answer of a list is lost, and the same call follows."""
    mockserver.on("listCampaigns").nth(1).drop("before")
    url, headers = (
        f"{mockserver.base_url}/v1/campaigns",
        {"X-API-Key": mockserver.secret_key, "User-Agent": "GuzzleHttp/7"},
    )
    session = mockserver.requests_session()
    with pytest.raises(requests.ConnectionError):
        session.get(url, headers=headers)
    assert session.get(url, headers=headers).json() == {}


def test_refused_repetition(mockserver: Sandbox) -> None:
    """The answers of two starts are lost, and the transport sends both again: the repetitions are refused."""
    mockserver.on("startCampaign").nth(1).drop("after")
    mockserver.on("startCampaign").nth(3).drop("after")
    headers = {"X-API-Key": mockserver.secret_key, "User-Agent": "GuzzleHttp/7"}
    session = mockserver.requests_session()
    statuses = []
    for name in ("Promo", "Retorno"):
        url = f"{mockserver.base_url}/v1/campaigns/{create(mockserver, name=name)}/start"
        with pytest.raises(requests.ConnectionError):
            session.post(url, json={}, headers=headers)
        statuses.append(session.post(url, json={}, headers=headers).status_code)
    assert statuses == [201, 201]


def test_second_campaign(mockserver: Sandbox) -> None:
    """The answer of a create is lost, and the client creates again under another name."""
    mockserver.on("createCampaign").nth(1).drop("after")
    with pytest.raises(ConnectionError):
        create(mockserver)
    create(mockserver, name="Promo (2)")
    assert len(send(mockserver, "GET", "/v1/campaigns")["campaigns"]) == 1


def test_second_campaign_after_a_look(mockserver: Sandbox) -> None:
    """The client looks for the campaign whose answer is lost, and creates another one all the same, which it may."""
    mockserver.on("createCampaign").nth(1).drop("after")
    with pytest.raises(ConnectionError):
        create(mockserver)
    send(mockserver, "GET", "/v1/campaigns")
    create(mockserver, name="Promo (2)")
    assert len(send(mockserver, "GET", "/v1/campaigns")["campaigns"]) == 1


def test_double_start(mockserver: Sandbox) -> None:
    """The answer of a start is lost, and the client starts again without a look."""
    mockserver.on("startCampaign").nth(1).drop("after")
    campaign = create(mockserver)
    with pytest.raises(ConnectionError):
        start(mockserver, campaign)
    assert start(mockserver, campaign)


def test_rate_limit(mockserver: Sandbox) -> None:
    """The client ignores a 429, and calls again at once."""
    mockserver.on("listCampaigns").skip(1).times(2).error("RATE_LIMIT_EXCEEDED")
    statuses = [mockserver.call("GET", "/v1/campaigns").status for _ in range(3)]
    assert statuses == [200, 200, 200]


def test_failed_sends(mockserver: Sandbox) -> None:
    """Each second send fails, as a rule says."""
    mockserver.on("startCampaign").fail_sends(every=2)
    campaign = launched(mockserver)
    mockserver.advance(until="idle")
    assert read(mockserver, campaign)["executions"][0]["sentCount"] == 2


@pytest.mark.mockserver(
    given={**GIVEN, "templates": [{"id": "t", "name": "Oferta", "providerTemplateStatus": "PAUSED"}]}
)
def test_paused_template(mockserver: Sandbox) -> None:
    """The provider has paused the template, so that each send fails."""
    launched(mockserver)
    mockserver.advance(until="idle")
    assert len(mockserver.ledger.sends) == 2


@pytest.mark.mockserver(given=MANY)
def test_canceled_by_a_rule(mockserver: Sandbox) -> None:
    """A rule cancels the campaign while it runs."""
    campaign = launched(mockserver)
    mockserver.on("listCampaigns").cancel_campaign()
    mockserver.call("GET", "/v1/campaigns")
    assert read(mockserver, campaign)["status"] == "processing"


@pytest.mark.mockserver(given=MANY)
def test_failed_by_the_test(mockserver: Sandbox) -> None:
    """The test itself makes the campaign fail."""
    campaign = launched(mockserver)
    mockserver.admin.fail_campaign(campaign)
    assert read(mockserver, campaign)["status"] == "completed"


def test_canceled_by_an_earlier_call(mockserver: Sandbox) -> None:
    """The client itself has canceled the campaign."""
    campaign = launched(mockserver)
    mockserver.call("POST", f"/v1/campaigns/{campaign}/cancel")
    assert read(mockserver, campaign)["status"] == "completed"


def test_stalled_sends(mockserver: Sandbox) -> None:
    """A rule stops the sends after the first one."""
    mockserver.after(sent=1).stall_sends()
    campaign = launched(mockserver)
    mockserver.advance("1h")
    assert read(mockserver, campaign)["status"] == "completed"


def test_rotated_key(mockserver: Sandbox) -> None:
    """A rule gives the tenant another key, and the client keeps the old one."""
    key = {"X-API-Key": mockserver.secret_key}
    mockserver.on("createCampaign").rotate_key()
    create(mockserver)
    assert mockserver.call("GET", "/v1/campaigns", headers=key).status == 200


def test_stale_read(mockserver: Sandbox) -> None:
    """A rule answers a read as before the start."""
    campaign = create(mockserver)
    mockserver.on("readCampaign").stale()
    start(mockserver, campaign)
    assert read(mockserver, campaign)["status"] == "processing"


def test_rule_without_a_match(mockserver: Sandbox) -> None:
    """The rule of the test waits for another name than the client sends."""
    mockserver.on("createCampaign").where(name="promo").must_fire().error("INTERNAL_ERROR")
    create(mockserver)


def test_rule_of_the_test(mockserver: Sandbox) -> None:
    """The client does not retry, so the rule that the test makes for its second call never fires."""
    mockserver.on("startCampaign").nth(2).drop("after")
    launched(mockserver)


def test_rule_without_an_effect(mockserver: Sandbox) -> None:
    """The test forgets what its rule does."""
    mockserver.on("startCampaign").nth(2)
    launched(mockserver)


def test_rule_with_nothing_to_act_on(mockserver: Sandbox) -> None:
    """The client starts no campaign, so the rule has none to end."""
    mockserver.on("listCampaigns").must_fire().fail_campaign()
    mockserver.call("GET", "/v1/campaigns")


def test_rule_without_its_call(mockserver: Sandbox) -> None:
    """The client does not retry, so the rule for the second call never fires."""
    mockserver.on("startCampaign").nth(2).may_fire().drop("after")
    launched(mockserver)
    mockserver.calls("startCampaign").times(2)


def test_held_call(mockserver: Sandbox) -> None:
    """A rule delays the one call, and the client does not wait as long."""
    mockserver.on("createCampaign").delay("30s")
    mockserver.call("POST", "/v1/campaigns", json=NEW, timeout=3)


def test_held_call_among_others(mockserver: Sandbox) -> None:
    """A rule delays a create, and the client goes on to list."""
    mockserver.on("createCampaign").delay("30s")
    with pytest.raises(TimeoutError):
        mockserver.call("POST", "/v1/campaigns", json=NEW, timeout=3)
    assert send(mockserver, "GET", "/v1/campaigns")["campaigns"]


# Clocks


def test_frozen_clock(mockserver: Sandbox, stopwatch: None) -> None:
    """The client waits in real time for a clock that is frozen."""
    campaign = launched(mockserver)
    statuses = [read(mockserver, campaign)["status"] for _ in range(4)]
    assert statuses[-1] == "completed"


def test_clock_is_not_advanced(mockserver: Sandbox) -> None:
    """The test reads the end of a campaign without an advance of the clock to it."""
    campaign = launched(mockserver)
    mockserver.advance(microseconds=544_321)
    assert read(mockserver, campaign)["status"] == "completed"


def test_wait_that_does_nothing(mockserver: Sandbox) -> None:
    """The client waits by a function that the test has replaced by one that does nothing."""
    campaign, status = launched(mockserver), "processing"
    for _ in range(10):
        status = read(mockserver, campaign)["status"]
    if status != "completed":
        raise TimeoutError(f"{campaign} is not completed")


def test_read_before_the_end(mockserver: Sandbox) -> None:
    """The test reads first, and advances the clock afterwards."""
    campaign = launched(mockserver)
    seen = read(mockserver, campaign)
    mockserver.advance("1h")
    assert seen["status"] == "completed"


def test_stopped_by_a_timeout(mockserver: Sandbox, stopwatch: None) -> None:
    """The client waits for a thread until the timeout of the test."""
    launched(mockserver)
    pytest.fail("Timeout (>1.0s) from pytest-timeout.")


@pytest.mark.mockserver(choices={"rate-limit-numbers": {"requests": 1, "per": 60}})
def test_rate_limit_on_a_frozen_clock(mockserver: Sandbox, stopwatch: None) -> None:
    """The client waits in real time for a limit whose clock is frozen."""
    statuses = [mockserver.call("POST", "/v1/campaigns", json=NEW).status for _ in range(3)]
    assert statuses[-1] == 201


def test_pending_session(mockserver: Sandbox) -> None:
    """Nobody plays the end user of a session."""
    session = connecting(mockserver)
    assert send(mockserver, "GET", f"{SESSIONS}/{session}")["status"] == "completed"


def test_expired_session(mockserver: Sandbox) -> None:
    """The client reads a session 25 minutes later; it has expired after 20."""
    session = connecting(mockserver)
    mockserver.advance("25m")
    assert send(mockserver, "GET", f"{SESSIONS}/{session}")["status"] == "completed"


@freezegun.freeze_time("2020-01-01T00:00:00Z")
def test_two_clocks(mockserver: Sandbox) -> None:
    """The test freezes the process at another instant than the sandbox."""
    create(mockserver)
    raise AssertionError("the campaign is from the future")


def test_endless_poll(mockserver: Sandbox) -> None:
    """The client waits for a status that does not exist."""
    campaign, status = launched(mockserver), "processing"
    for _ in range(8):
        mockserver.advance("1m")
        status = read(mockserver, campaign)["status"]
    assert status == "done"


@pytest.mark.mockserver(given=MANY, now="2026-03-01T23:59:30Z", conduct="off")
def test_two_days(mockserver: Sandbox) -> None:
    """The client polls over midnight in equal rounds, and stops too soon."""
    campaign = launched(mockserver)
    for _ in range(60):
        mockserver.advance("1s")
        campaigns = [read(mockserver, campaign), send(mockserver, "GET", "/v1/message-templates")]
    for _ in range(20):
        mockserver.advance("1s")
        campaigns = [read(mockserver, campaign)]
    assert campaigns[0]["status"] == "completed"


# Events and receivers


def test_receiver_raises(mockserver: Sandbox) -> None:
    """The receiver reads a member that the event does not have."""
    mockserver.receive_webhooks(lambda event: event.json()["tenant"])
    connected(mockserver)
    assert mockserver.ledger.executions


def test_receiver_asserts(mockserver: Sandbox) -> None:
    """An assertion of the test in its receiver fails; nothing else does."""
    mockserver.receive_webhooks(lambda event: pytest.fail(f"{event.json()['event']} is not expected"))
    connected(mockserver)


def test_receiver_returns_an_object(mockserver: Sandbox) -> None:
    """The receiver returns an object, which is no response."""
    hook = mockserver.receive_webhooks(lambda event: {"ok": True})
    connected(mockserver)
    assert hook.deliveries[0]["status"] == "delivered"


@pytest.mark.mockserver(choices={"wh-timestamp": "sandbox-clock"})
def test_receiver_refuses(mockserver: Sandbox) -> None:
    """The receiver verifies with a wrong secret."""
    seen: list[str] = []
    mockserver.receive_webhooks(lambda event: 401)
    connected(mockserver)
    assert seen == ["entrypoints.chatapp.connected"]


def test_receiver_refuses_by_age(mockserver: Sandbox) -> None:
    """The receiver takes an event of the sandbox's clock for an old one."""
    mockserver.receive_webhooks(lambda event: 401)
    connected(mockserver)
    assert mockserver.ledger.executions


def test_receiver_is_at_another_path(mockserver: Sandbox) -> None:
    """The receiver has no route for events."""
    mockserver.receive_webhooks(lambda event: 404)
    connected(mockserver)
    assert mockserver.ledger.executions


def test_repeated_event(mockserver: Sandbox) -> None:
    """The receiver answers 500 once, and counts the event twice."""
    seen: list[Any] = []
    answers = iter((500,))
    mockserver.receive_webhooks(lambda event: seen.append(event) or next(answers, 204))
    connected(mockserver)
    mockserver.advance("1h")
    assert len(seen) == 1


def test_lost_event(mockserver: Sandbox) -> None:
    """A rule loses the event, which the service takes for delivered."""
    seen: list[Any] = []
    mockserver.on("delivery").deliver(lose=True)
    mockserver.receive_webhooks(lambda event: seen.append(event) or 204)
    connected(mockserver)
    assert seen


def test_event_for_nobody(mockserver: Sandbox) -> None:
    """The receiver is registered after the event."""
    seen: list[Any] = []
    connected(mockserver)
    mockserver.receive_webhooks(lambda event: seen.append(event))
    assert seen


def test_late_event(mockserver: Sandbox) -> None:
    """A rule delays an event, and the client does not wait for it."""
    seen: list[Any] = []
    mockserver.on("delivery").deliver(delay="5m")
    mockserver.receive_webhooks(lambda event: seen.append(event) or 204)
    connected(mockserver)
    mockserver.sleep(2.5)
    assert len(seen) == 1


def test_accepted_event(mockserver: Sandbox) -> None:
    """The receiver accepts the event, and keeps nothing of it."""
    seen: list[Any] = []
    mockserver.receive_webhooks(lambda event: 204)
    mockserver.end_user(connecting(mockserver)).connect(phone="+5511999990000")
    assert seen


def test_receiver_raises_at_a_forged_event(mockserver: Sandbox) -> None:
    """The receiver reads a signature that a forged event does not have, which explains nothing."""
    mockserver.on("delivery").deliver(forge="no-signature")
    mockserver.receive_webhooks(lambda event: event.headers["webhook-signature"] and None)
    connected(mockserver)
    assert mockserver.ledger.executions


def test_receiver_refuses_more_than_a_forged_event(mockserver: Sandbox) -> None:
    """The receiver refuses a forged event as it should, and the genuine one too."""
    seen: list[Any] = []
    mockserver.on("delivery").nth(1).deliver(forge="wrong-secret")
    mockserver.receive_webhooks(lambda event: 401)
    connected(mockserver)
    assert seen


def test_receiver_raises_at_an_unknown_event(mockserver: Sandbox) -> None:
    """The receiver reads a member that an event of an unknown kind does not have."""
    mockserver.on("delivery").deliver(unknown_kind="entrypoints.chatapp.renamed")
    mockserver.receive_webhooks(lambda event: event.json()["data"]["sessionId"] and None)
    connected(mockserver)
    assert mockserver.ledger.executions


def test_forged_event(mockserver: Sandbox) -> None:
    """The receiver does not verify, and so counts a forged event and a duplicate."""
    seen: list[Any] = []
    mockserver.on("delivery").deliver(forge="wrong-secret", duplicate=1)
    mockserver.receive_webhooks(lambda event: seen.append(event) or 204)
    connected(mockserver)
    assert len(seen) == 1


@pytest.mark.mockserver(scenario="connect-complete-before-202")
def test_event_before_the_answer(mockserver: Sandbox) -> None:
    """The event of a session arrives before the answer that names it, and the receiver does not know the session."""
    known: list[str] = []
    mockserver.receive_webhooks(lambda event: 204 if event.json()["data"]["sessionId"] in known else 503)
    known.append(connecting(mockserver))
    assert mockserver.events[0]["deliveries"][0]["status"] == "delivered"


# The test itself


def test_refused_command(mockserver: Sandbox) -> None:
    """The test misspells a part of the seed data."""
    mockserver.apply({"given": {"templatez": []}})


def test_refused_act(mockserver: Sandbox) -> None:
    """The test completes a session that the client could not create."""
    session = send(mockserver, "POST", SESSIONS, {"returnUrl": "ftp://a"}).get("sessionId")
    mockserver.complete_session(str(session))


def test_undone_by_a_checkpoint(mockserver: Sandbox) -> None:
    """The test fails where its calls are undone."""
    with mockserver.checkpoint():
        assert create(mockserver, name="")


def test_group_of_exceptions(mockserver: Sandbox) -> None:
    """Two tasks of the client fail."""
    create(mockserver)
    raise ExceptionGroup("unhandled", [ValueError("no name"), ValueError("no key")])


def test_own_words(mockserver: Sandbox) -> None:
    """The test fails with one line, and a refusal explains it."""
    read(mockserver, "none")
    pytest.fail("the client gave up")


def test_several_sandboxes(mockserver_server: MockServer) -> None:
    """The client mixes up the ids of two sandboxes."""
    with mockserver_server.sandbox(given=GIVEN, now=NOON, seed=1) as first:
        campaign = create(first)
    with mockserver_server.sandbox(given=GIVEN, now=NOON, seed=2) as second:
        assert read(second, campaign)["status"] == "draft"


@pytest.mark.mockserver(scenario="demo", given=None, choices={"success-status": "all-200"})
def test_settings(mockserver: Sandbox) -> None:
    """A choice of the mark lets a create answer 200."""
    mockserver.choose({"media-max-files": 2})
    body = {**NEW, "templateId": "template_semana_clareamento"}
    assert mockserver.call("POST", "/v1/campaigns", json=body).status == 201


def test_example_of_hypothesis(mockserver_server: MockServer) -> None:
    """The client does not refuse a cadence that the API refuses; an example shows it."""

    @settings(phases=[Phase.explicit], database=None)
    @given(st.integers())
    @example(0)
    def check(cadence: int) -> None:
        with mockserver_server.sandbox(given=GIVEN, now=NOON, seed=0) as sandbox:
            assert create(sandbox, cadence=cadence)

    check()


# Tests in another language


def told(api: Sandbox, record: Record, words: str | None = None) -> None:
    query = {} if words is None else {"failure": words}
    record("report", requests.get(f"{api.base_url}/_mock/report", params=query).text)


def test_told_words(mockserver: Sandbox, record_property: Record) -> None:
    """A test in TypeScript fails, as its campaign was started twice."""
    campaign = launched(mockserver)
    start(mockserver, campaign)
    words = "expected 202, got 422\nat main.test.ts:7"
    answer = requests.post(f"{mockserver.base_url}/_mock/report", params={"failure": words, "name": "starts"})
    record_property("report", answer.text)


def test_told_without_words(mockserver: Sandbox, record_property: Record) -> None:
    """No failure is given; the last call that failed was limited by a rule."""
    mockserver.on("listCampaigns").error("RATE_LIMIT_EXCEEDED")
    mockserver.call("GET", "/v1/campaigns")
    told(mockserver, record_property)


def test_told_of_a_wait(mockserver: Sandbox, record_property: Record, stopwatch: None) -> None:
    """A test in another language waits for a session that nobody completes."""
    session = connecting(mockserver)
    for _ in range(3):
        send(mockserver, "GET", f"{SESSIONS}/{session}")
    told(mockserver, record_property, "test timed out after 5000ms")


def test_told_of_no_call(mockserver: Sandbox, record_property: Record) -> None:
    """A client in another language has another address."""
    told(mockserver, record_property)
