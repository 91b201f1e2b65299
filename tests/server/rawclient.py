"""A client that sends exactly the bytes it is given, and reads answers one by one, as they are framed on the wire."""

from __future__ import annotations

import json
import socket
from typing import Any, NamedTuple, Self

DEADLINE_SECONDS = 60.0


class Answer(NamedTuple):
    """One answer; header names are lower case, `framing` is what marks the end of the body."""

    status: int
    headers: dict[str, str]
    body: bytes
    framing: str

    def json(self) -> Any:
        return json.loads(self.body)


class RawClient:
    """One connection; whatever does not happen within the deadline raises TimeoutError."""

    def __init__(self, port: int | None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS)
        self._reader = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._reader.close()
        self.socket.close()

    def send(self, *lines: str, body: bytes = b"") -> Self:
        """Send a head of these lines, with a Host if there is more than a request line to it, and the body."""
        self.socket.sendall("\r\n".join([*lines, "Host: localhost", "", ""]).encode("latin-1") + body)
        return self

    def answer(self, method: str = "GET") -> Answer:
        status_line = self.line()
        assert status_line.startswith("HTTP/1.1 "), status_line
        status, headers = int(status_line.split(" ")[1]), {}
        while line := self.line():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        if method == "HEAD" or status < 200 or status in (204, 304):
            return Answer(status, headers, b"", "none")
        if "content-length" in headers:
            return Answer(status, headers, self._reader.read(int(headers["content-length"])), "length")
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, self._chunks(), "chunked")
        return Answer(status, headers, self._reader.read(), "end")

    def read(self, size: int) -> bytes:
        return self._reader.read(size)

    def line(self) -> str:
        line = self._reader.readline()
        assert line.endswith(b"\r\n"), line
        return line[:-2].decode("latin-1")

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.line(), 16):
            body += self._reader.read(size)
            assert "" == self.line()
        assert "" == self.line()
        return body

    def ended(self) -> bool:
        """Whether nothing more comes but the server's end of the connection."""
        return self._reader.read() == b""
