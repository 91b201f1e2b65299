"""`mockserver scenarios`, `choices` and `clauses`, which print lists as text or JSON, `replay-calls` and `report`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TextIO

from mockserver._data import data_dir

_SHOWN_OF_RULES: Final = ("id", "severity", "clause", "proof", "advice")
_FORMATS: Final = {
    "schema": "print the JSON Schema of a scenario document",
    "json": "print JSON",
}


def add_scenarios_options(scenarios: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver scenarios`."""
    help_text = "print this scenario: its clauses, the ids of its seed data, its rules"
    scenarios.add_argument("scenario", nargs="?", metavar="NAME|FILE", help=help_text)
    _add_formats(scenarios, "schema", "json")


def add_table_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver choices`."""
    command.add_argument("ids", nargs="*", metavar="ID", help="print this choice alone, such as dual-status")
    _add_formats(command, "json")


def add_clauses_options(clauses: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver clauses`."""
    clauses.add_argument("ids", nargs="*", metavar="ID", help="print this clause alone, such as start.not-draft")
    clauses.add_argument("--conduct", action="store_true", help="list the rules of conduct for clients instead")
    _add_formats(clauses, "json")


def add_replay_options(replay: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver replay-calls`."""
    help_text = "document written by a failed test to .mockserver/failures, or returned by GET /_mock/replay"
    replay.add_argument("file", type=Path, metavar="FILE", help=help_text)


