"""What a release is made of: workflows whose actions are pinned, the tag, and a wheel that installs from an index."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mockserver.cli import main
from tests.harness.rows import each_row
from tests.wheels import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in YAML(typ="safe").load(workflow.read_text(encoding="utf-8"))["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_of_a_workflow_is_pinned_by_its_commit(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]

    assert used
    assert [] == [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)]


def test_only_the_job_that_publishes_may_identify_itself() -> None:
    jobs = YAML(typ="safe").load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]

    assert {"build": None, "publish": {"id-token": "write"}} == {
        name: job.get("permissions") for name, job in jobs.items()
    }
    assert "build" == jobs["publish"]["needs"]


@pytest.mark.parametrize(
    ("tag", "changelog", "problem"),
    [
        ("v1.2.3", "## 1.2.3 - 2026-01-31\n", None),
        ("v1.2.3", "## [1.2.3] - 2026-01-31\n", None),
        ("1.2.3", "", "got the tag 1.2.3; expected v1.2.3, the version of pyproject.toml"),
        (
            "v1.2.3",
            "## 1.2.3 - unreleased\n",
            "got no section for 1.2.3 in CHANGELOG.md; expected `## 1.2.3 - YYYY-MM-DD`",
        ),
        (
            "v1.2.3",
            "## 1.2.30 - 2026-01-31\n",
            "got no section for 1.2.3 in CHANGELOG.md; expected `## 1.2.3 - YYYY-MM-DD`",
        ),
    ],
)
def test_a_tag_is_released_if_it_is_the_version_and_in_the_changelog(
    tag: str, changelog: str, problem: str | None
) -> None:
    names = runpy.run_path(str(ROOT / ".ci" / "tag.py"), run_name="tag")

    assert problem == names["problem"](tag, "1.2.3", changelog)


def test_no_line_of_the_changelog_has_more_than_200_characters() -> None:
    assert [] == [line for line in CHANGELOG.splitlines() if len(line) > 200]


@each_row("name", sorted(set(re.findall(r"`mockserver ([^\s`]+)", CHANGELOG))))
def test_a_command_that_the_changelog_names_exists(name: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    assert 0 == ended.value.code
