"""The project's own test settings: Hypothesis profiles, a fixed time zone, and a server that checks its own answers."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import none

from mockserver import MockServer, Sandbox
from mockserver.core.instants import MILLISECOND, format_exact, from_datetime, parse
from mockserver.testing.settings import Settings
from tests.depth import register_profiles

BYTECODE = Path(__file__).parent / ".pytest_cache" / "bytecode"
FULL_COLLECTION_EVERY = 100  # collections of the middle generation, of which the default is 10


def _cache_bytecode() -> None:
    """Store compiled modules in a folder of the suite if the environment forbids them next to the sources.

    Else each worker and each of the many processes of a run would compile everything that it imports.
    """
    if sys.dont_write_bytecode and sys.pycache_prefix is None:
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(BYTECODE)
        os.environ["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


_cache_bytecode()

os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):  # Windows has its own zone alone
    time.tzset()

register_profiles()

pytest_plugins = ["mockserver.pytest_plugin", "pytester"]

_BETWEEN_US = 456
_HAS_FAILED = pytest.StashKey[bool]()


def between_milliseconds(now: str | datetime) -> str | datetime:
    """Return the instant moved between two milliseconds, unless its microseconds are written; answers show the same."""
    read = (from_datetime(now), True) if isinstance(now, datetime) else parse(now)
    if read is None or not read[1] or read[0] % MILLISECOND or str(now).endswith(".000000Z"):
        return now
    return format_exact(read[0] + _BETWEEN_US)


class BetweenMilliseconds(MockServer):
    """A server whose sandboxes start between two milliseconds, as they do by the clock of a real process."""

    def _created(self, settings: Settings) -> Sandbox:
        now = settings.get("now")
        values = settings.values if now is None else {**settings.values, "now": between_milliseconds(now)}
        return super()._created(settings._replace(values=values))


@pytest.fixture(scope="session")
def mockserver_server() -> Iterator[MockServer]:
    """As the plugin's, but every answer is held to its schema, and no clock starts at a whole millisecond."""
    server = BetweenMilliseconds(strict=True)
    yield server
    server.close()


@given(none())
def _draw_once(_: None) -> None:
    """Have Hypothesis make what it keeps for all tests."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """
    Collect no garbage while tests are collected, and search what they have made, millions of objects, never again.

    An exploration looks for functions that sleep in all objects of the process, and so in those: 0.4 s for each of its tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        _draw_once()  # at its first draw Hypothesis looks for what refers to its random numbers, and finds no frozen object
        gc.freeze()
        gc.enable()
        gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION_EVERY)


@pytest.hookimpl(tryfirst=True)  # before the marks select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each Hypothesis test as a law."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("law")


def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Note that a test has failed."""
    node.stash[_HAS_FAILED] = True


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collect what a failed test has left open: else it is closed within a later test, which would fail by its warning."""
    if item.stash.get(_HAS_FAILED, False):
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        gc.collect()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the compiled modules of the folders that pytest has made for the tests of a run."""
    if not hasattr(config, "workerinput"):
        temporary = Path(tempfile.gettempdir()).resolve()
        for folder in (BYTECODE / temporary.relative_to(temporary.anchor)).glob("pytest-of-*"):
            shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sum of the figures that the fuzzers have recorded, from whichever worker."""
    figures: dict[str, Counter[str]] = {}
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        if getattr(report, "when", None) == "call":
            for _, figure in (each for each in report.user_properties if each[0] == "figures"):
                counted = figures.setdefault(figure["of"], Counter())
                counted.update({name: count for name, count in figure.items() if name != "of"})
    if figures:
        terminalreporter.section("figures")
    for of, counted in sorted(figures.items()):
        terminalreporter.line(f"{of}: " + ", ".join(f"{count:,} {name}" for name, count in counted.items()))
