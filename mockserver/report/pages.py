"""
HTML pages: their templates, the filters of these, their style, and pages of one file.

Every value from a sandbox is hostile text: the templates escape each of them, and the policy of a page runs no script and no
style but its own.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Container, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from mockserver import _templates
from mockserver.contract.clauses import sentence_of
from mockserver.contract.effects.descriptions import meaning
from mockserver.core.instants import SECOND, Duration, Instant, parse, time_of_day
from mockserver.report.problem import call_groups
from mockserver.version import VERSION

_HERE: Final = Path(__file__).parent
_TEXT_CHARS: Final = 20_000  # of a body on a page
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
_CONTROLS: Final = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# A call by its number; not that of a delivery, and not a character by its code.
_CALL: Final = re.compile(r"(?<!delivery )(?<![\w&])#([1-9][0-9]{0,8})\b")


@cache
def stylesheet(*, of_file: bool = False) -> str:
    """Return the style of every page; of a page of one file with what these have beside it."""
    names = ("style.css", "file.css") if of_file else ("style.css",)
    return "\n".join((_HERE / "static" / name).read_text(encoding="utf-8") for name in names)


@cache
def environment(folder: Path = _HERE / "templates") -> Environment:
    """Return the environment of the templates of a folder, and of those that the pages share."""
    templates = _templates.environment(folder, _HERE / "templates")
    templates.filters |= {
        "json_text": json_text,
        "compact": compact,
        "visible": visible,
        "linked": _linked,
        "duration": duration,
        "effects": effects,
        "time_of_day": time_of_day,
        "day": day,
        "wait_until": wait_until,
        "segment": segment,
        "sentence": sentence_of,
        "call_groups": call_groups,
    }
    templates.globals["version"] = VERSION
    return templates


def render_file(template: str, **context: Any) -> str:
    """
    Return a page of one file: without script, without another address, and with the only style that its policy allows.

    Args:
        template: The name of its template.
        context: What the template shows; text from outside passes its filter `visible`.
    """
    style = stylesheet(of_file=True)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return environment().get_template(template).render(**context, style=style, policy=policy)


def json_text(value: Any) -> str:
    """Return a JSON value as lines, a text as it is, cut to what a page shows."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    rest = len(text) - _TEXT_CHARS
    return visible(text if rest <= 0 else f"{text[:_TEXT_CHARS]}\n({rest:,} more characters)")


def compact(value: Any) -> str:
    """Return a JSON value on one line."""
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def effects(do: Mapping[str, Any]) -> str:
    """Return the effects of a rule in the words of the documentation; of a fault with a phase those of that phase."""
    return "; ".join(meaning(name, argument) for name, argument in do.items())


def visible(text: object) -> str:
    """Return the text with an escape for each control character, those that reorder text included."""
    return _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", str(text))


@pass_context
def _linked(context: Context, text: object, address: str) -> Markup:
    """Return a text with links to its calls; of a page that names its `shown_calls` to these alone."""
    shown: Container[int] | None = context.get("shown_calls")

    def link(call: re.Match[str]) -> str:
        number = int(call[1])
        is_shown = shown is None or number in shown
        return f'<a href="{escape(address)}{number}">#{number}</a>' if is_shown else call[0]

    return Markup(_CALL.sub(link, escape(visible(text))))


def instant_of(text: str) -> Instant:
    """Return the instant of a text that an answer of the control plane has; ValueError for any other text."""
    parsed = parse(text)
    if parsed is None:
        raise ValueError(f"got {text!r}; expected an instant")
    return parsed[0]


def wait_until(due: str, now: str) -> str:
    """Return the time from one instant to another in words."""
    return duration(instant_of(due) - instant_of(now))


def duration(span: Duration) -> str:
    """Return a span in microseconds in its two largest units."""
    seconds = span / SECOND
    if seconds < 60:
        return f"{round(seconds, 3):g}s"
    parts, left = [], round(seconds)
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts[:2])


def day(text: str) -> str:
    return text.partition("T")[0]


def segment(text: object) -> str:
    """Return a text as one segment of a path."""
    return quote(str(text), safe="")
