"""The figures of a server in the text format of Prometheus (exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

from mockserver.server.control.commands import AddressedHost

_LIMITS: Final = ("idle", "age", "memory")


def read_metrics(addressed: AddressedHost, args: Mapping[str, Any]) -> str:
    """Return the figures as a text."""
    host = addressed.host
    sandboxes, totals = host.refreshed(), host.totals()
    ended = {f'limit="{limit}"': host.closed.ended_counts[limit] for limit in _LIMITS}
    calls: Counter[str] = Counter()
    for (operation, status), count in totals.calls.items():
        calls[f'operation="{operation or "none"}",status="{"none" if status is None else status}"'] += count
    outcomes = {f'outcome="{outcome}"': count for outcome, count in totals.deliveries.items()}
    return (
        _metric("sandboxes", "gauge", "Open sandboxes.", {"": len(sandboxes)})
        + _metric("evictions_total", "counter", "Sandboxes that a limit has ended.", ended)
        + _metric("calls_total", "counter", "Calls of the API.", calls)
        + _metric("deliveries_total", "counter", "Attempts to deliver an event.", outcomes)
        + _metric("memory_bytes", "gauge", "Estimated size of the sandboxes.", {"": host.memory_bytes()})
    )


def _metric(name: str, kind: Literal["gauge", "counter"], help: str, samples: Mapping[str, int]) -> str:
    """Return the lines of one metric; a sample is found by its labels as they are written."""
    lines = [f"# HELP mockserver_{name} {help}", f"# TYPE mockserver_{name} {kind}"]
    for labels, value in sorted(samples.items()):
        lines.append(f"mockserver_{name}{f'{{{labels}}}' if labels else ''} {float(value)!r}")
    return "\n".join(lines) + "\n"
