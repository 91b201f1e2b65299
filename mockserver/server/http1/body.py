"""The body of a request, counted or chunked: stored in memory or, if it is large, in a temporary file."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from httptools import HttpParserError, HttpRequestParser

from mockserver.server.http1.request import HEAD_MAX_BYTES, LINE_MAX_BYTES, BadRequest

SKIPPED_MAX_BYTES = 64 * 1024  # of an unread body; beyond that closing costs less than reading
_IN_MEMORY_MAX_BYTES = 1024 * 1024  # of a body, or of the part of a large one that is not in its file yet
_PARSED_MAX_BYTES = 4 * 1024  # at a time; up to as many bytes of trailers are not counted
_EMPTY_LINE = b"\r\n\r\n"


class RequestBody:
    """
    Reads one body from the bytes of its connection.

    Its connection calls `write` off the event loop whenever `has_much_unwritten` is true.

    Attributes:
        is_whole: True once its last byte was read.
        is_beyond: True once it is larger than `max_bytes`; the rest is dropped.
        size_bytes: of the part that has arrived.
    """

    __slots__ = (
        "_chunks",
        "_file",
        "_left",
        "_max_bytes",
        "_pieces",
        "_skipped",
        "_unwritten_bytes",
        "is_beyond",
        "is_whole",
        "size_bytes",
    )

    def __init__(self, length: int | None, max_bytes: int) -> None:
        self.size_bytes = 0
        self.is_whole = length == 0
        self.is_beyond = length is not None and length > max_bytes
        self._max_bytes = max_bytes
        self._left = length or 0
        self._skipped = 0
        self._chunks = _Chunks(self._store) if length is None else None
        self._pieces: list[bytes] = []  # that are not in the file
        self._unwritten_bytes = 0
        self._file: IO[bytes] | None = None  # of a large body

    def read(self, received: bytes) -> bytes:
        """Read the body's part of the bytes, and return the bytes after it; raise BadRequest for invalid chunks."""
        if self._chunks is not None:
            rest = self._chunks.read(received)
            self.is_whole = self._chunks.is_whole
            return rest
        taken = received[: self._left]
        self._left -= len(taken)
        self._store(taken)
        self.is_whole = not self._left
        return received[len(taken) :]

    def _store(self, piece: bytes) -> None:
        self.size_bytes += len(piece)
        self.is_beyond = self.is_beyond or self.size_bytes > self._max_bytes
        if self.is_beyond:
            self._skipped += len(piece)
        else:
            self._pieces.append(piece)
            self._unwritten_bytes += len(piece)

    @property
    def has_much_unwritten(self) -> bool:
        """True if the body is large, and so is its part that is not in its file."""
        return self._unwritten_bytes > _IN_MEMORY_MAX_BYTES

    def write(self) -> None:
        """Write the pieces that have arrived to the file, in any thread; a slow disk then delays only this body."""
        if self._file is None:
            from tempfile import TemporaryFile

            self._file = TemporaryFile()  # noqa: SIM115 - its request closes it
        self._file.writelines(self._pieces)
        self._pieces.clear()
        self._unwritten_bytes = 0

    @property
    def can_skip(self) -> bool:
        """True if the rest may be read and dropped, since it is not too large."""
        return self._left <= SKIPPED_MAX_BYTES and self._skipped <= SKIPPED_MAX_BYTES

    def content(self) -> bytes | IO[bytes] | None:
        """Return the body, or the file with it; None for one beyond its bound."""
        if self.is_beyond:
            return None
        if self._file is None and not self.has_much_unwritten:
            return b"".join(self._pieces)
        self.write()
        file, self._file = self._file, None
        return file

    def close(self) -> None:
        """Delete the file of a large body."""
        if self._file is not None:
            self._file.close()


class _Chunks:
    """
    Joins the chunks of a body and drops its trailers.

    A chunked body ends in an empty line. The parser gets the bytes up to one empty line at a time, and so never a byte of
    the next request.
    """

    __slots__ = ("_is_in_size_line", "_parser", "_store", "_tail", "_unstored_bytes", "is_whole")

    def __init__(self, store: Callable[[bytes], None]) -> None:
        self.is_whole = False
        self._store = store
        self._parser = HttpRequestParser(self)
        self._parser.feed_data(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        self._tail = b""  # the last bytes that were parsed, which may begin an empty line
        self._unstored_bytes = 0  # of a size line, or of the trailers
        self._is_in_size_line = True

    def read(self, received: bytes) -> bytes:
        """Parse up to the end of the body, and return the bytes after it."""
        at = 0
        while at < len(received) and not self.is_whole:
            end = min(self._next_empty_line(received, at), at + _PARSED_MAX_BYTES)
            self._parse(received[at:end])
            at = end
        return received[at:]

    def _next_empty_line(self, received: bytes, at: int) -> int:
        """Return the end of the next empty line, else the end of the bytes."""
        around = self._tail + received[at : at + 3]
        split = around.find(_EMPTY_LINE)
        if split >= 0:
            return at + split + len(_EMPTY_LINE) - len(self._tail)
        end = received.find(_EMPTY_LINE, at)
        return len(received) if end < 0 else end + len(_EMPTY_LINE)

    def _parse(self, piece: bytes) -> None:
        self._tail = (self._tail + piece)[-3:]
        self._unstored_bytes += len(piece)
        try:
            self._parser.feed_data(piece)
        except HttpParserError as failure:
            raise BadRequest(f"the chunked body is not HTTP/1.1: {failure}") from None
        if self._is_in_size_line and self._unstored_bytes > LINE_MAX_BYTES:
            raise BadRequest(f"a line of the chunked body is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
        if self._unstored_bytes > HEAD_MAX_BYTES:
            raise BadRequest(
                f"the trailers of the chunked body are longer than {HEAD_MAX_BYTES} bytes, the mock's own bound"
            )

    def on_chunk_header(self) -> None:
        self._is_in_size_line = False
        self._unstored_bytes = 0

    def on_chunk_complete(self) -> None:
        self._is_in_size_line = True
        self._unstored_bytes = 0

    def on_body(self, piece: bytes) -> None:
        self._unstored_bytes = 0
        self._store(piece)

    def on_message_complete(self) -> None:
        self.is_whole = True
