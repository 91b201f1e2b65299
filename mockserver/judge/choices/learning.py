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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.judge.choices import forms
from mockserver.judge.choices.facts import Alternative, Facts
from mockserver.judge.choices.replays import Replayer
from mockserver.judge.service.answers import observed_choices
from mockserver.trace.trace import Trace

State = Literal["settled", "set", "contradicted", "not-shown"]
_CITED_MAX: Final = 3
_NUMBERS = "answers show bounds of the number, and not the number itself"
_PAGE = "it shows at the hosted page, which is no part of the API"
_CHATS = "it depends on the chats of an audience, which no answer shows and which may change between two counts"
_SENDS = "sends may fail for other reasons, and no answer shows the chats of an audience"
_ENDS = "no answer shows when a session ended that was read as pending"
# Why no recording shows a choice.
NOT_LEARNT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rate-limit-numbers", "size-limit-values", "throughput-ceilings", "media-max-files", "media-max-size"), _NUMBERS),
    **dict.fromkeys(("link-consumed-when", "return-on-failure", "simulate-panel", "return-query"), _PAGE),
    **dict.fromkeys(
        ("missing-value-negative-ops", "exists-meaning", "case-sensitivity", "between-bounds", "birthdate-zone",
         "estimated-count-exactness"), _CHATS),
    **dict.fromkeys(("expiry-driver", "state-vs-event-order"), _ENDS),
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
        exchanges: Indexes of exchanges that exclude an option, or contradict each other; a few of them.
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


class _Constraint(NamedTuple):
    """Combinations of options of which one led to an answer; `n` is its index, negative for a delivery."""

    alternatives: tuple[Alternative, ...]
    n: int


def learn(recording: Trace) -> tuple[LearnedChoice, ...]:
    """Return what a recording, without stand-ins, shows of each choice, in their order."""
    facts = Facts(recording)
    constraints = [
        _Constraint(({row.choice: row.options},), row.exchange.number) for row in observed_choices(recording)
    ]
    constraints += [
        _Constraint(shown.alternatives, -shown.n if shown.is_delivery else shown.n)
        for shown in _forms(recording, facts)
    ]
    replayer = Replayer(facts)
    for exchange in recording.exchanges:
        fitting = replayer.fitting(exchange)
        if fitting:
            constraints.append(_Constraint(fitting, exchange.number))
    propagation = _Propagation()
    propagation.apply(_distinct(constraints))
    return tuple(map(propagation.result, CHOICES))


def _forms(recording: Trace, facts: Facts) -> Iterator[forms.Shown]:
    for exchange in recording.exchanges:
        yield from forms.of_answer(exchange, facts)
    yield from forms.of_several(recording)
    yield from forms.of_deliveries(recording.deliveries)


def _distinct(constraints: Iterable[_Constraint]) -> list[_Constraint]:
    """Return one of several equal constraints: polls show the same again and again."""
    seen: dict[frozenset[frozenset[tuple[str, frozenset[str]]]], _Constraint] = {}
    for constraint in constraints:
        seen.setdefault(frozenset(frozenset(row.items()) for row in constraint.alternatives), constraint)
    return list(seen.values())


class _Propagation:
    """Removes options that fit no combination, until nothing changes."""

    def __init__(self) -> None:
        self._remaining = {id: frozenset(choice.options) for id, choice in CHOICES.items()}
        self._cited: dict[str, list[int]] = defaultdict(list)
        self._contradicted: dict[str, str] = {}

    def apply(self, constraints: Sequence[_Constraint]) -> None:
        """Apply the constraints. One that contradicts the rest in a single choice takes that choice out of all of them."""
        while any(list(map(self._narrow, constraints))):
            pass

    def _narrow(self, constraint: _Constraint) -> bool:
        alternatives = [
            {choice: options for choice, options in row.items() if choice not in self._contradicted}
            for row in constraint.alternatives
        ]
        possible = [row for row in alternatives if all(self._remaining[choice] & row[choice] for choice in row)]
        if not possible:
            return self._contradict(alternatives, constraint.n)
        is_changed = False
        for choice in frozenset.intersection(*(frozenset(row) for row in possible)):
            fitting = self._remaining[choice] & frozenset().union(*(row[choice] for row in possible))
            if fitting != self._remaining[choice]:
                self._remaining[choice] = fitting
                self._cited[choice].append(constraint.n)
                is_changed = True
        return is_changed

    def _contradict(self, alternatives: Sequence[Alternative], index: int) -> bool:
        """Note a choice as contradicted if it is the only cause; of several the state, not a choice, may be the cause."""
        causes = {
            choice for row in alternatives for choice, options in row.items() if not self._remaining[choice] & options
        }
        if len(causes) != 1:
            return False
        (choice,) = causes
        fits_any = any(row[choice] for row in alternatives if choice in row)
        self._contradicted[choice] = (
            "the answers contradict each other" if fits_any else "no option leads to this answer"
        )
        self._remaining[choice] = frozenset(CHOICES[choice].options)
        self._cited[choice].append(index)
        return True

    def result(self, id: str) -> LearnedChoice:
        """Return what is known of a choice."""
        choice = CHOICES[id]
        options = tuple(option for option in choice.options if option in self._remaining[id])
        cited = self._cited[id][-_CITED_MAX:]
        exchanges, deliveries = [n for n in cited if n > 0], [-n for n in cited if n < 0]
        state: State = "set" if len(options) > 1 else "settled"
        why = ""
        if id in self._contradicted:
            state, options, why = "contradicted", (), self._contradicted[id]
        elif len(options) == len(choice.options):
            state, options, why = "not-shown", (), _why_not_shown(id)
        return LearnedChoice(
            id=id,
            question=choice.question,
            state=state,
            options=options,
            exchanges=tuple(exchanges),
            deliveries=tuple(deliveries),
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


def _why_not_shown(id: str) -> str:
    return NOT_LEARNT.get(id, "no exchange shows it")
