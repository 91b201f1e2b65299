"""The timeline: one row per thing, past and future of the sandbox's clock across, with long gaps folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from mockserver._json import JSON, View
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core.instants import SECOND, Instant, format_exact, time_of_day
from mockserver.report.pages import day, duration, instant_of
from mockserver.report.run import words
from mockserver.server.dashboard import story
from mockserver.server.dashboard.events import ENDED_DELIVERIES
from mockserver.server.dashboard.plane import Plane, number_in

_ROWS_MAX: Final = 60  # things on one page
_CALLS_MAX: Final = 1_000  # the newest ones, whose faults are marks of rules
_LABEL_WIDTH: Final = 250
_LABEL_CHARS: Final = 26  # of the timeline
_COMING: Final = "coming"  # the state of a mark to the right of now
_ROW_HEIGHT: Final = 30
_TOP: Final = 44
_STEP_MIN, _STEP_MAX = 26, 120  # pixels between two instants
_FOLD: Final = 60 * SECOND  # a longer gap is folded
_PIXELS_PER_SECOND: Final = 2.0


class Mark(NamedTuple):
    """One moment of a thing: its instant, the state that follows, words, and the path of the page that it opens."""

    at: Instant
    state: str
    words: str
    path: str


def timeline(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the timeline, the things that changed last first."""
    skip = number_in(query, "skip")
    journal, coming = plane.read("readJournal", last=str(_CALLS_MAX)), plane.history["coming"]
    names = plane.names({row["id"] for row in (*journal["transitions"], *coming)})
    model = timeline_model(journal, coming, names, plane.read("readClock")["now"], skip=skip)
    return "timeline.html", {"timeline": model, "counted": "change delivery"}


def timeline_model(
    journal: View,
    coming: Sequence[View],
    names: Mapping[str, str],
    now: str,
    *,
    skip: int = 0,
    rows_max: int = _ROWS_MAX,
) -> JSON:
    """
    Return everything that the macro of the timeline shows, as plain JSON: places in pixels, words and paths.

    Args:
        journal: as the control plane answers.
        coming: the timers that are due, as the history has them; their marks are to the right of now.
        names: of records, by their ids.
        now: the instant of the clock.
        skip: the number of things that later pages begin with.
        rows_max: the number of things at most.
    """
    things: dict[tuple[str, str], list[Mark]] = {}
    for kind, thing_id, mark in (*_marks(journal), *_due(coming, names)):
        # The deliveries to one endpoint are one row, by its address, with which the name of a delivery ends.
        thing = names.get(thing_id, thing_id).rpartition(" to ")[2] if kind == "delivery" else thing_id
        things.setdefault((kind, thing), []).append(mark)
    latest_first = sorted(things.items(), key=lambda pair: pair[1][-1].at, reverse=True)
    page = latest_first[skip : skip + rows_max]
    instants = sorted({mark.at for _, marks in page for mark in marks} | {instant_of(now)})
    places, folds, width = _places(instants)
    now_x = places[instant_of(now)]
    rows = [_row(number, *thing, marks, names, places, now_x) for number, (thing, marks) in enumerate(page)]
    return {
        "rows": rows,
        "width": width,
        "height": _TOP + _ROW_HEIGHT * max(1, len(rows)) + 8,
        "folds": folds,
        "ticks": _ticks(instants, places),
        "now_x": now_x,
        "older": skip + rows_max if len(latest_first) > skip + rows_max else None,
        "total": len(things),
    }


def _marks(journal: View) -> Iterator[tuple[str, str, Mark]]:
    """Yield the moments of each record and of each rule, oldest first."""
    for row in journal["transitions"]:
        cause = story.cause_of(row)
        path = cause["path"] or ("" if row["kind"] == "delivery" else f"objects/{row['id']}")
        text = f"{row['from']} to {row['to']}" if row["from"] else str(row["to"])
        yield row["kind"], row["id"], Mark(instant_of(row["at"]), row["to"], f"{text}, {cause['text']}", path)
    for exchange in journal["exchanges"]:
        fault = exchange["fault"]
        if fault:
            effects = ", ".join(fault["effects"])
            text = f"{effects} of call #{exchange['n']}"
            yield "rule", fault["rule"], Mark(instant_of(exchange["at"]), "fired", text, f"calls/{exchange['n']}")


