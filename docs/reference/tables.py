"""
Tables of the reference, generated from the code's own tables, schemas and parsers.

A page holds a line `<!-- generated: NAME -->` where the table `NAME` of `TABLES` belongs.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from docs.reference import python
from docs.reference.markdown import code, rows, sentence
from docs.reference.schema_tables import (
    fields,
    load_schema,
    meaning,
    resolved,
    scenario_documents,
    script,
    seed_data,
    value_type,
)
from mockserver import Sandbox, cli, pytest_plugin
from mockserver._settings import SERVER
from mockserver.contract import effects
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.errors import ERRORS
from mockserver.contract.lifecycles import EVENTS
from mockserver.server.control.routes import ROUTES
from mockserver.testing.sandbox import Aio
from mockserver.testing.sandbox_parts import Admin, Log, SandboxClock, Webhooks

_PLACEHOLDER = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)

PACKAGES = ("mockserver.",)  # members of other packages, which a class inherits, are not documented here

# The environment variables that the package reads.
ENVIRONMENT = {
    "MOCKSERVER_KEY": "The secret key for `mockserver probe`, instead of `--key`, which other users of the machine can see.",
    **{setting.variable: f"For `serve` and `play`: {setting.help}." for setting in SERVER},
    "TZ": "Explore sets the time zone of the process for one run, and restores it.",
}


def fill(page: str) -> str:
    """
    Return the Markdown of a page with its generated tables.

    Raises:
        ValueError: The page names a table that does not exist.
    """
    return _PLACEHOLDER.sub(lambda line: _table(line[1]), page)


def _table(name: str) -> str:
    if name not in TABLES:
        raise ValueError(f"got the table {name!r}; expected one of {', '.join(TABLES)}")
    return "\n".join(TABLES[name]())


# Python


def members(owner: type) -> dict[str, Any]:
    """Return the public methods, properties and classes of a class that this project defines, by name."""
    named = {name: inspect.getattr_static(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {name: value for name, value in named.items() if _is_own(value)}


def _is_own(member: Any) -> bool:
    """Return True for a method or a property that a module of this project defines."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    return callable(function) and str(getattr(function, "__module__", "")).startswith(PACKAGES)


def sandbox_members() -> Iterator[str]:
    """Yield the members of `Sandbox` and of its parts, with the first sentence of each."""
    parts = {"clock": SandboxClock, "webhooks": Webhooks, "log": Log, "admin": Admin, "aio": Aio}
    body = [(_linked(name, Sandbox, name), first_sentence(member)) for name, member in members(Sandbox).items()]
    for part, owner in parts.items():
        own = members(owner).items()
        body += [(_linked(f"{part}.{name}", owner, name), first_sentence(member)) for name, member in own]
    yield from rows(("member", "meaning"), body)


def _linked(shown: str, owner: type, name: str) -> str:
    """Return the name of a member as code; that of a method leads to its section."""
    found = python.read(owner).all_members.get(name)
    has_section = found is not None and found.is_function and found.docstring is not None
    return f"[`{shown}`](#{f'{owner.__name__}{name}'.lower()})" if has_section else code(shown)


