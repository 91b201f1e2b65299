"""The measures of the package, on small examples."""

from __future__ import annotations

import ast

import pytest

from tests.measures import ROOT as CHECKOUT
from tests.measures import Module, code_lines, complexity, read, small_with_one_importer, used_once


def module(source: str, name: str = "example") -> Module:
    return Module(name, source, ast.parse(source))


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("def _a():\n    pass\n\n\n_a()\n", ["example:1 _a"]),
        ("def _a():\n    pass\n\n\n_a()\n_a()\n", []),
        ("def a():\n    pass\n\n\na()\n", []),
        ("class A:\n    def _a(self):\n        pass\n\n    def b(self):\n        self._a()\n", ["example:2 _a"]),
    ],
)
def test_a_private_function_is_used_once_if_one_place_names_it(source: str, places: list[str]) -> None:
    assert places == used_once([module(source)])


def test_code_is_neither_blank_nor_comment_nor_docstring() -> None:
    assert 2 == code_lines(module('"""Words."""\n\n# Why.\nA = 1\n\n\ndef f(): return "text"  # more\n'))


@pytest.mark.parametrize(
    ("body", "paths"),
    [("return a", 1), ("return a and b and c", 3), ("return [x for x in a if x]", 3), ("return a if b else c", 2)],
)
def test_complexity_counts_each_way_through_a_function(body: str, paths: int) -> None:
    assert paths == complexity(ast.parse(f"def f(a, b, c): {body}"))


def test_a_small_module_that_one_other_imports_is_listed() -> None:
    modules = [module("", "one"), module("from mockserver import one", "two"), module("import mockserver.two", "three")]

    assert ["one (0 lines), of two", "two (1 lines), of three"] == small_with_one_importer(modules)


@pytest.mark.deep
def test_the_package_of_this_checkout_is_read() -> None:
    assert {"core.lifecycle", "testing.sandbox"} <= {each.name for each in read(CHECKOUT)}
