"""`mockserver open`: start a server in the state that a failed test had after any of its calls."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mockserver.cli import serve as serving
from mockserver.cli import settings
from mockserver.cli.terminal import fit

if TYPE_CHECKING:
    from mockserver.server.hosting.host import HostedSandbox, SandboxHost
    from mockserver.testing.report.replay import ReplayedEntry


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
    texts: list[str] = []
    repeat = _repeat_trace if options.file.suffix == ".html" else _repeat_document

    def create(host: SandboxHost) -> HostedSandbox:
        hosted, lines = repeat(host, options.file, options.at)
        texts.extend(lines)
        return hosted

    return serving.serve(
        options, out, lambda _: print(fit("\n".join(["", *texts]), out), file=out, flush=True), create=create
    )


def _repeat_trace(host: SandboxHost, file: Path, at: int | None) -> tuple[HostedSandbox, list[str]]:
    """
    Create the default sandbox in the state after a call of a trace, with the trace's page at `/_mock/trace`.

    Each position of the slider is a checkpoint. Only the calls before the state have a label, by which the dashboard
    undoes them.
    """
    from mockserver.testing.report.replay import replay_in
    from mockserver.testing.report.trace import position_of
    from mockserver.testing.report.trace_page import read_trace, served

    try:
        html = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as failure:
        raise ValueError(f"{file}: got byte {failure.start} that is not UTF-8; expected a trace") from None
    try:
        trace = read_trace(html)
    except ValueError as refusal:
        raise ValueError(f"{file}: {refusal}") from None
    if trace is None:
        raise ValueError(f"{file}: got a page without a trace; expected one that --mockserver-trace has written")
    document, calls = trace
    hosted, stop = _create(host, document), position_of(calls, at)
    replayed, outcomes = replay_in(hosted, document), []
    positions, state = [hosted.save_checkpoint()], hosted.sandbox.checkpoint()
    for number, entry in enumerate(document.get("calls", ()), 1):
        if number <= stop and "call" in entry:
            hosted.save_checkpoint(entry["call"])
        outcomes.append(next(replayed))
        positions.append(hosted.save_checkpoint())
        if number == stop:
            state = hosted.sandbox.checkpoint()
    if stop < len(outcomes):
        hosted.restore(state)
    hosted.trace_page = served(html, positions)
    lines = _lines(hosted, document, outcomes[:stop])
    return hosted, [*lines, "The slider of /_mock/trace serves the state after any of its steps."]


def _repeat_document(host: SandboxHost, file: Path, at: int | None) -> tuple[HostedSandbox, list[str]]:
    """Create the default sandbox in the state after a call of a document that repeats a run."""
    from mockserver.scenario.documents import read
    from mockserver.testing.report.replay import replay_in

    document = read(file)
    hosted = _create(host, document)
    replayed, outcomes = replay_in(hosted, document), []
    for entry in document.get("calls", ()):
        if "call" in entry:
            hosted.save_checkpoint(entry["call"])
        outcomes.append(next(replayed))
        if at is not None and hosted.sandbox.journal.last_exchange >= at >= 1:
            break
    else:
        if at is not None:
            raise ValueError(f"got call {at}; expected one from 1 to {hosted.sandbox.journal.last_exchange}")
    return hosted, _lines(hosted, document, outcomes)


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
