"""
`mockserver interleave`: runs commands in any language at once, in every order of their calls that matters.

Each command has a port of its own, by which its calls are known, and gets its address by a variable.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Final, TextIO

from mockserver._commands import command_line
from mockserver._files import write_whole
from mockserver.cli.explore import INTERRUPTED, OF_CLIENTS, add_of_clients, reported, stopped_by_signals, with_program

if TYPE_CHECKING:
    from mockserver.cli.command_runs import Reported
    from mockserver.testing.interleave import InterleaveReport
    from mockserver.testing.sandbox import Sandbox

_SEPARATOR: Final = "--"
_OUTPUT_MAX_BYTES: Final = 8192  # of each run of a command, its end

# fmt: off
_OPTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("--scenario", OF_CLIENTS["--scenario"]),
    ("--bound", {"type": int, "default": 2, "metavar": "NUMBER",
        "help": "most preemptions of an order (default: %(default)s)"}),
    ("--runs", {"type": int, "default": 500, "metavar": "RUNS",
        "help": "most runs, each of which starts every command once (default: %(default)s)"}),
    ("--schedule", {"metavar": "SCHEDULE",
        "help": "run one order alone, such as 'a*2 b': the first command is a, the second b"}),
    ("--faults", {"type": int, "default": 0, "metavar": "RUNS",
        "help": "runs with a lost answer or another fault at one call in addition (default: %(default)s)"}),
    ("--fault", {"metavar": "FAULT",
        "help": "the fault of a finding, for --schedule, such as 'drop-after a 2': the second call of a"}),
    ("--seed", {"type": int, "default": 0, "metavar": "NUMBER",
        "help": "seed of the random search beyond the budget (default: %(default)s)"}),
    ("--split-calls", {"action": "store_true",
        "help": "let an event or a call of another command come between the effect of a call and its answer"}),
    ("--skip-equivalent", {"action": "store_true",
        "help": "leave out orders that only exchange calls with nothing in common; for commands that share no database or file"}),
    ("--blocked", {"type": float, "default": 10.0, "metavar": "SECONDS",
        "help": "real time after which a command that neither calls nor ends counts as blocked (default: %(default)g)"}),
    ("--timeout", {"type": float, "default": 60.0, "metavar": "SECONDS",
        "help": "real time after which a command is ended (default: %(default)g)"}),
    *((name, OF_CLIENTS[name]) for name in ("--reported-exit", "--reported-output", "--json", "--failures-dir")),
)
# fmt: on


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver interleave`."""
    add_of_clients(command, _OPTIONS)
    help_text = "after `--`: the commands, with `--` between them; each gets MOCKSERVER_URL, MOCKSERVER_KEY and MOCKSERVER_PUBLIC_KEY"
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ... -- COMMAND ...", help=help_text)


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Interleave commands and print the report.

    Returns:
        0 if there is no finding, 1 if there is one, 130 if a signal, as of Ctrl-C, ended it.
    """
    from mockserver.cli.command_runs import CommandReported
    from mockserver.testing.server import MockServer

    commands = _commands(options.command)
    clients = {
        name: partial(_run_command, with_program("interleave", command), options.timeout, reported(options))
        for name, command in zip(ascii_lowercase, commands, strict=False)
    }
    report: InterleaveReport
    try:
        with stopped_by_signals(), MockServer() as server:
            report = server.interleave(
                clients=clients,
                settings={"scenario": options.scenario} if options.scenario else {},
                test=" and ".join(map(command_line, commands)),
                bound=options.bound,
                runs=options.runs,
                schedule=options.schedule,
                seed=options.seed,
                faults=options.faults,
                fault=options.fault,
                split=options.split_calls,
                prune=options.skip_equivalent,
                blocked_seconds=options.blocked,
                tolerates=(CommandReported,),
            )
    except KeyboardInterrupt:  # the commands have ended already
        print("interleave: ended by a signal", file=out)
        return INTERRUPTED
    if not report.failed and not any(sum(row.calls) for row in report.serial):
        raise ValueError(
            "interleave: the commands made no call; expected calls to MOCKSERVER_URL with MOCKSERVER_KEY, which all have "
            "one sandbox, and not to sandboxes that they make"
        )
    _write(report, options)
    kept = [
        *(["--scenario", options.scenario] if options.scenario else []),
        *(["--split-calls"] if options.split_calls else []),
    ]
    again = command_line([*kept, *(word for command in commands for word in (_SEPARATOR, *command))])
    print(
        report.text(
            replay=f'mockserver interleave --schedule "{{schedule}}"{{fault}} {again}', as_option=' --fault "{fault}"'
        ),
        file=out,
    )
    return 1 if report.failed else 0


def _commands(words: Sequence[str]) -> list[list[str]]:
    """Return the commands; ValueError for fewer than two."""
    commands: list[list[str]] = []
    for word in words if words[:1] == [_SEPARATOR] else [_SEPARATOR, *words]:
        if word == _SEPARATOR:
            commands.append([])
        else:
            commands[-1].append(word)
    if len(commands) < 2 or not all(commands) or len(commands) > len(ascii_lowercase):
        raise ValueError(
            f"interleave: got {len([each for each in commands if each])} command(s); expected at least two, such as "
            "`mockserver interleave -- npm run worker -- npm run cron`"
        )
    return commands


def _run_command(
    command: Sequence[str],
    timeout: float,
    as_reported: Reported,
    sandbox: Sandbox,
) -> None:
    """Run a command as a client, until it has ended, its time is over, or its run has ended."""
    from mockserver.cli.command_runs import failure, run_command

    variables = {
        "MOCKSERVER_URL": sandbox.base_url,
        "MOCKSERVER_KEY": sandbox.secret_key,
        "MOCKSERVER_PUBLIC_KEY": sandbox.public_key,
    }
    hosted = sandbox._hosted
    is_open: Callable[[], bool] = lambda: hosted.id in hosted.host.sandboxes
    with tempfile.TemporaryFile() as output:
        status = run_command(command, {**os.environ, **variables}, timeout, output.fileno(), is_open)
        output.seek(max(output.seek(0, os.SEEK_END) - _OUTPUT_MAX_BYTES, 0))
        text = output.read().decode("utf-8", "replace")
    failed = failure(status, text, timeout, as_reported)
    if failed is not None:
        raise failed


def _write(report: InterleaveReport, options: argparse.Namespace) -> None:
    """Write the documents of the findings, and the report as JSON."""
    from mockserver.testing.report.folder import folder_for_documents, make_folder

    root = Path()
    folder = folder_for_documents(options.failures_dir, root)
    if folder is not None and report.findings:
        make_folder(folder, root)
        report.write_documents(folder)
    if options.json is not None:
        document: Mapping[str, Any] = report.json
        write_whole(options.json, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
