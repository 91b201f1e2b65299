"""Several servers behind HAProxy, by `docs/container/haproxy.cfg`, and the same for Kubernetes, by `shards.yaml`."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import requests
from ruamel.yaml import YAML

from mockserver.testing.remote import RemoteServer
from mockserver.testing.rules.builder import ActiveRule, RuleBuilder
from tests.harness.waiting import wait_until
from tests.processes import interrupt
from tests.test_cli_serve import Served
from tests.wheels import ROOT

FOLDER = ROOT / "docs" / "container"
CONFIGURATION = (FOLDER / "haproxy.cfg").read_text(encoding="utf-8")
TOKEN = "let-me-in"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SHARDS = 3
FIRST_PORT = 5056  # in the file, of shard 0
DEADLINE_SECONDS = 60
# Debian installs servers where only the superuser has them on PATH.
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")

pytestmark = pytest.mark.deep
needs_haproxy = pytest.mark.skipif(
    HAPROXY is None or sys.platform == "win32", reason="not on this machine: haproxy, as `apt install haproxy` has it"
)


class Shards(NamedTuple):
    """Shards behind a proxy, and a client of the control plane."""

    url: str
    shards: list[Served]
    client: requests.Session

    def ask(self, method: str, path: str, **rest: Any) -> requests.Response:
        return self.client.request(method, self.url + path, timeout=DEADLINE_SECONDS, **rest)

    def create(self) -> dict[str, Any]:
        made = self.ask("POST", "/_mock/sandboxes", json={})
        assert 201 == made.status_code, made.text
        return dict(made.json())

    def list_campaigns(self, made: dict[str, Any], path: str = "/v1/campaigns") -> requests.Response:
        return self.ask("GET", urlsplit(made["baseUrl"]).path + path, headers={"X-API-Key": made["secretKey"]})


def shard_of(sandbox_id: str) -> int:
    return int(sandbox_id.split("_")[1])


@contextmanager
def shards_behind_haproxy(folder: Path, configuration: str = CONFIGURATION) -> Iterator[Shards]:
    """The shards of the file, at free ports in place of those of the file; the proxy listens before it starts."""
    served: list[Served] = []
    client = requests.Session()
    client.trust_env = False
    client.headers.update(BEARER)
    try:
        for number in range(SHARDS):
            served.append(Served("--shard", f"{number}/{SHARDS}", "--behind-proxy", "--token", TOKEN, "--drain", "10m"))
            own = f"127.0.0.1:{FIRST_PORT + number}"
            assert 2 == configuration.count(own)
            configuration = configuration.replace(own, urlsplit(served[-1].url).netloc)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            assert 1 == configuration.count("bind :5055\n")
            file = folder / "haproxy.cfg"
            file.write_text(
                configuration.replace("bind :5055\n", f"bind fd@{listener.fileno()}\n"),
                encoding="utf-8",
            )
            with subprocess.Popen([str(HAPROXY), "-db", "-f", str(file)], pass_fds=[listener.fileno()]) as proxy:
                try:
                    yield Shards(f"http://127.0.0.1:{listener.getsockname()[1]}", served, client)
                finally:
                    proxy.kill()
    finally:
        client.close()
        for each in served:
            each.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shards]:
    with shards_behind_haproxy(tmp_path_factory.mktemp("haproxy")) as shards:
        yield shards


@needs_haproxy
def test_every_call_reaches_the_shard_of_its_sandbox_by_path_and_by_host(running: Shards) -> None:
    made = [running.create() for _ in range(2 * SHARDS)]

    assert {0: 2, 1: 2, 2: 2} == Counter(shard_of(each["sandboxId"]) for each in made)  # in turn
    for each in made:
        assert each["baseUrl"].startswith(f"{running.url}/sandboxes/{each['sandboxId']}")
        by_host = {"X-API-Key": each["secretKey"], "Host": f"{each['sandboxId']}.mock.example"}
        path = urlsplit(each["baseUrl"]).path
        assert [200, 200] == [
            running.list_campaigns(each).status_code,
            running.ask("GET", "/v1/campaigns?x=%2F", headers=by_host).status_code,
        ]
        exchanges = running.ask("GET", f"{path}/_mock/journal").json()["exchanges"]
        assert [{}, {"x": "/"}] == [row["request"]["query"] for row in exchanges]
        assert 204 == running.ask("DELETE", f"/_mock/sandboxes/{each['sandboxId']}").status_code
        assert 410 == running.list_campaigns(each).status_code


def raw_call(url: str, path: str, key: str) -> list[bytes]:
    """The pieces of a response as they arrive, until the connection ends in order."""
    address = urlsplit(url)
    head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=DEADLINE_SECONDS) as wire:
        wire.sendall(head.encode())
        return list(iter(lambda: wire.recv(65536), b""))


WHOLE = b'{"campaigns":[]}'
FAULTS: dict[str, tuple[Callable[[RuleBuilder], ActiveRule], bytes]] = {
    "drop": (lambda on: on.drop("before"), b""),
    "reset before": (lambda on: on.reset("before"), b""),
    "reset after": (lambda on: on.reset("after"), b""),
    "truncate": (lambda on: on.truncate(5), WHOLE[:5]),
    "dribble": (lambda on: on.dribble(chunks=4, over="200ms"), WHOLE),
    "delay": (lambda on: on.delay("50ms"), WHOLE),
}


@needs_haproxy
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_on_the_wire_passes_and_no_call_is_sent_twice(running: Shards, name: str) -> None:
    add, expected = FAULTS[name]
    with RemoteServer(running.url, token=TOKEN).sandbox(clock="follow") as sandbox:
        add(sandbox.on("listCampaigns"))
        pieces = raw_call(running.url, f"{urlsplit(sandbox.base_url).path}/v1/campaigns", sandbox.secret_key)

        assert expected == b"".join(pieces).partition(b"\r\n\r\n")[2]
        assert 1 == len(sandbox.log.journal["exchanges"])


@needs_haproxy
def test_a_shard_that_does_not_run_gets_503_and_creations_go_to_the_others(tmp_path: Path) -> None:
    with shards_behind_haproxy(tmp_path) as running:
        made = [running.create() for _ in range(SHARDS)]
        running.shards[1].close()

        answers = {shard_of(each["sandboxId"]): running.list_campaigns(each) for each in made}
        created = [shard_of(running.create()["sandboxId"]) for _ in range(2 * SHARDS)]

    assert {0: 200, 1: 503, 2: 200} == {number: answer.status_code for number, answer in answers.items()}
    assert ("MOCK_SHARD_DOWN", "1") == (answers[1].json()["code"], answers[1].headers["Retry-After"])
    assert {0, 2} == set(created)


def drain(shard: Served) -> None:
    """Return once the shard refuses new sandboxes; it keeps those that it has."""
    interrupt(shard.process)
    wait_until(lambda: 503 == shard.ask("POST", "/_mock/sandboxes", headers=BEARER).status_code)


@needs_haproxy
def test_creations_go_to_the_shards_that_do_not_drain_until_all_do(tmp_path: Path) -> None:
    with shards_behind_haproxy(tmp_path) as running:
        made = [running.create() for _ in range(SHARDS)]
        drain(running.shards[1])
        created = [shard_of(running.create()["sandboxId"]) for _ in range(2 * SHARDS)]
        drain(running.shards[0])
        drain(running.shards[2])
        refused = running.ask("POST", "/_mock/sandboxes", json={})
        answers = [running.list_campaigns(each).status_code for each in made]

    assert {0, 2} == set(created)
    assert (503, "MOCK_DRAINING") == (refused.status_code, refused.json()["code"])
    assert [200, 200, 200] == answers


def manifests() -> dict[str, Any]:
    """The manifests, by kind and name."""
    rows = YAML(typ="safe", pure=True).load_all((FOLDER / "shards.yaml").read_text(encoding="utf-8"))
    return {f"{row['kind']} {row['metadata']['name']}": row for row in rows}


def test_the_manifests_are_valid_for_kubernetes() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    rows = manifests()

    for row in rows.values():
        validate.validate(row, validate.latest_version(), strict=True)
    rows["StatefulSet mockserver"]["spec"]["replicas"] = "three"
    with pytest.raises(validate.ValidationError):
        validate.validate(rows["StatefulSet mockserver"], validate.latest_version(), strict=True)


def test_the_proxy_in_the_manifests_routes_as_the_file_does_to_the_pods_by_name() -> None:
    rows = manifests()
    service = rows["StatefulSet mockserver"]["spec"]["serviceName"]
    port = rows[f"Service {service}"]["spec"]["ports"][0]["port"]
    text = rows["ConfigMap mockserver-proxy"]["data"]["haproxy.cfg"]
    for number in range(SHARDS):
        pod = f"mockserver-{number}.{service}.default.svc.cluster.local:{port} resolvers cluster init-addr none"
        text = text.replace(pod, f"127.0.0.1:{FIRST_PORT + number}")
    text = re.sub(r"^resolvers cluster\n(?: +\S.*\n)+\n", "", text, flags=re.MULTILINE)

    assert re.sub(r"\A(?:#.*\n)+", "", CONFIGURATION) == text


@needs_haproxy
def test_haproxy_accepts_the_file_and_that_of_the_manifests(tmp_path: Path) -> None:
    file = tmp_path / "haproxy.cfg"
    file.write_text(manifests()["ConfigMap mockserver-proxy"]["data"]["haproxy.cfg"], encoding="utf-8")

    for each in (FOLDER / "haproxy.cfg", file):
        checked = subprocess.run(
            [str(HAPROXY), "-c", "-f", str(each)], capture_output=True, encoding="utf-8", check=False
        )
        assert 0 == checked.returncode, checked.stderr
