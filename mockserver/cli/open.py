"""`mockserver open`: serve the state of a traced test after any of its calls."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from mockserver.cli import serve as serving
from mockserver.cli import settings


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `open`; the settings of `serve` that it does not have follow from the environment."""
    command.set_defaults(**{setting.attribute: None for setting in (settings.SCENARIO, *settings.SETTINGS)})
    help_text = "trace of a test, or a document that repeats a run"
    command.add_argument("file", type=Path, metavar="FILE", help=help_text)
    help_text = "number of the call after which the state is served (default: the end of the run)"
    command.add_argument("--at", type=int, metavar="CALL", help=help_text)
    settings.add_options(command, *(setting for setting in settings.SETTINGS if setting.name == "port"))


def open_file(options: argparse.Namespace, out: TextIO) -> int:
    """Repeat the run up to a call, and serve its sandbox until SIGINT or SIGTERM."""
    document, calls = _read(options.file)
    texts: list[str] = []

    def create(host: Any) -> Any:
        hosted, text = _repeat(host, document, calls, options.at)
        texts.append(text)
        return hosted

    return serving.serve(options, out, lambda _: print("", *texts, sep="\n", file=out, flush=True), create=create)


def _read(file: Path) -> tuple[Mapping[str, Any], list[int] | None]:
    """Return the document of a run and, of a trace, the number of the last call after each of its steps."""
    from mockserver.scenario.documents import read
    from mockserver.testing.report import trace_page

    if file.suffix != ".html":
        return read(file), None
    found = trace_page.read_trace(file.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{file}: got a page without a trace; expected one that --mockserver-trace has written")
    return found


def _repeat(host: Any, document: Mapping[str, Any], calls: list[int] | None, at: int | None) -> tuple[Any, str]:
    """Create the default sandbox in the state after a call, and return it with a text about that state."""
    from mockserver.core.instants import format_exact
    from mockserver.server.hosting.config import SandboxConfig
    from mockserver.server.hosting.host import DEFAULT_ID
    from mockserver.testing.report.replay import replay_in
    from mockserver.testing.report.trace import position_of

    hosted = host.create(SandboxConfig(document), id=DEFAULT_ID)
    stop = None if calls is None else position_of(calls, at)
    replayed, differing, place = replay_in(hosted, document), 0, ""
    for entry in islice(document.get("calls", ()), stop):
        if "call" in entry:
            hosted.save_checkpoint(entry["call"])  # the dashboard can go back to each of the last ones
        outcome = next(replayed)
        place = outcome.label
        differing += bool(outcome.differences)
        if calls is None and at is not None and hosted.sandbox.journal.last_exchange >= at >= 1:
            break
    else:
        if calls is None and at is not None:
            raise ValueError(f"got call {at}; expected one from 1 to {hosted.sandbox.journal.last_exchange}")
    where = f"after {place}" if place else "before the first call"
    name = document.get("scenario", "a run")
    lines = [f"The state is that of {name} {where}, its clock frozen at {format_exact(hosted.sandbox.now)}."]
    if differing:
        lines.append(f"In the replay {differing} of the steps had another outcome than recorded.")
    return hosted, "\n".join(lines)
