"""
The pytest plugin: a fresh sandbox per test, and the server behind it.

Nothing heavy is imported before a fixture is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox
    from mockserver.testing.server import MockServer

_MARKER = "mockserver(scenario=None, *, choices=None, now=None, clock=None, seed=None, given=None): how this test's sandbox is made."
_SETTINGS = ("scenario", "choices", "now", "clock", "seed", "given")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A misspelt setting fails the run before any test has run, with the nearest name."""
    for item in items:
        for marker in item.iter_markers("mockserver"):
            _check(item, marker)


def _check(item: pytest.Item, marker: pytest.Mark) -> None:
    if marker.args:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.mockserver takes keywords only; it was given {marker.args!r}"
        )
    for name, value in marker.kwargs.items():
        if name not in _SETTINGS:
            raise pytest.UsageError(
                f"{item.nodeid}: @pytest.mark.mockserver has no {name!r}{_hint(name, _SETTINGS)}; it has {', '.join(_SETTINGS)}"
            )
        if name == "choices":
            _check_choices(item, value)
        if name == "scenario" and isinstance(value, str):
            _check_scenario(item, value)


def _check_choices(item: pytest.Item, chosen: Any) -> None:
    from mockserver.contract.choices import problem

    for choice_id, value in chosen.items():
        wrong = problem(choice_id, value)
        if wrong:
            raise pytest.UsageError(f"{item.nodeid}: {wrong}")


def _check_scenario(item: pytest.Item, name: str) -> None:
    from mockserver.scenario.library import paths

    if name not in paths():
        raise pytest.UsageError(f"{item.nodeid}: no scenario is called {name!r}{_hint(name, paths())}")


def _hint(found: str, known: Any) -> str:
    close = get_close_matches(found, list(known), n=1, cutoff=0.5)
    return f"; the nearest is {close[0]!r}" if close else ""


@pytest.fixture(scope="session")
def mockserver_server() -> Iterator[MockServer]:
    """The session's server; `mockserver_server.sandbox(...)` is a context manager, for use with `@given`."""
    from mockserver.testing.server import MockServer

    server = MockServer()
    yield server
    server.close()


@pytest.fixture
def mockserver(request: pytest.FixtureRequest, mockserver_server: MockServer) -> Iterator[Sandbox]:
    """A sandbox of this test's own, its clock frozen at the present; `@pytest.mark.mockserver(...)` says how it is made."""
    settings: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("mockserver"))):  # the closest mark has the last word
        settings |= marker.kwargs
    with mockserver_server.sandbox(**settings) as sandbox:
        yield sandbox
