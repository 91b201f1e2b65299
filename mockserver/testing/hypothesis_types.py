"""
Entry point of Hypothesis: `st.from_type` draws the bodies of `mockserver.testing.bodies`.

`import hypothesis` runs `register`, also in projects that never draw a body. It imports the types alone; the strategies
are imported when Hypothesis first draws one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockserver.testing.bodies import (
    CreateCampaignRequest,
    CreateConnectionSessionRequest,
    PreviewAudienceRequest,
    StartCampaignRequest,
    campaigns,
    content,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def register() -> None:
    """Register strategies for request bodies, and for the types with fields of type `Any`, which Hypothesis refuses."""
    from hypothesis import strategies as st

    for body in (
        PreviewAudienceRequest,
        CreateCampaignRequest,
        StartCampaignRequest,
        CreateConnectionSessionRequest,
        campaigns.FiltersEntryStatementsEntry,
        campaigns.ReadCampaignAnswerFiltersEntryStatementsEntry,
        content.MessageRecord,
    ):
        st.register_type_strategy(body, _strategy)


def _strategy(body: Any) -> SearchStrategy[Any]:
    from mockserver.testing.strategies.bodies import typed

    return typed(body)
