"""
One call of the public API: the operation with its journal entry, and the rules around it.

`api_steps` is the whole of `/v1`, over a socket and in process.

1. A rule's wait holds no lock. On a connection the call yields it: the server spends it in real time, and the sandbox's
   next epoch cancels it. In process a wait moves the sandbox's clock, and ends with the client's timeout.
2. A call that returns from a wait into a newer epoch changes nothing and gets no response.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Literal, NamedTuple, Protocol

from mockserver.core.faults import injection
from mockserver.core.faults.injection import RuleMatch
from mockserver.core.instants import Duration
from mockserver.core.scheduler import run_until
from mockserver.core.state.calls import ApiError, Call, CallResult
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.sandbox import Position, SandboxState, cut, journal_entry
from mockserver.server.errors import log_failure
from mockserver.wire.request import HttpRequest, parse_call
from mockserver.wire.response import (
    HttpResponse,
    NoResponse,
    PendingWait,
    ResponseOptions,
    Transmission,
    Waited,
    build_response,
    redactor,
    scripted_response,
    without_body,
)

Response = HttpResponse | NoResponse
# A request in steps, up to its response. It yields a wait that the server is to spend, and then gets how that has ended; and
# `may-block` before it sends webhooks, or calls others who may take locks.
Step = PendingWait | Literal["may-block"]
Steps = Generator[Step, Waited | None, Response]


def next_step(steps: Steps, waited: Waited | None = None) -> Step | Response:
    """Run a request to its next step, or to its response; `waited` is how the wait of its last step has ended."""
    try:
        return steps.send(waited)
    except StopIteration as end:
        response: Response = end.value
        return response


def run_steps(steps: Steps, waited: Waited | None = None) -> PendingWait | Response:
    """Run a request to its next wait, or to its response, on a thread that may block and holds no lock."""
    step = next_step(steps, waited)
    while isinstance(step, str):
        step = next_step(steps)
    return step


def response_of(steps: Steps) -> Response:
    """Return the response to a request of a client that spends its waits itself."""
    response = run_steps(steps)
    assert not isinstance(response, PendingWait)
    return response


class ClientWait(Protocol):
    """How the client of one call waits for its response."""

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> Waited | PendingWait:
        """
        Let `span` pass, or return the wait, which the server then spends.

        Returns:
            `passed`, `canceled` by a new epoch, or `timed-out` if the client gives up before.
        """

    def stored_body(self) -> Callable[[], tuple[bytes | None, str | None]] | None:
        """Return what reads the call's body again after a wait, or why it cannot; None if the call has to hold the body."""

    def if_lost(self, note: Callable[[], None]) -> None:
        """Call `note` if the response does not reach the client."""

    def is_reused(self) -> bool:
        """Return True if the call's connection has carried another call before; always False in process."""

    def timeout(self) -> Duration | Literal["socket"] | None:
        """Return the client's timeout, None if it has none, or `socket` if it waits in real time."""


class VirtualWait(NamedTuple):
    """
    A client in this process: a wait moves the sandbox's clock.

    Attributes:
        timeout_us: the client gives up after this long; None if it has no timeout.
    """

    timeout_us: Duration | None = None

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> Waited:
        if sandbox.epoch != epoch:
            return "canceled"
        if self.timeout_us is not None and span > self.timeout_us:
            sandbox.runtime.pass_virtual_time(sandbox, self.timeout_us)
            return "timed-out"
        sandbox.runtime.pass_virtual_time(sandbox, span)
        return "passed"

    def stored_body(self) -> None:
        """Return None: the caller of the API holds the body too."""

    def if_lost(self, note: Callable[[], None]) -> None:
        """Do nothing: a client in this process waits until its timeout."""

    def is_reused(self) -> bool:
        return False

    def timeout(self) -> Duration | None:
        return self.timeout_us


NO_TIMEOUT = VirtualWait()


_NOT_JSON = b'{"data": [{"id": "camp\xff\x00\x1b] <<\xc3(>>'  # not UTF-8 either


def _count(sandbox: SandboxState, entry: JournalEntry) -> None:
    calls = sandbox.runtime.calls
    if calls is not None:
        row = entry.operation, entry.status
        calls[row] = calls.get(row, 0) + 1


