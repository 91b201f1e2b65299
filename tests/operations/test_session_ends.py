"""How connection sessions end: completed, failed for a reason, expired; and that an end is for ever."""

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.harness.rows import each_row
from tests.operations.session_calls import EXACT_NOON, FUNNELS, PHONE, begin, end, entrypoints, read

BOTH = {"funnelId": "funnel_sales", "funnelStepId": "funnel_step_won"}
MIRRORED: list[tuple[JSON, tuple[str | None, str | None, bool]]] = [
    ({}, (None, None, False)),
    ({"coexistence": False}, (None, None, False)),
    ({"coexistence": True}, (None, None, True)),
    ({"funnelStepId": "funnel_step_new"}, (None, "funnel_step_new", False)),
    ({**BOTH, "coexistence": True}, ("funnel_sales", "funnel_step_won", True)),
]
FUNNELS_THAT_ARE_NOT_THERE: list[JSON] = [
    {"funnelStepId": "funnel_step_unknown"},
    {"funnelStepId": "funnel_step_unknown", "funnelId": "funnel_sales"},
    {"funnelStepId": "funnel_step_care", "funnelId": "funnel_sales"},
    {"funnelStepId": "funnel_step_new", "funnelId": "funnel_unknown"},
    {"funnelStepId": "funnel_step_theirs"},
    {"funnelStepId": "funnel_step_theirs", "funnelId": "funnel_theirs"},
    {"funnelStepId": "funnel_step_new", "funnelId": "funnel_theirs"},
    {"funnelStepId": "funnel_sales"},  # a funnel's id as a step
]
LINKED = [
    ("tenant_default", "chatapp"),
    ("tenant_default", "chatapp_lite"),
    ("tenant_other", "chatapp"),
    ("tenant_other", "chatapp_lite"),
    ("tenant_other", "botapp"),
]
SPELLINGS = ["+5511999990000", "5511999990000", "+55 11 99999-0000", "+55 (11) 99999.0000", "55 11 9 9999 0000"]


def failed(session_id: str, status: str, reason: str, message: str) -> JSON:
    return {
        "sessionId": session_id,
        "status": status,
        "entrypoint": None,
        "reason": reason,
        "message": message,
    }


@pytest.mark.mockserver(given=FUNNELS)
@pytest.mark.clause("session.completed", "session.no-secrets", "entrypoints.read")
def test_a_completed_session_shows_its_channel_alone_which_exists_since_then_and_may_be_removed(
    mockserver: Sandbox,
) -> None:
    session_id = begin(mockserver, {**BOTH, "coexistence": True})
    assert [] == entrypoints(mockserver)

    completed = mockserver.complete_session(session_id, phone=PHONE, name="Recepção")
    entrypoint = completed["entrypoint"]
    [kept] = entrypoints(mockserver)
    path = f"/v1/entrypoints/{entrypoint['id']}"
    by_id = mockserver.call("GET", path).json()
    mockserver.on("readEntrypoint").remove_entrypoint(entrypoint["id"])
    mockserver.call("GET", path)

    assert completed == read(mockserver, session_id)
    assert {"sessionId": session_id, "status": "completed", "entrypoint": entrypoint} == completed
    assert {
        "id": kept["id"],
        "name": "Recepção",
        "displayPhone": PHONE,
        "phoneNumberId": entrypoint["phoneNumberId"],
        "businessAccountId": entrypoint["businessAccountId"],
        "funnelId": "funnel_sales",
        "funnelStepId": "funnel_step_won",
        "isCoexistence": True,
    } == entrypoint
    assert all(isinstance(entrypoint[key], str) and entrypoint[key] for key in ("phoneNumberId", "businessAccountId"))
    assert ("chatapp", "Recepção", "funnel_step_won", True) == tuple(
        by_id["entrypoint"][key] for key in ("platform", "displayName", "funnelStepId", "isCoexistence")
    )
    assert [] == entrypoints(mockserver)


@each_row(("body", "mirrored"), MIRRORED)
@pytest.mark.mockserver(given=FUNNELS)
@pytest.mark.clause("session.completed", "session.coexistence", "session.funnel-step")
def test_a_channel_mirrors_what_its_session_was_created_with(
    mockserver: Sandbox, body: JSON, mirrored: tuple[str | None, str | None, bool]
) -> None:
    session_id = begin(mockserver, body)

    entrypoint = mockserver.complete_session(session_id)["entrypoint"]

    assert mirrored == (entrypoint["funnelId"], entrypoint["funnelStepId"], entrypoint["isCoexistence"])


