"""The view of calls, with its filters, and the page of one call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import whole_number
from mockserver.server.dashboard import snippets, story
from mockserver.server.dashboard.environment import sentence
from mockserver.server.dashboard.plane import Plane, number_in
from mockserver.server.errors import ControlError

JSON = dict[str, Any]
View = Mapping[str, Any]

PAGE_ROWS: Final = 200
_BATCH: Final = 1_000  # calls that are read at a time for a filter
_FLAGS: Final = {"refused": "refused", "faulted": "changed by a rule", "changed": "that changed something"}
_FILTERS: Final = ("operation", "code", "text", *_FLAGS)


def calls(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the calls, the newest first, or the page of one call."""
    if item:
        return "call_page.html", _one(plane, item)
    filters = {name: query[name] for name in _FILTERS if query.get(name)}
    before = number_in(query, "before")
    rows, transitions = _newest(plane, filters, before)
    causes = {row["cause"]["exchange"] for row in transitions if "exchange" in row["cause"]}
    page = rows[:PAGE_ROWS]
    return "calls.html", {
        "rows": [row | {"changed": row["n"] in causes} for row in page],
        "older": page[-1]["n"] if len(rows) > len(page) else None,
        "filters": filters,
        "flags": _FLAGS,
        "before": before,
        "operations": OPERATIONS,
        "counted": "call",
        "newest": page[0]["n"] if page and not filters and not before else 0,
    }


def _newest(plane: Plane, filters: Mapping[str, str], before: int) -> tuple[list[JSON], list[View]]:
    """Return the newest calls that match, one more than a page has, and the changes; the journal is read in batches."""
    arguments = {"operation": filters["operation"]} if "operation" in filters else {}
    rows: list[JSON] = []
    size, cursor = PAGE_ROWS + 1, before
    while True:
        place = {"before": str(cursor)} if cursor else {}
        journal = plane.read("readJournal", last=str(size), **place, **arguments)
        exchanges, transitions = journal["exchanges"], journal["transitions"]
        causes = {row["cause"]["exchange"] for row in transitions if "exchange" in row["cause"]}
        rows += [story.call_row(exchange) for exchange in reversed(exchanges) if _is_wanted(exchange, filters, causes)]
        if len(rows) > PAGE_ROWS or len(exchanges) < size:
            return rows[: PAGE_ROWS + 1], transitions
        cursor, size = exchanges[0]["n"], _BATCH


def _is_wanted(exchange: View, filters: Mapping[str, str], causes: set[Any]) -> bool:
    """Return True if a call has everything that the filters name."""
    row, text = story.call_row(exchange), filters.get("text", "").casefold()
    checks = (
        "code" not in filters or row["code"] == filters["code"].strip(),
        "refused" not in filters or (row["status"] or 0) >= 400,
        "faulted" not in filters or row["fault"] is not None,
        "changed" not in filters or row["n"] in causes,
    )
    return all(checks) and (not text or text in _text(exchange))


def _text(exchange: View) -> str:
    """Return a call with its answer as one text, without regard to case."""
    return json.dumps(exchange, ensure_ascii=False, default=str).casefold()


def _one(plane: Plane, item: str) -> JSON:
    number = whole_number(item)
    if number is None:
        raise ControlError(404, "MOCK_NOT_FOUND", f"call: got {item[:60]!r}; expected the number of a call")
    journal = plane.read("readJournal", since=str(max(0, number - 1)), before=str(number + 1))
    if not journal["exchanges"]:
        raise ControlError(
            404, "MOCK_NOT_FOUND", f"call: got {number}; expected one that the journal has: it stores the newest calls"
        )
    return {"call": call_model(journal["exchanges"][0], journal["transitions"]), "counted": ""}


def call_model(exchange: View, transitions: list[View]) -> JSON:
    """
    Return everything that the macro of a call shows, as plain JSON.

    Args:
        exchange: as the journal's answer has it.
        transitions: those of the journal, of which some may be caused by the call.
    """
    request, response = exchange["request"], exchange["response"]
    clause = _clause(exchange["reason"])
    return {
        **story.call_row(exchange),
        "tenant": exchange["tenantId"],
        "applied": exchange["applied"],
        "request": request,
        "response": response,
        "clause": clause,
        "sentence": sentence(clause),
        "choices": exchange["choices"],
        "changes": story.changes_of(transitions, exchange["n"]),
        "snippets": snippets.of(exchange),
    }


def _clause(reason: str | None) -> str:
    """Return the clause with which the reason of a refusal begins."""
    words = (reason or "").split(None, 1)
    return words[0].rstrip(":") if words else ""
