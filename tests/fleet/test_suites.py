"""The suites that a server passes by itself, through the port of a fleet: with the same outcomes, drained or not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.server.hosting.background import BackgroundWorker
from mockserver.testing.remote import RemoteServer
from tests.fleet.fleets import ROOT, Fleet, await_condition, each_proxy, needs_linux
from tests.pages.test_from_typescript import MANY, folder, run
from tests.testing.test_same_suite import SUITE
from tests.verify.worlds import IDS, connected, world

if sys.platform == "win32":
    pytest.skip("the fleet runs on POSIX alone", allow_module_level=True)

__all__ = ["folder"]  # a fixture

pytestmark = [needs_linux, pytest.mark.deep]  # each starts a fleet, a second or more
Start = Callable[..., Fleet]
OUTCOME = re.compile(r"^(\S+::\S+) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)", re.MULTILINE)
SUITE_SECONDS = 600
# Tests of requests that a proxy refuses or waits for itself, as the page on shared use has it; and tests of an order in
# this process: of a call and its deliveries, and of deliveries to two endpoints, which a server sends in threads.
NOT_THROUGH_A_PROXY = (
    "test_over_a_socket_a_target_without_end", "test_a_request_beyond_the_server_s_bounds", "test_a_strange_id",
    "test_an_unknown_method", "test_a_body_that_is_announced_beyond_the_bound", "test_deliveries_of_a_call_in_process",
    "test_after_a_jump_of_the_clock", "test_over_a_socket_no_request_breaks_the_mock",
)  # fmt: skip


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """A server without a proxy."""
    with MockServer() as server:
        yield server.url


@pytest.fixture(scope="module")
def suite_alone(served: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The outcomes without a proxy, to which those with each proxy are compared."""
    return users_suite(tmp_path_factory.mktemp("alone"), served)


@pytest.fixture(scope="module")
def verdicts_alone(served: str) -> dict[str, Any]:
    """The verdicts without a proxy, to which those with each proxy are compared."""
    with world(RemoteServer(served)) as sandbox:
        return verdicts(sandbox)


def users_suite(folder: Path, url: str) -> dict[str, str]:
    """The outcome of each test of a user's suite on a running server."""
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    return suite_outcomes(folder, url)


def suite_outcomes(folder: Path, url: str, *arguments: str) -> dict[str, str]:
    """The outcome of each test of a suite on a running server."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "-p", "no:cacheprovider", "--mockserver-url", url,
         *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, encoding="utf-8",
        timeout=SUITE_SECONDS, check=False,
    )  # fmt: skip
    return dict(OUTCOME.findall(done.stdout))


def drain(fleet: Fleet) -> None:
    """Restart the shards of a fleet with `--drain`; the first one drains as long as its sandbox is open."""
    client = fleet.client()
    while client.create()["shard"] != 0:
        pass
    fleet.send(signal.SIGHUP)
    await_condition(lambda: client.ask("POST", "/_mock/sandboxes").status != 201, "the first shard drains")


def verdicts(sandbox: Any) -> dict[str, Any]:
    """What `mockserver verify` finds at the address of a sandbox."""
    ids = {**IDS, "entrypoint": connected(sandbox)}
    given = [word for name, id in ids.items() for word in (f"--{name}", id)]
    keys = ["--key", sandbox.secret_key, "--public-key", sandbox.public_key]
    done = subprocess.run(
        [sys.executable, "-m", "mockserver", "verify", sandbox.base_url, *keys, *given, "--rate", "1000", "--json",
         "--allow-writes", "--allow-sends"],
        cwd=ROOT, capture_output=True, encoding="utf-8", timeout=SUITE_SECONDS, check=False,
    )  # fmt: skip
    report = json.loads(done.stdout)
    return {
        "status": done.returncode,
        "clauses": {row["id"]: row["verdict"] for row in report["clauses"]},
        "choices": {row["id"]: row["outcome"] for row in report["choices"]},
    }


@each_proxy("haproxy", "caddy")
@pytest.mark.deep
@pytest.mark.parametrize("is_drained", [False, True])
def test_a_suite_has_the_same_outcomes(
    start_fleet: Start, tmp_path: Path, proxy: str, is_drained: bool, suite_alone: dict[str, str]
) -> None:
    fleet = start_fleet(proxy, "--drain", "10m")
    if is_drained:
        drain(fleet)
    through = users_suite(tmp_path, fleet.url)

    assert len(suite_alone) > 10
    assert {"PASSED", "SKIPPED"} >= set(suite_alone.values())
    assert suite_alone == through


@pytest.fixture(scope="module")
def passes_alone() -> set[str]:
    """The tests of the API that pass on a server without a proxy; the others need the sandbox in their own process."""
    with MockServer(strict=True) as server:
        background = BackgroundWorker(server._host)  # as `mockserver serve` has it
        background.start()
        outcomes = suite_outcomes(ROOT, server.url, "tests/operations")
        background.stop()
    return {name for name, outcome in outcomes.items() if outcome == "PASSED"}


@each_proxy("haproxy", "caddy")
def test_the_suite_of_the_api_passes(start_fleet: Start, proxy: str, passes_alone: set[str]) -> None:
    expected = {name for name in passes_alone if not any(words in name for words in NOT_THROUGH_A_PROXY)}

    outcomes = suite_outcomes(ROOT, start_fleet(proxy, "--strict").url, "tests/operations")

    assert len(expected) > 1_500
    assert {} == {name: outcomes.get(name) for name in expected if outcomes.get(name) != "PASSED"}


@each_proxy("haproxy", "caddy")
@pytest.mark.parametrize("is_drained", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_the_api_keeps_to_its_document(
    start_fleet: Start, proxy: str, is_drained: bool, verdicts_alone: dict[str, Any]
) -> None:
    fleet = start_fleet(proxy)
    with world(RemoteServer(fleet.url)) as sandbox:
        if is_drained:
            client = fleet.client()
            fleet.send(signal.SIGUSR1)
            await_condition(lambda: client.ask("POST", "/_mock/sandboxes").status != 201, "the fleet drains")
        through = verdicts(sandbox)

    assert 0 == verdicts_alone["status"]
    assert verdicts_alone == through


@each_proxy("haproxy", "caddy")
@pytest.mark.deep
def test_the_typescript_page_works(start_fleet: Start, folder: Path, proxy: str) -> None:
    fleet = start_fleet(proxy, "--freeze", "2026-03-01T12:00:00Z")
    (folder / "one.test.mjs").write_text(MANY, encoding="utf-8")

    done = run(folder, "one.test.mjs", MOCKSERVER_SERVER=fleet.url)

    assert 0 == done.returncode, done.stdout
    assert "# pass 25" in done.stdout.splitlines()


@each_proxy()
def test_late_calls_of_every_shard_are_counted(start_fleet: Start, proxy: str) -> None:
    server = RemoteServer(start_fleet(proxy).url)
    sandboxes = [server.sandbox() for _ in range(4)]
    for sandbox in sandboxes:
        sandbox.close()

    for sandbox in sandboxes:
        assert 410 == sandbox.call("GET", "/v1/campaigns").status

    assert {sandbox.id: 1 for sandbox in sandboxes} == server.late_calls()
