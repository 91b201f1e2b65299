"""The clients of an interleaving as the subject of its runs: each run is in a fresh sandbox, in the order of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mockserver.testing.runs.bounds import NEED
from mockserver.testing.runs.orders.actors import KnownThreads
from mockserver.testing.runs.orders.course import Choose
from mockserver.testing.runs.orders.memory import shared_memory
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.planned import OrderPlan
from mockserver.testing.runs.orders.played import Played
from mockserver.testing.runs.orders.report import InterleaveReport
from mockserver.testing.runs.orders.run import SERIAL_BOUNDS, ClientFunction, InterleavedRun
from mockserver.testing.runs.orders.schedules import Release
from mockserver.testing.runs.orders.verdicts import OrderOutcome, read_outcome

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """
    The clients of a search, and what to try.

    Attributes:
        make_sandbox: Returns a fresh sandbox of this process, each with the same seed and the same frozen instant.
        clients: By name.
        setup: Prepares the sandbox; its calls are no steps.
        check: Gets the sandbox after the clients, and raises if something is wrong.
        options: What to try.
    """

    make_sandbox: Callable[[], Sandbox]
    clients: Mapping[str, ClientFunction]
    setup: Callable[[Sandbox], Any] | None
    check: Callable[[Sandbox], Any] | None
    options: InterleaveOptions


class OrderSubject:
    """
    Runs the clients.

    Lifetime: one search.

    Args:
        what: The clients.
        report: Gets what the runs show of them: real sleeps, memory that they share, and where they were blocked.

    Attributes:
        bounds: Those of each run.
        is_watching: Between the steps of a run the shared memory is compared.
    """

    def __init__(self, what: Interleaving, report: InterleaveReport) -> None:
        self.bounds = SERIAL_BOUNDS
        self.is_watching = True
        self._what, self._report = what, report
        self._known = KnownThreads()

    @contextmanager
    def run(self, plan: OrderPlan) -> Iterator[OrderOutcome]:
        """Run the clients by a plan; the sandbox is open in the block."""
        with self._what.make_sandbox() as sandbox:
            self._prepare(sandbox)
            run = InterleavedRun(
                sandbox,
                self._what.clients,
                self._what.options,
                bounds=self.bounds,
                known=self._known,
                fault=plan.fault,
            )
            try:
                played = run.play(self._choices(plan.names))
                outcome = read_outcome(plan, played, sandbox, self._check(sandbox, played))
            finally:
                run.close()
            self._note(played)
            yield outcome

    def _prepare(self, sandbox: Sandbox) -> None:
        """Run the user's setup, and deliver everything that this has made due."""
        sandbox.is_repeated = True
        try:
            if self._what.setup is not None:
                self._what.setup(sandbox)
        except Exception as failure:
            failure.add_note("raised by the setup of an interleaving, before any client ran")
            raise
        hosted = sandbox.local(NEED)
        if not hosted.sandbox.clock.frozen:
            got = "got a clock that follows the process's; expected a frozen one, which each run moves"
            raise ValueError(f"settings: {got}")
        hosted.dispatch_webhooks()

    def _choices(self, names: Sequence[str]) -> Choose:
        """Return what chooses the first steps by their names, and the others serially."""
        left = list(reversed(names))
        memory = self._shared_memory() if self.is_watching else None

        def choose(options: Sequence[Release]) -> str:
            if self.is_watching and not self._report.shares_memory:
                self._report.shares_memory = memory != self._shared_memory()
            wanted = left.pop() if left else ""
            return wanted if any(option.name == wanted for option in options) else options[0].name

        return choose

    def _shared_memory(self) -> Any:
        return shared_memory(self._what.clients.values())

    def _check(self, sandbox: Sandbox, played: Played) -> Exception | None:
        """Return how the user's check fails; None if it passes, or cannot be called since the clients have not ended."""
        if self._what.check is not None and played.stuck is None:
            try:
                self._what.check(sandbox)
            except Exception as failure:  # noqa: BLE001 - the way in which it fails is judged
                return failure
        return None

    def _note(self, played: Played) -> None:
        blocked = self._report.blocked
        for text in played.blocked:
            blocked[text] = blocked.get(text, 0) + 1
        self._report.investigation.note_sleep(played.sleep)
