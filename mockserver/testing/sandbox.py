"""
The Python interface of one sandbox.

Putting rules in force, listing and ending them.

What reports and waits want to know of a sandbox: what was done to it, what is under way, what is due.

The Python face of one sandbox: what a test holds in its hands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, Self

from mockserver.contract.durations import parse_duration
from mockserver.contract.endpoints import Operation
from mockserver.core.instants import SECOND, format_exact, from_datetime, parse, to_datetime, to_microseconds
from mockserver.server.control import reports, sandboxes, scenarios
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox
from mockserver.server.webhooks.event_loops import LoopBlocked
from mockserver.testing import backend
from mockserver.testing.async_forms import Asynchronous, awaitable
from mockserver.testing.backend import JSON, Calling, Holding, Moves
from mockserver.testing.call_log import Asking
from mockserver.testing.conduct import Conducting, Ledger
from mockserver.testing.end_user import EndUser, link_of
from mockserver.testing.receivers import Webhooks
from mockserver.testing.rules.builder import ActiveRule, RuleBuilder
from mockserver.testing.rules.effects import Length, length
from mockserver.testing.settings import Settings, did_you_mean


class Rules(Holding):
    """A sandbox's script."""

    def on(self, operation: Operation | Literal["*", "delivery"] | str) -> RuleBuilder:
        """A rule for calls of this operation (an id, `METHOD /path`, or `*`), or for attempts to deliver an event."""
        return RuleBuilder(self._put_in_force, {"on": operation})

    def at(self, after: Length) -> RuleBuilder:
        """A rule for an instant, so long from now on the sandbox's clock."""
        return RuleBuilder(self._put_in_force, {"at": length(after)})

    def after(self, *, sent: int) -> RuleBuilder:
        """A rule for each execution, when it has sent so many."""
        return RuleBuilder(self._put_in_force, {"after": {"sent": sent}})

    def _put_in_force(self, entry: JSON) -> ActiveRule:
        (rule_id,) = self._command(scenarios.apply_scenario, script=[entry])["rules"]
        return ActiveRule(rule_id, lambda: self.rules, self.remove_rules)

    @property
    def rules(self) -> list[JSON]:
        """The rules in force, in order, with how often each matched and fired."""
        found: list[JSON] = self._command(scenarios.list_rules)["rules"]
        return found

    def remove_rules(self, rule_id: str | None = None) -> None:
        """End a rule, or all."""
        self._command(scenarios.remove_rules, **({} if rule_id is None else {"id": rule_id}))


class Looking(Asking):
    """A sandbox as it can be looked at; all of it comes from the control plane's commands."""

    @property
    def address(self) -> str | None:
        """The base url where somebody has asked for it; None where there is no socket yet."""
        hosted = self._hosted
        has_socket = hosted.own_origin is not None or hosted.host.origin != IN_PROCESS_ORIGIN
        return hosted.base_url if has_socket else None

    @property
    def call_count(self) -> int:
        """How many calls of the API there have been."""
        return self._hosted.sandbox.journal.last_exchange

    @property
    def retold(self) -> JSON:
        """`GET /_mock/steps`: what was done beside the API, the calls that wait, and what is due; keys redacted."""
        return self._command(reports.read_steps)

    @property
    def steps(self) -> list[JSON]:
        """What was done to the sandbox beside its API so far, oldest first."""
        found: list[JSON] = self.retold["steps"]
        return found

    def replay_document(self, name: str = "replay") -> JSON:
        """The scenario document that repeats what has happened so far."""
        return self._command(reports.read_replay, name=name)

    @property
    def next_due(self) -> datetime | None:
        """When the next scheduled thing will happen, or None where nothing is scheduled."""
        due = self.retold["due"]
        return None if due is None else instant(due["at"])

    def _wait_until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        return backend.wait_for_change(self._hosted, holds, timeout_s)

    def _pass_until(self, holds: Callable[[], bool], within: str | float) -> bool:
        length = parse_duration(within)
        if length is None:
            raise ValueError(f"within came as {within!r}; wanted 20m, 1h30m, 3500ms, PT20M or seconds")
        now = instant(self._command(sandboxes.read_clock)["now"])
        limit = to_datetime(from_datetime(now) + length)
        while not holds():
            now = instant(self._command(sandboxes.read_clock)["now"])
            if now >= limit:
                return False
            due = self.next_due
            until = limit if due is None else max(now, min(due, limit))
            self._command(sandboxes.advance, to=format_exact(from_datetime(until)))
        return True


