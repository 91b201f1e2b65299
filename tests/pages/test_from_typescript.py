"""The glue of docs/from-typescript.md, under the test runner of node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver import MockServer
from tests.pages.blocks import blocks

PAGE = "docs/from-typescript.md"
GLUE = Path(__file__).resolve().parents[2] / "docs" / "glue" / "mockserver.mjs"
TIMEOUT_SECONDS = 90
MANY = """
import assert from "node:assert/strict";
import { sandboxTest } from "./mockserver.mjs";

const SESSIONS = "/v1/entrypoints/chatapp/connection-sessions";

for (let number = 0; number < 25; number++) {
  sandboxTest(`test ${number}`, {}, async (sandbox, t) => {
    const events = await sandbox.receive();
    const { sessionId } = (await sandbox.call("POST", SESSIONS, {})).body;
    await sandbox.control("POST", "/clock/advance", { by: `${number}s` });
    await sandbox.control("POST", `/sessions/${sessionId}/complete`, {});

    assert.deepEqual(events.map((each) => each.data.sessionId), [sessionId]);
    assert.deepEqual((await sandbox.control("GET", "/journal")).exchanges.map((each) => each.operation), ["createConnectionSession"]);
    assert.equal((await sandbox.control("GET", "/clock")).now, `2026-03-01T12:00:${String(number).padStart(2, "0")}.000Z`);
    assert.equal((await fetch(`${sandbox.baseUrl}/../../v1/campaigns`, { headers: { "X-API-Key": sandbox.secretKey } })).status, 401);
  });
}
"""
FAILING = """
import assert from "node:assert/strict";
import { sandboxTest } from "./mockserver.mjs";

sandboxTest("reads a campaign", {}, async (sandbox) => {
  assert.equal((await sandbox.call("GET", "/v1/campaigns/campaign_none")).status, 200);
});

sandboxTest("has a wrong setting", { scenaro: "demo" }, async () => {});
"""

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(GLUE, tmp_path)
    # The command of this environment, as an installed one would be.
    command = tmp_path / "bin" / "mockserver"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mockserver "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


def run(folder: Path, *files: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.run(
        ["node", "--test", *files],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": root, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
def test_fifty_tests_in_two_processes_share_no_state(folder: Path) -> None:
    names = ("one.test.mjs", "two.test.mjs")
    for name in names:
        (folder / name).write_text(MANY, encoding="utf-8")
    served = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "mockserver",
            "serve",
            "--port",
            "0",
            "--freeze",
            "2026-03-01T12:00:00Z",
            "--log-format",
            "off",
        ],
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert served.stdout is not None
        url = served.stdout.readline().split()[-1]
        done = run(folder, *names, MOCKSERVER_SERVER=url)
    finally:
        served.terminate()
        served.communicate(timeout=TIMEOUT_SECONDS)

    assert 0 == done.returncode, done.stdout
    assert ["# pass 50", "# fail 0"] == [
        line for line in done.stdout.splitlines() if line.startswith(("# pass", "# fail"))
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
def test_without_a_server_it_starts_one_and_a_failing_test_prints_the_report(folder: Path) -> None:
    (folder / "failing.test.mjs").write_text(FAILING, encoding="utf-8")

    done = run(folder, "failing.test.mjs")

    printed = [line.strip() for line in done.stdout.splitlines()]
    assert 1 == done.returncode
    (quoted,) = (block for block in blocks(PAGE) if block.kind == "text")
    assert [] == [line for line in quoted.text.splitlines() if line.strip() not in printed]
    assert "what happened:" in printed
    assert "did you mean 'scenario'?" in done.stdout


def test_against_a_server_of_this_process_the_tests_of_the_page_pass(folder: Path) -> None:
    tests = [block for block in blocks(PAGE) if block.kind == "javascript" and block.is_run and not block.markers]
    names = [f"page{number}.test.mjs" for number in range(len(tests))]
    for name, block in zip(names, tests, strict=True):
        (folder / name).write_text(block.text, encoding="utf-8")
    with MockServer() as server:
        done = run(folder, *names, MOCKSERVER_SERVER=server.url)

    assert 0 == done.returncode, done.stdout
