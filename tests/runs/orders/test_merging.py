"""Orders that are left out as equal to one that was run, and the footprints by which they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.contract.endpoints import OPERATIONS
from mockserver.core.operations.footprints import READS, footprint_of
from mockserver.testing.sandbox import Sandbox
from tests.operations import world
from tests.runs.orders.pairs import GIVEN, TWO_DRAFTS, create, list_then_create, start

Client = Callable[[Sandbox], Any]
IDS = ("campaign_spring", "campaign_autumn")


def test_clients_of_different_records_have_no_order_but_the_serial_ones(server: MockServer) -> None:
    clients = {campaign_id: lambda sandbox, campaign_id=campaign_id: start(sandbox, campaign_id) for campaign_id in IDS}
    report = server.interleave(clients=clients, settings={"given": TWO_DRAFTS})

    assert 3 == report.runs  # both serial ones, and the first one again
    assert "all 6 orders, 4 merged" in report.text()
    assert "if the clients meet in a database or a file, `prune=False` runs those too" in report.text()


def test_clients_that_change_memory_which_they_share_are_run_in_every_order(server: MockServer) -> None:
    memory: list[str] = []

    def work(sandbox: Sandbox) -> None:
        if not memory:
            memory.append(create(sandbox, f"Promotion {random.random()}"))

    clients = {"worker": lambda sandbox: work(sandbox), "cron": lambda sandbox: work(sandbox)}
    report = server.interleave(clients=clients, setup=lambda _: memory.clear(), settings={"given": GIVEN})

    assert report.shares_memory
    assert ["duplicate"] == [finding.verdict for finding in report.findings]
    assert "the clients change memory that they share, so every order is run" in report.text()


@pytest.mark.parametrize("prune", [True, False])
def test_memory_that_clients_keep_from_one_run_to_the_next_fails_the_report(server: MockServer, prune: bool) -> None:
    memory: list[str] = []

    def work(sandbox: Sandbox) -> None:
        if not memory:
            memory.append(create(sandbox, f"Promotion {random.random()}"))

    clients = {"worker": lambda sandbox: work(sandbox), "cron": lambda sandbox: work(sandbox)}
    report = server.interleave(clients=clients, settings={"given": GIVEN}, prune=prune)

    assert report.failed
    assert "make it anew in `setup`" in report.text().splitlines()[1]


def test_memory_that_no_client_changes_hinders_no_merging(server: MockServer) -> None:
    table = {"name": ["One", "Two"]}
    clients = {
        "worker": lambda sandbox: list_then_create(sandbox, table["name"][0]),
        "cron": lambda sandbox: list_then_create(sandbox, table["name"][1]),
    }
    report = server.interleave(clients=clients, settings={"given": GIVEN})

    assert not report.shares_memory
    assert "0 merged" not in report.text()


def test_memory_too_large_to_read_counts_as_shared(server: MockServer) -> None:
    tables = {name: [[number] for number in range(2_000)] for name in ("worker", "cron")}
    clients = {name: partial(list_rows, rows) for name, rows in tables.items()}

    report = server.interleave(clients=clients, settings={"given": GIVEN})

    assert report.shares_memory


def list_rows(rows: list[list[int]], sandbox: Sandbox) -> None:
    sandbox.call("GET", "/v1/campaigns")
    rows[0][0] += 1


# Footprints


def test_every_operation_has_a_row() -> None:
    assert set(OPERATIONS) == set(READS)


class _Watched(dict[str, Any]):
    """A table that notes the keys of records that are read and written, and whether it is read as a list."""

    def __init__(self, kind: str, rows: Mapping[str, Any], seen: set[tuple[str, str]]) -> None:
        super().__init__(rows)
        self._kind, self._seen = kind, seen

    def get(self, key: str, default: Any = None) -> Any:
        self._seen.add((self._kind, key))
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._seen.add((self._kind, key))
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._seen.add((self._kind, key))
        super().__setitem__(key, value)

    def values(self) -> Any:
        self._seen.add((self._kind, "*"))
        return super().values()

    def named(self, name: str) -> Iterator[Any]:
        self._seen.add(("name", name))
        return (row for row in super().values() if row.name.casefold().strip() == name.casefold().strip())


def _calls(sandbox: Sandbox) -> dict[str, tuple[str, str, Any]]:
    campaign_id, execution_id = world.running(sandbox, name="running")
    draft_id, session_id = world.draft(sandbox, name="draft"), world.session(sandbox)
    of_ids = {"campaign_none": campaign_id, "execution_none": execution_id, "session_none": session_id}
    bodies = {"createCampaign": {**world.DRAFT, "name": "new"}, "previewAudience": {}, "createConnectionSession": {}}
    calls = {}
    for operation, (method, path) in world.OPERATIONS.items():
        for unknown, known in of_ids.items():
            path = path.replace(unknown, draft_id if operation == "startCampaign" else known)
        calls[operation] = (method, path, bodies.get(operation))
    return calls


@pytest.mark.parametrize("operation", sorted(set(OPERATIONS) - {"uploadMedia"}))
def test_an_operation_reads_and_writes_no_record_outside_of_its_footprint(server: MockServer, operation: str) -> None:
    """Executions belong to their campaigns; tables that no call of the API writes are left out."""
    with server.sandbox(given=world.GIVEN) as sandbox:
        state, tenant = sandbox._hosted.sandbox, sandbox._hosted.tenant
        method, path, body = _calls(sandbox)[operation]
        seen: set[tuple[str, str]] = set()
        for kind, table in (("campaign", "campaigns"), ("execution", "executions"), ("session", "sessions")):
            setattr(tenant, table, _Watched(kind, getattr(tenant, table), seen))
        transitions = state.journal.last_transition
        response = sandbox.call(method, path, json=body)
        touched = set(seen)
        footprint = footprint_of(
            state, state.journal.exchanges[-1], [row for row in state.journal.transitions if row.n > transitions]
        )
        owners = {execution.id: execution.campaign_id for execution in dict.values(tenant.executions)}

    assert response.status < 300
    assert footprint is not None
    parts = footprint.reads | footprint.writes
    missing = {
        (kind, key)
        for kind, key in touched
        if _part(kind, key, owners, tenant.id) not in parts and not (key == "*" and _has_list(kind, parts))
    }
    assert set() == missing


def _part(kind: str, key: str, owners: Mapping[str, str], tenant_id: str) -> str:
    if kind == "name":
        return f"name:{tenant_id}:{key.casefold().strip()}"
    return f"campaign:{owners.get(key, key)}" if kind == "execution" else f"{kind}:{key}"


def _has_list(kind: str, parts: frozenset[str]) -> bool:
    """Return True if the list of this kind is in the footprint; that of executions is read for a limit, or with the campaigns."""
    lists = {"campaign": ("campaigns",), "execution": ("campaigns", "limit:"), "session": ()}[kind]
    return any(part.startswith(each) for part in parts for each in lists)