def first_sentence(member: Any) -> str:
    """Return the first sentence of a docstring; an empty text if there is none."""
    text = " ".join((inspect.getdoc(member) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s(?=[A-Z])", text, maxsplit=1)[0]


def machine_settings() -> Iterator[str]:
    """Yield the class attributes with which a subclass configures `GatewayMachine`, and their defaults."""
    from mockserver.testing.machine import GatewayMachine

    body = []
    for name, annotation in inspect.get_annotations(GatewayMachine).items():
        if not name.startswith("_") and str(annotation).startswith("ClassVar"):
            default = repr(getattr(GatewayMachine, name))
            short = default if len(default) <= 40 else "GIVEN" if name == "given" else f"{default[:36]} ..."
            body.append((code(name), code(short)))
    yield from rows(("attribute", "default"), body)


def effect_arguments() -> Iterator[str]:
    """Yield the effects by group, and the arguments of those that take an object."""
    for group in effects.GROUPS:
        yield f"## {group.place.capitalize()}\n"
        named = [effects.EFFECTS[name] for name in effects.of_group(group.name)]
        yield from rows(
            ("effect", "argument", "meaning"),
            [(code(row.name), code(row.argument), sentence(row.meaning)) for row in named],
        )
    root = load_schema("scenario")
    yield "## Arguments\n"
    body = []
    for name, schema in root["$defs"]["effects"]["properties"].items():
        for part in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
            for member, value in resolved(part, root).get("properties", {}).items():
                if name != "given":
                    body.append((code(name), code(member), value_type(value, root), meaning(resolved(value, root))))
    yield from rows(("effect", "argument", "value", "meaning"), body)


# The API and the control plane


def operations() -> Iterator[str]:
    """Yield the operations of the API."""
    body = [(code(row.id), code(f"{row.method} {row.path}"), row.keys) for row in ENDPOINTS.values()]
    yield from rows(("operation", "method and path", "key"), body)


def errors() -> Iterator[str]:
    """Yield the error codes with their statuses."""
    body = [(code(row.code), str(row.status), str(row.guide_status), code(row.clause)) for row in ERRORS.values()]
    yield from rows(("code", "status", "status in the campaign guide", "clause"), body)


def routes() -> Iterator[str]:
    """Yield the routes of the control plane, then the bodies that they take."""
    body = [(code(row.method), code(row.path), sentence(row.summary), str(row.status)) for row in ROUTES]
    yield from rows(("method", "path", "what it does", "status"), body)
    yield "## Bodies\n"
    for row in ROUTES:
        if row.schema is not None:
            schema = load_schema(row.schema)
            yield f"### {schema['title']}\n"
            yield f"`{row.method} {row.path}`\n"
            yield meaning(schema)
            if schema.get("properties"):
                yield from fields(schema, schema)
            yield ""


def events() -> Iterator[str]:
    """Yield a section for each kind of event with the members of its payload."""
    for kind in EVENTS.values():
        schema = load_schema(kind.schema)
        yield f"### {kind.name}\n"
        yield sentence(schema["description"])
        yield from fields(schema["properties"]["data"], schema)


# pytest


class Setting(NamedTuple):
    """An option or an ini setting of the plugin, as the plugin declares it to pytest."""

    name: str
    metavar: str
    help: str


class Declared:
    """The settings that the plugin declares; it takes the place of `pytest.Parser`."""

    def __init__(self) -> None:
        self.command_line: list[Setting] = []
        self.ini: list[Setting] = []
        pytest_plugin.pytest_addoption(self)  # type: ignore[arg-type]

    def getgroup(self, name: str, description: str = "") -> Declared:
        """Return the group of options: this object collects the options itself."""
        return self

    def addoption(self, name: str, **settings: Any) -> None:
        """Collect a command-line option."""
        metavar = settings.get("metavar") or ""
        self.command_line.append(Setting(name, metavar, settings["help"]))

    def addini(self, name: str, help: str, type: str = "string", default: Any = None) -> None:
        """Collect an ini setting."""
        kind = {"linelist": "lines", "bool": "true or false"}.get(type, "text")
        self.ini.append(Setting(name, f"{kind}, default `{default}`" if default else kind, help))


def pytest_options() -> Iterator[str]:
    """Yield the command-line options of the plugin."""
    body = [(code(f"{each.name} {each.metavar}".strip()), sentence(each.help)) for each in Declared().command_line]
    yield from rows(("option", "meaning"), body)


def pytest_ini() -> Iterator[str]:
    """Yield the ini settings of the plugin."""
    body = [(code(each.name), each.metavar, sentence(each.help)) for each in Declared().ini]
    yield from rows(("setting", "value", "meaning"), body)


def pytest_markers() -> Iterator[str]:
    """Yield the marks that the plugin registers, with their arguments."""
    body = []
    for row in pytest_plugin.MARKERS:
        form, _, meaning = row.partition(":")
        name, _, arguments = form.removesuffix(")").partition("(")
        body.append((code(name), ", ".join(map(code, arguments.split(", "))), sentence(meaning)))
    yield from rows(("mark", "arguments", "meaning"), body)


def fixtures() -> dict[str, tuple[str, str]]:
    """Return scope and docstring of each fixture of the plugin."""
    declared = {}
    for node in ast.parse(inspect.getsource(pytest_plugin)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in map(ast.unparse, node.decorator_list):
            if decorator.startswith("pytest.fixture"):
                scope = re.search(r"scope='(\w+)'", decorator)
                declared[node.name] = (scope[1] if scope else "function", ast.get_docstring(node) or "")
    return declared


def pytest_fixtures() -> Iterator[str]:
    """Yield the fixtures of the plugin."""
    body = [(code(name), scope, doc.partition("\n\n")[0]) for name, (scope, doc) in fixtures().items()]
    yield from rows(("fixture", "scope", "value"), body)


# The command line and the environment


def commands() -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """Return the parser and the help text of each subcommand, by name; of one with forms those of each form."""
    return dict(_commands(cli.build_parser(), ""))


def _commands(
    parser: argparse.ArgumentParser, prefix: str
) -> Iterator[tuple[str, tuple[argparse.ArgumentParser, str]]]:
    (subcommands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in subcommands._choices_actions}
    for name, command in subcommands.choices.items():
        if any(isinstance(action, argparse._SubParsersAction) for action in command._actions):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", (command, helps[name])


def command_line() -> Iterator[str]:
    """Yield a section for each subcommand: what it does, and its arguments."""
    for name, (parser, purpose) in commands().items():
        yield f"## mockserver {name}\n"
        yield sentence(purpose)
        body = [(code(_form(action)), sentence(_help(action))) for action in _shown(parser)]
        yield from rows(("argument", "meaning"), body)


def _shown(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a command, without the help itself."""
    return (action for action in parser._actions if action.dest != "help")


def _form(action: argparse.Action) -> str:
    """Return how an argument is written: its name, and the name of its value."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return f"{value}"
    return action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {value}"


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {"default": action.default, "prog": "mockserver"}


def environment() -> Iterator[str]:
    """Yield the environment variables that the package reads."""
    yield from rows(("variable", "meaning"), [(code(name), meaning) for name, meaning in ENVIRONMENT.items()])


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "command-line": command_line,
    "effects": effect_arguments,
    "environment": environment,
    "errors": errors,
    "events": events,
    "machine-settings": machine_settings,
    "operations": operations,
    "pytest-fixtures": pytest_fixtures,
    "pytest-ini": pytest_ini,
    "pytest-markers": pytest_markers,
    "pytest-options": pytest_options,
    "routes": routes,
    "sandbox-members": sandbox_members,
    "scenario-documents": scenario_documents,
    "script": script,
    "seed-data": seed_data,
}
