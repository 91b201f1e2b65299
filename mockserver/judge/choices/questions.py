"""
The fewest further calls that would show more of the choices: reads and refused calls first, each as a line of curl.

A word in capitals, such as CAMPAIGN, is an id that the caller fills in.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from mockserver._json import JSON
from mockserver.judge.choices.learning import LearnedChoice

Effect = Literal["read", "refused", "creates"]
_EFFECTS: Final[Mapping[Effect, str]] = {
    "read": "changes nothing",
    "refused": "is refused or changes nothing",
    "creates": "creates a record",
}


@dataclass(frozen=True)
class Question:
    """
    A call whose answer depends on choices.

    Attributes:
        call: The method and the path.
        choices: Ids of the choices that its answer shows.
        effect: Whether it reads, is refused under each option, or may create something.
        body: Its JSON, None without one.
        is_empty_json: Whether it has a JSON Content-Type and no body.
    """

    call: str
    choices: tuple[str, ...]
    effect: Effect = "read"
    body: Any = None
    is_empty_json: bool = False

    def as_json(self) -> JSON:
        """Return the row for programs."""
        return {"call": self.call, "choices": list(self.choices), "effect": self.effect, "body": self.body}


def _filter(field: str, operator: str, value: object) -> JSON:
    return {"filters": [{"combinator": "and", "statements": [{"field": field, "operator": operator, "value": value}]}]}


_PREVIEW: Final = "POST /v1/campaigns/audience-preview"
_CAMPAIGNS: Final = "POST /v1/campaigns"
_SESSIONS: Final = "/v1/entrypoints/chatapp/connection-sessions"
_UNKNOWN: Final = {"name": "a question", "templateId": "template_unknown", "cadence": 1}
_SAME_AGAIN: Final = frozenset(("list-order", "group-no-statements"))  # asked again, they leave the same set
# fmt: off
QUESTIONS: Final[tuple[Question, ...]] = (
    Question("GET /v1/message-templates", ("provider-status-internal", "list-order", "datetime-spelling", "additive-fields", "new-enum-values")),
    Question("GET /v1/campaigns/CAMPAIGN", ("detail-fields", "completedAt-on-cancel-fail", "datetime-spelling")),
    Question(f"GET {_SESSIONS}/unknown", ("session-unknown-code", "error-extra-keys", "message-text")),
    Question("GET /v1/campaigns/CAMPAIGN/executions/unknown", ("execution-not-found-code", "error-extra-keys", "message-text")),
    Question("GET /v1/messaging/chats/CHAT?limit=2", ("short-pages", "message-required-fields", "message-absent-vs-null")),
    Question("GET /v1/messaging/chats/CHAT?limit=100", ("next-cursor-end",)),
    Question("GET /v1/entrypoints/ENTRYPOINT", ("funnel-null",)),
    Question(_PREVIEW, ("empty-json-body", "success-status"), is_empty_json=True),
    Question(_PREVIEW, ("filters-empty-list", "filter-error-split"), body={"filters": []}),
    Question(_PREVIEW, ("group-no-statements",), body={"filters": [{"combinator": "and", "statements": []}]}),
    Question(_PREVIEW, ("filter-error-split", "error-extra-keys", "message-text"), body={"filters": [{"combinator": "and"}]}),
    Question(_PREVIEW, ("unknown-body-keys",), body={"anUnknownKey": True}),
    Question(_PREVIEW, ("null-for-optional",), body={"filters": None}),
    Question(_PREVIEW, ("platform-value-unknown",), body=_filter("chat.platform", "equals", "telegraph")),
    Question(_PREVIEW, ("platform-text-operators",), body=_filter("chat.platform", "contains", "app")),
    Question(_PREVIEW, ("date-offset",), body=_filter("chat.virtual.lastMessageAt", "greater-than", "2026-01-01T00:00:00-03:00")),
    Question(_PREVIEW, ("date-only-and-naive",), body=_filter("chat.virtual.lastMessageAt", "greater-than", "2026-01-01")),
    Question(_CAMPAIGNS, ("template-not-found-code",), "refused", _UNKNOWN | {"platform": "chatapp"}),
    Question(_CAMPAIGNS, ("platform-required",), "refused", _UNKNOWN),
    Question(f"POST {_SESSIONS}", ("funnelId-alone",), "refused", {"funnelId": "funnel_unknown"}),
    Question("POST /v1/campaigns/RUNNING/start", ("not-draft-vs-already-processing",), "refused", {}),
    Question("POST /v1/campaigns/COMPLETED/cancel", ("cancel-final",), "refused"),
    Question("POST /v1/campaigns/CANCELED/cancel", ("repeat-cancel",), "refused"),
    Question(f"POST {_SESSIONS}", ("datetime-spelling",), "creates", {}),
    Question(f"POST {_SESSIONS}", ("return-url-scheme",), "creates", {"returnUrl": "http://localhost/"}),
    Question(f"POST {_SESSIONS}", ("funnel-checked-when",), "creates", {"funnelId": "unknown", "funnelStepId": "unknown"}),
    Question(f"GET {_SESSIONS}/SESSION", ("session-read-fields", "reason-when-none", "entrypoint-when-failed", "entrypoint-two-shapes")),
)
# fmt: on


def questions(learnt: Iterable[LearnedChoice]) -> list[Question]:
    """
    Return the calls that would show most of the choices that are open, the safe ones first.

    Of calls with one effect the one that shows most of what the calls before it leave open is next; each shows a choice that no
    other one of the list does.
    """
    left = {row.id for row in learnt if row.state == "not-shown"}
    left |= {row.id for row in learnt if row.state == "set" and row.id not in _SAME_AGAIN}
    rows: list[Question] = []
    for effect in _EFFECTS:
        candidates = [question for question in QUESTIONS if question.effect == effect]
        for _ in range(len(candidates)):
            best = max(candidates, key=lambda question: len(left.intersection(question.choices)))
            shown = tuple(id for id in best.choices if id in left)
            left -= set(shown)
            rows += [replace(best, choices=shown)] if shown else []
    return rows


def next_line(rows: list[Question]) -> str:
    """Return the first question in one line, and how many there are."""
    first = rows[0]
    body = f" {json.dumps(first.body)}" if first.body is not None else ""
    count = f"; {len(rows)} questions in all, by --questions" if len(rows) > 1 else ""
    return f"next question: {first.call}{body} would show {', '.join(first.choices)} ({_EFFECTS[first.effect]}){count}"


def lines(rows: Iterable[Question], prefix: str) -> Iterator[str]:
    """Yield each question as a comment and a line of curl, for a shell with the key in KEY."""
    for row in rows:
        yield f"# {', '.join(row.choices)}: {_EFFECTS[row.effect]}"
        method, _, path = row.call.partition(" ")
        words = [f'curl -s -X {method} -H "X-API-Key: $KEY"']
        if row.body is not None or row.is_empty_json:
            words.append("-H 'Content-Type: application/json'")
        if row.body is not None:
            words.append(f"-d {shlex.quote(json.dumps(row.body))}")
        yield " ".join([*words, shlex.quote(f"{prefix}{path}")])
