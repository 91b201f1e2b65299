"""What differs from the clean run, and the careful clients that rightly do less: each in the style of another team."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import Any

import pytest

from mockserver import MockServer, Sandbox, sample_file
from mockserver.testing.runs.faults import ExploreReport

FINAL = ("completed", "failed", "canceled")
Explore = Callable[..., ExploreReport]
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
LOST = (OSError, HTTPException)
TEMPLATE = {"id": "template_t", "isOfficial": True, "providerTemplateStatus": "APPROVED"}
GIVEN: dict[str, Any] = {"templates": [TEMPLATE], "chats": {"count": 3}}
OTHERS = (
    "campaign-canceled", "campaign-fails", "template-paused", "key-revoked", "subscription-lapses", "session-expires",
    "user-cancels", "number-in-use", "entrypoint-removed", "stale",
)  # fmt: skip


class Refused(Exception):
    """The service refused a call."""


class Api:
    """A thin client: it repeats reads, and raises what is refused."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def get(self, path: str) -> Any:
        for _ in range(4):
            try:
                answer = self._sandbox.call("GET", path, timeout=5)
            except LOST:
                self._sandbox.sleep(5)
                continue
            return self._body(answer)
        raise TimeoutError(path)

    def post(self, path: str, body: Any = None) -> Any:
        return self._body(self._sandbox.call("POST", path, json=body, timeout=5))

    def created(self, name: str) -> str:
        body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 4}
        return f"/v1/campaigns/{self.post('/v1/campaigns', body)['campaignId']}"

    @staticmethod
    def _body(answer: Any) -> Any:
        if answer.status >= 400:
            raise Refused(answer.status)
        return answer.json() if answer.body else None


def launched(sandbox: Sandbox) -> tuple[Api, str]:
    """Return a client, and the path of its campaign, which it has started."""
    api = Api(sandbox)
    campaign = api.created("Natal")
    api.post(f"{campaign}/start")
    return api, campaign


def one_after_the_other(sandbox: Sandbox) -> None:
    """Exceptions: the second campaign begins only after the first has completed; a refusal ends the work quietly."""
    api = Api(sandbox)
    try:
        for name in ("Natal", "Carnaval"):
            campaign = api.created(name)
            api.post(f"{campaign}/start")
            status = "processing"
            while status not in FINAL:
                sandbox.sleep(15)
                status = api.get(campaign)["status"]
            if status != "completed":
                return
    except Refused:
        return


def by_return_values(sandbox: Sandbox) -> None:
    """Return values: each step answers whether the next makes sense."""

    def is_usable() -> bool:
        answer = sandbox.call("GET", "/v1/message-templates", timeout=5)
        rows = answer.json()["templates"] if answer.status == 200 else []
        return any(row["isOfficial"] for row in rows)

    def launch() -> str | None:
        body = {"name": "Natal", "platform": "chatapp", "templateId": "template_t", "cadence": 4}
        created = sandbox.call("POST", "/v1/campaigns", json=body, timeout=5)
        return created.json()["campaignId"] if created.status < 300 else None

    def run(campaign: str) -> str | None:
        path = f"/v1/campaigns/{campaign}"
        read = sandbox.call("GET", path, timeout=5)
        if read.status != 200 or read.json()["status"] != "draft":
            return None
        started = sandbox.call("POST", f"{path}/start", timeout=5)
        return path if started.status < 300 else None

    campaign = launch() if is_usable() else None
    path = run(campaign) if campaign is not None else None
    if path is not None:
        sandbox.sleep(5)
        sandbox.call("POST", f"{path}/cancel", timeout=5)


async def with_a_deadline(sandbox: Sandbox) -> None:
    """Async: connect a number until a deadline, and welcome its chats only if it is connected."""
    sandbox.on("readConnectionSession").nth(2).complete_session()
    created = await sandbox.aio.call("POST", SESSIONS, json={}, timeout=5)
    if created.status >= 300:
        return
    session, deadline = created.json()["sessionId"], sandbox.now.timestamp() + 1800
    connected = None
    while connected is None and sandbox.now.timestamp() < deadline:
        read = await sandbox.aio.call("GET", f"{SESSIONS}/{session}", timeout=5)
        if read.status != 200 or read.json()["status"] in ("failed", "expired"):
            return
        connected = read.json().get("entrypoint")
        await sandbox.aio.sleep(4)
    channel = await sandbox.aio.call("GET", f"/v1/entrypoints/{connected['id']}", timeout=5) if connected else None
    if channel is not None and channel.status == 200:
        body = {"name": "Boas-vindas", "platform": "chatapp", "templateId": "template_t", "cadence": 4}
        await sandbox.aio.call("POST", "/v1/campaigns", json=body, timeout=5)


def by_events(sandbox: Sandbox) -> None:
    """Callbacks: the event of a connected number creates a campaign, and that of a failure does nothing."""
    api, seen = Api(sandbox), set[str]()

    def on_event(request: Any) -> int:
        event = request.json()
        session = event["data"]["sessionId"]
        if event["event"].endswith(".connected") and session not in seen:
            seen.add(session)
            api.created("Boas-vindas")
        return 204

    sandbox.receive_webhooks(on_event)
    session = api.post(SESSIONS, {})["sessionId"]
    sandbox.on("readEntrypoint").nth(1).complete_session()
    for _ in range(2):
        sandbox.call("GET", "/v1/entrypoints/entrypoint_none", timeout=5)
        sandbox.sleep(60)
    assert session


