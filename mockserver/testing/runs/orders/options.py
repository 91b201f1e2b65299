"""The settings of an interleaving, checked when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mockserver.testing.arguments import check_flags, check_number
from mockserver.testing.runs.investigation import check_limits
from mockserver.testing.runs.orders import placed_fault

BOUND_MAX = 4


@dataclass(frozen=True)
class InterleaveOptions:
    """
    The settings of an interleaving.

    Attributes:
        bound: The most preemptions of an order.
        tolerates: Types of exceptions with which a client may end.
        runs: The most runs, serial ones included.
        seconds: Real seconds after which no further run begins; None for no limit.
        schedule: One order to run, such as `worker*2 cron`, instead of a search.
        prune: Leave out orders that only exchange steps which have nothing in common in the sandbox.
        blocked_seconds: Real seconds for which a client that neither calls, sleeps nor ends is waited for.
        faults: The most runs with a fault at a call of one client in addition; 0 for none.
        fault: One such fault for `schedule`, such as `drop-after worker startCampaign 1`: the first such call of `worker`.

    Raises:
        ValueError: A number is out of range, or `tolerates` has something else than types of exceptions.
    """

    bound: int = 2
    tolerates: tuple[type[BaseException], ...] = ()
    runs: int = 2_000
    seconds: float | None = None
    schedule: str | None = None
    prune: bool = True
    blocked_seconds: float = 2.0
    faults: int = 0
    fault: str | None = None

    def __post_init__(self) -> None:
        types: Any = self.tolerates
        object.__setattr__(self, "tolerates", tuple(types) if isinstance(types, tuple | list | set) else (types,))
        for entry in self.tolerates:
            if not isinstance(entry, type) or not issubclass(entry, BaseException):
                raise ValueError(  # noqa: TRY004 - as for every other option
                    f"tolerates: got {entry!r}; expected types of exceptions"
                )
        check_flags(prune=self.prune)
        for name, example in (("schedule", "worker*2 cron"), ("fault", placed_fault.EXAMPLE)):
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise ValueError(f"{name}: got {text!r}; expected a text, such as {example!r}")
        if self.fault is not None and self.schedule is None:
            raise ValueError(f"fault: got {self.fault!r} without a schedule; expected both, or `faults` for a search")
        check_number("bound", self.bound, int, 0, BOUND_MAX, f"a number of preemptions from 0 to {BOUND_MAX}")
        check_limits(self.runs, self.seconds)
        check_number("faults", self.faults, int, 0, math.inf, "a number of runs, 0 for none")
        check_number(
            "blocked_seconds", self.blocked_seconds, (int, float), 0.01, 600, "a number of seconds from 0.01 to 600"
        )
