"""The subcommand `verify`: its options, and a run by them."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mockserver.contract.text import json_value

if TYPE_CHECKING:
    from mockserver.verify.context import RunSettings
    from mockserver.verify.transport import HttpTransport

KEY_VARIABLE = "MOCKSERVER_KEY"
_KEY_MIN_CHARS = 8


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `mockserver verify`."""
    command.add_argument("url", metavar="URL", help="the base url of a service, without /v1")
    command.add_argument("--key", help=f"a secret key of the tenant to verify with; or set {KEY_VARIABLE}")
    command.add_argument("--public-key", default="", metavar="KEY", help="a public key of the same tenant")
    command.add_argument("--other-key", default="", metavar="KEY", help="a secret key of another tenant")
    command.add_argument("--chat", default="", metavar="ID", help="a chat whose messages may be read")
    command.add_argument("--form", default="", metavar="ID", help="a form whose embed policy may be read")
    command.add_argument(
        "--entrypoint", default="", metavar="ID", help="an entrypoint that may be read, best one with a phone number"
    )
    command.add_argument(
        "--allow-writes", action="store_true", help="create drafts and cancel them, create sessions and let them lapse"
    )
    command.add_argument(
        "--allow-sends", action="store_true", help="start such drafts too, only while their audience is empty"
    )
    command.add_argument("--write-profile", metavar="FILE", help="save the observed choices for `serve --profile FILE`")
    command.add_argument("--rate", type=float, default=10, help="calls a second at most (default: %(default)s)")
    command.add_argument("--json", action="store_true", help="for programs")
    command.set_defaults(run=run)


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Verify a service; 0 when nothing is broken or contradictory, 1 when something is, 2 when the run ended early."""
    from mockserver.contract.text import printable
    from mockserver.verify import report as reporting
    from mockserver.verify.run import verify
    from mockserver.verify.transport import Http, RateLimiter

    given = settings(options)
    transport, pace = Http(options.url), RateLimiter(options.rate, time.monotonic, time.sleep)
    is_terminal = sys.stderr.isatty()
    progress = (
        partial(reporting.bar, sys.stderr) if is_terminal else reporting.progress_lines(sys.stderr, time.monotonic)
    )
    try:
        _refuse_without_entrance(transport, given.key)
        report = verify(transport, given, pace, options.url, progress)
    finally:
        transport.close()
    if options.write_profile:
        Path(options.write_profile).write_text(reporting.profile(report), encoding="utf-8")
    if options.json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2), file=out)
    else:
        print("\n".join(map(printable, reporting.lines(report))), file=out)
    return 2 if report.stopped else 0 if report.is_clean else 1


def _refuse_without_entrance(transport: HttpTransport, key: str) -> None:
    """Refuse a service that does not answer, or that refuses the key: every probe would fail alike."""
    method, path = "GET", "/v1/campaigns"
    try:
        answered = transport.call(method, path, key=key)
    except OSError as failure:
        raise ConnectionError(f"the service gives {failure}; is it running, and is the url right?") from None
    if answered.status in (401, 403):
        raise ValueError(
            f"the service refuses the key: {method} {path} answered {answered.status}{_code(answered.body)}"
        )


def _code(body: bytes) -> str:
    """The error code of an answer, after a space; nothing if it has none."""
    answer = json_value(body)
    code = answer.get("code") if isinstance(answer, dict) else None
    return f" {code[:60]}" if isinstance(code, str) and code.isidentifier() else ""


def settings(options: argparse.Namespace) -> RunSettings:
    """The settings of a run; a ValueError that shows no key where they cannot be used."""
    from mockserver.verify.context import RunSettings

    keys = {
        "--key": options.key or os.environ.get(KEY_VARIABLE, ""),
        "--public-key": options.public_key,
        "--other-key": options.other_key,
    }
    if not keys["--key"]:
        raise ValueError(f"verify needs a key: give --key, or set {KEY_VARIABLE}")
    for name, key in keys.items():
        if key and (len(key) < _KEY_MIN_CHARS or not key.isascii() or not key.isprintable() or " " in key):
            raise ValueError(f"{name} is no key: wanted at least {_KEY_MIN_CHARS} ASCII characters without spaces")
    if options.allow_sends and not options.allow_writes:
        raise ValueError("--allow-sends needs --allow-writes, since it starts drafts that it makes itself")
    return RunSettings(
        keys["--key"],
        secrets.token_hex(4),
        keys["--public-key"],
        keys["--other-key"],
        options.chat,
        options.form,
        options.entrypoint,
        options.allow_writes,
        options.allow_sends,
    )
