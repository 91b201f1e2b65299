"""What pages show of a sandbox in addition to the answers of commands: one call, and the names of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mockserver._json import JSON
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.control import views
from mockserver.wire.response import redactor

_NAMED = ("campaign", "template", "entrypoint", "media")


def read_call(state: SandboxState, number: int) -> JSON | None:
    """Return a call as the journal has it, with the `changes` that it has caused; None if the journal does not have it."""
    entry = next(iter(state.journal.since(number - 1)), None)
    if entry is None or entry.n != number:
        return None
    changes = [views.transition(row) for row in state.journal.transitions if row.cause.get("exchange") == number]
    return {**views.exchange(entry, redactor(state)), "changes": changes}


def read_names(state: SandboxState, ids: Iterable[str]) -> Mapping[str, str]:
    """Return the names of the records with these ids: of a delivery the kind of its event with the endpoint's url."""
    hide = redactor(state)
    named = {id: _name(state, id) for id in ids}
    return {id: hide.text(name) for id, name in named.items() if name}


def _name(state: SandboxState, id: str) -> str:
    delivery = state.outbox.deliveries.get(id)
    if delivery is not None:
        return f"{delivery.event.kind} to {_url(state, delivery.webhook_id)}"
    execution = state.find("execution", id)
    if execution is not None:
        id = execution[1].campaign_id
    for kind in _NAMED:
        found = state.find(kind, id)
        if found is not None:
            return str(found[1].name or "")
    return _url(state, id) if state.find("webhook", id) is not None else ""


def _url(state: SandboxState, webhook_id: str) -> str:
    found = state.find("webhook", webhook_id)
    return webhook_id if found is None else str(found[1].url)
