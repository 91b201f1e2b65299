"""`mockserver fleet`: several server processes behind a proxy, their configuration, and their state."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TextIO

from mockserver.cli import settings
from mockserver.cli.serve import print_whole
from mockserver.cli.settings import SCENARIO, SETTINGS, Setting
from mockserver.contract.text import whole_number
from mockserver.server.hosting.shard import SHARDS_MAX
from mockserver.version import VERSION

# Read by the fleet itself; the shards get the others.
_OWN: Final = ("host", "port", "token", "token-file", "ready-file", "behind-proxy", "drain")
_NOT_OFFERED: Final = ("exit-with-parent", "shard")


def _as_text(setting: Setting) -> Setting:
    """Return a setting whose value is its text, checked, and which has no default."""

    def read(text: str) -> str:
        setting.read(text)
        return text

    return setting._replace(read=read, default=None)


_READ: Final[tuple[Setting, ...]] = tuple(setting for setting in SETTINGS if setting.name in _OWN)
_PASSED: Final[tuple[Setting, ...]] = tuple(
    _as_text(setting) for setting in (SCENARIO, *SETTINGS) if setting.name not in (*_OWN, *_NOT_OFFERED)
)


def _processes(text: str) -> int:
    count = whole_number(text)
    if count is None or not 1 <= count <= SHARDS_MAX:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number from 1 to {SHARDS_MAX}")
    return count


def add_fleet_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver fleet`, which are those of `serve` and its own."""
    help_text = "print the sandboxes of the fleet at --host and --port, instead of starting one"
    command.add_argument("action", nargs="?", choices=("status",), help=help_text)
    command.add_argument(
        "--processes", type=_processes, default=2, metavar="COUNT", help="number of servers (default: 2)"
    )
    command.add_argument(
        "--proxy", choices=("haproxy", "caddy", "nginx"), help="proxy (default: the first one that is installed)"
    )
    command.add_argument(
        "--print-config",
        choices=("haproxy", "caddy", "nginx", "kubernetes"),
        help="print what you run without this command, instead of starting a fleet",
    )
    output = command.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="with status: print JSON")
    output.add_argument("--metrics", action="store_true", help="with status: print the metrics of all shards")
    settings.add_options(command, *_PASSED, *_READ)


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Run a fleet until SIGINT or SIGTERM, or print its configuration or its state.

    Returns:
        0; 1 if a process does not start, or if a shard does not answer.

    Raises:
        ValueError: A setting is wrong, the proxy is not installed, or the port is taken.
    """
    arguments = _shard_arguments(options)
    settings.resolve(options, *_READ)
    if options.action == "status":
        return _print_status(options, out)
    if (options.json or options.metrics) and options.action is None:
        raise ValueError("got --json or --metrics; expected one of them with `mockserver fleet status`")
    if options.print_config:
        from mockserver.fleet.proxies import printed
        from mockserver.fleet.rules import Address

        out.write(printed(options.print_config, Address(options.host, options.port), options.processes, arguments))
        return 0
    return _run(options, arguments, out)


def _shard_arguments(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of the command line that the shards get; they read variables of the environment themselves."""
    arguments: list[str] = []
    for setting in _PASSED:
        value = getattr(options, setting.attribute)
        if setting.form == "flag":
            arguments += [f"--{setting.name}"] if value else []
        elif value is not None:
            arguments += [f"--{setting.name}={text}" for text in (value if setting.form == "many" else [value])]
    return tuple(arguments)


def _print_status(options: argparse.Namespace, out: TextIO) -> int:
    from mockserver.fleet.rules import Address
    from mockserver.fleet.status import as_table, merged_metrics, read_status, reader

    address = Address(options.host, options.port).reachable
    try:
        shards = read_status(reader(address, settings.token_of(options)))
    except OSError as failure:
        print(f"mockserver: no fleet answers at {address}: {failure}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"shards": [shard.as_json() for shard in shards]}, indent=2), file=out)
    else:
        out.write(merged_metrics(shards) if options.metrics else as_table(shards))
    return 0 if all(shard.sandboxes is not None for shard in shards) else 1


def _run(options: argparse.Namespace, arguments: tuple[str, ...], out: TextIO) -> int:
    import secrets
    import tempfile

    from mockserver.cli.lifetime import ready_file
    from mockserver.fleet import proxies, supervisor
    from mockserver.fleet.processes import ShardConfig, StartError
    from mockserver.fleet.rules import Address
    from mockserver.fleet.supervisor import FleetConfig
    from mockserver.server.log import unblocked_stderr

    if sys.platform == "win32":
        raise ValueError("got the platform Windows; expected Linux or macOS for `mockserver fleet`")
    proxy, program = proxies.choose_proxy(options.proxy)
    is_exposed = settings.is_exposed(options)
    token = settings.token_of(options) or (secrets.token_urlsafe(24) if is_exposed else None)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mockserver-fleet-"))
        dropped = "mockserver dropped {} lines of the log, which were not read in time\n"
        writer = stack.enter_context(unblocked_stderr(dropped.format))
        exposed = ["--behind-proxy"] if is_exposed else []
        drain = [f"--drain={options.drain // 1000}ms"] if options.drain else []
        own = (*arguments, f"--allow-host={options.host}", *exposed, *drain)
        read_here = [setting.variable for setting in _READ]
        environment = {name: value for name, value in os.environ.items() if name not in read_here}
        if token is not None:
            environment["MOCKSERVER_TOKEN"] = token
        shards = ShardConfig(options.processes, own, environment, Path(folder))
        listen = Address(options.host, options.port)
        config = FleetConfig(listen, proxy, program, shards, token, bool(options.drain))

        def on_ready(address: Address, ready: Mapping[str, Any]) -> None:
            view = {**ready, "url": f"http://{address}", "token": token, "pid": os.getpid()}
            print_whole(_start_lines(view, options, proxy.name), out)
            stack.enter_context(ready_file(options.ready_file, view))

        try:
            supervisor.run(config, on_ready, writer.write)
        except StartError as failure:
            print(f"mockserver: {failure}", file=sys.stderr)
            return 1
    return 0


def _start_lines(view: Mapping[str, Any], options: argparse.Namespace, proxy: str) -> str:
    """Return the start lines: the address and the keys of the default sandbox; a token from a file is not shown."""
    token = view["token"] if options.token_file is None else f"as in {options.token_file}"
    lines = [
        f"mockserver {VERSION} listens on {view['url']}",
        "",
        f"  secret key   {view['secretKey']}",
        f"  public key   {view['publicKey']}",
        *([f"  token        {token}   (for the control plane, /_mock)"] if view["token"] else []),
        f"  fleet        {options.processes} shards behind {proxy}, process {view['pid']}",
        f"  sandboxes    mockserver fleet status --port {view['url'].rpartition(':')[2]}",
        "",
        "Stop it with Ctrl-C.",
    ]
    return "\n".join(lines)
