"""The architecture page has the tree, the order of imports and the path of a call as they are in the code."""

from __future__ import annotations

import re

from docs import sequence_diagram
from tests import test_layers
from tests.pages.blocks import blocks
from tests.pages.hops import PACKAGE, hops
from tests.wheels import ROOT

PAGE = "docs/architecture.md"
TREE, ORDER = (block.text for block in blocks(PAGE) if block.kind == "text")
(DIAGRAM,) = (sequence_diagram.parse(block.text) for block in blocks(PAGE) if block.kind == "mermaid")
_CALLED = re.compile(r"\b(\w+)\(\)")


def paths(tree: str) -> list[str]:
    """The paths of a drawn tree, whose folders are indented by two spaces each and end with a slash."""
    found: list[str] = []
    folders: list[str] = []
    for line in tree.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        found.append("".join([*folders[:depth], name]))
        folders = [*folders[:depth], name]
    return found


def test_the_tree_has_every_package_and_nothing_that_does_not_exist() -> None:
    drawn = paths(TREE)
    inner = [path for path in PACKAGE.rglob("__init__.py") if len(path.relative_to(PACKAGE).parts) in (2, 3)]
    packages = {path.parent.relative_to(ROOT).as_posix() + "/" for path in inner} - {"mockserver/probe/probes/"}

    assert [] == [path for path in drawn if not (ROOT / path).exists()]
    assert set() == packages - set(drawn)


def test_the_order_of_imports_is_the_one_that_is_held() -> None:
    named = dict(line.split(":", 1) for line in re.sub(r"\n {2,}", " ", ORDER).splitlines())
    shown = {scope.strip(): [level.strip() for level in levels.split(" < ")] for scope, levels in named.items()}
    held = {scope or "top": [", ".join(level) for level in levels] for scope, levels in test_layers.LEVELS.items()}
    held["top"].remove("__init__, __main__")

    assert held == shown


def test_the_diagram_names_calls_that_happen_in_this_order_in_these_packages() -> None:
    happened = [(hop.function.rpartition(".")[2], hop.module) for hop in hops()]
    place = 0
    for message in DIAGRAM.messages:
        labels = [*DIAGRAM.participants[message.source], *DIAGRAM.participants[message.target]]
        parts = [part for label in labels for part in label.split(", ")]
        for name in _CALLED.findall(message.text):
            names = [(function, any(part in module for part in parts)) for function, module in happened[place:]]
            assert (name, True) in names, f"{message}: not called after the one before"
            place += names.index((name, True)) + 1
