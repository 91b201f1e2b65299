"""The project's own test settings: Hypothesis profiles, a fixed time zone, and a server that checks its own answers."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pytest

from mockserver import MockServer
from mockserver.core.instants import MILLISECOND, format_exact, from_datetime, parse
from tests.depth import register_profiles

os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):  # Windows has its own zone alone
    time.tzset()

register_profiles()

pytest_plugins = ["mockserver.pytest_plugin", "pytester"]

_BETWEEN_US = 456


def between_milliseconds(now):
    """Return the instant moved between two milliseconds, unless its microseconds are written; answers show the same."""
    read = (from_datetime(now), True) if isinstance(now, datetime) else parse(now)
    is_whole = read is not None and read[1] and read[0] % MILLISECOND == 0 and not str(now).endswith(".000000Z")
    return format_exact(read[0] + _BETWEEN_US) if is_whole else now


class BetweenMilliseconds(MockServer):
    """A server whose sandboxes start between two milliseconds, as they do by the clock of a real process."""

    def _made(self, settings):
        now = settings.get("now")
        values = settings.values if now is None else {**settings.values, "now": between_milliseconds(now)}
        return super()._made(settings._replace(values=values))


@pytest.fixture(scope="session")
def mockserver_server() -> Iterator[MockServer]:
    """As the plugin's, but every answer is held to its schema, and no clock starts at a whole millisecond."""
    server = BetweenMilliseconds(strict=True)
    yield server
    server.close()


@pytest.hookimpl(tryfirst=True)  # before the marks select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each Hypothesis test as a law."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("law")


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
