"""
The least that a server in Python does for a request: asyncio reads, httptools parses, and the answer is constant bytes.

    python -m tests.benchmarks.canned PORT BODY-FILE
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from httptools import HttpRequestParser


class _Connection(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._parser = HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(self._answer)


async def main(port: int, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = head.encode() + body
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(answer), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
