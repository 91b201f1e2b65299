"""
What is judged once a run is over, from all its exchanges together: spelling, extra fields, texts, open lists.

These points are about the service as a whole, so one look at the sum replaces many that could disagree by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from mockserver.contract.errors import ERRORS
from mockserver.verify import shape
from mockserver.verify.records import Exchange, Probe
from mockserver.verify.visit import Visit
from mockserver.verify.watch import ERROR_KEYS

DATE_KEYS: Final = frozenset({"createdAt", "updatedAt", "startedAt", "completedAt"})
_ISO: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_SPELLINGS: Final = {
    "milliseconds": re.compile(_ISO + r"\.\d{3}Z"),
    "seconds": re.compile(_ISO + "Z"),
    "microseconds": re.compile(_ISO + r"\.\d{6}Z"),
    "offset": re.compile(_ISO + r"(\.\d+)?\+00:00"),
}
_DATE_TIME: Final = re.compile(_ISO + r"(\.\d+)?(Z|[+-]\d\d:\d\d)")
# Keys that an option of error-extra-keys speaks of; any other one beside the three is a breach.
_ERROR_DETAILS: Final = frozenset({"details", "requestId"})
_ENGLISH: Final = re.compile(
    r"\b(the|not found|is required|invalid|must be|should|unauthori[sz]ed|forbidden|bad request)\b", re.IGNORECASE
)


class Seen(NamedTuple):
    """An exchange beside the shape of its body."""

    exchange: Exchange
    shape: shape.Shape


def _successes(visit: Visit) -> list[Seen]:
    return [
        Seen(each, shape.read(each.operation, each.json))
        for each in visit.exchanges
        if each.operation is not None and each.succeeded and each.body and isinstance(each.json, dict | list)
    ]


def spelling(visit: Visit) -> None:
    """Date-times are ISO 8601, spelt in one way; those of sessions have Z whatever the spelling."""
    for seen in _successes(visit):
        for key, text in _date_times(seen.exchange.json):
            visit.judge("base.output", bool(_DATE_TIME.fullmatch(text)), seen.exchange, f"{key} as ISO 8601 date-time")
            options = {name for name, pattern in _SPELLINGS.items() if pattern.fullmatch(text)}
            if key == "expiresAt" and "milliseconds" in options:
                options.add("offset")
            visit.observe("datetime-spelling", options, seen.exchange)


def _date_times(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _date_times(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str) and (key in DATE_KEYS or key == "expiresAt"):
                yield key, each
            else:
                yield from _date_times(each)


def additions(visit: Visit) -> None:
    """Fields beyond the listed ones in any success, and values beyond the open lists."""
    successes = _successes(visit)
    if not successes:
        return
    extra = next((seen for seen in successes if seen.shape.extras), None)
    shown = (extra or successes[0]).exchange
    visit.observe("additive-fields", ["unknown-fields" if extra else "none"], shown)
    unlisted = next((seen for seen in successes if seen.shape.unlisted), None)
    listed = next((seen for seen in successes if seen.shape.listed), None)
    if unlisted or listed:
        visit.observe(
            "new-enum-values", ["unseen" if unlisted else "listed"], (unlisted or listed or successes[0]).exchange
        )


def error_keys(visit: Visit) -> None:
    """Keys beside the three of an error body, less those that the service adds to every answer."""
    errors = [each for each in visit.exchanges if each.status >= 400 and isinstance(each.json, dict)]
    everywhere = {extra.rpartition("/")[2] for seen in _successes(visit) for extra in seen.shape.extras}
    for each in errors:
        extras = set(each.json) - set(ERROR_KEYS) - everywhere
        foreign = sorted(extras - _ERROR_DETAILS)
        visit.judge("base.error-body", not foreign, each, f"no {', '.join(foreign)}" if foreign else "three keys")
        visit.observe("error-extra-keys", ["details" if extras else "none"] if not foreign else [], each)


def messages(visit: Visit) -> None:
    """The texts of errors: this mock's own, others, or none; never English."""
    known = [
        (each, str(each.json.get("message", "")))
        for each in visit.exchanges
        if isinstance(each.json, dict) and each.code in ERRORS
    ]
    worded = [(each, text) for each, text in known if text.strip()]
    for each, text in worded:
        visit.judge("base.error-portuguese", not _ENGLISH.search(text), each, "a Portuguese text")
    if not known:
        return
    if len(worded) < len(known):
        empty = next(each for each, text in known if not text.strip())
        visit.observe("message-text", ["empty"], empty)
    if worded:
        other = next((each for each, text in worded if not _is_canonical(each, text)), None)
        visit.observe("message-text", ["reworded" if other else "canonical"], other or worded[0][0])


def _is_canonical(exchange: Exchange, text: str) -> bool:
    pattern = re.sub(r"\\\{[a-z]+\\\}", ".*", re.escape(ERRORS[str(exchange.code)].message))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def no_secrets(visit: Visit) -> None:
    """No answer about a session has a field for a code, a token or a secret of the provider."""
    named = re.compile(r"(access|refresh|provider|auth\w*)_?(token|code)|secret|password", re.IGNORECASE)
    for each in visit.exchanges:
        if each.operation in ("createConnectionSession", "readConnectionSession") and each.succeeded:
            found = [key for key in _keys(each.json) if named.search(key)]
            visit.judge("session.no-secrets", not found, each, f"no field {found[0]}" if found else "no such field")


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(each)


SURVEYS: Final[tuple[Probe, ...]] = (
    Probe("date-times", spelling, ("base.output",), ("datetime-spelling",)),
    Probe("additions", additions, (), ("additive-fields", "new-enum-values")),
    Probe("keys of errors", error_keys, ("base.error-body",), ("error-extra-keys",)),
    Probe("texts of errors", messages, ("base.error-portuguese",), ("message-text",)),
    Probe("secrets in sessions", no_secrets, ("session.no-secrets",)),
)
