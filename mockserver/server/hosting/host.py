"""
Hosting: many sandboxes behind one address, their configuration and their tracked choices.

1. The default sandbox is at the root, any other at `/sandboxes/{id}`, which is the prefix of its base url unless it has a
   port of its own.
2. A sandbox is created from a config; a reset restores its initial state.
3. A closed sandbox responds with 410, and the host counts the late calls.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.limits import WEBHOOK_TIMEOUT_SECONDS
from mockserver.core.instants import Duration, Instant
from mockserver.core.redaction import TOKEN_PREFIX, Redactor
from mockserver.core.run import Run
from mockserver.core.scheduler import run_until
from mockserver.core.state.journal import DEFAULT_LIMITS, Limits
from mockserver.core.state.outbox import Attempt, PlannedAttempt
from mockserver.core.state.sandbox import Clock, Position, SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.core.webhooks.url_policy import THIS_MACHINE, host_name
from mockserver.scenario.apply import DEFAULT_TENANT
from mockserver.server.hosting import command_log, runtime
from mockserver.server.hosting.checkpoints import Checkpoints
from mockserver.server.hosting.closed import ClosedSandboxes, Ended
from mockserver.server.hosting.config import Created, SandboxConfig, config_document, fill, seed_in, seed_of
from mockserver.server.hosting.failed_runs import FailureFolder
from mockserver.server.hosting.log_lines import LogContext, ServerLog, attempt_line, call_line, end_line
from mockserver.server.hosting.shard import Shard
from mockserver.server.hosting.tracked_choices import TrackedChoices
from mockserver.server.hosting.usage import Usage
from mockserver.server.http1 import real_time
from mockserver.server.webhooks.dispatcher import Scheduler, WebhookDispatcher
from mockserver.server.webhooks.event_loops import LoopBlocked
from mockserver.server.webhooks.sender import HttpSender
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, NoResponse, ResponseOptions

if TYPE_CHECKING:
    from mockserver.judge.coverage.coverage import Coverage

DEFAULT_ID = "default"
IN_PROCESS_HOST = "mockserver.test"  # a name that does not resolve (RFC 6761): never a real request
IN_PROCESS_ORIGIN = f"http://{IN_PROCESS_HOST}"

# When a command of the control plane runs: with the sandbox's lock held, on a snapshot with the lock free, or with the lock
# free on the sandbox itself, whose lock the command then takes where it needs it (it lets time pass, or sends webhooks).
# A "delivered" one runs with the lock, and ends when what it has made due is delivered.
Phase = Literal["locked", "delivered", "snapshot", "unlocked"]


class HostedSandbox:
    """
    A sandbox of a host, with its id, prefix and initial state.

    Lifetime: until the host closes it.
    """

    def __init__(
        self,
        id: str,
        sandbox: SandboxState,
        host: SandboxHost,
        config: SandboxConfig,
        created: Created,
    ) -> None:
        self.id = id
        self.prefix = "" if id == DEFAULT_ID else f"/sandboxes/{id}"
        self.own_origin: str | None = None  # of a port that only this sandbox has
        self.created = created
        self.sandbox = sandbox
        self.host = host
        self.created_at = sandbox.now
        self.initial_checkpoint = sandbox.clone()
        self.config = config
        self.listeners: list[Callable[[], None]] = []  # called after each call and each command, by its thread
        self.checkpoints = Checkpoints()
        self.usage = Usage(host.monotonic_us())
        self.is_kept = False  # True if clients cannot end it, since an exploration reads it afterwards
        self.choices_read: set[str] | None = None  # the ids of the choices that were read, if they are tracked
        self.counts_faults = True  # for coverage; False for a run of an exploration that its client has not survived
        self._dispatch: WebhookDispatcher | None = None
        # Not the sandbox's lock: another thread can close the sandbox while one holds that.
        self._creation_lock = threading.Lock()
        self.process_id = os.getpid()

    @property
    def is_forked(self) -> bool:
        """True in a fork of the process that created the sandbox."""
        return os.getpid() != self.process_id

    def refuse_fork(self) -> None:
        """Raise a RuntimeError in a fork, where a thread that only the parent has may hold the lock of this copy for ever."""
        if self.is_forked:
            raise RuntimeError(
                f"got a use of {self.id} in a fork of process {self.process_id}; expected calls over a socket to an address "
                "that was read before the fork, or a sandbox that the fork has made"
            )

    @property
    def is_default(self) -> bool:
        """True for the sandbox at the root, which belongs to the server."""
        return self.id == DEFAULT_ID

    @property
    def labels(self) -> Mapping[str, str]:
        """The client's own names for what the sandbox is used for."""
        return self.config.labels

    @property
    def dispatch(self) -> WebhookDispatcher:
        """The sandbox's dispatcher of webhooks, created at its first use: most sandboxes need none."""
        with self._creation_lock:
            if self._dispatch is None:
                sender = HttpSender(self.host.allow_webhook_hosts, self.host.webhook_timeout_seconds)
                self._dispatch = WebhookDispatcher(
                    self.sandbox, sender, lambda: self.host.background, self._log_attempts
                )
            return self._dispatch

    def log_context(self, at: Instant | None = None) -> LogContext:
        """Return what each line of the log shows of this sandbox, at an instant of its clock or now. Lock: none."""
        return LogContext(
            sandbox=self.id,
            prefix=self.prefix,
            labels=self.labels,
            now=self.sandbox.now if at is None else at,
            hide=Redactor(self.sandbox.secrets()),
        )

    def log_call(self, request: HttpRequest, begun_us: Duration, response: HttpResponse | NoResponse) -> None:
        """Write a call of the API to the server's log, if it has one; `begun_us` is the monotonic clock at its begin."""
        log, entry = self.host.log, response.entry
        if log is None:
            return
        took = self.host.monotonic_us() - begun_us
        # Another thread may have moved the clock since.
        context = self.log_context(entry.at if entry is not None and entry.fault is None else None)
        log.write(call_line, context, request, response, took)

    def _log_attempts(self, planned: PlannedAttempt, attempts: Sequence[Attempt]) -> None:
        """Lock: the caller holds it."""
        if self.host.log is None:
            return
        context, after = self.log_context(), self.sandbox.outbox.deliveries[planned.delivery.id]
        for attempt in attempts:
            self.host.log.write(attempt_line, context, planned, attempt, after)

    def dispatch_webhooks(self, *, raises_blocked: bool = False) -> None:
        """Send the deliveries that are due now, if any (see `WebhookDispatcher.dispatch_due`)."""
        if not self.sandbox.outbox.is_idle:
            self.dispatch.dispatch_due(raises_blocked=raises_blocked)

    def cancel_webhooks(self, *, for_good: bool = False) -> None:
        """Cancel the requests in flight; with `for_good` nothing is sent after that."""
        if self._dispatch is not None or not self.sandbox.outbox.is_idle:
            self.dispatch.cancel(for_good=for_good)

    @property
    def base_url(self) -> str:
        """The address of this sandbox: that of its own port, else its prefix at the host's address."""
        return self.own_origin or self.host.origin + self.prefix

    @property
    def in_process_url(self) -> str:
        """The address of this sandbox for calls in process, whether or not a socket is open."""
        return IN_PROCESS_ORIGIN + self.prefix

    @property
    def tenant(self) -> Tenant:
        """The default tenant."""
        return self.sandbox.tenants[DEFAULT_TENANT]

    @property
    def shown_key(self) -> str | None:
        """The secret key, for pages that this machine's browser alone reads; None if others, or other sites, may open them."""
        is_read_elsewhere = self.host.token is not None or self.host.is_exposed or self.host.is_shared
        return None if is_read_elsewhere else self.tenant.secret_key

    def run_command(
        self,
        handler: Callable[[Any, Mapping[str, Any]], Any],
        arguments: Mapping[str, Any],
        *,
        phase: Phase = "locked",
        recorded: str | None = None,
        waits: bool = True,
    ) -> Any:
        """
        Run a command after the timers that are due, and send what it makes due.

        Args:
            handler: with the phases `locked` and `delivered` it gets this object, with the lock held; with `snapshot` a HostedSnapshot, with
                `unlocked` this object, both with the lock free.
            arguments: of the command.
            phase: when the handler runs.
            recorded: the name under which the history has the command; None for one that is not recorded.
            waits: False for a command of the phase `delivered` that waits for the background workers neither before nor after.

        Returns:
            The handler's result.

        Raises:
            LoopBlocked: the command has run, and a receiver needs the event loop that this thread blocks.
            BaseException: what a receiver raised to end the test; the command has run up to it.
        """
        self.usage.is_called = True
        self.dispatch_webhooks()
        if recorded is not None and phase != "locked" and waits and self.host.background is not None:
            self.dispatch.await_workers()  # so that the history has this command behind what they have in flight
        with self.sandbox.lock:
            run_until(self.sandbox, self.sandbox.read_clock())
            before = self.sandbox.position()
            subject = self._snapshot() if phase == "snapshot" else self
            is_locked = phase in ("locked", "delivered")
            result = handler(self, arguments) if is_locked else None
        try:
            if phase != "unlocked":
                self.dispatch_webhooks(raises_blocked=recorded is not None)  # not for a command that only reads
            if phase == "delivered" and waits:
                self.await_deliveries()
            if not is_locked:
                result = handler(subject, arguments)
        except BaseException as failure:
            if isinstance(failure, LoopBlocked) or not isinstance(failure, Exception):  # the command itself has run
                self._finish_command(recorded, arguments, before)
            raise
        self._finish_command(recorded, arguments, before)
        return result

    def await_deliveries(self) -> None:
        """Wait for what the background workers have in flight, as long as an attempt ends each second."""
        if self.host.background is not None and not self.sandbox.outbox.is_idle:
            self.dispatch.advance(by=0)

    def _snapshot(self) -> HostedSnapshot:
        """Lock: the caller holds it."""
        state = self.sandbox.clone()
        if isinstance(state.choices, TrackedChoices):
            state.choices = dict(state.choices)  # a view of a choice does not count as a use of it
        return HostedSnapshot(self, state)

    def _finish_command(self, recorded: str | None, arguments: Mapping[str, Any], before: Position) -> None:
        """Record a command that has run."""
        if recorded is not None:
            with self.sandbox.lock:
                command_log.record_command(self.sandbox, recorded, arguments, before)
        self.notify_listeners()

    def remove_listener(self, notify: Callable[[], None]) -> None:
        """Remove a listener, unless that was done before."""
        if notify in self.listeners:
            self.listeners.remove(notify)

    def notify_listeners(self) -> None:
        """Notify the callers that wait for a change of this sandbox."""
        for notify in list(self.listeners):
            notify()

    def reset(self) -> None:
        """Restore the initial state: the same keys, the same next ids; requests in flight belong to an older epoch."""
        self.restore(self.initial_checkpoint)

    def restore(self, checkpoint: SandboxState) -> None:
        """Restore a checkpoint; requests in flight are canceled."""
        with self.sandbox.lock:
            if self.host.coverage is not None:
                self.gather_coverage(self.host.coverage)
            self.sandbox.restore(checkpoint)
            self._track()
        self.cancel_webhooks()

    def watch_choices(self, read: set[str]) -> None:
        """Add each choice that is read from now on to this set, also after a reset."""
        with self.sandbox.lock:
            self.choices_read = read
            self._track()

    def _track(self) -> None:
        """Lock: the caller holds it."""
        if self.choices_read is not None:
            self.sandbox.choices = TrackedChoices(self.sandbox.choices, self.choices_read.add)

    def gather_coverage(self, into: Coverage) -> None:
        """Add what the calls so far have covered."""
        from mockserver.judge.coverage.gathering import (
            gather,  # imported here, as a server without coverage needs neither
        )
        from mockserver.trace.of_sandbox import trace_of

        with self.sandbox.lock:
            gather(trace_of(Run.of(self.sandbox)), into, counts_faults=self.counts_faults)


