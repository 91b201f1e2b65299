"""What is done to webhooks by hand: an event sent again, an endpoint recovered, a secret rotated."""

from __future__ import annotations

from base64 import b64encode
from bisect import insort
from dataclasses import replace

from mockserver.contract.lifecycles import DELIVERY
from mockserver.core import deliveries, ids
from mockserver.core.outbox import Delivery
from mockserver.core.records import Event, Session, Webhook
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


def redeliver(sandbox: Sandbox, event: Event) -> list[Delivery]:
    """
    Send an event again: each of its deliveries that has ended is due at once, with the whole schedule before it.

    An endpoint that takes it and had none yet gets one. Answers what was set going, which may be nothing.
    """
    tenant = sandbox.tenants[event.tenant_id]
    ended = [each for each in sandbox.outbox.of_event(event.id) if DELIVERY.step(each.status, "resend") is not None]
    have = {each.webhook_id for each in sandbox.outbox.of_event(event.id)}
    new = [each for each in tenant.webhooks.values() if each.id not in have and deliveries.takes(each, event.kind)]
    sandbox.outbox.stored = [each for each in sandbox.outbox.stored if each.id != event.id or not new]
    again = [_resend(sandbox, each, "redeliver") for each in ended]
    return again + [deliveries.born(sandbox, event, webhook) for webhook in new]


def recover(sandbox: Sandbox, tenant: Tenant, webhook: Webhook) -> list[Delivery]:
    """Send an endpoint everything that was given up, in the order of happening; a disabled one is enabled again."""
    tenant.webhooks[webhook.id] = replace(webhook, disabled=False)
    given_up = [each for each in sandbox.outbox.of_webhook(webhook.id) if each.status == "abandoned"]
    return [_resend(sandbox, each, "recover") for each in given_up]


def _resend(sandbox: Sandbox, delivery: Delivery, by: str) -> Delivery:
    insort(sandbox.outbox.queues.setdefault(delivery.webhook_id, []), (delivery.seq, delivery.id))
    return deliveries.move(sandbox, delivery, "resend", {"forced": by}, due=sandbox.now, tries=0)


def rotate(sandbox: Sandbox, tenant: Tenant, webhook: Webhook, secret: str) -> Webhook:
    """Give an endpoint a new secret; until the next rotation its letters are signed with the former one too."""
    tenant.webhooks[webhook.id] = replace(webhook, secret=secret, old_secret=webhook.secret)
    return tenant.webhooks[webhook.id]


def new_secret(sandbox: Sandbox) -> str:
    """A fresh signing secret, as the reference libraries take it."""
    drawn = ids.draw(sandbox.seed, "signing secret", sandbox.count("signing secret"), chars=24)
    return "whsec_" + b64encode(drawn.encode()).decode()


def is_unsent(sandbox: Sandbox, session: Session) -> bool:
    """True while the event of a session that has ended is about to be sent for the first time to some endpoint."""
    outbox = sandbox.outbox
    for queue in outbox.queues.values():
        if outbox.deliveries[queue[0][1]].status != "due":
            continue
        waiting = (outbox.deliveries[delivery_id] for _, delivery_id in queue)
        if any(each.event.session.id == session.id and not each.attempts for each in waiting):
            return True
    return False
