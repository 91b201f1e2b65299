"""
Settings of a sandbox in layers, of which the later ones take precedence.

1. A layer has the settings of one source: the ini file, the command line, the fixture `mockserver_settings`, a mark (outer
   marks first), or the arguments of `sandbox(...)`.
2. Choices are merged by id. A profile replaces every earlier profile, and takes precedence over earlier choices.
3. `now` and `clock` exclude one another: the later layer decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver._settings import set_in
from mockserver.contract.limits import JOURNAL_MAX_ENTRIES

# The settings of a sandbox; `strict` belongs to the server.
NAMES = tuple(setting.attribute for setting in set_in("fixture", "mark"))
FILES = (".yaml", ".yml", ".json")


class Layer(NamedTuple):
    """
    The settings of one source.

    Attributes:
        source: The name of the source for messages, such as "command line".
        values: Values by the name of the setting: `scenario`, `profile`, `choices`, `now`, `clock`, `seed`, `given`, `own_port`.
    """

    source: str
    values: Mapping[str, Any]


class Settings(NamedTuple):
    """
    The merged settings of a sandbox, with the source of each.

    Attributes:
        values: Values by the name of the setting; a profile is merged into `choices`.
        sources: Names of sources, by the name of the setting or by the id of a choice.
    """

    values: Mapping[str, Any]
    sources: Mapping[str, str]

    def get(self, name: str) -> Any:
        """
        Return the value of a setting, or None if no layer has it.

        Args:
            name: The name of the setting.
        """
        return self.values.get(name)


def check_clock(layer: Layer) -> None:
    """Check that a layer has `now` or `clock` or neither; ValueError with the layer's source if not."""
    now, clock = layer.values.get("now"), layer.values.get("clock")
    if clock not in (None, "follow") or (clock and now):
        expected = "expected now=INSTANT, clock='follow', or neither"
        raise ValueError(f"{layer.source}: got clock={clock!r} with now={now!r}; {expected}")


def reads_limit(value: object) -> int | None:
    """
    Return the limit of equal reads that a setting gives, None for `off`.

    Raises:
        ValueError: It is neither a number of reads that a journal holds nor `off`.
    """
    if value == "off":
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= JOURNAL_MAX_ENTRIES:
        return value
    raise ValueError(f"got {value!r}; expected a whole number from 2 to {JOURNAL_MAX_ENTRIES}, or 'off'")
