"""The command line: `mockserver serve`, `play`, `scenarios`, `choices`, `clauses`, `conduct` and `verify`."""

from __future__ import annotations

import argparse
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
    options = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace, TextIO], int] = options.run
        return run(options, sys.stdout)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as refusal:
        print(f"mockserver: {refusal}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
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
        if name == "scenarios":
            wanted = "what this one seeds and does, instead of the list"
            command.add_argument("scenario", nargs="?", metavar="NAME|FILE", help=wanted)
        forms = command.add_mutually_exclusive_group()
        forms.add_argument("--json", action="store_true", help="for programs")
        if name != "clauses":
            forms.add_argument("--markdown", action="store_true", help="the page of the documentation")
        command.set_defaults(run=run)
    verifying.add_options(commands.add_parser("verify", help="hold any service to the document, by its public API"))
    return parser
