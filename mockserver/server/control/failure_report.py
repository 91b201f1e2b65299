"""The report of a sandbox for a test in any language: as text, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.text import closest_match_hint, printable
from mockserver.core.redaction import Redactor
from mockserver.server.api.response import redactor
from mockserver.server.control import reports, views
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSnapshot

JSON = dict[str, Any]


def read_report(snapshot: HostedSnapshot, args: Mapping[str, Any], base_url: str | None = None) -> JSON:
    """Return the first lines, the last refused or faulted call, and the whole report as text."""
    from mockserver.server.report import diagnosis, text  # late: a suite without a failure needs no report
    from mockserver.server.report.failure import in_words

    unknown = next((key for key in args if key != "failure"), None)
    if unknown is not None:
        hint = closest_match_hint(unknown, ("failure",))
        raise ControlError(400, "MOCK_BAD_QUERY", f"got {unknown!r}; expected failure{hint}")
    hide = redactor(snapshot.state)
    words = hide.text(args.get("failure", ""))
    seen = _report_snapshot(snapshot, base_url or snapshot.base_url, hide)
    report = text.report(seen, in_words(words) if words.strip() else None)
    call = diagnosis.last_failed_call(seen)
    repeat = f"to repeat it: curl -s {seen.address}/_mock/replay > run.json && mockserver replay run.json"
    page = f"to look at it: {seen.address}/_mock/{f'calls/{call.n}' if call else ''}"
    lines = [*report.summary, *report.sections, page, *([repeat] if seen.exchanges or seen.steps else [])]
    return {
        "sandboxId": snapshot.id,
        "failure": words or None,
        "summary": [printable(line) for line in report.summary],
        "call": call and {key: getattr(call, key) for key in ("n", "operation", "status", "code", "reason", "fault")},
        "text": printable("\n".join(lines), keep="\n") + "\n",
    }


def _report_snapshot(snapshot: HostedSnapshot, base_url: str, hide: Redactor) -> Any:
    """Return the views of the sandbox that its report needs."""
    from mockserver.conduct import judge
    from mockserver.server.report import exchanges
    from mockserver.server.report.snapshot import SandboxSnapshot

    state = snapshot.state
    state.choices = dict(state.choices)  # a copy: a report of a choice does not count as a use of it
    journal, history = views.journal(state), reports.read_history(snapshot, {})
    given = {"scenario": snapshot.config.scenario, "choices": snapshot.config.choices}
    return SandboxSnapshot(
        id=snapshot.id,
        address=base_url,
        clock=views.clock(state),
        seed=state.seed,
        choices={key: value for key, value in sorted(state.choices.items()) if value != DEFAULTS.get(key)},
        settings={name: value for name, value in given.items() if value},
        sources={},
        exchanges=[exchanges.read(entry) for entry in journal["exchanges"]],
        transitions=journal["transitions"],
        steps=history["steps"],
        events=views.events(state)["events"],
        rules=views.rules(state),
        deferred=history["deferred"],
        next_timer=history["due"],
        findings=[found._replace(message=hide.text(found.message)) for found in judge.judge(state).findings],
        unmoved=history["unmoved"],
        apart=history["apart"],
        is_python=False,
    )
