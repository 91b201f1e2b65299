"""
Deliveries: each event is sent to each endpoint that accepts it, in the order of the events, until accepted or
abandoned.

1. An endpoint has one attempt in flight at a time. While a delivery waits for its next attempt, later events wait too.
2. Each delay of the schedule counts from the instant at which the previous attempt was due; there is no jitter.
3. The core plans an attempt (`claim_next_attempt`) and records its result (`record_attempt`); the server sends it,
   without the lock.
4. A delivery that a rule delays or swaps leaves that order and blocks no other.
"""

from __future__ import annotations

from base64 import b64encode
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mockserver.contract.lifecycles import DELIVERY
from mockserver.contract.limits import JOURNAL_MAX_ENTRIES
from mockserver.core import ids
from mockserver.core.instants import LATEST, MINUTE, Duration, Instant
from mockserver.core.state import outbox
from mockserver.core.state.outbox import Attempt, Delivery, Outbox, PlannedAttempt
from mockserver.core.state.records import Event, Session, Webhook
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.core.webhooks import retry_schedule

Ask = Callable[[SandboxState, Delivery, int], outbox.DeliveryFaults]

Cause = Mapping[str, object]

LOST = "lost by a script"
_REORDER_TIMEOUT = 5 * MINUTE  # then it is sent although no other has passed, so that nothing is lost


def accepts(webhook: Webhook, kind: str) -> bool:
    """Return True if the endpoint is registered for this kind of event, its group, or every event."""
    return not webhook.events or kind in webhook.events or kind.partition(".")[0] in webhook.events


def enqueue_event(sandbox: SandboxState, tenant: Tenant, event: Event) -> None:
    """Create a delivery of the event to every endpoint that accepts it; if none does, `wh-no-endpoint` decides."""
    takers = [webhook for webhook in tenant.webhooks.values() if accepts(webhook, event.kind)]
    if not takers and sandbox.choices["wh-no-endpoint"] == "stored":
        sandbox.outbox.unclaimed_events.append(event)
    for webhook in takers:
        create_delivery(sandbox, event, webhook)


def register_webhook(sandbox: SandboxState, tenant: Tenant, webhook: Webhook) -> None:
    """Register an endpoint for the tenant's events, and enqueue the events that no endpoint has received yet."""
    tenant.webhooks[webhook.id] = webhook
    outbox = sandbox.outbox
    waited = [each for each in outbox.unclaimed_events if each.tenant_id == tenant.id and accepts(webhook, each.kind)]
    outbox.unclaimed_events = [each for each in outbox.unclaimed_events if each not in waited]
    for event in waited:
        create_delivery(sandbox, event, webhook)


def create_delivery(sandbox: SandboxState, event: Event, webhook: Webhook) -> Delivery:
    """Create a delivery that is due now, last in its endpoint's queue; abandon it if the endpoint is disabled."""
    outbox = sandbox.outbox
    delivery = Delivery(
        seq=event.seq,
        id="delivery_" + ids.seeded_id(sandbox.seed, "delivery", sandbox.next_number("delivery"), sandbox.epoch),
        event=event,
        webhook_id=webhook.id,
        tenant_id=event.tenant_id,
        status=DELIVERY.initial,
        state_version=sandbox.next_number("state_version"),
        due=sandbox.now,
    )
    outbox.deliveries[delivery.id] = delivery
    outbox.by_event[event.id] = (*outbox.by_event.get(event.id, ()), delivery.id)
    sandbox.journal.add_transition(sandbox.now, "delivery", delivery.id, None, delivery.status, {"event": event.id})
    if webhook.disabled:
        return transition_delivery(sandbox, delivery, "abandon", {"webhook": "disabled"})
    insort(outbox.queues.setdefault(webhook.id, []), (delivery.seq, delivery.id))
    _forget_oldest(outbox)
    return delivery


def _forget_oldest(outbox: Outbox) -> None:
    oldest = next(iter(outbox.deliveries.values()))
    if len(outbox.deliveries) > JOURNAL_MAX_ENTRIES and oldest.has_ended:
        del outbox.deliveries[oldest.id]
        left = tuple(each for each in outbox.by_event[oldest.event.id] if each != oldest.id)
        outbox.by_event[oldest.event.id] = left


