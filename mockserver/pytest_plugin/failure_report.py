"""Report of a failing test: the first lines and the record of each of its sandboxes, and a document that repeats the run."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.text import printable
from mockserver.pytest_plugin import conduct, options
from mockserver.pytest_plugin.ownership import SandboxOwnership
from mockserver.scenario import documents
from mockserver.testing.calls import CallMismatch
from mockserver.testing.report.diagnosis import SelfExplainingError, diagnose
from mockserver.testing.report.render import SandboxSnapshot, render_sections
from mockserver.testing.sandbox import Sandbox

_SHOWN = 3  # sandboxes of one test: of many, as under `@given`, the last are those that failed
_DEFAULT_FOLDER = ".mockserver/failures"
_OFF = "off"
_NAME_CHARS = 120
_TAKEN_BACK = "Nothing of the example that failed is left here: its steps and its scenario stand with the error above"


def add_report_sections(
    item: pytest.Item,
    report: pytest.TestReport,
    raised: pytest.ExceptionInfo[BaseException] | None,
    book: SandboxOwnership,
) -> None:
    """Add a section for each sandbox of the test, and properties for JUnit XML; never an error of its own."""
    report.sections.extend(sections(item, raised.value if raised else None, book))


def sections(item: pytest.Item, failure: BaseException | None, book: SandboxOwnership) -> Iterator[tuple[str, str]]:
    """The title and the text for each sandbox of the test, the latest ones of many."""
    made = book.told_of
    reported = made if len(made) <= _SHOWN else made[-1:]
    for place, sandbox in enumerate(reported):
        own = failure if sandbox is reported[-1] else None
        title = "mockserver" if len(made) == 1 else f"mockserver {sandbox.id}"
        try:
            lines = list(_lines(item, sandbox, place, own, book))
        except Exception as problem:  # noqa: BLE001 - a report must not hide the failure that it is about
            lines = [f"{sandbox.id} cannot be told: {type(problem).__name__}: {problem}"]
        yield title, printable("\n".join(lines), keep="\n")
    if len(made) > len(reported):
        yield "mockserver", f"this is the last of {len(made)} sandboxes that the test has made"


def _lines(
    item: pytest.Item, sandbox: Sandbox, place: int, failure: BaseException | None, book: SandboxOwnership
) -> Iterator[str]:
    is_async = inspect.iscoroutinefunction(getattr(item, "obj", None))
    seen = snapshot(sandbox)._replace(name=book.name(item, sandbox), is_async=is_async, strays=book.strays)
    if conduct.mode(item) == "off":
        seen = seen._replace(findings=())
    diagnosis = diagnose(seen, failure)
    is_gone = sandbox.taken_back and not seen.exchanges and not isinstance(failure, SelfExplainingError)
    yield from [_TAKEN_BACK] if is_gone else diagnosis.lines
    yield from render_sections(seen, diagnosis.cited, failure.nearest if isinstance(failure, CallMismatch) else None)
    if _folder(item) == _OFF:
        return
    document = sandbox.replay_document(item.nodeid)
    if document.get("calls"):
        try:
            file = _written(item, document, place)
        except OSError as refusal:
            yield f"no document repeats it: {type(refusal).__name__}: {refusal}"
            return
        yield from filter(None, [document.get("summary")])  # there where it is not the whole run
        item.user_properties.append(("mockserver_replay", file))
        yield f"to repeat it: mockserver replay {file}"
        yield f"{_replay_hint(document['calls'])}: @pytest.mark.mockserver(scenario={file!r})"


def _replay_hint(entries: Iterable[Mapping[str, Any]]) -> str:
    """What the document gives where its calls are not sent again: not what the test itself has applied before them."""
    before = takewhile(lambda entry: "call" not in entry, entries)
    is_furnished = any(entry["do"] == "apply_scenario" and "given" in entry.get("with", {}) for entry in before)
    return "its seed, choices and clock, for the test to apply its world to" if is_furnished else "its world alone"


def snapshot(sandbox: Sandbox) -> SandboxSnapshot:
    """What there is to tell of a sandbox."""
    journal, state, history = sandbox.journal, sandbox.state(), sandbox.history
    return SandboxSnapshot(
        sandbox.id,
        sandbox.address,
        state["clock"],
        state["seed"],
        {key: value for key, value in state["choices"].items() if value != DEFAULTS.get(key)},
        sandbox.settings,
        sandbox.exchanges,
        journal["transitions"],
        history["steps"],
        sandbox.events,
        sandbox.rules,
        history["deferred"],
        history["due"],
        sandbox.conduct.findings,
        history.get("unmoved"),
        history.get("apart"),
    )


def _folder(item: pytest.Item) -> str:
    return options.run_option(item.config, "failures") or _DEFAULT_FOLDER


def _written(item: pytest.Item, document: Mapping[str, Any], place: int) -> str:
    """The path of the document that repeats the run, from where pytest was started."""
    folder = _folder(item)
    home = item.config.rootpath / folder
    home.mkdir(parents=True, exist_ok=True)
    if folder == _DEFAULT_FOLDER and not (ignored := home.parent / ".gitignore").exists():
        ignored.write_text("*\n", encoding="utf-8")
    file = home / f"{_slug(item.nodeid)}{f'.{place + 1}' if place else ''}.yaml"
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text(documents.dump(document), encoding="utf-8")
    draft.replace(file)
    return shown_path(file)


def shown_path(file: Path) -> str:
    """Return the path from the working directory, with slashes; whole if the file is on another drive of Windows."""
    try:
        return Path(os.path.relpath(file)).as_posix()
    except ValueError:
        return file.as_posix()


def _slug(nodeid: str) -> str:
    """A name for a file, of the test's own; a long one ends in a digest."""
    name = re.sub(r"[^\w.=\-]+", "-", nodeid.replace("::", ".")).strip("-.")
    return (
        name
        if len(name) <= _NAME_CHARS
        else f"{name[: _NAME_CHARS - 9]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"
    )
