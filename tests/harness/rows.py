"""Tables of cases: one test for all rows, which share its fixtures and are named if they break the rule."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """
    Run a test for each row, and fail with the rows that fail and why.

    Args:
        names: As of `pytest.mark.parametrize`.
        rows: As there, without marks: a value, a tuple of values, or a `pytest.param`.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [row if isinstance(row, tuple) and len(arguments) > 1 else (row,) for row in map(_values, rows)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def for_all(**fixtures: Any) -> None:
            offenders: dict[str, str] = {}
            for row in table:
                try:
                    test(**dict(zip(arguments, row, strict=True)), **fixtures)
                except (AssertionError, pytest.fail.Exception) as error:
                    offenders[repr(row)[:200]] = str(error)
            if offenders:
                pytest.fail("\n".join(f"{row}: {why}" for row, why in offenders.items()), pytrace=False)

        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        for_all.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return for_all

    return decorate


def _values(row: Any) -> Any:
    """Return the value or the values of a row; a `pytest.param` always has a tuple."""
    param = type(pytest.param())
    if not isinstance(row, param):
        return row
    return row.values if len(row.values) > 1 else row.values[0]
