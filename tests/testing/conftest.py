"""A suite of its own, for tests of the plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _hypothesis_pytestplugin
import httpcore  # noqa: F401 - as httpx, which maps the errors of the first one that it imports
import httpx  # noqa: F401 - before any suite, whose own import ends with it while the transports would still have its errors
import jinja2  # noqa: F401 - as httpx; a trace imports it, and templates compare its sentinels by identity
import pytest
import pytest_timeout
import requests  # noqa: F401 - as httpx

from mockserver import MockServer, pytest_plugin
from mockserver.testing import call_log  # noqa: F401 - as httpx; a report compares the type of a mismatch

PLUGIN = ("-p", "mockserver.pytest_plugin")
_OTHERS = (
    "randomly",
    "schemathesis",
    "benchmark",
    "asyncio",
    "rerunfailures",
    "django",
    "respx",
    "requests_mock",
    "pytest_httpserver",
)
COMPANY = tuple(part for name in _OTHERS for part in ("-p", f"no:{name}"))
WITHOUT_CACHE = ("-p", "no:cacheprovider")
WITHOUT = (*COMPANY, *WITHOUT_CACHE)
_USED = (pytest_plugin, _hypothesis_pytestplugin, pytest_timeout)


def run_in_process(pytester: pytest.Pytester, *arguments: str, **options: Any) -> pytest.RunResult:
    """Run a suite in this process with the plugins that most of its tests use: a search for all would read every installed package."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        # A file that is written again within a second, with as many bytes, would be taken for the compiled former one.
        environment.setattr("sys.dont_write_bytecode", True)
        return pytester.runpytest_inprocess(*arguments, plugins=_USED, **options)


class Suite:
    """A suite of its own, run in this process unless it needs another; warnings are errors in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")

    def file(self, name: str) -> Path:
        """A file or a folder of the suite's folder."""
        return self.pytester.path / name

    def read(self, name: str) -> str:
        """The text of a file."""
        return self.file(name).read_text(encoding="utf-8")

    def run(self, source: str, *arguments: str, cache: bool = False) -> pytest.RunResult:
        self.pytester.makepyfile(test_mine=source)
        return self.run_again(*arguments, cache=cache)

    def run_again(self, *arguments: str, cache: bool = False) -> pytest.RunResult:
        """Run the files that are there already."""
        return run_in_process(self.pytester, *(() if cache else WITHOUT_CACHE), *arguments)

    def run_apart(self, source: str, *arguments: str, cache: bool = False) -> pytest.RunResult:
        self.pytester.makepyfile(test_mine=source)
        return self.pytester.runpytest_subprocess(*(COMPANY if cache else WITHOUT), *arguments)

    def run_in_workers(self, source: str, *arguments: str) -> pytest.RunResult:
        """Run the suite in two workers of xdist, each of which starts without a search for other plugins."""
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return self.run_apart(source, "-p", "xdist", "-n", "2", *PLUGIN, *arguments)


@pytest.fixture
def running() -> Iterator[MockServer]:
    """A server of a test's own, to which a suite connects as to another process."""
    with MockServer() as server:
        yield server


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)
