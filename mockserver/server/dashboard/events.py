"""The view of events, and the page of one: its deliveries with their attempts, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mockserver._json import JSON, View
from mockserver.report.pages import instant_of
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_paths import number_in

PAGE_ROWS: Final = 200
ENDED_DELIVERIES: Final = ("delivered", "abandoned")


def events(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of events, the newest first, with the endpoints; or the page of one event."""
    if item:
        event = plane.read("readEvent", id=item)
        return "event_page.html", {"event": event_model(event)}
    skip = number_in(query, "skip")
    listed, state = plane.read("readEvents")["events"], plane.read("readState", chats="0")
    rows = list(map(_row, reversed(listed)))
    failing = plane.history["failing"]
    return "events.html", {
        "rows": rows[skip : skip + PAGE_ROWS],
        "older": skip + PAGE_ROWS if len(rows) > skip + PAGE_ROWS else None,
        "endpoints": _endpoints(state, listed, failing),
        "urls": {webhook["id"]: webhook["url"] for tenant in state["tenants"] for webhook in tenant["webhooks"]},
    }


def _endpoints(state: View, events: Iterable[View], failing: Sequence[str]) -> list[JSON]:
    """Return each endpoint with its state in a word, its last result, and what waits for it; those that fail first."""
    deliveries: dict[str, list[View]] = {}
    for event in events:
        for delivery in event["deliveries"]:
            deliveries.setdefault(delivery["endpoint"], []).append(delivery)
    due: dict[str, str] = {}  # the next attempt
    for row in state["deliveries"]:
        if row["status"] == "waiting":
            due[row["endpoint"]] = min(due.get(row["endpoint"], row["due"]), row["due"], key=instant_of)
    rows = [
        {**webhook, "next": due.get(webhook["id"])} | _condition(deliveries.get(webhook["id"], []))
        for tenant in state["tenants"]
        for webhook in tenant["webhooks"]
    ]
    for row in rows:
        row["fails"] = row["id"] in failing
        if row["fails"]:
            row["state"] = "failing"
        if row["disabled"]:
            row["state"] = "disabled"
    return sorted(rows, key=lambda row: not row["fails"])


def _condition(deliveries: Sequence[View]) -> JSON:
    ends = [attempt for delivery in deliveries for attempt in delivery["attempts"] if len(attempt) > 1]
    last = max((each for each in ends if "fault" not in each), key=lambda each: instant_of(each["at"]), default=None)
    statuses = [delivery["status"] for delivery in deliveries]
    return {
        "state": "unused" if last is None else "delivering",
        "result": _result(last),
        "pending": len(statuses) - statuses.count("delivered") - statuses.count("abandoned"),
        "delivered": statuses.count("delivered"),
        "abandoned": statuses.count("abandoned"),
    }


def _result(attempt: View | None) -> str:
    """Return the result of an attempt in words."""
    if attempt is None:
        return "no attempt"
    return f"answer {attempt['status']}" if "status" in attempt else str(attempt.get("error", "in flight"))


def _row(event: View) -> JSON:
    deliveries = [{**delivery, "latest": (delivery["attempts"] or [None])[-1]} for delivery in event["deliveries"]]
    return {**event, "deliveries": deliveries, "can_resend": _can_resend(deliveries)}


def _can_resend(deliveries: list[JSON]) -> bool:
    return any(delivery["status"] in ENDED_DELIVERIES for delivery in deliveries)


def event_model(event: View) -> JSON:
    """Return everything that the page of an event shows, as plain JSON: the attempts of each delivery, the newest first."""
    deliveries = [{**delivery, "attempts": delivery["attempts"][::-1]} for delivery in event["deliveries"]]
    return {**event, "deliveries": deliveries, "can_resend": _can_resend(deliveries)}