@each_row("body", FUNNELS_THAT_ARE_NOT_THERE)
@pytest.mark.mockserver(given=FUNNELS)
@pytest.mark.option("funnel-checked-when", "completion")
@pytest.mark.option("entrypoint-when-failed", "null")
@pytest.mark.clause("session.funnel-step", "session.funnel-checked-late", "session.failed")
def test_a_funnel_that_is_not_the_tenant_s_fails_the_session_at_its_completion(mockserver: Sandbox, body: JSON) -> None:
    session_id = begin(mockserver, body)
    assert "pending" == read(mockserver, session_id)["status"]

    shown = mockserver.complete_session(session_id)

    assert failed(session_id, "failed", "funnel_not_found", shown["message"]) == shown
    assert [] == entrypoints(mockserver)


@pytest.mark.clause("session.funnel-checked-late")
def test_a_funnel_created_before_the_completion_is_in_time(mockserver: Sandbox) -> None:
    session_id = begin(mockserver, {"funnelStepId": "funnel_step_new", "funnelId": "funnel_sales"})

    mockserver.apply({"given": {"funnels": FUNNELS["funnels"]}})

    assert "completed" == mockserver.complete_session(session_id)["status"]


@each_row("spelling", SPELLINGS)
@each_row(("tenant", "platform"), LINKED)
@pytest.mark.clause("session.phone-in-use", "session.failed")
def test_a_number_that_is_linked_already_fails_the_session(
    mockserver_server: MockServer, tenant: str, platform: str, spelling: str
) -> None:
    linked = {"entrypoints": [{"platform": platform, "displayPhone": "+55 11 99999-0000"}]}
    with mockserver_server.sandbox(given={"tenants": [{"id": tenant, **linked}]}) as sandbox:
        before = len(entrypoints(sandbox))
        session_id = begin(sandbox)

        shown = sandbox.complete_session(session_id, phone=spelling)

        assert failed(session_id, "failed", "phone_in_use", shown["message"]) == shown
        assert before == len(entrypoints(sandbox))


@each_row(
    "phone",
    ["", "+", "12345", "tel", "+5511999990000123456", "+55 11 9999x-0000", "+0011999990000", "99876-5432", "190"]
    + ["+55119999900000", "+1199999000", "00 99876-5432", "0800"],
)
@pytest.mark.clause("session.completed")
def test_what_cannot_be_a_number_is_refused_and_the_session_waits_on(mockserver: Sandbox, phone: str) -> None:
    session_id = begin(mockserver)

    with pytest.raises(ValueError):
        mockserver.complete_session(session_id, phone=phone)

    assert "pending" == read(mockserver, session_id)["status"]


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("token_exchange_failed", marks=pytest.mark.option("user-cancels", "failed")),
        "phone_in_use",
        "funnel_not_found",
    ],
)
@pytest.mark.clause("session.failed", "session.user-cancels")
def test_a_failed_session_has_one_of_the_reasons(mockserver: Sandbox, reason: str) -> None:
    session_id = begin(mockserver)
    for other in ("expired", "phone_in_us", "", "completed"):
        with pytest.raises(ValueError):
            mockserver.fail_session(session_id, reason=other)

    shown = mockserver.fail_session(session_id, reason=reason)

    assert shown == read(mockserver, session_id)
    assert failed(session_id, "failed", reason, shown["message"]) == shown
    assert isinstance(shown["message"], str) and shown["message"]


@pytest.mark.clause("session.expired", "session.completed")
@pytest.mark.mockserver(now=EXACT_NOON)
def test_the_last_microsecond_before_the_deadline_is_in_time_and_the_deadline_is_not(mockserver: Sandbox) -> None:
    in_time, late = begin(mockserver), begin(mockserver)

    mockserver.advance(1199.999999)
    completed = mockserver.complete_session(in_time)["status"]
    mockserver.advance(0.000001)

    with pytest.raises(ValueError, match="expired"):
        mockserver.complete_session(late)
    assert ("completed", "expired") == (completed, read(mockserver, late)["status"])


ENDS = ["completed", "failed", "expired"]


@each_row("move", [*ENDS, "canceled"])
@each_row("status", ENDS)
@pytest.mark.clause("session.final")
def test_a_final_session_is_moved_by_nothing(mockserver: Sandbox, status: str, move: str) -> None:
    session_id = end(mockserver, begin(mockserver), status)
    shown, state, events = read(mockserver, session_id), mockserver.state(), mockserver.events

    with pytest.raises(ValueError, match=f"in the state {status}; expected pending"):
        end(mockserver, session_id, move)

    assert (shown, state, events) == (read(mockserver, session_id), mockserver.state(), mockserver.events)
