"""A call as one row of a table, and the cause of a change in words."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from mockserver._json import JSON, View
from mockserver.report.run import words


def call_row(exchange: View) -> JSON:
    """Return a call as one row."""
    request, response = exchange["request"], exchange["response"] or {}
    status, body = response.get("status"), response.get("body")
    code = body.get("code") if isinstance(body, Mapping) and (status or 0) >= 400 else None
    return {
        "n": exchange["n"],
        "at": exchange["at"],
        "operation": exchange["operation"],
        "method": request["method"],
        "path": request["path"],
        "query": request["query"],
        "status": status,
        "code": code,
        "fault": exchange["fault"],
        "reason": exchange["reason"],
        "tone": tone(status, exchange["fault"]),
    }


def tone(status: int | None, fault: object) -> str:
    """Return how a call ended, in one word that the page shows as a word and a colour."""
    if fault:
        return "faulted"
    if status is None:
        return "no answer"
    return "ok" if status < 400 else "refused"


def cause_of(transition: View) -> JSON:
    """Return the cause of a change as words, with the path of its page; empty if it has none."""
    cause = transition["cause"]
    path = ""
    if "exchange" in cause:
        path = f"calls/{cause['exchange']}"
    elif "event" in cause:
        path = f"events/{quote(str(cause['event']), safe='')}"
    return {"path": path, "text": words.cause(transition)}


def page_of_timer(timer: View) -> str:
    """Return the path of the page that shows what is due; empty for what has none."""
    pages = {"rule": "scenarios", "delivery": "events", "call": ""}
    return pages.get(timer["what"].partition(".")[0], f"objects/{quote(timer['id'], safe='')}")


def shortened(text: str, most_chars: int = 60) -> str:
    """Return a text that is too long without its middle."""
    half = (most_chars - 3) // 2
    return text if len(text) <= most_chars else f"{text[:half]}...{text[-half:]}"
