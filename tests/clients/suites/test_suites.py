"""
Suites of a small client in other languages, with the glue of `docs/glue`, under the test runners of each language.

What is not on the machine is skipped and named: a language, where SUITE_LANGUAGES=required declares that all are, fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from mockserver.scenario import documents
from mockserver.testing.report.replay import print_replay
from tests.clients.suites.table import lines
from tests.harness.waiting import wait_until
from tests.pages.blocks import blocks
from tests.wheels import ROOT

HERE = Path(__file__).parent
GLUE = ROOT / "docs" / "glue"
TESTS = 30
TIMEOUT_SECONDS = 240
SLOW_MS = 3_000  # after which the runners of JavaScript end a test
TOKEN = "let-me-in"
JAVA = (
    "javac -encoding UTF-8 -d out *.java && t={} && "
    'java -Djdk.httpclient.redirects.retrylimit=1 -cp out "$(echo $t | cut -c1 | tr a-z A-Z)$(echo $t | cut -c2-)Test"'
)
JUNIT = Path("/usr/share/java/junit-platform-console.jar")
JAVA_SLOW = (
    'javac -encoding UTF-8 -cp "/usr/share/java/*" -d out *.java junit/*.java && '
    'java -cp "out:/usr/share/java/*" org.junit.platform.console.ConsoleLauncher -c SlowTest'
)
PHP = 't={} && phpunit --enforce-time-limit "$(echo $t | cut -c1 | tr a-z A-Z)$(echo $t | cut -c2-)Test.php"'
# Releases that run on Node 20.
PACKAGES = ("vitest@3.2.7", "jest@30.5.2", "mocha@11.8.0")
BIN = "node_modules/.bin"
ES_MODULES = "NODE_OPTIONS=--experimental-vm-modules"


class Runner(NamedTuple):
    """
    A test runner of a language with its glue.

    Attributes:
        name: Of the runner.
        suite: The folder of its suite, and the name of its page.
        glue: The file below `docs/glue`.
        glue_place: The same file below the folder of the suite.
        program: Without which nothing of it runs.
        run: The command that runs the tests `crm`, `page`, `failing`, `slow` or `killed`.
        page_place: Where the example of the page is, below the folder of the suite.
        passed: Matches each test that passes.
        named: How the names of the files of `failing` begin.
        slow: The command that runs `slow`, if it is another.
        test: What `test` is in JavaScript, in words of its runner.
    """

    name: str
    suite: str
    glue: str
    glue_place: str
    program: str
    run: str
    page_place: str
    passed: str
    named: str
    slow: str = ""
    test: str = ""


# fmt: off
NODE = """import { test as define } from "node:test";
export const test = (name, run) => define(name, { timeout: Number(process.env.TEST_TIMEOUT) }, run);"""
RUNNERS = (
    Runner("go", "go", "mockserver.go", "mockserver/mockserver.go", "go", "go test -v ./{}", "page/page_test.go", "^--- PASS", "example.org-crm-failing_test.", slow="go test -v -timeout 20s ./slow"),
    Runner("java", "java", "Mockserver.java", "Mockserver.java", "javac", JAVA, "PageTest.java", "^ok ", "FailingTest.", slow=JAVA_SLOW),
    Runner("ruby", "ruby", "mockserver.rb", "mockserver.rb", "ruby", "ruby -w {}_test.rb", "page_test.rb", r"[.](?=[.]*\n\nFinished)", "failing_test.rb.FailingTest."),
    Runner("php", "php", "Mockserver.php", "Mockserver.php", "phpunit", PHP, "PageTest.php", r"[.](?=[.]* +\d+ / \d+ )", "FailingTest."),
    Runner("node", "typescript", "mockserver.mjs", "mockserver.mjs", "node", "node --test --test-reporter=tap {}.test.mjs", "page.test.mjs", "^ok ", "failing.test.mjs.", test=NODE),
    Runner("vitest", "typescript", "mockserver.mjs", "mockserver.mjs", "npm", f"{BIN}/vitest run --reporter=verbose --testTimeout=$TEST_TIMEOUT {{}}", "page.test.mjs", "^ ✓ ", "failing.test.mjs.", test='export { test } from "vitest";'),
    Runner("jest", "typescript", "mockserver.mjs", "mockserver.mjs", "npm", f"{ES_MODULES} {BIN}/jest --rootDir . --verbose --testTimeout=$TEST_TIMEOUT --testMatch '**/{{}}.test.mjs'", "page.test.mjs", "^  ✓ ", "failing.test.mjs.", test="export const { test } = globalThis;"),
    Runner("mocha", "typescript", "mockserver.mjs", "mockserver.mjs", "npm", f"{BIN}/mocha --timeout $TEST_TIMEOUT {{}}.test.mjs", "page.test.mjs", "^  ✔ ", "failing.test.mjs.", test="export const { it: test } = globalThis;"),
)
# fmt: on
KINDS = {"typescript": "javascript"}
CONFIGS = {
    "vitest.config.mjs": 'export default { test: { globalSetup: "./setup.mjs" } };',
    "jest.config.mjs": 'export default { globalSetup: "./setup.mjs" };',
}
FILES_ALONE = ("node", "vitest")  # which print nothing more of a process that has been killed
ENVIRONMENT = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "NO_COLOR": "1", "CI": "true"}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
each_runner = pytest.mark.parametrize("runner", RUNNERS, ids=lambda runner: runner.name)
each_language = pytest.mark.parametrize(
    "runner",
    [runner for runner in RUNNERS if not runner.run.startswith((BIN, ES_MODULES))],
    ids=lambda runner: runner.name,
)


def skip(sentence: str) -> None:
    """Skip with a sentence, or fail if SUITE_LANGUAGES=required declares that everything is there."""
    if os.environ.get("SUITE_LANGUAGES") == "required":
        pytest.fail(f"SUITE_LANGUAGES=required, but {sentence}")
    pytest.skip(sentence)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The folder in which npm has installed the runners of JavaScript; None where it cannot."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    folder = tmp_path_factory.mktemp("runners")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    return folder if done.returncode == 0 else None


@pytest.fixture
def folder(runner: Runner, tmp_path: Path, packages: Path | None) -> Path:
    """The suite of a language with its glue, and the command of this environment, as an installed one would be."""
    if shutil.which(runner.program) is None:
        skip(f"{runner.program} is not on this machine: the suite in {runner.name} does not run")
    suite = tmp_path / runner.suite
    shutil.copytree(HERE / runner.suite, suite)
    for place in (runner.glue_place, runner.page_place):
        (suite / place).parent.mkdir(exist_ok=True)
    (suite / runner.glue_place).write_text(glue_of(runner), encoding="utf-8")
    (example, *_) = (block for block in blocks(page_of(runner)) if block.kind == KINDS.get(runner.suite, runner.suite))
    (suite / runner.page_place).write_text(example.text, encoding="utf-8")
    if runner.test:
        (suite / "runner.mjs").write_text(runner.test, encoding="utf-8")
        (suite / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    if runner.program == "npm":
        if packages is None:
            skip(f"npm cannot install {', '.join(PACKAGES)}: the suite in {runner.name} does not run")
        assert packages is not None
        (suite / "node_modules").symlink_to(packages / "node_modules")
    command = tmp_path / "bin" / "mockserver"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mockserver "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return suite


def glue_of(runner: Runner) -> str:
    return (GLUE / runner.glue).read_text("utf-8")


def page_of(runner: Runner) -> str:
    return f"docs/from-{runner.suite}.md"


def run(runner: Runner, folder: Path, tests: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = runner.slow if tests == "slow" and runner.slow else runner.run.format(tests)
    timeout_ms = SLOW_MS if tests == "slow" else TIMEOUT_SECONDS * 1_000
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "TEST_TIMEOUT": str(timeout_ms)}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, **own, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def kept(folder: Path) -> Mapping[str, str]:
    """Return the texts of the files that a run has left, by name."""
    (failures,) = folder.rglob(".mockserver/failures")
    return {file.name: file.read_text("utf-8") for file in failures.iterdir()}


def test_the_page_has_the_table_of_what_each_runner_shows() -> None:
    page = (ROOT / "docs" / "other-languages.md").read_text("utf-8").splitlines()

    assert [] == [line for line in lines() if line not in page]


@pytest.mark.deep
@pytest.mark.suites
@each_runner
def test_thirty_tests_of_a_client_pass(runner: Runner, folder: Path) -> None:
    done = run(runner, folder, "crm")

    assert 0 == done.returncode, done.stdout
    assert TESTS == len(re.findall(runner.passed, done.stdout, re.MULTILINE)), done.stdout


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_the_example_of_the_page_passes_with_a_server_that_requires_a_token(runner: Runner, folder: Path) -> None:
    done = run(runner, folder, "page", MOCKSERVER_TOKEN=TOKEN)

    assert 0 == done.returncode, done.stdout


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_neither_the_ready_file_of_a_killed_server_nor_a_variable_of_a_test_changes_a_start(
    runner: Runner, folder: Path
) -> None:
    old = folder / "ready.json"
    old.write_text('{"url": "http://127.0.0.1:9"}', encoding="utf-8")
    done = run(runner, folder, "page", MOCKSERVER_READY_FILE=str(old), MOCKSERVER_TIMEOUT_OF_TESTS="3")

    assert 0 == done.returncode, done.stdout


@pytest.fixture
def exposed(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server that other machines reach, and the name of this machine, at which it reaches receivers: as from a container."""
    try:
        host = socket.gethostbyname(socket.gethostname())
    except OSError:
        pytest.skip("this machine has no address by its name")
    ready = tmp_path / "ready.json"
    options = ["--host", "0.0.0.0", "--port", "0", "--token", TOKEN, "--log-format", "json", "--ready-file", str(ready)]
    options += ["--allow-webhook-host", host, "--allow-webhook-host", "localhost", "--freeze", "2026-03-01T12:00:00Z"]
    command = [sys.executable, "-m", "mockserver", "serve", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["url"].rpartition(":")[2]
        yield f"http://{host}:{port}", host
        server.terminate()


@pytest.mark.deep
@pytest.mark.suites
@each_runner
def test_two_runs_at_once_share_a_server_that_reaches_them_by_the_name_of_their_machine(
    runner: Runner, folder: Path, exposed: tuple[str, str]
) -> None:
    url, host = exposed
    other = folder.with_name("other")
    shutil.copytree(folder, other, symlinks=True)
    environment = {"MOCKSERVER_SERVER": url, "MOCKSERVER_TOKEN": TOKEN, "MOCKSERVER_RECEIVER_HOST": host}

    with ThreadPoolExecutor(2) as pool:
        both = [*pool.map(lambda place: run(runner, place, "crm", **environment), (folder, other))]

    assert [0, 0] == [done.returncode for done in both], "\n".join(done.stdout for done in both)
    passed = [len(re.findall(runner.passed, done.stdout, re.MULTILINE)) for done in both]
    assert [TESTS, TESTS] == passed


@pytest.mark.deep
@pytest.mark.suites
@each_runner
def test_failing_tests_print_their_reports_and_leave_their_files(runner: Runner, folder: Path) -> None:
    done = run(runner, folder, "failing")
    texts = kept(folder)
    reports = {name.removesuffix(".txt"): text for name, text in texts.items() if name.endswith(".txt")}

    assert 0 != done.returncode
    assert "readCampaign got the campaign id" in done.stdout
    (name,) = (name for name, text in reports.items() if "readCampaign got the campaign id" in text)
    assert {f"{name}.{ending}" for ending in ("txt", "yaml", "har", "html")} <= texts.keys()
    assert reports[name].splitlines()[-1].endswith(f"/{name}.txt")
    assert "readCampaign GET /v1/campaigns/campaign_none" in texts[f"{name}.html"]
    (document,) = folder.rglob(f"{name}.yaml")
    assert 0 == print_replay(documents.read(document), StringIO())
    assert [] == [name for name, text in texts.items() if re.search(r"sk_[a-z0-9]{8}", text)]
    assert [] == [name for name in texts if not name.startswith(runner.named)]
    # An expectation on calls that is not met, and a rule that never fires.
    assert "expected exactly 1 call of listCampaigns, got 0; no call reached the sandbox" in done.stdout
    assert "a rule that must fire never fired" in done.stdout
    (unfired,) = (text for text in reports.values() if "rules that never fired:" in text)
    assert "startCampaign" in unfired
    # A failure is printed before the reason why there is no report.
    failure, reason = "got 1; expected 2", "(no report: POST /report: "
    assert -1 < done.stdout.find(failure) < done.stdout.find(reason), done.stdout
    (line,) = {line[line.find(reason) :] for line in done.stdout.splitlines() if reason in line}
    assert "is closed" in line and "%" not in line
    if runner.name == "go":
        assert "panic: the client has no campaign" in done.stdout
        assert "clock: advance by 7m" in done.stdout


@pytest.mark.deep
@pytest.mark.suites
@each_runner
def test_a_test_that_its_runner_times_out_has_a_report_and_files(runner: Runner, folder: Path) -> None:
    if runner.name == "java" and not JUNIT.is_file():
        skip(f"{JUNIT} is not on this machine: no test of Java has a timeout")

    done = run(runner, folder, "slow")

    cause = "the clock did not move: the client sent readConnectionSession"
    assert 0 != done.returncode or runner.name == "php"  # a risky test in the words of PHPUnit
    assert cause in done.stdout, done.stdout
    (report,) = (text for name, text in kept(folder).items() if name.endswith(".txt"))
    assert report.splitlines()[1].startswith(cause)


@pytest.mark.deep
@pytest.mark.suites
@each_runner
def test_a_test_whose_process_is_killed_has_a_report_and_files(runner: Runner, folder: Path) -> None:
    done = run(runner, folder, "killed")

    assert 0 != done.returncode
    wait_until(lambda: any(file.stat().st_size for file in folder.rglob(".mockserver/failures/*.txt")))
    (report,) = (text for name, text in kept(folder).items() if name.endswith(".txt"))
    assert report.startswith(
        "the test failed: the program of the tests ended before this sandbox did\nreadCampaign got"
    )
    assert runner.name in FILES_ALONE or report in done.stdout, done.stdout


@pytest.mark.deep
@pytest.mark.suites
@pytest.mark.parametrize("runner", RUNNERS[3:4], ids=["php"])
def test_a_fatal_error_of_php_leaves_the_report_of_its_test(runner: Runner, folder: Path) -> None:
    done = run(runner, folder, "fatal")

    assert "the test failed: Allowed memory size" in done.stdout
    assert ["FatalTest.testRunsOutOfMemory.txt"] == [name for name in kept(folder) if name.endswith(".txt")]


@pytest.mark.deep
@pytest.mark.suites
@pytest.mark.parametrize(
    "runner", [each for each in RUNNERS if each.name in ("vitest", "jest")], ids=["vitest", "jest"]
)
def test_the_setup_of_the_page_starts_one_server_for_all_files(runner: Runner, folder: Path) -> None:
    (setup,) = (block.text for block in blocks(page_of(runner)) if "function setup()" in block.text)
    (folder / "setup.mjs").write_text(setup, encoding="utf-8")
    command = folder.parent / "bin" / "mockserver"
    command.write_text(command.read_text("utf-8").replace("exec", "echo started >> ../starts\nexec"), encoding="utf-8")
    for name, text in CONFIGS.items():
        (folder / name).write_text(text, encoding="utf-8")
    both = runner._replace(run=runner.run.replace("{}.test", "{{crm,failing}}.test"))

    done = run(both, folder, "crm failing")

    assert "readCampaign got the campaign id" in done.stdout, done.stdout
    assert TESTS <= len(re.findall(runner.passed, done.stdout, re.MULTILINE))
    assert ["started"] == (folder.parent / "starts").read_text("utf-8").split()


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_without_the_command_a_test_fails_with_what_is_missing(runner: Runner, folder: Path) -> None:
    (folder.parent / "bin" / "mockserver").unlink()
    with_programs = [
        place for place in os.environ["PATH"].split(os.pathsep) if not (Path(place) / "mockserver").exists()
    ]
    if shutil.which(runner.program, path=os.pathsep.join(with_programs)) is None:
        pytest.skip(f"{runner.program} is in a folder that has a mockserver too")

    done = run(runner, folder, "failing", PATH=os.pathsep.join(with_programs))

    expected = "expected the command mockserver on the PATH, or an address in MOCKSERVER_SERVER"
    assert 0 != done.returncode
    assert expected in done.stdout, done.stdout
