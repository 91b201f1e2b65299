"""
The command line: `mockserver serve`, `play`, `health`, `replay-calls`, `report`, `scenarios`, `choices`,
`clauses`, `coverage`, `openapi`, `docs`, `skill`, `explore`, `judge` and `probe`.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, TextIO

from mockserver._collision import find_collision
from mockserver.contract.text import closest_match_hint, did_you_mean, printable
from mockserver.version import VERSION

# What argparse says, as `got X; expected Y`; the groups of each are those of its text.
_REWORDED: Final = (
    (r"(?P<where>argument .*): invalid int value: (?P<got>'.*')", "{where}: got {got}; expected a whole number"),
    (r"(?P<where>argument .*): invalid float value: (?P<got>'.*')", "{where}: got {got}; expected a number"),
    (r"the following arguments are required: (?P<names>.*)", "got no {names}; expected `{command} {names}`"),
    (r"argument (?P<one>.*): not allowed with argument (?P<other>.*)", "got {other} and {one}; expected one of them"),
    (r"(?P<where>argument .*): expected (?P<number>.* arguments?)", "{where}: got none; expected {number}"),
    (r"(?P<where>argument .*): ignored explicit argument (?P<got>.*)", "{where}: got {got}; expected no value"),
    (r"ambiguous option: (?P<got>\S+) could match (?P<names>.*)", "got {got}; expected one of {names}"),
)
_LISTED_MAX: Final = 12  # options in an error, which is one line; the help has them all
_OF_A_WRONG_NAME: Final = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM)
_WRONG_COMMAND: Final = re.compile(r"^argument COMMAND: invalid choice: '([^']*)'")
_WRONG_CHOICE: Final = re.compile(
    r"(?P<where>^argument .*): invalid choice: '(?P<got>.*)' \(choose from (?P<names>.*)\)$"
)


class _Command(NamedTuple):
    """
    One command. Its module is imported when the command is used, since `serve` should start without the others.

    Attributes:
        name: As it is typed.
        module: The module of this package that has its functions.
        run: The function that runs it: `(options, out) -> exit status`.
        add_options: The function that adds its options to a parser.
        help_text: What it does, as a clause.
    """

    name: str
    module: str
    run: str
    add_options: str
    help_text: str

    def function(self, name: str) -> Any:
        return getattr(import_module(f"{__name__}.{self.module}"), name)


# fmt: off
_COMMANDS: Final = (  # in the order of the help
    _Command("serve", "serve", "serve", "add_serve_options", "start the server, with demo data by default"),
    _Command("play", "serve", "play", "add_play_options", "start the server with a scenario, and print what happens in it"),
    _Command("health", "health", "check", "add_health_options", "check that the server of these settings answers, for the health check of a container"),
    _Command("replay-calls", "listing", "replay", "add_replay_options", "repeat the calls of a failed test, and print each response that differs"),
    _Command("report", "listing", "report", "add_report_options", "print why a test against a running server failed, and everything that happened in its sandbox"),
    _Command("scenarios", "listing", "list_scenarios", "add_scenarios_options", "list the scenarios of the library, or the seed data and rules of one"),
    _Command("choices", "listing", "list_choices", "add_table_options", "list the points that the API document leaves open, with their options"),
    _Command("clauses", "listing", "list_clauses", "add_clauses_options", "list the clauses of the API document, or the rules of good behaviour for a client"),
    _Command("coverage", "coverage", "run", "add_options", "show what calls have covered of the API document, and each gap"),
    _Command("openapi", "openapi", "print_document", "add_options", "print the OpenAPI document of the public API, or of the control plane"),
    _Command("docs", "manual", "print_docs", "add_docs_options", "print a page of the documentation as Markdown, or the list of pages"),
    _Command("skill", "manual", "print_skill", "add_skill_options", "print what a coding agent needs to test with this package, for its SKILL.md"),
    _Command("explore", "explore", "run", "add_options", "run a command once for each fault at each of its calls, each time against a fresh sandbox"),
    _Command("judge", "judge", "run", "add_options", "judge the service and the client in a recording of calls, such as a HAR, and learn how the service behaves"),
    _Command("probe", "probe", "run", "add_options", "call a service through its public API, and judge its answers as those of a recording"),
)

# The command lines at the end of the help of a command.
_EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "serve": ("mockserver serve --port 8080 --profile guide", "mockserver serve --freeze 2026-03-01T12:00:00Z"),
    "play": ("mockserver play campaign-canceled-by-another",),
    "health": ("mockserver health --port 8080",),
    "replay-calls": ("mockserver replay-calls failure.json",),
    "report": ('mockserver report http://127.0.0.1:5055 --failure "expected a campaign"',),
    "scenarios": ("mockserver scenarios", "mockserver scenarios campaign-canceled-by-another"),
    "choices": ("mockserver choices dual-status",),
    "clauses": ("mockserver clauses start.not-draft", "mockserver clauses --conduct"),
    "coverage": ("mockserver coverage report --operations used", "mockserver coverage html -o coverage.html"),
    "coverage report": ("mockserver coverage report --operations used", "mockserver coverage report --fail-under operations=5"),
    "coverage html": ("mockserver coverage html -o coverage.html",),
    "coverage combine": ("mockserver coverage combine test-1.json test-2.json -o suite.json",),
    "openapi": ("mockserver openapi --control", "mockserver openapi --profile guide --openapi 3.0"),
    "docs": ("mockserver docs", "mockserver docs faults"),
    "skill": ("mockserver skill",),
    "explore": ("mockserver explore --scenario demo --faults drop-before,drop-after -- npm test",),
    "judge": ("mockserver judge calls.har", "mockserver judge calls.har --scenario-out seen.yaml"),
    "probe": ("mockserver probe https://crm.example/api --key sk_tenant --allow-writes",),
})
# fmt: on


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command and return its exit status.

    Returns:
        The status of the command: 0 if it succeeds, and for the help that no command prints; 2 for an error of the caller, printed in one line; `replay-calls`
        returns 1 for a difference, `explore` for a finding, `judge` and `probe` for a sentence that the service broke.
    """
    if collision := find_collision():
        print(f"mockserver: {collision}", file=sys.stderr)
        return 2
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not words:
        build_parser(words).print_help()
        return 0
    options, unknown = build_parser(words).parse_known_args(words)
    if unknown:
        options.parser.refuse(unknown)
    use_utf8(sys.stdout, sys.platform)
    status: int = 0
    try:
        chosen: _Command = options.chosen
        status = chosen.function(chosen.run)(options, sys.stdout)
        sys.stdout.flush()  # here, where a reader that has left is no error
        return status
    except (OSError, ValueError) as failure:
        if isinstance(failure, OSError) and is_broken_pipe(failure, sys.platform):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return status
        print(printable(f"mockserver: {message_of(failure)}", keep="\n"), file=sys.stderr)
        return 2


