"""
The published clients, one row each: how each is plugged in, and what an exploration of the three tasks must find.

    python -m tests.clients.real.table           writes docs/compatibility.md
    python -m tests.clients.real.table NAME      explores the tasks by an installed client, and prints what it finds as JSON
"""

from __future__ import annotations

import json
import logging
import re
import sys
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from mockserver import MockServer
from mockserver.testing.runs.faults import ExploreReport
from tests.clients.real import adapters
from tests.clients.real.adapters import Adapter
from tests.clients.real.tasks import GIVEN, TASKS, Refused, test_of

NPM = "npm:"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"
Found = Mapping[str, Mapping[str, int]]


class Row(NamedTuple):
    """
    A client with one configuration.

    Attributes:
        name: Of the row.
        packages: What pip installs, and npm for a client of Node (`npm:axios@1.21.1`).
        adapter: Sends by it.
        plug: How it reaches a sandbox.
        sleep: The sleep to replace; empty if it never sleeps.
        repeats: What it does with a start whose answer is lost, and the setting that stops it.
        waits: Whether it waits as long as a 429 asks.
        found: For each task the causes of the findings, with the number of placements.
        errors: The exceptions by which it reports a failure; any other is a crash.
        jitters: Its waits are drawn: two explorations must have the same report.
        is_alone: It replaces packages of others, and so has an environment of its own.
    """

    name: str
    packages: tuple[str, ...]
    adapter: Adapter
    plug: str
    sleep: str
    repeats: str
    waits: str
    found: Found
    errors: tuple[str, ...]
    jitters: bool = False
    is_alone: bool = False


SESSION, CLIENT, SOCKET = "`requests_session()`", "`httpx_client()`", "its address"
_SLEEP = "`time.sleep`"
_RETRIES = "is repeated"
_NEVER = "is not repeated"
_OBEYS = "waits as long as it is asked, in seconds and by a date"
_OWN = "waits by its own policy"
_REPORTS = "is reported"
_D, _B, _R = "duplicate-start", "blind-post-retry", "ignore-retry-after"
_T = "no-timeout"
_OF_REQUESTS = ("requests:RequestException",)
_OF_URLLIB = ("http.client:HTTPException", "builtins:OSError")


