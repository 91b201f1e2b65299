"""
Runs one after another: a strategy names the plan of each run and judges what has come of it, and a subject runs it.

A strategy is a generator. It yields the plan of the next run and gets its outcome back, so that it tells in its order what is
tried, and what it tries next can depend on everything that it has seen.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mockserver.contract.text import counted
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.http1 import real_time
from mockserver.testing.arguments import check_names
from mockserver.testing.runs.bounds import NEED, Bounds, Watch
from mockserver.testing.runs.in_process import RunInProcess, Sleep
from mockserver.testing.sandbox import Sandbox

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")
Plan = TypeVar("Plan")
Outcome = TypeVar("Outcome")
Plans = Generator[Plan, Outcome, None]  # the strategy: it yields a plan, and gets the outcome of its run
BY_CTRL_C: Final = "by Ctrl-C"
_ENDS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # signals by which other programs end this one


class Investigation:
    """
    The runs of a strategy, until it has no more plan, or the time is over.

    Lifetime: one test.

    Args:
        seconds: Real seconds after which no further run begins; None for no limit.

    Attributes:
        runs: The number of runs that have ended.
        ended: Why it was ended before its last run, as the end of a sentence such as "by Ctrl-C"; None if it was not.
        has_baseline: What runs are compared with is known; before that the seconds end nothing.
        is_out_of_time: The seconds were over before the last run.
        longest: The longest sleep in real time, and what its run had, such as a fault; None if there was none.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.runs = 0
        self.ended: str | None = None
        self.has_baseline = self.is_out_of_time = False
        self.longest: tuple[Sleep, str] | None = None
        self._seconds = seconds
        self._began = real_time.seconds()
        self._end: float | None = None

    @property
    def seconds(self) -> float:
        """Real seconds from its making to its end."""
        return (self._end or real_time.seconds()) - self._began

    def progress(self, done: str, found: int) -> str:
        """Return how far it is, such as `12 runs, 2 findings, 9 s`."""
        return f"{done}, {counted(found, 'finding')}, {self.seconds:.0f} s"

    def note_sleep(self, sleep: Sleep | None, of_run: str = "") -> None:
        """Keep a sleep of a run if it is the longest one."""
        if sleep is not None and (self.longest is None or sleep.seconds > self.longest[0].seconds):
            self.longest = sleep, of_run

    def run(
        self,
        plans: Plans[Plan, Outcome],
        subject: Callable[[Plan], AbstractContextManager[Outcome]],
        show: Callable[[], object] = lambda: None,
    ) -> None:
        """
        Run all plans; a signal that ends a program stops them as Ctrl-C does.

        Args:
            plans: The strategy.
            subject: Runs by a plan in a fresh sandbox, which is open in the block of the outcome.
            show: Called before each run, to show how far it is.

        Raises:
            KeyboardInterrupt: It was stopped. What was found before can be reported.
        """
        try:
            self._run(plans, subject, show)
        except KeyboardInterrupt:
            self.ended = BY_CTRL_C
            raise
        finally:
            self._end = real_time.seconds()

    def _run(
        self,
        plans: Plans[Plan, Outcome],
        subject: Callable[[Plan], AbstractContextManager[Outcome]],
        show: Callable[[], object],
    ) -> None:
        plan = next(plans, None)
        with _stopped_by_signals():
            while plan is not None:
                if self.has_baseline and self._seconds is not None and self.seconds >= self._seconds:
                    self.is_out_of_time = True
                    return
                show()
                with subject(plan) as outcome:
                    self.runs += 1
                    plan = _following(plans, outcome)


def _following(plans: Plans[Plan, Outcome], outcome: Outcome) -> Plan | None:
    try:
        return plans.send(outcome)
    except StopIteration:
        return None


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let the signals of other programs stop the block as Ctrl-C does; in another thread than the main one they cannot."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with ExitStack() as stack:
        for number in (getattr(signal, name) for name in _ENDS if hasattr(signal, name)):
            if signal.getsignal(number) is signal.SIG_DFL:
                stack.callback(signal.signal, number, signal.signal(number, signal.default_int_handler))
        yield


def options_of_runs(what: str, kind: type[Options], given: Mapping[str, Any], own: Iterable[str]) -> Options:
    """Return the options of a call of `what`, whose other arguments are `own`; TypeError for an unknown name."""
    check_names(what, given, (*own, *(field.name for field in fields(kind))))
    return kind(**given)


def settings_of_runs(what: str, settings: Mapping[str, Any] | None, now: datetime | str) -> dict[str, Any]:
    """Return the settings of each run, which begins at `now` unless they name another instant; TypeError for what is no mapping."""
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"{what}: got settings={settings!r}; expected arguments of `sandbox` by their names")
    return {"now": now, **(settings or {})}


@contextmanager
def muted_logs() -> Iterator[None]:
    """Keep the log lines of clients from the terminal: in each run they would be the same."""
    root = logging.getLogger()
    streams = (sys.stderr, sys.stdout)
    muted = [each for each in root.handlers if getattr(each, "stream", None) in streams]
    former, logging.lastResort = logging.lastResort, None
    for handler in muted:
        root.removeHandler(handler)
    try:
        yield
    finally:
        logging.lastResort = former
        for handler in muted:
            root.addHandler(handler)


class ControlledRun:
    """
    A run in a fresh sandbox: it ends at its bounds, and what it shares with other code of the process is as in every other run.

    Lifetime: from its making, before the subject's own code runs, until `stop`.

    Args:
        sandbox: A fresh one of this process.
        bounds: Those of the run.
        in_process: The client runs in this process, where its random numbers and its sleeps are known.
        time_zone: The time zone of this process during the run; None for that of the machine.

    Attributes:
        sandbox: That of the run.
        watch: What the run takes, and why it was ended.
        in_process: Its random numbers and sleeps; None for a client in another process.
    """

    def __init__(
        self, sandbox: Sandbox, bounds: Bounds, *, in_process: bool = True, time_zone: str | None = None
    ) -> None:
        sandbox.is_repeated = True
        self.sandbox = sandbox
        self.watch = Watch(self.hosted, bounds)
        self.in_process = RunInProcess(sandbox) if in_process else None
        if self.in_process is not None:
            self.in_process.start(time_zone)

    @property
    def hosted(self) -> HostedSandbox:
        """The sandbox on its host."""
        return self.sandbox.local(NEED)

    @property
    def longest_sleep(self) -> Sleep | None:
        """Its longest sleep in real time; None if there was none worth a word, or if nothing records them."""
        return None if self.in_process is None else self.in_process.longest()

    def stop(self) -> None:
        """Count and record no more, and restore what the process shares; a second call does nothing."""
        self.watch.stop()
        if self.in_process is not None:
            self.in_process.stop()
