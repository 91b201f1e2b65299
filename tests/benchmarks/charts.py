"""
The charts of docs/performance-sockets.md, from figures that a benchmark has stored: `python -m tests.benchmarks.charts` draws them again.

A benchmark stores its figures as `docs/_static/figures/NAME.json`; the charts are SVG files in the same folder. Equal figures
make equal charts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import ceil, floor, log2, log10
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[2] / "docs" / "_static" / "figures"
OURS = "this mock"
WIDTH = 760
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 15px; }
.axis { fill: #57606a; font-size: 12px; }
.back { fill: #ffffff; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.bar { fill: #8c959f; }
.line { stroke: #8c959f; fill: none; stroke-width: 1.5; }
.dot { fill: #8c959f; }
.ours.bar, .ours.dot { fill: #0969da; }
.ours.line { stroke: #0969da; stroke-width: 3; }
text.ours { fill: #0969da; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .axis { fill: #9198a1; }
  .back { fill: #15191f; }
  .grid { stroke: #30363d; }
  .bar, .dot { fill: #6e7681; }
  .line { stroke: #6e7681; }
  .ours.bar, .ours.dot { fill: #4493f8; }
  .ours.line { stroke: #4493f8; }
  text.ours { fill: #4493f8; }
}
"""


class Bar(NamedTuple):
    """One bar, with its value as text."""

    label: str
    value: float
    text: str
    is_ours: bool


class Series(NamedTuple):
    """One line, by x."""

    label: str
    points: Sequence[tuple[float, float]]

    @property
    def kind(self) -> str:
        return "ours" if self.label == OURS else ""


def save(name: str, figures: Any) -> None:
    """Store the figures of a benchmark, and draw its charts."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for chart, text in drawn(name).items():
        (FOLDER / f"{chart}.svg").write_text(text, encoding="utf-8")


def drawn(name: str) -> Mapping[str, str]:
    """The charts of a benchmark's stored figures, by the name of the file."""
    figures = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {chart: draw(figures) for chart, draw in CHARTS[name].items()}


# The two kinds of charts


def bars(title: str, axis: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars from zero; the axis names what is measured, and its unit."""
    left, right, top, step = 210, 90, 62, 30
    most = max(row.value for row in rows)
    parts = [_text(20, 28, title, "title"), _text(20, 48, axis, "axis")]
    for number, row in enumerate(rows):
        y = top + number * step
        length = (WIDTH - left - right) * row.value / most
        kind = "ours" if row.is_ours else ""
        parts.append(_text(left - 10, y + 15, row.label, kind, "end"))
        parts.append(f'<rect class="{kind} bar" x="{left}" y="{y}" width="{length:.1f}" height="20" rx="2"/>')
        parts.append(_text(left + length + 8, y + 15, row.text, kind))
    return _svg(top + len(rows) * step + 12, title, parts)


def lines(title: str, x_axis: str, y_axis: str, series: Sequence[Series]) -> str:
    """Lines on two logarithmic axes, each with its label at its end."""
    left, right, top, bottom, height = 70, 170, 66, 52, 420
    xs = sorted({x for each in series for x, _ in each.points})
    ys = [y for each in series for _, y in each.points]
    low, high = floor(log10(min(ys))), ceil(log10(max(ys)))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (log2(x) - log2(xs[0])) / (log2(xs[-1]) - log2(xs[0]))
        up = (log10(y) - low) / (high - low)
        return left + across * (WIDTH - left - right), height - bottom - up * (height - bottom - top)

    parts = [_text(20, 28, title, "title"), _text(20, 50, y_axis, "axis")]
    for power in range(low, high + 1):
        _, y = at(xs[0], 10.0**power)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{WIDTH - right}" y2="{y:.1f}"/>')
        parts.append(_text(left - 8, y + 4, f"{10.0**power:g}", "axis", "end"))
    for x in xs:
        parts.append(_text(at(x, 10.0**low)[0], height - bottom + 20, f"{x:g}", "axis", "middle"))
    parts.append(_text((left + WIDTH - right) / 2, height - 12, x_axis, "axis", "middle"))
    for each in sorted(series, key=lambda each: each.label == OURS):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in each.points))
        parts.append(f'<polyline class="{each.kind} line" points="{path}"/>')
        parts += [
            f'<circle class="{each.kind} dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
            for x, y in (at(*point) for point in each.points)
        ]
    below = 0.0
    for each in sorted(series, key=lambda each: -each.points[-1][1]):
        x, y = at(*each.points[-1])
        below = max(y, below + 16)  # labels do not overlap
        parts.append(_text(x + 10, below + 4, each.label, each.kind))
    return _svg(height, title, parts)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(title)}">'
    )
    back = f'<rect class="back" width="{WIDTH}" height="{height:.0f}" rx="6"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", back, *parts, "</svg>"]) + "\n"


# The charts of each benchmark


def _throughput(figures: Mapping[str, Any]) -> str:
    rows = sorted(
        ((name, by_connections["16"]["per_second"]) for name, by_connections in figures["servers"].items()),
        key=lambda row: -row[1],
    )
    shown = [Bar(name, value, f"{value:,.0f}", name == OURS) for name, value in rows]
    return bars("GETs of a campaign over 16 connections", "requests per second; more is better", shown)


def _tail(figures: Mapping[str, Any]) -> str:
    series = [
        Series(name, [(int(count), each["p99_ms"]) for count, each in by_connections.items()])
        for name, by_connections in figures["servers"].items()
    ]
    return lines(
        "The slowest hundredth of the GETs",
        "connections",
        "99th percentile of the latency in milliseconds; less is better",
        series,
    )


def _fairness(figures: Sequence[Mapping[str, Any]]) -> str:
    shown = [
        Bar(row["load"], row["p99_ms"], f"{row['p99_ms']:.1f} ms", row["load"] == "nothing else") for row in figures
    ]
    return bars(
        "Small calls while another sandbox has much to do",
        "99th percentile of 200 calls per second, in milliseconds; less is better",
        shown,
    )


CHARTS: Mapping[str, Mapping[str, Callable[[Any], str]]] = {
    "socket": {"socket-throughput": _throughput, "socket-tail": _tail},
    "fairness": {"fairness": _fairness},
}


def main() -> None:
    for name in CHARTS:
        for chart, text in drawn(name).items():
            (FOLDER / f"{chart}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
