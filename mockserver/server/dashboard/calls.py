"""The view of calls, with its filters, and the page of one call, which also shows it as a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mockserver._json import JSON, View
from mockserver.contract.clauses import sentence_of
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import whole_number
from mockserver.report import curl
from mockserver.report.pages import visible
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_parts import read_call
from mockserver.server.control.page_paths import number_in
from mockserver.server.dashboard import story
from mockserver.server.errors import ControlError

PAGE_ROWS: Final = 200
_FILTERS: Final = ("operation", "text")


def calls(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the calls, the newest first, or the page of one call."""
    if item:
        number = whole_number(item)
        if number is None:
            raise ControlError("MOCK_NOT_FOUND", f"call: got {item[:60]!r}; expected the number of a call")
        call = read_call(plane.snapshot().state, number)
        if call is None:
            raise ControlError(
                "MOCK_NOT_FOUND", f"call: got {number}; expected one that the journal has: it stores the newest calls"
            )
        return "call_page.html", {"call": call_model(call, curl_of(plane, call))}
    filters = {name: query[name] for name in _FILTERS if query.get(name)}
    before = number_in(query, "before")
    place = {"before": str(before)} if before else {}
    journal = plane.read("readJournal", last=str(PAGE_ROWS + 1), **place, **filters)
    selected = _rows(journal)
    page = selected[:PAGE_ROWS]
    return "calls.html", {
        "rows": page,
        "older": page[-1]["n"] if len(selected) > len(page) else None,
        "filters": filters,
        "before": before,
        "operations": OPERATIONS,
    }


def _rows(journal: View) -> list[JSON]:
    """Return the calls of a journal as rows, the newest first."""
    causes = {row["cause"]["exchange"] for row in journal["transitions"] if "exchange" in row["cause"]}
    return [
        story.call_row(exchange) | {"changed": exchange["n"] in causes} for exchange in reversed(journal["exchanges"])
    ]


def call_model(exchange: View, command: str) -> JSON:
    """
    Return everything that the macro of a call shows: plain JSON, and the sentence of its clause.

    Args:
        exchange: as the journal's answer has it, with the `changes` that it has caused.
        command: the call as curl.
    """
    # A refusal's reason begins with its clause.
    words = (exchange["reason"] or "").split(None, 1)
    clause = words[0].rstrip(":") if words else ""
    return {
        **exchange,
        **story.call_row(exchange),
        "clause": clause,
        "sentence": sentence_of(clause),
        "curl": command,
    }


def curl_of(plane: PageAccess, exchange: View) -> str:
    """Return a command that sends a call; where no key may be shown it has the variable that the reader sets."""
    return visible(curl.curl(exchange["request"], address=plane.request.base_url, key=plane.key(exchange["tenantId"])))
