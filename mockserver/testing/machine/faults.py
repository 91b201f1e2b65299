"""Faults that a machine injects at the nth call of an operation, by name; each is a rule of a scenario document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.contract.effects import DELIVERY, FORGERIES, WIRE_FAULTS
from mockserver.contract.effects.model import Seconds
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.text import closest_match_hint
from mockserver.testing.strategies import durations

_WRITES = ("startCampaign", "createCampaign", "cancelCampaign", "createConnectionSession")
_READS = ("readExecution", "readCampaign", "readConnectionSession", "listCampaigns", "listMessages", "previewAudience")
_ALL = (*_WRITES, *_READS)
_SKIPS, _COUNTS = st.sampled_from((0, 0, 0, 1, 2)), st.integers(1, 3)
# How often a fault is drawn among those of its operation: more often if it exposes more bugs of clients.
_WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        **{draw.name: draw.weight for row in WIRE_FAULTS.values() for draw in row.draws},
        **dict.fromkeys(("campaign-fails", "session-fails"), 6),
    }
)


class Fault(NamedTuple):
    """One kind of fault: its name, the operations that it applies to, its effects, and their meaning."""

    name: str
    operations: Sequence[str]
    effects: st.SearchStrategy[JSON]
    meaning: str


def _one(name: str, argument: Any) -> st.SearchStrategy[JSON]:
    return st.just({name: argument})


def _on_the_wire() -> Iterator[Fault]:
    """Yield the faults of the wire, as their rows have them."""
    for row in WIRE_FAULTS.values():
        for draw in row.draws:
            drawn = draw.arguments
            arguments: st.SearchStrategy[Any] = (
                durations(at_most=drawn.at_most) if isinstance(drawn, Seconds) else st.sampled_from(drawn)
            )
            operations = _WRITES if draw.of_writes_only else _ALL
            yield Fault(draw.name, operations, st.fixed_dictionaries({row.name: arguments}), draw.meaning)


# fmt: off
_ROWS = (
    *_on_the_wire(),
    Fault("campaign-fails",  ("readExecution", "readCampaign"), _one("fail-campaign", {}), "the campaign fails while the client polls it"),
    Fault("session-fails",   ("readConnectionSession",), st.sampled_from(FAILURE_REASONS).map(lambda reason: {"fail-session": {"reason": reason}}), "the connection fails while the client polls it"),
    Fault("session-completes", ("readConnectionSession",), _one("complete-session", {}), "the end user finishes while the client waits"),
    Fault("duplicate-event", (DELIVERY,), st.integers(1, 2).map(lambda count: {"deliver": {"duplicate": count}}), "an event is sent again after it was accepted"),
    Fault("forged-event",    (DELIVERY,), st.sampled_from(FORGERIES).map(lambda how: {"deliver": {"forge": how}}), "a forged request is sent in addition to the event"),
    Fault("late-event",      (DELIVERY,), st.sampled_from(["30m", "2s"]).map(lambda wait: {"deliver": {"delay": wait}}), "an event is sent after later ones"),
    Fault("swapped-events",  (DELIVERY,), _one("deliver", {"reorder": True}), "an event changes places with the next"),
    Fault("lost-event",      (DELIVERY,), _one("deliver", {"lose": True}),    "an event is never sent"),
)
# fmt: on

FAULTS: Mapping[str, Fault] = MappingProxyType({row.name: row for row in _ROWS})
ON_DELIVERIES = tuple(row.name for row in _ROWS if DELIVERY in row.operations)
ON_CALLS = tuple(row.name for row in _ROWS if DELIVERY not in row.operations)


def drawn(names: Iterable[str], operations: Iterable[str] | None = None) -> st.SearchStrategy[JSON] | None:
    """
    Return a strategy for rules of these faults, or None if no fault applies to the operations.

    A rule shrinks to the first call, once.

    Args:
        names: Names of `FAULTS`.
        operations: Operations to limit the rules to; None for all.

    Raises:
        ValueError: A name is unknown; the message has the nearest one.
    """
    names, only = tuple(names), None if operations is None else tuple(operations)
    _refuse_unknown(names, FAULTS, "a fault")
    _refuse_unknown(only or (), {**ENDPOINTS, DELIVERY: None}, "an operation")
    by_operation: dict[str, list[Fault]] = {}
    for fault in (FAULTS[name] for name in names):
        for operation in fault.operations:
            if only is None or operation in only:
                by_operation.setdefault(operation, []).extend([fault] * _WEIGHTS.get(fault.name, 1))
    return _rules(by_operation) if by_operation else None


@st.composite
def _rules(draw: st.DrawFn, by_operation: Mapping[str, Sequence[Fault]]) -> JSON:
    operation = draw(st.sampled_from(list(by_operation)))
    fault = draw(st.sampled_from(by_operation[operation]))
    entry: JSON = {"on": operation, "skip": draw(_SKIPS), "times": draw(_COUNTS)}
    return {**entry, "do": draw(fault.effects)}


def _refuse_unknown(names: Iterable[str], known: Mapping[str, object], what: str) -> None:
    for name in names:
        if name not in known:
            hint = closest_match_hint(name, known) or f": {', '.join(known)}"
            raise ValueError(f"got {name!r}; expected {what}{hint}")
