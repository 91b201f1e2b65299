"""
Commands on webhooks: show an event with the requests of its deliveries, send it again, recover an endpoint, rotate its
secret, register a receiver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mockserver.contract.lifecycles import SUBSCRIPTIONS
from mockserver.contract.text import closest_match_hint
from mockserver.core.instants import format_exact
from mockserver.core.redaction import Redactor, mask
from mockserver.core.state.outbox import Attempt
from mockserver.core.state.records import Webhook
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks import deliveries, url_policy
from mockserver.scenario.apply import DEFAULT_TENANT
from mockserver.server.control import views
from mockserver.server.control.records import owned
from mockserver.server.errors import ControlError, unknown_id
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.webhooks.local_receivers import ReceiverTarget
from mockserver.wire.response import redactor

if TYPE_CHECKING:
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]


def redeliver(hosted: HostedSandbox, args: Arguments) -> answers.EventEntry:
    """Send an event again to every endpoint where its delivery has ended; return the event with the attempts made."""
    sandbox, event_id = hosted.sandbox, args["id"]
    with sandbox.lock:
        event = next((event for event in sandbox.events if event.id == event_id), None)
        if event is None:
            raise unknown_id("event", event_id, [event.id for event in sandbox.events])
        if not deliveries.redeliver(sandbox, event):
            statuses = ", ".join(delivery.status for delivery in sandbox.outbox.of_event(event_id))
            why = f"its deliveries are {statuses}" if statuses else "no endpoint is registered for it"
            raise ControlError(
                "MOCK_ILLEGAL_MOVE",
                f"event {event_id} cannot be sent again: {why}; expected a delivery that is delivered or abandoned",
            )
    hosted.dispatch_webhooks(raises_blocked=True)
    hosted.await_deliveries()
    with sandbox.lock:
        return next(entry for entry in views.events(sandbox)["events"] if entry["id"] == event_id)


def recover(hosted: HostedSandbox, args: Arguments) -> answers.RecoveredWebhook:
    """Send an endpoint all its abandoned deliveries again, in the order of their events."""
    tenant, webhook = owned(hosted, "webhook", args["id"])
    recovered = deliveries.recover(hosted.sandbox, tenant, webhook)
    return {"webhookId": webhook.id, "events": [delivery.event.id for delivery in recovered]}


def rotate(hosted: HostedSandbox, args: Arguments) -> answers.RotatedWebhook:
    """Set the secret of an endpoint; its former one signs in addition for the length of `wh-secret-rotation`."""
    tenant, webhook = owned(hosted, "webhook", args["id"])
    _check_secret(hosted.sandbox, args["secret"])
    rotated = deliveries.rotate_secret(hosted.sandbox, tenant, webhook, args["secret"])
    until = rotated.old_secret_until
    return {
        "webhookId": webhook.id,
        "secret": mask(rotated.secret),
        "oldSecret": mask(webhook.secret),
        "oldSecretUntil": None if until is None else format_exact(until),
    }


def create_webhook(hosted: HostedSandbox, args: Arguments) -> answers.CreatedWebhook:
    """Register an endpoint by its url; return it with its whole secret, which no other view shows."""
    tenant_id = args.get("tenantId", DEFAULT_TENANT)
    webhook = register(hosted, args["url"], tenant_id, args.get("events", ()), args.get("secret"), "")
    return {
        "webhookId": webhook.id,
        "tenantId": tenant_id,
        "url": webhook.url,
        "events": list(webhook.events),
        "secret": webhook.secret,
    }


def register(
    hosted: HostedSandbox,
    target: str | ReceiverTarget,
    tenant_id: str,
    events: Sequence[str],
    secret: str | None,
    path: str,
) -> Webhook:
    """Register a receiver: a url, or an app or function that gets the requests in this process, at `path`."""
    sandbox = hosted.sandbox
    tenant = sandbox.tenants.get(tenant_id)
    if tenant is None:
        raise unknown_id("tenant", tenant_id, list(sandbox.tenants))
    for kind in events:
        if kind not in SUBSCRIPTIONS:
            raise ControlError(
                "MOCK_BAD_EVENT",
                f"events: got {kind!r}; expected some of {', '.join(SUBSCRIPTIONS)}{closest_match_hint(kind, SUBSCRIPTIONS)}",
            )
    if secret is not None:
        _check_secret(sandbox, secret)
    if isinstance(target, str):
        url, expected = target, url_policy.rejection_reason(target, sandbox.outbox.allowed_hosts)
        if expected is not None:
            raise ControlError("MOCK_BAD_TARGET", f"url: got {target!r}; expected {expected}")
    else:
        url = hosted.dispatch.register_local_receiver(target, path)
    webhook = Webhook(sandbox.new_id("webhook_"), url, secret or deliveries.new_secret(sandbox), tuple(events))
    deliveries.register_webhook(sandbox, tenant, webhook)
    return webhook


def _check_secret(sandbox: SandboxState, secret: str) -> None:
    expected = deliveries.secret_rejection(sandbox, secret)
    if expected is not None:  # the text itself is in no answer: it may be a secret
        raise ControlError("MOCK_BAD_SECRET", f"secret: got a text of {len(secret)} characters; expected {expected}")


def read_event(hosted: HostedSandbox, args: Arguments) -> answers.EventInFull:
    """Return an event with each request that was sent for it, byte for byte."""
    sandbox, event_id = hosted.sandbox, args["id"]
    entry = next((event for event in views.events(sandbox)["events"] if event["id"] == event_id), None)
    if entry is None:
        raise unknown_id("event", event_id, (event.id for event in sandbox.events))
    hide = redactor(sandbox)
    rows: list[answers.DeliveryInFull] = []
    for delivery in sandbox.outbox.of_event(event_id):
        match = sandbox.find("webhook", delivery.webhook_id)
        rows.append(
            {
                "id": delivery.id,
                "endpoint": delivery.webhook_id,
                "url": hide.text(match[1].url) if match else None,
                "status": delivery.status,
                "due": None if delivery.has_ended else format_exact(delivery.due),
                "attempts": [_attempt(attempt, hide) for attempt in delivery.attempts],
            }
        )
    return {**entry, "deliveries": rows}


def _attempt(attempt: Attempt, hide: Redactor) -> answers.SentAttempt:
    return {
        "number": attempt.number,
        "at": format_exact(attempt.at),
        "due": format_exact(attempt.due),
        "status": attempt.status,
        "error": hide.text(attempt.error) if attempt.error else None,
        "fault": attempt.fault,
        "durationMs": attempt.duration_ms,
        "headers": hide.headers(attempt.headers),
        "body": hide.text(attempt.body.decode("utf-8", "replace")),
        "bodyBytes": len(attempt.body),
        "answer": hide.text(attempt.answer.decode("utf-8", "replace")),
    }
