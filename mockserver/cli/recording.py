"""The command `inspect-recording`: what a recording shows of a service and a client; and `lint-client --from`, its part about the client."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final, TextIO

from mockserver._files import write_whole

_FILES: Final = "HAR, cassette of vcrpy, or journal or replay document of a sandbox"
_URL: Final = "part of the addresses before /v1 (default: the one that most calls of the API have)"
_KEEP: Final = "print the texts of this field; without it names, texts, phone numbers and unknown fields are masked"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver inspect-recording`."""
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help=_FILES)
    add_reading_options(command)
    command.add_argument(
        "--profile-out", type=Path, metavar="FILE", help="save the settled choices, for `mockserver serve --profile`"
    )
    command.add_argument(
        "--scenario-out", type=Path, metavar="FILE", help="save a scenario with what the recording saw first"
    )
    command.add_argument(
        "--questions", action="store_true", help="print the fewest further calls that would show more, as lines of curl"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Add the options of reading a recording."""
    command.add_argument("--url", metavar="PREFIX", help=_URL)
    command.add_argument("--keep", action="append", default=[], metavar="FIELD", help=_KEEP)


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Judge a recording, and print what it shows.

    Returns:
        0, or 1 if the service broke a sentence of the document. A file that is no recording raises a ValueError, for 2.
    """
    from mockserver.contract.text import printable
    from mockserver.recordings import questions
    from mockserver.recordings.learning import profile
    from mockserver.recordings.reading import read_recording
    from mockserver.recordings.report import lines, report_on
    from mockserver.recordings.seeding import seeded_scenario

    recording = read_recording(*options.files, url=options.url)
    report = report_on(recording, options.keep)
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
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2), file=out)
    elif options.questions:
        rows = questions.questions(report.choices)
        print("\n".join(map(printable, questions.lines(rows, report.recording.prefix))), file=out)
    else:
        print("\n".join(map(printable, lines(report))), file=out)
        if written:
            print(f"written: {', '.join(written)}", file=out)
    return 1 if report.service.broken else 0


def judge_conduct(options: argparse.Namespace, out: TextIO) -> int:
    """
    Judge a client by a recording, and print the findings and the rules that the recording cannot show.

    Returns:
        0, or 1 if the client broke a rule of severity 1 or 2.
    """
    from mockserver.contract.text import printable
    from mockserver.recordings.client import judge_client
    from mockserver.recordings.masking import Masker, salt_of
    from mockserver.recordings.reading import read_recording
    from mockserver.recordings.report import client_json, finding_lines, intake_lines

    recording = read_recording(*options.recordings, url=options.url)
    recording = Masker(salt_of(recording), options.keep).recording(recording)
    result = judge_client(recording)
    if options.json:
        print(json.dumps(client_json(result), ensure_ascii=False, indent=2), file=out)
    else:
        count = len(result.findings)
        rows = [*intake_lines(recording), f"{count or 'no'} finding{'s' * (count != 1)}"]
        rows += [line for finding in result.findings for line in finding_lines(finding, recording)]
        rows += [f"not assessed: {row.rule:<28}{row.why}" for row in result.not_assessed]
        print("\n".join(map(printable, rows)), file=out)
    return 1 if any(finding.severity <= 2 for finding in result.findings) else 0
