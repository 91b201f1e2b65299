"""The shape of the package, read from its source: imports point one way, the inner packages are pure."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "mockserver"
# Packages in levels: a module may import from its own package, and from packages of an earlier level.
TOP = (
    ("version", "_collision", "_commands", "_data", "_files", "_json", "_templates"), ("contract",), ("_settings", "core"), ("scenario", "wire"), ("trace",), ("judge", "probe"), ("report",), ("server",), ("testing",),
    ("unittest_case",), ("pytest_plugin",), ("cli",), ("__init__", "__main__"),
)  # fmt: skip
CORE = (
    ("ids", "instants", "redaction", "phone_numbers"), ("state",), ("webhooks", "run"), ("lifecycle",), ("operations",),
    ("ledger", "faults"), ("scheduler",),
)  # fmt: skip
SERVER = (
    ("errors", "http1", "log"), ("exchange",), ("webhooks",), ("hosting",), ("hosted_page",), ("control",), ("dashboard",),
    ("front_controller", "wsgi"), ("app", "socket_handler"),
)  # fmt: skip
TESTING = (
    ("calls", "transports", "settings", "sweep", "rules", "receivers", "arguments", "run_end", "key_labels"), ("end_user",), ("backend", "setting_checks"), ("sandbox_parts",),
    ("call_log", "conduct"), ("report",), ("sandbox",), ("runs",), ("explore", "interleave"), ("server",), ("remote",), ("strategies",),
    ("machine",),
)  # fmt: skip
LEVELS = {"": TOP, "core": CORE, "server": SERVER, "testing": TESTING}
PROBE_IMPORTS = ("contract", "version", "_data", "_json", "trace", "probe")  # it uses a service by its public API alone
BACKENDS = ("testing.backend", "testing.remote")  # these alone run commands of the control plane
PURE = ("contract", "core", "judge")
# These read a sandbox through `core.run.Run` alone.
READERS = (
    "judge.",
    "report.",
    "trace.",
    "testing.runs.faults.",
    "testing.machine.",
    "testing.report.",
)
# Explore watches a sandbox while it runs; a replay drives one; an example is recorded as a document without its keys.
DRIVERS = (
    "judge.choices.replays", "testing.runs.bounds", "testing.report.replay", "testing.machine.recording",
)  # fmt: skip
WORLD = ("asyncio", "flask", "os", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid", "werkzeug")
CLOCK_READERS = ("now", "today", "utcnow")
LINES_MAX = 800


class Module(NamedTuple):
    """A module of the package: its dotted name below the package, and its source."""

    name: str
    source: str

    @property
    def package(self) -> str:
        """The part of `mockserver` that the module is in."""
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


def imported_modules(module: Module, known: Container[str]) -> set[str]:
    """The modules of this package that a module imports, by their names below it; the package itself is `__init__`."""
    found = set()
    for name in imported(module):
        package, _, inside = name.partition(".")
        if package != "mockserver":
            continue
        while inside and inside not in known and f"{inside}.__init__" not in known:
            inside = inside.rpartition(".")[0]
        found.add(inside if inside in known else f"{inside}.__init__" if inside else "__init__")
    longest = found - {"__init__"} or found
    return {each for each in longest if not _is_parent_of_another(each, longest)} - {module.name}


def _is_parent_of_another(name: str, names: set[str]) -> bool:
    """Whether it is only the package of another module that the same statement names."""
    return name.endswith(".__init__") and any(each.startswith(name.removesuffix("__init__")) for each in names - {name})


def upward(importer: str, imported_name: str) -> bool:
    """True if an import points to a later level, or to another package of its own level."""
    if importer.startswith("probe."):
        return imported_name.partition(".")[0] not in PROBE_IMPORTS
    mine, other = importer.split("."), imported_name.split(".")
    for scope in ("", mine[0]):
        if scope and (other[0] != scope or scope not in LEVELS or "__init__" in (mine[1], other[1])):
            return False
        place = 1 if scope else 0
        if mine[place] != other[place]:
            return _level(scope, other[place]) >= _level(scope, mine[place])
    return False


def _level(scope: str, package: str) -> int:
    return next(number for number, level in enumerate(LEVELS[scope]) if package in level)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import one another, also for types alone."""
    reachable = {name: _reached(graph, name) for name in graph}
    groups = {tuple(sorted({name} | {each for each in reachable[name] if name in reachable[each]})) for name in graph}
    return sorted(list(group) for group in groups if len(group) > 1)


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    left = [start]
    while left:
        for each in graph.get(left.pop(), set()) - seen:
            seen.add(each)
            left.append(each)
    return seen


