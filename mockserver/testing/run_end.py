"""The end of a run whose client would never end by itself: how a run is ended, and the limit of reads that cannot change."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from weakref import ref

from mockserver.contract.effects import deciding
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import FINAL
from mockserver.contract.text import json_value
from mockserver.core.state.journal import JournalEntry
from mockserver.server.hosting.closed import OF_A_RUN, Ended
from mockserver.server.hosting.host import HostedSandbox

_OF_SERVER = "mockserver http"  # the beginning of the names of the socket's threads
_ANSWERING = frozenset(deciding("response"))
_RECORD_READS = frozenset(name for name, row in ENDPOINTS.items() if row.method == "GET" and "{" in row.path)


class RunEnded(BaseException):
    """Ends a run that reached a bound; not an Exception, so that no client catches it by accident."""


def is_socket_thread() -> bool:
    """Return True in a thread of a server, whose client is at the other end of a socket."""
    return threading.current_thread().name.startswith(_OF_SERVER)


def end_run(hosted: HostedSandbox, reason: str) -> None:
    """
    End a run: over a socket close its sandbox, so that later calls get 410 with the reason.

    Raises:
        RunEnded: The client is in process.
    """
    if not is_socket_thread():
        raise RunEnded(reason)
    refuse_calls(hosted, reason)


def refuse_calls(hosted: HostedSandbox, reason: str) -> None:
    """Close the sandbox of a run, whose later calls then get 410 with the reason."""
    hosted.host.close(hosted.id, ended_by=Ended(OF_A_RUN, reason))


class ReadsLimit:
    """
    Ends a test whose client reads one record without end.

    It counts equal reads of one record with equal answers and no call of the API between them, if the record has ended, if
    the clock stays where it is, or if a rule gives the answers: then no further read is answered differently. It looks at the journal only when a row
    of this length is possible, so that a call costs it one comparison.

    Lifetime: that of its sandbox.

    Args:
        hosted: A sandbox of this process.
        limit: The number of reads that ends the test.

    Attributes:
        reason: Why the test was ended; None if it was not.
    """

    def __init__(self, hosted: HostedSandbox, limit: int) -> None:
        self.reason: str | None = None
        # Weak, since the sandbox has this object among its listeners: so a closed one is freed without the garbage collector.
        self._hosted = ref(hosted)
        self._state, self._limit = hosted.sandbox, limit
        self._next = self._state.journal.last_exchange + limit  # the number of the first call that may end such a row
        hosted.listeners.append(self._check)

    def _check(self) -> None:
        last = self._state.journal.last_exchange
        if self._next - self._limit <= last < self._next:  # a reset takes the numbers back
            return
        with self._state.lock:
            newest_first = list(islice(reversed(self._state.journal.exchanges), self._limit))
            row = _row(newest_first)
            if len(row) < self._limit:
                differing = newest_first[len(row)].n if len(row) < len(newest_first) else last - len(row)
                self._next = differing + self._limit
                return
            self._next = last + 1
            self.reason = _reason(row)
        hosted = self._hosted()
        assert hosted is not None  # it has called this method
        end_run(hosted, self.reason)


def _row(newest_first: Sequence[JournalEntry]) -> Sequence[JournalEntry]:
    """Return the reads at the end of a run that are one row, the newest first."""
    if not newest_first or newest_first[0].operation not in _RECORD_READS:
        return ()
    newest = newest_first[0]
    has_ended, is_given = _has_ended(newest), _is_given(newest)
    for place, entry in enumerate(newest_first):
        is_answered_alike = (entry.status, entry.answer) == (newest.status, newest.answer)
        is_equal = is_answered_alike and entry.request == newest.request
        if not is_equal or not (has_ended or entry.at == newest.at or (is_given and _is_given(entry))):
            return newest_first[:place]
    return newest_first


def _has_ended(read: JournalEntry) -> bool:
    return _status(read) in FINAL


def _is_given(read: JournalEntry) -> bool:
    """Return True if a rule has given the answer in place of the record."""
    return read.fault is not None and not _ANSWERING.isdisjoint(read.fault.effects)


def _status(read: JournalEntry) -> str | None:
    """Return the status of the record that a read has returned."""
    body = json_value(read.answer) if read.status == 200 else None
    status = body.get("status") if isinstance(body, dict) else None
    return status if isinstance(status, str) else None


def _reason(row: Sequence[JournalEntry]) -> str:
    newest = row[0]
    *_, record_id = newest.call.params.values()
    numbers = f"#{row[-1].n} to #{newest.n}"
    read = f"the client read {record_id} {len(row)} times in a row ({newest.operation}, {numbers})"
    if _has_ended(newest):
        return f"{read}, although it was {_status(newest)}: the loop does not end there"
    if row[-1].at != newest.at:
        return f"{read} with the equal answers of a rule: the loop does not end"
    return f"{read} with equal answers, while the clock did not move: let the client sleep by mockserver.sleep, which moves it"
