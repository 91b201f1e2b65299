"""
The footprint of a call: which parts of the sandbox's state it has read and written.

Two calls that follow one another and have no part in common that one of them writes may be exchanged: both get the same
answers, and the state after them is the same except for ids.

1. Parts are named `campaign:ID`, `campaigns` (the list), `name:TENANT:NAME`, `limit:TENANT:PLATFORM` and so on.
2. Reads are a row of `READS` for each operation. Writes are those of the journal's transitions, and a row of `WRITES` for
   what no transition shows.
3. Where rules, commands, a used-up rate or an unknown id decide, the answer may depend on anything: there is no footprint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.core.state.journal import JournalEntry, Transition
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant


class Footprint(NamedTuple):
    """The parts of the state that something has read, and those that it has written."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


Parts = Callable[[SandboxState, Tenant, JournalEntry], Iterable[str]]


def _of_path(kind: str, name: str = "id") -> Parts:
    return lambda sandbox, tenant, entry: (f"{kind}:{entry.call.params[name]}",)


def _campaign_list(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> Iterator[str]:
    yield "campaigns"
    yield from map("campaign:".__add__, tenant.campaigns)


def _name(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> Iterator[str]:
    body = entry.body if isinstance(entry.body, dict) else {}
    yield f"name:{tenant.id}:{str(body.get('name')).casefold().strip()}"


def _created(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> Iterator[str]:
    """Yield what a create reads; if its name is taken, its reason names the campaign that has it."""
    yield from _name(sandbox, tenant, entry)
    if entry.error is not None:
        yield from _campaign_list(sandbox, tenant, entry)


def _started(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> Iterator[str]:
    campaign = tenant.campaigns[entry.call.params["id"]]
    yield f"campaign:{campaign.id}"
    yield from _limit(sandbox, tenant, campaign.platform)


def _limit(sandbox: SandboxState, tenant: Tenant, platform: str) -> Iterator[str]:
    """Yield the limit of a platform, if executions before count against it."""
    limits: Any = sandbox.choices["size-limit-values"]
    if limits[platform] is not None and sandbox.choices["size-limit-base"] == "moving-day":
        yield f"limit:{tenant.id}:{platform}"


def _session(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> Iterator[str]:
    session_id = entry.call.params["sessionId"]
    yield f"session:{session_id}"
    if sandbox.choices["state-vs-event-order"] == "event-first":
        yield from (f"endpoint:{webhook_id}" for webhook_id in tenant.webhooks)


def _nothing(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> tuple[str, ...]:
    """Return nothing: the operation reads only what no call writes, such as templates, chats and forms."""
    return ()


def _previewed(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> tuple[str, ...]:
    return (f"previews:{tenant.id}",)


def _stored_preview(sandbox: SandboxState, tenant: Tenant, entry: JournalEntry) -> tuple[str, ...]:
    is_stored = sandbox.choices["estimated-count-exactness"] not in _NOT_STORED
    return _previewed(sandbox, tenant, entry) if is_stored else ()


READS: Mapping[str, Parts] = MappingProxyType(
    {
        "listTemplates": _nothing,
        "readTemplate": _nothing,
        "readFilterSchema": _nothing,
        "previewAudience": _previewed,
        "createCampaign": _created,
        "listCampaigns": _campaign_list,
        "readCampaign": _of_path("campaign"),
        "readExecution": _of_path("campaign"),
        "startCampaign": _started,
        "cancelCampaign": _of_path("campaign"),
        "createConnectionSession": _nothing,
        "readConnectionSession": _session,
        "readEntrypoint": _of_path("entrypoint"),
        "uploadMedia": _nothing,
        "listMessages": _campaign_list,  # what executions have sent is among them
        "readFormPolicy": _nothing,
    }
)
WRITES: Mapping[str, Parts] = MappingProxyType({"previewAudience": _stored_preview, "createCampaign": _name})
_NOT_STORED = ("exact", "rough")  # options under which no preview is stored
_NOT_FOUND = 404  # whose reason lists what there is
_TOO_MANY = 429


def footprint_of(sandbox: SandboxState, entry: JournalEntry, transitions: Iterable[Transition]) -> Footprint | None:
    """
    Return the footprint of a call; None if its answer may depend on anything.

    Args:
        sandbox: The sandbox after the call, before any other. Lock: the caller holds it.
        entry: The call.
        transitions: Those that it has caused.
    """
    tenant = sandbox.tenants.get(entry.tenant_id or "")
    is_bounded = sandbox.choices["rate-limit-numbers"] != "off"
    if sandbox.rule_set.rules or is_bounded or tenant is None or entry.operation is None or entry.fault is not None:
        return None
    if entry.status in (None, _NOT_FOUND, _TOO_MANY):
        return None
    writes = {part for transition in transitions for part in _written(sandbox, tenant, transition)}
    if entry.applied:
        writes.update(WRITES.get(entry.operation, _nothing)(sandbox, tenant, entry))
    return Footprint(frozenset(READS[entry.operation](sandbox, tenant, entry)), frozenset(writes))


def _written(sandbox: SandboxState, tenant: Tenant, transition: Transition) -> Iterator[str]:
    if transition.kind == "delivery":
        delivery = sandbox.outbox.deliveries.get(transition.id)
        yield f"endpoint:{delivery.webhook_id if delivery is not None else ''}"
        return
    if transition.kind == "execution":
        execution = tenant.executions[transition.id]
        yield f"campaign:{execution.campaign_id}"
        yield from _limit(sandbox, tenant, execution.platform)
        return
    if transition.kind == "campaign" and transition.source is None:
        yield "campaigns"
    yield f"{transition.kind}:{transition.id}"
