"""The profiles: legal, complete, and the purpose of each."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from mockserver.contract.choices import CHOICES, DEFAULTS, problem
from mockserver.contract.choices.profiles import LEFT_OUT, PROFILES

HOSTILE = PROFILES["hostile"]
TEMPLATES = [
    {
        "id": "t",
        "name": "T",
        "items": [{"type": "text", "text": "Oi {{1}}"}],
        "variables": [{"key": "var1", "label": "A", "required": True}],
    },
    {"id": "official", "isOfficial": True, "items": [{"type": "text", "text": "Oi"}], "variables": []},
]
DRAFT = {"name": "A", "platform": "chatapp", "templateId": "t", "cadence": 60}


@pytest.mark.parametrize("name", PROFILES)
def test_each_option_of_a_profile_is_legal(name: str) -> None:
    assert [] == [wrong for id, option in PROFILES[name].items() if (wrong := problem(id, option))]


def test_literal_is_the_default_of_every_choice() -> None:
    assert dict(DEFAULTS) == {**DEFAULTS, **PROFILES["literal"]}


def test_hostile_names_a_choice_or_has_a_reason_why_not() -> None:
    assert set() == set(HOSTILE) & set(LEFT_OUT)
    assert set(CHOICES) == set(HOSTILE) | set(LEFT_OUT)


def test_hostile_takes_another_option_than_the_default_wherever_it_takes_one() -> None:
    assert [] == [id for id, option in HOSTILE.items() if option == CHOICES[id].default]


def test_what_hostile_leaves_out_has_a_reason() -> None:
    assert [] == [id for id, why in LEFT_OUT.items() if not why.endswith(".")]


@pytest.mark.parametrize(("profile", "status"), [("literal", 400), ("guide", 422)])
@pytest.mark.clause("base.error-guide")
def test_guide_follows_the_campaign_guide(mockserver_server: MockServer, profile: str, status: int) -> None:
    with mockserver_server.sandbox(profile=profile, given={"templates": TEMPLATES}) as sandbox:

        def refused(path: str = "", **changes: object) -> tuple[int, str]:
            reply = sandbox.call("POST", f"/v1/campaigns{path}", json={} if path else DRAFT | changes)
            return reply.status, reply.json()["code"]

        made = sandbox.call("POST", "/v1/campaigns", json=DRAFT).json()["campaignId"]

        assert (status, "CAMPAIGN_NAME_ALREADY_EXISTS") == refused()
        assert (status, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH") == refused(
            name="B", templateId="official", platform="chatapp_lite"
        )
        assert (status, "CAMPAIGN_MISSING_COMMON_VARIABLES") == refused(f"/{made}/start")
        assert (status, "VALIDATION_ERROR") == refused(name="B", cadence=0)
        assert (404, "MESSAGE_TEMPLATE_NOT_FOUND") == refused(name="B", templateId="unknown")
