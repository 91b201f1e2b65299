"""
The search: the serial runs first, then orders with one preemption, then with two, then those with a fault in addition.

A run is a function of its schedule. Each run shows what else could have been released at each of its places; those are the
schedules of further runs, the ones with fewer preemptions first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mockserver.testing.arguments import check_function
from mockserver.testing.runs.bounds import bounds_beyond
from mockserver.testing.runs.findings import Cause, Part, in_python
from mockserver.testing.runs.investigation import Investigation, Plans, options_of_runs, settings_of_runs
from mockserver.testing.runs.orders import placed_fault, schedules, serial
from mockserver.testing.runs.orders.merging import RunOrders
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.placed_fault import PlacedFault
from mockserver.testing.runs.orders.planned import OrderPlan, PlannedOrders
from mockserver.testing.runs.orders.played import Order
from mockserver.testing.runs.orders.report import LINE, InterleaveReport, add_run, serial_text
from mockserver.testing.runs.orders.run import SERIAL_BOUNDS, ClientFunction
from mockserver.testing.runs.orders.subject import Interleaving, OrderSubject
from mockserver.testing.runs.orders.verdicts import OrderOutcome, SerialEnds

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

# The arguments of `MockServer.interleave` in addition to the options.
_ARGUMENTS: Final = ("clients", "setup", "check", "settings", "test", "failures")
_BEGINS_AT: Final = "2026-03-01T12:00:00Z"
_SERIAL_MAX: Final = 24  # orders of whole clients
_KEPT: Final = "equal runs differ, and the clients change memory that they share; make it anew in `setup`"


class Search:
    """
    One search.

    Args:
        what: The clients, and what to try.
        test: The name in the report.
        line: The beginning of the line that repeats a finding.

    Attributes:
        report: That of the runs so far.
    """

    def __init__(self, what: Interleaving, *, test: str, line: str) -> None:
        self.report = InterleaveReport(
            test=test,
            investigation=Investigation(what.options.seconds),
            clients=tuple(what.clients),
            options=what.options,
            line=line,
        )
        self._options, self._clients = what.options, self.report.clients
        fault = self._options.fault
        self._fault = None if fault is None else placed_fault.parse(fault, self._clients)
        self._subject = OrderSubject(what, self.report)
        self._serial: list[OrderOutcome] = []
        self._orders = RunOrders(self._clients, shows_lists=what.check is not None)
        self._planned = PlannedOrders(what.options.bound)

    def run(self, show: Callable[[str], object] = lambda _: None) -> InterleaveReport:
        """
        Run everything, and return the report.

        Args:
            show: Gets how far it is, such as `12 runs, 2 findings, 9 s`.

        Raises:
            KeyboardInterrupt: It was stopped; the report on what was found before is a note of it.
        """
        report, investigation = self.report, self.report.investigation
        with in_python(report):
            investigation.run(
                self.plans(),
                self._subject.run,
                lambda: show(investigation.progress(f"{report.runs} runs", len(report.findings))),
            )
        return report

    def plans(self) -> Plans[OrderPlan, OrderOutcome]:
        """Yield the plan of each run, and judge its outcome: the serial runs, then one schedule, or all orders."""
        yield from self._serial_runs()
        if self.report.failed_serial is not None:
            return
        known = SerialEnds(self._serial, self._clients)
        if self._options.schedule is not None:
            yield from self._schedule(self._options.schedule, known)
            return
        yield from self._all_orders(known)
        if self._options.faults:
            yield from self._faults(known)

    # Serial runs

    def _serial_runs(self) -> Plans[OrderPlan, OrderOutcome]:
        """Run each order of whole clients, and the first one again: equal runs should be equal."""
        left: list[tuple[str, ...]] = [()]
        while left and len(self._serial) < _SERIAL_MAX:
            prefix = left.pop(0)
            outcome = yield OrderPlan(prefix)
            self._serial.append(outcome)
            self.report.serial.append(serial_text(outcome, self._clients))
            self._orders.add(outcome.played)
            left += self._plan_beyond_serial(outcome.played.order, prefix)
        again = yield OrderPlan()
        self._subject.is_watching = False
        self._compare_equal(again)

    def _plan_beyond_serial(self, order: Order, prefix: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Plan what leaves a serial order, and return how further serial orders begin."""
        beginnings = list[tuple[str, ...]]()
        for place in range(len(prefix), len(order.decisions)):
            decision = order.decisions[place]
            for option in decision.options[1:]:
                if decision.is_free and option.cost == 0 and option.name in self._clients:
                    beginnings.append((*order.names[:place], option.name))
                else:
                    self._planned.plan(order, place, option)
        return beginnings

    def _compare_equal(self, again: OrderOutcome) -> None:
        """Decide what can be compared, by the first serial run and its repetition."""
        report, first = self.report, self._serial[0]
        report.difference = serial.difference(first, again)
        report.not_interleaved = list(serial.not_interleaved(self._serial, self._clients))
        report.failed_serial = serial.failure(self._serial, self._clients, self._options.tolerates)
        if report.shares_memory and first.played.texts != again.played.texts and not report.blocked:
            report.failed_serial = _KEPT
        report.bounds[0] = Part(placements=len(self._serial), tried=len(self._serial))
        report.investigation.has_baseline = True
        most = max(run.played.used for run in self._serial)
        self._subject.bounds = bounds_beyond(most)._replace(real=SERIAL_BOUNDS.real)

    # Orders

    def _all_orders(self, known: SerialEnds) -> Plans[OrderPlan, OrderOutcome]:
        """Run the planned orders that are equal to no other one, the ones with the fewest preemptions first."""
        report, planned = self.report, self._planned
        report.left = len(planned)
        while planned and report.runs < self._options.runs:
            next_one = planned.first()
            order = self._equal_to(next_one.prefix)
            is_merged = order is not None
            if order is None:
                outcome = yield OrderPlan(next_one.prefix)
                self._judge(outcome, known)
                self._orders.add(outcome.played)
                order = self._equal_to(next_one.prefix) or outcome.played.order
            # Those that leave a serial order without a preemption count as having one.
            counted = max(next_one.preemptions, 1) if self._options.bound else 0
            row = report.bounds.setdefault(counted, Part())
            row.placements += 1
            row.tried += not is_merged
            row.merged += is_merged
            planned.remove_first()
            planned.plan_after(order, next_one.prefix)
            report.left = len(planned)

    def _equal_to(self, prefix: tuple[str, ...]) -> Order | None:
        """Return the whole order that begins with a prefix if a run is equal to it; None if that is not known."""
        if not self._options.prune or self.report.shares_memory or self.report.difference is not None:
            return None
        return self._orders.equal_to(prefix)

    # Faults

    def _faults(self, known: SerialEnds) -> Plans[OrderPlan, OrderOutcome]:
        """Run the orders of at most one preemption with each fault, as far as the runs for it suffice."""
        report, last = self.report, self.report.runs + self._options.faults
        placed = list(placed_fault.placements([run.played.calls for run in self._serial]))
        report.fault_runs = Part(placements=len(placed))
        for fault in placed:
            if report.runs + len(self._serial) > last:
                return
            serial_with = yield from self._serial_with(fault, known)
            known_with = SerialEnds([*self._serial, *serial_with], self._clients)
            for plan in _with_one_preemption(serial_with):
                if report.runs == last:
                    return
                self._judge((yield plan), known_with)
            report.fault_runs.tried += 1

    def _serial_with(
        self, fault: PlacedFault, known: SerialEnds
    ) -> Generator[OrderPlan, OrderOutcome, list[OrderOutcome]]:
        """Run the serial orders with a fault; what whole clients double because of it, no run without it explains."""
        runs: list[OrderOutcome] = []
        for run in self._serial:
            outcome = yield OrderPlan(run.plan.names, fault)
            self._add(known.doubled(outcome), outcome)
            runs.append(outcome)
        return runs

    # One schedule

    def _schedule(self, schedule: str, known: SerialEnds) -> Plans[OrderPlan, OrderOutcome]:
        """Run one order, with the fault if there is one."""
        names, fault = schedules.parse(schedule, [*self._clients, schedules.TIMERS]), self._fault
        if fault is not None:
            serial_with = yield from self._serial_with(fault, known)
            known = SerialEnds([*self._serial, *serial_with], self._clients)
        outcome = yield OrderPlan(names, fault)
        taken = [step.actor for step in outcome.played.steps[: len(names)]]
        if taken != names:
            place = next(place for place, name in enumerate(names) if taken[place : place + 1] != [name])
            self.report.unplayed = f"step {place + 1} is to be one of {names[place]}, which has none there"
        elif fault is not None and not fault.happened(outcome.played.calls):
            self.report.unplayed = f"{fault.describe()} is to happen, and {fault.client} makes no such call"
        self._judge(outcome, known)

    def _judge(self, outcome: OrderOutcome, known: SerialEnds) -> None:
        """Add the findings of a run."""
        is_comparable = self.report.difference is None
        self._add(known.causes(outcome, self._options.tolerates, is_comparable=is_comparable), outcome)

    def _add(self, causes: Iterable[Cause], outcome: OrderOutcome) -> None:
        """Add the findings of a run; causes that differ by their client alone are one."""
        alike: dict[tuple[str, str, str], list[Cause]] = {}
        for cause in causes:
            alike.setdefault(cause.key, []).append(cause)
        for rows in alike.values():
            add_run(self.report, rows, outcome)


