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

from base64 import b64decode, b64encode
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.durations import parse_duration
from mockserver.contract.lifecycles import DELIVERY
from mockserver.contract.limits import JOURNAL_MAX_ENTRIES
from mockserver.core import ids
from mockserver.core.instants import LATEST, MINUTE, Duration, Instant
from mockserver.core.state import outbox
from mockserver.core.state.outbox import Attempt, Delivery, PlannedAttempt
from mockserver.core.state.records import Event, Session, Webhook
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.core.webhooks import retry_schedule

FaultsOfAttempt = Callable[[SandboxState, Delivery, int], outbox.DeliveryFaults]

Cause = Mapping[str, object]

LOST = "lost by a script"
# For how long a former secret signs, by option of `wh-secret-rotation`; None is until the next rotation.
OVERLAPS: Mapping[str, str | None] = MappingProxyType({"one-day": "1d", "none": "0s", "until-next": None})
_REORDER_TIMEOUT = 5 * MINUTE  # a swapped delivery is sent after this time, also without a later one


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
    own = [event for event in outbox.unclaimed_events if event.tenant_id == tenant.id and accepts(webhook, event.kind)]
    outbox.unclaimed_events = [event for event in outbox.unclaimed_events if event not in own]
    for event in own:
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
    oldest = next(iter(outbox.deliveries.values()))
    if len(outbox.deliveries) > JOURNAL_MAX_ENTRIES and oldest.has_ended:
        del outbox.deliveries[oldest.id]
        outbox.by_event[oldest.event.id] = tuple(id for id in outbox.by_event[oldest.event.id] if id != oldest.id)
    return delivery


def transition_delivery(
    sandbox: SandboxState, delivery: Delivery, trigger: str, cause: Cause, **changes: Any
) -> Delivery:
    """Apply the transition of (the delivery's state, `trigger`), with `changes` to its other fields."""
    step = DELIVERY.require_step(delivery.status, trigger)
    moved = delivery._replace(status=step.target, state_version=sandbox.next_number("state_version"), **changes)
    sandbox.outbox.deliveries[moved.id] = moved
    sandbox.journal.add_transition(sandbox.now, "delivery", moved.id, delivery.status, moved.status, cause)
    return moved


def _attemptable(sandbox: SandboxState) -> Iterator[Delivery]:
    """
    Yield the deliveries that may be attempted now: of each free endpoint the first in its queue, and the unordered
    ones.
    """
    outbox = sandbox.outbox
    for webhook_id in [*outbox.queues, *(id for id in outbox.unordered if id not in outbox.queues)]:
        if webhook_id in outbox.in_flight:
            continue
        keys = [*outbox.queues.get(webhook_id, ())[:1], *outbox.unordered.get(webhook_id, ())]
        candidates = (outbox.deliveries[delivery_id] for _, delivery_id in keys)
        yield from (delivery for delivery in candidates if delivery.status == "due")


def has_due_attempt(sandbox: SandboxState) -> bool:
    """Return True if an attempt is due now."""
    return next(_attemptable(sandbox), None) is not None


def due_endpoints(sandbox: SandboxState) -> list[str]:
    """Return the ids of the endpoints that have an attempt due now."""
    return list(dict.fromkeys(delivery.webhook_id for delivery in _attemptable(sandbox)))


def claim_next_attempt(
    sandbox: SandboxState, faults_of: FaultsOfAttempt, *, early: bool = False, to: str | None = None
) -> PlannedAttempt | None:
    """
    Claim the next due attempt, which is in flight until its result is recorded; return None if none is due.

    `faults_of` returns the faults of an attempt. `early` claims only an attempt that a rule sends before the response
    of the current call; `to` only one to this endpoint.
    """
    while True:
        attemptable = (delivery for delivery in _attemptable(sandbox) if to in (None, delivery.webhook_id))
        ready = sorted(attemptable, key=lambda delivery: (delivery.due, delivery.seq))
        for delivery in ready:
            faults = delivery.faults
            if faults is None:  # evaluated once per attempt
                faults = faults_of(sandbox, delivery, delivery.next_attempt_number)
                delivery = delivery._replace(faults=faults)
                sandbox.outbox.deliveries[delivery.id] = delivery
            if faults.delay or (faults.reorder and delivery.webhook_id not in sandbox.outbox.swapped_out):
                _postpone(sandbox, delivery, faults)
                break
            if faults.before_answer or not early:
                return _claim(sandbox, delivery, faults, early=early)
        else:
            return None


def _postpone(sandbox: SandboxState, delivery: Delivery, faults: outbox.DeliveryFaults) -> None:
    """Take the delivery out of its queue: for its delay, or until the next event has been sent."""
    outbox, key = sandbox.outbox, (delivery.seq, delivery.id)
    outbox.remove(key, delivery.webhook_id)
    outbox.unordered.setdefault(delivery.webhook_id, []).append(key)
    _advance_queue(sandbox, delivery)
    if not faults.delay:
        outbox.swapped_out[delivery.webhook_id] = delivery.id
    due = delivery.due + (faults.delay or _REORDER_TIMEOUT)
    remaining = faults._replace(delay=0) if faults.delay else faults._replace(reorder=False)
    _schedule_retry(sandbox, delivery, due, {"script": "delay" if faults.delay else "reorder"}, faults=remaining)


