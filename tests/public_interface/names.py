"""The public names that are not Python's, made from the code: one fact per line."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import mockserver
from docs.reference import tables
from mockserver import MockServer, cli, pytest_plugin
from mockserver._settings import SERVER, SUITE
from mockserver.cli.settings import default_of
from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.effects import EFFECTS
from mockserver.judge.client.rules import RULES
from mockserver.judge.service.verdicts import Breach
from mockserver.probe.run import ProbeRun
from mockserver.report.recording import RecordingReport
from mockserver.report.service import answer_json
from mockserver.scenario import library
from mockserver.server.control.routes import ROUTES
from mockserver.server.errors import STATUSES
from mockserver.testing.runs.faults.placements import ExploreStep
from mockserver.testing.runs.faults.tables import ACTS, DELIVERY_FAULTS, FAULTS, ORDER
from mockserver.trace.recorded import recorded_trace
from mockserver.version import REPORT_VERSION, SCENARIO_VERSION
from tests.public_interface import python_names
from tests.public_interface.shapes import schema_facts, value_facts

_OF_MAINTAINERS = ("bench", "dev", "docs", "manifests")
_HEADER = re.compile(r'"(x-mock-[a-z-]+)"', re.IGNORECASE)
_VALUE = ("is a flag", "takes a value")


@cache
def lines() -> tuple[str, ...]:
    """Return every fact, sorted, without repetition."""
    kinds = (_package, _python, _pytest, _commands, _environment, _control, _tables, _files)
    return tuple(sorted({fact for kind in kinds for fact in kind()}))


def _package() -> Iterator[str]:
    with (python_names.ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    yield from (f"extra {name}" for name in extras if name not in _OF_MAINTAINERS)
    for path in (python_names.ROOT / "mockserver").rglob("*.py"):
        yield from (f"header {name.title()}" for name in _HEADER.findall(path.read_text(encoding="utf-8")))


def _python() -> Iterator[str]:
    yield from (f"python import mockserver.{name}" for name in mockserver.__all__)
    yield from (f"python import {path}" for path in python_names.documented())


def _pytest() -> Iterator[str]:
    declared = tables.Declared()
    for row in declared.command_line:
        yield f"pytest option {row.name} {_VALUE[bool(row.metavar)]}"
    for row in declared.ini:
        yield f"pytest setting {row.name} ({row.metavar})"
    for text in pytest_plugin.MARKERS:
        name, _, arguments = text.partition(":")[0].removesuffix(")").partition("(")
        yield f"pytest mark {name}"
        yield from (f"pytest mark {name}({each})" for each in arguments.split(", ") if each != "*")
    for name, (scope, _) in tables.fixtures().items():
        yield f"pytest fixture {name} (of a {scope})"
    of_run = (row for row in SUITE if "command line" in row.places)
    yield from (f"pytest option --mockserver-{row.name} = {option}" for row in of_run for option in row.options)


def _commands() -> Iterator[str]:
    for name, (parser, _) in tables.commands().items():
        yield from _command(name, parser)
    for setting in SERVER:
        if default_of(setting):
            yield f"setting {setting.name}, default {default_of(setting)}"


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"command {name}"
    place = 0
    for action in parser._actions:
        if action.dest == "help":
            continue
        place += not action.option_strings
        argument = f"command {name} {action.option_strings[-1] if action.option_strings else f'argument {place}'}"
        yield f"{argument} {_VALUE[action.nargs != 0]}"
        yield from (f"{argument} = {choice}" for choice in action.choices or ())
        if action.default and not action.required:
            yield f"{argument}, default {action.default}"


def _environment() -> Iterator[str]:
    yield from (f"environment {name}" for name in tables.ENVIRONMENT)


def _control() -> Iterator[str]:
    with MockServer() as server:
        sandbox = server.sandbox()
        control = json.loads(sandbox.call("GET", "/_mock/openapi.json?plane=control").body)
        for line in sandbox.call("GET", "/_mock/metrics").body.decode().splitlines():
            if line.startswith("# TYPE "):
                yield f"metric {line.removeprefix('# TYPE ')}"
        public = json.loads(sandbox.call("GET", "/_mock/openapi.json").body)
    schemas, own = control["components"]["schemas"], public["components"]["schemas"].keys()
    sent, received = set[str](), set[str]()
    for row in ROUTES:
        command = f"control {row.method} {row.path}"
        operation = control["paths"][row.path][row.method.lower()]
        yield f"{command} is {row.id}"
        yield from (f"{command}?{name}" for name in row.query_names)
        body = _content(operation.get("requestBody", {}))
        sent |= _references(body)
        yield from schema_facts(f"{command} takes", body, is_sent=True)
        for status, answer in operation["responses"].items():
            if status.startswith("2"):
                yield f"{command} returns {status}"
                yield from (f"{command} returns {media_type}" for media_type in answer.get("content", ()))
                received |= _references(_content(answer))
                yield from schema_facts(f"{command} returns", _content(answer), is_received=True)
    sent, received = _closure(sent, schemas), _closure(received, schemas)
    for name in schemas.keys() - own:
        yield from schema_facts(f"schema {name}", schemas[name], is_sent=name in sent, is_received=name in received)
    yield from (f"control refusal {code} {status}" for code, status in STATUSES.items())


def _content(part: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = part.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _references(value: Any) -> set[str]:
    """Return the names of the components that a schema refers to directly."""
    if isinstance(value, Mapping):
        named = {value["$ref"].rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set[str]()
        return named.union(*map(_references, value.values()))
    return set[str]().union(*map(_references, value)) if isinstance(value, list) else set()


def _closure(names: Iterable[str], schemas: Mapping[str, Any]) -> set[str]:
    reached, waiting = set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(schemas[name])
    return reached


def _tables() -> Iterator[str]:
    for row in CHOICES.values():
        yield f"choice {row.id}, default {json.dumps(row.default)}"
        yield from (f"choice {row.id} = {option}" for option in row.options)
    yield from (f"profile {name}" for name in PROFILES)
    yield from (f"effect {name}" for name in EFFECTS)
    yield from (f"clause {row.id}" for row in clauses.read())
    yield from (f"conduct rule {name}" for name in RULES)
    yield from (f"library scenario {name}" for name in library.paths())
    yield from (f"explore fault {name}" for name in (*FAULTS, *ACTS, *DELIVERY_FAULTS))
    yield from (f"explore verdict {name}" for name in ORDER)


def _files() -> Iterator[str]:
    """Yield the members of the files that are written, and their versions."""
    yield f"scenario document, version {SCENARIO_VERSION}"
    yield f"report, version {REPORT_VERSION}"
    with MockServer() as server:
        recorded = _recorded(server)
        yield from value_facts(
            "recording report", recorded.as_json(), frozenset(("body", "leftOut", "notTheService", "masked"))
        )
        report = server.explore(_forgetful, faults=("drop-before",), choices=())
    yield from value_facts("explore report", report.as_json(), frozenset(("matrix", "verdicts", "rules")))
    for step in (ExploreStep("choice", choice="", option=""), ExploreStep("delivery", event="", delivery=1, name="")):
        yield from value_facts("explore report.tests[].findings[].placements[][]", step.as_json())
    proof = answer_json(Breach(clause="", cited=recorded.recording.exchanges))
    for place, fields in (("", recorded.service.as_json()[0]), (".proofs[]", proof)):
        yield from (f"recording report.service.clauses[]{place}.{name}" for name in fields)
    yield from value_facts(
        "probe report",
        ProbeRun(
            recording=recorded_trace([], prefix="", sources=(), left_out={}),
            incomplete={},
            not_cleaned_up=(),
            sessions=0,
            stopped="",
        ).as_json(),
        frozenset(("incomplete",)),
    )
    for command in ("choices", "clauses", "scenarios"):
        yield from value_facts(f"mockserver {command} --json", _printed(command), frozenset(("means",)))
    yield from value_facts("mockserver clauses --conduct --json", _printed("clauses", "--conduct"))


def _forgetful(sandbox: mockserver.Sandbox) -> None:
    """A client that does not expect a lost answer."""
    sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}, timeout=5)


def _list_campaigns(sandbox: mockserver.Sandbox) -> None:
    sandbox.call("GET", "/v1/campaigns")


def _recorded(server: MockServer) -> RecordingReport:
    """Return the report on a recording of one call."""
    sandbox = server.sandbox()
    _list_campaigns(sandbox)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "calls.har")
        file.write_text(json.dumps(sandbox.log.har()), encoding="utf-8")
        return RecordingReport(mockserver.read_recording(file))


def _printed(*command: str) -> Any:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        cli.main([*command, "--json"])
    return json.loads(out.getvalue())
