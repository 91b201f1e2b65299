"""From where a record is looked at, and how a key without a value is spelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.core.instants import Instant

JSON = dict[str, Any]


class View(NamedTuple):
    """From where a record is looked at: the choices, the seed, the instant, and the prefix of urls."""

    choices: Mapping[str, object]
    seed: int
    now: Instant
    base_url: str


def absent_null_or(view: View, choice: str, key: str, blank: object = "") -> JSON:
    """A key without a value: left out, null, or blank."""
    shapes: Mapping[str, JSON] = {"absent": {}, "null": {key: None}, "empty": {key: blank}}
    return shapes[str(view.choices[choice])]
