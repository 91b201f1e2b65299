"""The body of a request, counted or chunked: stored in memory or, if it is large, in a temporary file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO

from httptools import HttpParserError, HttpRequestParser

from mockserver.server.http1.request import HEAD_MAX_BYTES, LINE_MAX_BYTES, BadRequest

SKIPPED_MAX_BYTES = 64 * 1024  # of an unread body; beyond that closing costs less than reading
SMALL_MAX_BYTES = 64 * 1024  # of a body that stays in memory, outside of the total
_PIECE_BYTES = 256 * 1024  # of a body with a file, for each write to it
_SIZE_LINE_BYTES = 16  # of a size line, which are not counted as excess


class BodyTotal:
    """
    The bytes of the large bodies of one server, from their arrival to their response, with their bound.

    While they exceed the bound, the largest body that still arrives gives way. Only the loop's thread uses it.

    Attributes:
        taken_bytes: of all large bodies.
    """

    def __init__(self, max_bytes: int | None) -> None:
        self.taken_bytes = 0
        self.max_bytes = max_bytes
        self._arriving: set[RequestBody] = set()

    def add(self, body: RequestBody, count: int) -> None:
        """Count bytes of a body that arrives, and make room for them."""
        self.taken_bytes += count
        self._arriving.add(body)
        while self.max_bytes is not None and self.taken_bytes > self.max_bytes and self._arriving:
            max(self._arriving, key=lambda each: each.size_bytes).give_way()

    def note_whole(self, body: RequestBody) -> None:
        """Let a body whose last byte has arrived not give way."""
        self._arriving.discard(body)

    def remove(self, body: RequestBody, count: int) -> None:
        """Count the bytes of a body no longer."""
        self.taken_bytes -= count
        self._arriving.discard(body)


class RequestBody:
    """
    Reads one body from the bytes of its connection.

    Its connection calls `write` off the event loop whenever `has_much_unwritten` is true, and `lose` if that fails. In the end
    it calls `close`, and after the last `write` also `close_file`.

    Args:
        length: in bytes, None for a chunked body.
        max_bytes: the bound; with 0 a chunked body is beyond it from the start.
        total: of its server.
        on_give_way: called if the total needs its room; the next `receive` then refuses the request.

    Attributes:
        is_whole: True once its last byte was read.
        is_beyond: True once it is larger than `max_bytes`; the rest is dropped.
        has_file: True once it is large; its connection sets it.
        size_bytes: of the part that has arrived.
        received_bytes: of the connection for it so far, with what frames its chunks.
    """

    def __init__(self, length: int | None, max_bytes: int, total: BodyTotal, on_give_way: Callable[[], None]) -> None:
        self.size_bytes = self.received_bytes = 0
        self.is_whole = length == 0
        self.is_beyond = length > max_bytes if length is not None else not max_bytes
        self.has_file = False
        self._max_bytes = max_bytes
        self._left = length or 0
        self._skipped = 0
        self._chunks = _Chunks(self._store) if length is None else None
        self._unwritten = bytearray()  # the part that is not in the file
        self._file: IO[bytes] | None = None
        self._failure: Exception | None = None  # of the write that has lost the body
        self._total = total
        self._counted = 0  # in the total
        self._on_give_way = on_give_way
        self._has_given_way = False

    def receive(self, received: bytearray) -> None:
        """Take the body's part of the bytes, at their beginning; raise BadRequest for invalid chunks, and if it has to give way."""
        if self._chunks is not None:
            taken = self._chunks.read(received)
            self.is_whole = self._chunks.is_whole
        else:
            taken = min(self._left, len(received))
            self._left -= taken
            self._store(bytes(memoryview(received)[:taken]))
            self.is_whole = not self._left
        self.received_bytes += taken
        del received[:taken]
        self._count()
        if self._has_given_way:
            limit = self._total.max_bytes
            why = f"the bodies under way take more than the {limit} bytes that the server has for them; try again later"
            raise BadRequest(why, is_own_failure=True)

    def _count(self) -> None:
        """Count in the total what has arrived of a large body."""
        is_stored = not (self.is_beyond or self.is_lost or self._has_given_way)
        if is_stored and max(self._counted, SMALL_MAX_BYTES) < self.size_bytes:
            uncounted = self.size_bytes - self._counted
            self._counted += uncounted
            self._total.add(self, uncounted)
        if self.is_whole:
            self._total.note_whole(self)

    def _store(self, piece: bytes) -> None:
        self.size_bytes += len(piece)
        self.is_beyond = self.is_beyond or self.size_bytes > self._max_bytes
        if self.is_beyond or self.is_lost:
            self._skipped += len(piece)
        else:
            self._unwritten += piece

    @property
    def has_much_unwritten(self) -> bool:
        """True if the body is large, and so is its part that is not in its file."""
        return len(self._unwritten) > (_PIECE_BYTES if self.has_file else SMALL_MAX_BYTES)

    def write(self) -> None:
        """Write what has arrived to the file, in any thread; a slow disk then delays only this body."""
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - `close_file` closes it
        unwritten, self._unwritten = self._unwritten, bytearray()
        self._file.seek(0, SEEK_END)
        self._file.write(unwritten)

    def lose(self, failure: Exception) -> None:
        """Drop the body, of which a part could not be written, and all that arrives of it later; `read` raises the failure."""
        self._failure = failure
        self._unwritten = bytearray()
        self._total.note_whole(self)

    @property
    def is_lost(self) -> bool:
        """True once a part of the body could not be written."""
        return self._failure is not None

    @property
    def can_skip(self) -> bool:
        """True if the rest may be read and dropped, since it is not too large."""
        return self._left <= SKIPPED_MAX_BYTES and self._skipped <= SKIPPED_MAX_BYTES

    def content(self) -> bytes | RequestBody | None:
        """Return the body, itself if it is in a file or lost; None for one beyond its bound."""
        if self.is_beyond:
            return None
        return self if self.has_file else bytes(self._unwritten)

    def read(self) -> bytes:
        """Return the body that is in a file, in any thread, until it is closed; raise OSError if the file is not complete."""
        if self._failure is not None:
            raise OSError(str(self._failure)) from self._failure
        if self._unwritten:
            self.write()
        assert self._file is not None
        self._file.seek(0)
        return self._file.read()

    def give_way(self) -> None:
        """Drop the body, since all bodies take more than the server has for them."""
        self._has_given_way = True
        self.close()
        self._on_give_way()

    def close(self) -> None:
        """Drop the body, and count it no longer; a second call does nothing."""
        self._unwritten = bytearray()
        self._total.remove(self, self._counted)
        self._counted = 0

    def close_file(self) -> None:
        """Delete the file of a large body, in any thread."""
        if self._file is not None:
            with suppress(OSError):  # a disk that is full still
                self._file.close()


