"""Tables of the pages list everything that the code has, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Literal

import pytest

from mockserver import MockServer
from mockserver.contract.choices import FAMILIES
from mockserver.contract.effects import EFFECTS, FORGERIES
from mockserver.server.control.routes import ROUTES
from mockserver.testing import strategies
from mockserver.testing.runs.faults import ExploreOptions
from mockserver.testing.runs.faults.tables import NAMES as EXPLORED
from mockserver.testing.sandbox import Aio
from tests import setting_tables
from tests.pages.blocks import read
from tests.test_cli_help import help_of


def missing(page: str, names: Iterable[str]) -> list[str]:
    """The names that are nowhere on a page in code quotes, alone or in front of arguments."""
    text = read(page)
    return [name for name in names if re.search(rf"[`\"/.]{re.escape(name)}[`(\"\s|=,?\\]", text) is None]


def test_the_page_on_time_names_every_async_form() -> None:
    forms = {name for name in dir(Aio) if not name.startswith("_")}

    assert forms == set(re.findall(r"`(?:mockserver\.)?aio\.(\w+)", read("docs/time.md")))


def test_the_page_on_the_control_plane_names_every_route() -> None:
    text = read("docs/control-plane.md")

    assert [] == [
        f"{route.method} {route.path}"
        for route in ROUTES
        if route.path not in text and f"`/{route.path.rpartition('/')[2]}`" not in text
    ]


def options(command: str) -> Iterable[str]:
    return re.findall(r"^  (--[a-z][a-z-]+)", help_of(command), re.MULTILINE)


# Each page, and what it names.
NAMED: tuple[tuple[str, Iterable[str]], ...] = (
    ("other-languages", options("serve")),
    ("probe", options("probe")),
    ("openapi", options("openapi")),
    ("hypothesis", [name for name in strategies.__all__ if name.islower()]),
    ("webhooks", FORGERIES),
    ("webhooks", EFFECTS["deliver"].argument.strip("{}").replace("-", "_").split(", ")),
    ("sweeps", [family.FAMILY for family in FAMILIES]),
    ("explore", EXPLORED),
    ("explore", [field.name for field in fields(ExploreOptions)]),
)


@pytest.mark.parametrize(("page", "names"), NAMED)
def test_a_page_names_everything_that_it_is_about(page: str, names: Iterable[str]) -> None:
    assert [] == missing(f"docs/{page}.md", names)


@pytest.mark.parametrize("page", setting_tables.TABLES)
def test_the_tables_of_settings_are_those_of_the_rows(page: str) -> None:
    assert setting_tables.written(page) == read(f"docs/{page}"), "write it again: python -m tests.setting_tables"


def test_the_effects_on_the_page_on_faults_are_rules_that_apply() -> None:
    cells = [line.split(" | ")[0] for line in read("docs/faults.md").splitlines() if line.startswith("| `.")]
    calls = [call for cell in cells for call in re.findall(r"`\.(\w+\(.*?\))`", cell)]
    with MockServer() as server, server.sandbox() as sandbox:
        for call in calls:
            subject: Literal["delivery", "*"] = "delivery" if call.startswith("deliver") else "*"
            eval(f"rule.{call}", {"rule": sandbox.on(subject)})

        assert len(calls) == len(sandbox.rules) > 20


def test_each_feature_of_pytest_has_its_way_in_every_other_language() -> None:
    _, _, rest = read("docs/other-languages.md").partition("## What each language gets\n\n")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in rest.partition("\n\n")[0].splitlines()]

    assert ["pytest", "Go, Java, PHP, Ruby, TypeScript", "any other language"] == rows[0][1:]
    assert [] == [row for row in rows[2:] if len(row) != 4 or not all(any(map(str.isalnum, cell)) for cell in row)]
    named = [row[0] for row in rows[2:]]
    assert len(set(named)) == len(named)
    assert {"rules", "clock", "report of a failure", "signature", "coverage"} <= set(named)
