"""
The state machine to subclass, and the sandbox that its examples share.

A subclass adds rules that call its client; the machine adds time, the end user, the operator and faults.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.filters import PLATFORMS
from mockserver.testing import sweep
from mockserver.testing.machine import invariants
from mockserver.testing.machine.example_log import ExampleLog
from mockserver.testing.machine.faults import ON_CALLS, drawn
from mockserver.testing.machine.invariants import ENDLESS, Invariant, Violation
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.strategies import GIVEN, durations

_NEED = "a state machine"  # needs the sandbox in this process


class SharedSandbox:
    """
    A sandbox that all examples of a machine use, one after another.

    An example begins with the state that `prepare` left, which the end of the example restores.

    Lifetime: The caller closes it. Without a given server it starts and stops one of its own.
    """

    def __init__(self, server: MockServer | None, **settings: Any) -> None:
        self._own = MockServer() if server is None else None
        self.sandbox: Sandbox = (server or self._own or MockServer()).sandbox(**settings)
        try:
            self.sandbox.local(_NEED)
        except ValueError:
            self.close()
            raise
        self.sandbox.is_rolled_back = self.sandbox.is_repeated = True

    @contextmanager
    def example(self) -> Iterator[Sandbox]:
        """Lend the sandbox in its prepared state."""
        with self.sandbox.checkpoint():
            yield self.sandbox

    def close(self) -> None:
        """Close the sandbox, and its own server."""
        self.sandbox.close()
        if self._own is not None:
            self._own.close()


_FAULTS_AT_FIRST = 3
_PHONES = ("+5511900000001", "+5511900000002")
_ENDS: Sequence[JSON] = (
    {"complete-session": {}},
    {"cancel-session": {}},
    {"expire-session": {}},
    {"fail-session": {"reason": "token_exchange_failed"}},
    {"fail-session": {"reason": "phone_in_use"}},
    {"fail-session": {"reason": "funnel_not_found"}},
    *({"complete-session": {"phone": phone}} for phone in _PHONES),
)
_STATUSES = ("APPROVED", "PAUSED", "REJECTED")


def _operator_acts(given: Mapping[str, Any]) -> st.SearchStrategy[JSON]:
    """Return the effects of an operator at the dashboard."""
    acts: list[st.SearchStrategy[JSON]] = [
        st.sampled_from(PLATFORMS).map(lambda platform: {"given": {"chats": [{"platform": platform}]}}),
        st.sampled_from(["active", "suspended"]).map(lambda state: {"set-tenant": {"subscription": state}}),
        st.booleans().map(lambda enabled: {"set-tenant": {"developersEnabled": enabled}}),
    ]
    template_ids = [template["id"] for template in given.get("templates", ()) if "id" in template]
    if template_ids:
        change = st.tuples(st.sampled_from(template_ids), st.sampled_from(_STATUSES))
        acts.append(change.map(lambda pair: {"set-template": {"id": pair[0], "status": pair[1]}}))
    return st.one_of(acts)


def _without_explain(chosen: settings) -> settings:
    if set(chosen.phases) != set(Phase):
        return chosen
    return settings(chosen, phases=[phase for phase in Phase if phase is not Phase.explain])


class GatewayMachine(RuleBasedStateMachine):
    """
    State machine around a client of the gateway: subclass it, override `make_client`, and add a rule per client function.

    Attributes:
        given: Seed data, as in a scenario document.
        choices: Options of open questions, by choice.
        varied: Choices, or families of them, of which each example may take other options.
        seed: Seed of the sandbox's ids and keys.
        now: Instant at which the sandbox's clock is frozen when an example begins, ISO 8601.
        time: Whether the machine advances the clock between the steps of the client.
        end_user: Whether pending connection sessions are completed, canceled, failed or expired, as by the person with their link.
        operator: Whether the operator changes the tenant, its templates and its chats.
        faults: Names of `FAULTS` that the machine may inject.
        fault_operations: Operations at which it may inject them; None for all that a fault names.
        longest_span: Longest advance of the clock, in seconds.
        waits_at_most: Waits of the client per step; one more violates `no-endless-wait`.
        invariants: Names of `INVARIANTS` that the client must not violate.
        client: The client under test, from `make_client`.
        sandbox: The sandbox that the client calls.
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

    if TYPE_CHECKING:
        invariants: Any  # names, removed when the class is created: Hypothesis has a method of this name

    _named_invariants: ClassVar[tuple[Invariant, ...]] = ()
    _faults: ClassVar[st.SearchStrategy[JSON] | None] = drawn(ON_CALLS)
    _cases: ClassVar[Sequence[sweep.Case]] = ()
    _spans: ClassVar[st.SearchStrategy[Any]] = durations(at_most=3600)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "invariants" in cls.__dict__:
            cls._named_invariants = invariants.named(cls.__dict__["invariants"])
            del cls.invariants
        cls._faults = drawn(cls.faults, cls.fault_operations)
        cls._cases = [case for case in sweep.cases(cls.varied) if case.option != CHOICES[case.choice].default]
        cls._spans = durations(at_most=cls.longest_span)

    def __init__(self, shared: SharedSandbox | None = None) -> None:
        super().__init__()
        self._own_shared = None if shared is not None else self._share(None)
        self._shared: SharedSandbox = shared or self._own_shared or self._share(None)
        self._stack = ExitStack()
        self.sandbox: Sandbox = self._stack.enter_context(self._shared.example())
        self._log = ExampleLog(self.sandbox.local(_NEED))
        self._waits = 0
        self._violation: Violation | None = None
        self.client: Any = self.make_client()

    # For subclasses to override

    def make_client(self) -> Any:
        """
        Return the client under test, which becomes `self.client`.

        The client calls `self.sandbox` and waits by `self.sleep`.
        """
        return None

    @classmethod
    def prepare(cls, sandbox: Sandbox) -> None:
        """Prepare the state in which every example begins; the machine calls it once."""

    # Running

    @classmethod
    def check(cls, server: MockServer | None = None, *, settings: settings | None = None) -> None:
        """
        Run the machine as a test. All examples use one sandbox, each from its prepared state.

        Args:
            server: The server that creates the sandbox; by default the machine starts and stops one.
            settings: Settings of Hypothesis. If they have all phases, the run leaves out `explain`: tracing each line
                of the client would take most of a failing run and add nothing to the steps and the message.

        Raises:
            InvariantError: The client violates an invariant.
        """
        shared = cls._share(server)
        try:
            create: Any = lambda: cls(shared)  # Hypothesis documents a factory, its types name a class
            run_state_machine_as_test(create, settings=_without_explain(settings or cls.TestCase.settings))
        finally:
            shared.close()

    @classmethod
    def _share(cls, server: MockServer | None) -> SharedSandbox:
        shared = SharedSandbox(server, given=cls.given, choices=cls.choices, seed=cls.seed, now=cls.now)
        cls.prepare(shared.sandbox)
        return shared

    def sleep(self, seconds: float) -> None:
        """
        Advance the sandbox's clock. The client under test waits by this function instead of `time.sleep`.

        Args:
            seconds: The wait, in seconds.

        Raises:
            InvariantError: The client waits more than `waits_at_most` times in one step.
            ValueError: The wait is not a number, or negative.
        """
        self._waits += 1
        if self._waits > self.waits_at_most:
            endless = Violation(
                ENDLESS, f"the client waited {self.waits_at_most} times in one step, and continues to wait"
            )
            raise invariants.error(invariants.first_violation(self._named_invariants, self._log) or endless, self._log)
        self.sandbox.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """
        Advance the sandbox's clock. A client under test that awaits its waits uses this function instead of `asyncio.sleep`.

        Args:
            seconds: The wait, in seconds.

        Raises:
            InvariantError: The client waits more than `waits_at_most` times in one step.
            ValueError: The wait is not a number, or negative.
        """
        await self.sandbox.aio.run(self.sleep, seconds)

    # Time and faults

    @initialize(
        options=st.runner().flatmap(lambda self: self._drawn_options()),
        faults=st.runner().flatmap(
            lambda self: st.just([]) if self._faults is None else st.lists(self._faults, max_size=_FAULTS_AT_FIRST)
        ),
    )
    def begin(self, options: Mapping[str, str], faults: Sequence[JSON]) -> None:
        """Choose other options of open questions, and inject faults into later calls."""
        if options:
            self.sandbox.choose(options)
        for fault in faults:
            self.inject_fault(fault)

    def _drawn_options(self) -> st.SearchStrategy[Mapping[str, str]]:
        if not self._cases or not self._log.is_untouched:
            return st.just({})
        cases = st.lists(st.sampled_from(self._cases), max_size=3, unique_by=lambda case: case.choice)
        return cases.map(lambda chosen: {case.choice: case.option for case in chosen})

    @precondition(lambda self: self.time)
    @rule(seconds=st.runner().flatmap(lambda self: self._spans))
    def time_passes(self, seconds: float) -> None:
        """Advance the clock while the client makes no call."""
        self.sandbox.advance(seconds)

    @precondition(lambda self: self._faults is not None)
    @rule(fault=st.runner().flatmap(lambda self: self._faults))
    def inject_fault(self, fault: JSON) -> None:
        """Inject a fault, as a rule of a scenario's script."""
        self.sandbox.apply({"script": [fault]})

    # The other actors, whose actions are effects of scenario documents: the end user, and the operator of the tenant

    @property
    def _pending(self) -> list[str]:
        sessions = self.sandbox.local(_NEED).sandbox.records("session")
        return [session.id for _, session in sessions if session.status == "pending"]

    @precondition(lambda self: self.end_user and self._pending)
    @rule(session_id=st.runner().flatmap(lambda self: st.sampled_from(self._pending)), end=st.sampled_from(_ENDS))
    def end_user_acts(self, session_id: str, end: JSON) -> None:
        """Complete, cancel, expire or fail a pending session, as its end user."""
        ((effect, details),) = end.items()
        self.apply_effects({effect: {"id": session_id, **details}})

    @precondition(lambda self: self.operator)
    @rule(act=st.runner().flatmap(lambda self: _operator_acts(self.given)))
    def operator_acts(self, act: JSON) -> None:
        """Change the tenant or a template, or add a chat, as the operator."""
        self.apply_effects(act)

    def apply_effects(self, effects: Mapping[str, Any]) -> None:
        """
        Apply effects of scenario documents now.

        Raises:
            ValueError: An effect has no target.
        """
        (rule_id,) = self.sandbox.apply({"script": [{"at": 0, "do": dict(effects)}]})["rules"]
        self.sandbox.advance(0)
        no_target = next(rule.get("noTarget") for rule in self.sandbox.rules if rule["id"] == rule_id)
        self.sandbox.admin.remove_rules(rule_id)
        if no_target:
            raise ValueError(f"{dict(effects)} has no target: {no_target}")

    # Judging

    @precondition(lambda self: self._is_broken())
    @invariant()
    def client_keeps_its_invariants(self) -> None:
        """Raise the violation; the precondition keeps this step out of the output until there is one."""
        if self._violation is not None:
            raise invariants.error(self._violation, self._log)

    def _is_broken(self) -> bool:
        self._violation = invariants.first_violation(self._named_invariants, self._log)
        self._log.begin_step()
        self._waits = 0
        return self._violation is not None

    def teardown(self) -> None:
        """Restore the sandbox; the report of a failing example is that of its calls."""
        try:
            self._stack.__exit__(*sys.exc_info())
        finally:
            if self._own_shared is not None:
                self._own_shared.close()
