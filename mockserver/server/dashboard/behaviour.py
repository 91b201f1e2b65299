"""The views of conduct with the ledger, of choices, and of scenarios with the rules in force."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from mockserver._json import JSON
from mockserver.contract.clauses import sentence_of
from mockserver.contract.effects import FORGERIES
from mockserver.contract.endpoints import OPERATIONS
from mockserver.judge.check import merged
from mockserver.judge.client.judge import finding
from mockserver.report.findings import judged_rules, judged_text, problem_of
from mockserver.report.problem import CallLine
from mockserver.server.dashboard.plane import Plane
from mockserver.server.errors import ControlError

# Of the ledger's lists: the heading of each, the executions and sends themselves last.
_LEDGER: Final = {
    "duplicateExecutions": "Executions that a client started twice",
    "duplicateSends": "Messages that were sent twice",
    "clonedCampaigns": "Campaigns created again under another name",
    "abandonedSessions": "Sessions that no call read to their end",
    "unusedMedia": "Files that nothing uses",
    "executions": "Executions",
}
_LEDGER_ROWS: Final = 200
# The faults that the form arms for the next call: the words of each, and its effect.
FAULTS: Final = (
    ("lose the answer after it took effect", {"drop": "after"}),
    ("lose the call before it takes effect", {"drop": "before"}),
    ("reset the connection after it took effect", {"reset": "after"}),
    ("answer 504 of a proxy after it took effect", {"bad-gateway": {"when": "after", "status": 504}}),
    ("answer 502 of a proxy before it takes effect", {"bad-gateway": "before"}),
    ("refuse with INTERNAL_ERROR", {"error": "INTERNAL_ERROR"}),
    ("refuse with RATE_LIMIT_EXCEEDED", {"error": {"code": "RATE_LIMIT_EXCEEDED", "retryAfter": 5}}),
    ("answer 30 seconds late", {"delay-after": "30s"}),
    ("cut the answer after 20 bytes", {"truncate": 20}),
    ("answer something that is not JSON", {"garble": True}),
    ("answer as before the last change", {"stale": True}),
)
DELIVERY_FAULTS: Final = (
    ("deliver it twice", {"deliver": {"duplicate": 1}}),
    ("lose it", {"deliver": {"lose": True}}),
    ("deliver it after the next one", {"deliver": {"reorder": True}}),
    ("deliver it five minutes late", {"deliver": {"delay": "5m"}}),
    *((f"send a forged request too: {name}", {"deliver": {"forge": name}}) for name in FORGERIES),
)


def conduct(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the findings with their calls, and what the calls have caused."""
    report, ledger = plane.read("readConduct"), plane.read("readLedger")
    findings = [finding(row["rule"], row["message"], row["exchanges"]) for row in report["findings"]]
    lines = _lines(plane, {number for found in findings for number in found.exchanges})
    cards = [
        {"problem": problem_of(found, lines), "severity": found.severity, "count": count}
        for found, count in merged(findings).items()
    ]
    judged = judged_rules(row["rule"] for row in report["notAssessed"])
    lists = [
        {"heading": heading, "rows": list(ledger[name])[: -_LEDGER_ROWS - 1 : -1], "total": len(ledger[name])}
        for name, heading in _LEDGER.items()
    ]
    return "conduct.html", {
        "cards": cards,
        "judged": judged_text(judged, (found.rule for found in findings)),
        "not_assessed": report["notAssessed"],
        "lists": lists,
        "sends": len(ledger["sends"]),
        "counted": "call change",
    }


def _lines(plane: Plane, numbers: Collection[int]) -> dict[int, CallLine]:
    """Return the lines of these calls, of those that the journal still has."""
    if not numbers:
        return {}
    journal = plane.read("readJournal", since=str(min(numbers) - 1), before=str(max(numbers) + 1))
    lines = {}
    for call in journal["exchanges"]:
        request, response = call["request"], call["response"]
        result = str(response["status"]) if response is not None else "no answer"
        lines[call["n"]] = CallLine(number=call["n"], text=f"{request['method']} {request['path']}", result=result)
    return lines


_READ, _SET, _OTHER, _BY_DEFAULT = "Read by this run", "Set to another option", "Every other choice", "By default"


def choices(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the choices: those that this run has read first, then those that are set, then the rest."""
    try:
        tracked: set[str] | None = set(plane.read("readTrackedChoices")["read"])
    except ControlError:  # they are not tracked yet
        tracked = None
    text = query.get("text", "")
    rows = [
        row
        for row in plane.read("readChoices")["choices"]
        if text.casefold() in f"{row['id']} {row['question']} {row['clause']}".casefold()
    ]
    unset = _OTHER if tracked else _BY_DEFAULT
    groups: dict[str, list[JSON]] = {_READ: [], _SET: [], unset: []}
    for row in rows:
        is_default = row["value"] == row["default"]
        heading = unset if is_default else _SET
        if tracked and row["id"] in tracked:
            heading = _READ
        groups[heading].append({**row, "is_default": is_default})
    return "choices.html", {
        "groups": [{"heading": heading, "rows": part} for heading, part in groups.items() if part],
        "is_tracked": tracked is not None,
        "text": text,
        "counted": "",
    }


def scenarios(plane: Plane, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the library with the rules in force, or what one scenario does."""
    if item:
        answer = plane.read("readScenario", name=item)
        document = answer["document"]
        clauses = [{"id": clause, "sentence": sentence_of(clause)} for clause in document.get("clauses", ())]
        return "scenario_page.html", {"document": document, "rules": answer["rules"], "clauses": clauses, "counted": ""}
    text = query.get("text", "").casefold()
    rows = plane.read("listScenarios")["scenarios"]
    matching = [row for row in rows if text in f"{row['name']} {row['summary']} {' '.join(row['clauses'])}".casefold()]
    return "scenarios.html", {
        "rows": matching,
        "total": len(rows),
        "rules": plane.read("listRules")["rules"],
        "operations": OPERATIONS,
        "faults": FAULTS,
        "delivery_faults": DELIVERY_FAULTS,
        "text": query.get("text", ""),
        "counted": "",
    }
