"""Names of the package: a public class has one meaning."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import mockserver

PACKAGE = Path(mockserver.__file__).parent

# `testing` and `verify` may not import each other; the two classes of either name mean the same thing.
SHARED = {"Exchange", "Response"}


def test_no_two_public_classes_have_one_name():
    places: dict[str, list[str]] = defaultdict(list)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(file.relative_to(PACKAGE)))

    shared = {name: files for name, files in places.items() if len(files) > 1}
    assert set(shared) == SHARED, shared
