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
from mockserver.testing.remote import RemoteServer
from tests.fleet.fleets import ROOT, Fleet, await_condition, each_proxy, needs_linux
from tests.pages.test_from_typescript import MANY, folder, run
from tests.testing.test_same_suite import SUITE
from tests.verify.worlds import IDS, connected, world

__all__ = ["folder"]  # a fixture

pytestmark = [needs_linux, pytest.mark.deep]  # each starts a fleet, a second or more
Start = Callable[..., Fleet]
OUTCOME = re.compile(r"^(\S+::\S+) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)", re.MULTILINE)
SUITE_SECONDS = 300


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """A server without a proxy."""
    with MockServer() as server:
        yield server.url


@pytest.fixture(scope="module")
def suite_alone(served: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The outcomes without a proxy, to which those with each proxy are compared."""
    return suite_outcomes(tmp_path_factory.mktemp("alone"), served)


@pytest.fixture(scope="module")
def verdicts_alone(served: str) -> dict[str, Any]:
    """The verdicts without a proxy, to which those with each proxy are compared."""
    with world(RemoteServer(served)) as sandbox:
        return verdicts(sandbox)


def suite_outcomes(folder: Path, url: str) -> dict[str, str]:
    """The outcome of each test of a user's suite on a running server."""
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "-p", "no:cacheprovider", "--mockserver-url", url],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, encoding="utf-8",
        timeout=SUITE_SECONDS, check=False,
    )  # fmt: skip
    return dict(OUTCOME.findall(done.stdout))


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
def test_a_suite_has_the_same_outcomes(start_fleet: Start, tmp_path: Path, proxy: str, suite_alone: dict[str, str]):
    through = suite_outcomes(tmp_path, start_fleet(proxy).url)

    assert len(suite_alone) > 10
    assert {"PASSED", "SKIPPED"} >= set(suite_alone.values())
    assert suite_alone == through


@each_proxy("haproxy", "caddy")
@pytest.mark.parametrize("is_drained", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_the_api_keeps_to_its_document(
    start_fleet: Start, proxy: str, is_drained: bool, verdicts_alone: dict[str, Any]
):
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
def test_the_typescript_page_works(start_fleet: Start, folder: Path, proxy: str):
    fleet = start_fleet(proxy, "--freeze", "2026-03-01T12:00:00Z")
    (folder / "one.test.mjs").write_text(MANY, encoding="utf-8")

    done = run(folder, "one.test.mjs", MOCKSERVER_URL=fleet.url)

    assert 0 == done.returncode, done.stdout
    assert "# pass 25" in done.stdout.splitlines()


@each_proxy()
def test_late_calls_of_every_shard_are_counted(start_fleet: Start, proxy: str):
    server = RemoteServer(start_fleet(proxy).url)
    sandboxes = [server.sandbox() for _ in range(4)]
    for sandbox in sandboxes:
        sandbox.close()

    for sandbox in sandboxes:
        assert 410 == sandbox.call("GET", "/v1/campaigns").status

    assert {sandbox.id: 1 for sandbox in sandboxes} == server.late_calls()
