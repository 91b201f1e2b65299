"""The page of the documentation on conduct: every rule with what proves it and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.conduct.judging import JUDGES
from mockserver.core.conduct.records import Rule
from mockserver.core.conduct.table import PARTS, RULES

_INTRODUCTION = """\
# Conduct

The conduct report judges whether a client behaved as the API document advises.
It speaks from evidence alone: each finding cites the exchanges that prove it, and what could not be judged is listed as not assessed, with the reason.
So a report without findings praises nothing that stands in that list.

This page is written by `mockserver conduct --markdown`; a test holds it to the code.

```python
def test_launch(mockserver):
    launch_campaign(mockserver.base_url, mockserver.secret_key)

    assert not mockserver.conduct  # a report: iterate it, print it, ask .of(rule), .not_assessed
    mockserver.assert_conduct(max_severity=3)  # noise (3) may pass; severity 1 is the worst
```

`GET /_mock/conduct` answers the same as JSON: `findings` and `notAssessed`.

## In pytest

`@pytest.mark.mockserver(conduct="error")` fails the test in its call phase for any finding, unless it has failed already; `"report"` tells findings beside a failure; `"off"` judges nothing.
The ini option `mockserver_conduct` says it for all tests, and is `report` where it is not set.
The terminal summary counts findings by rule over the session, under xdist too, and `--mockserver-conduct-json FILE` writes them out.

## Under several sets of choices

What takes two runs to see is seen by comparing them.

```python
from mockserver.testing.differential import compare


def test_no_open_point_decides(mockserver_server):
    compare(mockserver_server, launch, given={...}).assert_same()
```

`launch(sandbox)` is run plainly, then under each option that a careless client trips over, and its calls are held side by side: method, route, and body without ids and instants.
`compare(server, client, ["guide", "hostile", {"success-status": "rest"}])` takes profiles, files and sets of choices instead; under a whole profile each of its choices is tried alone, so that one is blamed.

## Time

Intervals are judged by the sandbox's clock where something moved it, and otherwise in real time where at least a second went by between two calls.
A client whose sleeps are taken out of the test shows no interval: its polls and its patience after a 429 are then not assessed.
Let it sleep through the sandbox's clock: `monkeypatch.setattr(time, "sleep", mockserver.advance)`.

## What is let be

One read after the end, also after an event; reads of several workers, told apart by their user agent; HEAD and OPTIONS; a client that comes back more than five minutes later; a session or an upload that is sent again after a failure, since there is nothing to be read first; Node's fetch, which sends Sec-Fetch-Mode from a server.

An answer that a rule holds has reached nobody until it is sent; a client that repeats its call before that has not received it.

## What a transport repeats

curl, browsers and some HTTP libraries repeat a request by themselves if the connection had carried another one before and ends without a byte: the server may have closed it while it was idle.
They repeat a POST too, so a `drop` or `reset` on such a connection is hidden from the client, and its service gets the call twice.
That repetition is excused from `duplicate-start` and `blind-post-retry`: over a socket, on a connection in use before, once, with the same bytes and headers within 50 milliseconds.
Where the User-Agent is that of requests, httpx, urllib3, urllib or aiohttp nothing is excused, since these repeat no POST of their own accord; nor is anything in process.
To let such a client see the `drop`, give it a new connection for each call: `curl -H "Connection: close"`, or one curl process per call.

## The rules

Severity is 1 for money, spam and security, 2 for wrong state, 3 for noise.
What shows a rule: the journal (J), the answers of a webhook receiver (W), visits to the hosted page (P), two runs compared (D), or the client's own test alone (H).
A rule with more than one letter is judged by what the mock sees of it; the rest is for the client's test.
`L300` is line 300 of the API document.
"""


def markdown() -> str:
    """The page as it stands in `docs/conduct.md`."""
    return "\n".join([_INTRODUCTION, *_tables(), *_beyond()])


def rows() -> list[dict[str, Any]]:
    """The rules for programs."""
    return [row._asdict() for row in RULES.values()]


def line(row: Mapping[str, Any]) -> str:
    """A rule as a list shows it."""
    return f"{row['severity']}  {row['id']:<28}{row['proof']}"


def _tables() -> Iterator[str]:
    for title, rows in PARTS.items():
        yield f"### {title}\n"
        yield "| rule | severity | shown by | what proves it | clause | advice |"
        yield "| --- | --- | --- | --- | --- | --- |"
        yield from map(_row, rows)
        yield ""


def _row(row: Rule) -> str:
    cells = (f"`{row.id}`", str(row.severity), " ".join(row.see), row.proof, f"`{row.clause}`, {row.line}", row.advice)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _beyond() -> Iterator[str]:
    unseen = [row for row in RULES.values() if row.id not in JUDGES]
    compared = [f"`{row.id}`" for row in unseen if "D" in row.see and "H" not in row.see]
    yield "### Never found in one run\n"
    yield f"By comparing runs: {', '.join(compared)}; partly `wrong-reader-of-404`."
    alone = [f"`{row.id}`" for row in unseen if "H" in row.see and row.id != "wrong-reader-of-404"]
    yield f"By the client's own test alone: {', '.join(alone)}.\n"
