"""Prebuilt scenarios: equal to their YAML, and never older than it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mockserver.scenario import library
from mockserver.scenario.documents import Document, read_file
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting.config import SandboxConfig, config_document
from tests.scenario import prebuilt

SMALL = "scenario: small\ngiven:\n  templates:\n    - {id: template_small, name: Pequeno}\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A YAML file with its prebuilt document."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    library.prebuilt_path(path).write_text(prebuilt.prebuilt(path), encoding="utf-8")
    return path


def without_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> Any:
        raise AssertionError("the YAML was parsed")

    monkeypatch.setattr(library, "read_file", refuse)


@pytest.mark.parametrize("name", prebuilt.NAMES)
def test_a_prebuilt_document_equals_its_yaml(name: str) -> None:
    path = library.paths()[name]

    written = library.prebuilt_path(path).read_text(encoding="utf-8")

    assert prebuilt.prebuilt(path) == written, "run `python -m tests.scenario.prebuilt`"


def test_every_prebuilt_file_is_written_by_the_command() -> None:
    folder = library.paths()["demo"].parent

    assert {f"{name}.prebuilt.json" for name in prebuilt.NAMES} == {path.name for path in folder.glob("*.json")}


def test_a_prebuilt_document_is_read_without_the_parser(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = read_file(small)
    without_parser(monkeypatch)

    document = library.read_scenario(small)

    assert json.dumps(parsed) == json.dumps(document)
    assert small == document.file


def test_a_yaml_file_that_has_changed_is_parsed(small: Path) -> None:
    small.write_text(SMALL.replace("Pequeno", "Grande"), encoding="utf-8")

    assert "Grande" == library.read_scenario(small)["given"]["templates"][0]["name"]


def test_other_line_ends_are_not_a_change(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small.write_bytes(SMALL.replace("\n", "\r\n").encode())
    without_parser(monkeypatch)

    assert "small" == library.read_scenario(small)["scenario"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"crc32": 1}', '{"crc32": 1, "document": []}'])
def test_a_damaged_prebuilt_file_is_ignored(small: Path, text: str) -> None:
    library.prebuilt_path(small).write_text(text, encoding="utf-8")

    assert "small" == library.read_scenario(small)["scenario"]


def test_settings_of_a_prebuilt_document_are_validated() -> None:
    merged = config_document(SandboxConfig("demo", clock={"freeze": "soon"}))

    assert isinstance(merged, Document)
    assert not merged.is_valid
    with pytest.raises(ScenarioError, match="/clock/freeze"):
        from mockserver.server.hosting.host import SandboxHost

        SandboxHost().create(SandboxConfig("demo", clock={"freeze": "soon"}))
