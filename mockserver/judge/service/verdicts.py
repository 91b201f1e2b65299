"""What the histories of a recording prove: contradictions, the clauses that were compared, and those that a choice excuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mockserver.trace.exchange import Cited
from mockserver.trace.order import precedes
from mockserver.trace.sightings import Sighting

# The weakest assumption of a contradiction that needs no other.
ONE_SERVICE: Final = "both are answers of one service, which was not reset between them"
ONE_ANSWER: Final = "one answer shows the state of one instant"
UNCHANGED: Final = "reads show every write before them, and nothing was edited or deleted outside of the API"
ALONE: Final = "no other caller, whom the recording does not show, did it"
ONE_CLOCK: Final = "the Date of an answer and the dates in bodies are of clocks at most 5 seconds apart"


class Contradiction(NamedTuple):
    """
    Two values that cannot both be the service's word under any option of any choice.

    Attributes:
        clause: The id of the clause that they break.
        cited: The exchanges and deliveries that show them, the earlier first.
        record: The id of the record; empty if it is about several.
        values: The two values, in words.
        assumption: The weakest assumption on which it rests.
    """

    clause: str
    cited: Sequence[Cited]
    record: str
    values: tuple[str, str]
    assumption: str


class Verdicts:
    """
    Collects what the checks prove.

    Attributes:
        contradictions: At most one for each clause and record, in the order of the checks.
        compared: How many comparisons there were, by clause.
        excused: For a clause, the choice that excuses what would contradict it otherwise.
        not_shown: For a clause, why this recording cannot show whether it holds.
    """

    def __init__(self) -> None:
        self.contradictions: list[Contradiction] = []
        self.compared: Counter[str] = Counter()
        self.excused: dict[str, str] = {}
        self.not_shown: dict[str, str] = {}
        self._known: set[tuple[str, str]] = set()

    def hold(self, clause: str, comparisons: int = 1) -> None:
        """Note comparisons that fit."""
        if comparisons > 0:
            self.compared[clause] += comparisons

    def excuse(self, clause: str, choice: str) -> None:
        """Note that an option of a choice allows what would contradict the clause otherwise."""
        self.excused.setdefault(clause, choice)

    def broken(
        self, clause: str, cited: Sequence[Cited], record: str, values: tuple[str, str], assumption: str = ONE_SERVICE
    ) -> None:
        """Note a contradiction; a second one of the same clause and record adds nothing."""
        self.compared[clause] += 1
        if (clause, record) in self._known:
            return
        self._known.add((clause, record))
        cited = [row for place, row in enumerate(cited) if not any(row is other for other in cited[:place])]
        in_order = [cited[1], cited[0]] if len(cited) == 2 and precedes(cited[1], cited[0]) else cited
        swapped = in_order is not cited
        self.contradictions.append(
            Contradiction(
                clause=clause,
                cited=in_order,
                record=record,
                values=(values[1], values[0]) if swapped else values,
                assumption=assumption,
            )
        )

    def judge(
        self,
        clause: str,
        is_kept: bool,
        cited: Sequence[Cited],
        record: str,
        values: tuple[str, str],
        assumption: str = ONE_SERVICE,
    ) -> None:
        """Note a comparison, and the contradiction if it does not fit."""
        if is_kept:
            self.compared[clause] += 1
        else:
            self.broken(clause, cited, record, values, assumption)

    def fixed(
        self,
        clause: str,
        field: str,
        rows: Sequence[Sighting],
        assumption: str = ONE_SERVICE,
        *,
        is_private: bool = False,
    ) -> None:
        """Compare a field that never changes, in all sightings of one record that show it; a private value is not cited."""
        seen = [row for row in rows if field in row.shown]
        self.hold(clause, len(seen) - 1)
        for row in seen[1:]:
            first, value = seen[0].shown[field], row.shown[field]
            if first != value and _trimmed(first) != _trimmed(value):
                values = (f"a {field}", "another one") if is_private else (f"{field} {first!r}", f"{field} {value!r}")
                self.broken(clause, [seen[0].cited, row.cited], row.id, values, assumption)


def _trimmed(value: Any) -> Any:
    """Return a value without what a service may drop of a text: white space at its ends, and a text that is empty."""
    return (value.strip() or None) if isinstance(value, str) else value