class HostedSnapshot(NamedTuple):
    """A sandbox with a clone of its state, for a command that reads it while the sandbox continues."""

    hosted: HostedSandbox
    state: SandboxState


def _allowed_host(text: str) -> str:
    try:
        return host_name(text)
    except ValueError as refusal:
        raise ValueError(f"allow_webhook_hosts: got {text!r}; {refusal}") from None


class SandboxHost:
    """
    The sandboxes of one server. Two hosts share nothing.

    Attributes:
        origin: the scheme and authority of the server's address.
        public: the `Host` by which clients reach the server through a proxy, with the address that answers to them have.
        token: the control plane's token; None if it needs none.
        is_exposed: True for a server that other machines reach, which responds under any name.
        allowed_hosts: the names under which any other server responds, in addition to addresses of loopback.
        frozen_at: the instant at which sandboxes that clients create are frozen; None lets them follow the process's clock.
        is_shared: True to let pages of other origins on this machine send requests (`wire/cross_origin.py`).
        log: gets a line per call, control command, attempt at a delivery, and sandbox that a limit ends; None for no log.
        on_creation: gets the config of a sandbox that a client creates; it returns one to use instead, or None.
        sandboxes: by id; ids count from 1, so that the same run has the same ids.
        closed: the latest closed sandboxes.
        shard: which of several servers this one is; None for a server without others.
        admission: a context in which a client's sandbox is created; it raises ControlError for one beyond a limit.
        on_tick: called about once a second by the background worker.
        monotonic_us: the real time in microseconds, from any starting point.
        calls_without_prefix: the number of calls of the API that name no sandbox and have no default one.
        coverage: gets what each sandbox has covered, when it is closed, reset or restored; None to gather nothing.
        failures: where the files of failed runs are kept; None to keep none.
        allow_webhook_hosts: hosts to which webhooks may be sent; localhost allows this machine.
        journal_limits: bounds of the journal of each sandbox.
        background: the workers that send webhooks, if the server runs by itself.

    Lifetime: that of its server.
    """

    shard: Shard | None = None

    def __init__(
        self,
        *,
        response_options: ResponseOptions = ResponseOptions(),  # noqa: B008 - an immutable default
        default_clock: Callable[[], Clock] = runtime.following_clock,
        allow_webhook_hosts: Iterable[str] = THIS_MACHINE,
        journal_limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if min(journal_limits) < 1:
            raise ValueError(f"got {journal_limits}; expected at least 1 entry and 1 byte")
        self.origin = IN_PROCESS_ORIGIN
        self.default_seed: Callable[[], int] = lambda: 0  # of a sandbox without a seed in its config and scenario
        self.response_options = response_options
        self.default_clock = default_clock
        self.frozen_at: Instant | None = None
        self.is_shared = False
        self.public: tuple[str, str] | None = None
        self.token: str | None = None
        self.is_exposed = False
        self.allowed_hosts = {"127.0.0.1", "localhost", "::1", "mockserver.test"}
        self.log: ServerLog | None = None
        self.on_creation: Callable[[SandboxConfig], HostedSandbox | None] = lambda config: None
        self.coverage: Coverage | None = None
        self.failures: FailureFolder | None = None
        self.sandboxes: dict[str, HostedSandbox] = {}
        self.closed = ClosedSandboxes()
        self.admission: Callable[[], AbstractContextManager[None]] = nullcontext
        self.on_tick: Callable[[], object] = lambda: None
        self.monotonic_us: Callable[[], Duration] = real_time.microseconds
        self._totals_of_closed = runtime.Totals(Counter(), Counter())
        self.calls_without_prefix = 0
        self.allow_webhook_hosts = frozenset(map(_allowed_host, allow_webhook_hosts))
        self.journal_limits = journal_limits
        self.webhook_timeout_seconds = WEBHOOK_TIMEOUT_SECONDS
        self.background: Scheduler | None = None
        self._lock = threading.Lock()
        self._count = 0
        self._token_secret = os.urandom(32)

    def create(
        self,
        config: SandboxConfig,
        *,
        id: str | None = None,
        clock: Clock | None = None,
        default_seed: Callable[[], int] | None = None,
    ) -> HostedSandbox:
        """
        Create a sandbox.

        Args:
            config: of the sandbox.
            id: by default the next `sandbox_N`.
            clock: in force until the config sets its own; by default the host's `default_clock`.
            default_seed: returns the seed, unless the config or its scenario has one; by default the host's.

        Raises:
            ScenarioError: the config is not valid; then no sandbox was created.
        """
        document = config_document(config)
        id = id or self._next_id()
        host_runtime = runtime.HostRuntime()
        host_runtime.pass_time = partial(self._elapse, id)
        has_own_seed = config.seed is not None or "seed" in document
        sandbox = SandboxState(
            seed=seed_in(config, document, default_seed or self.default_seed),
            clock=clock or self.default_clock(),
            lock=threading.RLock(),
            process_now=runtime.process_now,
            choices=DEFAULTS,
            runtime=host_runtime,
            journal_limits=self.journal_limits,
            key_label="" if has_own_seed else config.key_label,
        )
        sandbox.outbox.allowed_hosts = self.allow_webhook_hosts
        sandbox.tokens = self.tokens
        created = fill(sandbox, document, config.given)
        with self._lock:
            hosted = HostedSandbox(id=id, sandbox=sandbox, host=self, config=config, created=created)
            self.sandboxes[id] = hosted
        return hosted

    def create_for_client(self, config: SandboxConfig) -> HostedSandbox:
        """
        Create a sandbox for a client over HTTP.

        Unless the config or its scenario has a seed, its own one follows from the host's and from its id, so that its keys
        are not those of another sandbox. Without a clock it is frozen at `frozen_at`, if the host has that. A sandbox that
        `on_creation` returns takes its place.

        Args:
            config: of the sandbox.

        Raises:
            ScenarioError: the config is not valid; then no sandbox was created.
            ControlError: it would be beyond a limit of the server.
        """
        if (instead := self.on_creation(config)) is not None:
            return instead
        with self.admission():
            has_clock = "clock" in config_document(config)  # a document that is refused takes no id
            clock, id = runtime.following_clock(), self._next_id()
            if self.frozen_at is not None and not has_clock:
                clock = runtime.frozen_clock(self.frozen_at)
            hosted = self.create(config, id=id, clock=clock, default_seed=lambda: seed_of(id, self.default_seed()))
            hosted.usage.refresh(hosted.sandbox, hosted.checkpoints, self.monotonic_us())
            return hosted

    def _next_id(self) -> str:
        with self._lock:
            self._count += 1
            number = self._count
        return f"sandbox_{number}" if self.shard is None else self.shard.sandbox_id(number, self.default_seed())

    def _elapse(self, id: str, by: Duration) -> None:
        """Advance the clock of a sandbox for a call in process that waits; what its thread cannot send stays due."""
        hosted = self.sandboxes.get(id)
        if hosted is not None:
            hosted.dispatch.advance(by=by, raises_blocked=False)

    def refreshed(self) -> list[HostedSandbox]:
        """Return the open sandboxes, with their use as it is now."""
        now, sandboxes = self.monotonic_us(), list(self.sandboxes.values())
        for hosted in sandboxes:
            hosted.usage.refresh(hosted.sandbox, hosted.checkpoints, now)
        return sandboxes

    def memory_bytes(self) -> int:
        """Return the sum of the latest estimates."""
        return sum(hosted.usage.memory_bytes for hosted in list(self.sandboxes.values()))

    def totals(self) -> runtime.Totals:
        """Return what all sandboxes have counted, closed ones included."""
        with self._lock:
            totals = runtime.Totals(self._totals_of_closed.calls.copy(), self._totals_of_closed.deliveries.copy())
            for hosted in self.sandboxes.values():
                totals.add(hosted.sandbox.runtime)
        return totals

    def close(self, id: str, *, ended_by: Ended | None = None) -> bool:
        """
        Close a sandbox, whose prefix then responds with 410; return False if there is none of this id.

        Args:
            id: of the sandbox.
            ended_by: the limit that ends it; None if a client or the server's end does.
        """
        if self.coverage is not None and id in self.sandboxes:
            self.sandboxes[id].gather_coverage(self.coverage)
        with self._lock:
            hosted = self.sandboxes.get(id)
            if hosted is None:
                return False
            self.closed.add(id, ended_by)  # first, so that each call finds the sandbox in one of the two
            del self.sandboxes[id]
            self._totals_of_closed.add(hosted.sandbox.runtime)
        hosted.sandbox.begin_epoch()
        hosted.cancel_webhooks(for_good=True)
        if self.log is not None and ended_by is not None:
            self.log.write(end_line, hosted.log_context(), ended_by.limit, ended_by.reason)
        hosted.notify_listeners()
        return True

    def close_for_client(self, id: str) -> bool:
        """Close a sandbox as `close` does, unless it is kept."""
        hosted = self.sandboxes.get(id)
        return (hosted is not None and hosted.is_kept) or self.close(id)

    def publish(self, url: str | None) -> None:
        """Have clients that address the server by this url's host get it in answers; None for a server without a proxy."""
        if url is not None:
            parts = urlsplit(url)
            self.public = parts.netloc.lower(), url
            self.allowed_hosts.add(parts.hostname or "")

    def base_url_of(self, name: str) -> str:
        """Return the server's address for a client that sends this `Host`, empty if it sends none."""
        if self.public is not None and name.lower() == self.public[0]:
            return self.public[1]
        return f"http://{name}" if name else self.origin

    def tokens(self) -> Sequence[str]:
        """Return the server's token, which no view of a sandbox may show; those of sandboxes are known by their form."""
        return () if self.token is None else (self.token,)

    def sandbox_token(self, id: str) -> str:
        """Return the token that opens the control plane of this sandbox alone; it follows from a secret of this process."""
        return TOKEN_PREFIX + hmac.new(self._token_secret, id.encode(), hashlib.sha256).hexdigest()

    def close_all(self) -> None:
        """Close every sandbox."""
        for sandbox_id in list(self.sandboxes):
            self.close(sandbox_id)

    def note_call_without_prefix(self) -> None:
        """Count a call of the API that names no sandbox, on a host without a default one."""
        with self._lock:
            self.calls_without_prefix += 1

    def note_late_call(self, id: str) -> None:
        """Count a call of a closed sandbox."""
        with self._lock:
            self.closed.note_call(id)
