"""
Hosting: many sandboxes behind one address, their configuration and their tracked choices.

What a sandbox is made from.

Choices that remember which of them were read, for whoever wants to know what a run depends on.

Hosting: many sandboxes behind one address, each under its own prefix.

1. The default sandbox lives at the root, any other at `/sandboxes/{id}`; that prefix is its base url, unless it has a port
   of its own.
2. A sandbox is born from a recipe, and a reset takes it back to its birth; fresh beats reset.
3. A closed sandbox answers 410, and the late call is noted beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from mockserver.contract.choices import DEFAULTS
from mockserver.core.instants import Duration, Instant
from mockserver.core.redaction import to_json_text
from mockserver.core.scheduler import FiredTimer, run_until
from mockserver.core.state.journal import DEFAULT_LIMITS, Limits
from mockserver.core.state.sandbox import Checkpoint, Clock, Position, Runtime, SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.scenario import library
from mockserver.scenario.apply import DEFAULT_TENANT, apply, create_default_tenant
from mockserver.scenario.choices import merge_choices
from mockserver.scenario.documents import Document, validate
from mockserver.server.api.response import ResponseOptions
from mockserver.server.hosting import command_log, runtime
from mockserver.server.webhooks.dispatcher import Scheduler, WebhookDispatcher
from mockserver.server.webhooks.event_loops import LoopBlocked
from mockserver.server.webhooks.sender import TIMEOUT_SECONDS, HttpSender


class SandboxConfig(NamedTuple):
    """What a sandbox is made from; a document named by `scenario` comes first, then choices, clock and given."""

    scenario: str | Mapping[str, Any] | None = None
    seed: int | None = None
    choices: Mapping[str, object] | None = None
    clock: Mapping[str, Any] | None = None
    given: Mapping[str, Any] | None = None

    def __repr__(self) -> str:  # a document may hold keys
        return f"Recipe(seed={self.seed!r})"


def config_document(recipe: SandboxConfig) -> Document:
    """The recipe's scenario with its own choices and clock, which win over the scenario's; nothing of it is checked yet."""
    named = library.document(recipe.scenario) if isinstance(recipe.scenario, str) else recipe.scenario or {}
    if not isinstance(named, Mapping):
        validate(named)
    scenario = named if isinstance(named, Document) else Document(named)
    choices, own = scenario.get("choices", {}), recipe.choices or {}
    joint = (
        merge_choices(choices, own) if isinstance(choices, Mapping) else choices
    )  # what is no object is refused as it is
    return scenario.with_settings(joint, recipe.clock, own)


class TrackedChoices(dict[str, Any]):
    """The choices in force; `read` grows by the id of each that is read, also by those who copy them."""

    def __init__(self, choices: Mapping[str, Any] = DEFAULTS, read: set[str] | None = None) -> None:
        super().__init__(choices)
        self.read = read if read is not None else set()

    def __getitem__(self, choice: str) -> Any:
        self.read.add(choice)
        return super().__getitem__(choice)

    def copy(self) -> TrackedChoices:
        return TrackedChoices(dict(self), self.read)


DEFAULT_ID = "default"
IN_PROCESS_ORIGIN = "http://mockserver.test"  # a name that no resolver knows (RFC 6761): never a real call
_CLOSED_REMEMBERED = 10_000
_CHECKPOINTS_KEPT = 1_000
SEED_MAX = 2**53 - 1


def _seed(recipe: SandboxConfig, document: Mapping[str, Any], default: Callable[[], int]) -> int:
    """Return the recipe's seed, else its document's, else the default; one that the document's schema refuses is left to that."""
    if recipe.seed is None:
        written = document.get("seed")
        return written if isinstance(written, int) and 0 <= written <= SEED_MAX else default()
    if not 0 <= recipe.seed <= SEED_MAX:
        raise ValueError(f"got a seed of {to_json_text(recipe.seed)}; expected a whole number from 0 to {SEED_MAX}")
    return recipe.seed


# When a command of the control plane runs: with the sandbox's lock held, on a snapshot with the lock free, or with the lock
# free on the sandbox itself, whose lock the command then takes where it needs it (it lets time pass, or sends webhooks).
Phase = Literal["locked", "snapshot", "unlocked"]


class HostedSnapshot(NamedTuple):
    """A sandbox at one instant, for a command that reads it while the sandbox continues; `state` is a clone."""

    state: SandboxState
    config: SandboxConfig
    initial: Checkpoint
    runtime: Runtime


