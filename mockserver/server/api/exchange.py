"""
One exchange: the operation, its answer, its journal entry, the rules that match it and their waits.

How a call came in, and so how a scripted wait is spent: on a socket in real time, in process by moving the sandbox's clock.

No wait holds a lock. A real one ends early when the sandbox begins a new epoch; a virtual one ends when the client's
patience does, with the clock moved by as much.

One exchange: the operation, its answer, and its entry in the journal; under a script with what the rules make of it.

A scripted wait is spent at the door with no lock held. Whoever comes back to a sandbox of a newer epoch finds nothing of
what he left, and is let go without an answer.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from errno import ECONNRESET
from http.client import RemoteDisconnected
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from mockserver.contract.text import printable
from mockserver.core.faults import injection
from mockserver.core.faults.injection import RuleMatch
from mockserver.core.instants import SECOND, Duration
from mockserver.core.operations.dispatch import handle_call
from mockserver.core.scheduler import run_until
from mockserver.core.state.calls import ApiError, Call, CallResult
from mockserver.core.state.sandbox import SandboxState, cut, journal_entry
from mockserver.server.api import response
from mockserver.server.api.response import HttpResponse, ResponseOptions, Transmission, Waited, redactor
from mockserver.server.http1.connection import RawSocket

# How an answer that never came is told in Python where nobody else has a word for it.
TRANSPORT_ERRORS: Mapping[str, Callable[[], OSError]] = MappingProxyType(
    {
        "drop": lambda: RemoteDisconnected("Remote end closed connection without response"),
        "reset": lambda: ConnectionResetError(ECONNRESET, "Connection reset by peer"),
        "timeout": lambda: TimeoutError("timed out"),
    }
)


class ClientWait(Protocol):
    """The side of a call on which its client waits."""

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> Waited:
        """Let the call wait: `passed`, `released` by a new epoch, or `gone` where the client has given up meanwhile."""

    def if_lost(self, note: Callable[[], None]) -> None:
        """Call `note` if the answer turns out to reach no client."""

    def is_reused(self) -> bool:
        """Return True if the call's connection had carried another call before; never in process."""

    def timeout(self) -> Duration | Literal["socket"] | None:
        """How long the client waits: a span, None for ever, or `socket` where it does so in real time."""


class VirtualWait(NamedTuple):
    """A client in this process: it waits by moving the clock, and gives up after `patience` (None: never)."""

    patience: Duration | None = None

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> Waited:
        if sandbox.epoch != epoch:
            return "released"
        gives_up = self.patience is not None and span > self.patience
        sandbox.runtime.pass_virtual_time(sandbox, self.patience if gives_up and self.patience is not None else span)
        return "gone" if gives_up else "passed"

    def if_lost(self, note: Callable[[], None]) -> None:
        """A client in this process is there until it gives up."""

    def is_reused(self) -> bool:
        return False

    def timeout(self) -> Duration | None:
        return self.patience


NO_TIMEOUT = VirtualWait()  # waits for ever


class RealTimeWait(NamedTuple):
    """A client on a connection: it waits in real time, which no frozen clock follows."""

    raw: RawSocket

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> Waited:
        return "released" if sandbox.runtime.wait_real_time(sandbox, epoch, span / SECOND) else "passed"

    def if_lost(self, note: Callable[[], None]) -> None:
        """The connection calls it: whether the client takes the answer shows once it is sent."""
        self.raw.if_lost = note

    def is_reused(self) -> bool:
        return self.raw.exchanges_before > 0

    def timeout(self) -> Literal["socket"]:
        return "socket"


_LOG = logging.getLogger("mockserver")
_GARBAGE = b'{"data": [{"id": "camp\xff\x00\x1b] <<\xc3(>>'  # neither JSON nor UTF-8
_DROPPED = HttpResponse(0, (), b"", Transmission("drop"))
_TIMED_OUT = HttpResponse(0, (), b"", Transmission("timeout"))

Operate = Callable[[SandboxState, Call], CallResult]


def exchange(
    sandbox: SandboxState,
    call: Call,
    manner: ResponseOptions,
    operate: Operate = handle_call,
    met: RuleMatch | None = None,
    *,
    is_reused: bool = False,
) -> HttpResponse:
    """
    The answer to a call, kept in the journal. The caller holds the lock and has let time pass up to now.

    `is_reused` is True if the call's connection had carried another one before.
    """
    try:
        answered = operate(sandbox, call)
        said = (
            response.build_response(sandbox, call, answered.outcome, manner)
            if met is None
            else _apply_wire_faults(sandbox, call, answered, manner, met)
        )
    except Exception as failure:  # noqa: BLE001 - whatever it is, the client gets the documented error
        _log_failure(sandbox, call)
        answered = CallResult(_internal_error(failure), None, None)
        said = response.build_response(sandbox, call, answered.outcome, manner._replace(strict=False))
    if met is None or met.owner is None:
        sandbox.journal.add_exchange(journal_entry(sandbox, call, answered, said.status, said.headers, said.body))
        return said
    came = (
        said.body[: said.transmission.truncate_bytes]
        if said.transmission and said.transmission.termination == "cut"
        else said.body
    )
    kept = journal_entry(sandbox, call, answered, said.status or None, said.headers, came, met.owner.fault())
    is_held = bool(said.status and (met.after or _is_slow(call, said)))
    sandbox.journal.add_exchange(kept._replace(is_reused=is_reused, is_held=is_held))
    return said


