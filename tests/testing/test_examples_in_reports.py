"""What a report of a Hypothesis test says about its other examples, in suites of their own."""

from __future__ import annotations

import re

from tests.testing.conftest import Suite

HEAD = """
    import pytest
    from hypothesis import Phase, assume, example, given, settings
    from hypothesis import strategies as st
    from mockserver import SandboxTestCase

    steady = settings(max_examples=40, deadline=None, derandomize=True, database=None)

    def listed(sandbox):
        return sandbox.call("GET", "/v1/campaigns").status
"""
ALL = re.compile(r"^all (\d+) examples that were tried failed in the same way, so not by this input$", re.MULTILINE)
SOME = re.compile(
    r"^fails for (this example|these examples); (\d+) runs? with (?:an)?other examples? passed$", re.MULTILINE
)


def shown(suite: Suite, source: str) -> str:
    result = suite.run(HEAD + source)

    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    if "ExceptionGroup" not in text:  # older releases of pytest print a group as Python does
        assert "mockserver/pytest_plugin/examples.py" not in text.replace("\\", "/")
    return text


def test_a_failure_of_every_example_is_not_blamed_on_the_last_one(suite: Suite) -> None:
    text = shown(
        suite,
        """
    @steady
    @given(name=st.text())
    def test_it(mockserver_server, name):
        with mockserver_server.sandbox() as sandbox:
            assert 201 == listed(sandbox)
        """,
    )

    (count,) = ALL.findall(text)
    assert int(count) > 5
    assert not SOME.search(text)


def test_the_examples_that_passed_are_counted(suite: Suite) -> None:
    text = shown(
        suite,
        """
    passed = []

    @steady
    @given(number=st.integers(0, 1000))
    def test_it(mockserver_server, number):
        with mockserver_server.sandbox() as sandbox:
            assume(number % 2)
            assert 200 == listed(sandbox)
            assert number < 500
        passed.append(number)

    @pytest.fixture(autouse=True)
    def count():
        yield
        print(f"passed {len(passed)}")
        """,
    )

    ((what, count),) = SOME.findall(text)
    assert "this example" == what
    assert f"passed {count}\n" in text
    assert not ALL.search(text)


def test_equal_examples_are_one(suite: Suite) -> None:
    text = shown(
        suite,
        """
    @steady
    @given(none=st.none())
    def test_it(mockserver_server, none):
        with mockserver_server.sandbox() as sandbox:
            assert 201 == listed(sandbox)
        """,
    )

    assert not ALL.search(text)
    assert not SOME.search(text)


def test_a_test_whose_examples_differ_from_run_to_run_has_no_count(suite: Suite) -> None:
    text = shown(
        suite,
        """
    seen = []

    @steady
    @given(number=st.integers())
    def test_it(mockserver_server, number):
        with mockserver_server.sandbox() as sandbox:
            seen.append(listed(sandbox))
            assert len(seen) != 5
        """,
    )

    assert "Flaky" in text
    assert not SOME.search(text)


def test_a_failure_after_the_examples_is_none_of_an_example(suite: Suite) -> None:
    text = shown(
        suite,
        """
    class TestListing(SandboxTestCase):
        def tearDown(self):
            raise OSError

        @steady
        @given(number=st.integers(0, 1000))
        def test_it(self, number):
            self.assertEqual(200, listed(self.mockserver))
        """,
    )

    assert not SOME.search(text)
