"""Every effect on the state: what a client reads before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.contract.effects import of_group
from tests.clients.operations import SESSIONS
from tests.operations.world import GIVEN, OPERATIONS, OTHER_KEY, draft, running, session, upload
from tests.scenario.effects import apply_now, counts

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

LIST = OPERATIONS["listTemplates"]


def _session(sandbox: Sandbox, session_id: str) -> tuple[str, str | None]:
    read = sandbox.call("GET", f"{SESSIONS}/{session_id}").json()
    return read["status"], read.get("reason")


def _of_session(effect: str, **arguments: str) -> Callable[[Sandbox], tuple[str, str | None]]:
    def see(sandbox: Sandbox) -> tuple[str, str | None]:
        session_id = session(sandbox)
        apply_now(sandbox, effect, arguments)
        return _session(sandbox, session_id)

    return see


def _of_run(effect: str, **arguments: Any) -> Callable[[Sandbox], tuple[str, int, int]]:
    """The counts of a run an hour after the effect, which is applied after its second message."""

    def see(sandbox: Sandbox) -> tuple[str, int, int]:
        ids = running(sandbox)
        sandbox.advance("1s")
        apply_now(sandbox, effect, arguments)
        sandbox.advance("1h")
        return counts(sandbox, ids)

    return see


def _visit(sandbox: Sandbox) -> tuple[str | None, int]:
    session(sandbox)
    apply_now(sandbox, "visit-link", {"userAgent": "TelegramBot"})
    (visit,) = sandbox._hosted.sandbox.visits
    return visit.user_agent, visit.status


def _complete(sandbox: Sandbox) -> tuple[str, str]:
    session_id = session(sandbox)
    assert None is apply_now(sandbox, "complete-session", {"phone": "+55 11 99999-0000", "name": "Balcão"}).no_target
    made = sandbox.state()["tenants"][0]["entrypoints"][-1]
    return _session(sandbox, session_id)[0], made["displayPhone"].replace(" ", "").replace("-", "")


def _resume(sandbox: Sandbox) -> list[tuple[str, int, int]]:
    ids = running(sandbox)
    apply_now(sandbox, "stall-sends")
    sandbox.advance("1h")
    apply_now(sandbox, "resume-sends")
    seen = [counts(sandbox, ids)]
    sandbox.advance("1s")
    return [*seen, counts(sandbox, ids)]


def _slow(sandbox: Sandbox) -> list[tuple[str, int, int]]:
    ids = running(sandbox)
    apply_now(sandbox, "slow-sends", {"perMinute": 1})
    sandbox.advance("59s")
    seen = [counts(sandbox, ids)]
    sandbox.advance("1s")
    return [*seen, counts(sandbox, ids)]


def _set_tenant(sandbox: Sandbox) -> list[str | int]:
    seen: list[str | int] = [sandbox.call(*LIST).status]
    for settings in ({"subscription": "suspended"}, {"subscription": "active", "developersEnabled": False}):
        apply_now(sandbox, "set-tenant", settings)
        seen.append(sandbox.call(*LIST).json()["code"])
    return seen


def _revoke(sandbox: Sandbox) -> tuple[str, int]:
    apply_now(sandbox, "revoke-key")
    again = apply_now(sandbox, "revoke-key")
    assert "got a revoked secret key" in str(again.no_target)
    return sandbox.call(*LIST).json()["code"], sandbox.call(*LIST, key=OTHER_KEY).status


def _rotate(sandbox: Sandbox) -> list[int]:
    old = sandbox.secret_key
    apply_now(sandbox, "rotate-key", {"key": "sk_brand_new_key"})
    assert "sk_brand_new_key" == sandbox.secret_key
    assert "expected one that the sandbox does not have yet" in str(
        apply_now(sandbox, "rotate-key", {"key": OTHER_KEY}).no_target
    )
    return [sandbox.call(*LIST, key=key).status for key in (old, "sk_brand_new_key")]


def _set_template(sandbox: Sandbox) -> tuple[str, str, str]:
    apply_now(
        sandbox,
        "set-template",
        {
            "id": "template_plain",
            "status": "REJECTED",
            "text": "Tchau {{1}}",
            "variables": [{"key": "var1", "label": "Cupom", "required": True}],
        },
    )
    read = sandbox.call("GET", "/v1/message-templates/template_plain").json()
    start = sandbox.call("POST", f"/v1/campaigns/{draft(sandbox)}/start").json()["code"]
    listed = {each["id"]: each for each in sandbox.call(*LIST).json()["templates"]}["template_plain"]
    return listed["providerTemplateStatus"], read["items"][0]["text"], start


def _remove_template(sandbox: Sandbox) -> tuple[int, int]:
    campaign_id = draft(sandbox)
    apply_now(sandbox, "remove-template", {"id": "template_plain"})
    return (
        sandbox.call("GET", "/v1/message-templates/template_plain").status,
        sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start").status,
    )


def _remove_funnel(sandbox: Sandbox) -> tuple[str, str | None]:
    session_id = session(sandbox, funnelId="funnel_sales", funnelStepId="funnel_step_first")
    apply_now(sandbox, "remove-funnel", {"id": "funnel_sales"})
    sandbox.complete_session(session_id)
    return _session(sandbox, session_id)


def _remove_entrypoint(sandbox: Sandbox) -> tuple[int, tuple[str, int, int]]:
    ids = running(sandbox)
    apply_now(sandbox, "remove-entrypoint", {"id": "entrypoint_desk"})
    sandbox.advance("1h")
    return sandbox.call(*OPERATIONS["readEntrypoint"]).status, counts(sandbox, ids)


def _fail_media(sandbox: Sandbox) -> list[list[bool]]:
    apply_now(sandbox, "fail-media", {"names": ["b.txt"]})
    files = [(f"{each}.txt", "text/plain", b"nota") for each in "abc"]
    return [[each["success"] for each in upload(sandbox, *files).json()] for _ in range(2)]


def _given(sandbox: Sandbox) -> int:
    apply_now(sandbox, "given", {"templates": [{"id": "template_late"}]})
    assert "template_late" in str(apply_now(sandbox, "given", {"templates": [{"id": "template_late"}]}).no_target)
    return sandbox.call("GET", "/v1/message-templates/template_late").status


def _rate_limit(sandbox: Sandbox) -> tuple[list[int], int, int]:
    apply_now(sandbox, "rate-limit", {"requests": 2, "per": 60})
    seen = [sandbox.call(*LIST) for _ in range(3)]
    wait = int(seen[-1].headers["retry-after"])
    sandbox.advance(wait - 1)
    early = sandbox.call(*LIST).status
    sandbox.advance(1)
    return [each.status for each in seen], early, sandbox.call(*LIST).status


def _set_choice(sandbox: Sandbox) -> str:
    apply_now(sandbox, "set-choice", {"dual-status": "guide", "message-text": "empty"})
    read = sandbox.call(*OPERATIONS["readCampaign"]).json()
    return str(read["message"])


def _advance(sandbox: Sandbox) -> str:
    apply_now(sandbox, "advance", "1h30m")
    return f"{sandbox.now:%Y-%m-%dT%H:%M:%S%z}"


SEEN = {
    "complete-session": (_complete, ("completed", "+5511999990000")),
    "fail-session": (_of_session("fail-session", reason="phone_in_use"), ("failed", "phone_in_use")),
    "expire-session": (_of_session("expire-session"), ("expired", "expired")),
    "cancel-session": (_of_session("cancel-session"), ("failed", "token_exchange_failed")),
    "visit-link": (_visit, ("TelegramBot", 200)),
    "fail-campaign": (_of_run("fail-campaign"), ("failed", 2, 0)),
    "cancel-campaign": (_of_run("cancel-campaign"), ("canceled", 2, 0)),
    "stall-sends": (_of_run("stall-sends"), ("processing", 2, 0)),
    "resume-sends": (_resume, [("processing", 2, 0), ("completed", 3, 0)]),
    "slow-sends": (_slow, [("processing", 1, 0), ("processing", 2, 0)]),
    "fail-sends": (_of_run("fail-sends", chats=["chat_caio"]), ("completed", 2, 1)),
    "set-tenant": (_set_tenant, [200, "SUBSCRIPTION_INACTIVE", "DEVELOPERS_DISABLED"]),
    "revoke-key": (_revoke, ("API_KEY_INVALID", 200)),
    "rotate-key": (_rotate, [401, 200]),
    "set-template": (_set_template, ("REJECTED", "Tchau {{1}}", "CAMPAIGN_MISSING_COMMON_VARIABLES")),
    "remove-template": (_remove_template, (404, 404)),
    "remove-funnel": (_remove_funnel, ("failed", "funnel_not_found")),
    "remove-entrypoint": (_remove_entrypoint, (404, ("completed", 1, 2))),
    "fail-media": (_fail_media, [[True, False, True]] * 2),
    "given": (_given, 200),
    "rate-limit": (_rate_limit, ([200, 200, 429], 429, 200)),
    "set-choice": (_set_choice, ""),
    "advance": (_advance, "2026-03-01T13:30:00+0000"),
}


def test_no_effect_is_left_out() -> None:
    assert set(of_group("state")) == set(SEEN)


@pytest.mark.parametrize("effect", SEEN)
def test_an_effect_is_visible_to_clients(mockserver: Sandbox, effect: str) -> None:
    seen, expected = SEEN[effect]

    assert expected == seen(mockserver)


@pytest.mark.clause("send.cadence")
@pytest.mark.parametrize(("cadence", "ceiling", "second"), [(6, None, 10), (60, 12, 5)])
def test_slowed_sends_exceed_neither_cadence_nor_ceiling(
    mockserver: Sandbox, cadence: int, ceiling: int | None, second: int
) -> None:
    mockserver.choose({"throughput-ceilings": {"chatapp": ceiling, "chatapp_coexistence": ceiling}})
    ids = running(mockserver, cadence=cadence)
    apply_now(mockserver, "slow-sends", {"perMinute": 6000})
    mockserver.advance(second - 1)
    before = counts(mockserver, ids)
    mockserver.advance(1)

    assert [("processing", 1, 0), ("processing", 2, 0)] == [before, counts(mockserver, ids)]


@pytest.mark.clause("send.failures")
def test_a_removed_channel_fails_later_campaigns_until_there_is_another_one(mockserver: Sandbox) -> None:
    apply_now(mockserver, "remove-entrypoint", {"id": "entrypoint_desk"})
    without = running(mockserver, name="Abril")
    mockserver.complete_session(session(mockserver))
    again = running(mockserver, name="Maio")
    mockserver.advance("1h")

    assert ("completed", 0, 3) == counts(mockserver, without)
    assert ("completed", 3, 0) == counts(mockserver, again)
