"""What a release is made of: workflows whose actions are pinned, the tag, and a wheel that installs from an index."""

from __future__ import annotations

import functools
import http.server
import os
import re
import runpy
import socketserver
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mockserver.cli import main
from tests.harness.rows import each_row
from tests.wheels import ROOT, Built

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
DEADLINE_S = 300


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


@pytest.fixture
def index(built: Built, tmp_path: Path) -> Iterator[str]:
    """The address of a simple index (PEP 503) that has the wheel alone."""
    project = tmp_path / "index" / "crm-gateway-mockserver"
    project.mkdir(parents=True)
    (project / built.wheel.name).write_bytes(built.wheel.read_bytes())
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.mark.deep
def test_a_bare_environment_installs_it_from_an_index_and_runs_both_lines_of_a_new_project(
    index: str, tmp_path: Path
) -> None:
    home = tmp_path / "project"
    home.mkdir()
    bin_ = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([sys.executable, "-m", "venv", str(home / "venv")], check=True, timeout=DEADLINE_S)
    pip: list[str] = [
        str(bin_ / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--extra-index-url",
        index,
    ]
    installed = subprocess.run(
        [*pip, "crm-gateway-mockserver[pytest,requests]"],
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE_S,
        check=False,
    )
    if installed.returncode and "No matching distribution" not in installed.stderr:
        pytest.skip(f"no index for the dependencies: {installed.stderr.splitlines()[-1:]}")
    assert 0 == installed.returncode, installed.stderr
    (home / "test_mine.py").write_text(
        "def test_the_list_is_empty(mockserver):\n"
        "    answer = mockserver.requests_session().get(\n"
        "        f'{mockserver.base_url}/v1/campaigns', headers={'X-API-Key': mockserver.secret_key}\n"
        "    )\n"
        "    assert [] == answer.json()['campaigns']\n",
        encoding="utf-8",
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}

    tested = subprocess.run(
        [str(bin_ / "pytest"), "-q", "-p", "no:cacheprovider"],
        cwd=home, env=environment, capture_output=True, encoding="utf-8", timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert "1 passed" in tested.stdout, tested.stdout + tested.stderr

    with subprocess.Popen(
        [str(bin_ / "mockserver"), "serve", "--port", "0"],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\w.:]+", line)))
        with urllib.request.urlopen(f"{address}/_mock/health", timeout=DEADLINE_S) as answer:
            assert 200 == answer.status
        server.terminate()