def transition_delivery(
    sandbox: SandboxState, delivery: Delivery, trigger: str, cause: Cause, **changes: Any
) -> Delivery:
    """Apply the transition of (the delivery's state, `trigger`), with `changes` to its other fields."""
    step = DELIVERY.step(delivery.status, trigger)
    if step is None:
        raise ValueError(f"a delivery that is {delivery.status} has no move '{trigger}'")
    moved = replace(delivery, status=step.target, state_version=sandbox.next_number("state_version"), **changes)
    sandbox.outbox.deliveries[moved.id] = moved
    sandbox.journal.add_transition(sandbox.now, "delivery", moved.id, delivery.status, moved.status, cause)
    return moved


def _attemptable(sandbox: SandboxState) -> Iterator[Delivery]:
    """
    Yield the deliveries that may be attempted now: of each free endpoint the first in its queue, and the unordered
    ones.
    """
    outbox = sandbox.outbox
    for webhook_id in [*outbox.queues, *(each for each in outbox.unordered if each not in outbox.queues)]:
        if webhook_id in outbox.in_flight:
            continue
        for _, delivery_id in [*outbox.queues.get(webhook_id, ())[:1], *outbox.unordered.get(webhook_id, ())]:
            delivery = outbox.deliveries[delivery_id]
            if delivery.status == "due":
                yield delivery


def has_due_attempt(sandbox: SandboxState) -> bool:
    """Return True if an attempt is due now."""
    return not sandbox.outbox.is_idle and next(_attemptable(sandbox), None) is not None


def claim_next_attempt(sandbox: SandboxState, ask: Ask, *, early: bool = False) -> PlannedAttempt | None:
    """
    Claim the next due attempt, which is in flight until its result is recorded; return None if none is due.

    `ask` returns the faults of an attempt. `early` claims only an attempt that a rule wants sent before the response of
    the current call.
    """
    while True:
        ready = sorted(_attemptable(sandbox), key=lambda each: (each.due, each.seq))
        for delivery in ready:
            asked = _with_faults(sandbox, delivery, ask)
            wanted = asked.faults or outbox.NO_DELIVERY_FAULTS
            if wanted.delay or (wanted.reorder and asked.webhook_id not in sandbox.outbox.swapped_out):
                _postpone(sandbox, asked, wanted)
                break
            if wanted.before_answer or not early:
                return _claim(sandbox, asked, wanted)
        else:
            return None


def _with_faults(sandbox: SandboxState, delivery: Delivery, ask: Ask) -> Delivery:
    """Return the delivery with the faults of its next attempt, evaluated once."""
    if delivery.faults is None:
        delivery = replace(delivery, faults=ask(sandbox, delivery, delivery.next_attempt_number))
        sandbox.outbox.deliveries[delivery.id] = delivery
    return delivery


def _postpone(sandbox: SandboxState, delivery: Delivery, wanted: outbox.DeliveryFaults) -> None:
    """Let later events pass: for a while, or until the next of them has been sent."""
    outbox, place = sandbox.outbox, (delivery.seq, delivery.id)
    outbox.remove(place, delivery.webhook_id)
    outbox.unordered.setdefault(delivery.webhook_id, []).append(place)
    _advance_queue(sandbox, delivery)
    if not wanted.delay:
        outbox.swapped_out[delivery.webhook_id] = delivery.id
    due = delivery.due + (wanted.delay or _REORDER_TIMEOUT)
    left = replace(wanted, delay=0) if wanted.delay else replace(wanted, reorder=False)
    _schedule_retry(sandbox, delivery, due, {"script": "delay" if wanted.delay else "reorder"}, faults=left)