def control_imports(module: Module) -> set[str]:
    """Names that a module imports from the control plane."""
    return {
        name.removeprefix("mockserver.") for name in imported(module) if name.startswith("mockserver.server.control.")
    }


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


def mutable_collections(module: Module) -> list[str]:
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
INNER = tuple(module for module in ALL if module.package in PURE)
NAMES = frozenset(module.name for module in ALL)


@cache
def graph() -> dict[str, set[str]]:
    """The modules that each module imports; read by the tests that use it, since every worker imports this file."""
    return {module.name: imported_modules(module, NAMES) for module in ALL}


def test_every_package_has_its_level() -> None:
    placed = {(scope, name) for scope, levels in LEVELS.items() for level in levels for name in level}
    there = {("", module.package) for module in ALL}
    there |= {(module.package, module.name.split(".")[1]) for module in ALL if module.package in LEVELS} - {
        (scope, "__init__") for scope in LEVELS
    }

    assert placed == there


def test_imports_point_one_way() -> None:
    assert [] == sorted((name, each) for name, found in graph().items() for each in found if upward(name, each))


def test_what_judges_counts_explores_or_reports_reads_a_run_and_not_the_state_of_a_sandbox() -> None:
    readers = {name for name in graph() if name.startswith(READERS)} - set(DRIVERS)

    assert [] == sorted(name for name in readers if "core.state.sandbox" in graph()[name])


def test_the_transport_imports_nothing_else_of_this_package_but_the_kind_of_its_records() -> None:
    own = ("server.http1.",)
    found = {name: sorted(each for each in graph()[name] if not each.startswith(own)) for name in graph()}

    assert {} == {name: others for name, others in found.items() if name.startswith("server.http1.") and others}


def test_the_api_over_http_imports_no_transport_and_no_socket() -> None:
    api = [module for module in ALL if module.name.startswith("wire.")]
    transport = {module.name: sorted(name for name in graph()[module.name] if "http1" in name) for module in api}

    assert {} == {name: found for name, found in transport.items() if found}
    assert [] == [module.name for module in api if {"socket", "flask"} & worldly_imports(module)]


def test_no_modules_import_one_another() -> None:
    assert [] == cycles(graph())


def test_the_contract_the_core_and_conduct_import_nothing_of_the_outside_world() -> None:
    assert {} == {module.name: found for module in INNER if (found := worldly_imports(module))}


def test_the_contract_the_core_and_conduct_read_no_clock() -> None:
    assert {} == {module.name: found for module in INNER if (found := clock_reads(module))}


def test_the_control_plane_is_reached_through_a_backend_alone() -> None:
    offenders = {
        module.name: control_imports(module) for module in ALL if module.package in ("testing", "pytest_plugin")
    }

    assert set(BACKENDS) == {name for name, control in offenders.items() if control}
    assert {
        "server.control.commands",
        "server.control.commands.CommandId",
        "server.control.routes",
        "server.control.routes.COMMANDS",
    } == offenders["testing.remote"]


def test_a_module_has_at_most_800_lines() -> None:
    assert {} == {module.name: lines for module in ALL if (lines := module.source.count("\n")) > LINES_MAX}


def test_a_module_begins_with_a_docstring() -> None:
    others = [module for module in ALL if not module.source.startswith('"""')]

    assert [] == [module.name for module in others if not (ast.get_docstring(ast.parse(module.source)) or "").strip()]


def test_the_contract_the_core_and_conduct_have_no_state_at_module_level() -> None:
    assert {} == {module.name: found for module in INNER if (found := mutable_collections(module))}
