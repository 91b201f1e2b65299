"""The public interface is that of the list in docs/reference and more: no name goes or changes its meaning unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockserver.version import VERSION
from tests.public_interface import baseline, names, python_names
from tests.public_interface.__main__ import main
from tests.public_interface.comparison import Interface, breaks, may_break
from tests.public_interface.shapes import schema_facts

WRITE = "run `python -m tests.public_interface`"
STUB = """\
class Sandbox:
    base_url: str
    def advance(self, by: str | None = None, *, to: str | None = None) -> list: ...
"""

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
LESS = {**SCHEMA, "required": []}
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
    "trace,": "trace, version 2",
}


def interface(*lines: str, version: str = "1.2.0", stub: str = STUB) -> Interface:
    return Interface(version, lines, stub)


def test_no_listed_name_is_gone_or_has_another_meaning() -> None:
    problems = breaks(baseline.committed(), baseline.current())

    assert not problems, "\n".join([*problems, WRITE])


def test_a_release_has_its_own_list() -> None:
    """The command that writes the list is a step of a release: see CONTRIBUTING.md."""
    assert VERSION == baseline.committed().version, WRITE


def test_the_list_has_each_kind_of_name() -> None:
    assert sorted(KINDS) == sorted({line.split()[0] for line in names.lines()})


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

    assert f"got {problem}" in breaks(before, after)


def test_an_addition_is_none() -> None:
    more = interface("choice a = b", "choice a = c", stub=STUB + "    def extra(self) -> None: ...\n")

    assert [] == breaks(interface("choice a = b"), more)


@pytest.mark.parametrize(
    ("old", "new", "way", "problems"),
    [
        (
            LESS,
            SCHEMA,
            "is_sent",
            ["got no `schema A.id may be left out`", "got the new demand `schema A.id is required`"],
        ),
        (SCHEMA, LESS, "is_sent", []),
        (SCHEMA, LESS, "is_received", ["got no `schema A.id is always there`"]),
        (LESS, SCHEMA, "is_received", []),
    ],
)
def test_a_member_that_users_must_send_or_may_not_get_now_is_a_break(
    old: Any, new: Any, way: str, problems: list[str]
) -> None:
    before, after = (interface(*schema_facts("schema A", each, **{way: True})) for each in (old, new))

    assert problems == breaks(before, after)


@pytest.mark.parametrize(
    ("old", "new", "is_permitted"),
    [
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "1.0.0", True),
        ("1.2.0", "1.9.0", False),
        ("1.2.0", "2.0.0", True),
    ],
)
def test_a_name_may_go_in_a_minor_version_before_1_and_in_a_major_one(old: str, new: str, is_permitted: bool) -> None:
    assert is_permitted == may_break(old, new)


class TestTheCommandThatWritesTheList:
    GONE = "got no `choice a = b`"

    @pytest.fixture
    def run(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
        def run_with(*, is_released: bool, version: str) -> int:
            baseline.write(interface("choice a = b", version="1.2.0"))
            monkeypatch.setattr(baseline, "current", lambda: interface(version=version))
            monkeypatch.setattr(baseline, "is_released", lambda version: is_released and version == "1.2.0")
            return main()

        monkeypatch.setattr(baseline, "NAMES", tmp_path / "names.txt")
        monkeypatch.setattr(baseline, "STUB", tmp_path / "names.pyi")
        return run_with

    def test_keeps_the_names_of_a_release(self, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
        assert 1 == run(is_released=True, version="1.3.0")
        assert ("choice a = b",) == baseline.committed().names
        assert capsys.readouterr().err.startswith(f"{self.GONE}\nnothing was written: ")

    @pytest.mark.parametrize(("is_released", "version"), [(False, "1.2.0"), (True, "2.0.0")])
    def test_prints_the_names_that_may_go(
        self, run: Callable[..., int], capsys: pytest.CaptureFixture[str], is_released: bool, version: str
    ) -> None:
        assert 0 == run(is_released=is_released, version=version)
        assert () == baseline.committed().names
        assert capsys.readouterr().out.startswith(f"{self.GONE}\nwrote 0 lines")


def test_a_version_is_released_if_the_changelog_has_its_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(python_names, "ROOT", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n## 1.2.0 - 2026-01-31\n", encoding="utf-8")

    assert baseline.is_released("1.2.0")
    assert not baseline.is_released("1.3.0")
