"""What the checks of clauses find: how much was compared, what a choice excuses, and what breaks a clause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from mockserver.judge.service.evidence import Rows, both
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.facts import Fact
from mockserver.trace.order import Ranked, precedes, reversal
from mockserver.trace.sightings import Sighting
from mockserver.trace.trace import Trace

Alternative = Mapping[str, frozenset[str]]  # options of choices that together fit an answer
# The weakest assumption of a breach that needs no other.
ONE_SERVICE: Final = "both are answers of one service, which was not reset between them"
ONE_ANSWER: Final = "one answer shows the state of one instant"
UNCHANGED: Final = "reads show every write before them, and nothing was edited or deleted outside of the API"
ALONE: Final = "no other caller, whom the recording does not show, did it"
ONE_CLOCK: Final = "the Date of an answer and the dates in bodies are of clocks at most 5 seconds apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """
    What breaks a clause under every option of every choice: two values, or an answer that is not what was expected.

    Attributes:
        clause: The clause's id.
        cited: The exchanges and deliveries that show it, the earlier first.
        record: The id of the record, or `#` and the number of a call; empty if it is about several.
        values: The two values that cannot both be the service's word; none of a single answer.
        assumption: The weakest assumption on which it rests; empty of a single answer.
        expected: What a single answer should have been.
    """

    clause: str
    cited: Sequence[Cited]
    record: str = ""
    values: tuple[str, ...] = ()
    assumption: str = ""
    expected: str = ""


class Kept(NamedTuple):
    """Comparisons that fit."""

    clause: str
    comparisons: int = 1


class Excused(NamedTuple):
    """An option of a choice that allows what would break a clause otherwise."""

    clause: str
    choice: str


class Shown(NamedTuple):
    """Combinations of options of which one has led to an answer or event."""

    alternatives: tuple[Alternative, ...]
    cited: Cited


Found = Iterator[Breach | Kept | Excused | Shown]


def breach(
    clause: str,
    values: tuple[str, str],
    *shown: Sighting | Cited,
    assumption: str | None = None,
    record: str | None = None,
) -> Breach:
    """
    Return two values that cannot both be the service's word.

    Args:
        clause: The clause's id.
        values: The two values, in words, in the order of `shown`.
        shown: What shows it.
        assumption: By default that of one answer or of one service.
        record: By default that of the last sighting, or of the first call if there is none.
    """
    usual = ONE_ANSWER if len(shown) == 1 else ONE_SERVICE
    all_cited = [row.cited if isinstance(row, Sighting) else row for row in shown]
    cited = list({id(row): row for row in all_cited}.values())
    if len(cited) == 2 and precedes(cited[1], cited[0]):
        cited.reverse()
        values = values[1], values[0]
    return Breach(
        clause=clause,
        cited=cited,
        record=_record(shown) if record is None else record,
        values=values,
        assumption=assumption or usual,
    )


def judged(
    clause: str,
    is_kept: bool,
    values: tuple[str, str],
    *shown: Sighting | Cited,
    assumption: str | None = None,
    record: str | None = None,
) -> Kept | Breach:
    """Return a comparison, or the breach if it does not fit; for the arguments see `breach`."""
    return Kept(clause) if is_kept else breach(clause, values, *shown, assumption=assumption, record=record)


def answered(clause: str, is_kept: bool, answer: Exchange, expected: str) -> Kept | Breach:
    """Return a comparison of a single answer, or the breach if it does not fit."""
    return Kept(clause) if is_kept else Breach(clause=clause, cited=[answer], expected=expected)


def observed(choice: str, options: Iterable[str], cited: Cited) -> Shown:
    """Return the options of one choice that lead to an answer or event; none if no option does."""
    return Shown(({choice: frozenset(options)},), cited)


def fixed(clause: str, field: str, rows: Rows, assumption: str | None = None, *, is_private: bool = False) -> Found:
    """Compare a field that never changes, in all sightings of one record that show it; a private value is not cited."""
    seen = [row for row in rows if field in row.shown]
    yield Kept(clause, len(seen) - 1)
    for row in seen[1:]:
        first, value = seen[0].shown[field], row.shown[field]
        if _trimmed(first) != _trimmed(value):
            yield breach(clause, changed(field, first, value, is_private), seen[0], row, assumption=assumption)


def changed(field: str, first: Any, second: Any, is_private: bool) -> tuple[str, str]:
    """Return two values of a field in words, without them if they are private, as one of another type may be."""
    if is_private or type(first) is not type(second):
        return f"a {field}", "another one"
    return f"{field} {first!r}", f"{field} {second!r}"


def one_end(clause: str, ends: Rows) -> Found:
    """Compare all sightings of a record's end with the first."""
    yield Kept(clause, len(ends) - 1)
    for row in ends[1:]:
        if row.status != ends[0].status:
            yield breach(clause, both(ends[0], row), ends[0], row)


