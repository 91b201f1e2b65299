"""Seeds under which the shuffled lists of a sandbox have the recorded order: it follows from the seed and the ids of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from mockserver.core import ids
from mockserver.recordings.facts import rows_of
from mockserver.recordings.playing import assigned_ids
from mockserver.verify.histories.exchanges import Recording

LISTS: Final[Mapping[str | None, str]] = {"listCampaigns": "campaigns", "listTemplates": "templates"}
_SEEDS_MAX: Final = 20_000
_ROWS_MAX: Final = 8  # more of them have more orders than there are seeds
_PREFIX: Final = "campaign_"

_Id = Callable[[int], str]  # of a row, by the seed


def seeds_of_order(document: Mapping[str, Any], recording: Recording) -> Iterator[int]:
    """Yield the seeds under which the lists of a scenario with `list-order: shuffled` should be as recorded."""
    assigned = assigned_ids(document, recording)
    numbers = {_campaign_id(document.get("seed", 0), number): number for number in range(len(recording.exchanges) + 1)}
    lists = {
        tuple(str(row.get("id")) for row in rows_of(exchange.response_json, LISTS[exchange.operation]))
        for exchange in recording.exchanges
        if exchange.operation in LISTS and exchange.succeeded
    }
    # The longest first: the fewest seeds have its order.
    orders = [[_id_of(id, numbers.get(assigned.get(id, ""))) for id in rows] for rows in sorted(lists, key=len)[::-1]]
    if orders and len(orders[0]) <= _ROWS_MAX:
        yield from (seed for seed in range(_SEEDS_MAX) if all(_is_sorted(rows, seed) for rows in orders))


def _campaign_id(seed: int, number: int) -> str:
    return _PREFIX + ids.seeded_id(seed, _PREFIX, number)


def _id_of(id: str, number: int | None) -> _Id:
    """Return the id of a row by the seed: of one that the sandbox creates another one under each."""
    return (lambda seed: id) if number is None else (lambda seed: _campaign_id(seed, number))


def _is_sorted(rows: list[_Id], seed: int) -> bool:
    places = (ids.seeded_id(seed, "order", id(seed)) for id in rows)
    return all(first < second for first, second in pairwise(places))
