"""The glue of docs/from-typescript.md, under the test runner of node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.blocks import blocks

PAGE = "docs/from-typescript.md"
GLUE = Path(__file__).resolve().parents[2] / "docs" / "glue" / "mockserver.mjs"
TIMEOUT_SECONDS = 90
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
def test_without_a_server_it_starts_one_and_a_failing_test_prints_the_report(folder: Path) -> None:
    (folder / "failing.test.mjs").write_text(FAILING, encoding="utf-8")

    done = run(folder, "failing.test.mjs")

    printed = [line.strip() for line in done.stdout.splitlines()]
    assert 1 == done.returncode
    (quoted,) = (block for block in blocks(PAGE) if block.kind == "text")
    assert [] == [line for line in quoted.text.splitlines() if line.strip() not in printed]
    assert "what happened:" in printed
    assert "did you mean 'scenario'?" in done.stdout
