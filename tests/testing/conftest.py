"""A suite of its own, for tests of the plugin."""

from __future__ import annotations

import pytest

PLUGIN = ("-p", "mockserver.pytest_plugin")
WITHOUT = ("-p", "no:randomly", "-p", "no:schemathesis", "-p", "no:benchmark", "-p", "no:cacheprovider",
           "-p", "no:html", "-p", "no:metadata", "-p", "no:allure_pytest")  # fmt: skip


class Suite:
    """A suite of its own, run in this process unless it needs another; warnings are errors in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")

    def run(self, source: str, *arguments: str) -> pytest.RunResult:
        self.pytester.makepyfile(test_mine=source)
        return self.pytester.runpytest_inprocess(*PLUGIN, *WITHOUT, *arguments)

    def run_apart(self, source: str, *arguments: str) -> pytest.RunResult:
        self.pytester.makepyfile(test_mine=source)
        return self.pytester.runpytest_subprocess(*WITHOUT, *arguments)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)
