"""Lengths of time: generated ones have the instants of transitions."""

from __future__ import annotations

import pytest

from mockserver.testing.strategies import durations
from tests.machine.steady import generate_one


@pytest.mark.parametrize("seconds", [1200, 1199.999999, 1200.000001, 0, 300, 6])
def test_instants_of_transitions_are_generated(seconds: float) -> None:
    assert seconds == generate_one(durations(cadence=10), lambda span: span == seconds)