def never_falls(clause: str, rows: Iterable[Ranked], field: str = "", *, comparisons: int = 0) -> Found:
    """Compare the ranks of a field, or of the state: they never fall; else there were so many comparisons."""
    pair = reversal(rows)
    if pair is None:
        yield Kept(clause, comparisons)
        return
    values = both(*pair)
    if field:
        earlier, later = (row.shown[field] for row in pair)
        values = f"{field} {earlier}", f"then {'null' if later is None else later}"
    yield breach(clause, values, *pair)


def _record(shown: Sequence[Sighting | Cited]) -> str:
    sightings = [row for row in shown if isinstance(row, Sighting)]
    if sightings:
        return sightings[-1].id
    calls = [row for row in shown if not isinstance(row, Sighting)]
    return f"#{calls[0].number}"


def _trimmed(value: Any) -> Any:
    """Return a value without what a service may drop of a text: white space at its ends, and a text that is empty."""
    return (value.strip() or None) if isinstance(value, str) else value


class Verdicts:
    """
    What the checks find.

    Attributes:
        breaches: In the order of the checks; of those with values at most one for each clause and record.
        compared: The number of comparisons, by clause.
        excused: For a clause, the choice that allows what would break it otherwise.
        observations: What single answers show of choices.
    """

    def __init__(self) -> None:
        self.breaches: list[Breach] = []
        self.compared: Counter[str] = Counter()
        self.excused: dict[str, str] = {}
        self.observations: list[Shown] = []
        self._known: set[tuple[str, str]] = set()

    def collect(self, found: Found) -> None:
        """Take what a check finds; a second breach of the same clause and record adds nothing."""
        for row in found:
            if isinstance(row, Shown):
                self.observations.append(row)
            elif isinstance(row, Excused):
                self.excused.setdefault(row.clause, row.choice)
            elif isinstance(row, Kept):
                self.compared[row.clause] += max(0, row.comparisons)
            else:
                self._break(row)

    def _break(self, row: Breach) -> None:
        self.compared[row.clause] += 1
        if row.expected or (row.clause, row.record) not in self._known:
            self._known.add((row.clause, row.record))
            self.breaches.append(row)


Scope = Literal["answers", "tenant", "trace"]


class ClauseCheck(NamedTuple):
    """
    How clauses are judged.

    Attributes:
        clauses: Their ids.
        judge: Yields what it finds in a trace; None if no trace shows that they are broken.
        needs: What the trace has to know; else they are not judged.
        scope: What the judge gets: the trace of each `tenant`, the whole `trace`, or the `answers` of it that are the service's
            word.
        unshown: Why no trace shows that they are broken; empty if there is a judge.
    """

    clauses: Sequence[str]
    judge: Callable[[Trace], Found] | None = None
    needs: tuple[Fact, ...] = ()
    scope: Scope = "tenant"
    unshown: str = ""


TENANTS: Final[tuple[Fact, ...]] = ("tenants",)
