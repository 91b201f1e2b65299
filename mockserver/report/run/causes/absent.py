"""A run without calls, and a client that cannot reach the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mockserver.report.problem import Problem
from mockserver.report.run import hints
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot

_OF_A_CONNECTION: Final = re.compile(
    r"connect|time(d )?[ -]?out|url|schema|scheme|host|address|network|ssl|proxy", re.IGNORECASE
)

# A command of the control plane that was refused, as the failure of a test in another language; not one on the calls.
_OF_A_COMMAND: Final = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /(?!v1/|journal/verify)\S*: ")


def without_prefix(snapshot: SandboxSnapshot) -> str:
    """Return the sentence about calls without a sandbox's prefix, and the usual cause; empty if there are none."""
    count = snapshot.calls_without_prefix
    if not count:
        return ""
    calls = "1 call" if count == 1 else f"{count} calls"
    prefix = f"/sandboxes/{snapshot.id}"
    return f'{calls} arrived without its prefix {prefix}: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one'


def no_calls(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield that no call has reached the sandbox, with the usual cause."""
    if snapshot.exchanges or snapshot.deferred:
        return
    if failure is not None and _OF_A_COMMAND.search(failure.words):
        return  # the test has failed before its client began
    is_elsewhere = failure is not None and failure.raised is not None and not _OF_A_CONNECTION.search(failure.raised)
    advice = without_prefix(snapshot)
    if not advice and is_elsewhere:
        yield Problem(headline=f"no call reached {snapshot.id} before that", advice=hints.proxy(snapshot))
        return
    if failure is not None and failure.expected is not None and snapshot.address is not None:
        advice = (
            advice or f"{hints.address(snapshot)} `mockserver.calls.wait_for(...)` waits for a call of another thread"
        )
    yield Problem(
        headline=f"no call reached {snapshot.id}",
        got=[hints.proxy(snapshot)] if hints.proxy(snapshot) else (),
        advice=advice or hints.address(snapshot),
    )


def unresolved(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield that a client has looked up the name of calls in process, which has no address."""
    if failure is not None and failure.is_unresolved:
        yield Problem(
            headline=f"mockserver.test is the address of calls in process, which only a client of {snapshot.name} opens",
            rank="cause",
            advice=hints.in_process_client(snapshot),
        )
