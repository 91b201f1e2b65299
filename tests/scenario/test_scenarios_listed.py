"""`mockserver scenarios NAME`: what a scenario seeds and does; and the documents that the pages of the project show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.scenario import library

DOCUMENT = """\
scenario: own
summary: What is mine.
given:
  templates: [{id: template_t, name: T}]
  chats: {count: 20}
  tenants: [{id: tenant_b, forms: [{id: form_b}]}]
script: [{on: createCampaign, do: {drop: after}}]
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(DOCUMENT, encoding="utf-8")
    return path


def test_a_scenario_is_listed_with_the_ids_that_it_seeds(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["scenarios", str(own)])

    lines = capsys.readouterr().out.splitlines()
    assert ["Scenario own", "  What is mine.", "  templates: template_t"] == lines[:3]
    assert re.fullmatch(r"  chats: (chat_\w+, ){8}\.\.\. \(20 in all\)", lines[3])
    assert ["  tenants: tenant_b", "  forms: form_b", "  rule 1: drop after at each createCampaign"] == lines[4:]


def test_programs_read_every_id_that_a_scenario_seeds(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["scenarios", str(own), "--json"])

    listing = json.loads(capsys.readouterr().out)
    assert {"name", "summary", "clauses", "created", "script"} == set(listing)
    assert (["template_t"], 20, ["tenant_b"], ["form_b"]) == (
        listing["created"]["templates"],
        len(set(listing["created"]["chats"])),
        listing["created"]["tenants"],
        listing["created"]["forms"],
    )


def test_each_scenario_of_the_library_is_listed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {}
    for name in library.paths():
        code, printed = main(["scenarios", name]), capsys.readouterr().out
        given = {**library.document(name).get("given", {}), "tenants": []}  # these may be set
        unlisted = [kind for kind, entries in given.items() if entries and f"\n  {kind}: " not in printed]
        if code or unlisted or not printed.startswith(f"Scenario {name}\n"):
            wrong[name] = (code, unlisted, printed)

    assert {} == wrong


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dmo"], "did you mean 'demo'?"),
        (["demo", "--schema"], "expected one of them"),
        (["no.yaml"], "No such file"),
    ],
)
def test_what_cannot_be_listed_is_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["scenarios", *arguments])
    assert words in capsys.readouterr().err
