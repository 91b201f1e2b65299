"""
The container image: its file as text, its wheel, and the contract of its entry point.

No image is built here. What an image gives to the process is given by `unshare`: another user, a read-only root file
system, the process id 1, and no network but loopback.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mockserver import Sandbox
from mockserver._settings import SERVER
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.host import SandboxHost
from mockserver.version import VERSION
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.wheels import ROOT, Built, run

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = ROOT / "docs" / "container" / "compose.yaml"
TOKEN = "let-me-in"
PORT = 6066
USER = 10001
STOP_SECONDS = 1.0
DEADLINE_SECONDS = 30
VARIABLES = {setting.variable for setting in SERVER}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, without comments."""
    lines = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(name, " ".join(rest.split())) for line in lines if line for name, _, rest in [line.partition(" ")]]


def of_the_image() -> list[tuple[str, str]]:
    """The instructions of the last stage, which is the image."""
    every = instructions()
    last = max(place for place, (name, _) in enumerate(every) if name == "FROM")
    return every[last:]


def test_the_image_runs_as_a_numeric_user_that_is_not_root() -> None:
    users = [argument for name, argument in of_the_image() if name == "USER"]

    assert [f"{USER}:{USER}"] == users


def test_its_entry_point_and_health_check_are_commands_without_a_shell() -> None:
    named = dict(of_the_image())

    assert ["mockserver"] == json.loads(named["ENTRYPOINT"])
    assert ["serve"] == json.loads(named["CMD"])
    assert ["mockserver", "health"] == json.loads(named["HEALTHCHECK"].partition("CMD ")[2])
    assert "SIGTERM" == named["STOPSIGNAL"]
    assert "org.opencontainers.image.title" in named["LABEL"]


def test_every_stage_has_the_same_slim_python() -> None:
    stages = [argument.split()[0] for name, argument in instructions() if name == "FROM"]

    assert ["python:${PYTHON}-slim"] * 2 == stages
    assert [] == [name for name, _ in of_the_image() if name in ("ADD", "RUN")]


def test_its_variables_are_settings() -> None:
    (variables,) = [argument for name, argument in of_the_image() if name == "ENV"]

    assert {"MOCKSERVER_HOST", "MOCKSERVER_PORT"} == set(re.findall(r"MOCKSERVER_\w+", variables)) & VARIABLES
    assert [] == [name for name in re.findall(r"MOCKSERVER_\w+", variables) if name not in VARIABLES]


