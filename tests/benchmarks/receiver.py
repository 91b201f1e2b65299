"""
A receiver of webhooks in a process of its own, which answers each request immediately: `python -m tests.benchmarks.receiver`.

It prints its url. A GET answers what it has received since the last GET: the ids of the messages in their order, and the
number of connections.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

ACCEPTED = b"HTTP/1.1 204 No Content\r\n\r\n"


class _Receiver(asyncio.Protocol):
    ids: list[str] = []  # noqa: RUF012 - of all connections
    connections = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received = transport, b""
        _Receiver.connections += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, rest = self._received.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                return
            self._received = rest[length:]
            self._transport.write(self._answer(lines[0], headers))

    def _answer(self, line: str, headers: dict[str, str]) -> bytes:
        if not line.startswith("GET "):
            _Receiver.ids.append(headers["webhook-id"])
            return ACCEPTED
        body = json.dumps({"ids": _Receiver.ids, "connections": _Receiver.connections - 1}).encode()
        _Receiver.ids, _Receiver.connections = [], 0
        return b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Receiver, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", flush=True)
    await server.serve_forever()


@contextmanager
def receiving() -> Iterator[str]:
    """Run a receiver; its url."""
    command = [sys.executable, "-m", "tests.benchmarks.receiver"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def received(url: str) -> tuple[list[str], int]:
    """The ids of the messages since the last request, in their order, and the number of connections."""
    with urlopen(url) as response:
        body = json.load(response)
    return body["ids"], body["connections"]


if __name__ == "__main__":
    asyncio.run(_serve())
