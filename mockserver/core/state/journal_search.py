"""
The search for a text in the journal.

A text is compared with what a call shows, its keys redacted: a search must not find a secret that no answer contains. That
costs a hundred times what the recorded bytes cost, so these are searched first, and only a call whose bytes may contain the
text is rendered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from mockserver.core.instants import format_exact
from mockserver.core.state.journal import JournalEntry

Shown = TypeVar("Shown")

# A text with one of these may be formatted in another way in the bytes: an escape, a pair of a key and a value, a mark of a cut.
_FORMATTED: Final = ('"', "\\", "...")


def containing(entries: Iterable[JournalEntry], text: str, render: Callable[[JournalEntry], Shown]) -> Iterator[Shown]:
    """
    Yield the entries that contain a text, rendered, one at a time.

    Args:
        entries: of the journal, in any order.
        text: in upper or lower case.
        render: returns an entry as the control plane's answer has it.
    """
    folded = text.casefold()
    is_formatted = any(mark in folded for mark in _FORMATTED)
    for entry in entries:
        if is_formatted or _may_contain(entry, folded):
            exchange = render(entry)
            if folded in json.dumps(exchange, ensure_ascii=False, default=str).casefold():
                yield exchange


def _may_contain(entry: JournalEntry, folded: str) -> bool:
    """Return False only if no value of the rendered entry contains the text."""
    answer = entry.answer.decode("utf-8", "replace")
    return "\\" in answer or folded in answer.casefold() or folded in "\n".join(_texts(entry)).casefold()


def _texts(entry: JournalEntry) -> Iterator[str]:
    """Yield the values of an entry but its answer's body."""
    call, fault, error = entry.call, entry.fault, entry.error
    yield f"{entry.n}\n{entry.status}\n{entry.operation}\n{entry.tenant_id}\n{call.method}\n{call.path}"
    yield f"{format_exact(entry.at)}\n{call.cut_from_bytes}\n{entry.answer_cut_from_bytes}"
    for pairs in (call.query, call.headers.items(), entry.headers):
        for name, value in pairs:
            yield name
            yield value
    if entry.body is not None:
        yield json.dumps(entry.body, ensure_ascii=False, default=str)
    elif call.body:
        yield call.body.decode("utf-8", "replace")
    if fault is not None:
        yield f"{fault.rule}\n{json.dumps(fault.effects, default=str)}"
    if error is not None:
        yield f"{error.clause} at {error.location}: {error.reason}"
    if entry.choices:
        yield json.dumps(dict(entry.choices), default=str)