class HostedSandbox:
    """A sandbox with its place in a host: id, prefix, birth. Lives until it is closed."""

    def __init__(
        self,
        id: str,
        sandbox: SandboxState,
        host: SandboxHost,
        created_at: Instant,
        recipe: SandboxConfig = SandboxConfig(),  # noqa: B008 - an immutable default
    ) -> None:
        self.id = id
        self.prefix = "" if id == DEFAULT_ID else f"/sandboxes/{id}"
        self.own_origin: str | None = None  # of a port at which nothing but this sandbox answers
        self.sandbox = sandbox
        self.host = host
        self.created_at = created_at
        self.initial_checkpoint = sandbox.checkpoint()
        self.recipe = recipe
        self.listeners: tuple[Callable[[], None], ...] = ()  # told after each call and each command
        self.checkpoints: dict[str, Checkpoint] = {}
        self.read: set[str] | None = None  # the choices that were read, where somebody watches them
        self._kept = 0
        self._dispatch: WebhookDispatcher | None = None
        # Its own, so that whatever holds the sandbox's lock keeps nobody from ending it.
        self._making = threading.Lock()

    @property
    def dispatch(self) -> WebhookDispatcher:
        """What makes the sandbox's deliveries; most sandboxes never need it, so it is made when it is first asked for."""
        if self._dispatch is None:
            with self._making:
                self._dispatch = self._dispatch or self._new_dispatcher()
        return self._dispatch

    def _new_dispatcher(self) -> WebhookDispatcher:
        sender = HttpSender(self.host.allow_webhook_hosts, self.host.webhook_timeout_seconds)
        return WebhookDispatcher(self.sandbox, sender, lambda: self.host.background)

    def dispatch_webhooks(self, *, insists: bool = False) -> None:
        """See to the deliveries that are due now, if any are (see `Dispatch.attend`)."""
        if not self.sandbox.outbox.is_idle:
            self.dispatch.dispatch_due(insists=insists)

    def cancel_webhooks(self, *, for_good: bool = False) -> None:
        """Throw away what will come of the deliveries under way; `for_good` nothing is sent any more."""
        if self._dispatch is not None or not self.sandbox.outbox.is_idle:
            self.dispatch.cancel(for_good=for_good)

    @property
    def base_url(self) -> str:
        """The address of this sandbox: its own port's, or its prefix at the host's socket, where it has one."""
        return self.own_origin or self.host.origin + self.prefix

    @property
    def tenant(self) -> Tenant:
        """The default tenant."""
        return self.sandbox.tenants[DEFAULT_TENANT]

    def save_checkpoint(self) -> str:
        """Keep the state as it is; answers the checkpoint's id. The oldest goes where too many are kept."""
        self._kept += 1
        self.checkpoints[f"checkpoint_{self._kept}"] = self.sandbox.checkpoint()
        if len(self.checkpoints) > _CHECKPOINTS_KEPT:
            del self.checkpoints[next(iter(self.checkpoints))]
        return f"checkpoint_{self._kept}"

    def run_command(
        self,
        handler: Callable[[Any, Mapping[str, Any]], Any],
        arguments: Mapping[str, Any],
        *,
        phase: Phase = "locked",
        recorded: str | None = None,
    ) -> Any:
        """
        Run a command at the settled time; the history stores it under the name `recorded`, if it has one.

        A `locked` handler gets this object, with the lock held; what it makes due is sent afterwards. A `snapshot` handler
        gets a HostedSnapshot, and an `unlocked` one this object, both with the lock free.
        """
        self.dispatch_webhooks()
        with self.sandbox.lock:
            run_until(self.sandbox, self.sandbox.read_clock())
            before = self.sandbox.position()
            subject = self._snapshot() if phase == "snapshot" else self
            result = handler(self, arguments) if phase == "locked" else None
        try:
            if phase != "unlocked":
                self.dispatch_webhooks(insists=recorded is not None)  # a command that only reads sends what it can
            if phase != "locked":
                result = handler(subject, arguments)
        except LoopBlocked:  # the command itself has run
            self._finish_command(recorded, arguments, before)
            raise
        self._finish_command(recorded, arguments, before)
        return result

    def _snapshot(self) -> HostedSnapshot:
        """The caller holds the lock."""
        return HostedSnapshot(self.sandbox.clone(), self.recipe, self.initial_checkpoint, self.sandbox.runtime)

    def _finish_command(self, recorded: str | None, arguments: Mapping[str, Any], before: Position) -> None:
        if recorded is not None:
            with self.sandbox.lock:
                command_log.record_command(self.sandbox, recorded, arguments, before)
        self.notify_listeners()

    def notify_listeners(self) -> None:
        """Something may have happened here: whoever waits for it is told."""
        for tell in self.listeners:
            tell()

    def advance(
        self, *, by: Duration | None = None, to: Instant | None = None, until_idle: bool = False
    ) -> list[FiredTimer]:
        """Let time pass, delivering on the way; without the lock held (see `Dispatch.advance`)."""
        return self.dispatch.advance(by=by, to=to, until_idle=until_idle)

    def elapse(self, by: Duration) -> list[FiredTimer]:
        """The same for a call in process that waits: what its thread cannot send stays due."""
        return self.dispatch.advance(by=by, insists=False)

    def reset(self) -> None:
        """Be as at birth: same keys, same ids to come; what was in flight belongs to an older epoch."""
        self.restore(self.initial_checkpoint)

    def restore(self, kept: Checkpoint) -> None:
        """Be again as at the checkpoint; what was in flight is let go."""
        with self.sandbox.lock:
            self.sandbox.restore(kept)
            if self.read is not None:
                self.sandbox.choices = TrackedChoices(self.sandbox.choices, self.read)
        self.cancel_webhooks()

    def watch_choices(self, read: set[str]) -> None:
        """Let this set grow by each choice that is read from now on, also after a reset."""
        with self.sandbox.lock:
            self.read = read
            self.sandbox.choices = TrackedChoices(self.sandbox.choices, read)


