"""The folder of `mockserver serve --failures-dir`: replay document, HAR, trace and report of each run that its client ends as failed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mockserver._commands import command_line
from mockserver.contract.text import printable
from mockserver.scenario import documents
from mockserver.server.hosting.failed_runs import FailedRun, KeptFiles
from mockserver.server.hosting.host import DEFAULT_ID
from mockserver.testing.report.folder import file_name, write_file

RUNS_MAX: Final = 1_000  # of one server, since its clients may be strangers


class FailedRuns:
    """
    The files of failed runs.

    A second sandbox of one server whose test has the same name gets a number in its files' names; a later run of the server
    replaces the files.

    Args:
        folder: Made when the first file is written.

    Lifetime: the server's. Calls of several threads are safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._root = Path.cwd()
        self._lock = threading.Lock()
        self._failures: dict[str, tuple[str, str]] = {}  # name and words, by sandbox
        self._owners: dict[str, str] = {}  # the sandbox of each file's name, without regard to case

    def failure_of(self, sandbox_id: str, name: str, words: str) -> tuple[str, str]:
        """Return the name of a sandbox's test and the words of its failure, those of an earlier call in place of empty ones."""
        with self._lock:
            former_name, former_words = self._failures.get(sandbox_id, ("", ""))
            failure = name or former_name, words if words.strip() else former_words
            if sandbox_id in self._failures or len(self._failures) < RUNS_MAX:
                self._failures[sandbox_id] = failure
            return failure

    def keep(self, run: FailedRun) -> KeptFiles:
        """Write the files of a run; they replace those that its sandbox has under this name. Never an error of its own."""
        stem = self._stem(run)
        if stem is None:
            line = f"no file was written: this server has kept {RUNS_MAX} failed runs; start it again to keep others"
            return KeptFiles(None, None, None, None, [line])
        lines: list[str] = []
        replay = har = trace = None
        if run.document.get("calls"):
            lines += filter(None, [run.document.get("summary")])  # set if the document is not the whole run
            dumped = documents.dump(run.document)
            replay = self._write(
                f"{stem}.yaml",
                dumped.encode,
                "to repeat its calls, without the client: mockserver replay-calls {}",
                lines,
            )
            har = self._write(f"{stem}.har", lambda: json.dumps(run.har, indent=1).encode(), "", lines)
            step_by_step = "to see it step by step: {0}; mockserver open {0} serves its last state"
            trace = self._write(f"{stem}.html", lambda: _trace(run, f"{stem}.har" if har else ""), step_by_step, lines)
        own = f"this report: {command_line([self._path(f'{stem}.txt')])}"
        text = printable("\n".join([*run.summary, *run.report, *lines, own]), keep="\n") + "\n"
        report = self._write(f"{stem}.txt", lambda: text.encode(errors="backslashreplace"), "this report: {}", lines)
        return KeptFiles(replay, har, trace, report, lines)

    def _stem(self, run: FailedRun) -> str | None:
        """Return the name of a run's files without their ending; None for a run beyond the bound."""
        name = file_name(run.name)
        with self._lock:
            for number in range(1, RUNS_MAX + 1):
                stem = name if number == 1 else f"{name}.{number}"
                owner = self._owners.get(stem.casefold())
                if owner is None and len(self._owners) >= RUNS_MAX:
                    return None
                if owner in (None, run.sandbox_id):
                    self._owners[stem.casefold()] = run.sandbox_id
                    return stem
        return None

    def _path(self, name: str) -> str:
        return (self._folder / name).as_posix()

    def _write(self, name: str, content: Callable[[], bytes], line: str, lines: list[str]) -> str | None:
        """Write a file, add the line about it if there is one, and return its path; of a file that cannot be written the line has the reason."""
        path = self._path(name)
        try:
            write_file(Path(path), self._root, content())
        except Exception as problem:  # noqa: BLE001 - a file must not hide the failure that it is about
            lines.append(printable(f"{path} was not written: {type(problem).__name__}: {problem}"))
            return None
        lines += [line.format(command_line([path]))] if line else []
        return path


def _trace(run: FailedRun, har: str) -> bytes:
    # Imported here: most servers have no failed run, and a trace needs what repeats one.
    from mockserver.testing.report.trace import TracedRun, trace
    from mockserver.testing.report.trace_page import render

    # Texts of the trace have `sandbox` in place of the id, but the id of the default one is a common word.
    address = run.base_url, "sandbox" if run.sandbox_id == DEFAULT_ID else run.sandbox_id
    report = run.name, "failed", run.summary, run.report
    return render(trace(TracedRun(*report, run.journal, run.document, run.secrets, address, har)))