def over_the_list(sandbox: Sandbox) -> None:
    """Cancel what the list shows as running."""
    api = Api(sandbox)
    for name in ("Natal", "Carnaval"):
        api.post(f"{api.created(name)}/start")
    for row in api.get("/v1/campaigns")["campaigns"]:
        if row["status"] == "processing":
            api.post(f"/v1/campaigns/{row['id']}/cancel")


CAREFUL = (one_after_the_other, by_return_values, with_a_deadline, by_events, over_the_list)


@pytest.fixture
def explore(mockserver_server: MockServer) -> Explore:
    def run(test: Callable[[Sandbox], object], **options: Any) -> ExploreReport:
        options = {"settings": {"given": GIVEN}, "choices": (), "tolerates": (Refused, TimeoutError), **options}
        return mockserver_server.explore(test, **options)

    return run


def silent(report: ExploreReport) -> Sequence[str]:
    return [row.message for row in report.findings if row.verdict == "silent"]


@pytest.mark.parametrize("client", CAREFUL)
def test_a_client_that_reads_what_others_did_may_do_less(explore: Explore, client: Callable[[Sandbox], object]) -> None:
    report = explore(client, faults=OTHERS)

    assert [] == silent(report), report.text()
    assert report.verdicts["survived"] > 0


def unnoticed(sandbox: Sandbox) -> None:
    """A start that fails is swallowed, and what the service refuses after that too."""
    campaign = Api(sandbox).created("Natal")
    for call in ("start", "cancel"):
        with contextlib.suppress(*LOST):
            sandbox.call("POST", f"{campaign}/{call}", timeout=5)


