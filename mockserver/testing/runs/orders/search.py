"""
The search: the serial runs first, then orders with one preemption, then with two.

A run is a function of its schedule. Each run shows what else could have been released at each of its places; those are the
schedules of further runs, the ones with fewer preemptions first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.core.run import Run
from mockserver.core.scheduler import advance_step, next_due
from mockserver.core.state.sandbox import SandboxState
from mockserver.testing.runs.bounds import NEED, Used, bounds_beyond
from mockserver.testing.runs.findings import Cause
from mockserver.testing.runs.in_process import Sleep
from mockserver.testing.runs.orders import placed_fault, schedules
from mockserver.testing.runs.orders.actors import KnownThreads
from mockserver.testing.runs.orders.chance import ChanceOrder, probability
from mockserver.testing.runs.orders.findings import InterleaveFindings
from mockserver.testing.runs.orders.memory import SharedMemory
from mockserver.testing.runs.orders.merging import RunOrders
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.placed_fault import PlacedFault
from mockserver.testing.runs.orders.played import Order, Played
from mockserver.testing.runs.orders.report import Bound, ChanceRuns, FaultRuns, InterleaveReport, SerialRun
from mockserver.testing.runs.orders.run import (
    SERIAL_BOUNDS,
    Choose,
    ClientFunction,
    InterleavedRun,
)
from mockserver.testing.runs.orders.schedules import Release
from mockserver.testing.runs.orders.verdicts import RunEnd, SerialEnds, read_end

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

_SERIAL_MAX = 24  # orders of whole clients
_CHANCE_SHARE = 4  # of the runs, one in four is kept for orders by chance if not every order within the bound fits
_SHRINKS_MAX = 40  # runs for one finding
_TIMERS_MAX = 10_000  # until nothing is due in the copy of a sandbox
_KEPT = "equal runs differ, and the clients change memory that they share; make it anew in `setup`"
_PROCESS_TIME = (time.process_time,)  # in a tuple: freezegun replaces attributes of modules


class PlayedRun(NamedTuple):
    """A run with what it ends with, and the sandbox that it leaves."""

    played: Played
    end: RunEnd


@dataclass(order=True)
class _Planned:
    """A schedule to run: `key` sorts by preemptions, then by deviations from the serial order."""

    key: tuple[int, int, int]
    prefix: tuple[str, ...] = field(compare=False)


class Search:
    """
    One search.

    Args:
        make_sandbox: Returns a fresh sandbox of this process, each with the same seed and the same frozen instant.
        setup: Prepares it; its calls are no steps.
        clients: By name.
        check: Gets the sandbox after the clients, and raises if something is wrong.
        options: What to try.
        test: The name in the report; None is that of the clients.

    Raises:
        ValueError: The schedule is not one, or the clients are not functions by name.
    """

    def __init__(
        self,
        make_sandbox: Callable[[], Sandbox],
        setup: Callable[[Sandbox], Any] | None,
        clients: Mapping[str, ClientFunction],
        check: Callable[[Sandbox], Any] | None,
        options: InterleaveOptions,
        test: str | None,
    ) -> None:
        schedules.check_clients(clients)
        self._make_sandbox, self._setup, self._clients, self._check = make_sandbox, setup, clients, check
        self._options, self._test = options, test or " and ".join(clients)
        self._known = KnownThreads()
        self._began = _PROCESS_TIME[0]()
        self._runs = 0
        self._bounds = SERIAL_BOUNDS
        self._serial: list[SerialRun] = []
        self._serial_ends: SerialEnds | None = None
        self._by_bound: dict[int, Bound] = {}
        self._findings = InterleaveFindings(self._test)
        self._difference: str | None = None
        self._blocked: dict[str, int] = {}
        self._sleep: Sleep | None = None
        self._failed: str | None = None
        self._unplayed: str | None = None
        self._queue: list[_Planned] = []
        self._orders = RunOrders(tuple(clients))
        self._by_chance = self._steps = 0
        self._fault_runs: FaultRuns | None = None
        self._serial_prefixes: list[tuple[str, ...]] = []
        self._operations: dict[str, list[str]] = {}
        self._ends: list[RunEnd] = []
        self._fault: PlacedFault | None = None  # of the current run
        if options.fault is not None:
            placed_fault.parse(options.fault, tuple(clients))
        self._actors = set(clients)
        self._memory = SharedMemory(clients.values())
        self._shares_memory = False
        self._past_handle = Counter[str]()  # calls of the serial runs that are no steps, by client
        self._stepping: set[str] = set()  # clients with a step after their start
        self._order = count()

    def report(self) -> InterleaveReport:
        """Run everything, and return the report."""
        self._run_serially()
        if self._failed is None:
            if self._options.schedule is None:
                self._run_all()
            else:
                self._replay(self._options.schedule)
        return InterleaveReport(
            test=self._test,
            clients=tuple(self._clients),
            options=self._options,
            serial=self._serial,
            bounds=[self._by_bound[bound] for bound in sorted(self._by_bound)],
            runs=self._runs,
            found=self._findings.rows(),
            difference=self._difference,
            blocked=self._blocked,
            sleep=self._sleep,
            failed_serial=self._failed,
            unplayed=self._unplayed,
            shares_memory=self._shares_memory,
            chance=self._chance(),
            fault_runs=self._fault_runs,
            left=len(self._queue) if self._options.schedule is None else 0,
            not_interleaved=list(self._not_interleaved()),
        )

    def _chance(self) -> ChanceRuns | None:
        if not self._by_chance:
            return None
        actors = len(self._actors)
        return ChanceRuns(self._by_chance, actors, self._steps, probability(actors, self._steps, self._by_chance))

    # Serial runs

    def _run_serially(self) -> None:
        """Run each order of whole clients, and the first one again: equal runs should be equal."""
        planned: list[tuple[str, ...]] = [()]
        ends, used, seen = list[RunEnd](), list[Used](), list[tuple[Any, ...]]()
        while planned and len(self._serial) < _SERIAL_MAX:
            prefix = planned.pop(0)
            with self._made() as sandbox:
                played, end = self._play(sandbox, prefix)
            ends.append(end)
            self._steps = max(self._steps, len(played.steps))
            used.append(played.used)
            seen.append((_texts(played), end.records))
            self._serial.append(SerialRun.of(played, self._clients, end))
            self._serial_prefixes.append(prefix)
            if not prefix:
                self._operations = _operations(played, self._clients)
            self._orders.add(played)
            self._note_handles(played)
            order = played.order
            for place in range(len(prefix), len(order.decisions)):
                decision = order.decisions[place]
                for option in decision.options[1:]:
                    if decision.is_free and option.cost == 0 and option.name in self._clients:
                        planned.append((*order.names[:place], option.name))
                    else:
                        self._plan(order, place, option)
        with self._made() as sandbox:
            played, end = self._play(sandbox, ())
        texts = _texts(played)
        if (texts, end.records) != seen[0]:
            self._difference = _first_difference(seen[0], (texts, end.records))
        keeps_memory = self._shares_memory and texts != seen[0][0] and not self._blocked
        self._bounds = replace(bounds_beyond(max(used)), real=SERIAL_BOUNDS.real)
        self._serial_ends, self._ends = SerialEnds(ends, tuple(self._clients)), ends
        self._by_bound[0] = Bound(0, len(self._serial))
        self._failed = _KEPT if keeps_memory else self._why_incomparable(ends)

    def _note_handles(self, played: Played) -> None:
        for step in played.steps:
            if step.waits in ("start", "call"):
                self._past_handle[step.actor] += max(
                    0, len(step.exchanges) - (step.waits == "call")
                )  # a command has none
            if step.waits != "start":
                self._stepping.add(step.actor)

    def _not_interleaved(self) -> Iterator[str]:
        """Yield a sentence about each client whose calls are no steps."""
        for name in self._clients:
            if self._past_handle[name]:
                yield f"{name} calls past its handle, so that these calls are no steps; call with the sandbox that the client gets"
            elif name not in self._stepping:
                yield f"{name} has no step but its start, so that nothing of it is interleaved; call with the sandbox that the client gets"

    def _why_incomparable(self, ends: Sequence[RunEnd]) -> str | None:
        """Return why nothing can be compared with the serial runs: all of them fail in one way, or a client has no step."""
        for name in self._clients:
            if self._past_handle[name] and name not in self._stepping:
                return f"every call of {name} is past its handle"
        for name in self._clients:
            failures = [end.raised.get(name) for end in ends]
            if None not in failures and not all(isinstance(each, self._options.tolerates) for each in failures):
                return f"{name} fails in every serial run: {ends[0].errors[name]}"
        if all(end.stuck is not None for end in ends):
            return f"no serial run ends: {ends[0].stuck}"
        return f"the check fails in every serial run: {ends[0].check}" if all(end.check for end in ends) else None

    # Other runs

    def _run_all(self) -> None:
        while self._queue and not self._is_over(self._options.runs // _CHANCE_SHARE):
            planned = heappop(self._queue)
            cost = max(planned.key[0], 1) if self._options.bound else 0
            row = self._by_bound.setdefault(cost, Bound(cost))
            order = self._orders.equal_to(planned.prefix) if self._merges else None
            if order is None:
                order = self._run_planned(planned.prefix)
                row.run += 1
            else:
                row.merged += 1
            self._plan_after(order, planned.prefix)
        if self._options.faults:
            self._run_with_faults()
        if self._queue:
            self._run_by_chance()

    @property
    def _merges(self) -> bool:
        return self._options.prune and not self._shares_memory and self._difference is None

    def _run_planned(self, prefix: tuple[str, ...]) -> Order:
        with self._made() as sandbox:
            played, end = self._play(sandbox, prefix)
            self._judge(sandbox, played, end)
        self._orders.add(played)
        return played.order

    def _plan_after(self, order: Order, prefix: tuple[str, ...]) -> None:
        for place in range(len(prefix), len(order.decisions)):
            for option in order.decisions[place].options[1:]:
                self._plan(order, place, option)

    def _run_with_faults(self) -> None:
        """Run the orders of one preemption with a fault, compared with the serial runs that have the same fault."""
        end, placed = self._runs + self._options.faults, list(placed_fault.placements(self._operations))
        began, tried = self._runs, 0
        for fault in placed:
            if self._runs >= end:
                break
            tried += self._run_with(fault, end)
        self._fault_runs = FaultRuns(self._runs - began, len(placed), tried)

    def _run_with(self, fault: PlacedFault, last: int) -> bool:
        """Run the orders with one fault; return False if the budget ends before the last one."""
        self._fault = fault
        try:
            orders, ends = list[Order](), list[RunEnd]()
            for prefix in self._serial_prefixes:
                with self._made() as sandbox:
                    played, end = self._play(sandbox, prefix)
                orders.append(played.order)
                ends.append(end)
            known = SerialEnds([*self._ends, *ends], tuple(self._clients))
            for order in orders:
                for place, decision in enumerate(order.decisions):
                    for option in decision.options[1:]:
                        if decision.is_free or option.cost != 1:
                            continue
                        if self._runs >= last:
                            return False
                        with self._made() as sandbox:
                            played, end = self._play(sandbox, (*order.names[:place], option.name))
                            self._judge(sandbox, played, end, known)
        finally:
            self._fault = None
        return True

    def _run_by_chance(self) -> None:
        """Run orders by chance until the budget is used up, and shrink what they find."""
        known = self._findings.keys()
        while not self._is_over():
            order = ChanceOrder(f"{self._options.seed} {self._by_chance}", self._steps)
            self._by_chance += 1
            with self._made() as sandbox:
                played, end = self._run(sandbox, order.choose)
                causes = self._judge(sandbox, played, end)
            for cause in causes - known:
                self._shrink(played, cause)
            known |= causes

    def _shrink(self, played: Played, wanted: tuple[str, str, str]) -> None:
        """Run orders with fewer preemptions, as long as one of them has the same finding."""
        names, cost, left = played.order.names, played.cost, _SHRINKS_MAX
        is_smaller = True
        while is_smaller:
            is_smaller = False
            for smaller in _smaller(names):
                if left == 0:
                    return
                left -= 1
                with self._made() as sandbox:
                    again, end = self._play(sandbox, smaller)
                    if again.cost < cost and wanted in self._judge(sandbox, again, end):
                        names, cost, is_smaller = again.order.names, again.cost, True
                        break

    def _replay(self, schedule: str) -> None:
        """Run one order; with a fault it is compared with serial runs that have it too."""
        fault, serial = self._options.fault, self._serial_ends
        if fault is not None:
            self._fault = placed_fault.parse(fault, tuple(self._clients))
            ends = list[RunEnd]()
            for prefix in self._serial_prefixes:
                with self._made() as sandbox:
                    ends.append(self._play(sandbox, prefix).end)
            serial = SerialEnds([*self._ends, *ends], tuple(self._clients))
        names = tuple(schedules.parse(schedule, [*self._clients, schedules.TIMERS]))
        with self._made() as sandbox:
            played, end = self._play(sandbox, names)
            taken = [step.actor for step in played.steps[: len(names)]]
            if taken != list(names):
                place = next(place for place, name in enumerate(names) if taken[place : place + 1] != [name])
                self._unplayed = f"step {place + 1} is to be one of {names[place]}, which has none there"
            elif self._fault is not None and played.calls[self._fault.client] < self._fault.call:
                made = played.calls[self._fault.client]
                self._unplayed = f"{self._fault.describe()} is to take place, and {self._fault.client} has made {made}"
                return
            self._judge(sandbox, played, end, serial)

    def _plan(self, order: Order, place: int, option: Release) -> None:
        cost = sum(row.chosen.cost for row in order.decisions[:place]) + option.cost
        if cost <= self._options.bound:
            deviations = sum(not row.is_serial for row in order.decisions[:place])
            prefix = (*order.names[:place], option.name)
            heappush(self._queue, _Planned((cost, deviations, next(self._order)), prefix))

    def _judge(
        self, sandbox: Sandbox, played: Played, end: RunEnd, serial: SerialEnds | None = None
    ) -> set[tuple[str, str, str]]:
        """Add the findings of a run, and return what distinguishes them: verdict and name of each."""
        known = serial or self._serial_ends
        assert known is not None, "the serial runs are first"
        causes = known.causes(end, self._options.tolerates, is_comparable=self._difference is None)
        alike: dict[tuple[str, str, str], list[Cause]] = {}
        for cause in causes:
            alike.setdefault(cause.key, []).append(cause)
        for rows in alike.values():
            self._findings.add(rows, played, sandbox, self._fault)
        return set(alike)

    def _is_over(self, kept: int = 0) -> bool:
        seconds = self._options.seconds
        return self._runs >= self._options.runs - kept or (
            seconds is not None and _PROCESS_TIME[0]() - self._began >= seconds
        )

    # One run

    def _made(self) -> Sandbox:
        """Return the sandbox of the next run after the user's setup, with everything delivered that this made due."""
        sandbox = self._make_sandbox()
        sandbox.is_repeated = True
        hosted = sandbox.local(NEED)
        try:
            self._set_up(sandbox)
            if not hosted.sandbox.clock.frozen:
                got = "got a clock that follows the process's; expected a frozen one, which each run moves"
                raise ValueError(f"settings: {got}")
            hosted.dispatch_webhooks()
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def _set_up(self, sandbox: Sandbox) -> None:
        try:
            if self._setup is not None:
                self._setup(sandbox)
        except Exception as failure:
            failure.add_note("raised by the setup of an interleaving, before any client ran")
            raise

    def _play(self, sandbox: Sandbox, prefix: Sequence[str]) -> PlayedRun:
        """Run the clients; the first steps are those of the prefix, the others are serial."""
        left = list(reversed(prefix))

        def choose(options: Sequence[Release], _: str | None) -> str:
            wanted = left.pop() if left else ""
            self._note_memory()
            return wanted if any(option.name == wanted for option in options) else options[0].name

        return self._run(sandbox, choose)

    def _run(self, sandbox: Sandbox, choose: Choose) -> PlayedRun:
        run = InterleavedRun(
            sandbox,
            self._clients,
            seed=self._options.seed,
            split=self._options.split,
            blocked_s=self._options.blocked_seconds,
            bounds=self._bounds,
            known=self._known,
            fault=self._fault,
        )
        self._read_memory: Any = None
        try:
            played = run.play(choose)
            self._runs += 1
            end = self._end(sandbox, played, run.addresses)
        finally:
            run.close()
        self._actors.update(step.actor for step in played.steps)
        for text in played.blocked:
            self._blocked[text] = self._blocked.get(text, 0) + 1
        if played.sleep is not None and (self._sleep is None or played.sleep.seconds > self._sleep.seconds):
            self._sleep = played.sleep
        return PlayedRun(played, end)

    def _note_memory(self) -> None:
        """Between the steps of the serial runs, see whether the clients change memory that they share."""
        if self._serial_ends is None and not self._shares_memory:
            before, self._read_memory = self._read_memory, self._memory.read()
            self._shares_memory = before is not None and before != self._read_memory

    def _end(self, sandbox: Sandbox, played: Played, addresses: Sequence[str]) -> RunEnd:
        check: BaseException | None = None
        if self._check is not None and played.stuck is None:
            try:
                self._check(sandbox)
            except Exception as failure:  # noqa: BLE001 - the way in which it fails is judged
                check = failure
        owners = {n: step.actor for step in played.steps for n in step.exchanges}
        state = sandbox.local(NEED).sandbox
        with state.lock:
            idle = _done(state)
            return read_end(Run.of(state), Run.of(idle), owners, played.raised, played.stuck, check, addresses)


