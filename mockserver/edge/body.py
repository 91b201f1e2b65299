"""The body of a request as it arrives, counted or chunked (RFC 9112 6 and 7), for a WSGI app to read."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mockserver.edge.http1 import HEAD_MAX_BYTES, Inflow, Refusal

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SKIPPED_MAX_BYTES = 64 * 1024  # of an unread body; past that, closing is cheaper than reading on

_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")


class Body(io.RawIOBase):
    """
    A request's body as it arrives: counted, or chunked with its chunks joined and its trailers dropped.

    `failure` is what ended it early; every later read raises it again.
    `invite` is called once, before the first byte is waited for (it sends `100 Continue`).
    """

    def __init__(self, inflow: Inflow, length: int | None, max_bytes: int, invite: Callable[[], None] | None) -> None:
        self._inflow = inflow
        self._chunked = length is None
        self._left = length or 0  # bytes left of the body, or of the chunk at hand
        self._begun = self._ended = False
        self._room = max_bytes
        self.invite = invite
        self.failure: Refusal | OSError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.failure is not None:
            raise self.failure
        try:
            return self._read(memoryview(buffer).cast("B"))
        except (Refusal, OSError) as failure:
            self.failure = failure
            raise

    def _read(self, view: memoryview) -> int:
        if self.invite is not None and not self._inflow.held:
            self.invite()
        self.invite = None
        if not self._left and self._chunked and not self._ended:
            self._next_chunk()
        if not self._left or not len(view):
            return 0
        got = self._inflow.into(view[: self._left])
        self._left -= got
        return got

    def _next_chunk(self) -> None:
        if self._begun and self._inflow.take(2) != b"\r\n":
            raise Refusal("a chunk is longer than it says")
        self._begun = True
        match = _CHUNK_SIZE.fullmatch(self._inflow.line())
        if match is None:
            raise Refusal("a chunk does not begin with its size")
        self._left = int(match[1], 16)
        self._room -= self._left
        if self._room < 0:
            raise Refusal("the request's body is larger than its path takes, the mock's own bound")
        if not self._left:
            self._skip_trailers()
            self._ended = True

    def _skip_trailers(self) -> None:
        """Read the trailers and drop them; what is none may be the next request, from a client that ends bodies otherwise."""
        room = HEAD_MAX_BYTES
        while line := self._inflow.line():
            if not _TRAILER.fullmatch(line):
                raise Refusal("a trailer of the chunked body is not a header")
            room -= len(line)
            if room < 0:
                raise Refusal(f"the trailers are longer than {HEAD_MAX_BYTES} bytes, the mock's own bound")

    @property
    def skippable(self) -> bool:
        """Whether what is left may be read and thrown away: it comes unasked, and what is announced is not too much."""
        return self.failure is None and self.invite is None and self._left <= SKIPPED_MAX_BYTES

    def skip(self) -> bool:
        """Read what is left and throw it away; False when that is not worth it, and the connection has to end."""
        if not self.skippable:
            return False
        room = SKIPPED_MAX_BYTES
        scrap = bytearray(16 * 1024)
        while room >= 0 and (got := self.readinto(scrap)):
            room -= got
        return room >= 0
