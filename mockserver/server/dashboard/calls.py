"""The view of calls, with its filters, and the page of one call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import whole_number
from mockserver.server.dashboard import snippets, story
from mockserver.server.dashboard.environment import sentence
from mockserver.server.dashboard.plane import ControlPlane, number_in
from mockserver.server.errors import ControlError

JSON = dict[str, Any]
View = Mapping[str, Any]

PAGE_ROWS: Final = 200
_FLAGS: Final = {"refused": "refused", "faulted": "changed by a rule", "changed": "that changed something"}
_FILTERS: Final = ("operation", "code", "text", *_FLAGS)


def calls(plane: ControlPlane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the calls, the newest first, or the page of one call."""
    if item:
        return "call_page.html", _one(plane, item)
    filters = {name: query[name] for name in _FILTERS if query.get(name)}
    before = number_in(query, "before")
    exchanges, transitions = _read(plane, filters, before)
    causes = {row["cause"]["exchange"] for row in transitions if "exchange" in row["cause"]}
    matching = [row for row in _rows(exchanges) if _is_wanted(row, filters, causes)]
    page = matching[: -PAGE_ROWS - 1 : -1]
    return "calls.html", {
        "rows": [_without_exchange(row, causes) for row in page],
        "older": page[-1]["n"] if len(matching) > len(page) or (page and _has_older(filters, page)) else None,
        "filters": filters,
        "flags": _FLAGS,
        "before": before,
        "operations": OPERATIONS,
        "counted": "call",
        "newest": page[0]["n"] if page and not filters and not before else 0,
    }


def _has_older(filters: Mapping[str, str], page: list[JSON]) -> bool:
    """Return True if the journal may have calls before the page, of which only the newest were read."""
    return not set(filters) - {"operation"} and len(page) == PAGE_ROWS and bool(page[-1]["n"] > 1)


def _read(plane: ControlPlane, filters: Mapping[str, str], before: int) -> tuple[list[View], list[View]]:
    """Return the calls that the filters may match: without filters that the journal lacks only those of the page."""
    arguments = {"operation": filters["operation"]} if "operation" in filters else {}
    if before:
        arguments["before"] = str(before)
    if not set(filters) - {"operation"}:
        arguments["last"] = str(PAGE_ROWS)
    journal = plane.read("readJournal", **arguments)
    return journal["exchanges"], journal["transitions"]


def _rows(exchanges: list[View]) -> Iterator[JSON]:
    for exchange in exchanges:
        yield {**story.call_row(exchange), "exchange": exchange}


def _is_wanted(row: JSON, filters: Mapping[str, str], causes: set[Any]) -> bool:
    """Return True if a call has everything that the filters name."""
    text = filters.get("text", "").casefold()
    checks = (
        "code" not in filters or row["code"] == filters["code"].strip(),
        "refused" not in filters or (row["status"] or 0) >= 400,
        "faulted" not in filters or row["fault"] is not None,
        "changed" not in filters or row["n"] in causes,
        not text or text in json.dumps(row["exchange"], ensure_ascii=False, default=str).casefold(),
    )
    return all(checks)


def _without_exchange(row: JSON, causes: set[Any]) -> JSON:
    return {name: value for name, value in row.items() if name != "exchange"} | {"changed": row["n"] in causes}


def _one(plane: ControlPlane, item: str) -> JSON:
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