def _done(state: SandboxState) -> SandboxState:
    """Return a copy of a sandbox in which every timer has fired. Lock: the caller holds it."""
    copy = state.clone()
    for _ in range(_TIMERS_MAX):
        if next_due(copy) is None:
            break
        try:
            advance_step(copy, None)
        except ValueError:  # an effect of a rule needs a server, or the calendar ends
            break
    return copy


def _smaller(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield orders in which a row of steps of one actor follows later, together with its next row."""
    rows = [list(row) for _, row in groupby(names)]
    for place, row in enumerate(rows):
        following = next((later for later in range(place + 1, len(rows)) if rows[later][0] == row[0]), None)
        if following is not None:
            moved = [*rows[:place], *rows[place + 1 : following], row, *rows[following:]]
            yield [name for each in moved for name in each]


def _operations(played: Played, clients: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the operations that each client has called, in order."""
    made: dict[str, list[str]] = {name: [] for name in clients}
    for step in played.steps:
        if step.waits == "call" and step.actor in made and step.exchanges:
            made[step.actor].append(step.label.partition(" ")[0])
    return made


def _texts(played: Played) -> tuple[str, ...]:
    return tuple(f"{step.actor} {step.label}" for step in played.steps)


def _first_difference(one: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    (first, first_end), (second, second_end) = one, other
    for place, (step, again) in enumerate(zip(first, second, strict=False), start=1):
        if step != again:
            return f"step {place} is {step} in one run, and {again} in an equal one"
    if len(first) != len(second):
        return f"equal serial runs have {len(first)} and {len(second)} steps"
    differing = next((row for row in first_end if row not in second_end), first_end[0] if first_end else "nothing")
    return f"equal serial runs end with other records, such as {differing}"
