"""The command line: `mockserver serve`, `play`, `scenarios`, `choices`, `clauses`, `conduct` and `verify`."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from mockserver.cli import listing
from mockserver.cli import serve as serving
from mockserver.version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it did its work, 2 when it was asked for something that it cannot do."""
    options = build_parser().parse_args(arguments)
    use_utf8(sys.stdout, sys.platform)
    try:
        run: Callable[[argparse.Namespace, TextIO], int] = options.run
        return run(options, sys.stdout)
    except (OSError, ValueError) as refusal:
        if isinstance(refusal, OSError) and is_broken_pipe(refusal, sys.platform):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"mockserver: {refusal}", file=sys.stderr)
        return 2


def use_utf8(stream: TextIO, platform: str) -> None:
    """Write UTF-8 to a pipe or file on Windows, whose default is a code page; a terminal has its own encoding."""
    if platform == "win32" and isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8")


def is_broken_pipe(failure: OSError, platform: str) -> bool:
    """Return True if the reader of a pipe has closed it, which Windows reports as an invalid argument without a file."""
    is_invalid = failure.errno == errno.EINVAL and failure.filename is None
    return isinstance(failure, BrokenPipeError) or (platform == "win32" and is_invalid)


def build_parser() -> argparse.ArgumentParser:
    from mockserver.cli import verify as verifying

    parser = argparse.ArgumentParser("mockserver", description="A stateful contract mock of a CRM gateway's HTTP API.")
    parser.add_argument("--version", action="version", version=f"mockserver {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="start the server, by default with its embedded demo data")
    serve.add_argument(
        "--scenario", default="demo", metavar="NAME|FILE", help="what is there at the start (default: %(default)s)"
    )
    serve.set_defaults(run=serving.serve)
    play = commands.add_parser("play", help="start the server in a scenario, and tell what happens")
    play.add_argument("scenario", metavar="NAME|FILE", help="a name that `scenarios` lists, or a document")
    play.set_defaults(run=serving.play)
    replay = commands.add_parser("replay", help="send a failing run's calls again, and tell where an answer differs")
    replay.add_argument(
        "file",
        type=Path,
        help="YAML or JSON that a failing test has left in .mockserver/failures, or GET /_mock/replay has answered",
    )
    replay.set_defaults(run=listing.replay)
    for command in (serve, play):
        serving.add_options(command)
    for name, run, words in (
        ("scenarios", listing.list_scenarios, "list the scenario library, one line each, or what one scenario seeds"),
        ("choices", listing.list_choices, "list every point that the API document leaves open"),
        ("clauses", listing.list_clauses, "list the testable sentences of the API document"),
        ("conduct", listing.list_conduct, "list the rules by which a client's conduct is judged"),
    ):
        command = commands.add_parser(name, help=words)
        forms = command.add_mutually_exclusive_group()
        if name == "scenarios":
            command.add_argument("scenario", nargs="?", metavar="NAME|FILE", help="what this one seeds and does")
            forms.add_argument("--schema", action="store_true", help="the JSON Schema of a scenario document")
        forms.add_argument("--json", action="store_true", help="for programs")
        if name != "clauses":
            forms.add_argument("--markdown", action="store_true", help="the page of the documentation")
        command.set_defaults(run=run)
    verifying.add_options(commands.add_parser("verify", help="hold any service to the document, by its public API"))
    return parser
