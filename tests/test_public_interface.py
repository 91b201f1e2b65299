"""The public interface is that of the last release and more: no name goes or changes its meaning without a deprecation."""

from __future__ import annotations

import json
import warnings
from operator import attrgetter

import pytest

from mockserver import Sandbox
from mockserver._deprecated import DEPRECATED
from mockserver.version import VERSION
from tests.public_interface import baseline, names
from tests.public_interface.comparison import Interface, breaks
from tests.public_interface.shapes import schema_facts, value_facts

CURE = (
    "keep it, with a row of mockserver/_deprecated.py and a DeprecationWarning that names what replaces it, "
    "for at least one minor release (docs/stability.md)"
)
STUB = """\
class Sandbox:
    base_url: str
    def advance(self, by: str | None = None, *, to: str | None = None) -> list: ...
"""

# One of each kind that the list has: the beginning of its lines, and a line that it has today.
KINDS = {
    "choice": 'choice dual-status, default "catalog"',
    "clause": "clause campaigns.name",
    "command": "command serve --port takes a value",
    "conduct": "conduct rule duplicate-start",
    "control": "control POST /_mock/rules is addRules",
    "effect": "effect drop",
    "environment": "environment MOCKSERVER_PORT",
    "extra": "extra pytest",
    "header": "header X-Mock-Reason",
    "metric": "metric mockserver_sandboxes gauge",
    "explore": "explore verdict breach",
    "interleave": "interleave report.runs: integer",
    "recording": "recording report.spanMs: integer",
    "library": "library scenario demo",
    "mockserver": "mockserver choices --json[].default: string",
    "probe": "probe report.stopped",
    "profile": "profile hostile",
    "pytest": "pytest fixture mockserver (of a function)",
    "python": "python import mockserver.Sandbox",
    "report,": "report, version 1",
    "scenario": "scenario document, version 1",
    "schema": "schema Rule.do: Effects",
    "setting": "setting port, default 5055",
    "trace,": "trace, version 1",
}


def interface(*lines: str, version: str = "1.2.0", stub: str = STUB) -> Interface:
    return Interface(version, lines, stub)


def test_no_public_name_of_the_last_release_is_gone_or_has_another_meaning() -> None:
    problems = breaks(baseline.committed(), baseline.current())

    assert not problems, "\n".join(
        [*problems, "(of a name that no release has had, delete the line in docs/reference)"]
    )


def test_a_release_has_its_own_list() -> None:
    """The command that writes the list is a step of a release: see CONTRIBUTING.md."""
    assert VERSION == baseline.committed().version, "run `python -m tests.public_interface`"


def test_the_list_has_each_kind_of_name() -> None:
    assert sorted([*KINDS, "deprecated"]) == sorted({line.split()[0] for line in names.lines()})


@pytest.mark.parametrize("kind", KINDS)
def test_a_removed_name_of_each_kind_is_detected(kind: str) -> None:
    removed = KINDS[kind]
    current = baseline.current()
    without = current._replace(names=tuple(line for line in current.names if line != removed))

    assert [f"got no `{removed}`: {CURE}"] == breaks(current, without)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    base_url: str\n", "", "`Sandbox.base_url`: public object was removed"),
        ("by: str", "span: str", "`Sandbox.advance(by)`: parameter was removed"),
        ("by: str | None = None", "by: str", "`Sandbox.advance(by)`: parameter is now required"),
        ("to: str | None = None", "to: str | None = '1s'", "`Sandbox.advance(to)`: parameter default was changed"),
        ("by: str | None = None, *", "*, by: str | None = None", "`Sandbox.advance(by)`: parameter kind was changed"),
        ("self,", "self, hours: int,", "`Sandbox.advance(hours)`: parameter was added as required"),
        ("base_url: str", "base_url: bytes", "`Sandbox.base_url`: bytes; expected str"),
        ("    def advance", "    async def advance", "`Sandbox.advance`: async def; expected def"),
        ("class Sandbox:", "class Box:", "`Sandbox`: public object was removed"),
    ],
)
def test_a_changed_python_name_is_detected(old: str, new: str, problem: str) -> None:
    before, after = interface(), interface(stub=STUB.replace(old, new))

    assert f"got {problem}: {CURE}" in breaks(before, after)


def test_an_addition_is_none() -> None:
    more = interface("choice a = b", "choice a = c", stub=STUB + "    def extra(self) -> None: ...\n")

    assert [] == breaks(interface("choice a = b"), more)


