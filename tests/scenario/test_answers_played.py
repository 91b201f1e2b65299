"""Scenarios of keys, limits, proxies and broken answers, each played by the careful client."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from mockserver import MockServer
from tests.clients.calls import Refused
from tests.clients.careful import Outcome
from tests.scenario.scenario_runs import ScenarioRun, played

# Reads that a careful client answers for, whatever becomes of the first calls.
READS = [
    "rate-limited-burst", "outage-of-a-minute", "hanging-answer", "dribbled-answer", "cut-answer", "garbled-answer",
    "broken-connections", "slow-answers",
]  # fmt: skip


def gaps_s(run: ScenarioRun, operation: str) -> list[float]:
    """The seconds between the calls of an operation."""
    at = [datetime.fromisoformat(each["at"]) for each in run.calls(operation)]
    return [(later - earlier).total_seconds() for earlier, later in pairwise(at)]


@pytest.mark.parametrize("name", READS)
def test_a_careful_client_has_its_answer_in_the_end(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        (template,) = run.careful().templates()

        assert template["id"].startswith("template_")


def test_a_careful_client_respects_retry_after_and_backs_off_without_it(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "rate-limited-burst", now="2026-03-01T12:00:00.000000Z") as run:
        run.careful().templates()

        assert [7, 11, 4, 8] == gaps_s(run, "listTemplates")


@pytest.mark.parametrize(
    ("name", "calls", "refused"), [("rate-limit-true-budget", 12, 2), ("rate-limit-draft-headers", 4, 6)]
)
def test_a_careful_client_respects_a_budget(mockserver_server: MockServer, name: str, calls: int, refused: int) -> None:
    """Told the wait, it is refused once a window; untold, it knocks a few times more."""
    with played(mockserver_server, name) as run:
        client = run.careful()

        answered = [client.templates() for _ in range(calls)]

        assert [[]] * calls == answered
        assert refused == run.codes("listTemplates").count("RATE_LIMIT_EXCEEDED")


@pytest.mark.parametrize(("name", "least_s", "most_s"), [("dribbled-answer", 8, 8), ("slow-answers", 0.05, 30)])
def test_a_slow_answer_is_waited_for(mockserver_server: MockServer, name: str, least_s: float, most_s: float) -> None:
    """Within a client's timeout, which is for the next byte and not for the whole response."""
    with played(mockserver_server, name) as run:
        began = run.sandbox.now

        run.careful().templates()

        assert least_s <= (run.sandbox.now - began).total_seconds() <= most_s


def test_a_flaky_network_is_borne_by_both_and_draws_the_same_again(mockserver_server: MockServer) -> None:
    reached = []
    for _ in range(2):
        with played(mockserver_server, "flaky-network") as run:
            client = run.careful()
            for _ in range(40):
                client.templates()
            reached.append([each["applied"] for each in run.calls("listTemplates")])

    assert reached[0] == reached[1]
    assert 0 < reached[0].count(False) < 30


def test_a_lapsed_subscription_stops_the_watching_and_not_the_run(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "subscription-lapses") as run:
        client = run.careful()
        ids = client.launch(run.plan())

        with pytest.raises(Refused) as refusal:
            client.follow(*ids)
        run.sandbox.advance("10m")

        assert "SUBSCRIPTION_INACTIVE" == refusal.value.code
        assert 2 == len(run.calls("readExecution"))  # and not a third, which would be as hopeless
        assert Outcome("completed", 20, 20, 0) == client.follow(*ids)


def test_a_rotated_key_is_requested_and_used(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "key-rotated") as run:
        client = run.careful(renew_key=lambda: run.sandbox.secret_key)
        ids = client.launch(run.plan())

        assert Outcome("completed", 20, 20, 0) == client.follow(*ids)
        assert 1 == run.codes("readExecution").count("API_KEY_INVALID")
        assert "sk_rotated_by_the_dashboard" == run.sandbox.secret_key


@pytest.mark.parametrize("name", ["key-rotated", "key-revoked-midway"])
def test_a_client_with_a_revoked_key_cannot_read_the_end_of_its_run(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        client = run.careful()
        ids = client.launch(run.plan())

        with pytest.raises(Refused) as refusal:
            client.follow(*ids)
        run.sandbox.advance("1m")

        assert "API_KEY_INVALID" == refusal.value.code
        assert ["completed"] == [each["status"] for each in run.campaigns]


def test_a_developer_environment_that_is_switched_off_is_not_knocked_at(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "developers-switched-off") as run:
        client = run.careful()
        client.templates()

        with pytest.raises(Refused) as refusal:
            client.templates()

        assert "DEVELOPERS_DISABLED" == refusal.value.code
        assert 2 == len(run.calls("listTemplates"))


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        (
            "foreign-ids",
            ["MESSAGE_TEMPLATE_NOT_FOUND", "ENTRYPOINT_NOT_FOUND", "CHAT_NOT_FOUND", "FORM_NOT_FOUND"],
        ),
        ("foreign-ids-denied", ["RESOURCE_ACCESS_DENIED"] * 4),
    ],
)
def test_access_to_records_of_another_tenant_is_refused_and_changes_nothing(
    mockserver_server: MockServer, name: str, codes: list[str]
) -> None:
    with played(mockserver_server, name) as run:
        client, stem = run.careful(), name.replace("-ids-", "_").replace("-", "_")
        reads = [
            lambda: client.template(f"template_{stem}"),
            lambda: client.entrypoint(f"entrypoint_{stem}"),
            lambda: list(client.messages(f"chat_{stem}")),
            lambda: client.form_origins(f"form_{stem}"),
        ]

        assert codes == [refused(read) for read in reads]
        assert [f"chat_{stem}"] == [each["id"] for each in run.sandbox.state()["tenants"][1]["chats"]]


def refused(call: Callable[..., Any]) -> str | None:
    with pytest.raises(Refused) as refusal:
        call()
    return refusal.value.code
