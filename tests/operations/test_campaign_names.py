"""The name of a campaign is unique in its organisation, under concurrent creations too; equality of names is a choice."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from mockserver import Sandbox
from tests.harness.access import Access
from tests.harness.options import each_option
from tests.operations.filter_world import campaign
from tests.operations.world import GIVEN, OTHER_KEY, campaigns_in_each_status, draft, refused

CAMPAIGNS = "/v1/campaigns"
TAKEN = (400, "CAMPAIGN_NAME_ALREADY_EXISTS")
pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

COMPOSED, DECOMPOSED = "Mar\u00e7o", "Marc\u0327o"


def create(sandbox: Any, name: str) -> Any:
    return sandbox.call("POST", CAMPAIGNS, json=campaign(name))


def accepted(sandbox: Any, *names: str) -> list[str]:
    """Those of the names that were free when they were tried, one after the other."""
    replies = [(name, create(sandbox, name)) for name in names]
    assert {TAKEN} >= {refused(reply) for _, reply in replies if reply.status != 201}
    return [name for name, reply in replies if reply.status == 201]


def names(sandbox: Any) -> list[str]:
    return [each["name"] for each in sandbox.call("GET", CAMPAIGNS).json()["campaigns"]][::-1]


@pytest.mark.clause("campaigns.name", "base.tenant-scope")
def test_a_name_is_unique_in_its_organisation_and_not_across_organisations(mockserver: Sandbox) -> None:
    draft(mockserver, name="Março")

    assert draft(mockserver, key=OTHER_KEY, name="Março", templateId="template_other")
    again = mockserver.call("POST", CAMPAIGNS, key=OTHER_KEY, json=campaign("Março", templateId="template_other"))
    assert TAKEN == refused(again)


@pytest.mark.clause("campaigns.name")
def test_of_concurrent_creations_with_one_name_exactly_one_succeeds(mockserver: Sandbox, access: Access) -> None:
    together = Barrier(12)
    headers = {"X-API-Key": mockserver.secret_key, "Content-Type": "application/json"}
    body = json.dumps(campaign("Março")).encode()

    def create_at_once(_: int) -> tuple[int, str | None]:
        together.wait()
        reply = access.ask("POST", CAMPAIGNS, headers, body)
        return reply.status, reply.json().get("code")

    with ThreadPoolExecutor(12) as threads:
        outcomes = Counter(threads.map(create_at_once, range(12)))

    assert {(201, None): 1, TAKEN: 11} == outcomes
    assert ["Março"] == names(mockserver)


ASKED = ["Março", "março", "MARÇO", " Março", "Março \t", "Mar ço", "Marco", DECOMPOSED, "Straße", "STRASSE", "  ", " "]


@pytest.mark.clause("campaigns.name")
@each_option(
    "refused",
    "name-uniqueness-scope",
    {"exact": set(), "case-insensitive": {"março", "MARÇO", "STRASSE"}, "trimmed": {" Março", "Março \t", " "}},
)
def test_names_are_the_same_as_chosen_and_are_stored_as_sent(mockserver: Sandbox, refused: set[str]) -> None:
    different = [name for name in ASKED if name not in refused]

    assert different == accepted(mockserver, *ASKED, COMPOSED)
    assert different == names(mockserver)


@pytest.mark.clause("campaigns.name")
@each_option(
    "free",
    "name-uniqueness-scope",
    {"exact": set(), "case-insensitive": set(), "trimmed": set(), "free-when-ended": {"canceled", "failed"}},
)
def test_whether_the_names_of_canceled_and_failed_campaigns_are_free_again(mockserver: Sandbox, free: set[str]) -> None:
    ids = campaigns_in_each_status(mockserver)

    assert free == set(accepted(mockserver, *ids))
    assert [] == accepted(mockserver, *ids)  # a name that was free is taken again
