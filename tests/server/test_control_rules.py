"""Rules over the control plane, and the Python builder, which writes the same documents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.rows import each_row
from tests.server.control_calls import make, refused


def test_applying_answers_the_ids_listing_shows_the_rules_and_deleting_ends_them(mockserver_server: MockServer) -> None:
    made = make(mockserver_server.url)
    script: list[JSON] = [
        {"on": "listCampaigns", "nth": 2, "do": {"error": "INTERNAL_ERROR"}},
        {"at": "5m", "do": {"advance": 1}},
    ]
    applied = made.control("POST", "/scenarios", {"scenario": "mine", "script": script})

    assert (201, ["rule_1", "rule_2"]) == (applied.status_code, applied.json()["rules"])
    assert [200, 500] == [made.api("GET", "/v1/campaigns").status_code for _ in range(2)]
    listed = made.control("GET", "/rules").json()["rules"]
    assert (
        [
            {"id": "rule_1", "scenario": "mine", **script[0], "matched": 2, "fired": 1},
            {"id": "rule_2", "scenario": "mine", **script[1], "matched": 0, "fired": 0},
        ]
        == listed
        == made.control("GET", "/state").json()["rules"]
    )
    assert 204 == made.control("DELETE", "/rules/rule_1").status_code
    assert (404, "MOCK_NOT_FOUND") == refused(made.control("DELETE", "/rules/rule_1"))
    assert ["rule_2"] == [each["id"] for each in made.control("GET", "/rules").json()["rules"]]
    assert 204 == made.control("DELETE", "/rules").status_code
    assert [] == made.control("GET", "/rules").json()["rules"]


# Effects whose arguments are not members of the same names (`tests/testing/test_rule_methods.py` has the others).
DO = [
    (lambda when: when.error("INTERNAL_ERROR"), {"error": "INTERNAL_ERROR"}),
    (
        lambda when: when.error("INTERNAL_ERROR", retry_after=3),
        {"error": {"code": "INTERNAL_ERROR", "retryAfter": 3}},
    ),
    (lambda when: when.reply(502, "x", {"A": "b"}), {"reply": {"status": 502, "headers": {"A": "b"}, "body": "x"}}),
    (lambda when: when.bad_gateway(), {"bad-gateway": "before"}),
    (lambda when: when.bad_gateway("after"), {"bad-gateway": "after"}),
    (
        lambda when: when.bad_gateway("after", status=504, server="edge"),
        {"bad-gateway": {"when": "after", "status": 504, "server": "edge"}},
    ),
    (lambda when: when.delay("5s"), {"delay": "5s"}),
    (lambda when: when.delay_after(timedelta(seconds=5)), {"delay-after": 5.0}),
    (lambda when: when.drop("after"), {"drop": "after"}),
    (lambda when: when.reset("before"), {"reset": "before"}),
    (lambda when: when.truncate(20), {"truncate": 20}),
    (lambda when: when.garble(), {"garble": True}),
    (lambda when: when.stale(), {"stale": True}),
    (lambda when: when.fail_session("s"), {"fail-session": {"id": "s", "reason": "token_exchange_failed"}}),
    (lambda when: when.resume_sends(), {"resume-sends": {}}),
    (lambda when: when.set_choice({"dual-status": "guide"}), {"set-choice": {"dual-status": "guide"}}),
    (lambda when: when.given({"chats": []}), {"given": {"chats": []}}),
    (lambda when: when.rate_limit(5, "60s"), {"rate-limit": {"requests": 5, "per": "60s"}}),
    (lambda when: when.rate_limit("off"), {"rate-limit": "off"}),
    (lambda when: when.advance(timedelta(seconds=1)), {"advance": 1.0}),
    (lambda when: when.fail_sends(chats=("a",)), {"fail-sends": {"chats": ["a"]}}),
]


def _written(sandbox: Sandbox) -> JSON:
    return {key: each for key, each in sandbox.rules[-1].items() if key not in ("id", "scenario", "matched", "fired")}


@each_row(("build", "written"), DO)
def test_an_effect_of_the_builder_is_that_of_the_document(
    mockserver: Sandbox, build: Callable[..., Any], written: JSON
) -> None:
    build(mockserver.on("*"))
    assert {"on": "*", "do": written} == _written(mockserver)


def test_instants_progress_and_deliveries(mockserver: Sandbox) -> None:
    mockserver.at(timedelta(minutes=5)).may_fire().advance(1)
    assert {"at": 300.0, "do": {"advance": 1}} == _written(mockserver)
    mockserver.after(sent=40).may_fire().fail_campaign()
    assert {"after": {"sent": 40}, "do": {"fail-campaign": {}}} == _written(mockserver)
    mockserver.on("delivery").deliver(before_answer=True, duplicate=2)
    assert {"on": "delivery", "do": {"deliver": {"before-answer": True, "duplicate": 2}}} == _written(mockserver)


def test_the_journal_shows_the_keys_of_a_fault_in_short(mockserver: Sandbox) -> None:
    key = mockserver.secret_key
    mockserver.on("listCampaigns").do({"reply": {"status": 200, "headers": {"X-Key": key}, "body": {"key": key}}})
    assert {"key": key} == mockserver.call("GET", "/v1/campaigns").json()

    assert key not in mockserver.call("GET", "/_mock/journal").body.decode()
    assert key not in str(mockserver.log.journal)