def _found(launch: Mapping[str, int], pages: Mapping[str, int], connect: Mapping[str, int]) -> Found:
    return {"launch": launch, "pages": pages, "connect": connect}


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("requests", ("requests==2.34.2",), adapters.requests_plain, SESSION, "", _NEVER, _REPORTS,
        _found({_T: 10}, {_T: 2}, {_T: 3}), _OF_REQUESTS),
    Row("requests, Retry of urllib3", ("requests==2.34.2", "urllib3==2.8.0"), adapters.urllib3_retry("reads"), SOCKET, _SLEEP,
        _NEVER, _OBEYS,
        _found({}, {}, {}), _OF_REQUESTS),
    Row("requests, Retry of every method", ("requests==2.34.2", "urllib3==2.8.0"), adapters.urllib3_retry("all"), SOCKET, _SLEEP,
        f"{_RETRIES}; leave `allowed_methods` at its default", _OBEYS,
        _found({_B: 4, _D: 7}, {}, {}), _OF_REQUESTS),
    Row("stripe, no retries", ("stripe==16.1.0", "requests==2.34.2"), adapters.stripe(0), SESSION, "", _NEVER, _REPORTS,
        _found({}, {}, {}), ("stripe:StripeError",)),
    Row("stripe, 2 retries", ("stripe==16.1.0", "requests==2.34.2"), adapters.stripe(2), SESSION, _SLEEP,
        f"{_RETRIES}; `max_network_retries=0`", _REPORTS,
        _found({_B: 4, _D: 9}, {}, {}), ("stripe:StripeError",)),
    Row("openai, 2 retries", ("openai==3.54.0", "httpx==0.28.1"), adapters.openai(2), CLIENT, _SLEEP,
        f"{_RETRIES}; `max_retries=0`", "waits as long as it is asked",
        _found({_B: 5, _D: 10}, {}, {}), ("openai:OpenAIError",)),
    Row("tenacity around every call", ("tenacity==9.2.1", "requests==2.34.2"), adapters.tenacity, SESSION, "`sleep=mockserver.sleep`",
        f"{_RETRIES}; decorate reads alone", _OWN,
        _found({_R: 19, _B: 6, _D: 10}, {_R: 5}, {_R: 8}), _OF_REQUESTS),
    Row("backoff around every call", ("backoff==2.2.1", "requests==2.34.2"), adapters.backoff, SESSION, _SLEEP,
        f"{_RETRIES}; decorate reads alone", _OWN,
        _found({_R: 23, _B: 6, _D: 10}, {_R: 6}, {_R: 10}), _OF_REQUESTS, jitters=True),
    Row("stamina around every call", ("stamina==26.1.0", "requests==2.34.2"), adapters.stamina, SESSION, _SLEEP,
        f"{_RETRIES}; decorate reads alone", _OWN,
        _found({_R: 23, _B: 6, _D: 10}, {_R: 6}, {_R: 10}), _OF_REQUESTS, jitters=True),
    Row("google-api-core around reads", ("google-api-core==2.44.0", "requests==2.34.2"), adapters.google(only_reads=True), SESSION, _SLEEP,
        _NEVER, _OWN,
        _found({_R: 8}, {_R: 6}, {_R: 5}), (*_OF_REQUESTS, "google.api_core.exceptions:GoogleAPIError"), jitters=True),
    Row("google-api-core around every call", ("google-api-core==2.44.0", "requests==2.34.2"), adapters.google(only_reads=False), SESSION, _SLEEP,
        f"{_RETRIES}; decorate reads alone", _OWN,
        _found({_R: 23, _B: 6, _D: 10}, {_R: 6}, {_R: 10}), (*_OF_REQUESTS, "google.api_core.exceptions:GoogleAPIError"), jitters=True),
    Row("httpx-retries", ("httpx-retries==0.6.0", "httpx==0.28.1"), adapters.httpx_retries, "`RetryTransport(transport=...)` around that of `httpx_client()`", _SLEEP,
        _NEVER, _OBEYS,
        _found({}, {}, {}), ("httpx:HTTPError",)),
    Row("twilio", ("twilio==9.13.0", "requests==2.34.2"), adapters.twilio, f"its `session`, as {SESSION}", "", _NEVER, _REPORTS,
        _found({_T: 10}, {_T: 2}, {_T: 3}), _OF_REQUESTS),
    Row("slack_sdk", ("slack_sdk==3.47.0",), adapters.slack(), SOCKET, _SLEEP,
        f"{_RETRIES}; `retry_handlers=[]`", _REPORTS,
        _found({_B: 2, _D: 6, "crashed: UnicodeDecodeError": 7}, {"crashed: UnicodeDecodeError": 2}, {"crashed: UnicodeDecodeError": 2}), _OF_URLLIB, jitters=True),
    Row("slack_sdk, handlers of its documentation", ("slack_sdk==3.47.0",), adapters.slack("RateLimitErrorRetryHandler", "ServerErrorRetryHandler"), SOCKET, _SLEEP,
        f"{_RETRIES}; `retry_handlers` without those of connections and servers", "waits as long as it is asked in seconds; a date ends it with ValueError",
        _found({_B: 3, _D: 6, "crashed: UnicodeDecodeError": 7, "crashed: ValueError": 4}, {"crashed: UnicodeDecodeError": 2, "crashed: ValueError": 1}, {"crashed: UnicodeDecodeError": 2, "crashed: ValueError": 2}), _OF_URLLIB, jitters=True),
    Row("PyGithub", ("PyGithub==2.10.0", "requests==2.34.2", "urllib3==2.8.0"), adapters.pygithub, SOCKET, _SLEEP,
        f"{_RETRIES}; `retry=GithubRetry(allowed_methods={{\"GET\"}})`", f"{_OBEYS}, also of a create",
        _found({_B: 4, _D: 7}, {}, {}), (*_OF_REQUESTS, "github.GithubException:GithubException")),
    Row("hubspot-api-client", ("hubspot-api-client==12.0.0", "urllib3==2.8.0"), adapters.hubspot, SOCKET, _SLEEP,
        _NEVER, _OBEYS,
        _found({}, {}, {}), ("urllib3.exceptions:HTTPError",)),
    Row("niquests, Retry of its urllib3", ("niquests==3.21.2",), adapters.niquests, SOCKET, _SLEEP,
        _NEVER, _OBEYS,
        _found({}, {}, {}), ("niquests:RequestException",), is_alone=True),
    Row("aiohttp-retry of every status and error", ("aiohttp-retry==2.9.1", "aiohttp==3.14.5"), adapters.aiohttp_retry, SOCKET, "`asyncio.sleep`",
        f"{_RETRIES}, whatever `methods` has; send it by the plain session", _OWN,
        _found({_R: 23, _B: 4, _D: 7}, {_R: 6}, {_R: 10}), ("aiohttp:ClientError",)),
    Row("axios-retry", ("npm:axios@1.21.1", "npm:axios-retry@4.5.0"), adapters.axios({}), "`mockserver explore -- COMMAND`", "`globalThis.setTimeout`",
        f"{_RETRIES}; `retryCondition: axiosRetry.isIdempotentRequestError`", "waits as long as it is asked, in seconds and by a date; a create is reported",
        _found({_B: 2, _D: 6}, {}, {}), ("tests.clients.real.adapters:NoAnswer",)),
)
# fmt: on


