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
GLUE_TYPES = GLUE.with_suffix(".d.mts")
PINNED: dict[str, str] = json.loads((SOURCE / "package.json").read_text("utf-8"))["dependencies"]
TSC = ("tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext")
GLUED = """
import { Sandbox, sandboxTest } from "./mockserver.mjs";
import { test } from "node:test";

sandboxTest("typed", { scenario: "demo" }, async (sandbox, t) => {
  const events: unknown[] = await sandbox.receive();
  const status: number = (await sandbox.call("GET", "/v1/campaigns")).status;
  const id: string = sandbox.sandboxId;
  const { now } = await sandbox.control("POST", "/clock/advance", { by: "20m" });
  await sandbox.control("POST", "/rules", { on: "startCampaign", nth: 1, do: { drop: "after" } });
  await sandbox.control("POST", `/sessions/${id}/fail`, { reason: "phone_in_use" });
  const [event] = (await sandbox.control("GET", "/events")).events;
  const answered = event?.deliveries[0]?.attempts.map((each) => each.status);
  const text: string = sandbox.baseUrl + now + (await sandbox.control("GET", "/ledger")).executions;
}, test.skip);
export const opened: Promise<Sandbox> = Sandbox.open({ seed: 1 });
"""
# A wrong text in place of one of GLUED.
GLUED_TYPOS = (
    ("receive()", "recieve()"),
    ('by: "20m"', 'bye: "20m"'),
    ("nth: 1", "nht: 1"),
    ('"phone_in_use"', '"phone_is_used"'),
    ("seed: 1", "sed: 1"),
)
# The bodies that the types of the glue take are those that the document has, and its answers are those of the types.
BODIES = """
import type { paths } from "./control.js";
import type { Commands } from "./mockserver.mjs";

type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : undefined;
type Answer<O> = O extends { responses: { 200: { content: { "application/json": infer A } } } } ? A
  : O extends { responses: { 201: { content: { "application/json": infer A } } } } ? A : never;
type Of<P extends keyof paths, M extends keyof paths[P], C extends { body: unknown; answer: unknown }> = [
  Exclude<C["body"], undefined> extends Body<paths[P][M]> ? 1 : ["body", P],
  Answer<paths[P][M]> extends C["answer"] ? 1 : ["answer", P],
];
type Is<T extends [1, 1]> = T;
export type All = [
ROWS
];
"""
BODY_ROWS = (
    ("/_mock/sandboxes", "post", "POST /sandboxes"),
    ("/_mock/clock", "get", "GET /clock"),
    ("/_mock/clock", "put", "PUT /clock"),
    ("/_mock/clock/advance", "post", "POST /clock/advance"),
    ("/_mock/journal/verify", "post", "POST /journal/verify"),
    ("/_mock/journal", "get", "GET /journal"),
    ("/_mock/events", "get", "GET /events"),
    ("/_mock/check", "get", "GET /check"),
    ("/_mock/webhooks", "post", "POST /webhooks"),
    ("/_mock/sessions/{sessionId}/complete", "post", "POST /sessions/id/complete"),
    ("/_mock/sessions/{sessionId}/fail", "post", "POST /sessions/id/fail"),
    ("/_mock/tenants/{id}", "patch", "PATCH /tenants/id"),
)
# What `tsc --init` sets today, as its releases 5.9 and 7.0 do.
INIT = """{"compilerOptions": {
  "module": "nodenext", "target": "esnext", "types": ["node"], "sourceMap": true, "declaration": true, "declarationMap": true,
  "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "strict": true, "jsx": "react-jsx",
  "verbatimModuleSyntax": true, "isolatedModules": true, "noUncheckedSideEffectImports": true, "moduleDetection": "force",
  "skipLibCheck": true, "noEmit": true, "typeRoots": ["../node_modules/@types"]
}}"""
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


def test_the_glue_has_strict_types(tools: Tools) -> None:
    shutil.copy(GLUE, tools.folder)
    done = tools.run(*TSC, "--allowJs", "--checkJs", "mockserver.mjs")

    assert 0 == done.status, done.output


@pytest.fixture
def project(types: Tools) -> Iterator[Tools]:
    """A project as `tsc --init` makes it, with the types of the glue and of the control plane."""
    folder = types.folder / "project"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in (GLUE, GLUE_TYPES, types.folder / "control.ts"):
        shutil.copy(file, folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "tsconfig.json").write_text(INIT, encoding="utf-8")
    yield types
    shutil.rmtree(folder)


def test_the_types_of_the_glue_compile_in_a_new_project_and_find_a_typo(project: Tools) -> None:
    folder = project.folder / "project"
    (folder / "glued.ts").write_text(GLUED, encoding="utf-8")
    assert Done(0, "") == project.run("tsc", "-p", "project")

    for number, (right, wrong) in enumerate(GLUED_TYPOS):
        assert right in GLUED
        (folder / f"typo_{number}.ts").write_text(GLUED.replace(right, wrong), encoding="utf-8")
    done = project.run("tsc", "-p", "project")

    assert 0 != done.status
    found = [number for number in range(len(GLUED_TYPOS)) if f"typo_{number}.ts" in done.output]
    assert [*range(len(GLUED_TYPOS))] == found


def test_the_types_of_the_glue_are_those_of_the_document(project: Tools) -> None:
    rows = [f'  Is<Of<"{path}", "{method}", Commands["{command}"]>>,' for path, method, command in BODY_ROWS]
    (project.folder / "project" / "bodies.ts").write_text(BODIES.replace("ROWS", "\n".join(rows)), encoding="utf-8")

    assert Done(0, "") == project.run("tsc", "-p", "project")


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
