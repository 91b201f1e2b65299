"""
The pages that are made from tables of the package: `docs/choices.md`, `docs/conduct.md` and `docs/scenarios.md`.

Each page has an introduction, a file in `introductions`, and tables of the contract, of the rules of conduct or of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final

from mockserver.cli.listing import scenario_schema
from mockserver.contract.choices import CHOICES, FAMILIES, Choice
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.effects import EFFECTS, GROUPS, of_group
from mockserver.judge.check import Check
from mockserver.judge.client import campaigns, polling, receivers, requests, retry_after, sessions
from mockserver.judge.client.rules import RULES
from mockserver.scenario import library

VALUE_SHAPES: Final = {
    "rate": "or `{requests, per}`, per in seconds or as a duration such as `60s`",
    "per-platform": "mapping of a platform to messages, null for no limit",
    "count": "whole number",
    "bytes-per-kind": "mapping of a kind of media to bytes",
    "duration": "or seconds, or a duration such as `1h`",
}
# What the choices concern, with the beginnings of their clauses' ids.
_SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "every operation": ("auth.", "base."),
    "`listTemplates`, `readTemplate`": ("templates.",),
    "filters: `previewAudience`, `createCampaign`": ("filters.", "audience."),
    "`createCampaign`": ("campaigns.name", "campaigns.platform", "campaigns.template"),
    "`listCampaigns`, `readCampaign`, `readExecution`": ("campaigns.list", "campaigns.detail", "campaigns.status", "execution."),
    "`startCampaign`": ("start.",),
    "the sends of a campaign": ("send.",),
    "`cancelCampaign`": ("cancel.",),
    "`uploadMedia`": ("media.",),
    "`listMessages`": ("messages.",),
    "`createConnectionSession`, `readConnectionSession`, `readEntrypoint`, the hosted page": ("session.",),
    "events": ("events.",),
}  # fmt: skip
_SUBJECTS_OF_RULES: Final[Mapping[str, tuple[ModuleType, ...]]] = {
    "Campaigns and plain HTTP": (campaigns, polling, retry_after, requests),
    "Connection sessions": (sessions,),
    "Webhook receivers": (receivers,),
}
_RULES: Final = "<!-- rules -->"  # where the page on conduct has them
_SEED_DATA: Final = "<!-- seed data -->"  # where the page on scenarios has its fields


def choices_page() -> str:
    """Return the text of `docs/choices.md`: the choices by operation, then the families in the order of the tables."""
    contents = [
        f"- [{family.FAMILY}](#{family.FAMILY}): {len(family.CHOICES)} choices, {len(family.FIXED)} fixed decisions"
        for family in FAMILIES
    ]
    parts = [
        _introduction("choices"),
        "## By operation\n",
        _by_subject(),
        "## By family\n",
        *contents,
        "",
        *map(_family, FAMILIES),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _by_subject() -> str:
    """Return the table of all choices by what they concern, with a link to each."""
    rows = []
    for subject, clauses in _SUBJECTS.items():
        of_subject = [row.id for row in CHOICES.values() if any(id.startswith(clauses) for id in row.clauses)]
        links = ", ".join(f"[{id}](#{id.lower()})" for id in of_subject)
        rows.append(f"| {subject} | {links} |")
    return _table(("operation", "choices"), rows)


def _introduction(name: str) -> str:
    return (Path(__file__).parent / "introductions" / f"{name}.md").read_text(encoding="utf-8")


def _family(family: ModuleType) -> str:
    rows = []
    for row in family.FIXED:
        effect = "; seed data or a scenario can change it" if row.kind == "effect" else ""
        rows.append(f"- `{row.id}`: {row.decision}{effect}")
    head = f"## {family.FAMILY}\n\n{(family.__doc__ or '').strip()}\n"
    return "\n".join([head, *map(_choice, family.CHOICES), f"### Fixed decisions: {family.FAMILY}\n", *rows, ""])


def _choice(row: Choice) -> str:
    options = [_option(row, option) for option in row.options]
    if row.value:  # numbers: the default and the shape of other values
        shape = VALUE_SHAPES[row.value]
        options.append(
            shape if row.default in row.options else f"**`{json.dumps(row.default)}`** (default), or another {shape}"
        )
    meanings = "".join(f"  - `{option}`: {meaning}\n" for option, meaning in row.means.items())
    sources = ", ".join([row.where, *(f"`{each}`" for each in row.clauses)])
    return (
        f"### `{row.id}`\n\n{row.question}\n\n"
        f"- options: {', '.join(options)}\n"
        f"{meanings}"
        f"- {row.provenance}: {row.why} ({sources})\n"
    )


def _option(row: Choice, option: str) -> str:
    """Return an option with the profiles that select it instead of the default."""
    if option == row.default:
        return f"**`{option}`** (default)"
    profiles = [name for name, chosen in PROFILES.items() if chosen.get(row.id) == option]
    return f"`{option}` ({', '.join(profiles)})" if profiles else f"`{option}`"


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def conduct_page() -> str:
    """Return the text of `docs/conduct.md`: the rules, in place of the marker of its introduction."""
    parts = ["## The rules\n"]
    for title, modules in _SUBJECTS_OF_RULES.items():
        parts += [f"### {title}\n", _rules(row for module in modules for row in module.CHECKS)]
    parts.append("### Dependence on a choice\n\nOnly an [exploration](explore.md) of the choices shows these.\n")
    parts.append(_rules(row for row in RULES.values() if row.judge is None).rstrip("\n"))
    return _introduction("conduct").replace(_RULES, "\n".join(parts))


def _rules(rows: Iterable[Check]) -> str:
    table_rows = [f"| `{row.id}` | {row.severity} | {_cell(row.advice)} |" for row in rows]
    return _table(("rule", "severity", "what a client does"), table_rows)


def scenarios_page() -> str:
    """Return the text of `docs/scenarios.md`."""
    library_lines = [
        f"- [{name}](../scenarios/{name}.yaml): {library.document(name).get('summary', '')}" for name in library.paths()
    ]
    count = f"{len(library_lines)} documents in `scenarios/`; `mockserver scenarios` lists them.\n"
    parts = [*_effects(), "## The library\n", count, *library_lines, ""]
    return "\n".join([_introduction("scenarios").replace(_SEED_DATA, _seed_data()), *parts])


def _seed_data() -> str:
    """Return the table of the kinds of seed data with their fields, as `schemas/scenario.json` has them."""
    definitions = json.loads(scenario_schema())["$defs"]
    rows = []
    for kind in ("tenants", *list(definitions["given"]["properties"])[1:]):
        record = definitions[kind.removesuffix("s")]
        fields = [
            f"**`{name}`**" if name in record.get("required", ()) else f"`{name}`" for name in record["properties"]
        ]
        rows.append(f"| `{kind}` | {', '.join(fields)} |")
    return _table(("kind", "fields"), rows).rstrip("\n")


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


PAGES: Final = MappingProxyType({"choices": choices_page, "conduct": conduct_page, "scenarios": scenarios_page})