class _Chunks:
    """
    Joins the chunks of a body and drops its trailers.

    The parser, which checks the grammar, gets one line at a time, or bytes of one chunk, and so never a byte of the next
    request. Each byte is looked at a fixed number of times, however the bytes arrive.
    """

    def __init__(self, store: Callable[[bytes], None]) -> None:
        self.is_whole = False
        self.on_body = store  # the parser calls it
        self._parser = HttpRequestParser(self)
        self._parser.feed_data(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        self._line = bytearray()  # the part that has arrived of a size line or a trailer
        self._left = 0  # of the chunk, with its line end; 0 in a line
        self._is_in_trailers = False
        self._trailer_bytes = 0
        self._excess = 0  # of the size lines, beyond what the data explains

    def on_message_complete(self) -> None:
        self.is_whole = True

    def read(self, received: bytearray) -> int:
        """Parse up to the end of the body, and return the number of its bytes."""
        at = 0
        while at < len(received) and not self.is_whole:
            if self._left:
                end = min(at + self._left, len(received))
                self._left -= end - at
                self._parse(received[at:end])
            else:
                end = (received.find(b"\n", at) + 1) or len(received)
                self._read_line(received[at:end])
            at = end
        return at

    def _read_line(self, piece: bytearray) -> None:
        """Parse a part of a line, and at its end find out what follows."""
        line = self._line
        line += piece
        if len(line.rstrip(b"\r\n")) > LINE_MAX_BYTES:
            raise BadRequest(f"a line of the chunked body is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
        if self._is_in_trailers:
            self._trailer_bytes += len(piece)
            if self._trailer_bytes > HEAD_MAX_BYTES:
                raise BadRequest(
                    f"the trailers of the chunked body are longer than {HEAD_MAX_BYTES} bytes, the mock's own bound"
                )
        self._parse(piece)
        if not line.endswith(b"\n"):
            return
        if not self._is_in_trailers:
            size = int(line.partition(b";")[0], 16)
            self._is_in_trailers = not size
            self._left = size + 2 if size else 0
            self._excess = max(0, self._excess + len(line) - _SIZE_LINE_BYTES - 2 * size)
            if self._excess > LINE_MAX_BYTES:
                raise BadRequest("the chunks have far more bytes of extensions than of data, the mock's own bound")
        line.clear()

    def _parse(self, piece: bytearray) -> None:
        try:
            self._parser.feed_data(bytes(piece))
        except HttpParserError as failure:
            raise BadRequest(f"the chunked body is not HTTP/1.1: {failure}") from None
