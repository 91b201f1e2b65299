"""`mockserver serve` in a process of its own: what it prints, obeys and logs, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import requests

from mockserver.cli import build_parser, main
from mockserver.cli import serve as serving
from mockserver.cli.lifetime import remove_stale
from mockserver.judge.coverage.coverage import Coverage
from mockserver.server.http1.server import Server
from mockserver.version import VERSION
from tests.processes import OWN_GROUP, in_a_terminal, interrupt

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 60


class Client:
    """A client of the server whose start lines are `greeting`."""

    greeting = ""

    def __init__(self) -> None:
        self.session = requests.Session()
        self.session.trust_env = False

    @property
    def url(self) -> str:
        return reachable(re.findall(r'https?://[^\s"]+', self.greeting)[0])

    @property
    def secret_key(self) -> str:
        return str(re.findall(r"\bsk_\w+", self.greeting)[0])

    def ask(self, method: str, path: str, key: str | None = "", **rest: Any) -> requests.Response:
        """One call; `key` is the secret key where it is left out, and None sends none."""
        headers = {} if key is None else {"X-API-Key": key or self.secret_key}
        return self.session.request(
            method, self.url + path, headers=headers | rest.pop("headers", {}), timeout=DEADLINE_SECONDS, **rest
        )

    def create(self, **body: Any) -> tuple[str, str, str]:
        """Make a sandbox; return its id, the path of its calls, and its key."""
        made = self.ask("POST", "/_mock/sandboxes", key=None, json=body).json()
        return made["sandboxId"], made["baseUrl"].removeprefix(self.url), made["secretKey"]


class Served(Client):
    """A `mockserver serve`, or another command that serves, in a process of its own; it listens once this exists."""

    def __init__(self, *arguments: str, errors: int | None = None, command: str = "serve") -> None:
        super().__init__()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed by `close`
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "mockserver", command, "--port", "0", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=self._errors if errors is None else errors,
            encoding="utf-8",
            **OWN_GROUP,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        self.greeting = self.first_line
        while (
            not self.greeting.startswith("{")
            and "Ctrl-C" not in self.greeting
            and (line := self.process.stdout.readline())
        ):
            self.greeting += line

    def stop(self, number: int) -> int:
        """The exit code after a signal."""
        interrupt(self.process, number)
        return self.process.wait(DEADLINE_SECONDS)

    def log(self) -> list[str]:
        """The contents of standard error at the end."""
        interrupt(self.process)
        self.process.wait(DEADLINE_SECONDS)
        self._errors.seek(0)
        return self._errors.read().splitlines()

    def close(self) -> None:
        self.session.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self._errors.close()


def reachable(url: str) -> str:
    """The url by an address to connect to: Windows connects to no `0.0.0.0`."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:")


Serve = Callable[..., Served]


class Here(Client):
    """A `mockserver serve` in a thread of this process; it listens once this exists."""

    def __init__(self, patch: pytest.MonkeyPatch, *arguments: str) -> None:
        super().__init__()
        self._servers: Queue[Server] = Queue()
        self._printed: Queue[str] = Queue()
        patch.setattr(serving, "stop_signals", lambda: ())  # which are for the main thread
        patch.setattr(serving, "_end_at_signals", lambda server, *_: self._servers.put(server))
        patch.setattr(serving, "_tune_process", lambda: None)
        options = build_parser().parse_args(["serve", "--port", "0", *arguments])
        self._thread = threading.Thread(target=serving.serve, args=(options, self))
        self._thread.start()
        self.greeting = self._printed.get(timeout=DEADLINE_SECONDS)

    def write(self, text: str) -> None:
        """Take what the command prints: its start lines in one piece."""
        self._printed.put(text)

    def flush(self) -> None:
        """Do nothing: what was written is there."""

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """End the command, and return when it has ended."""
        self.session.close()
        if self._thread.is_alive():
            self._servers.get(timeout=DEADLINE_SECONDS).stop()
            self._thread.join(DEADLINE_SECONDS)


ServeHere = Callable[..., Here]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServeHere]:
    running: list[Here] = []

    def start(*arguments: str) -> Here:
        running.append(Here(monkeypatch, *arguments))
        return running[-1]

    yield start
    for each in running:
        each.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[Served] = []

    def start(*arguments: str, **options: Any) -> Served:
        running.append(Served(*arguments, **options))
        return running[-1]

    yield start
    for each in running:
        each.close()


