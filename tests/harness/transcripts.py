"""Command lines and what each prints, kept in a file: `$ mockserver WORDS`, the lines below it, and an empty line."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from mockserver.cli import main
from mockserver.server.http1.server import Server


class Ended(NamedTuple):
    """How a command ended."""

    status: object
    out: str
    err: str


def kept(transcript: Path) -> dict[str, str]:
    """Return the command lines of a transcript with what each printed; three dots in it stand for any text."""
    blocks = transcript.read_text(encoding="utf-8").strip().split("\n\n")
    return {command.removeprefix("$ "): printed for command, _, printed in (block.partition("\n") for block in blocks)}


def is_kept(printed: str, now: str) -> bool:
    return re.fullmatch(re.escape(printed).replace(r"\.\.\.", ".*"), now.rstrip("\n")) is not None


def run(line: str, folder: Path) -> Ended:
    """Run a command line in a folder; it has the variables with which it begins, and a server that listens ends at once."""
    words = shlex.split(line)
    place = words.index("mockserver")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MOCKSERVER_")}
    variables |= dict(word.split("=", 1) for word in words[:place])
    out, err = StringIO(), StringIO()
    with ExitStack() as around:
        around.enter_context(redirect_stdout(out))
        around.enter_context(redirect_stderr(err))
        around.enter_context(chdir(folder))
        around.enter_context(mock.patch.dict(os.environ, variables, clear=True))
        around.enter_context(mock.patch.object(Server, "serve_forever"))
        try:
            status: object = main(words[place + 1 :])
        except SystemExit as end:
            status = end.code
    return Ended(status, out.getvalue(), err.getvalue())


def write(transcript: Path, folder: Path) -> list[str]:
    """Run the command lines of a transcript in a folder, write what has changed, and return the lines where it has."""
    printed = kept(transcript)
    now = {line: run(line, folder).err.rstrip("\n") for line in printed}
    changed = [line for line in printed if not is_kept(printed[line], now[line])]
    printed |= {line: now[line] for line in changed}
    blocks = [f"$ {line}\n{text}\n" for line, text in printed.items()]
    transcript.write_text("\n".join(blocks), encoding="utf-8", newline="\n")
    return changed