def exchange_with_rules(sandbox: SandboxState, call: Call, manner: ResponseOptions, door: ClientWait) -> HttpResponse:
    """The answer to a call at which rules may fire."""
    with sandbox.lock:
        run_until(sandbox, sandbox.read_clock())
        injection.take_snapshot(sandbox)
        met, epoch, came_at = injection.match_rules(sandbox, call), sandbox.epoch, sandbox.now
        if met.before or met.after or met.wire.chunks:
            sandbox.journal.add_command("call", {"call": cut(call), "waits": door.timeout()}, *sandbox.position())
        said, n = (None, 0) if met.before else _run_with_rules(sandbox, call, manner, met, door)
    if said is None:
        waited = door.wait(sandbox, epoch, met.before)
        with sandbox.lock:
            if waited == "released" or sandbox.epoch != epoch:
                return _DROPPED
            run_until(sandbox, sandbox.read_clock())
            if waited == "gone":
                injection.defer_call(sandbox, call, met, came_at + met.before)
                return _TIMED_OUT
            injection.take_snapshot(sandbox)
            said, n = _run_with_rules(sandbox, call, manner, met, door)
    return _delay_response(sandbox, call, said, met, door, epoch, n)


def _run_with_rules(
    sandbox: SandboxState, call: Call, manner: ResponseOptions, met: RuleMatch, door: ClientWait
) -> tuple[HttpResponse, int]:
    """The answer and its number in the journal; what the world does after the operation has then happened."""
    operated: list[CallResult] = []

    def operate(sandbox: SandboxState, call: Call) -> CallResult:
        operated.append(injection.run_operation(sandbox, call, met))
        return operated[0]

    said = exchange(sandbox, call, manner, operate, met, is_reused=door.is_reused())
    n = sandbox.journal.last_exchange  # before effects that may let another call arrive
    for answered in operated:
        injection.run_after_effects(sandbox, call, met, answered)
    return said, n


def _is_slow(call: Call, said: HttpResponse) -> bool:
    """Return True if the body is sent in pieces with waits between them."""
    return bool(said.transmission is not None and said.transmission.chunks and said.body and call.method != "HEAD")


def _delay_response(
    sandbox: SandboxState, call: Call, said: HttpResponse, met: RuleMatch, door: ClientWait, epoch: int, n: int
) -> HttpResponse:
    """The answer once its own wait is over, and how its body goes; one that reaches no client is noted as lost."""
    if met.after:
        waited = door.wait(sandbox, epoch, met.after)
        if waited == "released" or sandbox.epoch != epoch:
            return _DROPPED
        if waited == "gone":
            _note_end(sandbox, epoch, n, is_lost=True)
            return _TIMED_OUT
    is_slow = _is_slow(call, said)
    if met.before or met.after or is_slow:
        door.if_lost(lambda: _note_end(sandbox, epoch, n, is_lost=True))
    if said.transmission is not None and is_slow:
        return said._replace(
            transmission=said.transmission._replace(
                wait=lambda span: door.wait(sandbox, epoch, span),
                ended=lambda is_whole: _note_end(sandbox, epoch, n, is_lost=not is_whole),
            )
        )
    if met.before or met.after:
        _note_end(sandbox, epoch, n, is_lost=False)
    return said


def _note_end(sandbox: SandboxState, epoch: int, n: int, *, is_lost: bool) -> None:
    """Note that a held answer is sent now, or that its client did not wait for it."""
    with sandbox.lock:
        if sandbox.epoch != epoch:
            return
        if is_lost:
            sandbox.journal.mark_unanswered(n)
        else:
            sandbox.journal.send(n, sandbox.runtime.monotonic_us())


def _apply_wire_faults(
    sandbox: SandboxState, call: Call, answered: CallResult, manner: ResponseOptions, met: RuleMatch
) -> HttpResponse:
    """The outcome as an answer, bent on the wire as the rules have it."""
    if met.owner is None:
        return response.build_response(sandbox, call, answered.outcome, manner, answered.as_of)
    wire = met.wire
    if answered.outcome is not None:
        said = response.build_response(sandbox, call, answered.outcome, manner, answered.as_of)
    else:
        said = response.scripted_response(sandbox, *wire.reply) if wire.reply is not None else _DROPPED
    if wire.garble:
        said = said._replace(status=200, body=_GARBAGE)
    if wire.termination == "reset":
        return HttpResponse(0, (), b"", Transmission("reset"))
    if wire.termination == "drop":
        return _DROPPED
    if wire.truncate_bytes is not None:
        return said._replace(transmission=Transmission("cut", wire.truncate_bytes))
    if wire.chunks:
        return said._replace(transmission=Transmission(chunks=wire.chunks, over=wire.over))
    return said


def _log_failure(sandbox: SandboxState, call: Call) -> None:
    """Log the failure under way with its traceback, in which no secret is left."""
    hide = redactor(sandbox)
    told = printable(hide.text(f"unexpected failure in {call.method} {call.path}"))
    record = _LOG.makeRecord(_LOG.name, logging.ERROR, __file__, 0, told, (), None)
    record.exc_text = printable(hide.text(traceback.format_exc()), keep="\n")
    _LOG.handle(record)


def _internal_error(failure: Exception) -> ApiError:
    return ApiError(
        "INTERNAL_ERROR", clause="base.internal", reason=f"the mock failed: {type(failure).__name__}: {failure}"
    )