def test_serve_prints_its_address_and_then_its_keys(serve: Serve) -> None:
    served = serve()

    assert re.search(r"http://127\.0\.0\.1:[1-9][0-9]*$", served.first_line.rstrip())
    assert served.url in served.first_line  # read from a pipe while the process runs: it was flushed
    assert served.process.poll() is None
    assert re.search(r"public key\s+pk_\S+", served.greeting)
    templates = served.ask("GET", "/v1/message-templates")
    assert 200 == templates.status_code
    assert templates.json()["templates"]
    assert {"status": "ok", "version": VERSION} == served.ask("GET", "/_mock/health", key=None).json()
    assert 0 == served.stop(signal.SIGTERM)  # with an open connection


def test_it_takes_a_scenario_file_choices_a_profile_a_seed_and_an_instant(here: ServeHere, tmp_path: Path) -> None:
    scenario, profile = tmp_path / "mine.yaml", tmp_path / "profile.json"
    scenario.write_text(
        "scenario: mine\ngiven:\n  forms:\n"
        '    - {id: form_a, active: true, iframeEmbedAllowedOrigins: ["https://a.example"]}\n',
        encoding="utf-8",
    )
    profile.write_text('{"choices": {"success-status": "all-201", "next-cursor-end": "empty"}}', encoding="utf-8")
    arguments = ("--scenario", str(scenario), "--profile", str(profile), "--freeze", "2026-03-01T12:00:00Z")
    served = here(*arguments, "--choose", "success-status=all-200", "--seed", "9", "--no-reason-header", "--strict")

    policy = served.ask("GET", "/v1/forms/form_a/embed-frame-policy")
    assert {"iframeEmbedAllowedOrigins": ["https://a.example"]} == policy.json()
    clock = served.ask("GET", "/_mock/clock", key=None).json()
    assert (datetime(2026, 3, 1, 12, tzinfo=UTC), True) == (datetime.fromisoformat(clock["now"]), clock["frozen"])
    assert "Sun, 01 Mar 2026 12:00:00 GMT" == policy.headers["Date"]
    choices = {row["id"]: row["value"] for row in served.ask("GET", "/_mock/choices", key=None).json()["choices"]}
    assert ("all-200", "empty") == (choices["success-status"], choices["next-cursor-end"])
    assert "X-Mock-Reason" not in served.ask("GET", "/v1/campaigns", key=None).headers
    same, other = here("--scenario", str(scenario), "--seed", "9"), here("--scenario", str(scenario))
    assert served.secret_key == same.secret_key != other.secret_key


BEARER = {"Authorization": "Bearer open-sesame"}


@pytest.mark.parametrize("option", ["--token", "--token-file"])
def test_a_token_guards_only_the_control_plane_and_that_of_a_file_is_not_printed(
    here: ServeHere, tmp_path: Path, option: str
) -> None:
    file = tmp_path / "token"
    file.write_text("open-sesame\n", encoding="utf-8")
    served = here(option, str(file) if option == "--token-file" else "open-sesame")

    assert (option == "--token") == ("open-sesame" in served.greeting)
    assert (option == "--token-file") == (f"as in {file}" in served.greeting)
    assert 401 == served.ask("GET", "/_mock/state", key=None).status_code
    assert 200 == served.ask("GET", "/_mock/state", key=None, headers=BEARER).status_code
    assert 200 == served.ask("GET", "/v1/campaigns").status_code


def test_it_logs_one_line_per_call_and_no_whole_key(here: ServeHere, capsys: pytest.CaptureFixture[str]) -> None:
    served = here()
    key = served.secret_key
    served.ask("GET", "/v1/campaigns")
    served.ask("GET", "/v1/campaigns/campaign_unknown")
    served.ask("GET", f"/v1/campaigns?key={key}")
    served.ask("GET", f"/v1/message-templates/{key}")
    served.ask("POST", "/v1/campaigns", json={"name": key, "platform": key})
    served.ask("GET", "/v1/campaigns", key="sk_" + "stranger" * 4)
    served.ask("GET", "/v1/nowhere%0Aelse")
    served.close()

    log = capsys.readouterr().err.splitlines()
    assert 7 == len(log)
    assert "200 GET /v1/campaigns" in log[0]
    assert "404 GET /v1/campaigns/campaign_unknown CAMPAIGN_NOT_FOUND" in log[1]
    assert "400 POST /v1/campaigns VALIDATION_ERROR" in log[4]
    assert "401 GET /v1/campaigns API_KEY_INVALID" in log[5]
    assert [] == [line for line in log if key in line or "strangerstranger" in line]


