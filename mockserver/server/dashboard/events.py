"""The view of events, and the page of one: its deliveries with their attempts, the bytes, and the signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from mockserver._json import JSON, View
from mockserver.contract.text import whole_number
from mockserver.core.instants import SECOND
from mockserver.report.pages import duration, instant_of
from mockserver.server.control.page_access import PageAccess
from mockserver.server.control.page_paths import number_in

PAGE_ROWS: Final = 200
ENDED_DELIVERIES: Final = ("delivered", "abandoned")


def _has_failed(attempt: View | None) -> bool:
    """Return True if an attempt has ended without success."""
    return attempt is not None and len(attempt) > 1 and not 200 <= attempt.get("status", 0) < 300


# The filters: which deliveries each of them shows.
_SHOWN: Final[Mapping[str, Callable[[View], bool]]] = {
    "failing": lambda row: row["status"] != "delivered" and _has_failed(row["latest"]),
    "waiting": lambda row: row["status"] not in ENDED_DELIVERIES,
    "delivered": lambda row: row["status"] == "delivered",
    "abandoned": lambda row: row["status"] == "abandoned",
}
_SIGNERS: Final = {
    "current": "the endpoint's secret",
    "former": "the endpoint's former secret",
    None: "no secret of this endpoint",
}


def events(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the view of events, the newest first, with the endpoints; or the page of one event."""
    if item:
        event = plane.read("readEvent", id=item)
        return "event_page.html", {"event": event_model(event)}
    show, skip = query.get("show", ""), number_in(query, "skip")
    listed, state = plane.read("readEvents")["events"], plane.read("readState", chats="0")
    rows = [
        row for row in map(_row, reversed(listed)) if show not in _SHOWN or any(map(_SHOWN[show], row["deliveries"]))
    ]
    failing = plane.history["failing"]
    return "events.html", {
        "rows": rows[skip : skip + PAGE_ROWS],
        "older": skip + PAGE_ROWS if len(rows) > skip + PAGE_ROWS else None,
        "endpoints": _endpoints(state, listed, failing),
        "urls": {webhook["id"]: webhook["url"] for tenant in state["tenants"] for webhook in tenant["webhooks"]},
        "show": show,
        "shows": _SHOWN,
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
        {**webhook, "tenant": tenant["tenantId"], "next": due.get(webhook["id"])}
        | _condition(deliveries.get(webhook["id"], []))
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
        "last": last,
        "result": _result(last),
        "tries": len(ends),
        "deliveries": len(statuses),
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
    """Return everything that the macro of an event shows, as plain JSON: each attempt with its signature part by part."""
    deliveries = [
        {
            **delivery,
            "attempts": [{**attempt, "checks": _checks(attempt)} for attempt in reversed(delivery["attempts"])],
        }
        for delivery in event["deliveries"]
    ]
    return {**event, "deliveries": deliveries, "can_resend": _can_resend(deliveries), "why_not": _why_not(deliveries)}


def _why_not(deliveries: list[JSON]) -> str:
    """Return why an event cannot be sent again; empty if it can."""
    if not deliveries:
        return "No endpoint is registered for it."
    if _can_resend(deliveries):
        return ""
    statuses = ", ".join(delivery["status"] for delivery in deliveries)
    return f"Its deliveries have not ended yet: {statuses}. Advance to the next attempt."


def _checks(attempt: View) -> list[JSON]:
    """Return the check of a signature, part by part: each with its value, whether it holds, and a remark."""
    signature = attempt["signature"]
    if signature is None:
        return [{"part": "signature", "value": "none", "holds": False, "remark": "The request has no signature."}]
    checks = []
    if signature["id"] is not None:
        checks.append({"part": "id", "value": signature["id"], "holds": True, "remark": "Signed as the first part."})
    if signature["timestamp"] is not None:
        checks.append(_timestamp(signature["timestamp"], attempt["at"]))
    size = f"{attempt['bodyBytes']:,} bytes"
    checks.append({"part": "body", "value": size, "holds": True, "remark": "Signed as the last part, byte for byte."})
    for row in signature["signatures"]:
        remark = f"Signed with {_SIGNERS[row['secret']]} ({signature['scheme']})."
        checks.append(
            {"part": "signature", "value": row["value"], "holds": row["secret"] is not None, "remark": remark}
        )
    return checks


def _timestamp(timestamp: str, at: str) -> JSON:
    """Return the check of a timestamp: its distance from the clock of the sandbox, which a receiver's clock may not have."""
    number = whole_number(timestamp)
    if number is None:
        return {"part": "timestamp", "value": timestamp, "holds": False, "remark": "It is not a number of seconds."}
    seconds = number - instant_of(at) // SECOND
    remark = (
        "Equal to the sandbox's clock."
        if abs(seconds) <= 1
        else f"{duration(abs(seconds) * SECOND)} {'before' if seconds < 0 else 'after'} the sandbox's clock."
    )
    return {"part": "timestamp", "value": timestamp, "holds": True, "remark": remark}