class ExchangeSteps:
    """
    A call and the rules that fire at it, in three phases: `before`, `operate` and `after`.

    Attributes:
        response: what the client gets; no response until `operate` has run.
        number: the number of the call's journal entry; 0 until `operate` has run.

    Lifetime: one call.
    Lock: no wait holds the sandbox's lock. The caller of `run` may hold it only for a client whose server spends the waits.
    """

    __slots__ = ("_arrived", "_call", "_client", "_epoch", "_match", "_options", "_sandbox", "number", "response")

    _match: RuleMatch
    _arrived: Position

    def __init__(self, sandbox: SandboxState, call: Call, options: ResponseOptions, client: ClientWait) -> None:
        self._sandbox = sandbox
        self._call = call
        self._options = options
        self._client = client
        self._epoch = 0
        self.response: HttpResponse | NoResponse = NoResponse("drop")
        self.number = 0

    def run(self) -> Steps:
        """Run the three phases, with the waits before and after the operation."""
        with self._sandbox.lock:
            self.before()
            match = self._match
            if not match.wire.delay_before:
                self.operate()
        if match.wire.delay_before:
            if self._client.stored_body() is not None:
                self._call = self._call._replace(body=b"")
            waited = yield from self._wait(match.wire.delay_before)
            if not self._operate_after_wait(waited):
                return self.response
        if match.wire.delay_after:
            waited = yield from self._wait(match.wire.delay_after)
            if not self._reaches_client(waited):
                return self.response
        self.after()
        return self.response

    def _wait(self, span: Duration) -> Generator[PendingWait, Waited | None, Waited]:
        """Let the client wait, and return how that has ended."""
        waited = self._client.wait(self._sandbox, self._epoch, span)
        if isinstance(waited, PendingWait):
            return (yield waited) or "canceled"
        return waited

    def before(self) -> None:
        """
        Match the rules to the call.

        A call that a rule makes wait gets its number, and a place in the journal's commands, here.

        Lock: the caller holds it.
        """
        sandbox = self._sandbox
        run_until(sandbox, sandbox.read_clock())
        injection.take_snapshot(sandbox)
        match = self._match = injection.match_rules(sandbox, self._call)
        self._epoch, self._arrived = sandbox.epoch, sandbox.position()
        if match.wire.has_waits:
            self._call = self._call._replace(number=sandbox.next_number("call that waits"))
            arguments = {"call": cut(self._call), "waits": self._client.timeout()}
            sandbox.journal.add_command("call", arguments, *self._arrived)

    def operate(self) -> None:
        """
        Run what the rules leave of the operation, record the call, and run the effects that follow the operation.

        Lock: the caller holds it.
        """
        sandbox, call, match = self._sandbox, self._call, self._match
        result: CallResult | None = None
        try:
            result = recorded = injection.run_operation(sandbox, call, match)
            self.response = _with_wire_faults(sandbox, call, result, self._options, match)
        except Exception as failure:  # noqa: BLE001 - for any failure the client gets the documented error
            recorded, self.response = _internal_error(sandbox, call, self._options, failure)
        self._record(recorded)
        self.number = sandbox.journal.last_exchange  # before effects at which another call may arrive
        if result is not None:
            injection.run_after_effects(sandbox, call, match, result)
        if match.wire.has_waits:
            # Nothing reads it again, and this object lives until the garbage collector runs: its client refers back to it.
            self._call = call._replace(body=b"")

    def after(self) -> None:
        """
        Set the way in which the body of the response is sent.

        A response that does not reach its client is marked as lost in the journal.
        """
        match, client, response = self._match, self._client, self.response
        is_slow = _is_slow(self._call, response)
        if match.wire.delay_before or match.wire.delay_after or is_slow:
            client.if_lost(lambda: self._mark_end(is_lost=True))
        if is_slow and isinstance(response, HttpResponse) and response.transmission is not None:
            self.response = response._replace(
                transmission=response.transmission._replace(
                    wait=lambda span: client.wait(self._sandbox, self._epoch, span),
                    ended=lambda is_whole: self._mark_end(is_lost=not is_whole),
                )
            )
        elif match.wire.delay_before or match.wire.delay_after:
            self._mark_end(is_lost=False)

    def _operate_after_wait(self, waited: Waited) -> bool:
        """
        Run the operation and return True.

        After a reset nothing runs. The call of a client that has given up in the wait arrives when it is due.
        """
        sandbox, match = self._sandbox, self._match
        read_body = self._client.stored_body()
        if read_body is not None and waited == "passed":
            body, failure = read_body()
            self._call = self._call._replace(body=body, body_failure=failure)
        with sandbox.lock:
            if waited == "canceled" or sandbox.epoch != self._epoch:
                return False
            run_until(sandbox, sandbox.read_clock())
            if waited == "timed-out":
                injection.defer_call(sandbox, self._call, match, *self._arrived[:2])
                self.response = NoResponse("timeout")
                return False
            injection.take_snapshot(sandbox)
            self.operate()
        return True

    def _reaches_client(self, waited: Waited) -> bool:
        """Return True if the client still waits for the response; else mark the response as lost."""
        if waited == "canceled" or self._sandbox.epoch != self._epoch:
            self.response = NoResponse("drop", self._entry_left())
            return False
        if waited == "timed-out":
            self._mark_end(is_lost=True)
            self.response = NoResponse("timeout", self.response.entry)
            return False
        return True

    def _entry_left(self) -> JournalEntry | None:
        """Return the call's entry, unless a reset has discarded it."""
        with self._sandbox.lock:
            entry = self.response.entry
            return entry if entry in self._sandbox.journal.exchanges else None

    def _record(self, result: CallResult) -> None:
        """Add the call to the journal, with the part of the response that reaches the client."""
        sandbox, call, match, response = self._sandbox, self._call, self._match, self.response
        status: int | None = None
        headers: tuple[tuple[str, str], ...] = ()
        body = b""
        if isinstance(response, HttpResponse):
            status, headers, body = response.status, response.headers, response.body
            if response.transmission is not None:
                body = body[: response.transmission.truncate_bytes]
        fault = match.owner.fault() if match.owner is not None else None
        entry = journal_entry(sandbox, call, result, status, headers, body, fault)
        if fault is not None:
            is_held = status is not None and bool(match.wire.delay_after or _is_slow(call, response))
            entry = entry._replace(is_reused=self._client.is_reused(), is_held=is_held)
        sandbox.journal.add_exchange(entry)
        _count(sandbox, entry)
        self.response = response._replace(entry=entry)

    def _mark_end(self, *, is_lost: bool) -> None:
        """Mark in the journal that a held response is sent now, or that its client did not wait for it."""
        sandbox = self._sandbox
        with sandbox.lock:
            if sandbox.epoch != self._epoch:
                return
            if is_lost:
                sandbox.journal.mark_unanswered(self.number)
            else:
                sandbox.journal.send(self.number, sandbox.runtime.monotonic_us())


