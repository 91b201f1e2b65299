"""Hypothesis without chance or memory: the same draws in every run, in any order of the tests, on any worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

STEADY = settings(
    max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


def find(strategy: SearchStrategy[T], condition: Callable[[T], bool]) -> T:
    """The simplest value of the strategy that meets the condition; refuses with NoSuchExample."""
    return hypothesis.find(strategy, condition, settings=settings(STEADY, max_examples=2000))


def generate_one(strategy: SearchStrategy[T], condition: Callable[[T], bool] = lambda _: True) -> T:
    """Some value of the strategy that meets the condition, as it was drawn."""
    return hypothesis.find(strategy, condition, settings=settings(STEADY, max_examples=2000, phases=[Phase.generate]))
