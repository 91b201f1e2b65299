"""
Sequence diagrams of the site, drawn as SVG from the `mermaid` blocks of the pages while the site is built.

Code hosts draw these blocks themselves. The site draws them here, without a script in the browser and without a network.
Of the language it takes `participant ID as LABEL`, `A->>B: text`, `A-->>B: text`, `Note over A,B: text`, and `rect ... end`
for a shaded band; a label may have lines apart by `<br/>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

COLUMN, ROW, MARGIN, HEAD = 92, 32, 50, 58
BOX = 86  # the width of the box of a participant
CHARACTER = 5.8  # the width of one in a label

_BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PARTICIPANT = re.compile(r"participant (\w+) as (.+)")
_MESSAGE = re.compile(r"(\w+)(--?>>)(\w+): (.+)")
_NOTE = re.compile(r"Note over (\w+)(?:,(\w+))?: (.+)")


class Message(NamedTuple):
    """An arrow between two participants, or a note over them."""

    source: str
    target: str
    text: str
    kind: str


class Diagram(NamedTuple):
    """Participants by id, the messages in order, and the bands as (first message, message after the last)."""

    participants: dict[str, list[str]]
    messages: list[Message]
    bands: list[tuple[int, int]]


def replace_blocks(page: str) -> str:
    """Return the page with each `mermaid` block as an inline SVG."""
    return _BLOCK.sub(lambda block: f"```{{raw}} html\n{svg(parse(block[1]))}\n```", page)


def parse(text: str) -> Diagram:
    """Return the diagram of a block's text; ValueError for a line that is not of the language above."""
    diagram, band = Diagram({}, [], []), 0
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := _PARTICIPANT.fullmatch(line):
            diagram.participants[match[1]] = match[2].split("<br/>")
        elif match := _MESSAGE.fullmatch(line):
            diagram.messages.append(Message(match[1], match[3], match[4], match[2]))
        elif match := _NOTE.fullmatch(line):
            diagram.messages.append(Message(match[1], match[2] or match[1], match[3], "note"))
        elif line.startswith("rect "):
            band = len(diagram.messages)
        elif line == "end":
            diagram.bands.append((band, len(diagram.messages)))
        elif line != "sequenceDiagram":
            raise ValueError(f"got {line!r}; expected a participant, a message, a note, `rect` or `end`")
    return diagram


def svg(diagram: Diagram) -> str:
    """Return the diagram as one SVG element in a figure that scrolls; its colours are those of the page."""
    at = {name: MARGIN + COLUMN * number for number, name in enumerate(diagram.participants)}
    width, height = 2 * MARGIN + COLUMN * (len(at) - 1), HEAD + ROW * (len(diagram.messages) + 1)
    lines = [
        f'<div class="sequence" tabindex="0" role="img" aria-label="{escape(_spoken(diagram))}">',
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        *(_band(first, last, width) for first, last in diagram.bands),
        *(f'<path class="lifeline" d="M{x} {HEAD}V{height}"/>' for x in at.values()),
        *(_head(x, diagram.participants[name]) for name, x in at.items()),
    ]
    for number, message in enumerate(diagram.messages):
        lines += _drawn(message, at, HEAD + ROW * (number + 1), width)
    return "\n".join([*lines, "</svg>", "</div>"])


def _spoken(diagram: Diagram) -> str:
    label = {name: " ".join(lines) for name, lines in diagram.participants.items()}
    return "; ".join(f"{label[each.source]} to {label[each.target]}: {each.text}" for each in diagram.messages)


def _band(first: int, last: int, width: int) -> str:
    top = HEAD + ROW * first + ROW // 2
    return f'<rect class="band" x="2" y="{top}" width="{width - 4}" height="{ROW * (last - first)}"/>'


def _head(x: int, label: list[str]) -> str:
    box = f'<rect class="head" x="{x - BOX // 2}" y="2" width="{BOX}" height="{HEAD - 10}" rx="4"/>'
    top = 29 - 6 * (len(label) - 1)
    texts = (f'<text class="name" x="{x}" y="{top + 12 * row}">{escape(line)}</text>' for row, line in enumerate(label))
    return box + "".join(texts)


def _drawn(message: Message, at: dict[str, int], y: int, width: int) -> Iterator[str]:
    start, end = at[message.source], at[message.target]
    if message.kind == "note":
        middle, half = (start + end) / 2, max(CHARACTER * len(message.text) / 2 + 10, abs(end - start) / 2 + 20)
        yield f'<rect class="note" x="{middle - half}" y="{y - 14}" width="{2 * half}" height="22" rx="3"/>'
        yield f'<text class="on-note" x="{middle}" y="{y + 1}">{escape(message.text)}</text>'
        return
    if start == end:
        yield f'<path class="arrow" d="M{start} {y - 10}h22v12h-16"/><path class="tip" d="M{start + 1} {y + 2}l7 -4v8z"/>'
        yield _text(message.text, start + 28, start - 8, y, width)
        return
    way = 1 if end > start else -1
    dashes = ' stroke-dasharray="4 3"' if message.kind == "-->>" else ""
    yield f'<path class="arrow" d="M{start} {y}H{end - way * 7}"{dashes}/><path class="tip" d="M{end} {y}l{-way * 8} -4v8z"/>'
    yield _text(message.text, min(start, end) + 8, max(start, end) - 8, y - 6, width)


def _text(text: str, left: int, right: int, y: int, width: int) -> str:
    """Return the text that begins at `left`, or, if there is no room for it, that ends at `right`."""
    has_room = left + CHARACTER * len(text) < width
    place = f'x="{left}"' if has_room else f'x="{right}" text-anchor="end"'
    return f'<text {place} y="{y}">{escape(text)}</text>'