def _claim(sandbox: SandboxState, delivery: Delivery, faults: outbox.DeliveryFaults, *, early: bool) -> PlannedAttempt:
    webhook = sandbox.tenants[delivery.tenant_id].webhooks[delivery.webhook_id]
    n = delivery.next_attempt_number
    option, message_id = sandbox.choices["wh-idempotency"], None
    if option == "same-per-event":
        message_id = delivery.event.id
    elif option == "new-per-try":
        message_id = "msg_" + ids.seeded_id(sandbox.seed, "message", delivery.id, n)
    call = sandbox.journal.last_exchange if early else None
    planned = PlannedAttempt(
        epoch=sandbox.epoch,
        delivery=delivery,
        webhook=webhook,
        number=n,
        at=sandbox.now,
        faults=faults,
        message_id=message_id,
        before_answer=call,
    )
    sandbox.outbox.in_flight[webhook.id] = planned
    return planned


def record_attempt(
    sandbox: SandboxState, planned: PlannedAttempt, requests: Sequence[Attempt], retry_after: Duration | None = None
) -> None:
    """
    Record the result of an attempt and decide how its delivery continues.

    `requests` are all requests of the attempt, in the order of sending; the genuine one has no fault. A result of an
    older epoch is discarded.
    """
    if planned.epoch != sandbox.epoch:
        return
    sandbox.outbox.in_flight.pop(planned.webhook.id, None)
    delivery = sandbox.outbox.deliveries[planned.delivery.id]
    changes = {
        "attempts": (*delivery.attempts, *requests),
        "faults": None,
        "attempts_in_schedule": delivery.attempts_in_schedule + 1,
    }
    genuine = next(request for request in requests if request.fault is None)
    cause: Cause = {"attempt": planned.number}
    if planned.before_answer is not None:
        cause = {**cause, "beforeAnswer": planned.before_answer}
    delay = retry_schedule.next_delay(
        str(sandbox.choices["wh-retry"]), delivery.attempts_in_schedule, genuine, retry_after
    )
    if genuine.accepted or genuine.error == LOST:  # the sender of a lost request counts it as delivered
        _finish(sandbox, delivery, "accept", cause, **changes)
    elif genuine.status == 410 or delay is None:
        _finish(sandbox, delivery, "abandon", cause, **changes)
    else:
        _schedule_retry(sandbox, delivery, delivery.due + delay, cause, **changes)
    if genuine.status == 410:
        _disable(sandbox, planned)


def release_attempt(sandbox: SandboxState, planned: PlannedAttempt) -> None:
    """Release an attempt without a result: its delivery stays due."""
    if planned.epoch == sandbox.epoch:
        sandbox.outbox.in_flight.pop(planned.webhook.id, None)


def _schedule_retry(sandbox: SandboxState, delivery: Delivery, due: Instant, cause: Cause, **changes: Any) -> None:
    due = min(due, LATEST)  # the last instant that can be shown
    waiting = transition_delivery(sandbox, delivery, "wait", cause, due=due, **changes)
    sandbox.schedule(due, "delivery", "wake", waiting.tenant_id, waiting.id, waiting.state_version)


def retry_due(sandbox: SandboxState, delivery_id: str, cause: Cause) -> None:
    """Make a waiting delivery due again; a swapped one is no longer swapped."""
    delivery = sandbox.outbox.deliveries[delivery_id]
    if sandbox.outbox.swapped_out.get(delivery.webhook_id) == delivery_id:
        del sandbox.outbox.swapped_out[delivery.webhook_id]
    transition_delivery(sandbox, delivery, "wake", cause)


def _finish(sandbox: SandboxState, delivery: Delivery, trigger: str, cause: Cause, **changes: Any) -> None:
    """End the delivery: the next one to this endpoint becomes due, then the one that was swapped with it."""
    outbox, swapped_id = sandbox.outbox, sandbox.outbox.swapped_out.get(delivery.webhook_id)
    outbox.remove((delivery.seq, delivery.id), delivery.webhook_id)
    transition_delivery(sandbox, delivery, trigger, cause, **changes)
    _advance_queue(sandbox, delivery)
    if swapped_id is not None and swapped_id != delivery.id:
        del outbox.swapped_out[delivery.webhook_id]
        if outbox.deliveries[swapped_id].status == "waiting":
            swapped = outbox.deliveries[swapped_id]._replace(due=delivery.due)
            transition_delivery(sandbox, swapped, "wake", {"script": "reorder"})


def _advance_queue(sandbox: SandboxState, removed: Delivery) -> None:
    """Make the next delivery in the queue due, at the earliest when the one before it was."""
    queue = sandbox.outbox.queues.get(removed.webhook_id)
    head = sandbox.outbox.deliveries[queue[0][1]] if queue else None
    if head is not None and head.status == "due" and head.due < removed.due:
        sandbox.outbox.deliveries[head.id] = head._replace(due=removed.due)


