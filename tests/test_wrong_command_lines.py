"""
Each wrong command line is refused with `got X; expected Y; did you mean Z?`, the status 2, and nothing changed.

The command lines and their refusals are in `golden`; `python -m tests.reports` writes the refusals again.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.harness import transcripts
from tests.harness.rows import each_row

REFUSALS = Path(__file__).parent / "golden" / "wrong_command_lines.txt"
FORM = re.compile(r"\bgot .+; expected [^;]+(; did you mean '.+'\?)?")
FILES = {
    "broken.yaml": b"a: [1\n",
    "unknown.yaml": b"version: 1\nscenario: x\ngivn: {}\n",
    "list.yaml": b"- 1\n",
    "profile.yaml": b"choices: {dual-statu: guide}\n",
    "binary.yaml": b"\xff\xfe",
    "empty.json": b"{}",
    "list.json": b"[]",
    "cut.har": b'{"log":',
    "empty.har": b"",
    "page.html": b"<title>Other</title>",
    "first.html": b'<script type="application/json" id="trace">{"document": {}}</script>',
    "third.html": b'<script type="application/json" id="trace">{"version": 3, "document": {}}</script>',
    "short.txt": b"let-me-\n",
}


def write_files(folder: Path) -> None:
    """Write the files that the command lines name."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)


@each_row(("line", "refusal"), transcripts.kept(REFUSALS).items())
def test_a_wrong_command_line_is_refused_with_what_is_expected(line: str, refusal: str, tmp_path: Path) -> None:
    write_files(tmp_path)

    ended = transcripts.run(line, tmp_path)

    assert (2, "") == (ended.status, ended.out)
    assert transcripts.is_kept(refusal, ended.err), ended.err
    assert FORM.search(ended.err)
    assert [] == re.findall(r"[sp]k_\w+", ended.err), "a key is printed"
    assert FILES == {file.name: file.read_bytes() for file in tmp_path.iterdir()}
