"""
Prints what a new text of the API document touches, sentence by sentence: `python -m tests.document_diff NEW`.

The exit status is 1 if a sentence differs. `--old FILE` also prints the former texts; `--adopt` makes NEW the document
that this version implements: it writes the index, and renumbers the lines that the tables refer to.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mockserver.contract import clauses
from tests.contract.test_clauses import marks_of_the_suite
from tests.document_diff.comparison import compare, moved_lines, report, touched
from tests.document_diff.references import FILES, references, renumbered
from tests.document_diff.sentences import INDEX, index_text, read_index, sentences


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.document_diff", description=__doc__)
    parser.add_argument("new", type=Path, metavar="NEW", help="the new text of the document")
    parser.add_argument("--old", type=Path, metavar="FILE", help="the former text, for its sentences")
    parser.add_argument(
        "--adopt", action="store_true", help="write the index of NEW, and renumber the lines in the tables"
    )
    options = parser.parse_args(arguments)
    new, old = sentences(options.new.read_text(encoding="utf-8")), read_index()
    if options.old is not None:
        former = sentences(options.old.read_text(encoding="utf-8"))
        if [row.digest for row in former] != [row.digest for row in old]:
            parser.error(f"got {options.old}, which is not the document that this version implements")
        old = former
    changes, rows = compare(old, new), references()
    for change in changes:
        print("\n".join(report(change, rows)), end="\n\n")
    near = [touched(change, rows).get("clauses", ()) for change in changes if change.kind != "moved"]
    ids = {id for each in near for id in each}
    print(f"{len(changes)} of {len(new)} sentences differ; {len(ids)} clauses are touched")
    for clause in clauses.read():
        if clause.id in ids:
            print(f"  {clause.id} ({clause.where}): {', '.join(sorted(set(marks_of_the_suite().get(clause.id, ()))))}")
    if options.adopt:
        lines = moved_lines(old, new)
        for file in FILES:
            text = file.read_text(encoding="utf-8")
            file.write_text(renumbered(text, lines), encoding="utf-8", newline="\n")
        INDEX.write_text(index_text(new), encoding="utf-8", newline="\n")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
