"""The folder of `mockserver serve --failures-dir`: replay document, HAR, trace and report of each run that a client reports as failed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from mockserver._commands import command_line
from mockserver._json import View
from mockserver.contract.text import printable
from mockserver.report.trace_page import TracedRun, render
from mockserver.scenario import documents
from mockserver.server.hosting.failed_runs import KeptFiles
from mockserver.testing.report.folder import claim_file, file_name, make_folder, write_file

RUNS_MAX: Final = 1_000  # of one server, since its clients may be strangers
BYTES_MAX: Final = 256 * 1024 * 1024  # of their files


class FailedRuns:
    """
    The files of failed runs.

    A second sandbox whose test has the same name, at this server or at another one that runs at the same time, gets a number
    in its files' names; files from before the start of this server are replaced. Beyond `RUNS_MAX` runs, and beyond `BYTES_MAX` bytes of their files, the oldest runs go.

    Args:
        folder: Made when the first file is written.

    Lifetime: the server's. Calls of several threads are safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._started_ns = time.time_ns()
        self._root = Path.cwd()
        self._lock = threading.Lock()  # held while a run is written, so that no other one takes its name or its room
        self._failed: dict[str, None] = {}  # ids of sandboxes, the oldest first
        self._kept: dict[tuple[str, str], _KeptRun] = {}  # by sandbox and name, the oldest first

    def note_failure(self, sandbox_id: str) -> None:
        """Take note that the test of a sandbox has failed; of too many the oldest is forgotten."""
        with self._lock:
            self._failed.pop(sandbox_id, None)
            if len(self._failed) >= RUNS_MAX:
                del self._failed[next(iter(self._failed))]
            self._failed[sandbox_id] = None

    def has_failed(self, sandbox_id: str) -> bool:
        """Return True for a sandbox whose client has said that its test failed."""
        with self._lock:
            return sandbox_id in self._failed

    def keep(self, run: TracedRun, har: View) -> KeptFiles:
        """Write the files of a run; they replace those that its sandbox has under this name. Never an error of its own."""
        with self._lock:
            kept = self._begin(run)
            lines: list[str] = []
            replay = calls = trace = None
            if run.document.get("calls"):
                lines += filter(None, [run.document.get("summary")])  # set if the document is not the whole run
                dumped = documents.dump(run.document)
                repeat = "to repeat its calls, without the client: mockserver replay-calls {}"
                replay = self._write(kept, "yaml", dumped.encode, repeat, lines)
                calls = self._write(kept, "har", lambda: json.dumps(har, indent=1).encode(), "", lines)
                names = [f"{kept.stem}.{ending}" if ending in kept.sizes else "" for ending in ("yaml", "har")]
                traced = replace(run, replay=names[0], har=names[1])
                trace = self._write(kept, "html", lambda: render(traced), "to see it step by step: {}", lines)
            own = f"this report: {command_line([self._path(kept, 'txt')])}"
            text = printable("\n".join([*run.report.summary, *run.report.sections, *lines, own]), keep="\n") + "\n"
            content = text.encode(errors="backslashreplace")
            report = self._write(kept, "txt", lambda: content, "this report: {}", lines)
            return KeptFiles(replay=replay, har=calls, trace=trace, report=report, lines=lines)

    def _begin(self, run: TracedRun) -> _KeptRun:
        """Return the run, without files yet, as the newest one; beyond the bound on their number the oldest one goes."""
        name = file_name(run.name)
        key = run.snapshot.id, name.casefold()
        former = self._kept.get(key)
        if former is not None:
            self._remove(key)
        while len(self._kept) >= RUNS_MAX:
            self._remove(next(iter(self._kept)))
        taken = {kept.stem.casefold() for kept in self._kept.values()}
        numbered = (name if number == 1 else f"{name}.{number}" for number in count(1))
        free = (each for each in numbered if each.casefold() not in taken and self._claim(each))
        stem = former.stem if former is not None and self._claim(former.stem) else next(free)
        kept = self._kept[key] = _KeptRun(stem, {"txt": 0})
        return kept

    def _claim(self, stem: str) -> bool:
        """Return True if the files of this name belong to no other server; of a folder that cannot be written the files say why."""
        try:
            make_folder(self._folder, self._root)
            return claim_file(Path(self._folder, f"{stem}.txt"), self._started_ns)
        except OSError:
            return True

    def _path(self, run: _KeptRun, ending: str) -> str:
        return (self._folder / f"{run.stem}.{ending}").as_posix()

    def _write(
        self, run: _KeptRun, ending: str, content: Callable[[], bytes], line: str, lines: list[str]
    ) -> str | None:
        """Write a file, add the line about it if there is one, and return its path; of a file that cannot be written the line has the reason."""
        path = self._path(run, ending)
        try:
            written = content()
            self._make_room(run, len(written))
            write_file(Path(path), self._root, written)
            run.sizes[ending] = len(written)
        except Exception as problem:  # noqa: BLE001 - a file must not hide the failure that it is about
            lines.append(printable(f"{path} was not written: {type(problem).__name__}: {problem}"))
            with suppress(OSError):
                Path(path).unlink(missing_ok=True)  # of an earlier run, or claimed
            return None
        lines += [line.format(command_line([path]))] if line else []
        return path

    def _make_room(self, run: _KeptRun, size_bytes: int) -> None:
        """Remove the oldest runs until a file of this one is within the bound; ValueError if it is beyond it without them."""
        own = sum(run.sizes.values()) + size_bytes
        if own > BYTES_MAX:
            raise ValueError(f"got files of {own} bytes; expected at most {BYTES_MAX}, the bound of the folder")
        total = sum(sum(kept.sizes.values()) for kept in self._kept.values()) + size_bytes
        for key, oldest in list(self._kept.items()):
            if total <= BYTES_MAX:
                return
            if oldest is not run:
                total -= sum(oldest.sizes.values())
                self._remove(key)

    def _remove(self, key: tuple[str, str]) -> None:
        """Remove a run with its files."""
        run = self._kept.pop(key)
        for ending in run.sizes:
            with suppress(OSError):
                Path(self._path(run, ending)).unlink(missing_ok=True)


class _KeptRun(NamedTuple):
    """A run whose files are kept: their name without an ending, and the bytes of each by its ending."""

    stem: str
    sizes: dict[str, int]
