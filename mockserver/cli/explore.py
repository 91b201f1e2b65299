"""
`mockserver explore`: runs a command in any language once per placement, each time against a fresh sandbox.

The command gets the address and the keys of its sandbox by variables; its exit status is the outcome of the test.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from mockserver._commands import command_line
from mockserver._files import write_whole
from mockserver._settings import EXPLORE
from mockserver.cli import settings
from mockserver.cli.terminal import progress
from mockserver.contract.text import counted

if TYPE_CHECKING:
    from mockserver.cli.command_runs import CommandRuns
    from mockserver.server.hosting.config import SandboxConfig
    from mockserver.testing.runs.faults import Exploration, ExploreReport, Placement
    from mockserver.testing.runs.investigation import ControlledRun

INTERRUPTED: Final = 130  # the exit status of a program that Ctrl-C has stopped
_NONE = "none"
_UNEXPLORED: Final = (
    "the command made {} sandboxes, and only the calls of the first were explored: explore one test at a time, "
    "by an option of its runner"
)
_CURE: Final = "POST /_mock/clock/advance in place of its sleep, or --clock-speed SECONDS"


_OPTIONS: Final = tuple(setting for setting in EXPLORE if "explore" in setting.places)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver explore`."""
    settings.add_options(command, *_OPTIONS)
    help_text = "after `--`: the command, which gets MOCKSERVER_URL, MOCKSERVER_KEY, MOCKSERVER_PUBLIC_KEY and MOCKSERVER_SERVER"
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ...", help=help_text)


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Explore a command and print the report.

    Returns:
        0 if nothing fails, 1 for findings that do, 130 if a signal, as of Ctrl-C, ended it: the report has what was found before.
    """
    from mockserver.cli.command_runs import CommandReported, CommandRuns
    from mockserver.testing.runs.faults import Exploration, ExploreOptions

    _check_seconds(options)
    command = _command(options)
    runs = CommandRuns(_with_program(command), options.timeout, options.clock_speed, _reported(options))
    explored = ExploreOptions(
        faults=_names(options.faults),
        operations=_names(options.operations),
        choices=() if options.choices == _NONE else _names(options.choices),
        runs=options.runs,
        pairs=options.pairs,
        seconds=options.seconds,
        strict=options.strict,
        tolerates=(CommandReported,),
    )
    exploration = Exploration(explored, test=command_line(command), cure=_CURE, in_process=False)
    report = exploration.report
    with suppress(KeyboardInterrupt):  # the command has ended already
        _run_all(exploration, runs, options)
    if report.ended is not None:
        report.investigation.ended = f"by a signal after {counted(report.runs, 'run')}"
    if report.ended is None and not report.clean.calls and report.clean.failure is None:
        raise ValueError(
            "explore: the command made no call; expected calls to MOCKSERVER_URL with the key MOCKSERVER_KEY, "
            "or to a sandbox that it makes at MOCKSERVER_SERVER"
        )
    _write(report, options, runs)
    unexplored = ("", _UNEXPLORED.format(runs.own_sandboxes)) if runs.own_sandboxes > 1 else ()
    text = report.text(as_documents=True, then=(*unexplored, *runs.outputs_of(report)))
    print(text, file=out)
    if report.ended is not None:
        return INTERRUPTED
    return 1 if report.failed else 0


def _run_all(exploration: Exploration, runs: CommandRuns, options: argparse.Namespace) -> None:
    """Run the command for each placement."""
    from mockserver.testing.runs.faults import EndedRun
    from mockserver.testing.server import MockServer
    from mockserver.testing.setting_checks import setting_error

    # The instant of each run: that of the first one, which is the present unless an option or the scenario freezes another.
    now: datetime | str | None = options.freeze
    if now is not None and (wrong := setting_error("now", now)):
        raise ValueError(wrong.replace("now", "--freeze", 1))

    @contextmanager
    def subject(placement: Placement) -> Iterator[EndedRun]:
        nonlocal now
        with server.sandbox(options.scenario, now=now) as sandbox:
            now = sandbox.now if sandbox.state()["clock"]["frozen"] else None
            own = exploration.prepare(sandbox, placement)

            def create(config: SandboxConfig) -> ControlledRun:
                return exploration.prepare(server._create_as_client(config, sandbox.now), placement)

            control, failed = runs.run(own, placement, create)
            with control.sandbox:
                yield EndedRun.of(control, failed)

    with progress() as show, MockServer() as server:
        exploration.run(subject, show)


def _command(options: argparse.Namespace) -> list[str]:
    command: list[str] = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise ValueError("explore: got no command; expected one after --, such as `mockserver explore -- npm test`")
    return command


def _check_seconds(options: argparse.Namespace) -> None:
    for setting in _OPTIONS:
        value = getattr(options, setting.attribute) if setting.type == "seconds" else None
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"--{setting.name}: got {value:g}; expected a number of seconds above 0")


def _with_program(command: Sequence[str]) -> list[str]:
    """Return a command with the path of its program, by which alone Windows starts some, such as npm; ValueError if there is none."""
    import shutil

    program = shutil.which(command[0])
    if program is None:
        raise ValueError(f"explore: got {command[0]!r}; expected a program that is on PATH, or the path of one")
    return [program, *command[1:]]


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def _reported(options: argparse.Namespace) -> tuple[Collection[int], re.Pattern[str] | None]:
    """Return the statuses and the pattern of the output with which the command reports a failure."""
    try:
        statuses = [int(status) for status in (options.reported_exit or "").split(",") if status]
    except ValueError:
        expected = "exit statuses from 1 to 255, separated by commas"
        raise ValueError(f"--reported-exit: got {options.reported_exit!r}; expected {expected}") from None
    try:
        pattern = None if options.reported_output is None else re.compile(options.reported_output, re.MULTILINE)
    except re.error as problem:
        got = f"--reported-output: got {options.reported_output!r} ({problem})"
        raise ValueError(f"{got}; expected a regular expression of Python") from None
    return statuses, pattern


def _write(report: ExploreReport, options: argparse.Namespace, runs: CommandRuns) -> None:
    """Write the documents of the findings, and the report as JSON and as a page, which name them."""
    from mockserver.testing.report.folder import folder_for_documents, make_folder

    root = Path()
    folder = folder_for_documents(options.failures_dir, root)
    if folder is not None and report.findings:
        make_folder(folder, root)
        report.write_documents(folder)
    if options.json is not None:
        document = report.as_json()
        for finding, row in zip(report.findings, document["tests"][0]["findings"], strict=True):
            row["outputs"] = [runs.output_of(placement) for placement in finding.placements]
        text = json.dumps(document, ensure_ascii=False, indent=2)
        write_whole(options.json, text + "\n")
    if options.html is not None:
        from mockserver.report import explore_page

        write_whole(options.html, explore_page.render([report.entry()]))
