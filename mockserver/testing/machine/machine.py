"""
The state machine to subclass, whose examples share a sandbox.

A subclass adds rules that call its client; the machine adds time, the end user, the operator and faults. At the end of
each example it judges the client's conduct.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, ClassVar

from hypothesis import settings
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
from mockserver.contract.text import closest_match_hint
from mockserver.judge.client.rules import RULES
from mockserver.testing import sweep
from mockserver.testing.conduct import format_findings
from mockserver.testing.machine.faults import ON_CALLS, drawn
from mockserver.testing.report.failures import SelfExplainingError
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer
from mockserver.testing.strategies import GIVEN, durations

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


class ConductError(SelfExplainingError):
    """The client of an example broke rules of conduct, or waits without end."""


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
        waits_at_most: Waits of the client per step; one more counts as a wait without end.
        conduct: Ids of the rules of conduct that the client must keep; by default none.
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
    waits_at_most: ClassVar[int] = 50
    conduct: ClassVar[Sequence[str]] = ()

    _faults: ClassVar[st.SearchStrategy[JSON] | None] = drawn(ON_CALLS)
    _cases: ClassVar[Sequence[sweep.Case]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_rules(cls.conduct)
        cls._faults = drawn(cls.faults, cls.fault_operations)
        cls._cases = [case for case in sweep.cases(cls.varied) if case.option != CHOICES[case.choice].default]

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        super().__init__()
        self._stack = ExitStack()
        if sandbox is None:
            server = self._stack.enter_context(closing(MockServer()))
            sandbox = self._stack.enter_context(self._prepared(server))
        self._stack.enter_context(sandbox.checkpoint())
        self.sandbox: Sandbox = sandbox
        self._calls_before = sandbox.log.call_count
        self._waits = 0
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
            settings: Settings of Hypothesis.

        Raises:
            ConductError: The client breaks a rule of `conduct`.
        """
        with ExitStack() as stack:
            if server is None:
                server = stack.enter_context(closing(MockServer()))
            sandbox = stack.enter_context(cls._prepared(server))
            create: Any = lambda: cls(sandbox)  # Hypothesis documents a factory, its types name a class
            run_state_machine_as_test(create, settings=settings or cls.TestCase.settings)

    @classmethod
    def _prepared(cls, server: MockServer) -> Sandbox:
        """Return the sandbox in whose state every example begins."""
        sandbox = server.sandbox(given=cls.given, choices=cls.choices, seed=cls.seed, now=cls.now)
        sandbox.is_repeated = True
        cls.prepare(sandbox)
        return sandbox

    def sleep(self, seconds: float) -> None:
        """
        Advance the sandbox's clock. The client under test waits by this function instead of `time.sleep`.

        Args:
            seconds: The wait, in seconds.

        Raises:
            ConductError: The client waits more than `waits_at_most` times in one step.
            ValueError: The wait is not a number, or negative.
        """
        self._waits += 1
        if self._waits > self.waits_at_most:
            raise ConductError(f"the client waited {self.waits_at_most} times in one step, and continues to wait")
        self.sandbox.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """
        Advance the sandbox's clock. A client under test that awaits its waits uses this function instead of `asyncio.sleep`.

        Args:
            seconds: The wait, in seconds.

        Raises:
            ConductError: The client waits more than `waits_at_most` times in one step.
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
        if not self._cases or self.sandbox.log.call_count > self._calls_before:
            return st.just({})
        cases = st.lists(st.sampled_from(self._cases), max_size=3, unique_by=lambda case: case.choice)
        return cases.map(lambda chosen: {case.choice: case.option for case in chosen})

    @precondition(lambda self: self.time)
    @rule(seconds=durations(at_most=3600))
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
        sessions = [row for tenant in self.sandbox.state()["tenants"] for row in tenant["sessions"]]
        return [row["id"] for row in sessions if row["status"] == "pending"]

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

    # The end of a step, and of an example

    @precondition(lambda self: self._is_step_begun())
    @invariant()
    def a_step_ends(self) -> None:
        """Do nothing: Hypothesis asks the precondition after each step, and a false one keeps it out of the output."""

    def _is_step_begun(self) -> bool:
        self._waits = 0
        return False

    def teardown(self) -> None:
        """Judge the client's conduct unless the example has failed, and restore the sandbox."""
        raised = sys.exc_info()
        if raised[0] is not None:
            self._stack.__exit__(*raised)
            return
        with self._stack:
            broken = [finding for finding in self.sandbox.conduct if finding.rule in self.conduct]
            if broken:
                raise ConductError(format_findings(broken))


def _check_rules(ids: Iterable[str]) -> None:
    """Raise ValueError for an id of no rule that the calls of one run show; TypeError for a text in place of a tuple."""
    if isinstance(ids, str):
        raise TypeError(f"conduct: got the text {ids!r}; expected a tuple of ids, such as ({ids!r},)")
    known = [rule.id for rule in RULES.values() if rule.judge is not None]
    for id in ids:
        if id not in known:
            hint = closest_match_hint(id, known) or f": {', '.join(known)}"
            raise ValueError(f"got {id!r}; expected a rule of conduct that one run shows{hint}")
