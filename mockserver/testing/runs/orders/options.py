"""The settings of an interleaving, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mockserver._settings import INTERLEAVE
from mockserver.testing.arguments import check_options


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
        check_options(self, INTERLEAVE)
        if self.fault is not None and self.schedule is None:
            raise ValueError(f"fault: got {self.fault!r} without a schedule; expected both, or `faults` for a search")