def _with_one_preemption(runs: Sequence[OrderOutcome]) -> Iterator[OrderPlan]:
    """Yield what leaves serial runs by one preemption, with their faults."""
    for run in runs:
        order = run.played.order
        for place, decision in enumerate(order.decisions):
            for option in decision.options[1:]:
                if option.cost == 1 and not decision.is_free:
                    yield OrderPlan((*order.names[:place], option.name), run.plan.fault)


def interleaving(
    make_sandbox: Callable[..., Sandbox],
    *,
    clients: Mapping[str, ClientFunction],
    setup: Callable[[Sandbox], Any] | None = None,
    check: Callable[[Sandbox], Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    test: str | None = None,
    line: str = LINE,
    **options: Any,
) -> Search:
    """
    Return a search that has not begun.

    Args:
        make_sandbox: Returns a fresh sandbox of this process with settings.
        clients: As of `Interleaving`; so are setup and check.
        settings: Of each sandbox.
        test: The name in the report; by default the names of the clients.
        line: As of `Search`.
        **options: Fields of `InterleaveOptions`.

    Raises:
        TypeError, ValueError: An option, a setting or the name of a client has a wrong value.
    """
    checked = options_of_runs("interleave", InterleaveOptions, options, _ARGUMENTS)
    for name, part in (("setup", setup), ("check", check)):
        if part is not None:
            check_function(f"interleave: {name}", part, "a function of a sandbox")
    values = settings_of_runs("interleave", settings, _BEGINS_AT)
    schedules.check_clients(clients)
    what = Interleaving(
        make_sandbox=lambda: make_sandbox(**values),
        clients=clients,
        setup=setup,
        check=check,
        options=checked,
    )
    return Search(what, test=test or " and ".join(clients), line=line)
