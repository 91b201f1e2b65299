"""Commands on webhooks: send an event again, recover an endpoint, rotate its secret, register a receiver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.contract.lifecycles import CONNECTED, CONNECTION_FAILED
from mockserver.contract.text import closest_match_hint
from mockserver.core.redaction import mask
from mockserver.core.state.records import Webhook
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.core.webhooks import deliveries, url_policy
from mockserver.scenario.apply import DEFAULT_TENANT
from mockserver.server.control import views
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.webhooks.local_receivers import ReceiverTarget

JSON = dict[str, Any]
Arguments = Mapping[str, Any]

KINDS = ("entrypoints", CONNECTED, CONNECTION_FAILED)  # the events that an endpoint may be registered for


def redeliver(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Send an event again to every endpoint where its delivery has ended; return the event with the attempts made."""
    sandbox, event_id = hosted.sandbox, args["id"]
    with sandbox.lock:
        _schedule_again(sandbox, event_id)
    hosted.dispatch_webhooks(raises_blocked=True)
    with sandbox.lock:
        return next(event for event in views.events(sandbox)["events"] if event["id"] == event_id)


def _schedule_again(sandbox: SandboxState, event_id: str) -> None:
    event = next((event for event in sandbox.events if event.id == event_id), None)
    if event is None:
        raise _unknown("event", event_id, [event.id for event in sandbox.events])
    if not deliveries.redeliver(sandbox, event):
        statuses = ", ".join(delivery.status for delivery in sandbox.outbox.of_event(event_id))
        why = f"its deliveries are {statuses}" if statuses else "no endpoint is registered for it"
        raise ControlError(
            409,
            "MOCK_ILLEGAL_MOVE",
            f"event {event_id} cannot be sent again: {why}; expected a delivery that is delivered or abandoned",
        )


def recover(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Send an endpoint all its abandoned deliveries again, in the order of their events."""
    tenant, webhook = _webhook(hosted, args["id"])
    recovered = deliveries.recover(hosted.sandbox, tenant, webhook)
    return {"webhookId": webhook.id, "events": [delivery.event.id for delivery in recovered]}


def rotate(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Set the secret of an endpoint; its former one signs in addition until the next rotation."""
    tenant, webhook = _webhook(hosted, args["id"])
    rotated = deliveries.rotate_secret(hosted.sandbox, tenant, webhook, args["secret"])
    return {"webhookId": webhook.id, "secret": mask(rotated.secret), "oldSecret": mask(webhook.secret)}


def create_webhook(hosted: HostedSandbox, args: Arguments) -> JSON:
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
        raise _unknown("tenant", tenant_id, list(sandbox.tenants))
    for kind in events:
        if kind not in KINDS:
            raise ControlError(
                400,
                "MOCK_BAD_EVENT",
                f"events: got {kind!r}; expected some of {', '.join(KINDS)}{closest_match_hint(kind, KINDS)}",
            )
    if isinstance(target, str):
        url, expected = target, url_policy.rejection_reason(target, sandbox.outbox.allowed_hosts)
        if expected is not None:
            raise ControlError(400, "MOCK_BAD_TARGET", f"url: got {target!r}; expected {expected}")
    else:
        url = hosted.dispatch.register_local_receiver(target, path)
    webhook = Webhook(sandbox.new_id("webhook_"), url, secret or deliveries.new_secret(sandbox), tuple(events))
    deliveries.register_webhook(sandbox, tenant, webhook)
    return webhook


def _webhook(hosted: HostedSandbox, webhook_id: str) -> tuple[Tenant, Webhook]:
    match = hosted.sandbox.find("webhook", webhook_id)
    if match is None:
        raise _unknown("webhook", webhook_id, [webhook.id for _, webhook in hosted.sandbox.records("webhook")])
    return match


def _unknown(kind: str, received: str, ids: list[str]) -> ControlError:
    expected = ", ".join(ids[:5]) or "one that exists; there is none yet"
    return ControlError(
        404, "MOCK_NOT_FOUND", f"{kind}: got {received!r}; expected {expected}{closest_match_hint(received, ids)}"
    )