def instant(written: str) -> datetime:
    """The instant that a view of the control plane shows."""
    read = parse(written)
    assert read is not None
    return to_datetime(read[0])


_UNITS = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")


def _whole(document: Mapping[str, Any] | str | None, parts: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """The document to apply: a whole one, or the parts of one."""
    if document is not None and parts:
        raise ValueError(f"got a document and {', '.join(parts)}; expected a document, or its parts by keyword")
    if document is None and not parts:
        raise ValueError(
            "got nothing to apply; expected a document, the name of a scenario, or given=, choices=, clock=, script="
        )
    return parts if document is None else document


class Opener(Protocol):
    """What opens the server's socket when an address is first needed."""

    @property
    def url(self) -> str:
        """Its address."""

    def open(self) -> None:
        """Open it, unless it is open."""


class Sandbox(Asynchronous, Calling, Moves, Rules, Webhooks, Looking, Conducting):
    """
    One isolated universe: a clock, tenants, choices, a journal. This type has no public constructor.

    Made by `MockServer.sandbox` or the `mockserver` fixture, and closed by whoever made it; after that its address
    answers 410.
    """

    taken_back = False  # True where each example begins anew, so that nothing of one is left here after it

    def __init__(self, server: Opener, hosted: HostedSandbox) -> None:
        super().__init__(hosted)
        self._server = server
        self.settings = Settings({}, {})

    @property
    def id(self) -> str:
        """The sandbox's id."""
        return self._hosted.id

    @property
    def base_url(self) -> str:
        """The address of this sandbox: of its own port, or on the server's socket, opened when it is first asked for."""
        if self._hosted.own_origin is None:
            self._server.open()
        return self._hosted.base_url

    @property
    def tenant_id(self) -> str:
        """The default tenant's id."""
        return self._hosted.tenant.id

    @property
    def secret_key(self) -> str:
        """The default tenant's secret key, whole."""
        return self._hosted.tenant.secret_key

    @property
    def public_key(self) -> str:
        """The default tenant's public key, whole."""
        return self._hosted.tenant.public_key

    @property
    def now(self) -> datetime:
        """The sandbox's own time, aware, in UTC."""
        return to_datetime(self._hosted.sandbox.read_clock())

    @property
    def journal(self) -> JSON:
        """Exchanges and transitions so far, oldest first, keys redacted."""
        return self._command(sandboxes.read_journal)

    @property
    def events(self) -> list[JSON]:
        """The events so far, oldest first."""
        found: list[JSON] = self._command(sandboxes.read_events)["events"]
        return found

    @property
    def ledger(self) -> Ledger:
        """What the calls so far have caused: executions, sends, duplicates, clones, what was left behind."""
        return Ledger(self._command(reports.read_ledger))

    def keys(self, tenant_id: str) -> tuple[str, str]:
        """The secret and the public key of one of the sandbox's tenants."""
        tenant = self._hosted.sandbox.tenants.get(tenant_id)
        if tenant is None:
            raise ValueError(f"no tenant {tenant_id!r}; there is {', '.join(self._hosted.sandbox.tenants)}")
        return tenant.secret_key, tenant.public_key

    def apply(
        self,
        document: Mapping[str, Any] | str | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        choices: Mapping[str, object] | None = None,
        clock: Mapping[str, Any] | None = None,
        script: Sequence[Mapping[str, Any]] | None = None,
    ) -> JSON:
        """
        Apply a scenario document, the library's of this name, or the parts that are given by keyword.

        Refuses with ScenarioError, and then nothing was applied.
        """
        parts = {"given": given, "choices": choices, "clock": clock, "script": script}
        return self._apply(_whole(document, {key: part for key, part in parts.items() if part is not None}))

    def _apply(self, document: Mapping[str, Any] | str) -> JSON:
        from mockserver.scenario import apply

        if isinstance(document, str):
            return self._command(scenarios.apply_scenario, name=document)

        def put(hosted: HostedSandbox, document: Mapping[str, Any]) -> JSON:
            return apply.apply(hosted.sandbox, document).as_json()

        try:
            applied: JSON = self._hosted.run_command(put, document, "apply_scenario")
        except LoopBlocked as refusal:
            raise ValueError(refusal.message) from None
        return applied

    def choose(self, choices: Mapping[str, object]) -> None:
        """Set choices by id; one that is wrong leaves all as they were."""
        self._command(sandboxes.choose, **{str(key): value for key, value in choices.items()})

    def watch_choices(self, read: set[str]) -> None:
        """Let this set grow by each choice that is read from now on, also after a reset."""
        self._hosted.watch_choices(read)

    def advance(
        self,
        /,
        by: str | float | timedelta | None = None,
        *,
        to: str | datetime | None = None,
        until: Literal["idle"] | None = None,
        **length: float,
    ) -> list[JSON]:
        """Let time pass: `"20m"`, seconds, a timedelta or `minutes=20`; `to` an instant; `until="idle"`. Answers what happened."""
        arguments: JSON = {"until": until, "to": format_exact(from_datetime(to)) if isinstance(to, datetime) else to}
        if length and by is not None:
            raise ValueError(f"advance was given {by!r} and {length}; wanted one length")
        if length:
            by = _length(length)
        arguments["by"] = _seconds(by) if isinstance(by, timedelta) else by
        fired: list[JSON] = self._command(
            sandboxes.advance, **{key: each for key, each in arguments.items() if each is not None}
        )["fired"]
        return fired

    def sleep(self, seconds: float, /) -> None:
        """
        Let so many seconds pass on the sandbox's clock, and none in real time: for clients that take their sleep.

        `retry(..., sleep=mockserver.sleep)`; where the client awaits it, `sleep_async`.
        """
        self.advance(seconds)

    advance_async = awaitable(advance)
    sleep_async = awaitable(sleep)

    def freeze(self, at: str | datetime | Literal[True] = True) -> None:
        """Stand still at this instant, or where the clock is."""
        self._command(sandboxes.set_clock, freeze=format_exact(from_datetime(at)) if isinstance(at, datetime) else at)

    def follow(self, *, catch_up: bool = False) -> None:
        """Go with the process's clock, on from here, or at the process's own time."""
        self._command(sandboxes.set_clock, follow=True, catchUp=catch_up)

    def state(self) -> JSON:
        """The world as JSON."""
        return self._command(sandboxes.read_state)

    def end_user(
        self, session: str | Mapping[str, Any], *, socket: bool = False, user_agent: str = "EndUser"
    ) -> EndUser:
        """
        A person before a session's hosted page, in process, or over the server's socket.

        `session` is its id, its url, or the JSON of its creation.
        """
        if socket:
            self._server.open()
        return EndUser(self._hosted, link_of(self._hosted, session), socket=socket, user_agent=user_agent)

    def set_tenant(self, tenant_id: str | None = None, **settings: Any) -> JSON:
        """Change `name`, `developersEnabled` or `subscription` of a tenant, the default one where none is named."""
        return self._command(sandboxes.set_tenant, id=tenant_id or self.tenant_id, **settings)

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        """What happens inside the block never happened once it is left."""
        with self._hosted.sandbox.lock:
            kept = self._hosted.sandbox.checkpoint()
        try:
            yield
        finally:
            self._hosted.restore(kept)

    def reset(self) -> None:
        """Be as at birth: same keys and address, nothing else."""
        self._hosted.reset()

    def close(self) -> None:
        """End the sandbox; a second time does nothing."""
        self._hosted.host.close(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Sandbox {self.id} at {format_exact(self._hosted.sandbox.now)}, {self._hosted.sandbox.journal.last_exchange} exchanges>"


def _seconds(by: timedelta) -> int | float:
    """The length as JSON spells it."""
    seconds = to_microseconds(by) / SECOND
    return int(seconds) if seconds.is_integer() else seconds


def _length(units: Mapping[str, float]) -> timedelta:
    odd = next((unit for unit in units if unit not in _UNITS), None)
    if odd is not None:
        raise TypeError(f"advance has no {odd!r}{did_you_mean(odd, _UNITS)}; it has {', '.join(_UNITS)}, to and until")
    return timedelta(**units)