def test_a_new_demand_on_what_users_send_is_detected() -> None:
    old = schema_facts("schema Rule", {"type": "object", "properties": {"do": {"type": "string"}}}, is_sent=True)
    new = {"type": "object", "properties": {"do": {"type": "string"}, "on": {"type": "string"}}, "required": ["on"]}
    problems = breaks(interface(*old), interface(*schema_facts("schema Rule", new, is_sent=True)))

    assert [f"got the new demand `schema Rule.on is required`: {CURE}"] == problems


def test_a_member_that_an_answer_may_lack_now_is_detected() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    less = {**schema, "required": []}
    old, new = (interface(*schema_facts("schema A", each, is_received=True)) for each in (schema, less))

    assert [f"got no `schema A.id is always there`: {CURE}"] == breaks(old, new)
    assert [] == breaks(new, old)


def test_a_demand_that_is_dropped_is_no_break() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    old = interface(*schema_facts("schema A", schema, is_sent=True))
    new = interface(*schema_facts("schema A", {**schema, "required": []}, is_sent=True))

    assert [] == breaks(old, new)


@pytest.mark.parametrize(
    ("since", "version", "is_kept"),
    [("0.1", "0.1.9", True), ("0.1", "0.2.0", False), ("0.9", "1.0.0", False), ("1.2", "1.9.0", True), ("1.2", "2.0.0", False)],
)  # fmt: skip
def test_a_deprecated_name_works_to_the_end_of_its_releases(since: str, version: str, is_kept: bool) -> None:
    row = f"deprecated since {since}: Sandbox.base_url; use Sandbox.url"
    gone = interface(version=version, stub=STUB.replace("    base_url: str\n", ""))

    assert is_kept == bool(breaks(interface(row), gone))


def test_a_name_that_moves_behind_a_warning_is_no_break() -> None:
    row = "deprecated since 1.2: Sandbox.base_url; use Sandbox.url"
    moved = interface(row, stub=STUB.replace("    base_url: str\n", ""))

    assert [] == breaks(interface(), moved)


def test_a_deprecation_holds_for_its_name_and_not_for_longer_ones() -> None:
    row = "deprecated since 0.1: command serve --port; use --address"
    old = interface(
        "command serve --port takes a value", "command serve --port-range takes a value", row, version="0.1.0"
    )

    assert [f"got no `command serve --port-range takes a value`: {CURE}"] == breaks(old, interface(version="0.2.0"))


def test_an_option_that_is_gone_at_once_is_not_excused_by_a_row() -> None:
    gone = interface("deprecated since 1.2: command serve --port; use --address")

    assert [f"got no `command serve --port takes a value`: {CURE}"] == breaks(
        interface("command serve --port takes a value"), gone
    )


def test_a_row_of_a_deprecation_that_is_dropped_too_soon_is_detected() -> None:
    row = "deprecated since 1.2: Sandbox.url; use Sandbox.base_url"

    assert ["got no Sandbox.url: deprecated since 1.2; expected it in all releases of 1.x"] == breaks(
        interface(row), interface(version="1.3.0")
    )
    assert [] == breaks(interface(row), interface(version="2.0.0"))


def test_members_of_a_value_are_listed_with_their_types() -> None:
    value = {"a": [1], "b": None, "table": {"x": 1}}

    assert ["r: object", "r.a: array", "r.a[]: integer", "r.b", "r.table: object"] == list(
        value_facts("r", json.loads(json.dumps(value)), frozenset(("table",)))
    )


@pytest.mark.parametrize("name", [name for name in DEPRECATED if name.startswith("Sandbox.")])
def test_a_moved_member_of_a_sandbox_warns_and_is_what_replaces_it(mockserver: Sandbox, name: str) -> None:
    row = DEPRECATED[name]
    with pytest.warns(DeprecationWarning) as caught:
        former = getattr(mockserver, name.removeprefix("Sandbox."))
    with warnings.catch_warnings():
        current = attrgetter(row.use.removeprefix("Sandbox."))(mockserver)

    assert [f"{name} is deprecated since {row.since}; use {row.use}"] == [str(each.message) for each in caught]
    assert [__file__] == [each.filename for each in caught]
    assert type(current) is type(former)


def test_an_unknown_member_of_a_sandbox_is_an_attribute_error(mockserver: Sandbox) -> None:
    with pytest.raises(AttributeError, match="'Sandbox' object has no attribute 'folow'"):
        _ = mockserver.folow  # type: ignore[attr-defined]
