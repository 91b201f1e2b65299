"""Scripts of few rules, which shrink to one rule that names its call by `nth`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mockserver.contract.effects import WIRE_FAULTS
from mockserver.contract.endpoints import OPERATIONS

Rule = dict[str, Any]
# Effects of a rule, the plainest first, to which a failing script shrinks.
_ON_THE_WIRE: Sequence[Rule] = tuple({row.name: argument} for row in WIRE_FAULTS.values() for argument in row.examples)
_ON_THE_STATE: Sequence[Rule] = (
    {"fail-campaign": {}},
    {"cancel-campaign": {}},
    {"stall-sends": {}},
    {"resume-sends": {}},
    {"slow-sends": {"perMinute": 7}},
    {"fail-sends": {"every": 2}},
    {"fail-sends": {"ratio": 0.5}},
    {"complete-session": {}},
    {"fail-session": {}},
    {"expire-session": {}},
    {"cancel-session": {}},
    {"set-tenant": {"subscription": "suspended"}},
    {"set-tenant": {"subscription": "active"}},
    {"revoke-key": {}},
    {"rate-limit": {"requests": 5, "per": 60}},
    {"advance": "30s"},
)


@st.composite
def _counts(draw: st.DrawFn) -> Rule:
    """Draw the calls at which a rule fires; a failing one shrinks to the first call."""
    if draw(st.booleans()):
        numbers = {"times": st.integers(1, 5), "every": st.integers(1, 4), "skip": st.integers(0, 5)}
        counts: Rule = draw(st.fixed_dictionaries({}, optional={**numbers, "chance": st.sampled_from([1, 0.5])}))
        return counts
    return {"nth": draw(st.integers(1, 12))}


def scripts(*, state: bool = True, at_most: int = 4) -> st.SearchStrategy[list[Rule]]:
    """
    Return a strategy of scripts of few rules, for `sandbox.apply({"script": drawn})`.

    A failing script shrinks to one rule that names its call by `nth`.

    Args:
        state: True for effects on the sandbox's state in addition to faults of the wire.
        at_most: The largest number of rules.
    """
    on = st.sampled_from([*OPERATIONS, "*"])
    wire = st.builds(
        lambda on, counts, do: {"on": on, **counts, "do": do}, on, _counts(), st.sampled_from(_ON_THE_WIRE)
    )
    if not state:
        return st.lists(wire, max_size=at_most)
    acts = st.sampled_from(_ON_THE_STATE)
    called = st.builds(lambda on, counts, do: {"on": on, **counts, "do": do}, on, _counts(), acts)
    timed = st.builds(lambda second, do: {"at": second, "do": do}, st.integers(0, 1200), acts)
    progressed = st.builds(lambda sent, do: {"after": {"sent": sent}, "do": do}, st.integers(0, 5), acts)
    return st.lists(st.one_of(wire, called, timed, progressed), max_size=at_most)
