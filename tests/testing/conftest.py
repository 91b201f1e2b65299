"""A suite of its own, for tests of the plugin."""

from __future__ import annotations

import pytest

PLUGIN = ("-p", "mockserver.pytest_plugin")
_OTHERS = ("randomly", "schemathesis", "benchmark", "asyncio", "rerunfailures", "html", "metadata", "allure_pytest")
COMPANY = tuple(part for name in _OTHERS for part in ("-p", f"no:{name}"))
WITHOUT = (*COMPANY, "-p", "no:cacheprovider")


class Suite:
    """A suite of its own, run in this process unless it needs another; warnings are errors in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")

    def run(self, source: str, *arguments: str, cache: bool = False) -> pytest.RunResult:
        self.pytester.makepyfile(test_mine=source)
        return self.run_again(*arguments, cache=cache)

    def run_again(self, *arguments: str, cache: bool = False) -> pytest.RunResult:
        """Run the files that are there already."""
        return self.pytester.runpytest_inprocess(*PLUGIN, *(COMPANY if cache else WITHOUT), *arguments)

    def run_apart(self, source: str, *arguments: str, cache: bool = False) -> pytest.RunResult:
        self.pytester.makepyfile(test_mine=source)
        return self.pytester.runpytest_subprocess(*(COMPANY if cache else WITHOUT), *arguments)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)
