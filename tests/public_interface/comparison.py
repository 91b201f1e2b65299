"""The comparison of the public interface with that of the last release: what a user's project would notice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import griffe

from tests.public_interface.names import SINCE
from tests.public_interface.shapes import REQUIRED

_DEPRECATION: Final = re.compile(rf"{SINCE}(?P<since>[\d.]+): (?P<name>.*); use (?P<use>.*)")
_CURE: Final = (
    "keep it, with a row of mockserver/_deprecated.py and a DeprecationWarning that names what replaces it, "
    "for at least one minor release (docs/stability.md)"
)


class Interface(NamedTuple):
    """
    The public interface of one version.

    Attributes:
        version: as MAJOR.MINOR.PATCH.
        names: facts, one per line.
        stub: the public Python names with their signatures.
    """

    version: str
    names: tuple[str, ...]
    stub: str


def breaks(old: Interface, new: Interface) -> list[str]:
    """
    Return one line for each name of the old interface that is gone or has another meaning, unless it was deprecated.

    A Python name that works with a warning is not in the stub any more: a row of the new interface excuses it. Any other
    name that works is listed.
    """
    former, warns = _deprecations(old.names), _deprecations(new.names)
    found = [(*each, former) for each in _facts(old.names, new.names)]
    found += [(*each, former | warns) for each in _python(old.stub, new.stub)]
    lines = []
    for fact, problem, rows in found:
        name = next((name for name in rows if _is_part(fact, name)), None)
        if name is None:
            lines.append(f"{problem}: {_CURE}")
        elif not (rows is not former and name in warns) and not _is_over(rows[name], new.version):
            lines.append(
                f"{problem}: deprecated since {rows[name]}; expected it in all releases of {_last(rows[name])}"
            )
    return lines


def _deprecations(names: Iterable[str]) -> dict[str, str]:
    """Return the release since which each deprecated name warns."""
    return {row["name"]: row["since"] for row in map(_DEPRECATION.fullmatch, names) if row}


def _is_over(since: str, version: str) -> bool:
    """Return True if a name that warns since a release may be absent in a version: see docs/stability.md."""
    first, now = _numbers(since), _numbers(version)
    return now[0] > first[0] if first[0] else now > first


def _last(since: str) -> str:
    """Return the releases in which a name still works that warns since a release."""
    major, minor = _numbers(since)
    return f"{major}.x" if major else f"{major}.{minor}"


def _numbers(version: str) -> tuple[int, int]:
    major, minor, *_ = map(int, version.split("."))
    return major, minor


def _is_part(fact: str, name: str) -> bool:
    """Return True if a fact is about a name or a part of it."""
    return fact.startswith(name) and not re.match(r"[\w-]", fact[len(name) :])


def _facts(old: Iterable[str], new: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each fact that is not true any more, and each new demand, with the problem as text."""
    old, new = set(old), set(new)
    for fact in sorted(old - new):
        deprecation = _DEPRECATION.fullmatch(fact)
        if deprecation:
            if not any(
                _is_part(other.partition(": ")[2], deprecation["name"]) for other in new if other.startswith(SINCE)
            ):
                yield deprecation["name"], f"got no {deprecation['name']}"
        elif not fact.endswith(REQUIRED):
            yield fact, f"got no `{fact}`"
    for fact in sorted(new - old):
        owner = fact.removesuffix(f" {REQUIRED}").rpartition(".")[0]
        if fact.endswith(REQUIRED) and any(other.startswith(f"{owner}: ") for other in old):
            yield fact, f"got the new demand `{fact}`"


def _python(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield each Python name that is gone, or has another signature or type."""
    before, after = (griffe.visit("mockserver", None, text) for text in (old, new))  # type: ignore[arg-type]
    for breakage in griffe.find_breaking_changes(before, after):
        values = (breakage.old_value, breakage.new_value)
        parameter = next((value.name for value in values if isinstance(value, griffe.Parameter)), None)
        name = breakage.obj.path.removeprefix("mockserver.") + (f"({parameter})" if parameter else "")
        yield name, f"got `{name}`: {breakage.kind.value.lower()}"
    for owner, members in before.classes.items():  # what griffe does not compare
        for name, member in members.members.items():
            other = after.classes[owner].members.get(name) if owner in after.classes else None
            if other is not None and _type(other) != _type(member):
                yield f"{owner}.{name}", f"got `{owner}.{name}`: {_type(other)}; expected {_type(member)}"


def _type(member: Any) -> str:
    """Return the type of an attribute, and of a function whether it is awaited."""
    return str(member.annotation) if member.is_attribute else f"{'async ' * ('async' in member.labels)}def"
