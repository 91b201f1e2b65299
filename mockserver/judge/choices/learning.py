"""
Learn from a recording which options of the choices the service has: one, a set, none that fits, or not shown.

1. Each answer gives combinations of options that fit it (`forms`, `replays`, and the checks of single answers). An option
   remains if for each answer it is part of a combination whose other options remain too.
2. A choice of which no option remains is contradicted: the recording shows a behaviour that no row of the choices has.
3. A choice is not shown if no answer excludes one of its options.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.judge.choices.facts import Facts
from mockserver.judge.choices.forms import shown_by_forms
from mockserver.judge.choices.replays import shown_by_replays
from mockserver.judge.service.judge import judge_scopes
from mockserver.judge.service.verdicts import Alternative, Shown
from mockserver.trace.exchange import Cited, DeliveryAttempt, Exchange
from mockserver.trace.trace import Trace

State = Literal["settled", "set", "contradicted", "not-shown"]
_CITED_MAX: Final = 3
_CONTRADICT = "the answers contradict each other"
_NO_OPTION = "no option leads to this answer"
_NUMBERS = "answers show bounds of the number, and not the number itself"
_PAGE = "it shows at the hosted page, which is no part of the API"
_CHATS = "it depends on the chats of an audience, which no answer shows and which may change between two counts"
_SENDS = "sends may fail for other reasons, and no answer shows the chats of an audience"
_RARE = "few answers show it, which are not compared"
_ENDS = "no answer shows when a session ended that was read as pending"
# Why no recording shows a choice.
NOT_LEARNT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rate-limit-numbers", "size-limit-values", "throughput-ceilings", "media-max-files", "media-max-size"), _NUMBERS),
    **dict.fromkeys(("link-consumed-when", "return-on-failure", "simulate-panel", "return-query"), _PAGE),
    **dict.fromkeys(
        ("missing-value-negative-ops", "exists-meaning", "case-sensitivity", "between-bounds", "birthdate-zone",
         "estimated-count-exactness"), _CHATS),
    **dict.fromkeys(("expiry-driver", "state-vs-event-order"), _ENDS),
    **dict.fromkeys(
        ("execution-status-lag", "head-bounds", "late-sends-after-cancel", "media-failed-item-shape", "new-enum-values", "page-stability",
         "wh-secret-rotation"), _RARE),
    "audience-off-channel": _SENDS,
    "size-limit-base": "a refusal shows neither the limit nor the size of the audience",
    "user-cancels": "a session that its user canceled has the reason of one that failed, or is pending like any other",
    "wh-timestamp": "only a mock has a second clock",
    "wh-retry": "an event that arrives again may have been sent again on demand",
    "wh-no-endpoint": "an event that is not sent is in no recording",
}  # fmt: skip


class LearnedChoice(NamedTuple):
    """
    What a recording shows of a choice.

    Attributes:
        id: The choice's id.
        question: What it decides.
        state: `settled` for one option, `set` for several, `contradicted` for none, `not-shown` for all.
        options: Those that remain; none if it is contradicted or not shown.
        exchanges: Numbers of exchanges that exclude an option, or contradict each other; a few of them.
        deliveries: Likewise of deliveries.
        why: Why it is not shown, or what contradicts it; empty otherwise.
    """

    id: str
    question: str
    state: State
    options: tuple[str, ...]
    exchanges: tuple[int, ...]
    deliveries: tuple[int, ...]
    why: str

    def as_json(self) -> JSON:
        """Return the row for programs."""
        return self._asdict()


def learn(recording: Trace) -> tuple[LearnedChoice, ...]:
    """Return what a recording shows of each choice, in their order."""
    facts = Facts(recording)
    by_forms = sorted(shown_by_forms(recording, facts), key=_place)
    rows = [*judge_scopes(recording, "answers").observations, *by_forms, *shown_by_replays(recording, facts)]
    propagation = _Propagation()
    propagation.apply(_distinct(rows))
    return tuple(map(propagation.result, CHOICES))


def _place(shown: Shown) -> tuple[bool, int]:
    return isinstance(shown.cited, DeliveryAttempt), shown.cited.number


def _distinct(rows: Iterable[Shown]) -> list[Shown]:
    """Return one of several that are equal: polls show the same again and again."""
    seen: dict[frozenset[frozenset[tuple[str, frozenset[str]]]], Shown] = {}
    for shown in rows:
        seen.setdefault(frozenset(frozenset(row.items()) for row in shown.alternatives), shown)
    return list(seen.values())


class _Propagation:
    """Removes options that fit no combination, until nothing changes."""

    def __init__(self) -> None:
        self._remaining = {id: frozenset(choice.options) for id, choice in CHOICES.items()}
        self._cited: dict[str, list[Cited]] = defaultdict(list)
        self._contradicted: dict[str, str] = {}

    def apply(self, rows: Sequence[Shown]) -> None:
        """Apply what was shown. What contradicts the rest in a single choice takes that choice out of all of it."""
        changes = [True]
        while any(changes):
            changes = [self._narrow(shown) for shown in rows]

    def _narrow(self, shown: Shown) -> bool:
        alternatives = [
            {choice: options for choice, options in row.items() if choice not in self._contradicted}
            for row in shown.alternatives
        ]
        possible = [row for row in alternatives if all(self._remaining[choice] & row[choice] for choice in row)]
        if not possible:
            return self._contradict(alternatives, shown.cited)
        is_changed = False
        for choice in frozenset.intersection(*map(frozenset, possible)):
            fitting = self._remaining[choice] & frozenset().union(*(row[choice] for row in possible))
            if fitting != self._remaining[choice]:
                self._remaining[choice] = fitting
                self._cited[choice].append(shown.cited)
                is_changed = True
        return is_changed

    def _contradict(self, alternatives: Sequence[Alternative], cited: Cited) -> bool:
        """Note a choice as contradicted if it is the only cause; of several the state, not a choice, may be the cause."""
        causes = {choice for row in alternatives for choice in row if not self._remaining[choice] & row[choice]}
        if len(causes) != 1:
            return False
        (choice,) = causes
        fits_any = any(row[choice] for row in alternatives if choice in row)
        self._contradicted[choice] = _CONTRADICT if fits_any else _NO_OPTION
        self._remaining[choice] = frozenset(CHOICES[choice].options)
        self._cited[choice].append(cited)
        return True

    def result(self, id: str) -> LearnedChoice:
        """Return what is known of a choice."""
        choice = CHOICES[id]
        options = tuple(option for option in choice.options if option in self._remaining[id])
        cited = self._cited[id][-_CITED_MAX:]
        state: State = "set" if len(options) > 1 else "settled"
        why = ""
        if id in self._contradicted:
            state, options, why = "contradicted", (), self._contradicted[id]
        elif len(options) == len(choice.options):
            state, options, why = "not-shown", (), NOT_LEARNT.get(id, "no exchange shows it")
        return LearnedChoice(
            id=id,
            question=choice.question,
            state=state,
            options=options,
            exchanges=tuple(row.number for row in cited if isinstance(row, Exchange)),
            deliveries=tuple(row.number for row in cited if isinstance(row, DeliveryAttempt)),
            why=why,
        )


def profile(learnt: Iterable[LearnedChoice], sources: Iterable[str]) -> str:
    """Return the settled options as a profile in YAML, and what else is known of choices as comments."""
    rows = list(learnt)
    settled = [f"  {row.id}: {json.dumps(row.options[0])}" for row in rows if row.state == "settled"]
    sets = [f"#   {row.id}: {' or '.join(row.options)}" for row in rows if row.state == "set"]
    wrong = [f"#   {row.id}: {row.why}" for row in rows if row.state == "contradicted"]
    return "\n".join(
        [
            f"# Options that {', '.join(sources)} shows. A choice without a line has its default.",
            *(["choices:", *settled] if settled else ["choices: {}"]),
            *(["# It leaves open which of these options the service has:", *sets] if sets else []),
            *(["# No option leads to these answers:", *wrong] if wrong else []),
            "",
        ]
    )
