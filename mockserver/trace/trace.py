"""A trace: what one or several clients and a service have sent each other, with the records that it shows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from mockserver.contract.endpoints import LISTING, READING, Kind
from mockserver.core.instants import Duration, Instant
from mockserver.core.state.journal import Transition
from mockserver.core.state.records import PageVisit
from mockserver.trace.exchange import NOT_THE_SERVICE, DeliveryAttempt, Exchange
from mockserver.trace.facts import Fact
from mockserver.trace.records import Records

Derived = TypeVar("Derived")
Slept = Callable[[int, int], Duration]
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def never(_earlier: int, _later: int) -> Duration:
    """Return 0: the client did not sleep in real time."""
    return 0


def no_records(_trace: Trace) -> Records:
    """Return no records: the trace shows none."""
    return Records()


class OfSandbox(NamedTuple):
    """
    What only a sandbox shows.

    Attributes:
        choices: Its choices, by id.
        secret_keys: Those of its tenants.
        is_frozen: Its clock moves only when it is advanced.
        transitions: Of every record, oldest first.
        advanced: The number of the last exchange before each command that advanced the clock.
        under_way: Ids of sessions of which an event is still to be delivered.
    """

    choices: Mapping[str, object] = _NONE
    secret_keys: AbstractSet[str] = frozenset()
    is_frozen: bool = False
    transitions: Sequence[Transition] = ()
    advanced: Sequence[int] = ()
    under_way: AbstractSet[str] = frozenset()


_NO_SANDBOX: Final = OfSandbox()


@dataclass(frozen=True, kw_only=True)
class Trace:
    """
    What was sent and received, and what is known besides. Judges read it and never write.

    Attributes:
        exchanges: Every call, in order of `number`.
        deliveries: Every request to a receiver, in order of `at`.
        visits: Visits to hosted pages, oldest first.
        knows: What the source can show; see `facts`.
        now: The latest instant that is known.
        sandbox: What only a sandbox shows; of a recording nothing.
        slept: The real time that the client is known to have slept between two calls, by their numbers; None if only clocks show
            it. `never` is for a client whose only way to wait is to advance the sandbox's clock.
        sources: The names of the files, or the address of the service; none of a sandbox.
        prefix: The part of the addresses before `/v1`.
        left_out: The number of entries of recordings that are no exchanges with the API, by kind: `other` of another address,
            `preflight` of a browser, `cached` of the recorder, `redirect` before the API, `unfinished` whose request
            or answer cannot be read.
        read_records: Returns `records`.

    Lock: of a sandbox's trace, the caller holds the sandbox's lock, or has made it of a copy, for as long as it is used: indexes
    are made when they are first needed.
    """

    exchanges: Sequence[Exchange]
    deliveries: Sequence[DeliveryAttempt] = ()
    visits: Sequence[PageVisit] = ()
    knows: frozenset[Fact] = frozenset()
    now: Instant = 0
    sandbox: OfSandbox = _NO_SANDBOX
    slept: Slept | None = None
    sources: Sequence[str] = ()
    prefix: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    read_records: Callable[[Trace], Records] = no_records
    _derived: dict[Callable[[Any], Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, make: Callable[[Trace], Derived]) -> Derived:
        """Return what a function makes of this trace, made once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        made: Derived = self._derived[make]
        return made

    @cached_property
    def calls(self) -> Sequence[Exchange]:
        """The calls of the API's operations, without HEAD and OPTIONS."""
        return [exchange for exchange in self.exchanges if exchange.operation is not None]

    @cached_property
    def records(self) -> Records:
        """The records that the trace shows: those of its sandbox, or what the answers of a recording show of them."""
        return self.read_records(self)

    @property
    def operations(self) -> AbstractSet[str]:
        """The operations that were called."""
        return self._by_operation.keys()

    def of(self, *operations: str) -> Sequence[Exchange]:
        """Return the calls of these operations, in order."""
        if len(operations) == 1:
            return self._by_operation.get(operations[0], ())
        return [call for call in self.calls if call.operation in operations]

    def reads_of(self, kind: Kind) -> Sequence[Exchange]:
        """Return the calls that read one record of this kind, in order."""
        return self.of(READING[kind].id)

    def lists_of(self, kind: Kind) -> Sequence[Exchange]:
        """Return the calls that list records of this kind, in order."""
        return self.of(LISTING[kind].id)

    def by_number(self, number: int | None) -> Exchange | None:
        """Return the exchange with this number, or None if the trace has none."""
        return self._by_number.get(number)

    def creating(self, record_id: str) -> Exchange | None:
        """Return the call that created a record, or None if no call did."""
        return self._by_number.get(self.records.created.get(record_id))

    def concerning(self, record_id: str | None) -> Sequence[Exchange]:
        """Return the calls with this id in their path, in order."""
        return self._by_id.get(record_id, ())

    def grouped_by(self, parameter: str, *operations: str) -> Iterator[tuple[str, Sequence[Exchange]]]:
        """Yield each id that these operations have in their path, with the calls of it."""
        yield from grouped((call.params.get(parameter, ""), call) for call in self.of(*operations)).items()

    def repetitions(self, of: Exchange) -> Iterator[Exchange]:
        """Yield the calls with the same request that were sent after the answer to this one."""
        return sent_after(of, self._by_request[of.request])

    def next_repetition(self, of: Exchange) -> Exchange | None:
        """Return the first of `repetitions`, or None."""
        return next(self.repetitions(of), None)

    def sent_between(self, first: Exchange, last: Exchange) -> Sequence[Exchange]:
        """Return the calls whose answers the client may have had after it got on from one call and before it sent another."""
        start, end = (bisect_right(self.calls, number, key=number_of) for number in (first.since, last.follows))
        return self.calls[start:end]

    @cached_property
    def by_key(self) -> Mapping[str | None, Sequence[Exchange]]:
        """The exchanges by their key: each group is what one tenant's clients sent; None has those without a key."""
        return grouped((exchange.key, exchange) for exchange in self.exchanges)

    @property
    def troubles(self) -> Mapping[str, int]:
        """The number of answers that are not the service's word, by a kind of `NOT_THE_SERVICE`."""
        kinds = [exchange.trouble for exchange in self.exchanges if exchange.trouble is not None]
        return {kind: kinds.count(kind) for kind in NOT_THE_SERVICE if kind in kinds}

    @property
    def span(self) -> Duration:
        """The time from the first call to the last answer; 0 for an empty trace."""
        if not self.exchanges:
            return 0
        return max(each.ended_at for each in self.exchanges) - min(each.sent_at for each in self.exchanges)

    @cached_property
    def _by_operation(self) -> Mapping[str, Sequence[Exchange]]:
        return grouped((call.operation or "", call) for call in self.calls)

    @cached_property
    def _by_number(self) -> Mapping[int | None, Exchange]:
        return {exchange.number: exchange for exchange in self.exchanges}

    @cached_property
    def _by_request(self) -> Mapping[object, Sequence[Exchange]]:
        return grouped((call.request, call) for call in self.calls)

    @cached_property
    def _by_id(self) -> Mapping[str | None, Sequence[Exchange]]:
        return grouped((record_id, call) for call in self.calls for record_id in call.params.values())


Key = TypeVar("Key")


def grouped(pairs: Iterable[tuple[Key, Exchange]]) -> dict[Key, list[Exchange]]:
    """Return exchanges by a key, in their order."""
    groups: dict[Key, list[Exchange]] = {}
    for key, exchange in pairs:
        groups.setdefault(key, []).append(exchange)
    return groups


def number_of(exchange: Exchange) -> int:
    """Return an exchange's number, by which those of a trace are in order."""
    return exchange.number


def numbers(exchanges: Iterable[Exchange]) -> tuple[int, ...]:
    """Return the numbers of exchanges, as findings cite them."""
    return tuple(exchange.number for exchange in exchanges)


def sent_after(of: Exchange, calls: Sequence[Exchange]) -> Iterator[Exchange]:
    """Yield those of the calls, which are in order, that were sent after the answer to this exchange."""
    later = calls[bisect_right(calls, of.number, key=number_of) :]
    return (call for call in later if call.follows >= of.number)
