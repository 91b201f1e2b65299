"""The settings of an interleaving, checked when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mockserver.testing.arguments import check_flags, check_number

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

    def __post_init__(self) -> None:
        types: Any = self.tolerates
        object.__setattr__(self, "tolerates", tuple(types) if isinstance(types, tuple | list | set) else (types,))
        for entry in self.tolerates:
            if not isinstance(entry, type) or not issubclass(entry, BaseException):
                raise ValueError(  # noqa: TRY004 - as for every other option
                    f"tolerates: got {entry!r}; expected types of exceptions"
                )
        check_flags(prune=self.prune)
        if self.schedule is not None and not isinstance(self.schedule, str):
            raise ValueError(f"schedule: got {self.schedule!r}; expected a text, such as 'worker*2 cron'")
        check_number("bound", self.bound, int, 0, BOUND_MAX, f"a number of preemptions from 0 to {BOUND_MAX}")
        check_number("runs", self.runs, int, 1, math.inf, "a number of runs from 1")
        check_number(
            "blocked_seconds", self.blocked_seconds, (int, float), 0.01, 600, "a number of seconds from 0.01 to 600"
        )
        if self.seconds is not None:
            check_number(
                "seconds", self.seconds, (int, float), math.ulp(0.0), math.inf, "a number above 0, or None for no limit"
            )
