"""
How much there is to read in the package, and where it is split too finely or repeats itself.

    python -m tests.measures               # this tree
    python -m tests.measures FOLDER        # another checkout of it
    python -m tests.measures --list NAME   # the places behind one measure

Nothing enforces these figures, since a limit is met by tricks.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SMALL_LINES, LONG_LINES, COMPLEXITY_MAX, HELPER_LINES = 110, 800, 15, 6
EVENT_KIND = re.compile(r"CONNECTION_FAILED|CONNECTED\b|entrypoints\.chatapp\.conn|event\.connect")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DESCRIBED = (ast.Module, ast.ClassDef, *FUNCTIONS)
# One more path through a function for each of these; `and` and `or` add one per operand after the first.
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)


class Module(NamedTuple):
    """A module with its dotted name below the package, its source and its syntax tree."""

    name: str
    source: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return len(self.source.splitlines())


def read(root: Path) -> list[Module]:
    """Return the modules of the package in a checkout."""
    package = root / "mockserver"
    return [
        Module(".".join(file.relative_to(package).with_suffix("").parts), source, ast.parse(source))
        for file in sorted(package.rglob("*.py"))
        for source in [file.read_text(encoding="utf-8")]
    ]


def docstring_lines(module: Module) -> int:
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, DESCRIBED) and ast.get_docstring(node)]
    return sum((node.body[0].end_lineno or 0) - node.body[0].lineno + 1 for node in nodes)


def code_lines(module: Module) -> int:
    """Return the lines that are neither blank, comment nor docstring."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        if token.type not in layout:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used) - docstring_lines(module)


def private_functions(module: Module) -> Iterator[tuple[str, int]]:
    """Yield each private function and method with the number of times that its module names it."""
    used = Counter(node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name))
    used += Counter(node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute))
    for node in ast.walk(module.tree):
        if isinstance(node, FUNCTIONS) and node.name.startswith("_") and not node.name.endswith("__"):
            yield f"{module.name}:{node.lineno} {node.name}", used[node.name]


def used_once(modules: list[Module]) -> list[str]:
    """Return the private functions that one place uses."""
    return [place for module in modules for place, count in private_functions(module) if count == 1]


def short_helpers(modules: list[Module]) -> list[str]:
    """Return the private functions of few lines that one place uses."""
    once = set(used_once(modules))
    lengths = {
        f"{module.name}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, FUNCTIONS)
    }
    return sorted(place for place in once if lengths[place] <= HELPER_LINES)


def importers(modules: list[Module]) -> Mapping[str, set[str]]:
    """Return the modules that import each module, by the names that import statements have."""
    names = {module.name for module in modules}
    found: dict[str, set[str]] = {name: set() for name in names}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            for name in (each.removeprefix("mockserver.") for each in imported):
                if name in names and name != module.name:
                    found[name].add(module.name)
    return found


def small_with_one_importer(modules: list[Module]) -> list[str]:
    found = importers(modules)
    return [
        f"{module.name} ({module.lines} lines), of {next(iter(found[module.name]))}"
        for module in modules
        if module.lines <= SMALL_LINES and len(found[module.name]) == 1 and not module.name.endswith("__init__")
    ]


def complexity(function: ast.AST) -> int:
    """Return one more than the branches of a function, inner functions included."""
    count = 1
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            count += 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
    return count


def complex_functions(modules: list[Module]) -> list[str]:
    return [
        f"{module.name}:{node.lineno} {node.name} ({complexity(node)})"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, FUNCTIONS) and complexity(node) > COMPLEXITY_MAX
    ]


def json_aliases(modules: list[Module]) -> list[str]:
    """Return the modules that define a name for JSON of their own."""
    return [
        f"{module.name}:{node.lineno}"
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "JSON"
    ]


def event_kind_places(modules: list[Module]) -> list[str]:
    """Return the modules that name a kind of event."""
    return [module.name for module in modules if EVENT_KIND.search(module.source)]


def long_modules(modules: list[Module]) -> list[str]:
    return [f"{module.name} ({module.lines})" for module in modules if module.lines > LONG_LINES]


def public_members(modules: list[Module], name: str, class_name: str) -> list[str]:
    """Return the public names in the body of a class."""
    (tree,) = (module.tree for module in modules if module.name == name)
    (node,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == class_name)
    found = {each.name for each in node.body if isinstance(each, FUNCTIONS)}
    for each in node.body:
        if isinstance(each, ast.Assign):
            found |= {target.id for target in each.targets if isinstance(target, ast.Name)}
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            found.add(each.target.id)
    return sorted(each for each in found if not each.startswith("_"))


PLACES: Mapping[str, Callable[[list[Module]], list[str]]] = {
    "private functions used once": used_once,
    f"private functions used once, of at most {HELPER_LINES} lines": short_helpers,
    f"modules of at most {SMALL_LINES} lines with one importer": small_with_one_importer,
    f"functions of a complexity above {COMPLEXITY_MAX}": complex_functions,
    f"modules above {LONG_LINES} lines": long_modules,
    "definitions of JSON": json_aliases,
    "modules that name a kind of event": event_kind_places,
    "members of Sandbox": lambda modules: public_members(modules, "testing.sandbox", "Sandbox"),
    "members of RuleBuilder": lambda modules: public_members(modules, "testing.rules.builder", "RuleBuilder"),
}


def measures(modules: list[Module]) -> dict[str, float]:
    """Return each measure by its name."""
    lines = sum(module.lines for module in modules)
    openapi = [module.lines for module in modules if ".openapi." in f".{module.name}."]
    return {
        "lines": lines,
        "lines of code": sum(map(code_lines, modules)),
        "lines of docstrings": sum(map(docstring_lines, modules)),
        "modules": len(modules),
        "median lines of a module": statistics.median(module.lines for module in modules),
        "lines of OpenAPI code": sum(openapi),
        "private functions used once, per 1,000 lines": round(1000 * len(used_once(modules)) / lines, 1),
        **{name: len(places(modules)) for name, places in PLACES.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.measures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--list", metavar="NAME", help=f"one of: {'; '.join(PLACES)}")
    options = parser.parse_args()
    modules = read(options.folder)
    if options.list:
        places = PLACES.get(options.list) or next(
            places for name, places in PLACES.items() if name.startswith(options.list)
        )
        print("\n".join(places(modules)))
        return
    for name, value in measures(modules).items():
        print(f"{value:>9,}  {name}")


if __name__ == "__main__":
    main()
