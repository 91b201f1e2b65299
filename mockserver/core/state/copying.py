"""Copies of the state: an object with its own tables over the same frozen records."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

State = TypeVar("State")


def with_own_tables(state: State) -> State:
    """Return a copy of an object whose tables (lists, dictionaries, and what else has a `copy`) are its own."""
    copied = copy(state)
    for name, value in vars(state).items():
        if hasattr(value, "copy"):
            setattr(copied, name, value.copy())
    return copied
