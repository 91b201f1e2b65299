"""Strategies for the types of `mockserver.testing.bodies`, which Hypothesis's entry point registers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_type_hints

from hypothesis import strategies as st

from mockserver.contract.endpoints import Operation
from mockserver.testing import bodies as types
from mockserver.testing.strategies.bodies import bodies

_REQUESTS: Mapping[Any, Operation] = MappingProxyType(
    {
        types.PreviewAudienceRequest: "previewAudience",
        types.CreateCampaignRequest: "createCampaign",
        types.StartCampaignRequest: "startCampaign",
        types.CreateConnectionSessionRequest: "createConnectionSession",
    }
)


def typed(body: Any) -> st.SearchStrategy[Any]:
    """Return valid bodies for the type of a request, and objects with JSON in the fields of type `Any` for others."""
    if body in _REQUESTS:
        return bodies(_REQUESTS[body])
    fields = {name: _field(hint) for name, hint in get_type_hints(body).items()}
    required = {name: fields[name] for name in fields if name in body.__required_keys__}
    optional = {name: fields[name] for name in fields if name not in body.__required_keys__}
    return st.fixed_dictionaries(required, optional=optional)


def _field(hint: Any) -> st.SearchStrategy[Any]:
    if hint is Any:
        return _json()
    if hint == dict[str, Any] | None:
        return st.none() | st.dictionaries(st.text(max_size=10), _json(), max_size=3)
    return st.from_type(hint)


def _json() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
        max_leaves=5,
    )
