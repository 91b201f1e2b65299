"""
The shape of the package, read from its source: imports point one way, the inner rooms are pure, modules stay small.

The readers of source at the top are shown on small examples first, so that none of them passes by seeing nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "mockserver"
LINES_MAX, FUNCTION_LINES_MAX = 400, 40

# A module may import from its own room and from those with a lower number.
ROOMS = {
    "version": 0, "_data": 0,
    "contract": 1,
    "core": 2,
    "scenario": 3,
    "edge": 4,
    "testing": 5, "verify": 5, "pytest_plugin": 5, "cli": 5,
    "__init__": 6, "__main__": 6,
}  # fmt: skip
PURE = ("contract", "core")
WORLD = ("asyncio", "flask", "os", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid", "werkzeug")
CLOCK_READERS = ("now", "today", "utcnow")


class Module(NamedTuple):
    """A module of the package: its dotted name below the package, and its source."""

    name: str
    source: str

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]

    def __repr__(self) -> str:
        return self.name


def modules() -> Iterator[Module]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield Module(".".join(file.relative_to(PACKAGE).with_suffix("").parts), file.read_text(encoding="utf-8"))


def imported(module: Module) -> Iterator[str]:
    """Every module that is imported anywhere in the source, absolute; of `from a import b` both `a` and `a.b`."""
    package = ["mockserver", *module.name.split(".")[:-1]]
    for node in ast.walk(ast.parse(module.source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [] if not node.level else package[: len(package) - node.level + 1]
            whole = ".".join([*base, *([node.module] if node.module else [])])
            yield whole
            yield from (f"{whole}.{alias.name}" for alias in node.names)


def rooms_entered(module: Module) -> set[str]:
    """The rooms of the package that a module imports from; the package itself counts as `__init__`."""
    found = set()
    for name in imported(module):
        package, _, inside = name.partition(".")
        if package == "mockserver":
            room = inside.partition(".")[0]
            found.add(room if room in ROOMS else "__init__")
    return found - ({"__init__"} if any(room != "__init__" for room in found) else set())


def worldly_imports(module: Module) -> set[str]:
    return {name.partition(".")[0] for name in imported(module)} & set(WORLD)


def clock_reads(module: Module) -> list[int]:
    """The lines of calls such as `datetime.now()`."""
    calls = [node for node in ast.walk(ast.parse(module.source)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _called(call.func) in CLOCK_READERS]


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def lengths(module: Module) -> dict[str, int]:
    """The lines of each function, its decorators apart, by its name and line."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(ast.parse(module.source)) if isinstance(node, functions)]
    return {f"{module.name}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1 for node in found}


def loose_collections(module: Module) -> list[str]:
    """Names at the top of a module that are bound to a dict, list or set, and are neither private nor Final."""
    found: list[str] = []
    for node in ast.parse(module.source).body:
        if isinstance(node, ast.Assign):
            targets: Iterable[ast.expr] = node.targets
        elif isinstance(node, ast.AnnAssign) and "Final" not in ast.unparse(node.annotation):
            targets = [node.target]
        else:
            continue
        if isinstance(node.value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp):
            found += [each.id for each in targets if isinstance(each, ast.Name) and not each.id.startswith("_")]
    return found


ALL = tuple(modules())
INNER = tuple(module for module in ALL if module.room in PURE)


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        pytest.param("import mockserver.edge.app", {"edge"}, id="import"),
        pytest.param("from mockserver.edge import app", {"edge"}, id="from a room"),
        pytest.param("from mockserver import edge", {"edge"}, id="from the package"),
        pytest.param("from mockserver import MockServer", {"__init__"}, id="the public face"),
        pytest.param("from ..edge import app", {"edge"}, id="relative"),
        pytest.param("from . import answer", {"core"}, id="relative, own room"),
        pytest.param("def f():\n    from mockserver.cli import main", {"cli"}, id="inside a function"),
        pytest.param(
            "if TYPE_CHECKING:\n    from mockserver.testing.server import Sandbox", {"testing"}, id="for types"
        ),
        pytest.param("import mockserver_other", set(), id="another package"),
    ],
)
def test_an_import_is_seen_however_it_is_written(source: str, rooms: set[str]):
    assert rooms == rooms_entered(Module("core.example", source))


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import time as clock", {"time"}),
        ("from os import path", {"os"}),
        ("import werkzeug.http", {"werkzeug"}),
        ("from datetime import datetime, UTC", set()),
    ],
)
def test_the_world_is_seen_however_it_is_imported(source: str, seen: set[str]):
    assert seen == worldly_imports(Module("core.example", source))


@pytest.mark.parametrize("source", ["datetime.now(UTC)", "datetime.datetime.utcnow()", "date.today()", "now()"])
def test_a_read_of_the_clock_is_seen(source: str):
    assert [1] == clock_reads(Module("core.example", source))


def test_the_clock_of_a_sandbox_is_no_read_of_the_processs():
    assert [] == clock_reads(Module("core.example", "later = sandbox.now + LIFETIME"))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("STORE = {}", ["STORE"]),
        ("SEEN: set[str] = set() or {1}\nKNOWN: list[int] = [1]", ["KNOWN"]),
        ("_STORE = {}\nTABLE: Final = {1: 2}\nROWS: Final[list[int]] = [1]\nPAIR = (1, 2)", []),
        ("def f():\n    local = []", []),
    ],
)
def test_a_loose_collection_is_seen(source: str, names: list[str]):
    assert names == loose_collections(Module("core.example", source))


def test_every_module_has_a_room():
    assert set() == {module.room for module in ALL} - set(ROOMS)
    assert {"contract", "core", "scenario", "edge", "testing", "cli", "pytest_plugin"} <= {each.room for each in ALL}


def test_imports_point_one_way():
    backwards = {
        (module.name, room) for module in ALL for room in rooms_entered(module) if ROOMS[room] > ROOMS[module.room]
    }

    assert set() == backwards


def test_the_contract_and_the_core_import_nothing_of_the_outside_world():
    assert {} == {module.name: found for module in INNER if (found := worldly_imports(module))}


def test_the_contract_and_the_core_read_no_clock():
    assert {} == {module.name: found for module in INNER if (found := clock_reads(module))}


def test_a_module_has_at_most_400_lines():
    lines = {module.name: len(module.source.splitlines()) for module in ALL}

    assert {} == {name: count for name, count in lines.items() if count > LINES_MAX}


def test_a_function_has_at_most_40_lines():
    functions = {name: count for module in ALL for name, count in lengths(module).items()}

    assert {} == {name: count for name, count in functions.items() if count > FUNCTION_LINES_MAX}


def test_a_module_begins_with_a_docstring():
    assert [] == [module.name for module in ALL if not (ast.get_docstring(ast.parse(module.source)) or "").strip()]


def test_the_contract_and_the_core_hold_no_state_at_module_level():
    assert {} == {module.name: found for module in INNER if (found := loose_collections(module))}
