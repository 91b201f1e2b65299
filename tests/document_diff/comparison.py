"""The sentences in which two versions of the API document differ, and what of the contract each of them touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from tests.document_diff.references import References
from tests.document_diff.sentences import Sentence, unknown_names

Kind = Literal["changed", "new", "removed", "moved"]


class Change(NamedTuple):
    """
    One sentence that differs.

    Attributes:
        kind: `moved` is a sentence that is elsewhere, with the same words.
        old: the former sentence; of a new one the sentence before it.
        new: the sentence now; of a removed one None.
    """

    kind: Kind
    old: Sentence | None
    new: Sentence | None


def compare(old: Sequence[Sentence], new: Sequence[Sentence]) -> list[Change]:
    """Return the changes, in the order of the new version."""
    matcher = SequenceMatcher(None, [row.digest for row in old], [row.digest for row in new], autojunk=False)
    blocks = [
        (old[i:j], new[k:l], old[i - 1] if i else None) for tag, i, j, k, l in matcher.get_opcodes() if tag != "equal"
    ]
    gone = {row.digest for before, _, _ in blocks for row in before}
    added = {row.digest for _, after, _ in blocks for row in after}
    changes: list[Change] = []
    for before, after, above in blocks:
        changes += [
            Change("moved", row, next(each for each in new if each.digest == row.digest))
            for row in before
            if row.digest in added
        ]
        left, right = (
            [row for row in rows if row.digest not in other] for rows, other in ((before, added), (after, gone))
        )
        pairs = min(len(left), len(right))
        changes += [Change("changed", *pair) for pair in zip(left, right, strict=False)]
        changes += [Change("removed", row, None) for row in left[pairs:]]
        changes += [Change("new", left[-1] if left else above, row) for row in right[pairs:]]
    return changes


def moved_lines(old: Sequence[Sentence], new: Sequence[Sentence]) -> dict[int, int]:
    """Return the number in the new version of each line of the old one that is there, whole or in part."""
    matcher = SequenceMatcher(None, [row.digest for row in old], [row.digest for row in new], autojunk=False)
    lines: dict[int, int] = {}
    for change in compare(old, new):
        if change.kind in ("changed", "moved") and change.old and change.new:
            lines[change.old.line] = change.new.line
    for i, k, count in matcher.get_matching_blocks():
        lines |= {old[i + each].line: new[k + each].line for each in range(count)}
    return lines


def report(change: Change, references: References) -> Iterator[str]:
    """Yield a headline, the texts, and one line for each kind of row that the change touches."""
    old, new = change.old, change.new
    place = f"L{new.line}" if new else f"L{old.line}" if old else ""
    if old and new and change.kind != "new" and old.line != new.line:
        place = f"L{old.line}, now L{new.line}"
    elif change.kind == "new" and old:
        place += f", after L{old.line}"
    yield f"{change.kind} {place}"
    if old and old.text and change.kind != "new":
        yield f"  was: {old.text}"
    if new and change.kind != "removed":
        yield f"  is: {new.text}"
    if change.kind == "moved":
        return
    for kind, ids in touched(change, references).items():
        yield f"  {kind}: {', '.join(ids)}"


def touched(change: Change, references: References) -> dict[str, tuple[str, ...]]:
    """Return by kind what a change touches: rows that refer to the line, and the names in the sentence, also new ones."""
    rows = [row for row in (change.old, change.new) if row]
    line = change.old.line if change.old else None
    found = {**references.get(line, {})} if line else {}
    if change.kind == "new":
        found = {f"{kind} of the sentence before": ids for kind, ids in found.items()}
        rows = rows[-1:]
    named = tuple(dict.fromkeys(name for row in rows for name in row.names))
    found |= {"codes": tuple(name for name in named if name.isupper())}
    found |= {"operations": tuple(name for name in named if not name.isupper())}
    found |= {"not in the contract": tuple(unknown_names(change.new.text)) if change.new else ()}
    return {kind: ids for kind, ids in found.items() if ids}
