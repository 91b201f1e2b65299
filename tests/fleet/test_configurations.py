"""The configurations that a fleet prints: one table of rules, accepted by each proxy and by the schemas of Kubernetes."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from mockserver._json import JSON
from mockserver.cli import main
from mockserver.fleet import proxies
from mockserver.fleet.rules import PATHS, Address, routing
from tests.fleet.fleets import each_proxy

CHECKS = {
    "haproxy": lambda program, file: [program, "-c", "-f", file],
    "caddy": lambda program, file: [program, "validate", "--adapter", "caddyfile", "--config", file],
    "nginx": lambda program, file: [program, "-t", "-e", "stderr", "-p", str(Path(file).parent), "-c", file],
}
KINDS = ["Service", "StatefulSet", "ConfigMap", "Deployment", "Service"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert 0 == main(["fleet", "--print-config", *arguments])
    return capsys.readouterr().out


@each_proxy()
@pytest.mark.parametrize("processes", ["1", "3", "40"])
def test_a_printed_configuration_is_accepted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, proxy: str, processes: str
) -> None:
    file = tmp_path / proxies.PROXIES[proxy].file
    file.write_text(printed(capsys, proxy, "--processes", processes, "--port", "7000"), encoding="utf-8")
    program = proxies.find_program(proxy)
    assert program is not None

    checked = subprocess.run(CHECKS[proxy](program, str(file)), capture_output=True, encoding="utf-8", check=False)

    assert 0 == checked.returncode, checked.stderr


@pytest.mark.parametrize("proxy", proxies.PROXIES)
def test_every_proxy_has_every_rule(capsys: pytest.CaptureFixture[str], proxy: str) -> None:
    text = printed(capsys, proxy, "--processes", "3", "--port", "7000")

    for shard in range(3):
        assert all(path.format(shard=shard) in text for path in PATHS)
        assert f"127.0.0.1:{7001 + shard}" in text
        assert f"mockserver serve --port {7001 + shard} --shard {shard}/3" in text
    assert "sandbox_3_" not in text


@pytest.mark.parametrize("proxy", proxies.PROXIES)
def test_the_commands_of_the_shards_have_the_options_of_the_fleet(
    capsys: pytest.CaptureFixture[str], proxy: str
) -> None:
    text = printed(capsys, proxy, "--strict", "--choose", "dual-status=guide", "--idle", "30m")

    assert 2 == len(
        re.findall(r"^#   mockserver serve .*--choose=dual-status=guide --idle=30m --strict$", text, re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.6.2", ["buffer_requests\n", "fail_duration 1s"]),
        ("v2.7.6 h1:x=", ["request_buffers 2MB\n", "fail_duration 1s"]),
        ("v2.11.7", ["request_buffers 2MB\n", "lb_try_duration 2s"]),
        ("unknown", ["request_buffers 2MB\n", "lb_try_duration 2s"]),
    ],
)
def test_each_caddy_gets_options_that_it_has_and_sends_a_body_again_only_if_it_can(
    tmp_path: Path, version: str, words: list[str]
) -> None:
    program = tmp_path / "caddy"
    program.write_text(f"#!/bin/sh\necho '{version}'\n", encoding="utf-8")
    program.chmod(0o755)
    rules = routing(Address("127.0.0.1", 1), (Address("127.0.0.1", 2),))

    text = proxies.configuration(proxies.PROXIES["caddy"], rules, str(program))

    assert [] == [word for word in words if word not in text]
    assert ("lb_try_duration" in text) != ("fail_duration" in text)


@pytest.mark.parametrize("port", ["0", "65534", "-1"])
def test_a_port_without_others_after_it_is_refused(capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert 2 == main(["fleet", "--print-config", "haproxy", f"--port={port}"])
    assert f"got --port {port}; expected a port from 1 to 65533" in capsys.readouterr().err


def test_no_prefix_of_a_shard_is_one_of_another() -> None:
    prefixes = [
        path
        for route in routing(Address("127.0.0.1", 1), tuple(Address("127.0.0.1", n) for n in range(120))).routes
        for path in (*route.paths, route.host)
    ]

    assert [] == [(one, other) for one in prefixes for other in prefixes if one != other and other.startswith(one)]


def manifests(text: str) -> list[JSON]:
    return list(YAML(typ="safe", pure=True).load_all(io.StringIO(text)))


@pytest.mark.deep
def test_the_manifests_are_valid_for_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    rows = manifests(printed(capsys, "kubernetes", "--processes", "3", "--idle", "30m"))

    assert KINDS == [row["kind"] for row in rows]
    for row in rows:
        validate.validate(row, validate.latest_version(), strict=True)
    rows[1]["spec"]["replicas"] = "three"
    with pytest.raises(validate.ValidationError):
        validate.validate(rows[1], validate.latest_version(), strict=True)


def test_the_ordinal_of_a_pod_is_its_shard(capsys: pytest.CaptureFixture[str]) -> None:
    _, pods, config, *_ = manifests(printed(capsys, "kubernetes", "--processes", "3", "--idle", "30m"))
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    environment = {row["name"]: row.get("value", row.get("valueFrom")) for row in container["env"]}

    assert 3 == pods["spec"]["replicas"]
    assert ["serve", "--idle=30m"] == container["args"]
    assert "$(ORDINAL)/3" == environment["MOCKSERVER_SHARD"]
    assert "pod-index" in environment["ORDINAL"]["fieldRef"]["fieldPath"]
    for shard in range(3):
        assert f"server shard_{shard} mockserver-{shard}.mockserver-shards:5055" in config["data"]["haproxy.cfg"]


@each_proxy("haproxy")
def test_the_configuration_in_the_manifests_is_accepted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, proxy: str
) -> None:
    _, _, config, *_ = manifests(printed(capsys, "kubernetes", "--processes", "3"))
    file = tmp_path / "haproxy.cfg"
    file.write_text(config["data"]["haproxy.cfg"], encoding="utf-8")

    checked = subprocess.run(
        CHECKS[proxy](str(proxies.find_program(proxy)), str(file)), capture_output=True, encoding="utf-8", check=False
    )

    assert 0 == checked.returncode, checked.stderr
