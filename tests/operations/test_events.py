"""The events of connection sessions, as they are recorded: bodies, one a final session, in the order of happening."""

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.contract import schemas
from tests.operations.session_calls import EXACT_NOON, FUNNELS, NOON, PHONE, begin, read

CONNECTED = "entrypoints.chatapp.connected"
FAILED = "entrypoints.chatapp.connection_failed"


def body(event: JSON) -> JSON:
    """The envelope of a recorded event, without the record's own keys."""
    assert {"id", "at", "event", "data", "deliveries"} == set(event)
    return {"event": event["event"], "data": event["data"]}


@pytest.mark.mockserver(now=EXACT_NOON, given=FUNNELS)
@pytest.mark.clause("events.connected", "events.session-id")
def test_a_completed_session_emits_the_channel_as_it_is_read(mockserver: Sandbox) -> None:
    session_id = begin(mockserver, {"funnelStepId": "funnel_step_new", "funnelId": "funnel_sales", "coexistence": True})
    mockserver.advance(61.5)

    entrypoint = mockserver.complete_session(session_id, phone=PHONE, name="Recepção")["entrypoint"]

    [event] = mockserver.events
    assert "2026-03-01T12:01:01.500Z" == event["at"]
    assert {
        "event": CONNECTED,
        "data": {
            "tenantId": mockserver.tenant_id,
            "sessionId": session_id,
            "occurredAt": "2026-03-01T12:01:01.500Z",
            "entrypoint": entrypoint,
        },
    } == body(event)
    assert entrypoint == read(mockserver, session_id)["entrypoint"]


@pytest.mark.parametrize("reason", ["token_exchange_failed", "phone_in_use", "funnel_not_found"])
@pytest.mark.clause("events.failed", "events.session-id")
def test_a_failed_session_emits_only_its_status_reason_and_id(mockserver: Sandbox, reason: str) -> None:
    session_id = begin(mockserver)

    mockserver.fail_session(session_id, reason=reason)

    assert [{"event": FAILED, "data": {"status": "failed", "reason": reason, "sessionId": session_id}}] == [
        body(each) for each in mockserver.events
    ]


@pytest.mark.mockserver(now=NOON)
@pytest.mark.clause("events.failed", "session.expired")
@pytest.mark.option("wh-data-asymmetry", "literal")
def test_an_expired_session_emits_at_its_deadline_however_late_it_is_read(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)

    mockserver.advance("3d")

    [event] = mockserver.events
    assert "2026-03-01T12:20:00.000Z" == event["at"]
    assert {
        "event": FAILED,
        "data": {"status": "expired", "reason": "expired", "sessionId": session_id},
    } == body(event)


def same_keys_event(status: str, reason: str, session_id: str) -> JSON:
    """The event of a failure at a minute past noon, with the keys of the connected one too."""
    own = {"status": status, "reason": reason, "sessionId": session_id}
    shared = {"tenantId": "tenant_default", "occurredAt": "2026-03-01T12:01:00.000Z", "entrypoint": None}
    return {"event": FAILED, "data": own | shared}


@pytest.mark.mockserver(now=NOON, choices={"wh-data-asymmetry": "same-keys"})
@pytest.mark.clause("events.failed")
@pytest.mark.option("wh-data-asymmetry", "same-keys")
def test_a_failure_may_carry_the_keys_of_the_connected_event_with_no_entrypoint(mockserver: Sandbox) -> None:
    failed, expired = begin(mockserver), begin(mockserver)
    mockserver.advance("1m")

    mockserver.fail_session(failed, reason="token_exchange_failed")
    mockserver.expire_session(expired)

    events = [body(each) for each in mockserver.events]
    assert [
        same_keys_event("failed", "token_exchange_failed", failed),
        same_keys_event("expired", "expired", expired),
    ] == events
    assert [[], []] == [schemas.check("event.connection_failed", each) for each in events]
