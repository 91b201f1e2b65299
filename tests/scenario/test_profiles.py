"""Profiles by name or from a file, and which one wins if a choice is given too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.scenario.choices import load_profile
from mockserver.scenario.problems import ScenarioError


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Any]:
    def write(text: str, name: str = "mine.yaml") -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def in_force(sandbox: Sandbox) -> dict[str, object]:
    choices: dict[str, object] = sandbox.state()["choices"]
    return choices


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yml", "mine.json", "mine"])
def test_a_profile_is_read_from_a_file(file: Callable[..., Any], name: str) -> None:
    path = file(json.dumps({"choices": {"dual-status": "guide", "media-max-files": 3}}), name)

    assert {"dual-status": "guide", "media-max-files": 3} == load_profile(path) == load_profile(str(path))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("choices: {dual-statu: guide}", "'dual-status'"),
        ("choices: {dual-status: gide}", "'guide'"),
        ("choices: {idempotency-key: x}", "fixed"),
        ("choice: {dual-status: guide}", "'choices'"),
        ("choices: {}\ngiven: {chats: 3}", "/given"),
        ("choices: {}\nseed: 3", "/seed: got a key of scenarios; expected only scenario, summary, choices"),
    ],
)
def test_a_file_with_anything_else_is_refused(file: Callable[..., Any], text: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        load_profile(file(text))

    assert problem in str(refusal.value)


def test_a_reset_retains_the_profile(mockserver_server: MockServer) -> None:
    with mockserver_server.sandbox(profile="guide") as sandbox:
        sandbox.reset()

        assert "guide" == in_force(sandbox)["dual-status"]
