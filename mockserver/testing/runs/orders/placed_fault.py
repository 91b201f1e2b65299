"""A fault at one call of one client, in addition to an order: those of Explore that leave a client in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import closest_match_hint, whole_number
from mockserver.testing.runs.faults.tables import FAULTS, READS, SECOND

_TRIED = tuple(name for name in SECOND if not FAULTS[name].needs_time and FAULTS[name].requires is None)


class PlacedFault(NamedTuple):
    """
    A fault at one call of one client.

    Attributes:
        name: As in Explore.
        client: The client's name.
        call: The number of the call among those of the client.
    """

    name: str
    client: str
    call: int

    def __str__(self) -> str:
        return f"{self.name} {self.client} {self.call}"

    @property
    def rule(self) -> JSON:
        """The rule of a script that causes it at the next call."""
        return {"on": "*", "nth": 1, "do": dict(FAULTS[self.name].effects)}

    def describe(self) -> str:
        """Return it as text, such as `drop-after at call 2 of worker`."""
        return f"{self.name} at call {self.call} of {self.client}"


def parse(text: str, clients: Sequence[str]) -> PlacedFault:
    """
    Return the fault of a text such as `drop-after worker 2`.

    Raises:
        ValueError: It is not one.
    """
    words = text.split()
    if len(words) != 3:
        raise ValueError(
            f"fault: got {text!r}; expected a fault, a client and the number of its call, such as 'drop-after worker 2'"
        )
    name, client, number = words
    call = whole_number(number)
    for what, word, known in (("a fault", name, _TRIED), ("a client", client, tuple(clients))):
        if word not in known:
            hint = closest_match_hint(word, known) or f": {', '.join(known)}"
            raise ValueError(f"fault: got {word!r}; expected {what}{hint}")
    if not call:
        raise ValueError(f"fault: got {number!r}; expected the number of a call, from 1")
    return PlacedFault(name, client, call)


def placements(calls: Mapping[str, Sequence[str]]) -> Iterator[PlacedFault]:
    """
    Yield the faults to try: at calls that write first, for each fault at the calls of each client.

    Args:
        calls: The operations that each client has called in a serial run, in order.
    """
    rows = [(name, number, operation) for name, made in calls.items() for number, operation in enumerate(made, start=1)]
    for is_read in (False, True):
        for fault in _TRIED:
            for name, number, operation in rows:
                # Of a read both drops are equal: nothing changes.
                if (operation in READS) == is_read and not (is_read and FAULTS[fault].twin is not None):
                    yield PlacedFault(fault, name, number)
