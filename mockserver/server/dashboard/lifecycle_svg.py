"""A lifecycle table as a drawing: its states in columns, its transitions as arrows, and the present state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.lifecycles import LIFECYCLES, Lifecycle, Step

_BOX_WIDTH: Final = 116
_BOX_HEIGHT: Final = 34
_COLUMN: Final = 230
_ROW: Final = 62
_MARGIN: Final = 14


class _Box(NamedTuple):
    """The place of a state, by its upper left corner."""

    x: int
    y: int


def drawing(kind: str, status: str, passed: Iterable[str]) -> JSON | None:
    """
    Return the boxes and arrows of a lifecycle; None for a kind without one.

    Args:
        kind: of the record.
        status: its present state.
        passed: the states that it has had.
    """
    table = LIFECYCLES.get(kind)
    if table is None:
        return None
    boxes, visited = _places(table), {*passed, status}
    height = max(box.y for box in boxes.values()) + _BOX_HEIGHT + _MARGIN
    width = max(box.x for box in boxes.values()) + _BOX_WIDTH + _MARGIN
    # In words, for a reader who does not see the drawing.
    steps = "; ".join(f"{step.source} to {step.target} by {step.trigger}" for step in table.steps)
    return {
        "kind": kind,
        "width": width,
        "height": height,
        "states": [_state(table, name, boxes[name], status, visited) for name in table.states],
        "arrows": [_arrow(step, boxes) for step in table.steps if not _goes_back(step, boxes)],
        "back": [f"{step.trigger}: {step.source} to {step.target}" for step in table.steps if _goes_back(step, boxes)],
        "text": f"Lifecycle of a {table.kind}, which is {status}. Transitions: {steps}.",
    }


def _places(table: Lifecycle) -> dict[str, _Box]:
    """Return the place of each state: its column is the number of steps from the first state, its row the next free one."""
    depth = {table.initial: 0}
    for _ in table.states:
        for step in table.steps:
            if step.source in depth and step.target not in depth:
                depth[step.target] = depth[step.source] + 1
    rows: dict[int, int] = {}
    boxes = {}
    for state in table.states:
        column = depth.get(state, 0)
        row = rows.get(column, 0)
        rows[column] = row + 1
        boxes[state] = _Box(_MARGIN + column * _COLUMN, _MARGIN + row * _ROW)
    return boxes


def _goes_back(step: Step, boxes: dict[str, _Box]) -> bool:
    """Return True for a transition to an earlier column, which is listed below the drawing."""
    return boxes[step.target].x < boxes[step.source].x


def _state(table: Lifecycle, name: str, box: _Box, status: str, visited: set[str]) -> JSON:
    tone = "passed" if name in visited else "open"
    if name == status:
        tone = "present"
    middle = {"text_x": box.x + _BOX_WIDTH // 2, "text_y": box.y + _BOX_HEIGHT // 2 + 5}
    place = {"x": box.x, "y": box.y, "width": _BOX_WIDTH, "height": _BOX_HEIGHT}
    return {"name": name, "tone": tone, "is_final": name in table.final, **place, **middle}


def _arrow(step: Step, boxes: dict[str, _Box]) -> JSON:
    """Return the line of a transition, with its label above the end of the line, where no other label is."""
    source, target = boxes[step.source], boxes[step.target]
    if source.x == target.x:
        x = source.x + _BOX_WIDTH // 2
        down = target.y > source.y
        begin, end = (source.y + _BOX_HEIGHT, target.y - 6) if down else (source.y, target.y + _BOX_HEIGHT + 6)
        return {
            "path": f"M{x} {begin} V{end}",
            "x": x + 8,
            "y": (begin + end) // 2 + 4,
            "anchor": "start",
            "label": step.trigger,
        }
    begin_x, begin_y = source.x + _BOX_WIDTH, source.y + _BOX_HEIGHT // 2
    end_x, end_y = target.x - 6, target.y + _BOX_HEIGHT // 2
    bend = begin_x + 24
    path = f"M{begin_x} {begin_y} C{bend + 14} {begin_y} {bend - 10} {end_y} {bend + 20} {end_y} H{end_x}"
    return {"path": path, "x": end_x - 4, "y": end_y - 6, "anchor": "end", "label": step.trigger}
