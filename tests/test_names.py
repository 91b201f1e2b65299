"""Names of the package: a public class has one meaning."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import mockserver

PACKAGE = Path(mockserver.__file__).parent

# Names of several classes, and where these are: they mean the same thing, in packages that may not import each other.
SHARED = {
    "Exchange": ["report/run/exchanges.py", "trace/exchange.py"],
    "Response": ["probe/transport.py", "server/http1/messages.py", "testing/transports/in_process.py"],
}


def test_no_two_public_classes_have_one_name() -> None:
    """The types of the control plane's answers are left out: they have the names of what they show."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in set(PACKAGE.rglob("*.py")) - {PACKAGE / "server/control/answers.py"}:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file.relative_to(PACKAGE).as_posix())

    assert SHARED == {name: sorted(files) for name, files in places.items() if len(files) > 1}
