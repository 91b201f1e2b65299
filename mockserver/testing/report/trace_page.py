"""
The trace of a test as one HTML file: self-contained, readable without JavaScript, and the source of `mockserver open`.

All text of a run is hostile: templates escape it, the script writes it as text only, and the policy in the file runs no
script and no style but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Template
from markupsafe import Markup

from mockserver._json import JSON
from mockserver.contract.text import json_value, printable
from mockserver.report.pages import environment, link_calls, stylesheet
from mockserver.testing.report.trace import ShownTrace
from mockserver.version import TRACE_VERSION, VERSION
from mockserver.wire.response import HttpResponse

_ASSETS: Final = Path(__file__).parent / "trace_assets"
_LABEL: Final = '<p class="label" aria-live="polite"></p>\n'  # below the slider
_HAR: Final = ('<a id="har" href="', '" download>')  # a file next to the trace; on a server, what the served state has
_OWN_POLICY: Final = ('<meta http-equiv="Content-Security-Policy" content="', '">')
_OWN_STYLE: Final = ("<style>", "</style>")
_OWN_SCRIPT: Final = ("<script>", "</script>")
_TITLE_FIELDS: Final = ("status", "name", "event", "text")  # the first of them that a record has is next to its id


def render(trace: ShownTrace) -> bytes:
    """Return the file."""
    style, script = stylesheet(of_file=True), _asset("script.js")
    numbers: dict[tuple[str, ...], int] = {}
    changes = [
        [[numbers.setdefault(tuple(path), len(numbers)), *value] for path, *value in step.changes]
        for step in trace.steps
    ]
    data = {  # what the script needs: the first world, and the changes of each step with the number of their path
        "version": TRACE_VERSION,
        "calls": [0, *(step.last_call for step in trace.steps)],
        "start": trace.start,
        "paths": list(numbers),
        "changes": [[], *changes],
    }
    shown = frozenset(call.n for step in trace.steps for call in step.calls)
    html = _template().render(
        trace=trace,
        head=trace.head,
        content=_content,
        isolated=_isolated,
        text=lambda text: link_calls(_content(text), "#call-", shown),
        shown_calls=shown,
        rows=list(groups(trace.end)),
        style=style,
        script=script,
        policy=_policy(f"script-src {_hash(script)}"),
        data=_json(data),
        document=_json(trace.document),
    )
    return html.encode("utf-8", "backslashreplace")


def served(html: str, checkpoints: Sequence[str]) -> HttpResponse:
    """
    Return the page of a trace on a server, where its slider serves the state of a position.

    The file may be a stranger's, or of another version: it gets the style and the script of this one, and the policy of the
    response runs no other.

    Args:
        html: the file.
        checkpoints: for each position of the slider, the id of its checkpoint.
    """
    script, serve, style = _asset("script.js"), _asset("serve.js"), stylesheet(of_file=True)
    policy = _policy(f"script-src {_hash(script)} {_hash(serve)}; connect-src 'self'; frame-ancestors 'none'")
    headers = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
    )
    data = f'<script type="application/json" id="checkpoints">{_json(list(checkpoints))}</script>'
    page = html.replace(_LABEL, _LABEL + _asset("serve.html"), 1)
    for (begin, end), own in (
        (_HAR, "har".join(_HAR)),
        (_OWN_POLICY, ""),
        (_OWN_STYLE, f"<style>{style}</style>"),
        (_OWN_SCRIPT, f"{data}<script>{script}</script><script>{serve}</script>"),
    ):
        inner = _between(page, begin, end)
        if inner is not None:
            page = page.replace(f"{begin}{inner}{end}", own, 1)
    return HttpResponse(200, headers, page.encode("utf-8", "replace"))


def read_trace(html: str) -> tuple[JSON, list[int]] | None:
    """
    Return the document of a trace and the number of the last call after each step; None for any other text.

    Raises:
        ValueError: The trace has the form of another version.
    """
    parts = (_between(html, f'<script type="application/json" id="{id}">', "</script>") for id in ("trace", "replay"))
    data, document = (part and json_value(part) for part in parts)
    if isinstance(data, dict) and data.get("version", TRACE_VERSION) != TRACE_VERSION:
        got = f"got version {data['version']!r:.40} of a trace"
        raise ValueError(f"{got}; expected {TRACE_VERSION}, which mockserver {VERSION} reads")
    calls = data.get("calls") if isinstance(data, dict) else None
    if not isinstance(document, dict) or not isinstance(calls, list) or not all(type(call) is int for call in calls):
        return None
    return document, calls[1:]


def _between(html: str, begin: str, end: str) -> str | None:
    """Return the text between the first `begin` and the next `end`; a pattern would take quadratic time without an `end`."""
    start = html.find(begin)
    stop = html.find(end, start + len(begin)) if start >= 0 else -1
    return html[start + len(begin) : stop] if stop >= 0 else None


def groups(world: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str, list[tuple[str, str]]]]]]:
    """Yield each kind of objects of a world that it has: the kind, and of each object its id, its title and its fields."""
    for tenant in world["tenants"].values():
        settings = {key: value for key, value in tenant.items() if not isinstance(value, Mapping)}
        yield f"tenant {tenant['tenantId']}", [_row(tenant["tenantId"], settings)]
        for table, records in tenant.items():
            if isinstance(records, Mapping) and records:
                yield table, [_row(id, record) for id, record in records.items()]
    for table in ("rules", "deliveries"):
        if world[table]:
            yield table, [_row(id, record) for id, record in world[table].items()]


def _row(id: str, record: Mapping[str, Any]) -> tuple[str, str, list[tuple[str, str]]]:
    """Return an object without the fields that it does not have."""
    title = next((record[name] for name in _TITLE_FIELDS if isinstance(record.get(name), str)), "")
    present = [
        (name, printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), keep="\n"))
        for name, value in record.items()
        if value not in (None, [], {})
    ]
    return printable(id), printable(title[:80]), present


def _policy(scripts: str) -> str:
    return f"default-src 'none'; style-src {_hash(stylesheet(of_file=True))}; {scripts}; base-uri 'none'; form-action 'none'"


def _json(value: Any) -> str:
    """Return JSON that a script element can contain."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _template() -> Template:
    """Return the template."""
    return environment(_ASSETS).get_template("page.html")


def _content(text: str) -> Markup:
    """Return a text as the content of an element; quotes stay as they are, which makes JSON a third shorter."""
    return Markup(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _isolated(text: str) -> Markup:
    """Return a text as the content of an element, apart from its surroundings where it may be written from right to left."""
    content = _content(text)
    return content if text.isascii() else Markup(f"<bdi>{content}</bdi>")
