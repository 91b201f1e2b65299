"""
The supervisor of a fleet: starts the shards and the proxy, starts again what ends by itself, and ends them all.

1. The fleet is ready once every shard answers through the proxy.
2. SIGINT ends it, and SIGTERM too, with `--drain` once the sandboxes have ended; SIGUSR1 drains in any case.
3. SIGHUP restarts one shard after the other. Calls of a shard that does not run get 503, and its former sandboxes 410.
4. If the supervisor is killed, its shards notice that, and the system ends the proxy.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from mockserver.fleet.processes import (
    CAN_RESERVE,
    LoggedProcess,
    ShardConfig,
    ShardProcess,
    StartError,
    Write,
    start_proxy,
)
from mockserver.fleet.proxies import Proxy, configuration
from mockserver.fleet.rules import Address, routing

ANSWER_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.02
_END_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.1  # before a second start that fails; doubles up to the next figure
_PAUSE_MAX_SECONDS: Final = 5.0

OnReady = Callable[[Address, dict[str, Any]], None]


class FleetConfig(NamedTuple):
    """
    Settings of a fleet.

    Attributes:
        listen: the address of the proxy; the port 0 for a free one.
        proxy: its kind.
        program: the path of its program.
        shards: settings of the shards.
        token: of the control plane; None if it needs none.
        drains: True to wait for the end of the sandboxes at SIGTERM.
    """

    listen: Address
    proxy: Proxy
    program: str
    shards: ShardConfig
    token: str | None
    drains: bool


class Supervisor:
    """
    One fleet.

    Args:
        config: of the fleet.
        write: logs a text that ends in a line end; never blocks.

    Lifetime: one call of `run`.
    """

    def __init__(self, config: FleetConfig, write: Write) -> None:
        self._config = config
        self._write = write
        self._listen = config.listen
        self._shards = [ShardProcess(number, config.shards, write) for number in range(config.shards.shards)]
        self._proxy: LoggedProcess | None = None
        self._reservation: socket.socket | None = None  # of the port, while the proxy does not run
        self._end = asyncio.Event()
        self._is_draining = False
        self._is_rolling = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, on_ready: OnReady) -> None:
        """
        Run the fleet until it is ended.

        Args:
            on_ready: gets the address of the fleet and what shard 0 has written when it was ready.

        Raises:
            ValueError: The port is taken.
            StartError: A process does not start.
        """
        self._handle_signals()
        try:
            starts = asyncio.create_task(self._start())
            ended = asyncio.create_task(self._end.wait())
            await asyncio.wait({starts, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not starts.done():
                starts.cancel()
                await asyncio.wait({starts})
                return
            starts.result()
            on_ready(self._listen, self._shards[0].ready)
            for shard in self._shards:
                self._spawn(self._restart_shard(shard))
            self._spawn(self._restart_proxy())
            await ended
        finally:
            await self._stop()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _handle_signals(self) -> None:
        if sys.platform == "win32":  # where `mockserver fleet` is refused
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._end.set)
        loop.add_signal_handler(signal.SIGTERM, self._terminate)
        loop.add_signal_handler(signal.SIGUSR1, self._drain)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._spawn(self._roll()))

    async def _start(self) -> None:
        self._listen = self._free_address()
        try:
            async with asyncio.TaskGroup() as group:
                for shard in self._shards:
                    group.create_task(shard.start())
        except* StartError as failures:
            reasons = failures.exceptions
        else:
            reasons = ()
        if reasons:
            raise StartError(str(reasons[0]))
        rules = routing(self._listen, tuple(shard.address for shard in self._shards))
        file = self._config.shards.folder / self._config.proxy.file
        text = await asyncio.to_thread(configuration, self._config.proxy, rules, self._config.program)
        file.write_text(text, encoding="utf-8")
        await self._start_proxy()

    def _free_address(self) -> Address:
        """Return the address of the fleet with its port, which no process listens on."""
        listen = self._config.listen
        probe = socket.socket(socket.AF_INET6 if ":" in listen.host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(listen)
        except (OSError, OverflowError) as failure:
            probe.close()
            is_taken = isinstance(failure, OSError) and failure.errno == errno.EADDRINUSE
            free = "a port that no other process uses, or 0 for a free one"
            reason = getattr(failure, "strerror", None) or str(failure)
            expected = free if is_taken else "an address of this machine, and a port that is open to this user"
            raise ValueError(f"got {listen.host} port {listen.port} ({reason}); expected {expected}") from None
        address = Address(listen.host, probe.getsockname()[1])
        if CAN_RESERVE:
            self._reservation = probe
        else:
            probe.close()
        return address

    async def _start_proxy(self) -> None:
        folder = self._config.shards.folder
        command = self._config.proxy.command(self._config.program, folder)
        self._proxy = await start_proxy(command, self._config.proxy.name, folder, self._write)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                for shard in self._shards:
                    await self._await_answer(shard, self._proxy)
            self._proxy.release()
        except TimeoutError:
            self._proxy.release()
            raise StartError(f"no answer through {self._config.proxy.name} after {ANSWER_SECONDS:g} s") from None

    async def _await_answer(self, shard: ShardProcess, proxy: LoggedProcess) -> None:
        """Wait until a shard answers through the proxy."""
        while not await self._answers(shard):
            if not proxy.is_running:
                ended = await proxy.wait()
                raise StartError(f"{self._config.proxy.name} ended with {ended} at its start: {proxy.explain_end()}")
            await asyncio.sleep(_POLL_SECONDS)  # a proxy does not report when it listens

    async def _answers(self, shard: ShardProcess) -> bool:
        """Return True if a shard answers through the proxy."""
        token = f"Authorization: Bearer {self._config.token}\r\n" if self._config.token else ""
        head = (
            f"GET /sandboxes/{shard.name}/_mock/health HTTP/1.1\r\nHost: localhost\r\n{token}Connection: close\r\n\r\n"
        )
        try:
            reader, writer = await asyncio.open_connection(*self._listen.reachable)
            try:
                writer.write(head.encode())
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
        except OSError:
            return False

    async def _restart_shard(self, shard: ShardProcess) -> None:
        """Start a shard again each time it ends, until the fleet ends."""
        pause_s = 0.0
        while True:
            assert shard.process is not None
            ended = await shard.process.wait()
            if self._is_draining:
                self._note_drained()
                return
            self._write(f"mockserver: {shard.name} ended with {ended}; it starts again without its sandboxes\n")
            await asyncio.sleep(pause_s)
            try:
                await shard.start()
                pause_s = 0.0
                self._write(f"mockserver: {shard.name} answers again\n")
            except StartError as failure:
                pause_s = min(max(_PAUSE_SECONDS, pause_s * 2), _PAUSE_MAX_SECONDS)
                self._write(f"mockserver: {failure}\n")

    async def _restart_proxy(self) -> None:
        pause_s = 0.0
        while True:
            assert self._proxy is not None
            name, ended = self._config.proxy.name, await self._proxy.wait()
            self._write(f"mockserver: {name} ended with {ended}; it starts again\n")
            await asyncio.sleep(pause_s)
            try:
                await self._start_proxy()
                pause_s = 0.0
            except StartError as failure:
                pause_s = min(max(_PAUSE_SECONDS, pause_s * 2), _PAUSE_MAX_SECONDS)
                self._write(f"mockserver: {failure}\n")

    async def _roll(self) -> None:
        """Restart one shard after the other, each after its sandboxes have ended if the fleet drains."""
        if self._is_rolling or self._is_draining or self._proxy is None:
            return
        self._is_rolling = True
        try:
            for shard in self._shards:
                former, run = shard.process, shard.run
                if former is None or self._is_draining:
                    continue
                former.send_signal(signal.SIGTERM)
                await shard.await_run_after(run)
                while not await self._answers(shard):
                    await asyncio.sleep(_POLL_SECONDS)  # a proxy does not report that it reaches a shard again
            self._write("mockserver: every shard has been restarted\n")
        finally:
            self._is_rolling = False

    def _terminate(self) -> None:
        if self._config.drains and not self._is_draining:
            self._drain()
        else:
            self._end.set()

    def _drain(self) -> None:
        """Have every shard end with its last sandbox."""
        if sys.platform == "win32":  # where `mockserver fleet` is refused
            return
        if self._is_draining:
            return
        self._is_draining = True
        self._write("mockserver: the fleet drains: it creates no sandbox, and ends with the last one\n")
        for shard in self._shards:
            if shard.process is not None:
                shard.process.send_signal(signal.SIGUSR1)
        self._note_drained()

    def _note_drained(self) -> None:
        if not any(shard.process is not None and shard.process.is_running for shard in self._shards):
            self._end.set()

    async def _stop(self) -> None:
        """End every process; one that does not end by itself is killed."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A shard ends at SIGINT; at SIGTERM it may drain. One that still starts would print a traceback at SIGINT.
        ends = [
            shard.process.end(signal.SIGINT if shard.is_ready else signal.SIGTERM, _END_SECONDS)
            for shard in self._shards
            if shard.process is not None
        ]
        if self._proxy is not None:
            ends.append(self._proxy.end(signal.SIGTERM, _END_SECONDS))
        await asyncio.gather(*ends)
        for shard in self._shards:
            shard.close()
        if self._reservation is not None:
            self._reservation.close()


def run(config: FleetConfig, on_ready: OnReady, write: Write) -> None:
    """Run a fleet until it is ended; see `Supervisor.run`."""
    asyncio.run(Supervisor(config, write).run(on_ready))
