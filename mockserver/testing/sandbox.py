"""The Python face of one sandbox: what a test holds in its hands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

from mockserver.core.instants import SECOND, exact_text, from_datetime, span, to_datetime
from mockserver.edge import commands, oracles, scripts
from mockserver.edge.hosting import Hosted
from mockserver.edge.loops import LoopBlocked
from mockserver.testing.asynchronous import Asynchronous, awaitable
from mockserver.testing.calling import Calling
from mockserver.testing.conduct import Conducting
from mockserver.testing.end_user import EndUser, link_of
from mockserver.testing.holding import JSON
from mockserver.testing.ledger import Ledger
from mockserver.testing.looking import Looking
from mockserver.testing.moves import Moves
from mockserver.testing.rules import Rules
from mockserver.testing.settings import Settings, hint
from mockserver.testing.webhooks import Webhooks

if TYPE_CHECKING:
    from mockserver.testing.server import MockServer

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


class Sandbox(Asynchronous, Calling, Moves, Rules, Webhooks, Looking, Conducting):
    """
    One isolated universe: a clock, tenants, choices, a journal. This type has no public constructor.

    Made by `MockServer.sandbox` or the `mockserver` fixture, and closed by whoever made it; after that its address
    answers 410.
    """

    taken_back = False  # True where each example begins anew, so that nothing of one is left here after it

    def __init__(self, server: MockServer, hosted: Hosted) -> None:
        super().__init__(hosted)
        self._server = server
        self.settings = Settings({}, {})

    @property
    def id(self) -> str:
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
        return self._command(commands.read_journal)

    @property
    def events(self) -> list[JSON]:
        """The events so far, oldest first."""
        found: list[JSON] = self._command(commands.read_events)["events"]
        return found

    @property
    def ledger(self) -> Ledger:
        """What the calls so far have caused: executions, sends, duplicates, clones, what was left behind."""
        return Ledger(self._command(oracles.read_ledger))

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
            return self._command(scripts.apply_scenario, name=document)

        def put(hosted: Hosted, document: Mapping[str, Any]) -> JSON:
            return apply.apply(hosted.sandbox, document).as_json()

        try:
            applied: JSON = self._hosted.perform(put, document, "apply_scenario")
        except LoopBlocked as refusal:
            raise ValueError(refusal.message) from None
        return applied

    def choose(self, choices: Mapping[str, object]) -> None:
        """Set choices by id; one that is wrong leaves all as they were."""
        self._command(commands.choose, **{str(key): value for key, value in choices.items()})

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
        arguments: JSON = {"until": until, "to": exact_text(from_datetime(to)) if isinstance(to, datetime) else to}
        if length and by is not None:
            raise ValueError(f"advance was given {by!r} and {length}; wanted one length")
        if length:
            by = _length(length)
        arguments["by"] = _seconds(by) if isinstance(by, timedelta) else by
        fired: list[JSON] = self._command(
            commands.advance, **{key: each for key, each in arguments.items() if each is not None}
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
        self._command(commands.set_clock, freeze=exact_text(from_datetime(at)) if isinstance(at, datetime) else at)

    def follow(self, *, catch_up: bool = False) -> None:
        """Go with the process's clock, on from here, or at the process's own time."""
        self._command(commands.set_clock, follow=True, catchUp=catch_up)

    def state(self) -> JSON:
        """The world as JSON."""
        return self._command(commands.read_state)

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
        return self._command(commands.set_tenant, id=tenant_id or self.tenant_id, **settings)

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
        return f"<Sandbox {self.id} at {exact_text(self._hosted.sandbox.now)}, {self._hosted.sandbox.journal.last_exchange} exchanges>"


def _seconds(by: timedelta) -> int | float:
    """The length as JSON spells it."""
    seconds = span(by) / SECOND
    return int(seconds) if seconds.is_integer() else seconds


def _length(units: Mapping[str, float]) -> timedelta:
    odd = next((unit for unit in units if unit not in _UNITS), None)
    if odd is not None:
        raise TypeError(f"advance has no {odd!r}{hint(odd, _UNITS)}; it has {', '.join(_UNITS)}, to and until")
    return timedelta(**units)
