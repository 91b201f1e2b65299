"""`mockserver fleet`: its start, the owner of each sandbox, its end, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
from mockserver.testing.remote import RemoteServer
from mockserver.testing.rules.builder import ActiveRule, RuleBuilder
from mockserver.version import VERSION
from tests.fleet.fleets import (
    DEADLINE_SECONDS,
    INSTALLED,
    ROOT,
    TOKEN,
    Client,
    Fleet,
    await_condition,
    children,
    each_proxy,
    free_port,
    is_running,
    needs_linux,
    one_proxy_or_each,
)  # fmt: skip

if sys.platform == "win32":
    pytest.skip("the fleet runs on POSIX alone", allow_module_level=True)

pytestmark = [needs_linux, pytest.mark.skipif(not INSTALLED, reason="no proxy is on this machine")]
END_SECONDS = 1.0
Start = Callable[..., Fleet]


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mockserver", "fleet", *arguments]
    return subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE_SECONDS,
    )


@each_proxy()
def test_every_call_reaches_the_owner_of_its_sandbox(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    client = fleet.client()

    made = [client.create(labels={"number": str(number)}) for number in range(6)]

    assert f"mockserver {VERSION} listens on {fleet.url}\n" == fleet.first_line
    assert {0, 1} == {each["shard"] for each in made}
    for each in made:
        assert each["baseUrl"].startswith(f"{fleet.url}/sandboxes/sandbox_{each['shard']}_")
        assert [200] * 3 == [client.list_campaigns(each).status for _ in range(3)]
        named = {"X-API-Key": each["secretKey"], "Host": f"{each['sandboxId']}.mock.example"}
        assert 200 == client.ask("GET", "/v1/campaigns?x=%2F", headers=named).status
        exchanges = client.ask("GET", f"{each['path']}/_mock/journal").body["exchanges"]
        assert [{}] * 3 + [{"x": "/"}] == [row["request"]["query"] for row in exchanges]
    assert 404 == client.ask("GET", "/sandboxes/sandbox_7_1_0123456789ab/v1/campaigns").status
    assert [204] * 6 == [client.ask("DELETE", f"/_mock/sandboxes/{each['sandboxId']}").status for each in made]
    assert [410] * 6 == [client.list_campaigns(each).status for each in made]
    code, seconds = fleet.stop()
    assert 0 == code
    assert seconds < END_SECONDS


@one_proxy_or_each()
def test_the_default_sandbox_is_that_of_the_first_shard(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    key = re.findall(r"secret key\s+(\S+)", fleet.greeting)[0]
    client = fleet.client()

    assert {0} == {client.ask("GET", "/_mock/health").body["shard"] for _ in range(4)}
    assert 200 == client.ask("GET", "/v1/campaigns", headers={"X-API-Key": key}).status
    assert [0, 1] == [client.ask("GET", f"/sandboxes/shard_{n}/_mock/health").body["shard"] for n in range(2)]


def raw_call(fleet: Fleet, path: str, key: str) -> list[bytes | str]:
    """The pieces of a response as they arrive, and the end of the connection."""
    address = urlsplit(fleet.url)
    head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n"
    pieces: list[bytes | str] = []
    with socket.create_connection((address.hostname, address.port), timeout=DEADLINE_SECONDS) as wire:
        wire.sendall(head.encode())
        try:
            while piece := wire.recv(65536):
                pieces.append(piece)
            return [*pieces, "closed"]
        except ConnectionResetError:
            return [*pieces, "reset"]


@each_proxy()
def test_faults_on_the_wire_pass_through_and_no_call_is_sent_twice(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    ends = {}
    with RemoteServer(fleet.url).sandbox(clock="follow") as sandbox:
        path = urlsplit(sandbox.base_url).path + "/v1/campaigns"
        faults: dict[str, Callable[[RuleBuilder], ActiveRule]] = {
            "drop": lambda on: on.drop("before"),
            "reset before": lambda on: on.reset("before"),
            "reset after": lambda on: on.reset("after"),
            "truncate": lambda on: on.truncate(5),
            "dribble": lambda on: on.dribble(chunks=4, over="200ms"),
            "delay": lambda on: on.delay("50ms"),
        }
        for name, add in faults.items():
            before = len(sandbox.log.journal["exchanges"])
            rule = add(sandbox.on("listCampaigns"))
            pieces = raw_call(fleet, path, sandbox.secret_key)
            rule.remove()
            assert before + 1 == len(sandbox.log.journal["exchanges"]), name
            body = b"".join(piece for piece in pieces if isinstance(piece, bytes)).partition(b"\r\n\r\n")[2]
            ends[name] = body, pieces[-1]
            assert name != "dribble" or len(pieces) >= 4  # not buffered

    lost = "reset" if proxy == "nginx" else "closed"
    whole = b'{"campaigns":[]}'
    cut = ends.pop("truncate")
    assert whole[:5] == cut[0]
    assert {
        "drop": (b"", lost),
        "reset before": (b"", lost),
        "reset after": (b"", lost),
        "dribble": (whole, "closed"),
        "delay": (whole, "closed"),
    } == ends


@one_proxy_or_each()
def test_status_merges_the_sandboxes_and_the_metrics_of_all_shards(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy, "--token", TOKEN)
    client, port = fleet.client(), str(urlsplit(fleet.url).port)
    made = [client.create(labels={"job": "a"}) for _ in range(2)]

    view = json.loads(run("status", "--port", port, "--token", TOKEN, "--json").stdout)
    table = run("status", "--port", port, "--token", TOKEN).stdout
    metrics = run("status", "--port", port, "--token", TOKEN, "--metrics").stdout
    refused = run("status", "--port", port)

    listed = {row["sandboxId"]: each["shard"] for each in view["shards"] for row in each["sandboxes"]}
    assert {each["sandboxId"]: f"shard_{each['shard']}" for each in made} == {
        name: shard for name, shard in listed.items() if name != "default"
    }
    assert all(each["sandboxId"] in table for each in made)
    assert {'mockserver_sandboxes{shard="shard_0"} 2.0', 'mockserver_sandboxes{shard="shard_1"} 2.0'} <= set(
        metrics.splitlines()
    )
    assert 1 == metrics.count("# TYPE mockserver_sandboxes gauge")
    assert (2, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert "401" in refused.stderr


@one_proxy_or_each()
def test_a_supervisor_that_is_killed_takes_its_processes_along(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)

    fleet.send(signal.SIGKILL)
    fleet.process.wait(DEADLINE_SECONDS)

    assert len(fleet.started) >= 3
    await_condition(lambda: not [each for each in fleet.started if is_running(each.pid)], "every process has ended")


@one_proxy_or_each()
def test_a_proxy_that_ends_starts_again_at_its_address(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy)
    client = fleet.client()
    made = client.create()
    former = next(
        each.pid for each in fleet.started if proxy in each.command.split()[0] and "shard" not in each.command
    )

    os.kill(former, signal.SIGTERM)

    await_condition(lambda: not is_running(former), "the proxy has ended")
    await_condition(lambda: client.list_campaigns(made).status == 200, "the sandbox answers again")


@one_proxy_or_each()
def test_a_fleet_that_drains_ends_with_its_last_sandbox(start_fleet: Start, proxy: str) -> None:
    fleet = start_fleet(proxy, "--drain", "10m")
    client = fleet.client()
    made = [client.create() for _ in range(2)]

    fleet.send(signal.SIGTERM)
    refusal = await_condition(
        lambda: (answer := client.ask("POST", "/_mock/sandboxes")).status != 201 and answer, "no sandbox is created"
    )

    assert (503, "MOCK_DRAINING") == (refusal.status, refusal.body["code"])
    assert [200, 200] == [client.list_campaigns(each).status for each in made]
    assert fleet.process.poll() is None
    for row in json.loads(run("status", "--port", str(urlsplit(fleet.url).port), "--json").stdout)["shards"]:
        for sandbox in row["sandboxes"]:
            client.ask("DELETE", f"/_mock/sandboxes/{sandbox['sandboxId']}")
    assert 0 == fleet.process.wait(DEADLINE_SECONDS)


def test_a_second_signal_ends_a_fleet_that_drains(start_fleet: Start) -> None:
    fleet = start_fleet(INSTALLED[0], "--drain", "10m")
    client = fleet.client()
    client.create()
    fleet.send(signal.SIGUSR1)
    await_condition(lambda: client.ask("POST", "/_mock/sandboxes").status == 503, "the fleet drains")

    code, seconds = fleet.stop()

    assert 0 == code
    assert seconds < END_SECONDS


def test_what_shards_print_is_on_standard_error_behind_their_name_without_urls(start_fleet: Start) -> None:
    fleet = start_fleet(INSTALLED[0], "--log-format", "text")
    client = fleet.client()
    made = client.create()
    client.list_campaigns(made)
    fleet.stop()

    log = fleet.log()
    assert re.search(rf"^shard_{made['shard']}  .*200 GET {made['path']}/v1/campaigns$", log, re.MULTILINE)
    assert [] == re.findall(r"^shard_\d.*https?://.*", log, re.MULTILINE)


def test_a_fleet_writes_its_own_address_to_the_ready_file(start_fleet: Start, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    fleet = start_fleet(INSTALLED[0], "--ready-file", str(file))

    ready = json.loads(
        await_condition(lambda: file.exists() and file.read_text(encoding="utf-8"), "the file is written")
    )

    assert (fleet.url, fleet.process.pid) == (ready["url"], ready["pid"])
    assert ready["secretKey"] in fleet.greeting
    fleet.stop()
    assert not file.exists()


@pytest.mark.parametrize("count", ["0", "-1", "257", "two", "1.5", ""])
def test_a_wrong_number_of_processes_is_refused(count: str) -> None:
    refused = run("--processes", count)

    assert 2 == refused.returncode
    assert f"got {count!r}; expected a whole number from 1 to 256" in refused.stderr.splitlines()[-1]


def test_a_proxy_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    script = "import mockserver.fleet.proxies as p, mockserver.cli as c; p.find_program = lambda name: None; "
    refused = subprocess.run(
        [sys.executable, "-c", script + "raise SystemExit(c.main(['fleet', '--proxy', 'caddy', '--port', '0']))"],
        check=False, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=DEADLINE_SECONDS,
    )  # fmt: skip

    assert (2, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert refused.stderr.startswith("mockserver: got --proxy caddy")
    assert "expected one of haproxy, caddy, nginx to be installed" in refused.stderr


def test_a_taken_port_is_refused_and_nothing_is_left() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run("--port", str(port))

    assert (2, 1, "") == (refused.returncode, refused.stderr.count("\n"), refused.stdout)
    assert f"got 127.0.0.1 port {port}" in refused.stderr
    assert "expected a port that no other process uses" in refused.stderr
    assert [] == [each for each in children(os.getpid()) if "mockserver" in each.command]


def test_a_shard_that_dies_at_its_start_ends_the_fleet() -> None:
    refused = run("--port", "0", "--choose", "dual-status=gide")

    assert (1, 1, "") == (refused.returncode, refused.stderr.count("\n"), refused.stdout)
    assert re.match(r"mockserver: shard_[01] ended with status 2 at its start: .*dual-status=gide", refused.stderr)
    assert [] == [each for each in children(os.getpid()) if "mockserver" in each.command]


def test_all_lines_of_a_process_that_dies_at_its_start_are_logged_if_the_message_has_not_room_for_them(
    tmp_path: Path,
) -> None:
    program = tmp_path / "haproxy"
    program.write_text("#!/bin/sh\nfor n in 1 2 3 4 5 6; do echo line $n >&2; done\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    *lines, last = run("--port", "0", "--proxy", "haproxy", PATH=f"{tmp_path}:{os.environ['PATH']}").stderr.splitlines()

    assert [f"haproxy  line {number}" for number in range(1, 7)] == lines
    assert last.endswith("ended with status 3 at its start: line 2 / line 3 / line 4 / line 5 / line 6")


def test_a_proxy_that_dies_at_its_start_ends_the_fleet(tmp_path: Path) -> None:
    program = tmp_path / "haproxy"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    refused = run("--port", "0", "--proxy", "haproxy", PATH=f"{tmp_path}:{os.environ['PATH']}")

    assert (1, "") == (refused.returncode, refused.stdout)
    assert "mockserver: haproxy ended with status 3 at its start: broken\n" == refused.stderr
    assert [] == [each for each in children(os.getpid()) if "mockserver" in each.command]


@pytest.mark.parametrize(
    ("arguments", "environ", "words"),
    [
        (["--json"], {}, "expected one of them with `mockserver fleet status`"),
        (["--proxy", "apache"], {}, "got 'apache'; expected haproxy, caddy, nginx"),
        ([], {"MOCKSERVER_PROT": "1"}, "did you mean"),
        (["--idle", "soon"], {}, "expected a duration such as 30m"),
        (["--port", "70000"], {}, "got 127.0.0.1 port 70000"),
        (["--host", "192.0.2.1", "--port", "0"], {}, "expected an address of this machine"),
        (["status", "--port", str(free_port())], {}, "no fleet answers"),
    ],
)
def test_wrong_input_is_refused_in_one_line(arguments: list[str], environ: dict[str, str], words: str) -> None:
    refused = run(*arguments, **environ)

    assert words in refused.stderr.splitlines()[-1]
    assert (1 if arguments[:1] == ["status"] else 2) == refused.returncode


def test_status_of_a_single_server_is_refused(mockserver_server: MockServer) -> None:
    refused = run("status", "--port", str(urlsplit(mockserver_server.url).port))

    assert (2, 1) == (refused.returncode, refused.stderr.count("\n"))
    assert "got a server without shards; expected a fleet" in refused.stderr


def test_a_fleet_beyond_loopback_requires_a_token(start_fleet: Start) -> None:
    fleet = start_fleet(INSTALLED[0], "--host", "0.0.0.0")
    address = f"http://127.0.0.1:{urlsplit(fleet.url).port}"
    token = re.findall(r"token\s+(\S+)", fleet.greeting)[0]
    client, own = Client(address), Client(address, token)

    assert 401 == client.ask("POST", "/_mock/sandboxes").status
    made = [own.create() for _ in range(2)]
    assert 2 == len({each["secretKey"] for each in made})
    assert [200, 200] == [own.list_campaigns(each).status for each in made]
    client.close()
    own.close()
