"""The reference of the documentation is complete: public members, routes, effects, errors, options, settings, environment."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

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
from tests.wheels import run

ROOT = Path(__file__).resolve().parents[1]
OPTION = re.compile(r"^  (--[a-z-]+)", re.MULTILINE)


def page(name: str) -> str:
    """A page of the reference."""
    return (reference.PAGES / f"{name}.md").read_text(encoding="utf-8")


def environment_reads(source: str) -> set[str]:
    """The environment variables that a module reads: by a literal, or by a constant of its own."""
    tree = ast.parse(source)
    constants = {
        target.id: str(node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    keys = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv"):
            keys.append(node.args[0])
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            keys.append(node.slice)
    return {str(key.value) if isinstance(key, ast.Constant) else constants[ast.unparse(key)] for key in keys}


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


def test_the_reference_has_every_route_of_the_control_plane_and_every_member_of_its_bodies() -> None:
    text = page("control-plane")
    members = {name for row in ROUTES if row.schema for name in load_schema(row.schema).get("properties", {})}

    assert [] == [row for row in ROUTES if f"| `{row.method}` | `{row.path}` |" not in text]
    assert [] == [name for name in members if f"| `{name}` |" not in text]


def test_the_reference_has_every_member_of_scenario_documents() -> None:
    text = page("scenario-documents")
    schema = load_schema("scenario")
    objects = [schema, *(row for name, row in schema["$defs"].items() if name not in ("effects", "chatVariation"))]
    members = {name for row in objects for name in row.get("properties", {})}

    assert [] == [name for name in members if f"| `{name}` |" not in text]


def test_the_reference_has_every_effect_and_every_error() -> None:
    assert [] == [name for name in EFFECTS if f"| `{name}` |" not in page("effects")]
    assert [] == [code for code in ERRORS if f"| `{code}` |" not in page("operations")]


def test_the_reference_has_every_option_ini_setting_and_mark_that_pytest_lists(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    pytest_ = (sys.executable, "-m", "pytest", "-p", "mockserver.pytest_plugin", "-p", "no:cacheprovider", "--help")
    listed = run(*pytest_, cwd=tmp_path, PYTHONPATH=str(ROOT), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1").stdout
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
