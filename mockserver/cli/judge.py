"""The command `judge`: what recordings show of a service and a client."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final, TextIO

from mockserver._files import write_whole

_FILES: Final = "HAR, cassette of vcrpy, or journal or replay document of a sandbox"
_URL: Final = "part of the addresses before /v1 (default: the one that most calls of the API have)"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver judge`."""
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help=_FILES)
    parts = command.add_mutually_exclusive_group()
    parts.add_argument("--service", action="store_true", help="print the service alone, with every clause")
    parts.add_argument("--client", action="store_true", help="print the client alone, with the rules not assessed")
    command.add_argument("--url", metavar="PREFIX", help=_URL)
    command.add_argument(
        "--profile-out", type=Path, metavar="FILE", help="save the settled choices, for `mockserver serve --profile`"
    )
    command.add_argument(
        "--scenario-out", type=Path, metavar="FILE", help="save a scenario with what the recording saw first"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Judge recordings, and print what they show.

    Returns:
        1 if the service broke a sentence of the document, with --client if the client broke a rule of severity 1 or 2; else 0.
        A file that is no recording raises a ValueError, for 2.
    """
    from mockserver.cli.seen_scenario import seeded_scenario
    from mockserver.contract.text import printable
    from mockserver.judge.choices.learning import profile
    from mockserver.report.recording import PARTS, RecordingReport, lines
    from mockserver.trace.reading import read_recording

    report = RecordingReport(read_recording(*options.files, url=options.url))
    parts = [part for part in PARTS if getattr(options, part, False)] or PARTS
    written: list[str] = []
    if options.profile_out is not None:
        write_whole(options.profile_out, profile(report.choices, report.recording.sources))
        written.append(f"{options.profile_out}")
    if options.scenario_out is not None:
        scenario = seeded_scenario(report.recording, report.choices)
        write_whole(options.scenario_out, scenario.as_yaml())
        count = len(scenario.comments)
        written.append(f"{options.scenario_out} ({count} comment{'s' * (count != 1)} on what could not be known)")
    if options.json:
        print(json.dumps(report.as_json(parts), ensure_ascii=False, indent=2), file=out)
    else:
        shown = list(map(printable, lines(report, parts)))
        if written:
            shown.append(f"written: {', '.join(written)}")
        print("\n".join(shown), file=out)
    is_broken = report.client_broke_a_severe_rule if options.client else bool(report.service.broken)
    return 1 if is_broken else 0
