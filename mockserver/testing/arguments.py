"""Arguments of a sandbox's methods in the form that the control plane takes, and back: instants, lengths of time, documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from http.client import HTTPException
from math import inf, ulp
from types import MappingProxyType
from typing import Any, Final, TypedDict

from mockserver._settings import Setting
from mockserver.contract.text import closest_match_hint
from mockserver.core.instants import SECOND, format_exact, from_datetime, parse, to_datetime, to_microseconds


class LengthByUnit(TypedDict, total=False):
    """A length of time by its units, as `timedelta` takes it."""

    weeks: float
    days: float
    hours: float
    minutes: float
    seconds: float
    milliseconds: float
    microseconds: float


_UNITS = tuple(LengthByUnit.__annotations__)


def instant_text(value: Any) -> Any:
    """Return a datetime as ISO 8601 text with its microseconds, and any other value as it is."""
    return format_exact(from_datetime(value)) if isinstance(value, datetime) else value


def instant(text: str) -> datetime:
    """Return the instant that a view of the control plane contains."""
    parsed = parse(text)
    assert parsed is not None
    return to_datetime(parsed[0])


def length_of_advance(by: str | float | timedelta | None, units: LengthByUnit) -> str | float | None:
    """
    Return the length that `advance` was given, as text or in seconds; None if it was given none.

    Args:
        by: The positional argument.
        units: The keyword arguments, by unit.

    Raises:
        TypeError: A unit is unknown.
        ValueError: Both were given, or the length is too large for a timedelta.
    """
    if units and by is not None:
        raise ValueError(f"advance: got {by!r} and {dict(units)}; expected one length")
    unknown = next((unit for unit in units if unit not in _UNITS), None)
    if unknown is not None:
        expected = f"{', '.join(_UNITS)}, to or until"
        raise TypeError(f"advance: got {unknown!r}; expected {expected}{closest_match_hint(unknown, _UNITS)}")
    try:
        length = timedelta(**units) if units else by
    except OverflowError:
        raise ValueError(f"advance: got {dict(units)}; expected at most {timedelta.max.days} days") from None
    if not isinstance(length, timedelta):
        return length
    seconds = to_microseconds(length) / SECOND
    return int(seconds) if seconds.is_integer() else seconds


def check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError, with the nearest name, for the first argument that is none of `what`."""
    names = sorted(known)
    for name in given:
        if name not in names:
            raise TypeError(f"{what}: got {name!r}; expected {', '.join(names)}{closest_match_hint(name, names)}")


def check_function(what: str, value: object, expected: str) -> None:
    """Raise TypeError for what cannot be called."""
    if not callable(value):
        raise TypeError(f"{what}: got {value!r}; expected {expected}")


def check_flags(**flags: object) -> None:
    """Raise ValueError for a flag that is neither True nor False: the text "no" would count as True."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name}: got {value!r}; expected True or False")  # noqa: TRY004 - as for every option


def check_number(name: str, value: Any, types: Any, least: float, most: float, expected: str) -> None:
    """Raise ValueError for what is no number of these types within these bounds."""
    if isinstance(value, bool) or not isinstance(value, types) or not least <= value <= most:
        raise ValueError(f"{name}: got {value!r}; expected {expected}")


# The types, bounds and words of a number, by the type of its setting.
_NUMBERS: Final[Mapping[str, tuple[Any, float, float, str]]] = MappingProxyType(
    {
        "runs": (int, 1, inf, "a number of runs from 1"),
        "runs or 0": (int, 0, inf, "a number of runs, 0 for none"),
        "preemptions": (int, 0, 4, "a number of preemptions from 0 to 4"),
        "seconds": ((int, float), ulp(0.0), inf, "a number above 0, or None for no limit"),
        "wait": ((int, float), 0.01, 600, "a number of seconds from 0.01 to 600"),
    }
)


def check_options(options: object, settings: Iterable[Setting]) -> None:
    """Raise ValueError for the first flag, number or text of a record that the setting of its name does not take."""
    for setting in settings:
        name = setting.attribute
        value = getattr(options, name, None)
        is_absent = value is None and setting.default is None
        if setting.type == "flag":
            check_flags(**{name: value})
        elif setting.type in _NUMBERS and not is_absent:
            check_number(name, value, *_NUMBERS[setting.type])
        elif setting.example and not is_absent and not isinstance(value, str):
            raise ValueError(f"{name}: got {value!r}; expected a text, such as {setting.example!r}")


def length_of_sleep(seconds: float) -> float:
    """
    Return the seconds of a sleep.

    Raises:
        ValueError: They are not a finite number, or negative.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < inf:
        raise ValueError(f"sleep: got {seconds!r}; expected a number of seconds, not negative")
    return seconds


def document_or_parts(document: Mapping[str, Any] | str | None, parts: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """
    Return the scenario document to apply: the one that was given, or the one of the parts that are not None.

    Raises:
        ValueError: Both were given, or none.
    """
    given = {name: part for name, part in parts.items() if part is not None}
    if document is not None and given:
        raise ValueError(f"got a document and {', '.join(given)}; expected a document, or its parts by keyword")
    if document is None and not given:
        raise ValueError(
            "got nothing to apply; expected a document, the name of a scenario, or given=, choices=, clock=, script="
        )
    return given if document is None else document


def is_for_caller(excinfo: Any) -> bool:
    """
    Return True for what an argument or an answer of the API causes.

    As a module's `__tracebackhide__` it leaves the line of the test or its client to pytest.
    """
    return isinstance(excinfo.value, ValueError | OSError | HTTPException)
