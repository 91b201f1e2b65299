"""The keys of sandboxes: no two that a test has open have the same, and the first has those of the pages."""

from __future__ import annotations

import pytest

from mockserver import MockServer, Sandbox
from tests.testing.conftest import Suite


def keys(sandbox: Sandbox) -> tuple[str, str]:
    return sandbox.secret_key, sandbox.public_key


def test_two_open_sandboxes_do_not_accept_each_others_keys() -> None:
    with MockServer() as server, server.sandbox() as first, server.sandbox() as second:
        assert [200, 401] == [
            first.call("GET", "/v1/campaigns", key=each.secret_key).status for each in (first, second)
        ]
        assert [401, 200] == [
            second.call("GET", "/v1/campaigns", key=each.secret_key).status for each in (first, second)
        ]
        assert first.public_key != second.public_key
        assert first.state()["seed"] == second.state()["seed"] == 0


SUITE = """
    import pytest

    @pytest.fixture(scope="module")
    def shared(mockserver_server):
        with mockserver_server.sandbox() as sandbox:
            yield sandbox

    @pytest.fixture(scope="module")
    def shared_too(mockserver_server):
        return mockserver_server.sandbox()

    def note(name, *sandboxes):
        with open("keys.txt", "a") as file:
            print(name, *(sandbox.secret_key for sandbox in sandboxes), file=file)

    def test_a(mockserver, mockserver_server):
        mockserver_server.sandbox()  # left open
        note("a", mockserver)

    def test_b(mockserver, shared, mockserver_server):
        note("b", mockserver, shared, mockserver_server.sandbox())

    def test_c(shared, mockserver, shared_too):
        note("c", mockserver, shared, shared_too)
"""


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")])
def test_the_keys_of_a_test_do_not_depend_on_the_tests_before_it(suite: Suite, order: tuple[str, ...]) -> None:
    with MockServer() as server, server.sandbox() as alone:
        first = alone.secret_key

    result = suite.run(SUITE, *[f"test_mine.py::test_{name}" for name in order])
    result.assert_outcomes(passed=3)
    rows = dict(line.split(" ", 1) for line in suite.read("keys.txt").splitlines())
    b, c = rows["b"].split(), rows["c"].split()

    assert {first} == {rows["a"], b[0], c[0]}
    assert b[1] == c[1]
    assert 4 == len({first, b[1], b[2], c[2]})