def add_report_options(report: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver report`."""
    report.add_argument("url", metavar="URL", help="base url of the sandbox, or of the server for its default sandbox")
    report.add_argument("--failure", default="", metavar="MESSAGE", help="message of the test that failed")
    report.add_argument("--token", help="token of the server's control plane, if it requires one")
    _add_formats(report, "json")


def _add_formats(command: argparse.ArgumentParser, *formats: str) -> None:
    group = command.add_mutually_exclusive_group()
    for name in formats:
        group.add_argument(f"--{name}", action="store_true", help=_FORMATS[name])


def list_scenarios(options: argparse.Namespace, out: TextIO) -> int:
    """List the library with the summary of each scenario, or print one scenario."""
    from mockserver.scenario import library

    if options.scenario is not None:
        if options.schema:
            raise ValueError(
                f"got {options.scenario!r} and --schema; expected one of them, since --schema concerns all scenarios"
            )
        return _show_scenario(options, out)
    if options.schema:
        print(scenario_schema(), end="", file=out)
        return 0
    documents = [library.document(name) for name in library.paths()]
    rows = [
        {"name": document["scenario"], "summary": document.get("summary", ""), "clauses": document.get("clauses", [])}
        for document in documents
    ]
    width = max(len(row["name"]) for row in rows) + 2
    _print(options, out, rows, lambda row: f"{row['name']:<{width}}{row['summary']}")
    return 0


def scenario_schema() -> str:
    """Return the text of `schemas/scenario.json`, with the effects as their rows in `contract/effects` define them."""
    from mockserver.contract.effects import schema_properties

    schema = json.loads((data_dir("schemas") / "scenario.json").read_text(encoding="utf-8"))
    schema["$defs"]["effects"]["properties"] = dict(schema_properties())
    return json.dumps(schema, indent=2, ensure_ascii=False, default=dict) + "\n"


def _show_scenario(options: argparse.Namespace, out: TextIO) -> int:
    """Print one scenario: its clauses, the ids of its seed data, its rules."""
    from mockserver.cli.play_log import PlayLog
    from mockserver.cli.serve import load_scenario
    from mockserver.scenario.documents import to_plain
    from mockserver.server.hosting.config import SandboxConfig
    from mockserver.server.hosting.host import SandboxHost

    document = load_scenario(options.scenario)
    created = SandboxHost().create(SandboxConfig(document)).created.ids
    if not options.json:
        PlayLog(lambda line: print(line, file=out)).print_scenario(document, created)
        return 0
    summary = {
        "name": document.get("scenario"),
        "summary": document.get("summary", ""),
        "clauses": document.get("clauses", []),
        "created": created,
        "script": to_plain(document.get("script", [])),
    }
    print(json.dumps(summary, ensure_ascii=False, indent=2), file=out)
    return 0


def list_choices(options: argparse.Namespace, out: TextIO) -> int:
    """List every choice, or only those with the given ids: its question, its options, its default and the reason."""
    from mockserver.contract.choices import CHOICES

    rows = [
        {**row._asdict(), "options": list(row.options), "clauses": list(row.clauses), "means": dict(row.means)}
        for row in CHOICES.values()
    ]
    rows = _of_ids(rows, options.ids, "choice", "choices")
    for row in rows:
        del row["document"]  # functions of the OpenAPI document
    _print(options, out, rows, _choice_text)
    return 0


def _choice_text(row: dict[str, Any]) -> str:
    options = ", ".join(f"{option} (default)" if option == row["default"] else option for option in row["options"])
    default = "" if row["default"] in row["options"] else f"\n  default: {json.dumps(row['default'])}"
    meanings = "".join(f"    {option}: {meaning}\n" for option, meaning in row["means"].items())
    return (
        f"{row['id']}  [{row['where']}, {row['provenance']}]\n"
        f"  {row['question']}\n"
        f"  options: {options or 'a value'}{default}\n"
        f"{meanings}"
        f"  why: {row['why']}\n"
    )


def list_clauses(options: argparse.Namespace, out: TextIO) -> int:
    """List every clause of the API document, or those with the given ids; or the rules of conduct."""
    from mockserver.contract.clauses import read, sentence_of

    if options.conduct:
        return _list_conduct(options, out)
    rows = [
        {
            "id": clause.id,
            "part": clause.part,
            "text": clause.text,
            "isQuoted": clause.is_quoted,
            "where": clause.where,
            "choices": list(clause.choices),
        }
        for clause in read()
    ]
    rows = _of_ids(rows, options.ids, "clause", "clauses")
    _print(options, out, rows, lambda row: f"{row['id']:<30}{sentence_of(row['id'])}")
    return 0


def _list_conduct(options: argparse.Namespace, out: TextIO) -> int:
    """List every rule of conduct, with what proves it and what to do instead."""
    from mockserver.judge.client.rules import RULES

    if options.ids:
        raise ValueError(f"got {options.ids[0]!r} and --conduct; expected one of them, since --conduct lists all rules")
    rows = [{name: getattr(rule, name) for name in _SHOWN_OF_RULES} for rule in RULES.values()]
    _print(options, out, rows, lambda row: f"{row['severity']}  {row['id']:<28}{row['proof']}")
    return 0


def _of_ids(rows: list[dict[str, Any]], ids: list[str], kind: str, command: str) -> list[dict[str, Any]]:
    """Return the rows with these ids in their order, all rows for none; ValueError for an unknown id."""
    from mockserver.contract.text import closest_match_hint

    by_id = {row["id"]: row for row in rows}
    for id in ids:
        if id not in by_id:
            hint = closest_match_hint(id, by_id)
            raise ValueError(f"got the {kind} {id!r}; expected one that `mockserver {command}` lists{hint}")
    return [by_id[id] for id in ids] if ids else rows


def _print(options: argparse.Namespace, out: TextIO, rows: list[Any], text: Callable[[Any], str]) -> None:
    if options.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2), file=out)
        return
    for row in rows:
        print(text(row), file=out)


def replay(options: argparse.Namespace, out: TextIO) -> int:
    """Send the calls of a document to a new sandbox; return 0 if every response is as recorded, else 1."""
    from mockserver.scenario.documents import read
    from mockserver.testing.report.replay import print_replay

    return print_replay(read(options.file), out)


def report(options: argparse.Namespace, out: TextIO) -> int:
    """Print the report of a sandbox on a running server."""
    from urllib.parse import urlencode

    method, query = ("POST", f"?{urlencode({'failure': options.failure})}") if options.failure else ("GET", "")
    view = read_view(options.url, options.token, method, f"report{query}")
    if options.json:
        print(json.dumps(view, ensure_ascii=False, indent=2), file=out)
    else:
        print(view["text"].rstrip("\n"), file=out)
    return 0


def read_view(url: str, token: str | None, method: str, name: str) -> Any:
    """Return a view of a sandbox on a running server; OSError if the server does not respond."""
    from mockserver.contract.text import did_you_mean
    from mockserver.testing.remote import ControlClient

    client = ControlClient(url, token)
    try:
        return client.request(method, f"{client.url}/_mock/{name}")
    except OSError as failure:
        near = did_you_mean(None if "://" in url else f"http://{url}")
        expected = f"the base url of a sandbox of a running server, such as http://127.0.0.1:5055{near}"
        why = failure.strerror or failure
        raise OSError(f"got {url}, which does not respond ({why}); expected {expected}") from None
