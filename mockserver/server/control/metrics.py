"""The figures of a server in the text format of Prometheus (exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from mockserver.server.control.commands import AddressedHost
from mockserver.server.hosting.host import SandboxHost

_LIMITS: Final = ("idle", "age", "memory")


class Family(NamedTuple):
    """
    One metric with its samples.

    Attributes:
        name: without the suffix `_total` that each sample of a counter has.
        kind: of the metric.
        help: one sentence.
        labels: the names of the labels of each sample.
        samples: the values by those of the labels.
    """

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...]
    samples: Mapping[tuple[str, ...], float]


def families(host: SandboxHost) -> list[Family]:
    """Return the figures of a host."""
    sandboxes = host.refreshed()
    totals = host.totals()
    calls: Counter[tuple[str, ...]] = Counter()
    for (operation, status), count in totals.calls.items():
        calls[operation or "none", "none" if status is None else str(status)] += count
    outcomes: dict[tuple[str, ...], float] = {(outcome,): float(count) for outcome, count in totals.deliveries.items()}
    ended: dict[tuple[str, ...], float] = {(limit,): float(host.closed.ended_counts[limit]) for limit in _LIMITS}
    return [
        _gauge("sandboxes", "Open sandboxes.", len(sandboxes)),
        _counter("evictions", "Sandboxes that a limit has ended.", ("limit",), ended),
        _counter("calls", "Calls of the API.", ("operation", "status"), calls),
        _counter("deliveries", "Attempts to deliver an event.", ("outcome",), outcomes),
        _gauge("memory_bytes", "Estimated size of the sandboxes.", host.memory_bytes()),
    ]


def _gauge(name: str, help: str, value: float) -> Family:
    return Family(name=f"mockserver_{name}", kind="gauge", help=help, labels=(), samples={(): value})


def _counter(name: str, help: str, labels: tuple[str, ...], samples: Mapping[tuple[str, ...], float]) -> Family:
    return Family(name=f"mockserver_{name}", kind="counter", help=help, labels=labels, samples=samples)


def read_metrics(addressed: AddressedHost, args: Mapping[str, Any]) -> str:
    """Return the figures as a text."""
    return "".join(map(as_text, families(addressed.host)))


def as_text(family: Family) -> str:
    """Return the lines of one metric."""
    name = f"{family.name}_total" if family.kind == "counter" else family.name
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    for values, number in sorted(family.samples.items()):
        pairs = ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(family.labels, values, strict=True))
        lines.append(f"{name}{f'{{{pairs}}}' if pairs else ''} {float(number)!r}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
