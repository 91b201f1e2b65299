"""
Deliveries: each event goes to each endpoint that takes it, in the order of happening, until it is accepted or given up.

1. An endpoint has one letter under way at a time. While one rests for its next try, later events wait behind it.
2. Each delay of the schedule counts from the instant at which the attempt before was due; there is no jitter.
3. The core plans an attempt (`take`) and hears what came of it (`report`); sending is the edge's, without a lock.
4. What a script delays or lets others pass leaves that order, and holds up nobody.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mockserver.contract.lifecycles import DELIVERY
from mockserver.contract.limits import JOURNAL_MAX_ENTRIES
from mockserver.core import ids, schedule, twists
from mockserver.core.instants import LATEST, MINUTE, Instant, Span
from mockserver.core.outbox import Attempt, Delivery, Outbox, Planned
from mockserver.core.records import Event, Webhook
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant

Ask = Callable[[Sandbox, Delivery, int], twists.Twists]

Cause = Mapping[str, object]

LOST = "lost by a script"
_REORDER_PATIENCE = 5 * MINUTE  # then it goes without another having passed, so that nothing is lost


def takes(webhook: Webhook, kind: str) -> bool:
    """True where the endpoint is registered for this kind of event, its group, or everything."""
    return not webhook.events or kind in webhook.events or kind.partition(".")[0] in webhook.events


def send(sandbox: Sandbox, tenant: Tenant, event: Event) -> None:
    """Put an event on its way to every endpoint that takes it; where none does, `wh-no-endpoint` says what becomes of it."""
    takers = [webhook for webhook in tenant.webhooks.values() if takes(webhook, event.kind)]
    if not takers and sandbox.choices["wh-no-endpoint"] == "stored":
        sandbox.outbox.stored.append(event)
    for webhook in takers:
        born(sandbox, event, webhook)


def register(sandbox: Sandbox, tenant: Tenant, webhook: Webhook) -> None:
    """Have the endpoint receive the tenant's events from now on, and those that were stored for want of one."""
    tenant.webhooks[webhook.id] = webhook
    outbox = sandbox.outbox
    waited = [each for each in outbox.stored if each.tenant_id == tenant.id and takes(webhook, each.kind)]
    outbox.stored = [each for each in outbox.stored if each not in waited]
    for event in waited:
        born(sandbox, event, webhook)


def born(sandbox: Sandbox, event: Event, webhook: Webhook) -> Delivery:
    """A delivery that is due now and stands at the end of its endpoint's queue; to a disabled one it is given up."""
    outbox = sandbox.outbox
    delivery = Delivery(
        seq=event.seq,
        id="delivery_" + ids.draw(sandbox.seed, "delivery", sandbox.count("delivery"), sandbox.epoch),
        event=event,
        webhook_id=webhook.id,
        tenant_id=event.tenant_id,
        status=DELIVERY.initial,
        stay=sandbox.count("stay"),
        due=sandbox.now,
    )
    outbox.deliveries[delivery.id] = delivery
    outbox.by_event[event.id] = (*outbox.by_event.get(event.id, ()), delivery.id)
    sandbox.journal.note(sandbox.now, "delivery", delivery.id, None, delivery.status, {"event": event.id})
    if webhook.disabled:
        return move(sandbox, delivery, "abandon", {"webhook": "disabled"})
    insort(outbox.queues.setdefault(webhook.id, []), (delivery.seq, delivery.id))
    _forget_oldest(outbox)
    return delivery


def _forget_oldest(outbox: Outbox) -> None:
    oldest = next(iter(outbox.deliveries.values()))
    if len(outbox.deliveries) > JOURNAL_MAX_ENTRIES and oldest.has_ended:
        del outbox.deliveries[oldest.id]
        left = tuple(each for each in outbox.by_event[oldest.event.id] if each != oldest.id)
        outbox.by_event[oldest.event.id] = left


