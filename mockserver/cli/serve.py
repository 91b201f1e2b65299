"""`mockserver serve` and `play`: their options, what they print, and how they end."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from mockserver.contract.limits import JOURNAL_MAX_BYTES, JOURNAL_MAX_ENTRIES
from mockserver.contract.text import json_value
from mockserver.version import VERSION

DEFAULT_PORT = 5055
_STOP_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
if sys.platform == "win32":  # where another process can send Ctrl-Break alone
    _STOP_SIGNALS += (signal.SIGBREAK,)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--host", default="127.0.0.1", help="address to listen on; any but loopback demands a token")
    command.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one (default: %(default)s)")
    command.add_argument(
        "--choose", action="append", default=[], metavar="ID=OPTION", help="set a choice; may be repeated"
    )
    command.add_argument(
        "--profile", metavar="NAME|FILE", help="literal, guide, hostile, or a file {choices: {id: option}}"
    )
    command.add_argument("--freeze", metavar="INSTANT", help="stand still at this instant; without it time goes by")
    command.add_argument(
        "--seed", type=int, help="ids, keys and tokens follow from it (default: 0; random beyond loopback)"
    )
    command.add_argument("--token", help="what the control plane demands; generated where it must have one")
    command.add_argument("--strict", action="store_true", help="check every answer against its schema")
    command.add_argument("--no-reason", action="store_true", help="leave the header X-Mock-Reason out")
    command.add_argument(
        "--allow-webhook-host",
        action="append",
        default=[],
        metavar="HOST",
        help="send webhooks to this host too, not to this machine alone; may be repeated",
    )
    command.add_argument(
        "--journal-max-entries",
        type=int,
        default=JOURNAL_MAX_ENTRIES,
        metavar="COUNT",
        help="how many exchanges the journal of a sandbox holds (default: %(default)s)",
    )
    command.add_argument(
        "--journal-max-bytes",
        type=int,
        default=JOURNAL_MAX_BYTES,
        metavar="BYTES",
        help="and how many bytes of them; the oldest make room (default: %(default)s)",
    )
    command.add_argument(
        "--log-format", choices=("text", "json", "off"), default="text", help="a line a call, on standard error"
    )


def play(options: argparse.Namespace, out: TextIO) -> int:
    """Serve a scenario until SIGINT or SIGTERM, and tell what happens in it."""
    from mockserver.cli.play_log import PlayLog
    from mockserver.scenario import library
    from mockserver.server.log import LogWriter

    document = document_of(options.scenario)
    loaded = library.document(document) if isinstance(document, str) else document
    with LogWriter(out, _dropped_text) as writer:
        narrator = PlayLog(lambda line: writer.write(line + "\n"))
        return serve(options, out, lambda created: narrator.print_scenario(loaded, created), narrator.print_new)


def serve(
    options: argparse.Namespace,
    out: TextIO,
    greet: Callable[[Mapping[str, list[str]]], None] = lambda created: None,
    watch: Callable[[Any], None] | None = None,
) -> int:
    """Serve until SIGINT or SIGTERM; the first line printed is the base url, once it listens. `greet` gets the seeded ids."""
    from mockserver.server.log import unblocked_stderr

    with unblocked_stderr(_dropped_json if options.log_format == "json" else _dropped_text) as writer:
        return _serve(options, out, greet, watch, _logger(options.log_format, writer.write))


def _serve(
    options: argparse.Namespace,
    out: TextIO,
    greet: Callable[[Mapping[str, list[str]]], None],
    watch: Callable[[Any], None] | None,
    log: Callable[[str], None] | None,
) -> int:
    from mockserver.core.state.journal import Limits
    from mockserver.server.api.response import ResponseOptions
    from mockserver.server.hosting.background import BackgroundWorker
    from mockserver.server.hosting.host import DEFAULT_ID, SEED_MAX, SandboxHost
    from mockserver.server.http1.server import Server
    from mockserver.server.socket_handler import SocketHandler, error_body

    manner = ResponseOptions(explain=not options.no_reason, strict=options.strict)
    limits = Limits(options.journal_max_entries, options.journal_max_bytes)
    host = SandboxHost(response_options=manner, allow_webhook_hosts=options.allow_webhook_host, journal_limits=limits)
    host.token = options.token or (None if options.host in _LOOPBACK else secrets.token_urlsafe(24))
    host.allowed_hosts |= {options.host.lower()} - {"0.0.0.0", "::"}
    host.log = log
    host.default_seed = _default_seed(options, SEED_MAX)
    created: dict[str, list[str]] = {}
    hosted = host.create(_recipe(options), id=DEFAULT_ID, created=created)
    explain = host.response_options.explain
    server = Server(SocketHandler(host), options.host, options.port, explain=explain, error_body=error_body)
    host.origin = server.url
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: server.stop())
    print(_greeting(hosted, host.token), file=out, flush=True)
    greet(created)
    host.on_exchange = watch
    background = BackgroundWorker(host)
    background.start()
    try:
        server.serve_forever()
    finally:
        background.stop()
        for each in list(host.sandboxes):
            host.close(each)
    return 0


def _default_seed(options: argparse.Namespace, most: int) -> Callable[[], int]:
    """Draw the seeds of sandboxes that are given none: beyond loopback no stranger may know the keys beforehand."""
    if options.seed is not None:
        return lambda: int(options.seed)
    return (lambda: 0) if options.host in _LOOPBACK else (lambda: secrets.randbelow(most) + 1)


def _recipe(options: argparse.Namespace) -> Any:
    from mockserver.scenario import choices
    from mockserver.server.hosting.host import SandboxConfig

    scenario = document_of(options.scenario)
    chosen: dict[str, object] = choices.load_profile(options.profile) if options.profile else {}
    for setting in options.choose:
        choice, sign, option = setting.partition("=")
        if not sign:
            raise ValueError(f"--choose {setting!r}: wanted ID=OPTION, such as dual-status=guide")
        chosen[choice] = _value(option)
    return SandboxConfig(scenario, options.seed, chosen or None, {"freeze": options.freeze} if options.freeze else None)


def document_of(written: str) -> Any:
    """The document of a file, or the name of a library scenario as it is."""
    from mockserver.scenario.documents import read

    file = Path(written)
    return read(file) if file.suffix in (".yaml", ".yml", ".json") else written


def _value(written: str) -> object:
    """An option's name, or the JSON value of a number-valued choice."""
    read = json_value(written)
    return read if isinstance(read, dict | int) and not isinstance(read, bool) else written


