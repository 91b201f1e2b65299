"""The views of choices, and of scenarios with the rules in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mockserver._json import JSON
from mockserver.contract.clauses import sentence_of
from mockserver.contract.effects import FORGERIES
from mockserver.contract.endpoints import OPERATIONS
from mockserver.server.control.page_access import PageAccess

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


def choices(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the choices: those that are set to another option than the default first, then the rest."""
    rows = [{**row, "is_default": row["value"] == row["default"]} for row in plane.read("readChoices")["choices"]]
    groups = [
        {"heading": "Set to another option", "rows": [row for row in rows if not row["is_default"]]},
        {"heading": "By default", "rows": [row for row in rows if row["is_default"]]},
    ]
    return "choices.html", {"groups": [group for group in groups if group["rows"]]}


def scenarios(plane: PageAccess, query: Mapping[str, str], item: str) -> tuple[str, JSON]:
    """Return the library with the rules in force, or what one scenario does."""
    if item:
        answer = plane.read("readScenario", name=item)
        document = answer["document"]
        clauses = [{"id": clause, "sentence": sentence_of(clause)} for clause in document.get("clauses", ())]
        return "scenario_page.html", {"document": document, "rules": answer["rules"], "clauses": clauses}
    return "scenarios.html", {
        "rows": plane.read("listScenarios")["scenarios"],
        "rules": plane.read("listRules")["rules"],
        "operations": OPERATIONS,
        "faults": FAULTS,
        "delivery_faults": DELIVERY_FAULTS,
    }
