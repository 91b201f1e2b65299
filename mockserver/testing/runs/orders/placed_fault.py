"""A fault at one call of one client, in addition to an order: those of Explore that leave a client in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.text import closest_match_hint, whole_number
from mockserver.testing.runs.faults.tables import FAULTS, READS, SECOND

_TRIED: Final = tuple(name for name in SECOND if not FAULTS[name].needs_time and FAULTS[name].requires is None)
EXAMPLE: Final = "drop-after worker startCampaign 1"

Calls = Mapping[tuple[str, str], int]  # the number of calls, by client and operation


class PlacedFault(NamedTuple):
    """
    A fault at one call of one client.

    Attributes:
        name: As in Explore.
        client: The client's name.
        operation: The id of the operation.
        nth: The number of the call among those of this client and operation.
    """

    name: str
    client: str
    operation: str
    nth: int

    def __str__(self) -> str:
        return f"{self.name} {self.client} {self.operation} {self.nth}"

    @property
    def rule(self) -> JSON:
        """The rule of a script that causes it at the next call of the operation."""
        return {"on": self.operation, "nth": 1, "do": dict(FAULTS[self.name].effects)}

    def happened(self, calls: Calls) -> bool:
        """Return True if the client has made the call, by the calls of a run."""
        return calls.get((self.client, self.operation), 0) >= self.nth

    def describe(self) -> str:
        """Return it as text, such as `drop-after at startCampaign 1 of worker`."""
        return f"{self.name} at {self.operation} {self.nth} of {self.client}"


def parse(text: str, clients: Sequence[str]) -> PlacedFault:
    """
    Return the fault of a text such as `drop-after worker startCampaign 1`.

    Raises:
        ValueError: It is not one.
    """
    words = text.split()
    if len(words) != len(PlacedFault._fields):
        expected = f"a fault, a client, an operation and the number of its call, such as {EXAMPLE!r}"
        raise ValueError(f"fault: got {text!r}; expected {expected}")
    name, client, operation, number = words
    expected_words = (("a fault", name, _TRIED), ("a client", client, clients), ("an operation", operation, ENDPOINTS))
    for what, word, known in expected_words:
        if word not in known:
            hint = closest_match_hint(word, tuple(known)) or f": {', '.join(known)}"
            raise ValueError(f"fault: got {word!r}; expected {what}{hint}")
    nth = whole_number(number)
    if not nth:
        raise ValueError(f"fault: got {number!r}; expected the number of a call, from 1")
    return PlacedFault(name, client, operation, nth)


def placements(runs: Sequence[Calls]) -> Iterator[PlacedFault]:
    """
    Yield the faults to try: at calls that write first, for each fault at the calls of each client.

    Args:
        runs: The calls of each serial run.
    """
    most: dict[tuple[str, str], int] = {}
    for calls in runs:
        for made, count in calls.items():
            most[made] = max(most.get(made, 0), count)
    for is_read in (False, True):
        for fault in _TRIED:
            if is_read and FAULTS[fault].twin is not None:  # of a read both drops are equal: nothing changes
                continue
            for (client, operation), count in most.items():
                if (operation in READS) == is_read:
                    yield from (PlacedFault(fault, client, operation, nth) for nth in range(1, count + 1))
