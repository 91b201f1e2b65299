"""
The trace of a test as one HTML file: its problems, and everything that happened.

1. It contains no key. Equal runs have equal bytes: the address and the id of the sandbox are written without their numbers.
2. All text of a run is hostile: the template escapes it, and the policy in the file runs no script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mockserver._json import JSON, View
from mockserver.contract.text import brief, printable
from mockserver.core.redaction import Redactor
from mockserver.report.curl import curl
from mockserver.report.pages import render_file
from mockserver.report.problem import with_texts
from mockserver.report.run.exchanges import brief_json, format_line
from mockserver.report.run.history import rows_of
from mockserver.report.run.problems import verdict
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.text import Report
from mockserver.report.run.words import Call

Clean = Callable[[str], str]

_BODY_CHARS: Final = 4_000  # of an answer
_BASE_URL: Final = "{base_url}"  # as in a document that repeats a run
_DEFAULT_ID: Final = "default"  # of the sandbox without a prefix; a common word


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """
    The run of a failed test in a sandbox, as far as its trace shows it.

    Attributes:
        name: Of the test.
        snapshot: The views of the sandbox.
        report: Its report.
        document: Repeats it.
        secrets: The keys and secrets of the sandbox.
        base_url: Of the sandbox.
        failure: The exception or the message that has ended the test; empty if none is known.
        frames: The lines of client and test that led there, the last one first.
        actors: The client of each call by the call's number; empty if there is one client.
        replay: The path of the document; empty if it was not written.
        har: The name of the file next to the trace that has the calls as a HAR; empty if there is none.
    """

    name: str
    snapshot: SandboxSnapshot
    report: Report
    document: JSON
    secrets: Sequence[str]
    base_url: str
    failure: str = ""
    frames: Sequence[str] = ()
    actors: Mapping[int, str] = field(default_factory=dict)
    replay: str = ""
    har: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _CallText:
    """
    A call as text.

    Attributes:
        line: Its actor, number, operation and path.
        result: Status and code, and the fault of a rule.
        tone: ok, refused, faulted or no-answer.
        sent: The request as a command of curl, with `$URL` and `$KEY`.
        sent_as: The number of the first call with an equal request; its own if there is none.
        answered: The answer's body; empty if there is none.
        answered_as: The number of the first call with an equal request and an equal answer; its own if there is none.
    """

    line: str
    result: str
    tone: str
    sent: str
    sent_as: int
    answered: str
    answered_as: int


def render(run: TracedRun) -> bytes:
    """Return the file."""
    clean = _cleaner(run)
    page = render_file(
        "trace.html",
        run=run,
        verdict=verdict(run.report.problems, calls=len(run.snapshot.exchanges), dropped=run.snapshot.dropped_calls),
        problems=[with_texts(problem, clean) for problem in run.report.problems],
        rows=rows_of(run.snapshot),
        calls=dict(_calls(run, clean)),
        shown_calls=frozenset(call.n for call in run.snapshot.exchanges),
        clean=clean,
    )
    return page.encode("utf-8", "backslashreplace")


def _cleaner(run: TracedRun) -> Clean:
    """Return the function that removes from a text what a trace must not contain."""
    hide, id = Redactor(run.secrets), run.snapshot.id
    own_id = re.compile(rf"\b{re.escape(id)}\b")

    def clean(text: str) -> str:
        neutral = hide.text(text).replace(run.base_url, _BASE_URL)
        if id != _DEFAULT_ID:
            neutral = own_id.sub("sandbox", neutral)
        return printable(neutral, keep="\n")

    return clean


def _calls(run: TracedRun, clean: Clean) -> Iterator[tuple[int, _CallText]]:
    """Yield the calls by their numbers."""
    requests: dict[str, int] = {}
    answers: dict[tuple[str, str], int] = {}
    for call in run.snapshot.exchanges:
        sent, answered = clean(curl(_request(call))), clean(_body(call.body_received))
        line, _, result = clean(format_line(call)).rpartition(" -> ")
        actor = run.actors.get(call.n, "")
        yield (
            call.n,
            _CallText(
                line=f"{actor} {line}" if actor else line,
                result=result,
                tone=_tone(call),
                sent=sent,
                sent_as=requests.setdefault(sent, call.n),
                answered=answered,
                answered_as=answers.setdefault((sent, answered), call.n) if answered else call.n,
            ),
        )


def _request(call: Call) -> View:
    """Return a request as the journal's answer has it."""
    return {
        "method": call.method,
        "path": call.path,
        "query": call.query,
        "headers": call.headers,
        "body": call.body,
    }


def _tone(call: Call) -> str:
    if call.fault:
        return "faulted"
    if call.status is None:
        return "no-answer"
    return "ok" if call.status < 400 else "refused"


def _body(value: Any) -> str:
    if value is None:
        return ""
    return brief(value, _BODY_CHARS) if isinstance(value, str) else brief_json(value, _BODY_CHARS)
