"""Responses that a sandbox remembers: a client gets the bytes that it would get from a sandbox that remembers none."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.server.api import response
from mockserver.server.api.response import LatestResponse

CAMPAIGN = {"name": "Hello", "platform": "chatapp", "templateId": "template_one", "cadence": 60}
GIVEN = {
    "templates": [{"id": "template_one"}],
    "entrypoints": [{"id": "entry_one", "platform": "chatapp"}],
    "forms": [{"id": "form_one", "iframeEmbedAllowedOrigins": ["https://example.com"]}],
    "chats": {"count": 30, "each": {"platform": "chatapp"}},
}
CHOICES = (
    {"additive-fields": "unknown-fields"},
    {"additive-fields": "none"},
    {"detail-fields": "full"},
    {"datetime-spelling": "seconds"},
    {"progress-rounding": "ceil"},
    {"list-order": "newest-first"},
)


class Forgetful(dict[str, Any]):
    def __setitem__(self, path: str, response: Any) -> None:
        """Remember nothing."""


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with MockServer() as server:
        yield server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z")


def _remembered(sandbox: Sandbox) -> dict[str, LatestResponse]:
    latest = sandbox._hosted.sandbox.runtime.latest_responses
    assert latest is not None
    return latest


def _created(sandbox: Sandbox) -> str:
    return f"/v1/campaigns/{sandbox.call('POST', '/v1/campaigns', json=CAMPAIGN).json()['campaignId']}"


def _change(sandbox: Sandbox, number: int, draw: random.Random) -> list[str]:
    """Change something, and return the paths of the records that are new."""
    step = draw.randrange(8)
    listed = sandbox.call("GET", "/v1/campaigns").json()["campaigns"]
    campaign = f"/v1/campaigns/{draw.choice(listed)['id']}" if listed else ""
    if step == 0 or not listed:
        body = {**CAMPAIGN, "name": f"Hello {number}"}
        return [f"/v1/campaigns/{sandbox.call('POST', '/v1/campaigns', json=body).json()['campaignId']}"]
    if step == 1:
        started = sandbox.call("POST", f"{campaign}/start", json={}).json()
        return [f"{campaign}/executions/{started['executionId']}"] if "executionId" in started else []
    if step == 2:
        sandbox.call("POST", f"{campaign}/cancel")
    elif step == 3:
        sandbox.advance(draw.choice(["1s", "7s", "500ms"]))
    elif step == 4:
        sandbox.choose(draw.choice(CHOICES))
    elif step == 5 and draw.random() < 0.2:
        sandbox.reset()
    elif step == 6:
        session = sandbox.call(
            "POST", "/v1/entrypoints/chatapp/connection-sessions", json={"coexistence": False}
        ).json()
        return [f"/v1/entrypoints/chatapp/connection-sessions/{session.get('sessionId')}"]
    return []


@pytest.mark.parametrize("seed", range(8))
def test_a_sandbox_that_remembers_responses_answers_as_one_that_remembers_none(seed: int) -> None:
    with MockServer() as server:
        both = [server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z", seed=seed) for _ in range(2)]
        both[1]._hosted.sandbox.runtime.latest_responses = Forgetful()
        paths = [
            "/v1/campaigns",
            "/v1/message-templates",
            "/v1/message-templates/template_one",
            "/v1/forms/form_one/policy",
        ]
        draws = [random.Random(seed) for _ in both]
        for number in range(60):
            found = [_change(sandbox, number, draw) for sandbox, draw in zip(both, draws, strict=True)]
            assert found[0] == found[1]
            paths += [path for path in found[0] if path not in paths]
            for path in [*paths, *paths[-3:]]:
                answers = [sandbox.call("GET", path) for sandbox in both]
                assert answers[0].status == answers[1].status
                assert answers[0].body.replace(both[0].id.encode(), b"") == answers[1].body.replace(
                    both[1].id.encode(), b""
                )


def test_a_poll_that_reads_unchanged_records_gets_the_same_response(sandbox: Sandbox) -> None:
    path = _created(sandbox)
    sandbox.call("GET", path)
    first = _remembered(sandbox)[path].response
    sandbox.call("GET", path)

    assert first is _remembered(sandbox)[path].response


@pytest.mark.parametrize(
    "change",
    [
        lambda sandbox, path: sandbox.call("POST", f"{path}/cancel"),
        lambda sandbox, path: sandbox.choose({"detail-fields": "full"}),
        lambda sandbox, path: sandbox.advance("1s"),
    ],
    ids=["the record", "a choice", "the clock"],
)
def test_a_change_of_what_a_response_is_made_of_makes_another(
    sandbox: Sandbox, change: Callable[[Sandbox, str], object]
) -> None:
    path = _created(sandbox)
    sandbox.call("GET", path)
    before = _remembered(sandbox)[path]
    change(sandbox, path)
    sandbox.call("GET", path)

    assert before is not _remembered(sandbox)[path]


def test_equal_records_of_a_later_life_are_not_taken_for_the_same(sandbox: Sandbox) -> None:
    before = _created(sandbox)
    sandbox.call("GET", before)
    sandbox.reset()

    assert {} == _remembered(sandbox)
    assert before == _created(sandbox)


def test_nothing_is_remembered_under_a_clock_that_runs() -> None:
    with MockServer() as server:
        sandbox = server.sandbox(given=GIVEN, clock="follow")
        sandbox.call("GET", _created(sandbox))

        assert {} == _remembered(sandbox)


def test_the_number_of_remembered_responses_is_bounded(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response, "_LATEST_RESPONSES", 2)
    for path in (_created(sandbox), "/v1/campaigns", "/v1/message-templates"):
        sandbox.call("GET", path)

    assert ["/v1/message-templates"] == list(_remembered(sandbox))