def _greeting(hosted: Any, token: str | None) -> str:
    """What a newcomer needs: the address, the keys, and calls to begin with."""
    url, tenant = hosted.base_url, hosted.tenant
    bearer = f" -H 'Authorization: Bearer {token}'" if token else ""
    lines = [
        f"mockserver {VERSION} listens on {url}",
        "",
        f"  secret key   {tenant.secret_key}",
        f"  public key   {tenant.public_key}",
        *([f"  token        {token}   (for the control plane)"] if token else []),
        f"  health       {url}/_mock/health",
        f"  state        {url}/_mock/state",
        f"  journal      {url}/_mock/journal",
        "",
        "A first call, and twenty minutes gone by:",
        f"  curl -H 'X-API-Key: {tenant.secret_key}' {url}/v1/message-templates",
        f'  curl -X POST{bearer} -d \'{{"by": "20m"}}\' {url}/_mock/clock/advance',
        "",
        "Stop it with Ctrl-C.",
    ]
    return "\n".join(lines)


def _dropped_text(count: int) -> str:
    texts = "1 text of the log" if count == 1 else f"{count} texts of the log"
    return f"mockserver dropped {texts}, which was not read in time\n"


def _dropped_json(count: int) -> str:
    return json.dumps({"dropped": count}) + "\n"


def _logger(form: str, write: Callable[[str], None]) -> Callable[[str], None] | None:
    if form == "off":
        return None
    if form == "json":
        return lambda line: write(json.dumps({"exchange": line}, ensure_ascii=False) + "\n")
    return lambda line: write(line + "\n")
