"""`mockserver explore -- COMMAND`: a client in another process, found by its calls and its exit status alone."""

from __future__ import annotations

import io
import itertools
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from mockserver import MockServer
from mockserver.cli import command_runs, main
from mockserver.cli.command_runs import CommandFailed, CommandRuns, following, run_command
from mockserver.cli.explore import INTERRUPTED
from mockserver.report import explore_page
from tests.harness.waiting import wait_until
from tests.processes import OWN_GROUP, in_a_terminal, interrupt

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 60
SCENARIO = """
scenario: one-template
summary: One template.
given: {templates: [{id: template_t, name: T}]}
"""
PYTHON = """
import json
import os
import sys
import urllib.request

assert os.environ["MOCKSERVER_PUBLIC_KEY"]
print("the client begins")


def post(path, **body):
    headers = {"X-API-Key": os.environ["MOCKSERVER_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["MOCKSERVER_URL"] + path, json.dumps(body).encode(), headers)
    for attempt in range(RETRIES + 1):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except OSError:
            if attempt == RETRIES:
                raise


campaign = post("/v1/campaigns", name="Uma", platform="chatapp", templateId="template_t", cadence=60)["campaignId"]
post(f"/v1/campaigns/{campaign}/start")
"""
OF_SUITE_IN_NODE = """
import { sandboxTest } from "./mockserver.mjs";

sandboxTest("launch", { given: { templates: [{ id: "template_t", name: "T" }] } }, async (sandbox) => {
  const draft = { name: "Uma", platform: "chatapp", templateId: "template_t", cadence: 60 };
  const { body } = await sandbox.call("POST", "/v1/campaigns", draft);
  const start = () => sandbox.call("POST", `/v1/campaigns/${body.campaignId}/start`, {});
  await start().catch(start);
});
"""
FEW = ("--choices", "none", "--faults", "drop-before")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a scenario in it."""
    (tmp_path / "template.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands, which are programs in Python, in this process."""

    def run(command: list[str], variables: dict[str, str], timeout: float, output: int) -> object:
        printed, status = io.StringIO(), None
        with redirect_stdout(printed), redirect_stderr(printed), mock.patch.dict(os.environ, variables):
            try:
                runpy.run_path(command[1])
            except SystemExit as end:
                status = end.code
            except Exception:  # noqa: BLE001 - any
                traceback.print_exc()
                status = 1
        os.write(output, printed.getvalue().encode())
        return status or 0

    monkeypatch.setattr(command_runs, "run_command", run)


def program(source: str) -> list[str]:
    Path("program.py").write_text(source, encoding="utf-8")
    return [sys.executable, "program.py"]


def client(retries: int) -> list[str]:
    return program(PYTHON.replace("RETRIES", str(retries)))


def explore(*arguments: str) -> int:
    return main(["explore", "--scenario", "template.yaml", *arguments])


def test_a_blind_retry_in_python_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--json", "out/report.json", "--html", "pages/report.html")
    status = explore(*FEW, *files, "--", *client(retries=1))

    output = capsys.readouterr()
    assert (1, "") == (status, output.err)
    assert "sandboxes, and only" not in output.out
    assert "\n  duplicate-start, advice.read-before-restart\n" in output.out
    assert "  drop-before at call 2 (startCampaign)\n" in output.out
    assert "output of the command, drop-before at call 2 (startCampaign):\nthe client begins\n" in output.out
    (written,) = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))["tests"]
    assert (4, 1) == (written["runs"], written["verdicts"]["breach"])
    page = (folder / "pages" / "report.html").read_text(encoding="utf-8")
    assert page == explore_page.render([written])
    assert all((folder / finding["document"]).is_file() for finding in written["findings"])
    assert "*\n" == (folder / ".mockserver" / ".gitignore").read_text(encoding="utf-8")