def explored(row: Row) -> Found:
    """Return what explorations of the tasks find; two of a client that jitters must have the same report."""
    warnings.simplefilter("ignore")  # of the clients
    logging.disable(logging.CRITICAL)
    errors = (Refused, AssertionError, *map(resolve_name, row.errors))
    options: dict[str, Any] = {
        "settings": {
            "given": dict(GIVEN),
            "now": datetime.now(UTC),
        },  # one instant for all, which dates in answers show
        "choices": (),
        "tolerates": errors,
    }
    found: dict[str, dict[str, int]] = {}
    with MockServer() as server:
        for task in TASKS:
            reports = [
                server.explore(test_of(row.adapter, task), test=f"{row.name}: {task}", **options)
                for _ in range(1 + row.jitters)
            ]
            first, *others = (_without_seconds(report) for report in reports)
            assert [first] * len(others) == others, f"two explorations of {row.name} differ"
            found[task] = _counts(reports[0])
    return found


def _without_seconds(report: ExploreReport) -> str:
    entry = {name: value for name, value in report.entry().items() if name != "seconds"}
    return f"{report.text().rpartition(chr(10))[0]}\n{json.dumps(entry)}"


def _counts(report: ExploreReport) -> dict[str, int]:
    crash = {"crashed": "crashed: "}
    return {f"{crash.get(row.verdict, '')}{row.cause}": row.count for row in report.findings}


def page() -> str:
    """Return the page on the clients."""
    lines = [
        "# Compatibility",
        "",
        "How to plug in published HTTP clients and their retries, and what each does with a lost answer and a 429.",
        "`pytest -m clients` installs each client in the version of its row, and explores it.",
        "",
        "| client | version | reaches a sandbox by | sleep to replace | a start whose answer is lost | a 429 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        names = (package.removeprefix(NPM) for package in row.packages)
        versions = ", ".join(re.sub("={1,2}|@", " ", name) for name in names)
        lines.append(f"| {row.name} | {versions} | {row.plug} | {row.sleep or 'none'} | {row.repeats} | {row.waits} |")
    lines += [
        "",
        'Replace a sleep by `monkeypatch.setattr("time.sleep", mockserver.sleep)`, and `asyncio.sleep` by `mockserver.aio.sleep`; the time then passes on the sandbox\'s clock.',
        "Replace `setTimeout` of Node by a function that sends `POST /_mock/clock/advance`.",
        "botocore is not in the table: it sends only operations of its own service models, and none of them fits this API.",
        "",
        "Where a start is repeated, Explore finds `duplicate-start` and `blind-post-retry`; where a client waits by its own policy, `ignore-retry-after`; where it has no timeout, `no-timeout`.",
        "They are true for this API, which has no idempotency key: the `Idempotency-Key` that some clients send has no effect.",
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
