"""
The processes of a fleet, its shards and its proxy: their start, their output, and their end.

1. What a process prints to standard error is logged behind its name. Its address is replaced by its name, since clients
   have to use the one of the fleet.
2. While a process starts, its lines are held back: if it fails, the one message of the failure contains the last ones.
3. A shard that starts again has another run and the same port, so that the proxy needs no other configuration. The fleet
   reserves that port, which a connection of the proxy could take otherwise while the shard does not run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from mockserver.fleet import launch
from mockserver.fleet.rules import Address, shard_name

HOST: Final = "127.0.0.1"
CAN_RESERVE: Final = sys.platform == "linux"  # a port, on which another process can listen
START_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.01
_LINES_STORED: Final = 5
_LINE_MAX_BYTES: Final = 256 * 1024

Write = Callable[[str], object]


class StartError(Exception):
    """A process that did not start; the message contains the last lines that it has printed."""


class ShardConfig(NamedTuple):
    """
    Settings of every shard.

    Attributes:
        shards: their number.
        arguments: options of `mockserver serve`.
        environment: variables of the process.
        folder: for files of the fleet, which exists as long as the fleet.
    """

    shards: int
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path


class LoggedProcess:
    """
    A process whose standard error is logged line by line, from `release` on.

    Attributes:
        hidden: a text of its lines that its name replaces; empty for none.

    Lifetime: until the process ends and its last line is logged.
    """

    def __init__(self, process: Process, name: str, write: Write) -> None:
        self._process = process
        self._name = name
        self._write = write
        self._last: deque[str] = deque(maxlen=_LINES_STORED)
        self._held: list[str] | None = []  # lines before `release`
        self.hidden = ""
        self._reader = asyncio.create_task(self._log())

    @classmethod
    async def start(
        cls, command: Sequence[str], name: str, write: Write, *, env: Mapping[str, str], folder: Path | None = None
    ) -> LoggedProcess:
        """Start a command in a session of its own, so that Ctrl-C ends the fleet in order."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            env=env,
            cwd=folder,
            start_new_session=True,
            limit=_LINE_MAX_BYTES,
        )
        return cls(process, name, write)

    async def _log(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        while line := await _line(stream):
            text = line.decode("utf-8", "replace").rstrip("\n")
            text = text.replace(self.hidden, self._name) if self.hidden else text
            self._last.append(text)
            if self._held is None:
                self._write(f"{self._name}  {text}\n")
            else:
                self._held.append(text)

    def release(self) -> None:
        """Log what it has printed so far, and each further line as it is printed."""
        held, self._held = self._held or [], None
        for text in held:
            self._write(f"{self._name}  {text}\n")

    @property
    def is_running(self) -> bool:
        """True until its end is noticed."""
        return self._process.returncode is None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            if self.is_running:
                self._process.send_signal(number)

    async def wait(self) -> str:
        """Wait for its end, and return how it ended."""
        status = await self._process.wait()
        with suppress(TimeoutError):  # a process of its own may hold the pipe open
            await asyncio.wait_for(asyncio.shield(self._reader), 0.1)
        return f"status {status}" if status >= 0 else signal.Signals(-status).name

    def explain_end(self) -> str:
        """Return the last lines that it has printed, and log all lines that were held back if there are more."""
        if self._held is not None and len(self._held) > _LINES_STORED:
            self.release()
        return " / ".join(line.strip() for line in self._last if line.strip()) or "it printed nothing"

    async def end(self, number: int, within_s: float) -> None:
        """Send a signal, and kill the process if it has not ended after this time."""
        if sys.platform == "win32":  # where `mockserver fleet` is refused
            return
        self.send_signal(number)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), within_s)
        self.send_signal(signal.SIGKILL)
        await self._process.wait()
        self._reader.cancel()


async def _line(stream: asyncio.StreamReader) -> bytes:
    """Return the next line, or a note in place of one that is too long; empty at the end of the stream."""
    try:
        return await stream.readline()
    except ValueError:  # the stream has dropped it
        return b"(a line that is too long)\n"


class ShardProcess:
    """
    One shard, through all its runs.

    Attributes:
        number: of the shard.
        address: the same one in each run; where no port can be reserved, its port is 0 before the first one.
        ready: the address and the keys of the default sandbox, as `mockserver serve --ready-file` writes them.
        process: of the present run, or of the latest one.
        run: the number of the present run, from 1.
        is_ready: True once the present run listens.

    Lifetime: the fleet's.
    """

    def __init__(self, number: int, config: ShardConfig, write: Write) -> None:
        self.number = number
        self.name = shard_name(number)
        self._reservation = _reserve_port()
        self.address = Address(HOST, self._reservation.getsockname()[1] if self._reservation else 0)
        self.ready: dict[str, Any] = {}
        self.process: LoggedProcess | None = None
        self.is_ready = False
        self.run = 0
        self._config = config
        self._write = write
        self._became_ready = asyncio.Condition()

    async def start(self) -> None:
        """
        Start the next run, and wait until it listens.

        Raises:
            StartError: It has ended, or does not listen in time.
        """
        file = self._config.folder / f"{self.name}.json"
        file.unlink(missing_ok=True)
        self.is_ready = False
        self.process = await LoggedProcess.start(
            self._command(file), self.name, self._write, env=self._config.environment
        )
        self.process.hidden = f"http://{self.address}" if self.address.port else ""
        self.run += 1
        self.ready = await self._await_ready(self.process, file)
        self.address = Address(HOST, int(self.ready["url"].rpartition(":")[2]))
        self.process.hidden = f"http://{self.address}"
        self.process.release()
        async with self._became_ready:
            self.is_ready = True
            self._became_ready.notify_all()

    async def await_run_after(self, run: int) -> None:
        """Wait until a later run than this one listens."""
        async with self._became_ready:
            await self._became_ready.wait_for(lambda: self.is_ready and self.run > run)

    def close(self) -> None:
        """Release the port."""
        if self._reservation is not None:
            self._reservation.close()

    def _command(self, file: Path) -> list[str]:
        # fmt: off
        return [
            sys.executable, "-m", "mockserver", "serve", *self._config.arguments,
            "--host", HOST, "--port", str(self.address.port), "--ready-file", str(file), "--exit-with-parent",
            "--shard", f"{self.number}/{self._config.shards}/{self.run}",
        ]
        # fmt: on

    async def _await_ready(self, process: LoggedProcess, file: Path) -> dict[str, Any]:
        try:
            async with asyncio.timeout(START_SECONDS):
                while not file.exists():
                    if not process.is_running:
                        ended = await process.wait()
                        raise StartError(f"{self.name} ended with {ended} at its start: {process.explain_end()}")
                    await asyncio.sleep(_POLL_SECONDS)  # the file is written by another process
        except TimeoutError:
            process.release()
            raise StartError(f"{self.name} does not listen after {START_SECONDS:g} s") from None
        ready: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return ready


def _reserve_port() -> socket.socket | None:
    """Return a socket that has a free port without listening, on which the shard can listen."""
    if not CAN_RESERVE:
        return None
    reservation = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reservation.bind((HOST, 0))
    return reservation


async def start_proxy(command: Sequence[str], name: str, folder: Path, write: Write) -> LoggedProcess:
    """Start a proxy, which ends with this process."""
    own = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    launched = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), *command]
    return await LoggedProcess.start(launched, name, write, env={**os.environ, **own}, folder=folder)
