"""
Strategies of scripts, choices, durations and timelines.

Hypothesis strategies for what a client under test may meet.

Lengths of time, biased to the instants at which something happens: expiry, retries, polls, the ticks of a cadence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.limits import SESSION_LIFETIME
from mockserver.contract.text import nearest_hint
from mockserver.contract.wire_faults import WIRE_FAULTS


def choices(*, families: tuple[str, ...] = (), at_most: int = 5) -> st.SearchStrategy[dict[str, str]]:
    """
    Combinations of options, few at a time: {choice: option}, for `sandbox(choices=...)`.

    `families` narrows them (all where it is empty); a failing combination shrinks to the options that matter.
    """
    rows = [row for row in CHOICES.values() if len(row.options) > 1 and (not families or row.family in families)]
    if not rows:
        known = ", ".join(sorted({row.family for row in CHOICES.values()}))
        raise ValueError(f"no choices are in {', '.join(families)}; the families are {known}")
    one = st.sampled_from(rows).flatmap(lambda row: st.tuples(st.just(row.id), st.sampled_from(row.options)))
    return st.lists(one, max_size=at_most, unique_by=lambda pair: pair[0]).map(dict)


Rule = dict[str, Any]
# What a rule may do, the plainest first: a failing script shrinks to it.
_ON_THE_WIRE: Sequence[Rule] = tuple({row.name: each} for row in WIRE_FAULTS.values() for each in row.examples)
_ON_THE_WORLD: Sequence[Rule] = (
    {"fail-campaign": {}},
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
    """How often a rule fires; a failing one shrinks to the first call."""
    if draw(st.booleans()):
        numbers = {"times": st.integers(1, 5), "every": st.integers(1, 4), "skip": st.integers(0, 5)}
        found: Rule = draw(st.fixed_dictionaries({}, optional={**numbers, "chance": st.sampled_from([1, 0.5])}))
        return found
    return {"nth": draw(st.integers(1, 12))}


def scripts(
    *, operations: Sequence[str] = OPERATIONS, world: bool = True, at_most: int = 4
) -> st.SearchStrategy[list[Rule]]:
    """
    Scripts of few rules: for `sandbox.apply({"script": drawn})`.

    Calls of `operations` meet faults on the wire and, with `world`, things that happen meanwhile. A failing script
    shrinks to one rule that names its call by `nth`.
    """
    for operation in operations:
        if operation not in OPERATIONS:
            hint = nearest_hint(operation, OPERATIONS) or f"; there are {', '.join(OPERATIONS)}"
            raise ValueError(f"no operation {operation!r}{hint}")
    on = st.sampled_from([*operations, "*"])
    wire = st.builds(
        lambda on, counts, do: {"on": on, **counts, "do": do}, on, _counts(), st.sampled_from(_ON_THE_WIRE)
    )
    if not world:
        return st.lists(wire, max_size=at_most)
    acts = st.sampled_from(_ON_THE_WORLD)
    called = st.builds(lambda on, counts, do: {"on": on, **counts, "do": do}, on, _counts(), acts)
    timed = st.builds(lambda second, do: {"at": second, "do": do}, st.integers(0, 1200), acts)
    progressed = st.builds(lambda sent, do: {"after": {"sent": sent}, "do": do}, st.integers(0, 5), acts)
    return st.lists(st.one_of(wire, called, timed, progressed), max_size=at_most)


_INSTANT = 0.000001  # the shortest time that a sandbox knows, in seconds
_POLLS = (2, 5, 10, 30)
_RETRIES = (5, 300, 1800, 7200, 18000, 36000)  # after how long a delivery is tried again, by default
_DAY = 86_400


def durations(*, cadence: int | None = None, at_most: float = _DAY) -> st.SearchStrategy[int | float]:
    """
    Seconds to let pass, none among them: the boundaries and the instants beside them often.

    `cadence`, in messages per minute, adds the ticks of such a campaign.
    """
    ticks = () if cadence is None else tuple(round(count * 60 / cadence, 6) for count in (1, 2, 10))
    lifetime = int(SESSION_LIFETIME.total_seconds())
    bounds = [each for each in (1, *ticks, *_POLLS, 60, lifetime, *_RETRIES, _DAY) if each <= at_most]
    beside = [
        round(bound + away, 6)
        for bound in bounds
        for away in (-_INSTANT, _INSTANT, -1, 1)
        if 0 < bound + away <= at_most
    ]
    return st.one_of(
        st.sampled_from([*bounds, 0]),
        st.sampled_from(beside or [0]),
        st.integers(0, int(min(at_most, 2 * lifetime))),
    )


def timelines(
    *, cadence: int | None = None, max_size: int = 8, at_most: float = _DAY
) -> st.SearchStrategy[Sequence[int | float]]:
    """Sequences of such lengths, one after another."""
    return st.lists(durations(cadence=cadence, at_most=at_most), max_size=max_size)
