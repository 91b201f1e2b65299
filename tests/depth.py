"""
The depth of a run of the tests: shallow in the README's test line, deep in the run of `.ci/run` that ends it.

1. A test marked `deep` runs in the deep run alone.
2. A law - a Hypothesis test, or another test marked `law` - runs in both, with more examples in the deep run.
3. The deep run is `pytest -m "deep or law" --hypothesis-profile deep`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SHALLOW, DEEP = "shallow", "deep"
EXAMPLES = {SHALLOW: 5, DEEP: 100}


def register_profiles() -> None:
    """Register a Hypothesis profile for each depth and load the shallow one; with `CI` set, draws repeat in every run."""
    for depth, examples in EXAMPLES.items():
        settings.register_profile(
            depth,
            max_examples=examples,
            deadline=None,
            derandomize=bool(os.environ.get("CI")),
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile(SHALLOW)


def loaded_examples() -> int:
    """Return the number of examples of the loaded profile; test modules may ask while they are imported."""
    assert settings.default is not None
    return settings.default.max_examples


def is_deep() -> bool:
    """Return True if the deep profile is loaded."""
    return loaded_examples() == EXAMPLES[DEEP]


def at_depth(shallow: int, deep: int) -> int:
    """Return the number of examples for the depth of this run."""
    return deep if is_deep() else shallow