@pytest.mark.parametrize("token", [None, "let-me-in"])
def test_the_ready_file_is_there_while_it_listens_and_with_a_log_in_json_its_object_is_the_start_line(
    here: ServeHere, tmp_path: Path, token: str | None
) -> None:
    file = tmp_path / "ready.json"
    served = here("--log-format", "json", "--ready-file", str(file), *(["--token", token] if token else []))
    ready = json.loads(served.greeting)
    served.ask("GET", "/v1/campaigns", key=ready["secretKey"])

    assert json.loads(file.read_text(encoding="utf-8")) == ready
    assert (VERSION, token, os.getpid()) == (ready["version"], ready["token"], ready["pid"])
    assert [file] == list(tmp_path.iterdir())
    assert sys.platform == "win32" or 0o600 == file.stat().st_mode & 0o777
    served.close()
    assert [] == list(tmp_path.iterdir())


@pytest.mark.deep
def test_an_event_leaves_by_itself_and_only_for_hosts_that_were_allowed(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(DEADLINE_SECONDS)
        served = serve("--allow-webhook-host", "hooks.example")
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
        for target, status in ((url, 201), ("http://hooks.example/", 201), ("http://other.example/", 400)):
            reply = served.ask("POST", "/_mock/scenarios", json={"given": {"webhooks": [{"url": target}]}})
            assert status == reply.status_code
        session_id = served.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]

        assert (
            200 == served.ask("POST", f"/_mock/sessions/{session_id}/fail", json={"reason": "phone_in_use"}).status_code
        )

        wire, _ = listener.accept()
        with wire:  # which is never answered
            assert wire.recv(100).startswith(b"POST /hook HTTP/1.1\r\n")
            code = served.stop(signal.SIGTERM)

    assert 0 == code


def keys_of(served: Client) -> set[str]:
    """The keys, a link and a form's secret of the default sandbox, and the keys of one that is made."""
    tokens = re.findall(r"token +(\S+)", served.greeting)
    bearer = {"Authorization": f"Bearer {tokens[0]}"} if tokens else {}
    made = served.ask("POST", "/_mock/sandboxes", key=None, headers=bearer, json={}).json()
    link = served.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["url"]
    page = served.session.get(reachable(link), timeout=DEADLINE_SECONDS).text
    secret = re.findall(r'name="secret" value="(\w+)"', page)[0]
    public_key = re.findall(r"pk_\S+", served.greeting)[0]
    return {served.secret_key, public_key, made["secretKey"], made["publicKey"], link.rpartition("/")[2], secret}


def test_beyond_loopback_no_key_link_or_form_secret_is_known_beforehand(here: ServeHere) -> None:
    at_home, first, second = (keys_of(here(*host)) for host in ((), ("--host", "0.0.0.0"), ("--host", "0.0.0.0")))

    assert set() == (at_home & first) | (at_home & second) | (first & second)
    assert 6 == len(first) == len(second)