def move(sandbox: Sandbox, delivery: Delivery, trigger: str, cause: Cause, **changes: Any) -> Delivery:
    """Take a delivery along the row of (its state, `trigger`), with `changes` to its other fields."""
    step = DELIVERY.step(delivery.status, trigger)
    if step is None:
        raise ValueError(f"a delivery that is {delivery.status} has no move '{trigger}'")
    moved = replace(delivery, status=step.target, stay=sandbox.count("stay"), **changes)
    sandbox.outbox.deliveries[moved.id] = moved
    sandbox.journal.note(sandbox.now, "delivery", moved.id, delivery.status, moved.status, cause)
    return moved


def _ready(sandbox: Sandbox) -> Iterator[Delivery]:
    """What may be attempted now: of each endpoint that is free, the first in its queue and what has left that order."""
    outbox = sandbox.outbox
    for webhook_id in [*outbox.queues, *(each for each in outbox.loose if each not in outbox.queues)]:
        if webhook_id in outbox.under_way:
            continue
        for _, delivery_id in [*outbox.queues.get(webhook_id, ())[:1], *outbox.loose.get(webhook_id, ())]:
            delivery = outbox.deliveries[delivery_id]
            if delivery.status == "due":
                yield delivery


def waiting(sandbox: Sandbox) -> bool:
    """True where an attempt can be made now."""
    return not sandbox.outbox.is_idle and next(_ready(sandbox), None) is not None


def take(sandbox: Sandbox, ask: Ask, *, early: bool = False) -> Planned | None:
    """
    The attempt to be made next, which is under way from now on until it is reported; None where there is none.

    `ask` says what a script has in mind for an attempt. `early` takes only what a script wants sent before the answer of the call under way.
    """
    while True:
        ready = sorted(_ready(sandbox), key=lambda each: (each.due, each.seq))
        for delivery in ready:
            asked = _asked(sandbox, delivery, ask)
            wanted = asked.twists or twists.NO_TWISTS
            if wanted.delay or (wanted.reorder and asked.webhook_id not in sandbox.outbox.aside):
                _step_aside(sandbox, asked, wanted)
                break
            if wanted.before_answer or not early:
                return _claim(sandbox, asked, wanted)
        else:
            return None


def _asked(sandbox: Sandbox, delivery: Delivery, ask: Ask) -> Delivery:
    """The delivery with what the script has in mind for its next attempt, asked once."""
    if delivery.twists is None:
        delivery = replace(delivery, twists=ask(sandbox, delivery, delivery.next_try))
        sandbox.outbox.deliveries[delivery.id] = delivery
    return delivery


def _step_aside(sandbox: Sandbox, delivery: Delivery, wanted: twists.Twists) -> None:
    """Let later events pass: for a while, or until the next of them has been sent."""
    outbox, place = sandbox.outbox, (delivery.seq, delivery.id)
    outbox.drop(place, delivery.webhook_id)
    outbox.loose.setdefault(delivery.webhook_id, []).append(place)
    _turn_next(sandbox, delivery)
    if not wanted.delay:
        outbox.aside[delivery.webhook_id] = delivery.id
    due = delivery.due + (wanted.delay or _REORDER_PATIENCE)
    left = replace(wanted, delay=0) if wanted.delay else replace(wanted, reorder=False)
    _rest(sandbox, delivery, due, {"script": "delay" if wanted.delay else "reorder"}, twists=left)


def _claim(sandbox: Sandbox, delivery: Delivery, wanted: twists.Twists) -> Planned:
    webhook = sandbox.tenants[delivery.tenant_id].webhooks[delivery.webhook_id]
    n = delivery.next_try
    planned = Planned(sandbox.epoch, delivery, webhook, n, sandbox.now, wanted, _message_id(sandbox, delivery, n))
    sandbox.outbox.under_way[webhook.id] = planned
    return planned


def _message_id(sandbox: Sandbox, delivery: Delivery, n: int) -> str | None:
    how = sandbox.choices["wh-idempotency"]
    if how == "same-per-event":
        return delivery.event.id
    return "msg_" + ids.draw(sandbox.seed, "message", delivery.id, n) if how == "new-per-try" else None