def test_what_is_copied_is_what_the_context_contains() -> None:
    copied = [argument.split()[:-1] for name, argument in instructions() if name == "COPY" and "--from" not in argument]
    names = {name for each in copied for name in each}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert names == {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert [] == [name for name in names if not (ROOT / name).exists()]


def test_the_compose_file_sets_settings_and_names_what_exists() -> None:
    services: dict[str, Any] = YAML(typ="safe").load(COMPOSE)["services"]
    mock, receiver = services["mockserver"], services["receiver"]

    assert (ROOT / "Dockerfile").samefile(COMPOSE.parent / mock["build"] / "Dockerfile")
    assert mock["read_only"] and receiver["read_only"]
    assert mock["environment"].keys() <= VARIABLES
    name, machine = mock["environment"]["MOCKSERVER_ALLOW_WEBHOOK_HOST"].split(";")
    assert name in services and "localhost" == machine  # the network's addresses are private
    assert mock["environment"]["MOCKSERVER_ALLOW_HOST"] in services
    assert [] == [path for path in receiver["volumes"] if not (COMPOSE.parent / path.partition(":")[0]).exists()]


def test_the_image_installs_a_named_release_of_all_that_the_package_wants() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {re.sub("[-_.]+", "-", line.partition("==")[0]).lower() for line in lines if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    wanted = project["dependencies"]
    assert [] == [each for each in wanted if re.sub("[-_.]+", "-", re.split(r"\W*>=", each)[0]).lower() not in pinned]
    assert "--constraint constraints.txt" in DOCKERFILE


def of_units(folder: Path) -> list[Path]:
    """The units of systemd, with this interpreter in place of the command, since `verify` wants it to exist."""
    units = []
    for unit in sorted(COMPOSE.parent.glob("mockserver*.*")):
        text = unit.read_text(encoding="utf-8").replace("/opt/mockserver/bin/mockserver", sys.executable)
        units.append(folder / unit.name)
        units[-1].write_text(text, encoding="utf-8")
    return units


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="not on this machine: systemd-analyze")
def test_the_units_are_valid_for_systemd(tmp_path: Path) -> None:
    units = of_units(tmp_path)

    assert ["mockserver-health.service", "mockserver-health.timer", "mockserver.service"] == [
        unit.name for unit in units
    ]
    assert "" == run("systemd-analyze", "verify", "--man=no", *map(str, units)).stderr


def test_the_units_read_the_same_settings() -> None:
    texts = [(COMPOSE.parent / f"mockserver{kind}.service").read_text(encoding="utf-8") for kind in ("", "-health")]
    settings = [re.findall(r"^Environment\w*=.*$", text, re.MULTILINE) for text in texts]

    assert settings[0] == settings[1]
    assert {"MOCKSERVER_HOST", "MOCKSERVER_PORT"} == set(re.findall(r"MOCKSERVER_\w+", " ".join(settings[0])))


def of_the_manifest() -> list[dict[str, Any]]:
    return list(YAML(typ="safe", pure=True).load_all((COMPOSE.parent / "kubernetes.yaml").read_text(encoding="utf-8")))


@pytest.mark.deep
def test_the_manifest_is_valid_for_kubernetes() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")

    for row in of_the_manifest():
        validate.validate(row, validate.latest_version(), strict=True)


def test_the_manifest_sets_settings_and_asks_for_health() -> None:
    deployment, service = of_the_manifest()
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert ["Deployment", "Service"] == [deployment["kind"], service["kind"]]
    assert {row["name"] for row in container["env"]} <= VARIABLES
    probes = [container[f"{kind}Probe"]["exec"]["command"] for kind in ("readiness", "liveness")]
    assert [["mockserver", "health"]] * 2 == probes


def test_prometheus_reads_the_metrics_with_the_token() -> None:
    (job,) = YAML(typ="safe", pure=True).load(COMPOSE.parent / "prometheus.yaml")["scrape_configs"]
    (targets,) = [row["targets"] for row in job["static_configs"]]
    service = of_the_manifest()[1]
    host = SandboxHost()
    host.token = TOKEN
    replies = [
        handle_request(host, HttpRequest.create("GET", job["metrics_path"], headers, b"", "http://127.0.0.1"))[0]
        for headers in ({"authorization": f"Bearer {TOKEN}"}, {})
    ]

    assert [200, 401] == [reply.status for reply in replies if isinstance(reply, HttpResponse)]
    assert {"credentials_file"} == job["authorization"].keys()
    assert f"{service['metadata']['name']}.default.svc:{service['spec']['ports'][0]['port']}" == targets[1]


def test_the_example_receiver_accepts_an_event(mockserver: Sandbox) -> None:
    command = [sys.executable, str(COMPOSE.parent / "receiver.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        port = process.stdout.readline().split()[-1]
        receiver = mockserver.receive_webhooks(f"http://127.0.0.1:{port}/")
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.expire_session(session)
        printed = process.stdout.readline()
        process.terminate()

    assert "entrypoints.chatapp.connection_failed\n" == printed
    assert ["delivered"] == [row["status"] for row in receiver.deliveries]


@pytest.mark.deep
def test_the_wheel_of_the_context_is_the_wheel_of_the_checkout(built: Built, tmp_path: Path) -> None:
    context = tmp_path / "context"
    context.mkdir()
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        source = ROOT / line.removeprefix("!")
        if line.startswith("!") and source.is_dir():
            shutil.copytree(source, context / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif line.startswith("!"):
            shutil.copy(source, context)

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(context))

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert built.wheel_files == frozenset(archive.namelist())


_NAMESPACES = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
_PROGRAMS = ("unshare", "nsenter", "setpriv", "ip", "mount")


def _missing() -> str | None:
    """The reason why this machine has no such container, if it has none."""
    absent = [program for program in _PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"not on this machine: {', '.join(absent)}"
    tried = subprocess.run([*_NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=False, capture_output=True)
    return None if tried.returncode == 0 else "this user may not create namespaces with `unshare`"


_PYTHON = f"/mnt/python/bin/python{sys.version_info.major}.{sys.version_info.minor}"
# How a command runs in the namespaces as the server does.
_AS_USER = (
    f"setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "
    f"env -i PATH='{os.environ['PATH']}' TMPDIR=/mnt/tmp "
    "PYTHONPATH=/mnt/app:/mnt/libraries PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 "
    f"MOCKSERVER_HOST=0.0.0.0 MOCKSERVER_PORT={PORT} MOCKSERVER_TOKEN_FILE=/mnt/secrets/token"
)
_SCRIPT = f"""
set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/python /mnt/libraries /mnt/app /mnt/tmp /mnt/secrets
mount --bind "$PYTHON_HOME" /mnt/python
mount --bind "$LIBRARIES" /mnt/libraries
mount --bind "$APP" /mnt/app
mount -t tmpfs -o mode=1777 tmpfs /mnt/tmp
echo {TOKEN} > /mnt/secrets/token
mount -o remount,ro /mnt
ip link set lo up
mount -o remount,bind,ro /
exec {_AS_USER} {_PYTHON} -m mockserver serve
"""


class Container:
    """A server in namespaces of its own; it listens once this exists."""

    def __init__(self, app: Path) -> None:
        places = {"PYTHON_HOME": sys.base_prefix, "LIBRARIES": site.getsitepackages()[0], "APP": str(app)}
        self.process = subprocess.Popen(
            [*_NAMESPACES, "sh", "-c", _SCRIPT], env=os.environ | places, stdout=subprocess.PIPE, encoding="utf-8"
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.pid = int(children.read_text(encoding="utf-8").split()[0])

    def inside(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the namespaces."""
        return subprocess.run(
            ["nsenter", "-t", str(self.pid), "-m", "-n", "-p", "sh", "-c", command],
            check=False,
            capture_output=True,
            encoding="utf-8",
            timeout=DEADLINE_SECONDS,
        )

    def stop(self) -> tuple[int, float]:
        """The exit status after SIGTERM to the first process, and the seconds until then."""
        began = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        return self.process.wait(DEADLINE_SECONDS), time.monotonic() - began


@pytest.fixture
def container(installed: Path) -> Iterator[Container]:
    reason = _missing()
    if reason is not None:
        pytest.skip(reason)
    running = Container(installed)
    with running.process:
        yield running
        if running.process.poll() is None:
            running.stop()  # not by `unshare`, whose end does not end a process of another user


CALLS = f"""
import http.client, json
def call(method, path, body=b"", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", {PORT}, timeout=20)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or "null")
bearer = {{"Authorization": "Bearer {TOKEN}"}}
_, made = call("POST", "/_mock/sandboxes", b"{{}}", **bearer)
path = "/sandboxes/" + made["sandboxId"]
form = (b"--b\\r\\nContent-Disposition: form-data; name=\\"files\\"; filename=\\"a.txt\\"\\r\\n"
        b"Content-Type: text/plain\\r\\n\\r\\n" + b"x" * 5_000_000 + b"\\r\\n--b--\\r\\n")
key = {{"X-API-Key": made["secretKey"]}}
print(json.dumps([
    call("GET", "/_mock/state")[0],
    call("GET", path + "/v1/campaigns", **key)[0],
    call("POST", path + "/v1/messaging/media", form, **key, **{{"Content-Type": "multipart/form-data; boundary=b"}})[0],
]))
"""


@pytest.mark.deep
def test_the_entry_point_serves_as_another_user_without_a_network_and_ends_at_sigterm(container: Container) -> None:
    status = Path(f"/proc/{container.pid}/status").read_text(encoding="utf-8")
    links = container.inside("ip -o link").stdout.splitlines()
    health = container.inside(f"{_AS_USER} {_PYTHON} -m mockserver health")
    called = container.inside(f"{_AS_USER} {_PYTHON} -c '{CALLS}'")

    assert f"mockserver {VERSION} listens on http://0.0.0.0:{PORT}\n" == container.first_line
    for line in (rf"Uid:\t{USER}\t{USER}\t{USER}.*", r"NSpid:\t\d+\t1", r"CapEff:\t0+"):
        assert re.search(f"^{line}$", status, re.MULTILINE)
    assert "Read-only file system" in container.inside("touch /etc/x /mnt/x").stderr
    assert [] == [line for line in links if "LOOPBACK" not in line and "state UP" in line]
    assert (0, f"ok {VERSION}\n") == (health.returncode, health.stdout), health.stderr
    assert [401, 200, 201] == json.loads(called.stdout), called.stderr  # an upload goes to the temporary folder
    code, seconds = container.stop()
    assert (0, True) == (code, seconds < STOP_SECONDS)