def _is_slow(call: Call, response: HttpResponse | NoResponse) -> bool:
    """Return True if the body is sent in pieces with waits between them."""
    if isinstance(response, NoResponse) or response.transmission is None or call.method == "HEAD":
        return False
    return bool(response.transmission.chunks and response.body)


def _with_wire_faults(
    sandbox: SandboxState, call: Call, result: CallResult, options: ResponseOptions, match: RuleMatch
) -> HttpResponse | NoResponse:
    """Return the response to a result, with the faults of the rule that owns the call."""
    wire = match.wire
    if wire.reply is not None:
        response = scripted_response(sandbox, *wire.reply)
    elif result.outcome is not None:
        response = build_response(sandbox, call, result.outcome, options, result.as_of)
    else:
        return NoResponse(wire.termination or "drop")
    if wire.garble:
        response = response._replace(status=200, body=_NOT_JSON)
    if wire.termination is not None:
        return NoResponse(wire.termination)
    if wire.truncate_bytes is not None and wire.truncate_bytes >= len(response.body) and match.owner is not None:
        sandbox.rule_set.no_target[match.owner.id] = f"truncate: the body has {len(response.body)} bytes"
    if wire.truncate_bytes is not None or wire.chunks:
        return response._replace(transmission=Transmission(wire.truncate_bytes, wire.chunks, wire.over))
    return response


def _internal_error(
    sandbox: SandboxState, call: Call, options: ResponseOptions, failure: Exception
) -> tuple[CallResult, HttpResponse]:
    """Log the failure that is being handled, and return INTERNAL_ERROR as the call's result."""
    log_failure(f"unexpected failure in {call.method} {call.path}", redactor(sandbox))
    reason = f"the mock failed: {type(failure).__name__}: {failure}"
    result = CallResult(ApiError("INTERNAL_ERROR", reason=reason), None, None)
    return result, build_response(sandbox, call, result.outcome, options._replace(strict=False))


def api_steps(
    sandbox: SandboxState,
    request: HttpRequest,
    options: ResponseOptions = ResponseOptions(),  # noqa: B008 - an immutable default
    client: ClientWait = NO_TIMEOUT,
) -> Steps:
    """
    Run the timers that are due, then the request, and record it in the journal.

    Args:
        sandbox: the sandbox that the request names.
        request: with a target below the sandbox's prefix.
        options: what the server adds to a response.
        client: how a wait of a rule is spent.

    Returns:
        The documented response or error, unless a rule changes it; INTERNAL_ERROR for an unexpected failure.

    Lock: takes the sandbox's lock; waits without it.
    """
    call = parse_call(request)
    is_head = call.method == "HEAD"
    steps = ExchangeSteps(sandbox, call, options, client).run()
    del request, call  # a wait would hold the body
    response = yield from steps
    return without_body(response) if is_head else response
