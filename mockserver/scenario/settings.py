"""Setting choices, and saying what is wrong with a value that is no option."""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.contract import choices
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.nearest import nearest
from mockserver.core.redaction import spelled
from mockserver.core.sandbox import Sandbox
from mockserver.scenario.problems import Problem, step


def set_choices(sandbox: Sandbox, wanted: Mapping[str, object], problems: list[Problem]) -> None:
    """Set these choices, keys left out of a number-valued one keeping what they had; collects what is no option."""
    chosen = sandbox.choices.copy() if isinstance(sandbox.choices, dict) else dict(sandbox.choices)
    for choice_id, value in wanted.items():
        wrong = choice_problem(choice_id, value, hints=len(problems) < PROBLEMS_MAX)
        if wrong is not None:
            problems.append(wrong)
        else:
            chosen[choice_id] = choices.merged(choice_id, chosen[choice_id], value)
    if wanted and not problems:
        sandbox.choices = chosen


def choice_problem(choice_id: str, value: object, *, hints: bool = True) -> Problem | None:
    """What is wrong with this value of a choice, and where it stands in a document, or None; `hints` has the nearest id searched for."""
    path = f"/choices{step(choice_id)}"
    if choice_id not in choices.CHOICES and choice_id not in choices.FIXED:
        near = nearest(choice_id, choices.CHOICES) if hints else None
        return Problem(path, spelled(choice_id), "the id of a choice", near)
    wrong = choices.problem(choice_id, value)
    if wrong is None:
        return None
    said, _, hint = wrong.partition("; the nearest is ")
    return Problem(path, spelled(value), said.partition("wanted ")[2] or said, hint.strip("'") or None)
