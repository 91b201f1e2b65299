"""
The labels of sandboxes, which tell their keys apart: these follow from the seed, which is 0 by default, and the label.

1. The sandboxes of a test that are open at once are numbered; the first one has no label, whatever ran before.
2. The sandboxes of a fixture that outlives a test are numbered apart, under its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count


class KeyLabels:
    """
    The labels of the sandboxes of one server.

    Lifetime: that of the server.
    """

    def __init__(self) -> None:
        self._fixture = ""
        self._of_test: dict[str, str] = {}  # label -> id of its sandbox
        self._of_fixtures: dict[str, str] = {}
        self._creating = threading.RLock()

    def start_test(self) -> None:
        """Start a test: what earlier tests have left open is not numbered with its own sandboxes."""
        self._of_test.clear()

    @contextmanager
    def within_fixture(self, name: str) -> Iterator[None]:
        """Number the sandboxes that are created inside of the block as those of a fixture that outlives the test."""
        before, self._fixture = self._fixture, name
        try:
            yield
        finally:
            self._fixture = before

    @contextmanager
    def next_label(self, is_open: Callable[[str], bool]) -> Iterator[tuple[str, Callable[[str], None]]]:
        """
        Yield the label of a new sandbox, and a function that gets its id.

        Args:
            is_open: Whether a sandbox of this id is open; the label of a closed one is free.
        """
        with self._creating:
            labels = self._of_fixtures if self._fixture else self._of_test
            names = (self._label(number) for number in count(1))
            label = next(name for name in names if name not in labels or not is_open(labels[name]))

            def assign(sandbox_id: str) -> None:
                labels[label] = sandbox_id

            yield label, assign

    def _label(self, number: int) -> str:
        if self._fixture:
            return f"{self._fixture}/{number}"
        return "" if number == 1 else str(number)
