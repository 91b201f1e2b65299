"""
Orders by chance, beyond the budget of the search: probabilistic concurrency testing, with a known probability to find a race.

Each actor has a random priority, and the one with the highest of those that can be released is; at `DEPTH - 1` random places
the actor that is to be released falls behind all others. A race that needs `depth` steps in one order is met by each run with
a probability of at least 1 / (actors * steps ** (depth - 1)) (Burckhardt et al., ASPLOS 2010).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from mockserver.testing.runs.orders.schedules import Release

DEPTH = 3


class ChanceOrder:
    """
    The choices of one run.

    Args:
        seed: The order follows from it.
        steps: Of the longest serial run.
    """

    def __init__(self, seed: str, steps: int) -> None:
        self._random = random.Random(seed)
        self._changes = {self._random.randrange(max(1, steps)): DEPTH - number for number in range(1, DEPTH)}
        self._priorities: dict[str, float] = {}
        self._place = 0

    def choose(self, options: Sequence[Release], last_in_vain: str | None) -> str:
        """Return the name of the next actor; one that reads in vain falls behind all others."""
        for option in sorted(options):
            self._priorities.setdefault(option.name, DEPTH + self._random.random())
        if last_in_vain is not None:
            self._priorities[last_in_vain] = min(self._priorities.values()) - 1
        name = self._highest(options)
        change = self._changes.get(self._place)
        if change is not None:
            self._priorities[name] = change
            name = self._highest(options)
        self._place += 1
        return name

    def _highest(self, options: Sequence[Release]) -> str:
        return max(options, key=lambda option: self._priorities[option.name]).name


def probability(actors: int, steps: int, runs: int) -> float:
    """Return the least probability that these runs meet a race of depth `DEPTH`."""
    each: float = 1 / (actors * max(1, steps) ** (DEPTH - 1))
    met: float = 1 - (1 - each) ** runs
    return met
