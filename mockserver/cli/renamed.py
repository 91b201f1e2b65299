"""Options with a former name: both set the same value, the former one warns, and two different values are refused."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from mockserver._deprecated import message


def add_renamed(command: argparse.ArgumentParser, name: str, former: str, **settings: Any) -> None:
    """Add an option by its name and by its former one, which the help does not show and which has a row in `DEPRECATED`."""
    if settings.pop("action", None) == "store_true":
        settings = {"default": False, **settings, "nargs": 0}
    command.add_argument(name, action=_Renamed, **settings)
    hidden = {**settings, "help": argparse.SUPPRESS}
    command.add_argument(former, action=_Renamed, dest=name.removeprefix("--").replace("-", "_"), **hidden)


def print_deprecation(name: str) -> None:
    """Print the warning for a name of `DEPRECATED` to standard error, where no filter of Python hides it."""
    print(f"mockserver: {message(name)}", file=sys.stderr)


class _Renamed(argparse.Action):
    """Stores a value, of a flag True, and with it the name by which it was given, in `DEST_by`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        name, use = self.option_strings[0], f"--{self.dest.replace('_', '-')}"
        given = True if self.nargs == 0 else values
        other, value = getattr(namespace, f"{self.dest}_by", (name, given))
        if other != name and value != given:
            parser.error(f"got {other} {value} and {name} {given}; expected {use} alone")
        if name != use:
            print_deprecation(f"command {parser.prog.partition(' ')[2]} {name}")
        setattr(namespace, self.dest, given)
        setattr(namespace, f"{self.dest}_by", (name, given))
