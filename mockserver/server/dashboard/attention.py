"""What needs a look: calls that failed, endpoints that do not take their events, failed sends, and findings of severity 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mockserver._json import JSON, View
from mockserver.report.pages import effects, instant_of
from mockserver.server.dashboard import story


def endpoints(state: View, events: Iterable[View], failing: Sequence[str]) -> list[JSON]:
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


def has_failed(attempt: View | None) -> bool:
    """Return True if an attempt has ended without success."""
    return attempt is not None and len(attempt) > 1 and not 200 <= attempt.get("status", 0) < 300


def _condition(deliveries: Sequence[View]) -> JSON:
    ends = [attempt for delivery in deliveries for attempt in delivery["attempts"] if len(attempt) > 1]
    last = max((each for each in ends if "fault" not in each), key=lambda each: instant_of(each["at"]), default=None)
    statuses = [delivery["status"] for delivery in deliveries]
    return {
        "state": "unused" if last is None else "delivering",
        "last": last,
        "result": result(last),
        "tries": len(ends),
        "deliveries": len(statuses),
        "pending": len(statuses) - statuses.count("delivered") - statuses.count("abandoned"),
        "delivered": statuses.count("delivered"),
        "abandoned": statuses.count("abandoned"),
    }


def items(
    rows: Iterable[View],
    endpoint_rows: Iterable[View],
    failed_sends: Iterable[View],
    rules: Iterable[View],
    findings: Iterable[View],
) -> list[JSON]:
    """
    Return what needs a look, as lines with the path of the page that shows more.

    Args:
        rows: calls, as `story.call_row` returns them.
        endpoint_rows: as `endpoints` returns them.
        failed_sends: executions, each with its campaign's name.
        rules: in force.
        findings: on the client's conduct, of severity 1.
    """
    return [
        *_endpoints(endpoint_rows),
        *_sends(failed_sends),
        *_calls(rows),
        *_rules(rules),
        *_findings(findings),
    ]


def result(attempt: View | None) -> str:
    """Return the result of an attempt in words."""
    if attempt is None:
        return "no attempt"
    return f"answer {attempt['status']}" if "status" in attempt else str(attempt.get("error", "in flight"))


def _endpoints(rows: Iterable[View]) -> Iterator[JSON]:
    for row in rows:
        if not row["fails"]:
            continue
        waits = story.counted(row["pending"], "delivery waits", "deliveries wait")
        lost = f", {row['abandoned']} abandoned" if row["abandoned"] else ""
        text = f"{row['result']} after {story.counted(row['tries'], 'try', 'tries')}; {waits}{lost}"
        yield {"what": f"Endpoint {row['state']}: {row['url']}", "text": text, "next": row["next"], "path": "events"}


def _sends(failed_sends: Iterable[View]) -> Iterator[JSON]:
    for row in failed_sends:
        text = f"{row['failed']} of {row['target']} sends failed"
        yield {"what": row["name"] or "Campaign", "text": text, "path": f"objects/{row['campaignId']}"}


def _calls(rows: Iterable[View]) -> Iterator[JSON]:
    """Yield the calls that were refused or have no answer, those of one operation with one result together."""
    groups: dict[tuple[object, ...], list[View]] = {}
    for row in rows:
        if row["status"] is None or row["status"] >= 400:
            groups.setdefault((row["operation"], row["status"], row["code"]), []).append(row)
    for (operation, status, code), calls in sorted(groups.items(), key=lambda group: -group[1][-1]["n"]):
        last, reason = calls[-1], calls[-1]["reason"]
        answer = f"{status or 'no answer'}{f' {code}' if code else ''}"
        fault = last["fault"]
        because = reason or (f"{fault['rule']}: {effects(fault['effects'])}" if fault else "")
        what = f"{operation or last['method']} {answer}{_times(calls)}"
        yield {"what": what, "text": because, "path": f"calls/{last['n']}"}


def _rules(rules: Iterable[View]) -> Iterator[JSON]:
    for rule in rules:
        if "noTarget" in rule and "did" not in rule:
            yield {"what": f"Rule {rule['id']} had no effect", "text": rule["noTarget"], "path": "scenarios"}


def _findings(findings: Iterable[View]) -> Iterator[JSON]:
    """Yield the findings, those of one rule together."""
    groups: dict[str, list[View]] = {}
    for finding in findings:
        groups.setdefault(finding["rule"], []).append(finding)
    for rule, found in groups.items():
        yield {"what": f"{rule}{_times(found)}", "text": found[0]["message"], "path": "conduct"}


def _times(rows: Sequence[View]) -> str:
    return f" ×{len(rows)}" if len(rows) > 1 else ""
