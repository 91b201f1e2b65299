"""Hypothesis strategies for what a client under test may meet."""

from __future__ import annotations

from hypothesis import strategies as st

from mockserver.contract.choices import CHOICES


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
