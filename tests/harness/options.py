"""Options of choices: in force for a test, which thereby counts as the one that shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])


def in_force(choice: str, option: str) -> Callable[[Test], Test]:
    """Run a test under this option, which it shows."""
    chosen, shown = pytest.mark.mockserver(choices={choice: option}), pytest.mark.option(choice, option)
    return lambda test: chosen(shown(test))


def option_case(choice: str, option: str, *values: Any) -> Any:
    """Return a case of a parametrised test, with these values, that runs under this option and shows it."""
    marks = pytest.mark.mockserver(choices={choice: option}), pytest.mark.option(choice, option)
    return pytest.param(*values, marks=marks, id=option)


def each_option(names: str | tuple[str, ...], choice: str, cases: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Run a test under each of these options of a choice, with its value; with a tuple of them for several names."""
    return pytest.mark.parametrize(
        names,
        [
            option_case(choice, option, *([values] if isinstance(names, str) else values))
            for option, values in cases.items()
        ],
    )