def report(sandbox: Sandbox, planned: Planned, made: Sequence[Attempt], retry_after: Span | None = None) -> None:
    """
    Take note of what came of an attempt, and decide how its delivery goes on.

    `made` are its letters in the order of sending; the true one has no twist. One of an older epoch is thrown away.
    """
    if planned.epoch != sandbox.epoch:
        return
    sandbox.outbox.under_way.pop(planned.webhook.id, None)
    delivery = sandbox.outbox.deliveries[planned.delivery.id]
    kept = {"attempts": (*delivery.attempts, *made), "twists": None, "tries": delivery.tries + 1}
    true = next(each for each in made if each.twist is None)
    cause: Cause = {"attempt": planned.n}
    delay = schedule.delay(str(sandbox.choices["wh-retry"]), delivery.tries, true, retry_after)
    if true.accepted or true.error == LOST:  # whoever sent a lost one believes that it arrived
        _end(sandbox, delivery, "accept", cause, **kept)
    elif true.status == 410 or delay is None:
        _end(sandbox, delivery, "abandon", cause, **kept)
    else:
        _rest(sandbox, delivery, delivery.due + delay, cause, **kept)
    if true.status == 410:
        _disable(sandbox, planned)


def release(sandbox: Sandbox, planned: Planned) -> None:
    """Nothing came of the attempt, not even a failure: it is due as before."""
    if planned.epoch == sandbox.epoch:
        sandbox.outbox.under_way.pop(planned.webhook.id, None)


def _rest(sandbox: Sandbox, delivery: Delivery, due: Instant, cause: Cause, **changes: Any) -> None:
    due = min(due, LATEST)  # the last instant that can be shown
    rested = move(sandbox, delivery, "rest", cause, due=due, **changes)
    sandbox.arm(due, "delivery", "wake", rested.tenant_id, rested.id, rested.stay)


def wake(sandbox: Sandbox, delivery_id: str, cause: Cause) -> None:
    """A delivery that rested is due again; one that let others pass does so no longer."""
    delivery = sandbox.outbox.deliveries[delivery_id]
    if sandbox.outbox.aside.get(delivery.webhook_id) == delivery_id:
        del sandbox.outbox.aside[delivery.webhook_id]
    move(sandbox, delivery, "wake", cause)


def _end(sandbox: Sandbox, delivery: Delivery, trigger: str, cause: Cause, **changes: Any) -> None:
    """The delivery is over: the next one to this endpoint has its turn, and the one that let it pass goes after it."""
    outbox, aside = sandbox.outbox, sandbox.outbox.aside.get(delivery.webhook_id)
    outbox.drop((delivery.seq, delivery.id), delivery.webhook_id)
    move(sandbox, delivery, trigger, cause, **changes)
    _turn_next(sandbox, delivery)
    if aside is not None and aside != delivery.id:
        del outbox.aside[delivery.webhook_id]
        if outbox.deliveries[aside].status == "resting":
            passed = replace(outbox.deliveries[aside], due=delivery.due)
            move(sandbox, passed, "wake", {"script": "reorder"})


def _turn_next(sandbox: Sandbox, gone: Delivery) -> None:
    """Whoever waited behind a delivery that leaves the queue is due when that one was, at the soonest."""
    queue = sandbox.outbox.queues.get(gone.webhook_id)
    head = sandbox.outbox.deliveries[queue[0][1]] if queue else None
    if head is not None and head.status == "due" and head.due < gone.due:
        sandbox.outbox.deliveries[head.id] = replace(head, due=gone.due)


def _disable(sandbox: Sandbox, planned: Planned) -> None:
    """The endpoint is gone (410): it is sent nothing more until it is recovered."""
    outbox, webhooks = sandbox.outbox, sandbox.tenants[planned.delivery.tenant_id].webhooks
    webhooks[planned.webhook.id] = replace(webhooks[planned.webhook.id], disabled=True)
    lanes = [*outbox.queues.get(planned.webhook.id, ()), *outbox.loose.get(planned.webhook.id, ())]
    for _, delivery_id in lanes:
        delivery = outbox.deliveries[delivery_id]
        if delivery.status == "resting":
            delivery = move(sandbox, delivery, "wake", {"webhook": "disabled"})
        _end(sandbox, delivery, "abandon", {"webhook": "disabled"})