class SandboxHost:
    """
    The sandboxes of one server. Two hosts never share anything.

    `origin` is the scheme and authority under which it is reached. Ids count from 1, so that the same run names the same.
    The control plane answers to `names` alone and, where there is a `token`, to whoever sends it. `log` gets a line a call,
    `watch` the sandbox after each.
    Webhooks go to this machine and to `allow_webhook_hosts`; a `background` sends them where the server runs by itself.
    `journal_limits` bound the journal of each sandbox.
    """

    def __init__(
        self,
        *,
        response_options: ResponseOptions = ResponseOptions(),  # noqa: B008 - an immutable default
        default_clock: Callable[[], Clock] = runtime.following_clock,
        allow_webhook_hosts: Iterable[str] = (),
        journal_limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if min(journal_limits) < 1:
            raise ValueError(f"got {journal_limits}; expected at least 1 entry and 1 byte")
        self.origin = IN_PROCESS_ORIGIN
        self.default_seed: Callable[[], int] = lambda: 0  # of a sandbox whose recipe and scenario have none
        self.response_options = response_options
        self.default_clock = default_clock
        self.token: str | None = None
        self.allowed_hosts = {"127.0.0.1", "localhost", "::1", "mockserver.test"}
        self.log: Callable[[str], None] | None = None
        self.on_exchange: Callable[[HostedSandbox], None] | None = None
        self.sandboxes: dict[str, HostedSandbox] = {}
        self.closed: dict[str, int] = {}  # id -> late calls
        self.calls_without_prefix = 0  # of the API, where no default sandbox takes them
        self.allow_webhook_hosts = frozenset(each.lower() for each in allow_webhook_hosts)
        self.journal_limits = journal_limits
        self.webhook_timeout_seconds = TIMEOUT_SECONDS
        self.background: Scheduler | None = None
        self._lock = threading.Lock()
        self._count = 0

    def create(
        self,
        recipe: SandboxConfig,
        *,
        id: str | None = None,
        clock: Clock | None = None,
        created: dict[str, list[str]] | None = None,
    ) -> HostedSandbox:
        """
        A fresh sandbox. `clock` is where it stands before the recipe sets its own; `created` takes the ids of what the
        recipe seeds, by kind.

        Refuses with ScenarioError what the recipe asks for in vain, and then no sandbox was made.
        """
        document = config_document(recipe)
        seed = _seed(recipe, document, self.default_seed)
        stage = runtime.HostRuntime()
        sandbox = SandboxState(
            seed=seed,
            clock=clock or self.default_clock(),
            lock=threading.RLock(),
            process_now=runtime.process_now,
            choices=DEFAULTS,
            runtime=stage,
            journal_limits=self.journal_limits,
        )
        sandbox.outbox.allowed_hosts = self.allow_webhook_hosts
        create_default_tenant(sandbox)
        for part in filter(None, (document, {"given": recipe.given} if recipe.given else {})):
            for kind, ids in apply(sandbox, part, newborn=True).created.items():
                if created is not None:
                    created.setdefault(kind, []).extend(ids)
        with self._lock:
            if id is None:
                self._count += 1
                id = f"sandbox_{self._count}"
            hosted = HostedSandbox(id, sandbox, self, sandbox.now, recipe)
            stage.pass_time = hosted.elapse
            self.sandboxes[id] = hosted
        return hosted

    def close(self, id: str) -> bool:
        """End a sandbox: its prefix answers 410 from now on. False where it was not there."""
        with self._lock:
            hosted = self.sandboxes.pop(id, None)
            if hosted is not None:
                hosted.sandbox.begin_epoch()
                hosted.cancel_webhooks(for_good=True)
                self.closed[id] = 0
                while len(self.closed) > _CLOSED_REMEMBERED:
                    del self.closed[next(iter(self.closed))]
        return hosted is not None

    def is_closed(self, id: str) -> bool:
        """True for the id of a sandbox that was here and is closed."""
        return id in self.closed

    def note_call_without_prefix(self) -> None:
        """Count a call of the API that names no sandbox."""
        with self._lock:
            self.calls_without_prefix += 1

    def note_late_call(self, id: str) -> None:
        """Count a call that came to a closed sandbox."""
        with self._lock:
            if id in self.closed:
                self.closed[id] += 1