def _due(coming: Sequence[View], names: Mapping[str, str]) -> Iterator[tuple[str, str, Mark]]:
    """Yield what is due, the soonest first."""
    for timer in coming:
        kind, thing_id = timer["what"].partition(".")[0], timer["id"]
        text = f"{words.timer(timer['what'], thing_id, names)}, at {timer['at']}"
        yield kind, thing_id, Mark(instant_of(timer["at"]), _COMING, text, page_of(kind, thing_id))


def page_of_timer(timer: View) -> str:
    """Return the path of the page that shows what is due; empty for what has none."""
    return page_of(timer["what"].partition(".")[0], timer["id"])


def page_of(kind: str, thing_id: str) -> str:
    """Return the path of the page that shows a thing; empty for one that has none."""
    pages = {"rule": "scenarios", "delivery": "events", "call": ""}
    return pages.get(kind, f"objects/{quote(thing_id, safe='')}")


def _places(instants: list[Instant]) -> tuple[dict[Instant, int], list[JSON], int]:
    """Return the place of each instant, the folded gaps, and the width: a gap is as wide as it is long, within bounds."""
    places: dict[Instant, int] = {}
    folds: list[JSON] = []
    x = _LABEL_WIDTH + 24
    for number, at in enumerate(instants):
        if number:
            gap = at - instants[number - 1]
            step = round(min(_STEP_MAX, max(_STEP_MIN, gap / SECOND * _PIXELS_PER_SECOND)))
            if gap > _FOLD:
                folds.append({"x": x + step // 2, "text": duration(gap)})
            x += step
        places[at] = x
    return places, folds, x + 90


def _ticks(instants: list[Instant], places: Mapping[Instant, int]) -> list[JSON]:
    """Return the instants that have a label, with room between the labels; the first of a day has its date too."""
    ticks: list[JSON] = []
    former = ""
    for at in instants:
        if ticks and places[at] - ticks[-1]["x"] < 96:
            continue
        text = format_exact(at)
        date = day(text)
        time = time_of_day(text).partition(".")[0]
        ticks.append({"x": places[at], "day": date if date != former else "", "text": time})
        former = date
    return ticks


def _row(
    number: int,
    kind: str,
    thing_id: str,
    marks: list[Mark],
    names: Mapping[str, str],
    places: Mapping[Instant, int],
    now_x: int,
) -> JSON:
    """Return a thing with its marks, those of one instant next to one another; its line ends at its last state or now."""
    y = _TOP + _ROW_HEIGHT * number + _ROW_HEIGHT // 2
    points: list[JSON] = []
    for mark in marks:
        x = places[mark.at]
        x = max(x, points[-1]["x"] + 13) if points else x
        points.append({"x": x, "state": mark.state, "words": mark.words, "path": mark.path})
    past = [point for point in points if point["state"] != _COMING]
    last: JSON = past[-1] if past else {"x": now_x, "state": ""}
    name = names.get(thing_id, thing_id)
    return {
        "kind": kind,
        "id": thing_id,
        "label": f"{kind} {shortened(name, _LABEL_CHARS)}",
        "name": f"{kind} {name}",
        "path": page_of(kind, thing_id),
        "y": y,
        "begin": past[0]["x"] if past else now_x,
        "end": max(last["x"], 0 if _has_ended(kind, last["state"]) else now_x),
        "until": points[-1]["x"],
        "last": last["state"],
        "marks": points,
    }


def shortened(text: str, most_chars: int = 60) -> str:
    """Return a text that is too long without its middle."""
    half = (most_chars - 3) // 2
    return text if len(text) <= most_chars else f"{text[:half]}...{text[-half:]}"


def _has_ended(kind: str, state: str) -> bool:
    """Return True if nothing follows the state in time; of a delivery that has ended only a resend does."""
    lifecycle = LIFECYCLES.get(kind)
    return lifecycle is None or state in lifecycle.final or state in ENDED_DELIVERIES
