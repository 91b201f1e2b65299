"""
`useClock` of docs/glue/mockserver.mjs: timers of node on the sandbox's clock, under its test runner and explored.

npm installs the libraries; without a network their tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.cli import main
from tests.pages.blocks import blocks
from tests.wheels import ROOT

HERE = Path(__file__).parent
LIBRARIES = ("got@14.6.6", "ky@1.14.3", "undici@7.30.2")
TIMEOUT_SECONDS = 300
SCENARIO = "given: {templates: [{id: template_t, name: T}], chats: {count: 10}}\n"
FAULTS = "rate-limit-short,rate-limit-long,rate-limit-date,drop-after,campaign-canceled"
LONG_SECONDS = 120  # the Retry-After of rate-limit-long
CAUSES = {
    "careful": set(),
    "impatient": {"ignore-retry-after"},
    "endless": {"endless", "poll-final-set-incomplete"},
    "double": {"duplicate-start"},
}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The clients, the file, and the example of the page by which a command uses the clock."""
    for file in (*HERE.glob("*.mjs"), ROOT / "docs" / "glue" / "mockserver.mjs"):
        shutil.copy(file, tmp_path)
    (clock,) = (block for block in blocks("docs/from-typescript.md") if "new Sandbox()" in block.text)
    (tmp_path / "clock.mjs").write_text(clock.text, encoding="utf-8")
    (tmp_path / "scenario.yaml").write_text(f"scenario: one\nsummary: One.\n{SCENARIO}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.deep
def test_timers_of_node_wait_on_the_sandboxs_clock(folder: Path) -> None:
    with MockServer() as server:
        environment = {**os.environ, "MOCKSERVER_SERVER": server.url}
        done = subprocess.run(
            ["node", "--test", "clock.test.mjs"],
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    assert 0 == done.returncode, done.stdout


def explored(folder: Path, *command: str) -> Any:
    """Return the entry of an explored command in the JSON of its report."""
    options = ("--scenario", "scenario.yaml", "--faults", FAULTS, "--choices", "none", "--failures-dir", "off")
    main(["explore", *options, "--reported-exit", "3", "--runs", "24", "--json", "report.json", "--", "node", *command])
    (entry,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["tests"]
    return entry


@pytest.mark.deep
@pytest.mark.parametrize("bug", CAUSES)
def test_a_client_that_sleeps_is_explored_in_seconds(folder: Path, bug: str) -> None:
    entry = explored(folder, "client.mjs", bug)

    assert CAUSES[bug] == {finding["cause"] for finding in entry["findings"]}
    assert entry["deterministic"]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which npm has installed the libraries."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH")
    folder = tmp_path_factory.mktemp("libraries")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
    done = subprocess.run(
        [*command, *LIBRARIES], capture_output=True, encoding="utf-8", timeout=TIMEOUT_SECONDS, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"{', '.join(LIBRARIES)} cannot be installed here: {done.stderr.strip()[-200:]}")
    return folder


@pytest.mark.deep
@pytest.mark.clients
@pytest.mark.skipif(sys.platform == "win32", reason="it makes a symbolic link")
@pytest.mark.parametrize("library", ["got", "ky", "undici"])
def test_the_retries_of_a_library_wait_on_the_sandboxs_clock(folder: Path, libraries: Path, library: str) -> None:
    (folder / "node_modules").symlink_to(libraries / "node_modules")

    entry = explored(folder, f"{library}.mjs")

    assert [] == [finding for finding in entry["findings"] if finding["verdict"] != "crashed"]
    survived = entry["matrix"]["readCampaign"]["rate-limit-long"]["survived"]
    assert 1 <= survived
    assert survived * LONG_SECONDS > entry["seconds"]
