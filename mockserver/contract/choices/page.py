"""The tables of what the document leaves open as a page for people, in Markdown."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Final

from mockserver.contract.choices import CHOICES, FAMILIES, Choice, Fixed
from mockserver.contract.choices.profiles import LEFT_OUT, PROFILES

VALUE_SHAPES: Final = {
    "rate": "or `{requests, per}`, per in seconds or as a duration such as `60s`",
    "per-platform": "mapping of a platform to messages, null for no limit",
    "count": "whole number",
    "bytes-per-kind": "mapping of a kind of media to bytes",
}

_HEAD: Final = """\
# Where the document is silent

<!-- Written by `mockserver choices --markdown`; a test keeps it so. Change the tables in `mockserver/contract/choices`. -->

The API document leaves these points open, contradicts itself on them, or only implies them.
Each is a choice with options, or a decision that is the same for every sandbox.
`L41` is line 41 of the API document.

A default comes from the document's own words (documented), from what the rest of it suggests (inferred), or it is made up (invented).

Set choices by `@pytest.mark.mockserver(choices={...})`, `server.sandbox(choices={...})`, `mockserver serve --choose ID=OPTION`, a scenario's `choices`, or `PATCH /_mock/choices`.
"""

_PROFILES: Final = """\
## Profiles

A profile is a bundle of options under a name.
`literal` is the default of every choice.
`guide` follows the campaign guide where it contradicts the error catalogue.
`hostile` takes, for each choice, the option that surprises a client most while the document still allows it.
A file `{choices: {id: option}}` is a profile of your own.

Take one by `@pytest.mark.mockserver(profile="hostile")`, `server.sandbox(profile="hostile")` or `mockserver serve --profile hostile`; a choice given beside it wins over it.
"""


def markdown() -> str:
    """The whole page: the families in the order of the tables, then the profiles."""
    parts = [_HEAD, _contents(), *map(_family, FAMILIES), _PROFILES, _profile_table(), _left_out()]
    return "\n".join(parts)


def _contents() -> str:
    rows = [
        f"- [{family.FAMILY}](#{family.FAMILY}): {len(family.CHOICES)} to choose, {len(family.FIXED)} fixed"
        for family in FAMILIES
    ]
    return "\n".join([*rows, "- [profiles](#profiles)", ""])


def _family(family: ModuleType) -> str:
    rows = [f"| `{row.id}` | {_cell(row.decision)} | {_fixed_why(row)} |" for row in family.FIXED]
    table = _table(("point", "decision", "why"), rows)
    head = f"## {family.FAMILY}\n\n{(family.__doc__ or '').strip()}\n"
    return "\n".join([head, *map(_choice, family.CHOICES), f"### Fixed for {family.FAMILY}\n", table])


def _choice(row: Choice) -> str:
    clauses = f"; {', '.join(f'`{each}`' for each in row.clauses)}" if row.clauses else ""
    return (
        f"### `{row.id}`\n\n{row.question}\n\n"
        f"- options: {_options(row)}\n"
        f"- why: {row.why}\n"
        f"- default is {row.provenance}; {row.where}{clauses}\n"
    )


def _options(row: Choice) -> str:
    """The options with the default marked; of a choice with numbers, the default value and what else may stand there."""
    told = [f"**`{each}`** (default)" if each == row.default else f"`{each}`" for each in row.options]
    if row.value:
        shape = VALUE_SHAPES[row.value]
        told.append(
            shape if row.default in row.options else f"**`{json.dumps(row.default)}`** (default), or another {shape}"
        )
    return ", ".join(told)


def _fixed_why(row: Fixed) -> str:
    note = f" It {row.note}." if row.note else ""
    effect = " Seed data or a scenario makes it otherwise." if row.kind == "effect" else ""
    return _cell(f"{row.why}{effect}{note}")


def _profile_table() -> str:
    """Each choice that some profile sets: its default, and what `guide` and `hostile` make of it."""
    rows = [
        f"| `{row.id}` | `{row.default}` | {_taken('guide', row)} | {_taken('hostile', row)} |"
        for row in CHOICES.values()
        if any(row.id in profile for profile in PROFILES.values())
    ]
    return _table(("choice", "literal", "guide", "hostile"), rows)


def _taken(profile: str, row: Choice) -> str:
    option = PROFILES[profile].get(row.id, row.default)
    return f"`{option}`" if option != row.default else ""


def _left_out() -> str:
    rows = [f"| `{id}` | {_cell(why)} |" for id, why in LEFT_OUT.items()]
    return "`hostile` leaves these at their defaults:\n\n" + _table(("choice", "why"), rows)


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