@pytest.mark.usefixtures("in_process")
def test_an_interrupt_leaves_the_report_of_what_was_found_before(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, run = itertools.count(1), CommandRuns.run

    def interrupted(self: CommandRuns, *arguments: Any) -> Any:
        if next(runs) == 5:
            raise KeyboardInterrupt
        return run(self, *arguments)

    monkeypatch.setattr(CommandRuns, "run", interrupted)
    status = explore(
        "--choices", "none", "--faults", "drop-before,garble", "--json", "report.json", "--", *client(retries=1)
    )

    output = capsys.readouterr().out
    assert INTERRUPTED == status
    assert "ended early, by a signal after 4 runs; the report has what was found before" == output.splitlines()[0]
    (written,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["tests"]
    assert 2 == written["singles"]["tried"]


@pytest.mark.usefixtures("in_process")
def test_a_client_that_reports_a_lost_answer_passes_and_its_output_is_not_shown_unless_crashes_fail(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = client(retries=0)

    status = explore(*FEW, "--operations", "startCampaign", "--", *command)
    lenient = capsys.readouterr().out
    strict = explore(*FEW, "--operations", "startCampaign", "--strict", "--", *command)

    assert (0, 1) == (status, strict)
    cause = "exit status 1: http.client.RemoteDisconnected: Remote end closed connection without response"
    assert "all 1 single placements\n" in lenient and f"crashed: {cause}" in lenient


SEVERAL_ENDS = """
import os
import sys
import urllib.error
import urllib.request

headers = {"X-API-Key": os.environ["MOCKSERVER_KEY"]}
request = urllib.request.Request(os.environ["MOCKSERVER_URL"] + "/v1/campaigns", headers=headers)
try:
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
except urllib.error.HTTPError as refused:
    print(f"the service answered {refused.code}", file=sys.stderr)
    sys.exit(3)
"""


@pytest.fixture
def several_ends(folder: Path) -> list[str]:
    """A command that ends with 3 after a refusal, and with a traceback and 1 after a lost answer."""
    faults = "drop-before,reset-before,internal-error"
    return ["--choices", "none", "--faults", faults, "--json", "report.json", "--", *program(SEVERAL_ENDS)]


def findings_of(folder: Path) -> dict[str, dict[str, Any]]:
    (test,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["tests"]
    return {finding["cause"]: finding for finding in test["findings"]}


@pytest.mark.usefixtures("in_process")
def test_crashes_are_counted_apart_and_each_has_its_output_its_document_and_its_rules_as_a_document(
    folder: Path, several_ends: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == explore(*several_ends)

    found = findings_of(folder)
    assert [
        "exit status 1: ConnectionResetError",
        "exit status 1: http.client.RemoteDisconnected",
        "exit status 3: the service answered 500",
    ] == sorted(":".join(cause.split(":")[:2]) for cause in found)
    assert [1] * 3 == [finding["count"] for finding in found.values()]
    assert ["the service answered 500\n"] == found["exit status 3: the service answered 500"]["outputs"]
    assert 3 == len({finding["document"] for finding in found.values() if (folder / finding["document"]).is_file()})
    shown = [line[4:] for line in capsys.readouterr().out.splitlines() if line.startswith("  > ")]
    assert [finding["rules"] for finding in found.values()] == [json.loads(line) for line in shown]
    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.apply(json.loads(shown[0]))
        assert 1 == len(sandbox.rules)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("option", "left"), [(("--reported-exit", "3,4"), 2), (("--reported-output", "^the service|Remote end"), 1)]
)
def test_a_failure_that_the_command_reports_is_no_crash(
    folder: Path, several_ends: list[str], option: tuple[str, str], left: int
) -> None:
    explore(*option, *several_ends)

    found = findings_of(folder)
    assert left == len(found)
    assert not any(cause.startswith("exit status 3") for cause in found)


# What a suite with the files of `docs/glue` does: each of its two tests makes a sandbox and ends it.
HEAD, BODY = PYTHON.replace("RETRIES", "1").replace("assert os.environ", "os.environ").split("\n\ncampaign = ")
OF_A_TEST = f"""
def send(method, path, **body):
    headers = {{"Content-Type": "application/json"}}
    request = urllib.request.Request(os.environ["MOCKSERVER_SERVER"] + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


made = send("POST", "/_mock/sandboxes", scenario={{"given": {{"templates": [{{"id": "template_t", "name": "T"}}]}}}})
os.environ |= {{"MOCKSERVER_URL": made["baseUrl"], "MOCKSERVER_KEY": made["secretKey"]}}
print("begins at", send("GET", f"/sandboxes/{{made['sandboxId']}}/_mock/clock")["now"])
campaign = {BODY}
send("DELETE", f"/_mock/sandboxes/{{made['sandboxId']}}")
"""


@pytest.mark.usefixtures("in_process")
def test_the_first_sandbox_of_a_suite_is_explored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = explore(
        *FEW, "--freeze", "2026-03-01T12:00:00Z", "--json", "report.json", "--", *program(HEAD + 2 * OF_A_TEST)
    )

    output = capsys.readouterr()
    assert (1, "") == (status, output.err)
    assert "\n  duplicate-start, advice.read-before-restart\n" in output.out
    assert "  drop-before at call 2 (startCampaign)\n" in output.out
    assert "begins at 2026-03-01T12:00:00.000Z\n" in output.out
    expected = "the command made 2 sandboxes, and only the calls of the first were explored: explore one test at a time"
    assert expected in output.out
    (written,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["tests"]
    assert [2, 4, True] == [written["clean"]["calls"], written["runs"], written["deterministic"]]


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_test_of_node_with_its_file_is_explored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "docs" / "glue" / "mockserver.mjs", folder)
    (folder / "launch.test.mjs").write_text(OF_SUITE_IN_NODE, encoding="utf-8")

    status = explore(*FEW, "--failures-dir", "off", "--", "node", "--test", "launch.test.mjs")

    output = capsys.readouterr().out
    assert 1 == status
    assert "\n  duplicate-start, advice.read-before-restart\n" in output
    assert "crashed: exit status 1: other side closed, at 1 placement\n" in output


@pytest.mark.usefixtures("in_process")
def test_a_command_that_makes_no_call_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == explore("--", *program(""))
    assert "mockserver: explore: the command made no call; expected calls to MOCKSERVER_URL" in capsys.readouterr().err


@pytest.mark.usefixtures("in_process")
def test_a_command_that_fails_without_a_fault_is_shown_and_not_explored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = explore("--", *program("print('not ready'); raise SystemExit(3)"))

    output = capsys.readouterr().out
    assert 1 == status
    assert "the clean run failed, so nothing was explored: exit status 3" in output
    assert "output of the command, no fault:\nnot ready\n" in output


OF_NODE = """TAP version 13
not ok 1 - launch
  ---
  duration_ms: 242.267683
  failureType: 'testCodeFailure'
  error: |-
    other side closed
    
    the test failed: other side closed
  code: 'ERR_TEST_FAILURE'
  ...
1..1
# pass 0
# duration_ms 528.1
"""
OF_GO = """--- FAIL: TestLaunch (0.01s)
    launch_test.go:14: got 500; expected 201
FAIL
exit status 1
FAIL\tshop\t0.012s
"""
OF_MINITEST = """  1) Failure:
LaunchTest#test_launch [launch_test.rb:9]:
The campaign was not made.
Expected: 201

1 runs, 1 assertions, 1 failures, 0 errors, 0 skips
"""
OF_RSPEC = """Failures:
  1) launch
     Failure/Error: expect(made.status).to eq 201
       expected: 201
1 examples, 1 failures
"""
OF_PHPUNIT = """There was 1 failure:

1) LaunchTest::testLaunch with data set #0 ('after')
Failed asserting that 500 is identical to 201.

the test failed: PHPUnit\\Framework\\ExpectationFailedException: Failed asserting that 500 is identical to 201.

/app/LaunchTest.php:14

FAILURES!
Tests: 1, Assertions: 1, Failures: 1.
"""


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (OF_NODE, "other side closed"),
        (OF_PHPUNIT, "Failed asserting that 500 is identical to 201."),
        ("the service is down\nERRORS!\nTests: 1, Assertions: 0, Errors: 1.\n", "the service is down"),
        ("not ok 1 - launch\n  error: 'got 500'\n# fail 1\n", "got 500"),
        (OF_GO, "got 500; expected 201"),
        ("panic: got 500\n\ngoroutine 1 [running]:\nFAIL\tshop\t0.012s\n", "panic: got 500"),
        (OF_MINITEST, "The campaign was not made."),
        (OF_RSPEC, "expect(made.status).to eq 201"),
        ("E  AssertionError: got 500\n1 failed in 0.02s\n", "E  AssertionError: got 500"),
        ("the service is down\n# fail 1\n", "the service is down"),
        ("# fail 1\n", "# fail 1"),
    ],
)
def test_a_crash_is_named_by_what_its_runner_says_of_it(output: str, why: str) -> None:
    assert f"exit status 1: {why}" == str(CommandFailed(1, output))


def test_the_command_keeps_its_own_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = program("import sys; raise SystemExit(7 if ['--json', '--', 'x'] == sys.argv[1:] else 8)")

    assert 1 == explore("--", *command, "--json", "--", "x")
    assert 1 == explore(*command, "--json", "--", "x")
    assert 2 == capsys.readouterr().out.count("the clean run failed, so nothing was explored: exit status 7")


def test_a_command_that_does_not_end_is_ended_after_its_timeout(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output:
        status = run_command(
            [sys.executable, "-c", "input(); import time; time.sleep(600)"], os.environ, 60, output.fileno()
        )
        ended = run_command([sys.executable, "-c", "import time; time.sleep(600)"], os.environ, 0.05, output.fileno())

    assert (1, None) == (status, ended)  # there is nothing to read for the first


@pytest.mark.skipif(sys.platform == "win32", reason="a wait has no lock there, and signal 0 is one of POSIX")
def test_an_interrupt_at_any_place_of_the_wait_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that comes between a lock and its block leaves the wait locked for ever, so that nothing may wait again."""
    waits: list[subprocess.Popen[bytes]] = []

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        assert process not in waits, "the wait is locked"
        waits.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with (tmp_path / "output").open("wb") as output, pytest.raises(KeyboardInterrupt):
        run_command([sys.executable, "-c", "import time; time.sleep(600)"], os.environ, 60, output.fileno())

    assert waits[0].returncode < 0, "a signal ended it"
    with pytest.raises(OSError):
        os.kill(waits[0].pid, 0)


def test_a_clock_that_follows_passes_in_real_time() -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        before = sandbox.now
        with following(lambda: sandbox, None):
            pass
        assert before == sandbox.now
        passed = threading.Event()
        sandbox.at("10m").do({"set-tenant": {"name": "Later"}})
        sandbox._hosted.listeners.append(lambda: passed.set() if (sandbox.now - before).total_seconds() > 600 else None)
        with following(lambda: sandbox, 6000):
            assert passed.wait(DEADLINE_SECONDS)


def exists(pid: int) -> bool:
    """Return True for a process that has not ended, or whose parent does not know yet."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="signal 0, which shows whether a process exists, is one of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGHUP", None)])
def test_an_interrupt_ends_the_command_too(folder: Path, number: int) -> None:
    source = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); print('x'); time.sleep(600)"
    command = [sys.executable, "-m", "mockserver", "explore", "--", sys.executable, "-c", source]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with in_a_terminal():
        started = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, encoding="utf-8", **OWN_GROUP)
    with started as process:
        try:
            wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text("utf-8") != "")
            interrupt(process, number)
            _, error = process.communicate(timeout=DEADLINE_SECONDS)
        finally:
            process.kill()  # else the block would wait for one that does not end
    pid = int((folder / "pid").read_text("utf-8"))

    assert (INTERRUPTED, "") == (process.returncode, error)
    wait_until(lambda: not exists(pid))
