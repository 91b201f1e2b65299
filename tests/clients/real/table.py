"""
The published clients, one row each: how each is plugged in, and what an exploration of the three tasks must find.

    python -m tests.clients.real.table           writes docs/compatibility.md
    python -m tests.clients.real.table NAME      explores the tasks by an installed client, and prints what it finds as JSON
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver import MockServer
from tests.clients.real import adapters
from tests.clients.real.adapters import Adapter
from tests.clients.real.tasks import GIVEN, TASKS, test_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"
Found = Mapping[str, Mapping[str, int]]
NOTHING: Found = MappingProxyType({task: {} for task in TASKS})


class Row(NamedTuple):
    """
    A client with one configuration.

    Attributes:
        name: Of the row.
        packages: What pip installs.
        adapter: Sends by it.
        plug: How it reaches a sandbox.
        sleep: The sleep to replace; empty if it never sleeps.
        repeats: What it does with a start whose answer is lost, and the setting that stops it.
        waits: Whether it waits as long as a 429 asks.
        found: For each task the causes of the findings, with the number of their placements.
        refuted: Findings that its reader could refute; there must be none.
    """

    name: str
    packages: tuple[str, ...]
    adapter: Adapter
    plug: str
    sleep: str
    repeats: str
    waits: str
    found: Found
    refuted: str = ""


SESSION, CLIENT, SOCKET = "`requests_session()`", "`httpx_client()`", "its address"
_SLEEP = "`time.sleep`"
_RETRIES = "is repeated"
_NEVER = "is not repeated"
_D = "duplicate-start"
_B = "blind-post-retry"
_R = "ignore-retry-after"
_T = "no-timeout"


def _found(launch: Mapping[str, int], pages: Mapping[str, int], connect: Mapping[str, int]) -> Found:
    return {"launch": launch, "pages": pages, "connect": connect}


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("requests", ("requests==2.34.2",), adapters.requests_plain, SESSION, "", _NEVER, "is reported", _found({_T: 10}, {_T: 2}, {_T: 3})),
    Row("requests, Retry of urllib3", ("requests==2.34.2", "urllib3==2.8.0"), adapters.urllib3_retry("reads"), SOCKET, _SLEEP,
        _NEVER, "waits as long as it is asked, in seconds and by a date", NOTHING),
    Row("requests, Retry of every method", ("requests==2.34.2", "urllib3==2.8.0"), adapters.urllib3_retry("all"), SOCKET, _SLEEP,
        f"{_RETRIES}; leave `allowed_methods` at its default", "waits as long as it is asked, in seconds and by a date", _found({_B: 4, _D: 7}, {}, {})),
    Row("stripe, no retries", ("stripe==16.1.0", "requests==2.34.2"), adapters.stripe(0), SESSION, "", _NEVER, "is reported", NOTHING),
    Row("stripe, 2 retries", ("stripe==16.1.0", "requests==2.34.2"), adapters.stripe(2), SESSION, _SLEEP,
        f"{_RETRIES}; `max_network_retries=0`", "is reported", _found({_B: 4, _D: 9}, {}, {})),
    Row("openai, 2 retries", ("openai==3.54.0", "httpx==0.28.1"), adapters.openai(2), CLIENT, _SLEEP,
        f"{_RETRIES}; `max_retries=0`", "waits as long as it is asked", _found({_B: 5, _D: 10}, {}, {})),
    Row("tenacity around every call", ("tenacity==9.2.1", "requests==2.34.2"), adapters.tenacity, SESSION, "`sleep=mockserver.sleep`",
        f"{_RETRIES}; decorate reads alone", "waits by its own policy", _found({_R: 15, _B: 6, _D: 10}, {_R: 4}, {_R: 6})),
    Row("backoff around every call", ("backoff==2.2.1", "requests==2.34.2"), adapters.backoff, SESSION, _SLEEP,
        f"{_RETRIES}; decorate reads alone", "waits by its own policy", _found({_R: 19, _B: 6, _D: 10}, {_R: 5}, {_R: 8})),
    Row("stamina around every call", ("stamina==26.1.0", "requests==2.34.2"), adapters.stamina, SESSION, _SLEEP,
        f"{_RETRIES}; decorate reads alone", "waits by its own policy", _found({_R: 19, _B: 6, _D: 10}, {_R: 5}, {_R: 8})),
    Row("google-api-core around reads", ("google-api-core==2.44.0", "requests==2.34.2"), adapters.google(only_reads=True), SESSION, _SLEEP,
        _NEVER, "waits by its own policy", _found({_R: 7}, {_R: 5}, {_R: 4})),
    Row("google-api-core around every call", ("google-api-core==2.44.0", "requests==2.34.2"), adapters.google(only_reads=False), SESSION, _SLEEP,
        f"{_RETRIES}; decorate reads alone", "waits by its own policy", _found({_R: 19, _B: 6, _D: 10}, {_R: 5}, {_R: 8})),
    Row("httpx-retries", ("httpx-retries==0.6.0", "httpx==0.28.1"), adapters.httpx_retries, "`RetryTransport(transport=...)` around that of `httpx_client()`", _SLEEP,
        _NEVER, "waits as long as it is asked, in seconds and by a date", NOTHING),
    Row("twilio", ("twilio==9.13.0", "requests==2.34.2"), adapters.twilio, f"its `session`, as {SESSION}", "", _NEVER, "is reported", _found({_T: 10}, {_T: 2}, {_T: 3})),
)
# fmt: on


def explored(row: Row) -> Found:
    """Return what explorations of the tasks find."""
    warnings.simplefilter("ignore")  # of the clients
    logging.disable(logging.CRITICAL)
    found: dict[str, dict[str, int]] = {}
    with MockServer() as server:
        for task in TASKS:
            options: dict[str, Any] = {"settings": {"given": dict(GIVEN)}, "choices": (), "tolerates": (Exception,)}
            report = server.explore(test_of(row.adapter, task), test=f"{row.name}: {task}", **options)
            found[task] = {finding.cause: finding.count for finding in report.findings}
    return found


def page() -> str:
    """Return the page on the clients."""
    lines = [
        "# Compatibility",
        "",
        "Explore was run on the retry machinery of these published clients, each with three tasks: launch a campaign with an image, read a chat in pages, connect a channel and receive its event.",
        "This page shows how to plug each one in, and what Explore finds in it.",
        "`pytest -m clients` installs each client in the version of its row and compares.",
        "",
        "## How to plug it in",
        "",
        "| client | version | reaches a sandbox by | sleep to replace | a start whose answer is lost | a 429 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        versions = ", ".join(package.replace("==", " ") for package in row.packages)
        lines.append(f"| {row.name} | {versions} | {row.plug} | {row.sleep or 'none'} | {row.repeats} | {row.waits} |")
    lines += [
        "",
        'Replace a sleep by `monkeypatch.setattr("time.sleep", mockserver.sleep)`; the time then passes on the sandbox\'s clock.',
        "",
        "## What Explore finds",
        "",
        "Each cell shows the findings of a task with the number of their placements.",
        "The last column is for findings that a reader could refute; an entry there is a defect of this project.",
        "",
        "| client | launch | pages | connect | refuted |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        cells = [
            ", ".join(f"`{cause}` {count}" for cause, count in row.found[task].items()) or "nothing" for task in TASKS
        ]
        lines.append(f"| {row.name} | {' | '.join(cells)} | {row.refuted} |")
    lines += [
        "",
        "`duplicate-start` and `blind-post-retry` are true for this API, which has no idempotency key: the `Idempotency-Key` that some clients send has no effect.",
        "[Conduct](conduct.md#the-rules) explains each rule.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    if len(sys.argv) == 1:
        PAGE.write_text(page(), encoding="utf-8")
        return
    row = next(row for row in ROWS if row.name == sys.argv[1])
    print(json.dumps(explored(row)))


if __name__ == "__main__":
    main()
