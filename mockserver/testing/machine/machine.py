"""
The state machine to subclass, and the sandbox that its examples share.

The ground that the examples of a machine stand on: one sandbox, made once, and taken back after each of them.

The machine to subclass: your rules call your client; time, the end user, the operator and faults come with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import Phase, note, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mockserver.contract.choices import CHOICES
from mockserver.scenario import documents
from mockserver.testing import sweep
from mockserver.testing.machine import invariants, recording
from mockserver.testing.machine.actors import Actors
from mockserver.testing.machine.example_log import ExampleLog
from mockserver.testing.machine.faults import ON_CALLS, drawn
from mockserver.testing.machine.invariants import ENDLESS, Invariant, Violation
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.strategies import GIVEN, durations

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox


class SharedSandbox:
    """
    A sandbox and, where none was given, the server that it lives on. Closed by whoever made it.

    An example begins where `prepare` left the sandbox; what it does never happened once it is over.
    """

    def __init__(self, server: MockServer | None, **settings: Any) -> None:
        self._own = MockServer() if server is None else None
        self.sandbox: Sandbox = (server or self._own or MockServer()).sandbox(**settings)
        self.sandbox.taken_back = True
        self.settings: Mapping[str, Any] = settings

    @contextmanager
    def example(self) -> Iterator[Sandbox]:
        """The sandbox as it was prepared."""
        with self.sandbox.checkpoint():
            yield self.sandbox

    def close(self) -> None:
        """End the sandbox, and the server where it is its own."""
        self.sandbox.close()
        if self._own is not None:
            self._own.close()


JSON = dict[str, Any]

_FAULTS_AT_FIRST = 3


def _unexplained(chosen: settings) -> settings:
    if set(chosen.phases) != set(Phase):
        return chosen
    return settings(chosen, phases=[each for each in Phase if each is not Phase.explain])


class GatewayMachine(Actors, RuleBasedStateMachine):
    """
    A state machine around a client of the gateway. Subclass it, say how the client is made, and add a rule for each of its calls.

    `given`, `choices`, `seed` and `now` are the world; `varied` names choices, or families of them, of which each example
    may take other options. `time`, `end_user` and `operator` switch those actors off, `faults` says what may go wrong and
    `fault_operations` where. `invariants` are names of `INVARIANTS`. A client waits with `self.sleep`.
    """

    given: ClassVar[Mapping[str, Any]] = GIVEN
    choices: ClassVar[Mapping[str, object]] = {}
    varied: ClassVar[Sequence[str]] = ()
    seed: ClassVar[int] = 0
    now: ClassVar[str] = "2026-03-01T12:00:00Z"
    time: ClassVar[bool] = True
    end_user: ClassVar[bool] = True
    operator: ClassVar[bool] = True
    faults: ClassVar[Sequence[str]] = ON_CALLS
    fault_operations: ClassVar[Sequence[str] | None] = None
    longest_span: ClassVar[float] = 3600
    waits_at_most: ClassVar[int] = 50
    failures: ClassVar[str | None] = ".mockserver/failures"

    if TYPE_CHECKING:
        invariants: (
            Any  # names, until the class is made; Hypothesis has its own use of the word, and its kind of attribute
        )

    _promises: ClassVar[tuple[Invariant, ...]] = ()
    _faults: ClassVar[st.SearchStrategy[JSON] | None] = drawn(ON_CALLS)
    _cases: ClassVar[Sequence[sweep.Case]] = ()
    _spans: ClassVar[st.SearchStrategy[Any]] = durations(at_most=3600)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "invariants" in cls.__dict__:
            cls._promises = invariants.named(cls.__dict__["invariants"])
            del cls.invariants
        cls._faults = drawn(cls.faults, cls.fault_operations)
        cls._cases = [case for case in sweep.cases(cls.varied) if case.option != CHOICES[case.choice].default]
        cls._spans = durations(at_most=cls.longest_span)

    def __init__(self, ground: SharedSandbox | None = None) -> None:
        super().__init__()
        self._own_ground = None if ground is not None else self._make_ground(None)
        self._ground: SharedSandbox = ground or self._own_ground or self._make_ground(None)
        self._stack = ExitStack()
        self.sandbox: Sandbox = self._stack.enter_context(self._ground.example())
        self._story = ExampleLog(self.sandbox._hosted.sandbox)
        self._record = recording.Record(self.sandbox)
        self._chosen: JSON = {}
        self._waits = 0
        self._breach: Violation | None = None
        self.client: Any = self.make_client()

    # What a subclass says

    def make_client(self) -> Any:
        """The client under test, which becomes `self.client`; it reaches `self.sandbox` and waits with `self.sleep`."""
        return None

    @classmethod
    def prepare(cls, sandbox: Sandbox) -> None:
        """What every example begins with, done once."""

    # What it runs with

    @classmethod
    def check(cls, server: MockServer | None = None, *, settings: settings | None = None) -> None:
        """
        Run it as a test, on one sandbox of this server that each example finds as it was prepared.

        Settings with all of Hypothesis's phases run without `explain`: tracing each line of the client many times over
        takes most of a failing run, and has nothing to add to the steps and the invariant's own words.
        """
        ground = cls._make_ground(server)
        try:
            made: Any = lambda: cls(ground)  # a factory, as Hypothesis documents and its types do not
            run_state_machine_as_test(made, settings=_unexplained(settings or cls.TestCase.settings))
        finally:
            ground.close()

    @classmethod
    def _make_ground(cls, server: MockServer | None) -> SharedSandbox:
        ground = SharedSandbox(server, given=cls.given, choices=cls.choices, seed=cls.seed, now=cls.now)
        cls.prepare(ground.sandbox)
        return ground

    def sleep(self, seconds: float) -> None:
        """What the client waits with: the sandbox's clock moves. Waiting without end is a breach."""
        self._waits += 1
        if self._waits > self.waits_at_most:
            waited = f"the client has waited {self.waits_at_most} times in one step, and goes on"
            raise invariants.error(
                invariants.breach(self._promises, self._story) or Violation(ENDLESS, waited), self._story
            )
        self.sandbox.advance(seconds)

    def as_scenario(self, name: str = "found", summary: str = "What the machine did.") -> JSON:
        """The world's side of the example so far, as a document; with the client's same calls it happens again."""
        own = {**self.choices, **self._chosen}
        world = {"seed": self.seed, "clock": {"freeze": self.now}, "choices": own, "given": self.given}
        return recording.document(self.sandbox._hosted.sandbox, name, summary, world, self._record.script())

    # What comes with it: the service's side, time and faults; the people stand in Actors

    @initialize(
        options=st.runner().flatmap(lambda self: self._drawn_options()),
        faults=st.runner().flatmap(lambda self: self._drawn_faults()),
    )
    def begin(self, options: Mapping[str, str], faults: Sequence[JSON]) -> None:
        """The service answers as the document also allows, and some calls to come are bound to fail."""
        if options:
            self._chosen = dict(options)
            self.sandbox.choose(self._chosen)
        for fault in faults:
            self.inject_fault(fault)

    def _drawn_options(self) -> st.SearchStrategy[Mapping[str, str]]:
        if not self._cases or not self._story.is_untouched:
            return st.just({})
        cases = st.lists(st.sampled_from(self._cases), max_size=3, unique_by=lambda case: case.choice)
        return cases.map(lambda chosen: {case.choice: case.option for case in chosen})

    def _drawn_faults(self) -> st.SearchStrategy[Sequence[JSON]]:
        return st.just([]) if self._faults is None else st.lists(self._faults, max_size=_FAULTS_AT_FIRST)

    @precondition(lambda self: self.time)
    @rule(seconds=st.runner().flatmap(lambda self: self._spans))
    def time_passes(self, seconds: float) -> None:
        """Nobody calls for so long."""
        self._record.add_effects({"advance": seconds})
        self.sandbox.advance(seconds)

    @precondition(lambda self: self._faults is not None)
    @rule(fault=st.runner().flatmap(lambda self: self._faults))
    def inject_fault(self, fault: JSON) -> None:
        """A rule of a script is put in force."""
        self._record.add_rule(fault)
        self.sandbox.apply({"script": [fault]})

    # What it judges

    @precondition(lambda self: self._is_broken())
    @invariant()
    def client_keeps_its_invariants(self) -> None:
        """Printed only where one is broken."""
        if self._breach is not None:
            raise invariants.error(self._breach, self._story)

    def _is_broken(self) -> bool:
        self._breach = invariants.breach(self._promises, self._story)
        self._story.begin_step()
        self._waits = 0
        return self._breach is not None

    def teardown(self) -> None:
        """Tell how to see a failure again, and give the sandbox back."""
        failure = sys.exc_info()[1]
        try:
            if isinstance(failure, Exception) and not isinstance(failure, HypothesisException):
                self._tell(failure)
        finally:
            self._stack.close()
            if self._own_ground is not None:
                self._own_ground.close()

    def _tell(self, failure: Exception) -> None:
        kind = type(failure).__name__
        summary = str(failure).partition("\n")[0][:200] or kind
        name = f"{type(self).__name__}-{kind}"
        written = documents.dump(self.as_scenario(name, summary))
        told = f"The scenario that replays it:\n{written}"
        if self.failures is not None:
            told += f"It is kept in {recording.write(self.failures, name, written)}"
        note(told)
