"""Commands on a host: whether it runs, and making, listing and ending its sandboxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.core.instants import exact_text
from mockserver.edge import clocks
from mockserver.edge.hosting import DEFAULT_ID, Host, Recipe
from mockserver.edge.refusals import ControlError
from mockserver.scenario.documents import ScenarioError
from mockserver.version import VERSION


def health(host: Host, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": "ok", "version": VERSION}


def create_sandbox(host: Host, args: Mapping[str, Any]) -> dict[str, Any]:
    """Make a sandbox from a recipe; without a seed it has its scenario's, else the host's default one."""
    try:
        hosted = host.create(Recipe(**args), clock=clocks.following())
    except ScenarioError as refusal:
        raise ControlError(
            400, "MOCK_BAD_SCENARIO", "the document is refused; no sandbox was made", refusal.problems
        ) from None
    keys = {"secretKey": hosted.tenant.secret_key, "publicKey": hosted.tenant.public_key}
    return {"sandboxId": hosted.id, "baseUrl": hosted.base_url, "tenantId": hosted.tenant.id, **keys}


def list_sandboxes(host: Host, args: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are open, and of those that were closed the ones that were called after their end, with how often."""
    late = [(sandbox_id, count) for sandbox_id, count in list(host.closed.items()) if count]
    return {
        "sandboxes": [
            {
                "sandboxId": each.id,
                "baseUrl": each.base_url,
                "createdAt": exact_text(each.created_at),
                "exchanges": each.sandbox.journal.last_exchange,
            }
            for each in list(host.sandboxes.values())
        ],
        "closed": [{"sandboxId": sandbox_id, "lateCalls": count} for sandbox_id, count in late],
    }


def delete_sandbox(host: Host, args: Mapping[str, Any]) -> None:
    """End a sandbox; the default one stays."""
    sandbox_id = args["id"]
    if sandbox_id == DEFAULT_ID:
        raise ControlError(
            409, "MOCK_DEFAULT_SANDBOX", "the default sandbox cannot be deleted; reset it with POST /_mock/reset"
        )
    if not host.close(sandbox_id):
        raise ControlError(404, "MOCK_NOT_FOUND", f"no sandbox {sandbox_id!r}; GET /_mock/sandboxes lists them")
