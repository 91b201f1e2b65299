"""The command `probe`: its options, and one run against a service."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TextIO

from mockserver._files import write_whole
from mockserver._settings import PROBE
from mockserver.cli import settings as command_settings
from mockserver.contract.text import json_value

if TYPE_CHECKING:
    from mockserver.probe.context import RunSettings
    from mockserver.probe.run import ProbeRun
    from mockserver.probe.transport import HttpTransport
    from mockserver.report.recording import Part

KEY_VARIABLE = "MOCKSERVER_KEY"
_KEY_MIN_CHARS: Final = 8
_PARTS: Final[tuple[Part, ...]] = ("service", "choices")  # the client is the run itself


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver probe`."""
    command.add_argument("url", metavar="URL", help="base url of the service, such as https://crm.example/api")
    command_settings.add_options(command, *PROBE)


def run(options: argparse.Namespace, out: TextIO) -> int:
    """
    Probe a service, and print what its answers show.

    Returns:
        1 if the service broke a sentence of the document, 2 if the run ended early, else 0.
    """
    from mockserver.contract.text import printable
    from mockserver.judge.choices.learning import profile
    from mockserver.probe.run import run_probes
    from mockserver.probe.transport import HttpClient, RateLimiter
    from mockserver.report.recording import RecordingReport, lines

    run_settings = settings(options)
    transport, rate_limiter = HttpClient(options.url), RateLimiter(options.rate, time.monotonic, time.sleep)
    begin = time.time_ns() // 1_000
    try:
        _check_access(transport, run_settings.key, options.url)
        probed = run_probes(transport, run_settings, rate_limiter, options.url, begin)
    finally:
        transport.close()
    report = RecordingReport(probed.recording)
    if options.profile_out is not None:
        write_whole(options.profile_out, profile(report.choices, report.recording.sources))
    if options.json:
        print(json.dumps(report.as_json(_PARTS) | probed.as_json(), ensure_ascii=False, indent=2), file=out)
    else:
        text = "\n".join(map(printable, [*lines(report, _PARTS), *_run_lines(probed)]))
        print(text, file=out)
    if probed.stopped:
        return 2
    return 1 if report.service.broken else 0


def _run_lines(probed: ProbeRun) -> Iterator[str]:
    """Yield why the run ended early, which probes are incomplete, and what the run has left behind."""
    if probed.stopped:
        yield f"The run ended early: {probed.stopped}."
    for why in dict.fromkeys(probed.incomplete.values()):
        names = [name for name, reason in probed.incomplete.items() if reason == why]
        yield f"not probed: {', '.join(names)} ({why})"
    if probed.not_cleaned_up:
        yield "Not cleaned up; check and remove:"
        yield from (f"  {row}" for row in probed.not_cleaned_up)
    if probed.sessions:
        yield f"Connection sessions created by the run: {probed.sessions}; they expire within twenty minutes."


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
    from mockserver.probe.context import RunSettings

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
        key=keys["--key"],
        tag=secrets.token_hex(4),
        public_key=keys["--public-key"],
        other_key=keys["--other-key"],
        chat=options.chat,
        form=options.form,
        entrypoint=options.entrypoint,
        allow_writes=options.allow_writes,
        allow_sends=options.allow_sends,
    )