def _claim(sandbox: SandboxState, delivery: Delivery, wanted: outbox.DeliveryFaults) -> PlannedAttempt:
    webhook = sandbox.tenants[delivery.tenant_id].webhooks[delivery.webhook_id]
    n = delivery.next_attempt_number
    planned = PlannedAttempt(
        sandbox.epoch, delivery, webhook, n, sandbox.now, wanted, _message_id(sandbox, delivery, n)
    )
    sandbox.outbox.in_flight[webhook.id] = planned
    return planned


def _message_id(sandbox: SandboxState, delivery: Delivery, n: int) -> str | None:
    how = sandbox.choices["wh-idempotency"]
    if how == "same-per-event":
        return delivery.event.id
    return "msg_" + ids.seeded_id(sandbox.seed, "message", delivery.id, n) if how == "new-per-try" else None


def record_attempt(
    sandbox: SandboxState, planned: PlannedAttempt, made: Sequence[Attempt], retry_after: Duration | None = None
) -> None:
    """
    Record the result of an attempt and decide how its delivery continues.

    `made` are its requests in the order of sending; the genuine one has no fault. A result of an older epoch is
    discarded.
    """
    if planned.epoch != sandbox.epoch:
        return
    sandbox.outbox.in_flight.pop(planned.webhook.id, None)
    delivery = sandbox.outbox.deliveries[planned.delivery.id]
    kept = {
        "attempts": (*delivery.attempts, *made),
        "faults": None,
        "attempts_in_schedule": delivery.attempts_in_schedule + 1,
    }
    true = next(each for each in made if each.fault is None)
    cause: Cause = {"attempt": planned.number}
    delay = retry_schedule.next_delay(
        str(sandbox.choices["wh-retry"]), delivery.attempts_in_schedule, true, retry_after
    )
    if true.accepted or true.error == LOST:  # the sender of a lost request counts it as delivered
        _finish(sandbox, delivery, "accept", cause, **kept)
    elif true.status == 410 or delay is None:
        _finish(sandbox, delivery, "abandon", cause, **kept)
    else:
        _schedule_retry(sandbox, delivery, delivery.due + delay, cause, **kept)
    if true.status == 410:
        _disable(sandbox, planned)


def release_attempt(sandbox: SandboxState, planned: PlannedAttempt) -> None:
    """Release an attempt without any result, not even a failure: it is due as before."""
    if planned.epoch == sandbox.epoch:
        sandbox.outbox.in_flight.pop(planned.webhook.id, None)


def _schedule_retry(sandbox: SandboxState, delivery: Delivery, due: Instant, cause: Cause, **changes: Any) -> None:
    due = min(due, LATEST)  # the last instant that can be shown
    rested = transition_delivery(sandbox, delivery, "wait", cause, due=due, **changes)
    sandbox.schedule(due, "delivery", "wake", rested.tenant_id, rested.id, rested.state_version)


def retry_due(sandbox: SandboxState, delivery_id: str, cause: Cause) -> None:
    """Make a waiting delivery due again; one that let others pass returns to the order."""
    delivery = sandbox.outbox.deliveries[delivery_id]
    if sandbox.outbox.swapped_out.get(delivery.webhook_id) == delivery_id:
        del sandbox.outbox.swapped_out[delivery.webhook_id]
    transition_delivery(sandbox, delivery, "wake", cause)


def _finish(sandbox: SandboxState, delivery: Delivery, trigger: str, cause: Cause, **changes: Any) -> None:
    """End the delivery: the next one to this endpoint is attempted, then the one that let it pass."""
    outbox, aside = sandbox.outbox, sandbox.outbox.swapped_out.get(delivery.webhook_id)
    outbox.remove((delivery.seq, delivery.id), delivery.webhook_id)
    transition_delivery(sandbox, delivery, trigger, cause, **changes)
    _advance_queue(sandbox, delivery)
    if aside is not None and aside != delivery.id:
        del outbox.swapped_out[delivery.webhook_id]
        if outbox.deliveries[aside].status == "waiting":
            passed = replace(outbox.deliveries[aside], due=delivery.due)
            transition_delivery(sandbox, passed, "wake", {"script": "reorder"})


