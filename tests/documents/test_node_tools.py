"""
What tools of the Node world make of the documents: linters, a generator of types, and a mock server.

They are installed once into a folder of pytest's cache. Without node or a network the tests are skipped; where
SUITE_NODE=required declares that there are both, they fail.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
import requests

from mockserver import MockServer
from mockserver.contract.choices.profiles import PROFILES
from tests.documents.reading import JSON, control, of_profile
from tests.pages.blocks import every_block

SOURCE = Path(__file__).parent / "node"
GLUE = Path(__file__).resolve().parents[2] / "docs" / "glue" / "mockserver.mjs"
PINNED: dict[str, str] = json.loads((SOURCE / "package.json").read_text("utf-8"))["dependencies"]
TSC = ("tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext")
GLUED = """
import { sandboxTest } from "./mockserver.mjs";

sandboxTest("typed", { scenario: "demo" }, async (sandbox, t) => {
  const events: unknown[] = await sandbox.receive(t);
  const status: number = (await sandbox.call("GET", "/v1/campaigns")).status;
  const url: string = sandbox.baseUrl;
});
"""
PLAYED = """
import { expect } from "@playwright/test";
import { test } from "./fixture.mjs";

test("reads campaigns", async ({ sandbox }) => {
  expect((await sandbox.call("GET", "/v1/campaigns")).status).toBe(200);
});

test("reads a campaign", async ({ sandbox }) => {
  expect((await sandbox.call("GET", "/v1/campaigns/campaign_none")).status).toBe(200);
});
"""
MINUTES = 60
pytestmark = pytest.mark.deep


def missing(what: str) -> NoReturn:
    """Skip with one sentence, or fail if SUITE_NODE=required declares that there is node with a registry."""
    if os.environ.get("SUITE_NODE") == "required":
        pytest.fail(f"SUITE_NODE=required, but {what}")
    pytest.skip(f"{what}, so no tool of the Node world reads the documents")


class Done(NamedTuple):
    """A program that has ended: its exit status and all that it printed."""

    status: int
    output: str


class Tools:
    """A folder with the installed packages and both documents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> Done:
        done = subprocess.run(
            [str(self.folder / "node_modules" / ".bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=5 * MINUTES,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def write(self, name: str, document: JSON) -> str:
        (self.folder / name).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        return name


@pytest.fixture(scope="module")
def tools(request: pytest.FixtureRequest) -> Tools:
    if shutil.which("npm") is None:
        missing("npm is not on the PATH")
    folder = request.config.rootpath / ".pytest_cache" / "node"
    folder.mkdir(parents=True, exist_ok=True)
    for file in SOURCE.iterdir():
        shutil.copy(file, folder)
    if _installed(folder) != PINNED:
        command = ("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
        done = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", timeout=10 * MINUTES, check=False
        )
        if done.returncode != 0:
            missing(f"npm cannot install the tools: {done.stderr.strip()[-200:]}")
    return Tools(folder)


def _installed(folder: Path) -> dict[str, str]:
    files = {name: folder / "node_modules" / name / "package.json" for name in PINNED}
    return {name: json.loads(file.read_text("utf-8"))["version"] for name, file in files.items() if file.is_file()}


def documents() -> Iterator[tuple[str, JSON]]:
    yield from ((f"{profile}.json", of_profile(profile)) for profile in PROFILES)
    yield "control.json", control()


def test_redocly_has_no_error_and_no_warning(tools: Tools) -> None:
    for name, document in documents():
        done = tools.run("redocly", "lint", tools.write(name, document), "--format=json")
        report = json.loads(done.output[done.output.index("{\n") : done.output.rindex("}") + 1])

        assert (name, {"errors": 0, "warnings": 0, "ignored": 0}) == (name, report["totals"])


def test_spectral_has_no_error_and_no_warning(tools: Tools) -> None:
    (tools.folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n', encoding="utf-8")
    for name, document in documents():
        done = tools.run("spectral", "lint", tools.write(name, document), "--fail-severity=hint")

        assert (name, 0) == (name, done.status), done.output


@pytest.fixture(scope="module")
def types(tools: Tools) -> Tools:
    for name, document in (("api", of_profile("literal")), ("control", control())):
        done = tools.run("openapi-typescript", tools.write(f"{name}.json", document), "--output", f"{name}.ts")
        assert 0 == done.status and "⚠" not in done.output, done.output
    return tools


def test_the_client_compiles_with_the_generated_types(types: Tools) -> None:
    assert Done(0, "") == types.run(*TSC, "client.ts")


def test_the_examples_of_the_pages_compile_with_the_generated_types(types: Tools) -> None:
    names = []
    for number, block in enumerate(every_block("typescript")):
        names.append(f"page{number}.ts")
        (types.folder / names[-1]).write_text(block.text, encoding="utf-8")

    assert names != []
    assert Done(0, "") == types.run(*TSC, *names)


@pytest.mark.parametrize(("method", "status"), [("receive", 0), ("recieve", 2)])
def test_the_glue_has_strict_types(tools: Tools, method: str, status: int) -> None:
    shutil.copy(GLUE, tools.folder)
    (tools.folder / "glued.ts").write_text(GLUED.replace("receive", method), encoding="utf-8")
    done = tools.run(*TSC, "--allowJs", "--checkJs", "mockserver.mjs", "glued.ts")

    assert status == done.status, done.output


def test_the_fixture_of_the_page_for_playwright_attaches_the_report_of_a_failing_test(tools: Tools) -> None:
    folder = tools.folder / "played"
    folder.mkdir(exist_ok=True)
    page = list(every_block("javascript"))
    (fixture,) = (block for block in page if "@playwright/test" in block.text)
    for name, text in (
        ("mockserver.mjs", GLUE.read_text("utf-8")),
        ("fixture.mjs", fixture.text),
        ("played.spec.mjs", PLAYED),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    with MockServer() as server:
        environment = {"MOCKSERVER_SERVER": server.url}
        done = tools.run("playwright", "test", "--reporter=json", "played", environment=environment)
        left = requests.get(f"{server.url}/_mock/sandboxes", timeout=MINUTES).json()["sandboxes"]
    specs = {spec["title"]: spec["tests"][0]["results"][0] for spec in json.loads(done.output)["suites"][0]["specs"]}
    attached = {
        title: [(each["name"], each["body"]) for each in result["attachments"] if each["name"] == "mockserver"]
        for title, result in specs.items()
    }

    assert {"reads campaigns": "passed", "reads a campaign": "failed"} == {
        title: result["status"] for title, result in specs.items()
    }
    assert [] == attached["reads campaigns"]
    ((_, body),) = attached["reads a campaign"]
    assert "readCampaign got the campaign id" in base64.b64decode(body).decode()
    assert [] == left