def message_of(failure: Exception) -> str:
    """Return the text of an error; one of the operating system names the file, without its number."""
    if not isinstance(failure, OSError) or not failure.strerror:
        return str(failure)
    if failure.filename is None:
        return failure.strerror
    if failure.errno not in _OF_A_WRONG_NAME:
        return f"{failure.filename}: {failure.strerror}"
    from mockserver.scenario.documents import nearest_file

    hint = did_you_mean(nearest_file(Path(failure.filename)))
    return f"got {failure.filename} ({failure.strerror}); expected a file that can be read or written{hint}"


def use_utf8(stream: TextIO, platform: str) -> None:
    """Encode a pipe or file on Windows as UTF-8 instead of a code page; a terminal has its own encoding."""
    if platform == "win32" and isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8")


def is_broken_pipe(failure: OSError, platform: str) -> bool:
    """Return True if the reader has closed its pipe; Windows reports that as an invalid argument without a file."""
    is_invalid = failure.errno == errno.EINVAL and failure.filename is None
    return isinstance(failure, BrokenPipeError) or (platform == "win32" and is_invalid)


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """
    Return the parser of the command line, which sets `chosen` to the row of the command.

    Args:
        words: The command line. The parser has only the command with which it begins, if there is such a command, and only
            commands that are in it have options. None: all commands with their options.
    """
    parser = _Parser(
        "mockserver", description="A stateful mock of the HTTP API of a CRM gateway, true to its API document."
    )
    parser.add_argument("--version", action="version", version=f"mockserver {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = [row for row in _COMMANDS if words and row.name == words[0]]
    for row in chosen or _COMMANDS:
        description = f"{row.help_text[0].upper()}{row.help_text[1:]}."
        command = commands.add_parser(row.name, help=row.help_text, description=description)
        command.set_defaults(chosen=row, parser=command)
        if words is None or row.name in words:
            row.function(row.add_options)(command)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage, which fills a screen for a command of many options."""

    def __init__(self, *args: Any, **options: Any) -> None:
        # It formats each option that is added. With a width it does not measure the terminal, for which it imports 3 ms of
        # modules.
        options.setdefault("formatter_class", lambda prog: argparse.HelpFormatter(prog, width=80))
        options.setdefault("allow_abbrev", False)  # the beginning of `--allow-writes` allows no writes
        super().__init__(*args, **options)

    def format_help(self) -> str:
        """Return the help as wide as the terminal, with the examples of the command, which are not wrapped."""
        self.formatter_class = argparse.HelpFormatter
        examples = _EXAMPLES.get(self.prog.removeprefix("mockserver "), ())
        if not examples:
            return super().format_help()
        title = "example" if len(examples) == 1 else "examples"
        lines = "".join(f"  {example}\n" for example in examples)
        return f"{super().format_help()}\n{title}:\n{lines}"

    def option_names(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Print the nearest option to words that the command has no use for, or its options if none is near, and end with 2."""
        names = self.option_names()
        hint = closest_match_hint(unknown[0].partition("=")[0], names)
        if hint:
            expected = f"an option of `{self.prog}`{hint}"
        else:
            long = [name for name in names if name.startswith("--")]
            more = f" and {len(long) - _LISTED_MAX} more" if len(long) > _LISTED_MAX else ""
            which = "" if unknown[0].startswith("-") else "no further argument but "
            expected = f"{which}{', '.join(long[:_LISTED_MAX])}{more}"
        self.error(f"got {' '.join(unknown)}; expected {expected}")

    def error(self, message: str) -> NoReturn:
        """Print the error, with what is expected and the nearest name for one that does not exist, and end with 2."""
        wrong = _WRONG_COMMAND.search(message)
        if wrong:
            names = [row.name for row in _COMMANDS]
            message = f"got {wrong[1]}; expected {', '.join(names)}{closest_match_hint(wrong[1], names)}"
        elif choice := _WRONG_CHOICE.search(message):
            names = [name.strip("'") for name in choice["names"].split(", ")]
            hint = closest_match_hint(choice["got"], names)
            message = f"{choice['where']}: got '{choice['got']}'; expected {', '.join(names)}{hint}"
        for pattern, form in _REWORDED:
            if found := re.fullmatch(pattern, message):
                message = form.format(**found.groupdict(), command=self.prog)
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")
