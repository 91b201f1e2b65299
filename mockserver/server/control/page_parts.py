"""What pages show of a sandbox in addition to the answers of commands: one call, and the names of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver._json import JSON
from mockserver.core.run import Run
from mockserver.server.control import views
from mockserver.server.hosting.host import HostedSnapshot
from mockserver.wire.response import redactor

_NAMED = ("campaign", "template", "entrypoint", "media")


def read_call(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> JSON | None:
    """Return call `n` as the journal has it, with the `changes` that it has caused; None if the journal does not have it."""
    state, number = snapshot.state, args["n"]
    entry = next(iter(state.journal.since(number - 1)), None)
    if entry is None or entry.n != number:
        return None
    changes = [views.transition(row) for row in state.journal.transitions if row.cause.get("exchange") == number]
    return {**views.exchange(entry, redactor(state)), "changes": changes}


def read_names(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the names of the records with these `ids`: of a delivery the kind of its event with the endpoint's url."""
    run, hide = Run.of(snapshot.state), redactor(snapshot.state)
    named = {id: _name(run, id) for id in args["ids"]}
    return {id: hide.text(name) for id, name in named.items() if name}


def _name(run: Run, id: str) -> str:
    if (delivery := run.deliveries.get(id)) is not None:
        return f"{delivery.event.kind} to {_url(run, delivery.webhook_id)}"
    if (found := run.find("execution", id)) is not None:
        id = found[1].campaign_id
    for kind in _NAMED:
        if (found := run.find(kind, id)) is not None:
            return str(found[1].name or "")
    return _url(run, id) if run.find("webhook", id) is not None else ""


def _url(run: Run, webhook_id: str) -> str:
    found = run.find("webhook", webhook_id)
    return webhook_id if found is None else str(found[1].url)
