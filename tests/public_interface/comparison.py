"""The comparison of a public interface with an older one: what a user's project would notice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import griffe

from tests.public_interface.shapes import REQUIRED


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
    """Return one line for each name of the old interface that is gone or has another meaning."""
    return [*_facts(old.names, new.names), *_python(old.stub, new.stub)]


def may_break(old: str, new: str) -> bool:
    """Return True if a version may remove names that an older one has: see docs/stability.md."""
    old_major, old_minor = _numbers(old)
    major, minor = _numbers(new)
    return major > old_major or (major == 0 and minor > old_minor)


def _numbers(version: str) -> tuple[int, int]:
    major, minor, *_ = map(int, version.split("."))
    return major, minor


def _facts(old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    """Yield each fact that is not true any more, and each new demand."""
    old, new = set(old), set(new)
    yield from (f"got no `{fact}`" for fact in sorted(old - new) if not fact.endswith(REQUIRED))
    for fact in sorted(new - old):
        owner = fact.removesuffix(f" {REQUIRED}").rpartition(".")[0]
        if fact.endswith(REQUIRED) and any(other.startswith(f"{owner}: ") for other in old):
            yield f"got the new demand `{fact}`"


def _python(old: str, new: str) -> Iterator[str]:
    """Yield each Python name that is gone, or has another signature or type."""
    before, after = (griffe.visit("mockserver", None, text) for text in (old, new))  # type: ignore[arg-type]
    for breakage in griffe.find_breaking_changes(before, after):
        values = (breakage.old_value, breakage.new_value)
        parameter = next((value.name for value in values if isinstance(value, griffe.Parameter)), None)
        name = breakage.obj.path.removeprefix("mockserver.") + (f"({parameter})" if parameter else "")
        yield f"got `{name}`: {breakage.kind.value.lower()}"
    for owner, members in before.classes.items():  # what griffe does not compare
        for name, member in members.members.items():
            other = after.classes[owner].members.get(name) if owner in after.classes else None
            if other is not None and _type(other) != _type(member):
                yield f"got `{owner}.{name}`: {_type(other)}; expected {_type(member)}"


def _type(member: Any) -> str:
    """Return the type of an attribute, and of a function whether it is awaited."""
    return str(member.annotation) if member.is_attribute else f"{'async ' * ('async' in member.labels)}def"
