"""Orders that are planned, the ones with the fewest preemptions first."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from mockserver.testing.runs.orders.placed_fault import PlacedFault
from mockserver.testing.runs.orders.played import Order
from mockserver.testing.runs.orders.schedules import Release


class OrderPlan(NamedTuple):
    """
    What one run is to be.

    Attributes:
        names: The actors of its first steps; the other steps follow serially.
        fault: The fault in addition; None for none.
    """

    names: Sequence[str] = ()
    fault: PlacedFault | None = None


class PlannedOrder(NamedTuple):
    """
    An order to run: sorted by preemptions, then by deviations from the serial order, then by its number.

    Attributes:
        prefix: The actors of its first steps; the others follow serially.
    """

    preemptions: int
    deviations: int
    number: int
    prefix: tuple[str, ...]


class PlannedOrders:
    """
    The orders of a search that have not been run.

    Lifetime: one search.

    Args:
        bound: The most preemptions of an order.
    """

    def __init__(self, bound: int) -> None:
        self._bound, self._number = bound, count()
        self._heap: list[PlannedOrder] = []
        self._planned_from: dict[object, int] = {}  # by state, the preemptions up to there

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> PlannedOrder:
        """Return the order to run next."""
        return self._heap[0]

    def remove_first(self) -> None:
        """Remove the order that has been run or merged."""
        heappop(self._heap)

    def plan(self, order: Order, place: int, option: Release) -> None:
        """Plan what leaves an order at one place."""
        cost = sum(row.chosen.cost for row in order.decisions[:place]) + option.cost
        if cost <= self._bound:
            deviations = sum(not row.is_serial for row in order.decisions[:place])
            prefix = (*order.names[:place], option.name)
            heappush(self._heap, PlannedOrder(cost, deviations, next(self._number), prefix))

    def plan_after(self, order: Order, prefix: tuple[str, ...]) -> None:
        """Plan what leaves an order after its prefix, up to a state from which everything was planned before."""
        cost = sum(row.chosen.cost for row in order.decisions[: len(prefix)])
        for place in range(len(prefix), len(order.decisions)):
            state = order.states[place]
            if state is not None and self._planned_from.get(state, cost + 1) <= cost:
                return
            self._planned_from[state] = cost
            for option in order.decisions[place].options[1:]:
                self.plan(order, place, option)
            cost += order.decisions[place].chosen.cost
