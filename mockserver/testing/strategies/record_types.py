"""Records as a sandbox holds them: drawn as seed data or request bodies, and made by a sandbox of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.state.tenant import Tenant
from mockserver.testing.server import MockServer
from mockserver.testing.strategies import entities
from mockserver.testing.strategies.bodies import GIVEN, bodies

_NOW = "2026-03-01T12:00:00Z"


def _tenant(given: Mapping[str, Any]) -> Tenant:
    """The default tenant of a fresh sandbox with this seed data."""
    with MockServer().sandbox(given=given, now=_NOW) as sandbox:
        return sandbox._hosted.tenant


def _rows(tenant: Tenant, table: str) -> list[Any]:
    rows = getattr(tenant, table)
    return list(rows.rows if table == "chats" else rows.values())


def seeded(table: str) -> st.SearchStrategy[Any]:
    """A record of a kind that seed data makes."""
    drawn: Mapping[str, st.SearchStrategy[Any]] = {
        "chats": entities.chats(min_size=1, max_size=1),
        "templates": entities.templates(min_size=1, max_size=1),
        "webhooks": entities.webhooks(min_size=1, max_size=1),
        "forms": entities.forms(min_size=1),
        "entrypoints": entities.entrypoints(min_size=1),
        "funnels": entities.funnels(min_size=1),
    }
    return drawn[table].map(lambda entries: _rows(_tenant({table: entries}), table)[0])


@st.composite
def called(draw: st.DrawFn, what: str) -> Any:
    """A record that a call makes: a draft, a running execution, a pending session."""
    with MockServer().sandbox(given=GIVEN, now=_NOW) as sandbox:
        if what == "session":
            body = draw(bodies("createConnectionSession"))
            sandbox.call("POST", ENDPOINTS["createConnectionSession"].path, json=body)
        else:
            template = draw(st.sampled_from(GIVEN["templates"]))["id"]
            body = draw(bodies("createCampaign")) | {"templateId": template, "platform": "chatapp"}
            campaign = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
            if what == "execution":
                start = draw(bodies("startCampaign", template_id=template))
                sandbox.call("POST", f"/v1/campaigns/{campaign}/start", json=start)
        (record,) = _rows(sandbox._hosted.tenant, f"{what}s")
        return record


def tenants(_: str) -> st.SearchStrategy[Tenant]:
    """A tenant with all that belongs to it."""
    return entities.belongings().map(_tenant)


MAKERS: Mapping[str, Callable[[str], st.SearchStrategy[Any]]] = MappingProxyType(
    {"seeded": seeded, "called": called, "tenants": tenants}
)
