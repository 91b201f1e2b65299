"""The reference of the documentation is complete: public members, routes, effects, errors, options, settings, environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mockserver
from docs.reference import __main__ as reference
from docs.reference import tables
from docs.reference.schema_tables import load_schema
from mockserver import cli
from mockserver._settings import SERVER
from mockserver.contract.effects import EFFECTS
from mockserver.contract.errors import ERRORS
from mockserver.server.control.routes import ROUTES
from mockserver.testing import machine, strategies
from tests.harness.rows import each_row
from tests.public_interface.python_names import documented
from tests.testing.conftest import run_in_process

ROOT = Path(__file__).resolve().parents[1]
OPTION = re.compile(r"^  (--[a-z-]+)", re.MULTILINE)


def page(name: str) -> str:
    """A page of the reference."""
    return (reference.PAGES / f"{name}.md").read_text(encoding="utf-8")


def environment_reads(source: str) -> set[str]:
    """The environment variables that a module reads: by a literal, or by a constant of its own."""
    constants = dict(re.findall(r'^(\w+)(?:: \w+)? = "(\w+)"', source, re.MULTILINE))
    read = re.findall(r'\bos\.(?:environ\.get\(|environ\[|getenv\()"?(\w+)', source)
    return {constants.get(name, name) for name in read}


def test_the_reference_has_every_public_name() -> None:
    public = {f"mockserver.{name}" for name in mockserver.__all__ if not name.startswith("_")}
    for module in (strategies, machine):
        public |= {f"{module.__name__}.{name}" for name in module.__all__ if callable(getattr(module, name))}

    assert set() == public - documented().keys()


def test_a_page_names_tables_that_exist_and_every_table_has_its_page() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in reference.SOURCES.glob("*.md"))
    named = re.findall(r"^<!-- generated: (\S+) -->$", sources, re.MULTILINE)

    assert sorted(tables.TABLES) == sorted(named)
    with pytest.raises(ValueError, match="got the table 'nonsense'; expected one of"):
        tables.fill("<!-- generated: nonsense -->")


def members(*schemas: dict[str, Any]) -> set[str]:
    return {name for schema in schemas for name in schema.get("properties", {})}


def names_of_pages() -> Iterator[tuple[str, Iterable[str]]]:
    """Each page with the names that have a row on it."""
    yield "control-plane", (f"{row.method}` | `{row.path}" for row in ROUTES)
    yield "control-plane", members(*(load_schema(row.schema) for row in ROUTES if row.schema))
    yield "effects", EFFECTS
    yield "operations", ERRORS
    scenario = load_schema("scenario")
    parts = [part for name, part in scenario["$defs"].items() if name not in ("effects", "chatVariation")]
    yield "scenario-documents", members(scenario, *parts)


def test_the_reference_has_every_route_effect_error_and_member_of_a_document() -> None:
    assert [] == [name for of, names in names_of_pages() for name in names if f"| `{name}` |" not in page(of)]


def test_the_reference_has_every_option_ini_setting_and_mark_that_pytest_lists(
    pytester: pytest.Pytester, pytestconfig: pytest.Config
) -> None:
    listed = run_in_process(pytester, "--help").stdout.str()
    names = set(re.findall(r"--mockserver-[a-z-]+|^  mockserver_\w+", listed, re.MULTILINE))
    names |= {mark for row in pytestconfig.getini("markers") for mark in re.findall(r"^mockserver\w*", row)}
    text = page("pytest")

    assert len(names) > 20
    assert [] == sorted(name for name in map(str.strip, names) if not re.search(rf"`{name}[` ]", text))


def test_the_reference_has_every_fixture() -> None:
    own = {"mockserver", "mockserver_server", "mockserver_settings", "mockserver_sweep_choices", "mockserver_coverage"}
    assert own == tables.fixtures().keys()
    assert [] == [name for name, (_, doc) in tables.fixtures().items() if not doc or f"`{name}`" not in page("pytest")]


@each_row("command", sorted(tables.commands()))
def test_the_reference_has_every_option_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([*command.split(), "--help"])
    section = page("command-line").partition(f"## mockserver {command}\n")[2].partition("\n## ")[0]

    listed = set(OPTION.findall(capsys.readouterr().out))
    assert set() == {name for name in listed if not re.search(rf"`{name}[` ]", section)}
    assert "" != section


@pytest.mark.deep
def test_the_reference_has_every_environment_variable_that_the_package_reads() -> None:
    files = (ROOT / "mockserver").rglob("*.py")
    read = set().union(*(environment_reads(path.read_text(encoding="utf-8")) for path in files))
    read |= {setting.variable for setting in SERVER}

    assert read == tables.ENVIRONMENT.keys()
    assert [] == [name for name in read if f"| `{name}` |" not in page("command-line")]


def test_the_pages_are_as_the_command_writes_them() -> None:
    assert [] == [page.name for page, text in reference.written() if text != page.read_text(encoding="utf-8")], (
        "write them: python -m docs.reference"
    )
