"""
Servers that others use for the same purpose, each with a GET that answers like this mock's GET of a campaign.

Those in Python come with the extra `bench`. With `--peers` a benchmark also gets WireMock by npm, into a cache folder of the
user; it needs java too. A peer that cannot be had is skipped with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mockserver-peers"
PACKAGES = ("wiremock@3.13.2",)
_START_SECONDS = 30.0
_PATH = "/campaigns/one"

_HTTPSERVER = """
import sys, threading
from pytest_httpserver import HTTPServer
server = HTTPServer(port=int(sys.argv[1]))
server.expect_request("/campaigns/one").respond_with_data(open(sys.argv[2]).read(), content_type="application/json")
server.start()
threading.Event().wait()
"""


class Unavailable(Exception):
    """The peer cannot be had here; the message is the reason."""


class Target(NamedTuple):
    """What a client gets: a url, and the headers of the request."""

    url: str
    headers: Mapping[str, str]


class Peer(NamedTuple):
    """A peer's command, by its port and a folder with what it serves, and how its target is made."""

    name: str
    command: Callable[[int, Path], list[str]]
    prepare: Callable[[str], Target]


def download() -> None:
    """Install the peers of npm into the cache folder."""
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed; the peers that it installs are skipped")
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [npm, "install", "--silent", "--no-save", "--prefix", str(CACHE), *PACKAGES],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        print(f"npm did not install the peers: {done.stderr.strip()[-300:]}")


@contextmanager
def serving_peer(peer: Peer, body: bytes) -> Iterator[tuple[Target, int]]:
    """Run a peer that answers with this body where it takes one, and yield its process too; Unavailable if it cannot be had."""
    with tempfile.TemporaryDirectory() as name:
        _write(Path(name), body)
        with serving(peer.name, peer.command, Path(name)) as (url, process):
            yield peer.prepare(url), process


@contextmanager
def serving(name: str, command: Callable[[int, Path], list[str]], folder: Path) -> Iterator[tuple[str, int]]:
    """Run a server on a free port in a folder; yield its address and its process. Unavailable if it cannot be had."""
    port = _free_port()
    with subprocess.Popen(
        command(port, folder), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _await_start(name, process, port)
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.kill()


def _write(folder: Path, body: bytes) -> None:
    """The same answer as each peer reads it: a body and a mapping."""
    answer = json.loads(body)
    (folder / "body.json").write_bytes(body)
    (folder / "mappings").mkdir()
    mapping = {
        "request": {"method": "GET", "url": _PATH},
        "response": {"status": 200, "jsonBody": answer, "headers": {"Content-Type": "application/json"}},
    }
    (folder / "mappings" / "one.json").write_text(json.dumps(mapping), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _await_start(name: str, process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Unavailable(f"it ended with status {process.returncode}")
        try:
            _request(f"http://127.0.0.1:{port}", "GET", "/")
            return
        except (OSError, HTTPException):
            time.sleep(0.05)
    raise Unavailable(f"it did not answer within {_START_SECONDS:.0f} s")


def _request(url: str, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=5)
    try:
        connection.request(method, path, body, headers)
        return connection.getresponse().read()
    finally:
        connection.close()


def _python(module: str, *arguments: str) -> list[str]:
    if find_spec(module) is None:
        raise Unavailable(f"{module} is not installed; the extra `bench` has it")
    return [sys.executable, *arguments]


def wiremock(port: int, folder: Path) -> list[str]:
    """Return the command of WireMock on a port, with the mappings of a folder."""
    java = shutil.which("java")
    jar = next((CACHE / "node_modules" / "wiremock" / "build").glob("*.jar"), None)
    if java is None or jar is None:
        raise Unavailable("java is not installed" if java is None else "it is not in the cache folder; --peers gets it")
    return [java, "-jar", str(jar), "--port", str(port), "--root-dir", str(folder), "--disable-banner"]


def _canned(url: str) -> Target:
    return Target(url + _PATH, {})


PEERS = (
    Peer("WireMock", wiremock, _canned),
    Peer(
        "pytest-httpserver",
        lambda port, folder: _python("pytest_httpserver", "-c", _HTTPSERVER, str(port), str(folder / "body.json")),
        _canned,
    ),
)