def _disable(sandbox: SandboxState, planned: PlannedAttempt) -> None:
    """Disable an endpoint that responded 410: no event is sent to it until it is recovered."""
    outbox, webhooks = sandbox.outbox, sandbox.tenants[planned.delivery.tenant_id].webhooks
    webhooks[planned.webhook.id] = webhooks[planned.webhook.id]._replace(disabled=True)
    keys = [*outbox.queues.get(planned.webhook.id, ()), *outbox.unordered.get(planned.webhook.id, ())]
    for _, delivery_id in keys:
        delivery = outbox.deliveries[delivery_id]
        if delivery.status == "waiting":
            delivery = transition_delivery(sandbox, delivery, "wake", {"webhook": "disabled"})
        _finish(sandbox, delivery, "abandon", {"webhook": "disabled"})


def redeliver(sandbox: SandboxState, event: Event) -> list[Delivery]:
    """
    Send an event again: each of its ended deliveries is due immediately, with a new retry schedule.

    An endpoint that accepts the event and has no delivery of it yet gets one.

    Returns:
        The deliveries that are due now, perhaps none.
    """
    tenant = sandbox.tenants[event.tenant_id]
    deliveries = list(sandbox.outbox.of_event(event.id))
    ended = [delivery for delivery in deliveries if DELIVERY.step(delivery.status, "resend") is not None]
    served = {delivery.webhook_id for delivery in deliveries}
    new = [hook for hook in tenant.webhooks.values() if hook.id not in served and accepts(hook, event.kind)]
    sandbox.outbox.unclaimed_events = [
        unclaimed for unclaimed in sandbox.outbox.unclaimed_events if unclaimed.id != event.id or not new
    ]
    again = [_resend(sandbox, delivery, "redeliver") for delivery in ended]
    return again + [create_delivery(sandbox, event, webhook) for webhook in new]


def recover(sandbox: SandboxState, tenant: Tenant, webhook: Webhook) -> list[Delivery]:
    """Send an endpoint its abandoned deliveries again, in their order; a disabled endpoint is enabled."""
    tenant.webhooks[webhook.id] = webhook._replace(disabled=False)
    abandoned = [delivery for delivery in sandbox.outbox.of_webhook(webhook.id) if delivery.status == "abandoned"]
    return [_resend(sandbox, delivery, "recover") for delivery in abandoned]


def _resend(sandbox: SandboxState, delivery: Delivery, by: str) -> Delivery:
    insort(sandbox.outbox.queues.setdefault(delivery.webhook_id, []), (delivery.seq, delivery.id))
    return transition_delivery(sandbox, delivery, "resend", {"forced": by}, due=sandbox.now, attempts_in_schedule=0)


def rotate_secret(sandbox: SandboxState, tenant: Tenant, webhook: Webhook, secret: str) -> Webhook:
    """
    Set a new secret of an endpoint; for the length of `wh-secret-rotation` the former one signs in addition.

    A repetition with the secret that the endpoint has changes nothing, so that the former one still signs.
    """
    if secret == webhook.secret:
        return webhook
    option = sandbox.choices["wh-secret-rotation"]
    length = parse_duration(OVERLAPS.get(str(option), option))
    until = None if length is None else min(sandbox.now + length, LATEST)
    rotated = webhook._replace(secret=secret, old_secret=webhook.secret, old_secret_until=until)
    tenant.webhooks[webhook.id] = rotated
    return rotated


def new_secret(sandbox: SandboxState) -> str:
    """Return a new signing secret in the format of the reference libraries."""
    drawn = ids.seeded_id(sandbox.seed, "signing secret", sandbox.next_number("signing secret"), chars=24)
    return _SECRET_PREFIX + b64encode(drawn.encode()).decode()


_SCHEMES_OF_BASE64: Final = ("standard-webhooks", "svix")
_SECRET_PREFIX: Final = "whsec_"


def key_of(secret: str) -> bytes | None:
    """Return the bytes that a secret of Standard Webhooks encodes, None for a text that is not one (`wh-secret-form`)."""
    try:
        return b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True) or None
    except ValueError:
        return None


def secret_rejection(sandbox: SandboxState, secret: str) -> str | None:
    """Return the form that the scheme in force expects of a secret, or None if it can read this one."""
    scheme = sandbox.choices["wh-signature"]
    if scheme not in _SCHEMES_OF_BASE64 or key_of(secret) is not None:
        return None
    return f"base64, usually of 24 bytes, after {_SECRET_PREFIX!r} or alone, as {scheme} has it (choice wh-signature)"


def has_unsent_event(sandbox: SandboxState, session: Session) -> bool:
    """Return True if the event of an ended session is due at an endpoint for the first time."""
    outbox = sandbox.outbox
    for queue in outbox.queues.values():
        if outbox.deliveries[queue[0][1]].status != "due":
            continue
        waiting = (outbox.deliveries[delivery_id] for _, delivery_id in queue)
        if any(delivery.event.record.id == session.id and not delivery.attempts for delivery in waiting):
            return True
    return False
