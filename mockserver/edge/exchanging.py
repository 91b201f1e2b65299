"""
One exchange: the operation, its answer, and its entry in the journal; under a script with what the rules make of it.

A scripted wait is spent at the door with no lock held. Whoever comes back to a sandbox of a newer epoch finds nothing of
what he left, and is let go without an answer.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from mockserver.contract.printable import printable
from mockserver.core import scripted
from mockserver.core.answer import answer
from mockserver.core.calls import Answered, ApiError, Call
from mockserver.core.entries import cut, entry
from mockserver.core.sandbox import Sandbox
from mockserver.core.scripted import Met
from mockserver.core.settle import settle
from mockserver.edge import replies, steps
from mockserver.edge.doors import Door
from mockserver.edge.replies import Answer, Manner, Play, redactor

_LOG = logging.getLogger("mockserver")
_GARBAGE = b'{"data": [{"id": "camp\xff\x00\x1b] <<\xc3(>>'  # neither JSON nor UTF-8
_DROPPED = Answer(0, (), b"", Play("drop"))
_TIMED_OUT = Answer(0, (), b"", Play("timeout"))

Operate = Callable[[Sandbox, Call], Answered]


def exchange(
    sandbox: Sandbox,
    call: Call,
    manner: Manner,
    operate: Operate = answer,
    met: Met | None = None,
    *,
    is_reused: bool = False,
) -> Answer:
    """
    The answer to a call, kept in the journal. The caller holds the lock and has let time pass up to now.

    `is_reused` is True if the call's connection had carried another one before.
    """
    try:
        answered = operate(sandbox, call)
        said = (
            replies.reply(sandbox, call, answered.outcome, manner)
            if met is None
            else _said(sandbox, call, answered, manner, met)
        )
    except Exception as failure:  # noqa: BLE001 - whatever it is, the client gets the documented error
        _report(sandbox, call)
        answered = Answered(_internal(failure), None, None)
        said = replies.reply(sandbox, call, answered.outcome, manner._replace(strict=False))
    if met is None or met.owner is None:
        sandbox.journal.keep(entry(sandbox, call, answered, said.status, said.headers, said.body))
        return said
    came = said.body[: said.play.cut_bytes] if said.play and said.play.ends == "cut" else said.body
    kept = entry(sandbox, call, answered, said.status or None, said.headers, came, met.owner.fault())
    is_held = bool(said.status and (met.after or _is_slow(call, said)))
    sandbox.journal.keep(kept._replace(is_reused=is_reused, is_held=is_held))
    return said


def under_script(sandbox: Sandbox, call: Call, manner: Manner, door: Door) -> Answer:
    """The answer to a call at which rules may fire."""
    with sandbox.lock:
        settle(sandbox, sandbox.read_clock())
        scripted.remember(sandbox)
        met, epoch, came_at = scripted.meet(sandbox, call), sandbox.epoch, sandbox.now
        if met.before or met.after or met.wire.pieces:
            sandbox.journal.did("call", {"call": cut(call), "waits": door.limit()}, *steps.before(sandbox))
        said, n = (None, 0) if met.before else _concluded(sandbox, call, manner, met, door)
    if said is None:
        waited = door.wait(sandbox, epoch, met.before)
        with sandbox.lock:
            if waited == "released" or sandbox.epoch != epoch:
                return _DROPPED
            settle(sandbox, sandbox.read_clock())
            if waited == "gone":
                scripted.park(sandbox, call, met, came_at + met.before)
                return _TIMED_OUT
            scripted.remember(sandbox)
            said, n = _concluded(sandbox, call, manner, met, door)
    return _held(sandbox, call, said, met, door, epoch, n)


def _concluded(sandbox: Sandbox, call: Call, manner: Manner, met: Met, door: Door) -> tuple[Answer, int]:
    """The answer and its number in the journal; what the world does after the operation has then happened."""
    operated: list[Answered] = []

    def operate(sandbox: Sandbox, call: Call) -> Answered:
        operated.append(scripted.conclude(sandbox, call, met))
        return operated[0]

    said = exchange(sandbox, call, manner, operate, met, is_reused=door.is_reused())
    n = sandbox.journal.last_exchange  # before effects that may let another call arrive
    for answered in operated:
        scripted.follow(sandbox, call, met, answered)
    return said, n


def _is_slow(call: Call, said: Answer) -> bool:
    """Return True if the body is sent in pieces with waits between them."""
    return bool(said.play is not None and said.play.pieces and said.body and call.method != "HEAD")


def _held(sandbox: Sandbox, call: Call, said: Answer, met: Met, door: Door, epoch: int, n: int) -> Answer:
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
    if said.play is not None and is_slow:
        return said._replace(
            play=said.play._replace(
                wait=lambda span: door.wait(sandbox, epoch, span),
                ended=lambda is_whole: _note_end(sandbox, epoch, n, is_lost=not is_whole),
            )
        )
    if met.before or met.after:
        _note_end(sandbox, epoch, n, is_lost=False)
    return said


def _note_end(sandbox: Sandbox, epoch: int, n: int, *, is_lost: bool) -> None:
    """Note that a held answer is sent now, or that its client did not wait for it."""
    with sandbox.lock:
        if sandbox.epoch != epoch:
            return
        if is_lost:
            sandbox.journal.lose(n)
        else:
            sandbox.journal.send(n, sandbox.stage.stopwatch())


def _said(sandbox: Sandbox, call: Call, answered: Answered, manner: Manner, met: Met) -> Answer:
    """The outcome as an answer, bent on the wire as the rules have it."""
    if met.owner is None:
        return replies.reply(sandbox, call, answered.outcome, manner, answered.at)
    wire = met.wire
    if answered.outcome is not None:
        said = replies.reply(sandbox, call, answered.outcome, manner, answered.at)
    else:
        said = replies.raw(sandbox, *wire.reply) if wire.reply is not None else _DROPPED
    if wire.garbled:
        said = said._replace(status=200, body=_GARBAGE)
    if wire.ends == "reset":
        return Answer(0, (), b"", Play("reset"))
    if wire.ends == "drop":
        return _DROPPED
    if wire.cut_bytes is not None:
        return said._replace(play=Play("cut", wire.cut_bytes))
    if wire.pieces:
        return said._replace(play=Play(pieces=wire.pieces, spread=wire.spread))
    return said


def _report(sandbox: Sandbox, call: Call) -> None:
    """Log the failure under way with its traceback, in which no secret is left."""
    hide = redactor(sandbox)
    told = printable(hide.text(f"unexpected failure in {call.method} {call.path}"))
    record = _LOG.makeRecord(_LOG.name, logging.ERROR, __file__, 0, told, (), None)
    record.exc_text = printable(hide.text(traceback.format_exc()), keep="\n")
    _LOG.handle(record)


def _internal(failure: Exception) -> ApiError:
    return ApiError(
        "INTERNAL_ERROR", clause="base.internal", reason=f"the mock failed: {type(failure).__name__}: {failure}"
    )