def test_a_refusal_that_follows_from_a_lost_start_excuses_no_missing_one(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        sandbox.choose({"cancel-draft": "unprocessable"})
        unnoticed(sandbox)

    report = explore(test, faults=("drop-before", "internal-error"), operations=("startCampaign",))

    assert ["the test passed, and its calls caused 0 executions instead of 1"] == silent(report)
    assert 2 == report.findings[0].count


def test_a_name_that_the_clients_own_lost_create_has_taken_excuses_nothing(
    explore: Explore,
) -> None:
    def test(sandbox: Sandbox) -> None:
        api, campaign = Api(sandbox), None
        for _ in range(2):
            try:
                campaign = api.created("Natal")
                break
            except LOST:
                continue
            except Refused:
                break
        if campaign is not None:
            api.post(f"{campaign}/start")

    report = explore(test, faults=("drop-after",), operations=("createCampaign",))

    assert ["the test passed, and its calls caused 0 executions instead of 1"] == silent(report)


def test_more_campaigns_and_fewer_executions_are_two_findings(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        api = Api(sandbox)
        campaign = api.created("Natal")
        try:
            api.post(f"{campaign}/start")
        except LOST:
            api.created("Natal (2)")

    report = explore(test, faults=("drop-before",), operations=("startCampaign",))

    assert [
        "the test passed, and its calls caused 2 campaigns instead of 1",
        "the test passed, and its calls caused 0 executions instead of 1",
    ] == silent(report)
    campaigns, executions = (row.shown for row in report.findings)
    assert campaigns[0].startswith("campaigns: campaign 'Natal (2)' (campaign_")
    assert executions[0].startswith("no executions: campaign 'Natal' (campaign_")
    assert ["#2 startCampaign -> no answer", "#3 createCampaign -> 201"] == list(campaigns[1:])


def test_a_cancel_of_another_campaign_is_a_difference(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        api = Api(sandbox)
        first, second = api.created("Natal"), api.created("Carnaval")
        api.post(f"{first}/start")
        answer = sandbox.call("GET", first, timeout=5)
        api.post(f"{first if answer.status == 200 else second}/cancel")

    report = explore(test, faults=("internal-error",), operations=("readCampaign",))

    assert ["the test passed, and its calls were for other campaigns than in the clean run"] == silent(report)
    shown = [line.partition(" (campaign_")[0] for line in report.findings[0].shown]
    assert ["cancels: campaign 'Carnaval'", "no cancels: campaign 'Natal'"] == shown[:2]


def ten_polls(sandbox: Sandbox) -> None:
    """Ten polls and done."""
    api, campaign = launched(sandbox)
    for _ in range(10):
        if api.get(campaign)["status"] in FINAL:
            return
        sandbox.sleep(15)


def while_processing(sandbox: Sandbox) -> None:
    """Anything but `processing` is the end."""
    api, campaign = launched(sandbox)
    sandbox.sleep(1)
    while api.get(campaign)["status"] == "processing":
        sandbox.sleep(15)


def sessions_thrice(sandbox: Sandbox) -> None:
    """Three reads of a session."""
    sandbox.on("readConnectionSession").nth(3).complete_session()
    session = json.loads(sandbox.call("POST", SESSIONS, json={}, timeout=5).body)["sessionId"]
    for _ in range(3):
        with contextlib.suppress(*LOST):
            sandbox.call("GET", f"{SESSIONS}/{session}", timeout=5)
        sandbox.sleep(5)


def until_final(sandbox: Sandbox) -> None:
    """Poll to the end, on a loop."""
    api, campaign = launched(sandbox)

    async def poll() -> None:
        while api.get(campaign)["status"] not in FINAL:
            await sandbox.aio.sleep(15)

    asyncio.run(poll())


@pytest.mark.parametrize(
    ("client", "fault", "stopped"),
    [
        (
            ten_polls,
            "sends-stall",
            "the client returned while campaign 'Natal' (ID) was still processing at its last read (#12)",
        ),
        (while_processing, "stale", "the client read an outdated draft of campaign 'Natal' (ID) (#3), and stopped"),
    ],
)
def test_a_client_that_stops_polling_before_an_end_is_silent(
    explore: Explore, client: Callable[[Sandbox], object], fault: str, stopped: str
) -> None:
    report = explore(client, faults=(fault,))

    (message,) = silent(report)
    assert f"the test passed, and {stopped}" == re.sub(r"campaign_\w+", "ID", message)


@pytest.mark.parametrize("client", [until_final, sessions_thrice])
def test_a_client_that_reads_an_end_or_gets_no_answer_has_not_stopped_too_early(
    explore: Explore, client: Callable[[Sandbox], object]
) -> None:
    report = explore(client, faults=("sends-stall", "stale", "drop-before"), operations=("readCampaign",))

    assert [] == silent(report), report.text()


def until_canceled(sandbox: Sandbox) -> None:
    """Cancel what runs, and read on until the end is known; nothing is left to cancel if another was first."""
    api, campaign = launched(sandbox)
    for _ in range(8):
        status = api.get(campaign)["status"]
        if status == "canceled":
            return
        if status == "processing":
            api.post(f"{campaign}/cancel")
        sandbox.sleep(1)


def canceled_and_left(sandbox: Sandbox) -> None:
    """Read before and after a cancel that was accepted, whatever that shows."""
    api, campaign = launched(sandbox)
    api.get(campaign)
    api.post(f"{campaign}/cancel")
    api.get(campaign)


def canceled_and_read_once(sandbox: Sandbox) -> None:
    """Read the execution of a campaign once after its cancel; a read that fails is repeated."""
    api = Api(sandbox)
    campaign = api.created("Natal")
    execution = api.post(f"{campaign}/start")["executionId"]
    api.post(f"{campaign}/cancel")
    api.get(f"{campaign}/executions/{execution}")


@pytest.mark.parametrize(
    ("client", "fault"),
    [(until_canceled, "campaign-canceled"), (canceled_and_left, "stale"), (canceled_and_read_once, "stale")],
)
def test_an_end_is_news_unless_the_client_has_caused_it(
    explore: Explore, client: Callable[[Sandbox], object], fault: str
) -> None:
    report = explore(client, faults=(fault,))

    assert ([], True) == (silent(report), report.coverage.singles.tried > 0), report.text()


def test_a_read_that_is_repeated_since_it_failed_polls_nothing(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        api, campaign = launched(sandbox)
        sandbox.sleep(120)
        api.get(campaign)

    report = explore(test, faults=("drop-before", "stale"), operations=("readCampaign",), pairs=10)

    assert ([], True) == (silent(report), report.coverage.pairs.tried > 0), report.text()


def test_a_receiver_that_refuses_an_event_reports_that_it_does_less(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        def on_event(request: Any) -> int:
            listed = sandbox.call("GET", "/v1/campaigns", timeout=5)
            if listed.status != 200:
                return 500
            Api(sandbox).created("Boas-vindas")
            return 204

        sandbox.receive_webhooks(on_event)
        session = Api(sandbox).post(SESSIONS, {})["sessionId"]
        sandbox.complete_session(session)

    report = explore(test, faults=("outage-for-good",), operations=("listCampaigns",))

    assert ([], 1) == (silent(report), report.coverage.singles.tried), report.text()


def test_a_cancel_that_the_clean_run_was_refused_is_not_missing(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        api, campaign = launched(sandbox)
        sandbox.sleep(600)
        try:
            api.post(f"{campaign}/cancel")
        except (*LOST, Refused):
            api.get(campaign)

    report = explore(test, faults=("drop-before", "internal-error"), operations=("cancelCampaign",))

    assert ([], 2) == (silent(report), report.coverage.singles.tried), report.text()


def test_a_file_that_was_not_stored_is_no_upload(explore: Explore) -> None:
    def test(sandbox: Sandbox) -> None:
        sandbox.on("uploadMedia").fail_media()
        with sandbox.requests_session() as session:
            session.headers["X-API-Key"] = sandbox.secret_key
            session.post(f"{sandbox.base_url}/v1/media", files={"files": ("a.png", sample_file("image/png"))})

    report = explore(test, faults=(), choices=("media-failed-item-shape",))

    assert ([], 2) == (silent(report), report.coverage.singles.tried), report.text()
