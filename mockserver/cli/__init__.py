"""
The command line: `mockserver serve`, `play`, `fleet`, `health`, `replay`, `report`, `scenarios`, `choices`, `clauses`, `conduct`, `openapi`
and `verify`.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from mockserver.cli import fleet, health, listing, openapi, settings
from mockserver.cli import serve as serving
from mockserver.version import VERSION

_FORMATS: Final = {
    "schema": "print the JSON Schema of a scenario document",
    "json": "print JSON",
    "markdown": "print the page of the documentation",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command and return its exit status.

    Returns:
        The status of the command: 0 if it succeeds; 2 for an error of the caller, printed in one line; `replay` and
        `verify` return 1 for a difference.
    """
    options = build_parser().parse_args(arguments)
    use_utf8(sys.stdout, sys.platform)
    try:
        run: Callable[[argparse.Namespace, TextIO], int] = options.run
        return run(options, sys.stdout)
    except (OSError, ValueError) as failure:
        if isinstance(failure, OSError) and is_broken_pipe(failure, sys.platform):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"mockserver: {message_of(failure)}", file=sys.stderr)
        return 2


def message_of(failure: Exception) -> str:
    """Return the text of an error, for an error of the operating system without its number."""
    if not isinstance(failure, OSError) or not failure.strerror:
        return str(failure)
    return failure.strerror if failure.filename is None else f"{failure.filename}: {failure.strerror}"


def use_utf8(stream: TextIO, platform: str) -> None:
    """Encode a pipe or file on Windows as UTF-8 instead of a code page; a terminal has its own encoding."""
    if platform == "win32" and isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8")


def is_broken_pipe(failure: OSError, platform: str) -> bool:
    """Return True if the reader has closed its pipe; Windows reports that as an invalid argument without a file."""
    is_invalid = failure.errno == errno.EINVAL and failure.filename is None
    return isinstance(failure, BrokenPipeError) or (platform == "win32" and is_invalid)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; each command sets `run`."""
    from mockserver.cli import verify as verifying

    parser = argparse.ArgumentParser(
        "mockserver", description="A stateful mock of the HTTP API of a CRM gateway, true to its API document."
    )
    parser.add_argument("--version", action="version", version=f"mockserver {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = partial(_add_command, commands)
    serve = add("serve", serving.serve, "start the server, with demo data by default")
    settings.add_options(serve, settings.SCENARIO)
    play = add("play", serving.play, "start the server with a scenario, and print what happens in it")
    play.add_argument("scenario", metavar="NAME|FILE", help="a scenario of the library, or a YAML or JSON file")
    for command in (serve, play):
        settings.add_options(command, *settings.SETTINGS)
    help_text = "start several servers behind HAProxy, Caddy or nginx, or print their state"
    fleet.add_fleet_options(add("fleet", fleet.run, help_text))
    help_text = "check that the server of these settings answers, for the health check of a container"
    health.add_health_options(add("health", health.check, help_text))
    replay = add("replay", listing.replay, "repeat the calls of a failed test, and print each response that differs")
    help_text = "document written by a failed test to .mockserver/failures, or returned by GET /_mock/replay"
    replay.add_argument("file", type=Path, metavar="FILE", help=help_text)
    help_text = "print why a test against a running server failed, and everything that happened in its sandbox"
    _add_report_options(add("report", listing.report, help_text))
    help_text = "list the scenarios of the library, or the seed data and rules of one"
    scenarios = add("scenarios", listing.list_scenarios, help_text)
    help_text = "print this scenario: its clauses, the ids of its seed data, its rules"
    scenarios.add_argument("scenario", nargs="?", metavar="NAME|FILE", help=help_text)
    _add_formats(scenarios, "schema", "json", "markdown")
    help_text = "list the points that the API document leaves open, with their options"
    _add_formats(add("choices", listing.list_choices, help_text), "json", "markdown")
    _add_formats(add("clauses", listing.list_clauses, "list the testable sentences of the API document"), "json")
    help_text = "list the rules that a client's behaviour is checked against"
    _add_formats(add("conduct", listing.list_conduct, help_text), "json", "markdown")
    help_text = "print the OpenAPI document of the public API, or of the control plane"
    openapi.add_options(add("openapi", openapi.print_document, help_text))
    help_text = "compare any service with the API document, through its public API alone"
    verifying.add_options(add("verify", verifying.run, help_text))
    return parser


def _add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace, TextIO], int], help_text: str
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}."
    )
    command.set_defaults(run=run)
    return command


def _add_report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument("url", metavar="URL", help="base url of the sandbox, or of the server for its default sandbox")
    report.add_argument("--failure", default="", metavar="MESSAGE", help="message of the test that failed")
    report.add_argument("--token", help="token of the server's control plane, if it requires one")
    _add_formats(report, "json")


def _add_formats(command: argparse.ArgumentParser, *formats: str) -> None:
    group = command.add_mutually_exclusive_group()
    for name in formats:
        group.add_argument(f"--{name}", action="store_true", help=_FORMATS[name])
