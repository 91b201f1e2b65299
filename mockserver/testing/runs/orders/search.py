"""
The search: the serial runs first, then orders with one preemption, then with two.

A run is a function of its schedule. Each run shows what else could have been released at each of its places; those are the
schedules of further runs, the ones with fewer preemptions first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mockserver.testing.arguments import check_function, check_names
from mockserver.testing.runs.bounds import bounds_beyond
from mockserver.testing.runs.faults.options import names_of
from mockserver.testing.runs.findings import Cause
from mockserver.testing.runs.investigation import Investigation, Plans, muted_logs, settings_of_runs
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.findings import InterleaveFindings
from mockserver.testing.runs.orders.merging import RunOrders
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.planned import PlannedOrders
from mockserver.testing.runs.orders.played import Order
from mockserver.testing.runs.orders.report import LINE, Bound, InterleaveReport
from mockserver.testing.runs.orders.run import SERIAL_BOUNDS, ClientFunction
from mockserver.testing.runs.orders.serial import SerialRuns, difference
from mockserver.testing.runs.orders.subject import OrderOutcome, OrderPlan, OrderSubject
from mockserver.testing.runs.orders.verdicts import SerialEnds

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

Running = Plans[OrderPlan, OrderOutcome]

_ARGUMENTS: Final = (
    "clients",
    "setup",
    "check",
    "settings",
    "test",
    "failures",
)  # of `MockServer.interleave`, in addition to the options
_BEGINS_AT: Final = "2026-03-01T12:00:00Z"
_SERIAL_MAX: Final = 24  # orders of whole clients
_KEPT: Final = "equal runs differ, and the clients change memory that they share; make it anew in `setup`"
_UNFINISHED: Final = "it ended before the last serial run"


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
        line: The beginning of the line that repeats a finding.

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
        line: str,
    ) -> None:
        schedules.check_clients(clients)
        self._clients, self._options, self._test = tuple(clients), options, test or " and ".join(clients)
        self._line = line
        self._subject = OrderSubject(make_sandbox, setup, clients, check, options)
        self._investigation = Investigation(options.seconds)
        self._serial = SerialRuns(self._clients)
        self._orders = RunOrders(self._clients, shows_lists=check is not None)
        self._planned = PlannedOrders(options.bound)
        self._by_bound: dict[int, Bound] = {}
        self._findings = InterleaveFindings(self._test)
        self._difference: str | None = None
        self._failed: str | None = _UNFINISHED
        self._unplayed: str | None = None

    def report(self, show: Callable[[str], object] = lambda _: None) -> InterleaveReport:
        """
        Run everything, and return the report.

        Args:
            show: Gets how far it is, such as `12 runs, 2 findings, 9 s`.

        Raises:
            KeyboardInterrupt: It was stopped; the report on what was found before is a note of it.
        """
        try:
            with muted_logs():
                self._investigation.run(self.plans(), self._subject.run, lambda: show(self._progress))
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(self._report().text())
            raise
        return self._report()

    def plans(self) -> Running:
        """Yield the plan of each run, and judge its outcome: the serial runs, then one schedule, or all orders."""
        yield from self._serial_runs()
        if self._failed is not None:
            return
        if self._options.schedule is not None:
            yield from self._schedule(self._options.schedule)
            return
        yield from self._all_orders()

    @property
    def _progress(self) -> str:
        runs, found = self._investigation.runs, len(self._findings)
        return f"{runs} runs, {found} finding{'' if found == 1 else 's'}, {self._investigation.seconds:.0f} s"

    def _report(self) -> InterleaveReport:
        return InterleaveReport(
            test=self._test,
            clients=self._clients,
            options=self._options,
            serial=self._serial.rows(),
            bounds=[self._by_bound[bound] for bound in sorted(self._by_bound)],
            runs=self._investigation.runs,
            found=self._findings.rows(),
            difference=self._difference,
            blocked=self._subject.blocked,
            sleep=self._subject.sleep,
            failed_serial=self._failed,
            unplayed=self._unplayed,
            shares_memory=self._subject.shares_memory,
            left=len(self._planned) if self._options.schedule is None else 0,
            not_interleaved=list(self._serial.not_interleaved()),
            line=self._line,
            ended=self._investigation.ended,
        )

    # Serial runs

    def _serial_runs(self) -> Running:
        """Run each order of whole clients, and the first one again: equal runs should be equal."""
        left: list[tuple[str, ...]] = [()]
        while left and len(self._serial.runs) < _SERIAL_MAX:
            prefix = left.pop(0)
            outcome = yield prefix
            self._serial.runs.append(outcome)
            self._orders.add(outcome.played)
            left += self._plan_beyond_serial(outcome.played.order, prefix)
        again = yield ()
        self._subject.is_watching = False
        self._compare_equal(again)

    def _plan_beyond_serial(self, order: Order, prefix: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Plan what leaves a serial order, and return how further serial orders begin."""
        serial = list[tuple[str, ...]]()
        for place in range(len(prefix), len(order.decisions)):
            decision = order.decisions[place]
            for option in decision.options[1:]:
                if decision.is_free and option.cost == 0 and option.name in self._clients:
                    serial.append((*order.names[:place], option.name))
                else:
                    self._planned.plan(order, place, option)
        return serial

    def _compare_equal(self, again: OrderOutcome) -> None:
        """Decide what can be compared, by the first serial run and its repetition."""
        first = self._serial.runs[0]
        self._difference = difference(first, again)
        most = max(run.played.used for run in self._serial.runs)
        self._subject.bounds = bounds_beyond(most)._replace(real=SERIAL_BOUNDS.real)
        self._by_bound[0] = Bound(0, len(self._serial.runs))
        keeps_memory = (
            self._subject.shares_memory and first.played.texts != again.played.texts and not self._subject.blocked
        )
        self._failed = _KEPT if keeps_memory else self._serial.failure(self._options.tolerates)
        self._investigation.has_baseline = True

    # Orders

    def _all_orders(self) -> Running:
        """Run the planned orders that are equal to no other one, the ones with the fewest preemptions first."""
        known = SerialEnds(self._serial.ends, self._clients)
        while self._planned and self._investigation.runs < self._options.runs:
            planned = self._planned.first()
            order = self._equal_to(planned.prefix)
            is_merged = order is not None
            if order is None:
                outcome = yield planned.prefix
                self._judge(outcome, known)
                self._orders.add(outcome.played)
                order = self._equal_to(planned.prefix) or outcome.played.order
            cost = max(planned.preemptions, 1) if self._options.bound else 0
            row = self._by_bound.setdefault(cost, Bound(cost))
            row.run += not is_merged
            row.merged += is_merged
            self._planned.remove_first()
            self._planned.plan_after(order, planned.prefix)

    def _equal_to(self, prefix: tuple[str, ...]) -> Order | None:
        """Return the whole order that begins with a prefix if a run is equal to it; None if that is not known."""
        if not self._options.prune or self._subject.shares_memory or self._difference is not None:
            return None
        return self._orders.equal_to(prefix)

    # One schedule

    def _schedule(self, schedule: str) -> Running:
        """Run one order."""
        names = tuple(schedules.parse(schedule, [*self._clients, schedules.TIMERS]))
        outcome = yield names
        taken = [step.actor for step in outcome.played.steps[: len(names)]]
        if taken != list(names):
            place = next(place for place, name in enumerate(names) if taken[place : place + 1] != [name])
            self._unplayed = f"step {place + 1} is to be one of {names[place]}, which has none there"
        self._judge(outcome, SerialEnds(self._serial.ends, self._clients))

    def _judge(self, outcome: OrderOutcome, known: SerialEnds) -> None:
        """Add the findings of a run; causes that differ by their client alone are one."""
        causes = known.causes(outcome.end, self._options.tolerates, is_comparable=self._difference is None)
        alike: dict[tuple[str, str, str], list[Cause]] = {}
        for cause in causes:
            alike.setdefault(cause.key, []).append(cause)
        for rows in alike.values():
            self._findings.add(rows, outcome.played, outcome.sandbox)


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
        clients: As of `Search`; so are setup, check, test and line.
        settings: Of each sandbox.
        **options: Fields of `InterleaveOptions`.

    Raises:
        TypeError, ValueError: An option, a setting or the name of a client has a wrong value.
    """
    check_names("interleave", options, (*_ARGUMENTS, *names_of(InterleaveOptions)))
    for name, part in (("setup", setup), ("check", check)):
        if part is not None:
            check_function(f"interleave: {name}", part, "a function of a sandbox")
    values = settings_of_runs("interleave", settings, _BEGINS_AT)
    return Search(
        make_sandbox=lambda: make_sandbox(**values),
        setup=setup,
        clients=clients,
        check=check,
        options=InterleaveOptions(**options),
        test=test,
        line=line,
    )
