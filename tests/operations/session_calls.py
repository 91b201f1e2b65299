"""The calls of the tests of connection sessions, and their seed data."""

from collections.abc import Callable

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS

NOON = "2026-03-01T12:00:00Z"
EXACT_NOON = "2026-03-01T12:00:00.000000Z"  # its microseconds are meant (see the root conftest)
PHONE = "+5511999990000"

# Two funnels of the default tenant and one of another, so that each way of not belonging can be tested.
FUNNELS = {
    "funnels": [
        {"id": "funnel_sales", "steps": [{"id": "funnel_step_new"}, {"id": "funnel_step_won"}]},
        {"id": "funnel_care", "steps": [{"id": "funnel_step_care"}]},
    ],
    "tenants": [
        {
            "id": "tenant_other",
            "secretKey": "sk_other",
            "publicKey": "pk_other",
            "funnels": [{"id": "funnel_theirs", "steps": [{"id": "funnel_step_theirs"}]}],
        }
    ],
}


def create(sandbox: Sandbox, body: JSON | None = None, *, key: str | None = None) -> JSON:
    """What the creation of a session answers."""
    reply = sandbox.call("POST", SESSIONS, json=body or {}, key=key)
    assert 202 == reply.status, reply.body
    read_body: JSON = reply.json()
    return read_body


def begin(sandbox: Sandbox, body: JSON | None = None, *, key: str | None = None) -> str:
    """The id of a fresh session."""
    return str(create(sandbox, body, key=key)["sessionId"])


def read(sandbox: Sandbox, session_id: str, *, key: str | None = None) -> JSON:
    """The session as it is read."""
    reply = sandbox.call("GET", f"{SESSIONS}/{session_id}", key=key)
    assert 200 == reply.status, reply.body
    body: JSON = reply.json()
    return body


def end(sandbox: Sandbox, session_id: str, status: str) -> str:
    """The session, brought to this status; `canceled` by its end user."""
    moves: dict[str, Callable[[str], object]] = {
        "pending": str,
        "completed": sandbox.complete_session,
        "failed": sandbox.fail_session,
        "expired": sandbox.expire_session,
        "canceled": sandbox.cancel_session,
    }
    moves[status](session_id)
    return session_id


def entrypoints(sandbox: Sandbox, tenant_id: str = "tenant_default") -> list[JSON]:
    """The entrypoints that a tenant has by now."""
    return next(each["entrypoints"] for each in sandbox.state()["tenants"] if each["tenantId"] == tenant_id)
