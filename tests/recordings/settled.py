"""
How many choices a client's traffic settles: `python -m tests.recordings.settled [LIVES [CALLS]]`, twenty lives of 35 calls by default.

Each life is a random client's; every second one has faults, and in every third one calls overlap.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from statistics import median

from mockserver import MockServer
from mockserver.contract.choices import CHOICES
from mockserver.judge.choices.learning import LearnedChoice, learn
from tests.recordings.lives import random_profile, recorded_life

PROFILES: Mapping[str, Callable[[int], Mapping[str, str]]] = {
    "default options": lambda seed: {},
    "random options": lambda seed: random_profile(Random(seed)),
}


def wrong(learnt: tuple[LearnedChoice, ...], chosen: Mapping[str, object]) -> list[str]:
    """Return the choices that are taken for others, or for contradicted."""
    actual = {id: chosen.get(id, choice.default) for id, choice in CHOICES.items()}
    return [
        row.id for row in learnt if row.state == "contradicted" or (row.options and actual[row.id] not in row.options)
    ]


def line(server: MockServer, profile: str, lives: int, calls: int) -> str:
    """Return a line with the number of choices that lives under a kind of profile settle, and of those learnt wrongly."""
    settled, mistakes = [], 0
    for seed in range(lives):
        chosen = PROFILES[profile](seed)
        with tempfile.TemporaryDirectory() as folder:
            learnt = learn(recorded_life(server, chosen, Path(folder), seed, calls))
        settled.append(sum(row.state == "settled" for row in learnt))
        mistakes += len(wrong(learnt, chosen))
    return (
        f"{profile}: {lives} lives of {calls} calls settle {median(settled):g} of {len(CHOICES)} choices "
        f"(median; {min(settled)} to {max(settled)}), {mistakes} wrongly"
    )


def main(arguments: list[str]) -> None:
    """Print a line for each kind of profile."""
    given = [int(argument) for argument in arguments]
    lives, calls = (*given, *(20, 35)[len(given) :])
    with MockServer() as server:
        for profile in PROFILES:
            print(line(server, profile, lives, calls))


if __name__ == "__main__":
    main(sys.argv[1:])
