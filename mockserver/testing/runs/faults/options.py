"""The settings of an exploration, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import closest_match_hint
from mockserver.testing.arguments import check_flags, check_number
from mockserver.testing.runs.faults.tables import ACTS, DELIVERY_FAULTS, FAULTS, NAMES, VERDICTS, variant_of
from mockserver.testing.runs.investigation import check_limits

ANY = "*"
_LIKE = 0.75  # of a name that is proposed: many faults have a word in common
_ROW_PARTS = 4  # operation, fault, verdict, reason


@dataclass(frozen=True)
class ExploreOptions:
    """
    The settings of an exploration.

    Attributes:
        faults: Names of faults, acts of others and faults of deliveries; None for all.
        operations: Ids of the operations at whose calls faults and acts happen; None for all.
        choices: Choices to vary; None for those that the clean run reads, () for none.
        pairs: The runs for pairs of faults; 0 for single placements alone.
        seconds: Real seconds after which no further run begins; None for no limit.
        prune: Leave out placements that are equal to one that is tried.
        strict: Fail for `crashed` too.
        tolerates: Types of exceptions with which the test may end, and rows (operation, fault, verdict, reason) of cases
            that are known; `*` in a row is any operation or fault.
        runs: The most runs for single placements; of more, each fault is tried at the first calls of each operation.

    Raises:
        TypeError: A text instead of a tuple of texts.
        ValueError: A name is unknown, a number is negative, or a row of `tolerates` has other parts.
    """

    faults: tuple[str, ...] | None = None
    operations: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    pairs: int = 0
    seconds: float | None = None
    prune: bool = True
    strict: bool = False
    tolerates: tuple[type[BaseException] | tuple[str, str, str, str], ...] = ()
    runs: int = 1_000

    def __post_init__(self) -> None:
        for name in ("faults", "operations", "choices", "tolerates"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise TypeError(f"{name}: got the text {value!r}; expected a tuple, such as ({value!r},)")
            if value is not None:
                object.__setattr__(self, name, tuple(value) if isinstance(value, Iterable) else (value,))
        _refuse_unknown("faults", "a fault", self.faults or (), NAMES)
        _refuse_unknown("operations", "an operation", self.operations or (), OPERATIONS)
        _refuse_unknown("choices", "a choice", self.choices or (), tuple(CHOICES))
        check_flags(prune=self.prune, strict=self.strict)
        check_limits(self.runs, self.seconds)
        check_number("pairs", self.pairs, int, 0, math.inf, "a number of runs, 0 for none")
        for entry in self.tolerates:
            _check_tolerated(entry)

    def has_fault(self, name: str) -> bool:
        """Return True if this fault or act is to be tried."""
        return self.faults is None or not {name, variant_of(name)}.isdisjoint(self.faults)

    def has_operation(self, operation: str) -> bool:
        """Return True if faults at calls of this operation are to be tried."""
        return self.operations is None or operation in self.operations

    @property
    def tolerated_types(self) -> tuple[type[BaseException], ...]:
        """The types of exceptions with which the test may end."""
        return tuple(entry for entry in self.tolerates if isinstance(entry, type))

    @property
    def tolerated_rows(self) -> tuple[tuple[str, str, str, str], ...]:
        """The rows of known cases."""
        return tuple(entry for entry in self.tolerates if not isinstance(entry, type))


def _check_tolerated(entry: object) -> None:
    if isinstance(entry, type) and issubclass(entry, BaseException):
        return
    if not isinstance(entry, tuple) or len(entry) != _ROW_PARTS or not all(isinstance(part, str) for part in entry):
        raise ValueError(
            f"tolerates: got {entry!r}; expected a type of exception, or a row (operation, fault, verdict, reason)"
        )
    operation, fault, verdict, reason = entry
    _refuse_unknown("tolerates", "an operation", (operation,), (*OPERATIONS, ANY))
    _refuse_unknown("tolerates", "a fault", (fault,), (*NAMES, ANY))
    _refuse_unknown("tolerates", "a verdict", (verdict,), VERDICTS)
    if not reason.strip():
        raise ValueError(f"tolerates: got no reason in {entry!r}; expected why the case is tolerated")


def _refuse_unknown(setting: str, what: str, names: Iterable[str], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            hint = closest_match_hint(name, known, likeness=_LIKE)
            raise ValueError(f"{setting}: got {name!r}; expected {what}{hint or f': {_listed(known)}'}")


def _listed(known: tuple[str, ...]) -> str:
    """Return names as text; those of faults by what has them."""
    if not set(known) >= set(NAMES):
        return ", ".join(known)
    kinds = {"of an answer": FAULTS, "by another": ACTS, "of a delivery": DELIVERY_FAULTS}
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
