"""`mockserver open`: start a server in the state that a failed test had after any of its calls."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mockserver._json import JSON
from mockserver._settings import SERVER
from mockserver.cli import serve as serving
from mockserver.cli import settings

if TYPE_CHECKING:
    from mockserver.server.hosting.host import HostedSandbox, SandboxHost
    from mockserver.testing.report.replay import ReplayedEntry


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `open`; the settings of `serve` that it does not have follow from the environment."""
    command.set_defaults(**{setting.attribute: None for setting in SERVER})
    help_text = "trace of a test, or a document that repeats a run"
    command.add_argument("file", type=Path, metavar="FILE", help=help_text)
    help_text = "number of the call after which the state is served (default: the end of the run)"
    command.add_argument("--at", type=int, metavar="CALL", help=help_text)
    settings.add_options(command, *(setting for setting in SERVER if setting.name == "port"))


def open_file(options: argparse.Namespace, out: TextIO) -> int:
    """Repeat the run up to a call, and serve its sandbox until SIGINT or SIGTERM."""
    texts: list[str] = []

    def create(host: SandboxHost) -> HostedSandbox:
        hosted, lines = _repeat(host, options.file, options.at)
        texts.extend(lines)
        return hosted

    return serving.serve(options, out, lambda _: print("\n".join(["", *texts]), file=out, flush=True), create=create)


def _repeat(host: SandboxHost, file: Path, at: int | None) -> tuple[HostedSandbox, list[str]]:
    """
    Create the default sandbox in the state after a call of a run, or after the whole run.

    Each call has a checkpoint with its label, by which the dashboard undoes it.
    """
    from mockserver.scenario.documents import read
    from mockserver.testing.report.replay import replay_in

    # A call that the journal has dropped or cut has a number, and is not sent again.
    document, unsent = _read_trace(file) if file.suffix == ".html" else (read(file), 0)
    hosted = _create(host, document)
    replayed, outcomes = replay_in(hosted, document), []
    for entry in document.get("calls", ()):
        if "call" in entry:
            hosted.checkpoints.add(hosted.sandbox.clone(), entry["call"])
        outcomes.append(next(replayed))
        unsent += "cut" in entry
        if at is not None and hosted.sandbox.journal.last_exchange + unsent >= at >= 1:
            break
    else:
        if at is not None:
            raise ValueError(f"got call {at}; expected one from 1 to {hosted.sandbox.journal.last_exchange + unsent}")
    return hosted, _lines(hosted, document, outcomes)


def _read_trace(file: Path) -> tuple[JSON, int]:
    """Return the document of a trace, and the number of calls of its run before the first one of the document."""
    from mockserver.report.trace_page import read_trace

    try:
        trace = read_trace(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as failure:
        raise ValueError(f"{file}: got byte {failure.start} that is not UTF-8; expected a trace") from None
    except ValueError as refusal:
        raise ValueError(f"{file}: {refusal}") from None
    if trace is None:
        raise ValueError(f"{file}: got a page without a trace; expected one that --mockserver-trace has written")
    return trace


def _create(host: SandboxHost, document: Mapping[str, Any]) -> HostedSandbox:
    from mockserver.server.hosting.config import SandboxConfig
    from mockserver.server.hosting.host import DEFAULT_ID

    return host.create(SandboxConfig(document), id=DEFAULT_ID)


def _lines(hosted: HostedSandbox, document: Mapping[str, Any], outcomes: Sequence[ReplayedEntry]) -> list[str]:
    """Return the lines about the state that is served."""
    from mockserver.core.instants import format_exact

    where = f"after {outcomes[-1].label}" if outcomes else "before the first call"
    name = document.get("scenario", "a run")
    lines = [f"The state is that of {name} {where}, its clock frozen at {format_exact(hosted.sandbox.now)}."]
    differing = sum(bool(outcome.differences) for outcome in outcomes)
    if differing:
        lines.append(f"In the replay {differing} of the steps had another outcome than recorded.")
    return lines