def _advance_queue(sandbox: SandboxState, gone: Delivery) -> None:
    """Make the next delivery in the queue due, at the earliest when the one before it was."""
    queue = sandbox.outbox.queues.get(gone.webhook_id)
    head = sandbox.outbox.deliveries[queue[0][1]] if queue else None
    if head is not None and head.status == "due" and head.due < gone.due:
        sandbox.outbox.deliveries[head.id] = replace(head, due=gone.due)


def _disable(sandbox: SandboxState, planned: PlannedAttempt) -> None:
    """The endpoint is gone (410): it is sent nothing more until it is recovered."""
    outbox, webhooks = sandbox.outbox, sandbox.tenants[planned.delivery.tenant_id].webhooks
    webhooks[planned.webhook.id] = replace(webhooks[planned.webhook.id], disabled=True)
    lanes = [*outbox.queues.get(planned.webhook.id, ()), *outbox.unordered.get(planned.webhook.id, ())]
    for _, delivery_id in lanes:
        delivery = outbox.deliveries[delivery_id]
        if delivery.status == "waiting":
            delivery = transition_delivery(sandbox, delivery, "wake", {"webhook": "disabled"})
        _finish(sandbox, delivery, "abandon", {"webhook": "disabled"})


def redeliver(sandbox: SandboxState, event: Event) -> list[Delivery]:
    """
    Send an event again: each of its deliveries that has ended is due at once, with the whole schedule before it.

    An endpoint that takes it and had none yet gets one. Answers what was set going, which may be nothing.
    """
    tenant = sandbox.tenants[event.tenant_id]
    ended = [each for each in sandbox.outbox.of_event(event.id) if DELIVERY.step(each.status, "resend") is not None]
    have = {each.webhook_id for each in sandbox.outbox.of_event(event.id)}
    new = [each for each in tenant.webhooks.values() if each.id not in have and accepts(each, event.kind)]
    sandbox.outbox.unclaimed_events = [
        each for each in sandbox.outbox.unclaimed_events if each.id != event.id or not new
    ]
    again = [_resend(sandbox, each, "redeliver") for each in ended]
    return again + [create_delivery(sandbox, event, webhook) for webhook in new]


def recover(sandbox: SandboxState, tenant: Tenant, webhook: Webhook) -> list[Delivery]:
    """Send an endpoint everything that was given up, in the order of happening; a disabled one is enabled again."""
    tenant.webhooks[webhook.id] = replace(webhook, disabled=False)
    given_up = [each for each in sandbox.outbox.of_webhook(webhook.id) if each.status == "abandoned"]
    return [_resend(sandbox, each, "recover") for each in given_up]


def _resend(sandbox: SandboxState, delivery: Delivery, by: str) -> Delivery:
    insort(sandbox.outbox.queues.setdefault(delivery.webhook_id, []), (delivery.seq, delivery.id))
    return transition_delivery(sandbox, delivery, "resend", {"forced": by}, due=sandbox.now, attempts_in_schedule=0)


def rotate_secret(sandbox: SandboxState, tenant: Tenant, webhook: Webhook, secret: str) -> Webhook:
    """Give an endpoint a new secret; until the next rotation its letters are signed with the former one too."""
    tenant.webhooks[webhook.id] = replace(webhook, secret=secret, old_secret=webhook.secret)
    return tenant.webhooks[webhook.id]


def new_secret(sandbox: SandboxState) -> str:
    """A fresh signing secret, as the reference libraries take it."""
    drawn = ids.seeded_id(sandbox.seed, "signing secret", sandbox.next_number("signing secret"), chars=24)
    return "whsec_" + b64encode(drawn.encode()).decode()


def has_unsent_event(sandbox: SandboxState, session: Session) -> bool:
    """True while the event of a session that has ended is about to be sent for the first time to some endpoint."""
    outbox = sandbox.outbox
    for queue in outbox.queues.values():
        if outbox.deliveries[queue[0][1]].status != "due":
            continue
        waiting = (outbox.deliveries[delivery_id] for _, delivery_id in queue)
        if any(each.event.session.id == session.id and not each.attempts for each in waiting):
            return True
    return False