def test_a_ready_file_of_a_server_that_is_gone_is_removed_before_the_next_one_starts(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    with socket.create_server(("127.0.0.1", 0)) as server:
        file.write_text(f'{{"url": "http://127.0.0.1:{server.getsockname()[1]}"}}', encoding="utf-8")
        remove_stale(str(file))
        assert file.exists()  # its server answers

    # It ends before it listens: the file of the coverage is a folder.
    assert 2 == main(["serve", "--port", "0", "--ready-file", str(file), "--coverage", str(tmp_path)])
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", "a note", '{"url": "no address"}'])
def test_a_file_that_is_no_ready_file_stays(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ready.json"
    file.write_text(text, encoding="utf-8")

    remove_stale(str(file))

    assert text == file.read_text(encoding="utf-8")


def test_the_end_of_its_terminal_ends_a_server_in_order_and_at_once(serve: Serve, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no SIGHUP")
    with in_a_terminal():
        served = serve("--ready-file", str(tmp_path / "ready.json"), "--drain", "10m")
    served.ask("POST", "/_mock/sandboxes", key=None)

    assert 0 == served.stop(signal.SIGHUP)
    assert [] == list(tmp_path.iterdir())


def test_the_folder_of_failures_gets_the_files_of_a_failed_sandbox(here: ServeHere, tmp_path: Path) -> None:
    folder = tmp_path / "failures"
    served = here("--failures-dir", str(folder))
    _, path, key = served.create()
    served.ask("GET", f"{path}/v1/campaigns/none", key=key)

    served.ask("POST", f"{path}/_mock/report?name=TestReads", key=None)

    names = [f"TestReads.{ending}" for ending in ("har", "html", "txt", "yaml")]
    assert names == sorted(file.name for file in folder.iterdir())


def test_one_file_has_the_coverage_of_all_sandboxes_after_the_end(here: ServeHere, tmp_path: Path) -> None:
    file = tmp_path / "suite" / "coverage.json"
    served = here("--coverage", str(file))
    assert () == Coverage.load(file).covered("operations")
    ended, opened = served.create(), served.create()
    for (_, path, key), called in ((ended, "/v1/campaigns"), (opened, "/v1/message-templates")):
        served.ask("GET", f"{path}{called}", key=key)
    served.ask("GET", "/v1/campaigns/none")
    served.ask("DELETE", f"/_mock/sandboxes/{ended[0]}", key=None)

    served.close()

    assert {"listCampaigns", "listTemplates", "readCampaign"} == {*Coverage.load(file).covered("operations")}


def test_two_names_lead_to_the_server_and_each_gets_its_own_in_answers(here: ServeHere) -> None:
    served = here("--public-url", "https://mock.example/crm", "--allow-host", "mock")
    by_name = {}
    for name in ("mock.example", "MOCK.example", "mock:5055", served.url.removeprefix("http://")):
        created = served.ask("POST", "/_mock/sandboxes", key=None, headers={"Host": name}, json={}).json()
        by_name[name] = created["baseUrl"].rpartition("/sandboxes/")[0]
        session = served.ask("POST", "/v1/entrypoints/chatapp/connection-sessions", headers={"Host": name}, json={})
        assert session.json()["url"].startswith(f"{by_name[name]}/connect/")

    assert {
        "mock.example": "https://mock.example/crm",
        "MOCK.example": "https://mock.example/crm",
        "mock:5055": "http://mock:5055",
        served.url.removeprefix("http://"): served.url,
    } == by_name
    for method, path in (
        ("POST", "/_mock/sandboxes"),
        ("GET", "/v1/campaigns"),
        ("GET", "/connect/x"),
        ("GET", "/media/x"),
    ):
        refused = served.ask(method, path, headers={"Host": "other.example"})
        assert (403, "MOCK_FOREIGN_HOST") == (refused.status_code, refused.json()["code"])
        assert "another name is allowed by --allow-host" in refused.json()["message"]


def test_a_server_keeps_and_prints_what_the_process_that_started_it_left_behind(tmp_path: Path) -> None:
    options = ["--port", "0", "--exit-with-parent", "--log-format", "off", "--failures-dir", str(tmp_path)]
    starter = (
        "import subprocess, sys;"
        f"subprocess.Popen([sys.executable, '-m', 'mockserver', 'serve', *{options!r}], stderr=subprocess.STDOUT);"
        "sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        url = re.findall(r"http://\S+", parent.stdout.readline())[0]
        made = [requests.post(f"{url}/_mock/sandboxes", json={}, timeout=DEADLINE_SECONDS).json() for _ in range(3)]
        for sandbox in made:
            headers = {"X-API-Key": sandbox["secretKey"]}
            requests.get(f"{sandbox['baseUrl']}/v1/campaigns/none", headers=headers, timeout=DEADLINE_SECONDS)
        left, ended, reported = made
        requests.delete(f"{url}/_mock/sandboxes/{ended['sandboxId']}", timeout=DEADLINE_SECONDS)
        requests.post(f"{reported['baseUrl']}/_mock/report?name=TestReads&failure=x", timeout=DEADLINE_SECONDS)
        parent.stdin.close()

        printed = parent.stdout.read()

    assert {"TestReads.txt", f"{left['sandboxId']}.txt"} == {file.name for file in tmp_path.glob("*.txt")}
    report = (tmp_path / f"{left['sandboxId']}.txt").read_text("utf-8")
    assert "the test failed: the program of the tests ended before this sandbox did\nreadCampaign got" in report
    assert report in printed
    assert 1 == printed.count("the test failed:")
