"""The view of calls, with its filters, and the page of one call, which also shows it as a command and as a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mockserver._json import JSON, View
from mockserver.contract.clauses import sentence_of
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.text import whole_number
from mockserver.report import curl
from mockserver.report.pages import visible
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_paths import number_in
from mockserver.server.dashboard import story
from mockserver.server.errors import ControlError

PAGE_ROWS: Final = 200
_BATCH: Final = 1_000  # calls that are read at a time for a filter
_FLAGS: Final = {"refused": "refused", "faulted": "changed by a rule", "changed": "that changed something"}
_FILTERS: Final = ("operation", "code", "text", *_FLAGS)


def calls(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of the calls, the newest first, or the page of one call."""
    if item:
        number = whole_number(item)
        if number is None:
            raise ControlError("MOCK_NOT_FOUND", f"call: got {item[:60]!r}; expected the number of a call")
        call = plane.call(number)
        if call is None:
            raise ControlError(
                "MOCK_NOT_FOUND", f"call: got {number}; expected one that the journal has: it stores the newest calls"
            )
        return "call_page.html", {"call": call_model(call, snippets(plane, call))}
    filters = {name: query[name] for name in _FILTERS if query.get(name)}
    before = number_in(query, "before")
    selected = _newest(plane, filters, before)
    page = selected[:PAGE_ROWS]
    return "calls.html", {
        "rows": page,
        "older": page[-1]["n"] if len(selected) > len(page) else None,
        "filters": filters,
        "flags": _FLAGS,
        "before": before,
        "operations": OPERATIONS,
    }


def _newest(plane: PageAccess, filters: Mapping[str, str], before: int) -> list[JSON]:
    """Return the newest calls that match, one more than a page has; the journal is read in batches."""
    rows: list[JSON] = []
    size, cursor = PAGE_ROWS + 1, before
    while True:
        place = {"before": str(cursor)} if cursor else {}
        journal = plane.read("readJournal", last=str(size), **place, **_arguments(filters))
        exchanges = journal["exchanges"]
        rows += _matching(journal, filters)
        if len(rows) > PAGE_ROWS or len(exchanges) < size:
            return rows[: PAGE_ROWS + 1]
        cursor, size = exchanges[0]["n"], _BATCH


def _arguments(filters: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the filters that the journal applies; a call with a code has the code as a text."""
    arguments = {"text": filters.get("text") or filters.get("code", "").strip(), "operation": filters.get("operation")}
    return {name: value for name, value in arguments.items() if value}


def _matching(journal: View, filters: Mapping[str, str]) -> list[JSON]:
    """Return the calls of a journal that match as rows, the newest first."""
    causes = {row["cause"]["exchange"] for row in journal["transitions"] if "exchange" in row["cause"]}
    return [
        story.call_row(exchange) | {"changed": exchange["n"] in causes}
        for exchange in reversed(journal["exchanges"])
        if _is_selected(exchange, filters, causes)
    ]


def _is_selected(exchange: View, filters: Mapping[str, str], causes: set[Any]) -> bool:
    """Return True if a call has what the filters name; the journal has compared the operation and the text."""
    row = story.call_row(exchange)
    return all((
        "code" not in filters or row["code"] == filters["code"].strip(),
        "refused" not in filters or (row["status"] or 0) >= 400,
        "faulted" not in filters or row["fault"] is not None,
        "changed" not in filters or row["n"] in causes,
    ))  # fmt: skip


def call_model(exchange: View, copies: Mapping[str, str]) -> JSON:
    """
    Return everything that the macro of a call shows: plain JSON, and the sentence of its clause.

    Args:
        exchange: as the journal's answer has it, with the `changes` that it has caused.
        copies: the call in the forms in which it can be copied.
    """
    # A refusal's reason begins with its clause.
    words = (exchange["reason"] or "").split(None, 1)
    clause = words[0].rstrip(":") if words else ""
    return {
        **story.call_row(exchange),
        "tenant": exchange["tenantId"],
        "applied": exchange["applied"],
        "request": exchange["request"],
        "response": exchange["response"],
        "clause": clause,
        "sentence": sentence_of(clause),
        "choices": exchange["choices"],
        "changes": [story.change_row(row) for row in exchange["changes"]],
        "snippets": copies,
    }


def snippets(plane: PageAccess, exchange: View) -> dict[str, str]:
    """Return a call as curl and as a test in Python."""
    return {"curl": curl_of(plane, exchange), "Python test": visible(_python(exchange))}


def curl_of(plane: PageAccess, exchange: View) -> str:
    """Return a command that sends a call; where no key may be shown it has the variable that the reader sets."""
    return visible(curl.curl(exchange["request"], address=plane.address, key=plane.key(exchange["tenantId"])))


def _python(exchange: View) -> str:
    request, status = exchange["request"], (exchange["response"] or {}).get("status")
    body, argument = request["body"], ""
    if body is not None:
        argument = f", body={body[: curl.BODY_CHARS].encode()!r}" if isinstance(body, str) else f", json={body!r}"
    operation = exchange["operation"] or "call"
    name = "".join(f"_{char.lower()}" if char.isupper() else char for char in operation)
    expected = f"    assert {status} == answer.status" if status is not None else "    # it got no answer"
    return (
        f"def test_{name}(mockserver):\n"
        f"    answer = mockserver.call({request['method']!r}, {curl.target(request)!r}{argument})\n\n{expected}\n"
    )
