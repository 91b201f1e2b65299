"""The lifetime of a command that another program starts: its ends by signals and with its parent, and a file while it listens."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_POLL_SECONDS = 0.2
_CONNECT_SECONDS = 1.0


def stop_signals() -> tuple[signal.Signals, ...]:
    """
    Return the signals that end a command in order.

    SIGHUP, which the end of a terminal sends, is one unless the command was started to ignore it, as by `nohup`.
    """
    if sys.platform == "win32":  # Ctrl-Break is the only signal that another process can send there
        return signal.SIGINT, signal.SIGTERM, signal.SIGBREAK
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM) if is_ignored else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ready_file(path: str | None, content: Mapping[str, Any]) -> Iterator[None]:
    """
    Write a JSON file, which a reader finds whole or not at all, and remove it at the end.

    Args:
        path: The file, which only its owner may read, since it contains keys; None writes none.
        content: What it contains.
    """
    if path is None:
        yield
        return
    file, draft = Path(path), Path(f"{path}.{os.getpid()}")
    text = json.dumps(content) + "\n"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
        draft.replace(file)
    except OSError as failure:
        draft.unlink(missing_ok=True)
        expected = "a file in a folder that exists and that this user may write"
        raise OSError(f"got --ready-file {path} ({failure.strerror}); expected {expected}") from None
    process_id = os.getpid()
    try:
        yield
    finally:
        is_fork = os.getpid() != process_id  # its parent continues to listen
        if (
            not is_fork and file.is_file() and file.read_text(encoding="utf-8") == text
        ):  # else another server has replaced it
            file.unlink(missing_ok=True)


def remove_stale(path: str | None) -> None:
    """
    Remove a ready file whose server is gone, as after a kill, so that a start that waits for the file does not read it.

    Args:
        path: The file, which stays if a server answers at its address, or if it is no ready file; None for no file.
    """
    file = Path(path or os.devnull)
    try:
        address = urlsplit(json.loads(file.read_text(encoding="utf-8"))["url"])
        socket.create_connection((address.hostname, address.port), _CONNECT_SECONDS).close()
    except ConnectionRefusedError:
        file.unlink(missing_ok=True)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return


def watch_parent(on_end: Callable[[], None]) -> None:
    """
    Call a function once the process that started this one has ended.

    Args:
        on_end: Called in a thread of its own.
    """
    parent = os.getppid()

    def watch() -> None:
        _await_end(parent)
        on_end()

    threading.Thread(target=watch, name="mockserver parent", daemon=True).start()


if sys.platform == "win32":

    def _await_end(parent: int) -> None:
        """Wait for the process: its id stays that of the parent after its end."""
        import ctypes

        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(0x00100000, False, parent)  # SYNCHRONIZE
        if handle:
            kernel.WaitForSingleObject(handle, 0xFFFFFFFF)
            kernel.CloseHandle(handle)

else:

    def _await_end(parent: int) -> None:
        """Wait until this process has another parent, which adopts it when the first one ends."""
        while os.getppid() == parent:
            threading.Event().wait(_POLL_SECONDS)
