"""A suite against a remote server: a failing test's report equals the one that it has in process."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mockserver import MockServer
from tests.testing.conftest import Suite

WORLD = """
    import httpx
    import pytest

    GIVEN = {"templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}],
             "chats": [{"id": "one"}, {"id": "two"}]}
    NEW = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}
    SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
    pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

    def create(mockserver, **other):
        return mockserver.call("POST", "/v1/campaigns", json={**NEW, **other}).json().get("campaignId")

    def start(mockserver, campaign, **how):
        return mockserver.call("POST", f"/v1/campaigns/{campaign}/start", **how)
"""
TESTS = {
    "nothing": """
    def test_it(mockserver):
        mockserver.base_url  # here too, so that both have an address
        assert 0
    """,
    "commands": """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.advance("1s")
        mockserver.choose({"dual-status": "guide"})
        mockserver.admin.set_tenant(subscription="suspended")
        assert 200 == mockserver.call("GET", f"/v1/campaigns/{campaign}").status
    """,
    "due": """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        assert "completed" == mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["status"]
    """,
    "rules": """
    def test_it(mockserver):
        mockserver.on("startCampaign").nth(1).drop("after")
        mockserver.on("cancelCampaign").error("INTERNAL_ERROR")
        campaign = create(mockserver)
        with pytest.raises(ConnectionError):
            start(mockserver, campaign)
        assert 202 == start(mockserver, campaign).status
    """,
    "must-fire": """
    def test_it(mockserver):
        mockserver.on("startCampaign").nth(2).must_fire().drop("after")
        start(mockserver, create(mockserver))
    """,
    "moves": """
    def test_it(mockserver):
        headers = {"X-API-Key": mockserver.secret_key}  # over the socket here too, so that urls are as long as there
        created = httpx.post(f"{mockserver.base_url}{SESSIONS}", json={}, headers=headers, trust_env=False)
        session = created.json()["sessionId"]
        mockserver.advance(minutes=1)
        mockserver.complete_session(session, phone="+5511999990000", name="Um")
        mockserver.apply({"scenario": "more", "given": {"forms": [{"id": "f"}]}})
        mockserver.freeze("2026-03-02T00:00:00Z")
        mockserver.admin.remove_rules()
        with mockserver.checkpoint():
            create(mockserver)
        assert "failed" == mockserver.call("GET", f"{SESSIONS}/{session}").json()["status"]
    """,
    "miss": """
    def test_it(mockserver):
        create(mockserver, name="promo ", cadence=0)
        create(mockserver)
        mockserver.calls("createCampaign").where(name="promo", cadence=0).one()
    """,
    "waits-in-time": """
    def test_it(mockserver):
        start(mockserver, create(mockserver))
        mockserver.wait_for("cancelCampaign", within="5m")
    """,
    "settings": """
    @pytest.mark.mockserver(scenario="demo", choices={"cancel-final": "no-op"}, given=None, seed=7)
    def test_it(mockserver):
        mockserver.choose({"media-max-files": 2})
        mockserver.call("GET", "/v1/message-templates")
        assert 0
    """,
    "library": """
    def test_it(mockserver):
        mockserver.apply("start-timeout-applied")
        assert 0 == create(mockserver)
    """,
    "refused-by-the-mock": """
    def test_it(mockserver):
        mockserver.apply({"given": {"templatez": []}})
    """,
    "closed-before-it-fails": """
    def test_it(mockserver_server):
        with mockserver_server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z") as sandbox:
            campaign = create(sandbox)
            start(sandbox, campaign)
            sandbox.advance("1s")
            reply = start(sandbox, campaign)
        assert 202 == reply.status
    """,
    "fails-inside-its-block": """
    def test_it(mockserver_server):
        with mockserver_server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z") as sandbox:
            sandbox.advance("1s")
            assert 0 == create(sandbox)
    """,
    "of-the-module": """
    @pytest.fixture(scope="module")
    def shared(mockserver_server):
        with mockserver_server.sandbox(now="2026-03-01T12:00:00Z", seed=0) as sandbox:
            yield sandbox

    def test_first(shared):
        shared.call("GET", "/v1/campaigns")

    def test_it(shared):
        shared.advance("1s")
        start(shared, "none")
        assert 0

    def test_that_calls_nothing(shared):
        assert 0
    """,
}
SAID = ("--mockserver-choices", "success-status=all-200", "-o", "mockserver_profile=hostile")


@pytest.fixture
def running() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


def report_and_document(suite: Suite, test: str, folder: str, *arguments: str) -> tuple[list[str], str | None]:
    """The sections of the run's reports, addresses and folders made alike, and the document where one was left."""
    result = suite.run(WORLD + test, "--tb=short", "--mockserver-failures-dir", folder, *arguments)
    lines, inside = [], False
    for each in result.outlines:
        inside = (
            bool(re.match(r"-+ mockserver", each))
            or inside
            and not re.match(r"E  |/[^ ]+:\d|test_mine|={3}|_{3}", each)
        )
        lines += (
            [re.sub(r"http://127\.0\.0\.1:\d+", "ADDRESS", each).replace(f"{folder}/", "FOLDER/")] if inside else []
        )
    file = suite.pytester.path / folder / "test_mine.py.test_it.yaml"
    return lines, file.read_text(encoding="utf-8") if file.exists() else None


@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_the_remote_report_equals_the_report_in_process(suite: Suite, running: MockServer, test: str) -> None:
    here, document = report_and_document(suite, test, "here", *SAID)
    there, repeated = report_and_document(suite, test, "there", *SAID, "--mockserver-url", running.url)

    links = [line for line in there if line.startswith("while the sandbox is open: ")]

    assert here
    assert here == [line for line in there if line not in links]
    assert [] != links
    assert {True} == {bool(re.fullmatch(r".*: ADDRESS/sandboxes/sandbox_\d+/_mock/", line)) for line in links}
    assert document == repeated
    assert {} == running._host.sandboxes
