"""
What `import hypothesis` runs through its entry point: our record types become known to `st.from_type`.

Only the types are imported here; a strategy, and all that it needs, is when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mockserver.core import records
from mockserver.core.tenant import Tenant

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# The kinds of seed data whose records are drawn, with the table in which they then stand.
_SEEDED = {
    records.Chat: "chats",
    records.Template: "templates",
    records.Entrypoint: "entrypoints",
    records.Funnel: "funnels",
    records.Form: "forms",
    records.Webhook: "webhooks",
}
_CALLED = (records.Campaign, records.Execution, records.Session)


def register() -> None:
    """Have `st.from_type` draw records such as a sandbox holds."""
    from hypothesis import strategies as st

    for kind, table in _SEEDED.items():
        st.register_type_strategy(kind, _lazily("seeded", table))
    for kind in _CALLED:
        st.register_type_strategy(kind, _lazily("called", kind.__name__.lower()))
    st.register_type_strategy(Tenant, _lazily("tenants", ""))


def _lazily(maker: str, what: str) -> Callable[[Any], SearchStrategy[Any]]:
    def strategy(_: Any) -> SearchStrategy[Any]:
        from mockserver.testing.strategies import recorded

        return recorded.MAKERS[maker](what)

    return strategy
