"""Fleets for tests; nothing of them runs after a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.fleet.fleets import Fleet


@pytest.fixture
def start_fleet() -> Iterator[Callable[..., Fleet]]:
    fleets: list[Fleet] = []

    def start(proxy: str, *arguments: str, **options: int) -> Fleet:
        fleets.append(Fleet(proxy, *arguments, **options))
        return fleets[-1]

    yield start
    for fleet in fleets:
        fleet.close()
