"""
The command line: `mockserver serve`, `play`, `fleet`, `health`, `replay`, `open`, `report`, `scenarios`, `choices`, `clauses`,
`conduct`, `coverage`, `openapi`, `explore` and `verify`.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TextIO

from mockserver.cli import coverage, fleet, health, listing, openapi, settings
from mockserver.cli import open as opening
from mockserver.cli import serve as serving
from mockserver.contract.text import closest_match_hint
from mockserver.version import VERSION

_WRONG_COMMAND: Final = re.compile(r"^argument COMMAND: invalid choice: '([^']*)'")
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
        `verify` return 1 for a difference, `explore` for a finding.
    """
    options, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"got {' '.join(unknown)}, which this command does not take")
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
    parser = _Parser(
        "mockserver", description="A stateful mock of the HTTP API of a CRM gateway, true to its API document."
    )
    parser.add_argument("--version", action="version", version=f"mockserver {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for row in _commands():
        command = commands.add_parser(
            row.name, help=row.help_text, description=f"{row.help_text[0].upper()}{row.help_text[1:]}."
        )
        command.set_defaults(run=row.run, parser=command)
        row.add_options(command)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage, which fills a screen for a command of many options."""

    def error(self, message: str) -> NoReturn:
        """Print the error, with the nearest command for one that does not exist, and end with 2."""
        wrong = _WRONG_COMMAND.search(message)
        if wrong:
            names = [row.name for row in _commands()]
            message = f"got {wrong[1]}; expected {', '.join(names)}{closest_match_hint(wrong[1], names)}"
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


class _Command(NamedTuple):
    """One command: its name, what runs it, its help as a clause, and what adds its options."""

    name: str
    run: Callable[[argparse.Namespace, TextIO], int]
    help_text: str
    add_options: Callable[[argparse.ArgumentParser], object]


def _commands() -> tuple[_Command, ...]:
    """Return the commands in the order of the help."""
    from mockserver.cli import explore as exploring
    from mockserver.cli import verify as verifying

    # fmt: off
    return (
        _Command("serve", serving.serve, "start the server, with demo data by default", _add_serve_options),
        _Command("play", serving.play, "start the server with a scenario, and print what happens in it", _add_play_options),
        _Command("fleet", fleet.run, "start several servers behind HAProxy, Caddy or nginx, or print their state", fleet.add_fleet_options),
        _Command("health", health.check, "check that the server of these settings answers, for the health check of a container", health.add_health_options),
        _Command("replay", listing.replay, "repeat the calls of a failed test, and print each response that differs", _add_replay_options),
        _Command("open", opening.open_file, "serve the state of a traced test after any of its calls", opening.add_options),
        _Command("report", listing.report, "print why a test against a running server failed, and everything that happened in its sandbox", _add_report_options),
        _Command("scenarios", listing.list_scenarios, "list the scenarios of the library, or the seed data and rules of one", _add_scenarios_options),
        _Command("choices", listing.list_choices, "list the points that the API document leaves open, with their options", _formats("json", "markdown")),
        _Command("clauses", listing.list_clauses, "list the testable sentences of the API document", _formats("json")),
        _Command("conduct", listing.list_conduct, "list the rules that a client's behaviour is checked against", _formats("json", "markdown")),
        _Command("coverage", coverage.run, "show what calls have covered of the API document, with what closes each gap", coverage.add_options),
        _Command("openapi", openapi.print_document, "print the OpenAPI document of the public API, or of the control plane", openapi.add_options),
        _Command("explore", exploring.run, "run a command once for each fault at each of its calls, each time against a fresh sandbox", exploring.add_options),
        _Command("verify", verifying.run, "compare any service with the API document, through its public API alone", verifying.add_options),
    )
    # fmt: on


def _add_serve_options(serve: argparse.ArgumentParser) -> None:
    settings.add_options(serve, settings.SCENARIO, *settings.SETTINGS)


def _add_play_options(play: argparse.ArgumentParser) -> None:
    play.add_argument("scenario", metavar="NAME|FILE", help="a scenario of the library, or a YAML or JSON file")
    settings.add_options(play, *settings.SETTINGS)


def _add_replay_options(replay: argparse.ArgumentParser) -> None:
    help_text = "document written by a failed test to .mockserver/failures, or returned by GET /_mock/replay"
    replay.add_argument("file", type=Path, metavar="FILE", help=help_text)


def _add_scenarios_options(scenarios: argparse.ArgumentParser) -> None:
    help_text = "print this scenario: its clauses, the ids of its seed data, its rules"
    scenarios.add_argument("scenario", nargs="?", metavar="NAME|FILE", help=help_text)
    _add_formats(scenarios, "schema", "json", "markdown")


def _add_report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument("url", metavar="URL", help="base url of the sandbox, or of the server for its default sandbox")
    report.add_argument("--failure", default="", metavar="MESSAGE", help="message of the test that failed")
    report.add_argument("--token", help="token of the server's control plane, if it requires one")
    _add_formats(report, "json")


def _formats(*formats: str) -> Callable[[argparse.ArgumentParser], None]:
    return lambda command: _add_formats(command, *formats)


def _add_formats(command: argparse.ArgumentParser, *formats: str) -> None:
    group = command.add_mutually_exclusive_group()
    for name in formats:
        group.add_argument(f"--{name}", action="store_true", help=_FORMATS[name])
