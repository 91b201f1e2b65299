"""
Shell sessions of the pages (`console` blocks), replayed against a server of their own.

1. `$ ` begins a command and `> ` continues it; the lines below are what it prints.
2. `mockserver serve ... &` and `mockserver play ... &` start a server at a free port; its documented address is replaced by
   the real one in commands and in what they print. Of what the server prints, the documented number of lines is compared.
3. A line `NAME=value` or `name() { ...; }` applies to all commands below it.
4. A line `...` matches any lines. Of a command without lines below it only the exit status is checked.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.pages.blocks import Block
from tests.wheels import ROOT

NEEDED = ("bash", "curl")
_BASH = shutil.which("bash") or "bash"  # by its path: Windows would take the one of WSL by the name alone
MISSING = [program for program in NEEDED if shutil.which(program) is None]

_SHARED = re.compile(r"\w+=|\w+\(\) \{")
_DEADLINE_SECONDS = 60
_MOCKSERVER = f'mockserver() {{ {shlex.quote(sys.executable)} -m mockserver "$@"; }}'


class Step(NamedTuple):
    """A command as the page has it, and the lines that the page shows below it."""

    command: str
    shown: str


def steps(block: Block) -> list[Step]:
    """The commands of a session in order."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{block}: a session begins with a command"
    return [_step(part) for part in parts[1:]]


def _step(part: str) -> Step:
    lines = part.splitlines()
    count = 1
    while count < len(lines) and lines[count].startswith("> "):
        count += 1
    command = "\n".join([lines[0], *(line.removeprefix("> ") for line in lines[1:count])])
    return Step(command, "\n".join(lines[count:]).strip("\n"))


class Replayed(NamedTuple):
    """A command of the page, what it printed now, and its exit status."""

    step: Step
    printed: str
    status: int

    @property
    def is_as_shown(self) -> bool:
        return is_shown(self.step.shown, self.printed) if self.step.shown else self.status == 0

    @property
    def is_refused(self) -> bool:
        """Whether the command ended with an error of the mock's own command line."""
        return self.status != 0 and self.printed.startswith("mockserver: ")


class Shell:
    """The state of one session: what its commands share, and the addresses of its servers."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._shared = [_MOCKSERVER]
        self._addresses: dict[str, str] = {}

    def run(self, step: Step) -> Replayed:
        """Run one command and return what it prints, with the documented addresses."""
        if step.command.startswith(("mockserver serve", "mockserver play")) and step.command.endswith("&"):
            return Replayed(step, self._documented(self._serve(step)), 0)
        command = self._real(step.command)
        if _SHARED.match(command):
            self._shared.append(command)
            return Replayed(step, "", 0)
        script = "\n".join([*self._shared, command])
        done = subprocess.run(
            [_BASH, "-c", script],
            cwd=self._folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_DEADLINE_SECONDS,
            check=False,
        )
        return Replayed(step, self._documented(done.stdout.decode().replace("\r", "")).strip("\n"), done.returncode)

    def _serve(self, step: Step) -> str:
        words = shlex.split(step.command.removesuffix("&"))[1:]
        port = "5055"
        if "--port" in words:
            at = words.index("--port")
            port = words[at + 1]
            del words[at : at + 2]
        command = [sys.executable, "-m", "mockserver", *words, "--port", "0", "--log-format", "off"]
        process = subprocess.Popen(
            command, cwd=self._folder, env=_environment(), stdout=subprocess.PIPE, encoding="utf-8"
        )
        self._stack.callback(_stop, process)
        assert process.stdout is not None
        printed = [process.stdout.readline()]
        address = re.search(r"http://\S+", printed[0])
        assert address is not None, printed
        self._addresses[f"http://127.0.0.1:{port}"] = address[0]
        printed += [process.stdout.readline() for _ in step.shown.splitlines()[1:]]
        return "".join(printed) if step.shown else ""

    def _real(self, command: str) -> str:
        for documented, real in self._addresses.items():
            command = command.replace(documented, real)
        return command

    def _documented(self, printed: str) -> str:
        for documented, real in self._addresses.items():
            printed = printed.replace(real, documented)
        return printed


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate(timeout=_DEADLINE_SECONDS)


def replay(block: Block, folder: Path) -> list[Replayed]:
    """Run a session in this folder and return each command with what it printed."""
    with ExitStack() as stack:
        shell = Shell(folder, stack)
        return [shell.run(step) for step in steps(block)]


def is_shown(shown: str, printed: str) -> bool:
    """Return True if the page's lines equal the output; a line `...` matches any lines."""
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in shown.splitlines())
    return re.fullmatch(pattern, printed.strip("\n"), re.DOTALL) is not None


def recorded(replayed: list[Replayed]) -> str:
    """The block's text with what its commands printed; where the page leaves lines out, it does so again."""
    lines = []
    for step, printed, _ in replayed:
        first, *rest = step.command.splitlines()
        lines += [f"$ {first}", *(f"> {line}" for line in rest)]
        is_unchanged = not step.shown or is_shown(step.shown, printed)
        lines += (step.shown if is_unchanged else _shortened(step.shown, printed)).splitlines()
    return "\n".join(lines) + "\n"


def _shortened(shown: str, printed: str) -> str:
    """What was printed, with as many lines before and after a `...` as the page has."""
    if "..." not in shown.splitlines():
        return printed.strip("\n")
    before, after = shown.splitlines().index("..."), len(shown.splitlines()) - shown.splitlines().index("...") - 1
    lines = printed.strip("\n").splitlines()
    return "\n".join([*lines[:before], "...", *lines[len(lines) - after :]])
