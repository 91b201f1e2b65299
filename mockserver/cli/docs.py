"""
The generated pages of the documentation: `docs/choices.md`, `docs/conduct.md` and `docs/scenarios.md`.

Each page has an introduction, a file in `introductions`, and tables of the contract, of the rules of conduct or of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mockserver._data import data_dir
from mockserver.contract.choices import CHOICES, FAMILIES, Choice
from mockserver.contract.choices.profiles import LEFT_OUT, PROFILES
from mockserver.contract.effects import ALIASES, EFFECTS, GROUPS, of_group, schema_properties
from mockserver.judge.client.rules import PARTS, RULES
from mockserver.scenario import library

VALUE_SHAPES: Final = {
    "rate": "or `{requests, per}`, per in seconds or as a duration such as `60s`",
    "per-platform": "mapping of a platform to messages, null for no limit",
    "count": "whole number",
    "bytes-per-kind": "mapping of a kind of media to bytes",
    "duration": "or seconds, or a duration such as `1h`",
}
_SHOWN_OF_RULES: Final = ("id", "severity", "clause", "line", "proof", "advice")


def choices_page() -> str:
    """Return the text of `docs/choices.md`: the families in the order of the tables, then the profiles."""
    contents = [
        f"- [{family.FAMILY}](#{family.FAMILY}): {len(family.CHOICES)} choices, {len(family.FIXED)} fixed decisions"
        for family in FAMILIES
    ]
    left_out = _table(("choice", "why"), [f"| `{id}` | {_cell(why)} |" for id, why in LEFT_OUT.items()])
    parts = [
        _introduction("choices"),
        *contents,
        "- [profiles](#profiles)\n",
        *map(_family, FAMILIES),
        _introduction("profiles"),
        _profile_table(),
    ]
    return "\n".join([*parts, f"`hostile` leaves these at their defaults:\n\n{left_out}"])


def _introduction(name: str) -> str:
    return (Path(__file__).parent / "introductions" / f"{name}.md").read_text(encoding="utf-8")


def _family(family: ModuleType) -> str:
    rows = []
    for row in family.FIXED:
        note = f" It {row.note}." if row.note else ""
        effect = " Seed data or a scenario can change it." if row.kind == "effect" else ""
        rows.append(f"| `{row.id}` | {_cell(row.decision)} | {_cell(f'{row.why}{effect}{note}')} |")
    table = _table(("point", "decision", "why"), rows)
    head = f"## {family.FAMILY}\n\n{(family.__doc__ or '').strip()}\n"
    return "\n".join([head, *map(_choice, family.CHOICES), f"### Fixed decisions: {family.FAMILY}\n", table])


def _choice(row: Choice) -> str:
    options = [f"**`{each}`** (default)" if each == row.default else f"`{each}`" for each in row.options]
    if row.value:  # numbers: the default and the shape of other values
        shape = VALUE_SHAPES[row.value]
        options.append(
            shape if row.default in row.options else f"**`{json.dumps(row.default)}`** (default), or another {shape}"
        )
    clauses = f"; {', '.join(f'`{each}`' for each in row.clauses)}" if row.clauses else ""
    meanings = "".join(f"  - `{option}`: {meaning}\n" for option, meaning in row.means.items())
    return (
        f"### `{row.id}`\n\n{row.question}\n\n"
        f"- options: {', '.join(options)}\n"
        f"{meanings}"
        f"- why: {row.why}\n"
        f"- default is {row.provenance}; {row.where}{clauses}\n"
    )


def _profile_table() -> str:
    """Return the table of the choices that a profile sets, with the option of each profile."""
    rows = [
        f"| `{row.id}` | `{row.default}` | {_option_of('guide', row)} | {_option_of('hostile', row)} |"
        for row in CHOICES.values()
        if any(row.id in profile for profile in PROFILES.values())
    ]
    return _table(("choice", "literal", "guide", "hostile"), rows)


def _option_of(profile: str, row: Choice) -> str:
    option = PROFILES[profile].get(row.id, row.default)
    return f"`{option}`" if option != row.default else ""


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def conduct_page() -> str:
    """Return the text of `docs/conduct.md`."""
    lines = [_introduction("conduct")]
    for title, part in PARTS.items():
        table_rows = []
        for row in part:
            cells = (f"`{row.id}`", str(row.severity), row.proof, f"`{row.clause}`, {row.line}", row.advice)
            table_rows.append(f"| {' | '.join(map(_cell, cells))} |")
        lines += [f"### {title}\n", _table(("rule", "severity", "proof", "clause", "advice"), table_rows)]
    compared = [f"`{row.id}`" for row in RULES.values() if row.judge is None]
    lines += [
        "### Rules that one run cannot prove\n",
        f"Only a comparison of two runs shows these: {', '.join(compared)}.\n",
    ]
    return "\n".join(lines)


def rows() -> list[dict[str, Any]]:
    """Return the rules as JSON values."""
    return [{name: getattr(row, name) for name in _SHOWN_OF_RULES} for row in RULES.values()]


def line(row: Mapping[str, Any]) -> str:
    """Return a rule as one line of a list."""
    return f"{row['severity']}  {row['id']:<28}{row['proof']}"


def scenarios_page() -> str:
    """Return the text of `docs/scenarios.md`."""
    library_rows = [
        f"| [{name}](../scenarios/{name}.yaml) | {library.document(name).get('summary', '')} |"
        for name in library.paths()
    ]
    count = f"{len(library_rows)} documents in `scenarios/`; `mockserver scenarios` lists them.\n"
    parts = [*_effects(), "## The library\n", count, _table(("scenario", "summary"), library_rows)]
    return "\n".join([_introduction("scenarios"), *parts])


def scenario_schema() -> str:
    """Return the text of `schemas/scenario.json`, with the effects as their rows in `contract/effects.py` define them."""
    schema = json.loads((data_dir("schemas") / "scenario.json").read_text(encoding="utf-8"))
    effects = schema["$defs"]["effects"] | {"properties": dict(schema_properties())}
    return (
        json.dumps(
            schema | {"$defs": schema["$defs"] | {"effects": effects}}, indent=2, ensure_ascii=False, default=dict
        )
        + "\n"
    )


def _effects() -> Iterator[str]:
    for group in GROUPS:
        yield f"## Effects {group.place}\n"
        yield f"{group.meaning}\n"
        yield "| effect | argument | meaning |"
        yield "| --- | --- | --- |"
        for name in of_group(group.name):
            row = EFFECTS[name]
            yield f"| `{name}` | `{row.argument.replace('|', chr(92) + '|')}` | {row.meaning} |"
        yield ""
    names = "; ".join(f"`{alias}` is `{effect}`" for alias, (effect, _) in ALIASES.items())
    yield f"Other names: {names}.\n"
