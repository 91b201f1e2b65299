"""The command `probe`: its options, and one run against a service."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mockserver._files import write_whole
from mockserver.contract.text import json_value

if TYPE_CHECKING:
    from mockserver.verify.context import RunSettings
    from mockserver.verify.transport import HttpTransport

KEY_VARIABLE = "MOCKSERVER_KEY"
_KEY_MIN_CHARS = 8


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver probe`."""
    command.add_argument("url", metavar="URL", help="base url of the service, such as https://crm.example/api")
    command.add_argument(
        "--key", help=f"secret key of a tenant; the variable {KEY_VARIABLE} is used if this option is absent"
    )
    command.add_argument("--public-key", default="", metavar="KEY", help="public key of the same tenant")
    command.add_argument("--other-key", default="", metavar="KEY", help="secret key of another tenant")
    command.add_argument("--chat", default="", metavar="ID", help="chat whose messages the run may read")
    command.add_argument("--form", default="", metavar="ID", help="form whose embed policy the run may read")
    command.add_argument(
        "--entrypoint",
        default="",
        metavar="ID",
        help="entrypoint that the run may read, preferably with a phone number",
    )
    command.add_argument(
        "--allow-writes", action="store_true", help="create drafts and cancel them; create sessions, which expire"
    )
    command.add_argument(
        "--allow-sends",
        action="store_true",
        help="also start drafts, only with an empty audience; requires --allow-writes",
    )
    command.add_argument(
        "--profile-out", metavar="FILE", help="save the observed options, for `mockserver serve --profile FILE`"
    )
    command.add_argument("--rate", type=float, default=10, help="maximum of calls per second (default: %(default)s)")
    command.add_argument("--json", action="store_true", help="print the report as JSON")


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Verify a service and print the report.

    Returns:
        0 if no clause is broken and no choice contradictory, 1 if one is, 2 if the run ended early.
    """
    from mockserver.contract.text import printable
    from mockserver.verify import report as reporting
    from mockserver.verify.run import verify
    from mockserver.verify.transport import HttpClient, RateLimiter

    run_settings = settings(options)
    transport, rate_limiter = HttpClient(options.url), RateLimiter(options.rate, time.monotonic, time.sleep)
    is_terminal = sys.stderr.isatty()
    progress = (
        partial(reporting.bar, sys.stderr) if is_terminal else reporting.progress_lines(sys.stderr, time.monotonic)
    )
    try:
        _check_access(transport, run_settings.key, options.url)
        report = verify(transport, run_settings, rate_limiter, options.url, progress)
    finally:
        transport.close()
    if options.profile_out:
        write_whole(Path(options.profile_out), reporting.profile(report))
    if options.json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2), file=out)
    else:
        print("\n".join(map(printable, reporting.lines(report))), file=out)
    return 2 if report.stopped else 0 if report.is_clean else 1


def _check_access(transport: HttpTransport, key: str, url: str) -> None:
    """Raise an error if the service does not respond, or refuses the key: every probe would fail in the same way."""
    method, path = "GET", "/v1/campaigns"
    try:
        response = transport.call(method, path, key=key)
    except OSError as failure:
        raise ConnectionError(f"got {failure} from {url}; start the service, or correct the url") from None
    if response.status in (401, 403):
        content = json_value(response.body)
        code = content.get("code") if isinstance(content, dict) else None
        named = f" {code[:60]}" if isinstance(code, str) and code.isidentifier() else ""
        raise ValueError(
            f"got {response.status}{named} for {method} {path} with this key; "
            "expected a secret key of a tenant with access"
        )


def settings(options: argparse.Namespace) -> RunSettings:
    """Return the settings of a run; raise a ValueError, without the text of any key, if they are not usable."""
    import secrets

    from mockserver.verify.context import RunSettings

    keys = {
        "--key": options.key or os.environ.get(KEY_VARIABLE, ""),
        "--public-key": options.public_key,
        "--other-key": options.other_key,
    }
    if not keys["--key"]:
        raise ValueError(f"got no key; expected --key, or the variable {KEY_VARIABLE}")
    for name, key in keys.items():
        if key and (len(key) < _KEY_MIN_CHARS or not key.isascii() or not key.isprintable() or " " in key):
            expected = f"at least {_KEY_MIN_CHARS} ASCII characters without spaces"
            raise ValueError(f"got a value of {name} that is not a key; expected {expected}")
    if options.allow_sends and not options.allow_writes:
        raise ValueError("got --allow-sends alone; expected --allow-writes too, since a run starts its own drafts")
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
