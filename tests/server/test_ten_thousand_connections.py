"""
Ten thousand connections at a time, each with a call that has a body.

Server and clients each need as many descriptors: with `ulimit -Hn` below 10,200 there are fewer connections.
"""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.operations import SESSIONS

resource = pytest.importorskip("resource", reason="the system has no limit of open files")

CONNECTIONS, SPARE_DESCRIPTORS = 10_000, 200
SECONDS = 120.0  # for all of it
BODY = b'{"returnUrl": "https://example.test/' + b"a" * 1000 + b'"}'


@pytest.fixture
def descriptors() -> Iterator[Any]:
    """The open files that a process may have, the limit raised as far as it goes; the server inherits it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.deep
@pytest.mark.timeout(2 * SECONDS)
def test_each_of_ten_thousand_connections_gets_the_answer_to_its_own_call(descriptors: int) -> None:
    count = min(CONNECTIONS, descriptors - SPARE_DESCRIPTORS)
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log-format", "off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            key = next(line.split()[-1] for line in server.stdout if "secret key" in line)
            port = int(url.rpartition(":")[2])
            head = (
                f"POST {SESSIONS} HTTP/1.1\r\nHost: {url[7:]}\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n"
            )
            request = f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY
            ids = {each["sessionId"] for each in bodies(port, count, request)}
        finally:
            server.terminate()

    assert count == len(ids)


def bodies(port: int, count: int, request: bytes) -> list[dict[str, str]]:
    """Open the connections, a request on each, all of them until the last answer; return the JSON of the answers."""
    connections = []
    with selectors.DefaultSelector() as selector:
        try:
            for _ in range(count):
                connection = socket.create_connection(("127.0.0.1", port), SECONDS)
                connections.append(connection)
                connection.sendall(request)
                selector.register(connection, selectors.EVENT_READ, bytearray())
            answers: list[Any] = []
            while len(answers) < count:
                ready = selector.select(SECONDS)
                assert ready, f"{len(answers)} of {count} have an answer"
                for event, _ in ready:
                    assert isinstance(event.fileobj, socket.socket)
                    piece = event.fileobj.recv(65536)
                    event.data.extend(piece)
                    assert piece, bytes(event.data)
                    if event.data.endswith(b"}"):
                        selector.unregister(event.fileobj)
                        status, _, body = event.data.partition(b"\r\n\r\n")
                        assert status.startswith(b"HTTP/1.1 202 "), bytes(event.data)
                        answers.append(json.loads(body))
        finally:
            for connection in connections:
                connection.close()
    return answers
