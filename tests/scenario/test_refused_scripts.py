"""Broken scripts: each is refused whole, at its place, with what would do and the nearest name; nothing is applied."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.contract.limits import RULES_MAX
from mockserver.scenario.problems import ScenarioError, WrongPart
from tests.operations.world import GIVEN

DO = {"error": "INTERNAL_ERROR"}
ON = {"on": "startCampaign"}
HEADERS = "/do/reply/headers/"


def _on(do: JSON | list[Any], **more: Any) -> JSON:
    return {**ON, "do": do, **more}


# The rule, where it is wrong (below /script/1), a word of what would do, and the nearest name where there is one.
BROKEN = [
    ({"on": "POST /v1/campaign/{id}/start", "do": DO}, "/on", "METHOD /path", "POST /v1/campaigns/{id}/start"),
    ({"on": "delivry", "do": DO}, "/on", "operation id", "delivery"),
    ({"at": "5m", "after": {"sent": 1}, "do": {"advance": 1}}, "", "exactly one of", None),
    (_on({"error": {"code": "RATE_LIMIT_EXCEEDED", "retryAfter": 10**30}}), "/do/error/retryAfter", "at most", None),
    (_on({"reply": {"status": 200, "headers": {"X-A": "b\n"}}}), "/do/reply/headers/X-A", "in one line", None),
    (_on({"rotate-key": {"key": "new"}}), "/do/rotate-key/key", "begins with sk_", None),
    (_on({"rotate-key": {"key": "sk_new", "kind": "public"}}), "/do/rotate-key/key", "begins with pk_", None),
    (_on({"truncate": -1}), "/do/truncate", "0", None),
    (_on({"delay": "9000h"}), "/do/delay", "at most 366 days", None),
    (_on({"delay-after": {"median": "2s"}}), "/do/delay-after", "a string or a number", None),
    (_on({"dribble": {"chunks": 1, "over": "1s"}}), "/do/dribble/chunks", "2", None),
    (_on({"bad-gateway": {"status": 500}}), "/do/bad-gateway/status", "502", None),
    (_on({"bad-gateway": "after", "stale": True}), "/do", "one of error, reply, bad-gateway, stale", None),
    (_on({"reply": {"status": 100}}), "/do/reply/status", "200", None),
    (_on({"reply": {"status": 200, "headers": {"X-A": "日"}}}), "/do/reply/headers/X-A", "", None),
    (_on({"truncate": 2, "dribble": {"chunks": 2, "over": 1}}), "/do", "one of", None),
    *(
        (
            _on({"reply": {"status": 200, "headers": {"Content-Length": length}}}),
            HEADERS + "Content-Length",
            "digits",
            None,
        )
        for length in ("abc", "", "²", "5, 5", "-5", "+5", "1_0", " 5", "5 ", "0x5", "5.0", "1" * 5000)
    ),
    *(
        (_on({"reply": {"status": 200, "headers": {name: "x"}}}), HEADERS + name, "the server frames it", None)
        for name in ("Transfer-Encoding", "connection", "Keep-Alive", "TE", "Trailer", "UPGRADE", "Proxy-Connection")
    ),
    (
        _on({"reply": {"status": 200, "headers": {"Content-Length": "1", "content-length": "1"}}}),
        HEADERS + "content-length",
        "one Content-Length",
        None,
    ),
    ({"on": "delivery", "do": {"deliver": {"delay": "367d"}}}, "/do/deliver/delay", "at most 366 days", None),
    (
        {"at": "20000000d", "do": {"advance": 1}},
        "/at",
        "an instant that can be shown, from 0001-01-02T00:00:00.000Z to 9999-12-30T00:00:00.000Z",
        None,
    ),
    (_on(DO, **{"while": {"sent": ">=²"}}), "/while/sent", "such as >=20", None),
    (_on(DO, **{"while": {"sent": ">=" + "1" * 490}}), "/while/sent", "such as >=20", None),
    ({"after": {"sent": 5}, "do": {"delay": 1}}, "/do", "only with `on`", None),
    ({"on": "delivery", "do": DO}, "/do", "only with `on`", None),
    (_on({"deliver": {"lose": True}}), "/do/deliver", "only with `on: delivery`", None),
    ({"on": "delivery", "do": {"deliver": {}}}, "/do/deliver", "", None),
    (_on(DO, where={"path.campaignId": "x"}), "/where/path.campaignId", "path.id", "path.id"),
    (_on(DO, where={"path": "x"}), "/where/path", "path.NAME", None),
    (_on(DO, where={"header": "x"}), "/where/header", "header.NAME", None),
    ({"on": "listCampaigns", "where": {"path.id": 1}, "do": DO}, "/where/path.id", "no parameters", None),
    (
        {"on": "delivery", "where": {"event": "entrypoints.chatapp.conected"}, "do": {"advance": 1}},
        "/where/event",
        "one of",
        "entrypoints.chatapp.connected",
    ),
    ({"on": "delivery", "where": {"attempt": "first"}, "do": {"advance": 1}}, "/where/attempt", "a number", None),
    (_on(DO, **{"while": {"campaign": "procesing"}}), "/while/campaign", "one of", "processing"),
    (_on(DO, **{"while": {"target": True}}), "/while/target", "a number", None),
    (_on(DO, **{"from": "5m", "until": "5m"}), "/until", "more than from", None),
    ({"on": "delivery", "where": {"evnt": "x"}, "do": {"advance": 1}}, "/where/evnt", "event, attempt", "event"),
    ({"at": "5m", "nth": 1, "do": {"advance": 1}}, "/nth", "no nth next to at", None),
    ({"after": {"sent": 1}, "times": 2, "do": {"advance": 1}}, "/times", "no times next to after", None),
    ({"after": {"sent": -1}, "do": {"advance": 1}}, "/after/sent", "0", None),
    ({"after": {"failed": 1}, "do": {"advance": 1}}, "/after/failed", "", None),
    (_on(DO, nth=0), "/nth", "1", None),
    (_on(DO, chance=1.5), "/chance", "1", None),
    (_on(DO, **{"while": {"campain": "processing"}}), "/while/campain", "", "campaign"),
    (_on({"complete-session": {"phone": "call me"}}), "/do/complete-session/phone", "such as 11 99876-5432", None),
    (_on({"slow-sends": {"perMinute": 0}}), "/do/slow-sends/perMinute", "1", None),
    (_on({"fail-sends": {"ratio": 0.5, "every": 2}}), "/do/fail-sends", "one of ratio, every, chats", None),
    (_on({"fail-sends": {"ratio": 2}}), "/do/fail-sends/ratio", "1", None),
    (_on({"set-choice": {"dual-status": "giude"}}), "/do/set-choice/dual-status", "", "guide"),
    (_on({"rate-limit": {"requests": -1, "per": 60}}), "/do/rate-limit", "", None),
    (_on({"rate-limit": "on"}), "/do/rate-limit", "off", None),
]


@pytest.mark.mockserver(given=GIVEN)
def test_a_broken_rule_refuses_the_whole_document_at_its_place(mockserver: Sandbox) -> None:
    before = mockserver.state()
    wrong = {}
    for rule, place, wanted, nearest in BROKEN:
        problems = [each for each in problems_of(mockserver, rule) if each.path == f"/script/1{place}"]
        if not any(wanted in each.wanted for each in problems) or nearest not in [each.nearest for each in problems]:
            wrong[str(rule)] = (place, wanted, nearest, problems)

    assert {} == wrong
    assert before == mockserver.state()


def problems_of(sandbox: Sandbox, rule: Any) -> list[WrongPart]:
    """The problems of a document whose second rule this is; none where the document is applied."""
    sound = {"on": "listCampaigns", "do": {"garble": True}}
    document = {"choices": {"dual-status": "guide"}, "given": {"chats": [{"id": "chat_new"}]}, "script": [sound, rule]}
    try:
        sandbox.apply(document)
    except ScenarioError as refusal:
        return refusal.problems
    return []


@pytest.mark.deep
def test_a_sandbox_has_a_most_of_rules_since_each_call_evaluates_them(mockserver: Sandbox) -> None:
    rule = {"on": "listCampaigns", "chance": 0.5, "do": {"error": "INTERNAL_ERROR"}}
    mockserver.apply(script=[rule] * (RULES_MAX - 1))
    mockserver.on("listCampaigns").times(1).error("INTERNAL_ERROR")

    with pytest.raises(ValueError, match=f"/script: got 1 rule; expected at most {RULES_MAX} with the {RULES_MAX} of"):
        mockserver.on("listCampaigns").error("INTERNAL_ERROR")
    assert RULES_MAX == len(mockserver.rules)

    mockserver.admin.remove_rules()
    mockserver.on("listCampaigns").error("INTERNAL_ERROR")
    assert 500 == mockserver.call("GET", "/v1/campaigns").status
