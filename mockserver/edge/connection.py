"""
One connection: request after request to the WSGI app, its answers back, until one side has enough.

1. Whatever goes wrong is answered in the API's own error body, or not at all once an answer has begun; never in HTML.
   HTTP that cannot be read is VALIDATION_ERROR with its one status of the catalogue, since the document knows no other.
2. A client that vanishes is no error: the connection ends without a word.
3. An app that laid hands on `environ["mockserver.socket"]` has answered in its own way; nothing is written after that.
"""

from __future__ import annotations

import io
import json
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mockserver.contract.errors import ERRORS
from mockserver.contract.printable import printable
from mockserver.edge.answer import Answer, Gone, RawSocket
from mockserver.edge.body import Body
from mockserver.edge.http1 import Head, Inflow, Refusal, read_head

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_EAGER_MAX_BYTES = 64 * 1024
_LINGER_SECONDS = 1.0
_LINGER_READS = 1024


def refuse(status: int, why: str) -> bytes:
    """The API's error body for a refusal by the server itself; `why` goes beside it, in `X-Mock-Reason`."""
    row = ERRORS["INTERNAL_ERROR" if status == 500 else "VALIDATION_ERROR"]
    body = {"statusCode": status, "code": row.code, "message": row.message.format(path="requisição")}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Terms:
    """What all connections of a server share; `environ` is the part of the WSGI environ that never changes."""

    app: WSGIApplication
    refuse: Callable[[int, str], bytes]
    log: Callable[[str], None] | None
    idle_seconds: float
    body_max_bytes: int
    explain: bool
    environ: dict[str, Any]


class Connection:
    """Serves one accepted socket from `run` to its end; `cut` and `close` may be called from another thread."""

    def __init__(self, wire: socket.socket, client: tuple[str, int], terms: Terms) -> None:
        self._wire = wire
        self._terms = terms
        self._inflow = Inflow(wire)
        self._exchanges = 0
        self._client = {"REMOTE_ADDR": client[0], "REMOTE_PORT": str(client[1])}

    def run(self) -> None:
        try:
            self._wire.settimeout(self._terms.idle_seconds)
            self._wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._exchange():
                pass
        except OSError:
            pass  # the client has vanished, and nobody is left to tell
        finally:
            self._linger()
            self.close()

    def cut(self) -> None:
        """Wake whatever waits for the client, and let the client see the end at once."""
        with suppress(OSError):
            self._wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._wire.close()

    def _linger(self) -> None:
        """Let the client read the last answer: closing over bytes that still come would reset it away."""
        with suppress(OSError):
            self._wire.shutdown(socket.SHUT_WR)
            self._wire.settimeout(_LINGER_SECONDS)
            for _ in range(_LINGER_READS):
                if not self._wire.recv(64 * 1024):
                    break

    def _exchange(self) -> bool:
        """Answer one request; True when another may follow."""
        raw = RawSocket(self._wire, self._exchanges)
        answer = Answer(self._wire, raw)
        try:
            head = read_head(self._inflow)
            if head is None:
                return False
            answer.to(head)
            answer.body, stream = self._body(head, answer)
        except Refusal as refusal:
            answer.method = answer.method or refusal.method
            self._refuse(answer, refusal)
            self._note(answer)
            return False
        environ = {**self._terms.environ, **self._client, **head.environ}
        environ["wsgi.input"] = stream
        environ["wsgi.errors"] = sys.stderr
        environ["mockserver.socket"] = raw
        try:
            self._run_app(environ, answer)
        finally:
            self._exchanges += 1
            if raw.if_lost is not None and (answer.gone or raw.is_refused()):
                raw.if_lost()
        self._note(answer)
        return answer.persists and not raw.used and (answer.body is None or answer.body.skip())

    def _body(self, head: Head, answer: Answer) -> tuple[Body | None, io.BufferedIOBase]:
        """
        The body, and the stream on which the app reads it.

        A small one is taken whole before the app is called: a client that fails to send it never troubles the app.
        """
        most = self._terms.body_max_bytes
        if head.length is not None and head.length > most:
            raise Refusal(f"the request's body is larger than {most} bytes, the mock's own bound")
        if not head.length and head.length is not None:
            return None, io.BytesIO()
        if head.length is not None and head.length <= _EAGER_MAX_BYTES and not head.expects:
            return None, io.BytesIO(self._inflow.take(head.length))
        body = Body(self._inflow, head.length, most, answer.invite if head.expects else None)
        return body, io.BufferedReader(body)

    def _run_app(self, environ: dict[str, Any], answer: Answer) -> None:
        """Have the app answer; what the client's body did wrong goes before whatever the app makes of it."""
        body = answer.body
        try:
            pieces = self._terms.app(environ, answer.start)
            try:
                if body is None or body.failure is None:
                    answer.play(pieces)
            finally:
                if hasattr(pieces, "close"):
                    pieces.close()
        except Exception:  # noqa: BLE001 - whatever the app raises, the client gets an answer
            if answer.gone:
                raise Gone from None
            if body is None or body.failure is None:
                self._report()
                answer.refuse(
                    500, "the mock itself failed; its log says how", self._terms.refuse, explain=self._terms.explain
                )
        if body is not None and body.failure is not None:
            if not isinstance(body.failure, Refusal):
                raise Gone
            self._refuse(answer, body.failure)

    def _refuse(self, answer: Answer, refusal: Refusal) -> None:
        answer.persists = False
        answer.refuse(ERRORS["VALIDATION_ERROR"].status, refusal.why, self._terms.refuse, explain=self._terms.explain)

    def _report(self) -> None:
        """Show the app's failure to whoever runs the server; the wire never carries it."""
        (self._terms.log or sys.stderr.write)(traceback.format_exc())

    def _note(self, answer: Answer) -> None:
        if self._terms.log is not None:
            self._terms.log(printable(f"{self._client['REMOTE_ADDR']} {answer}"))
