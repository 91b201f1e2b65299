"""
Suites of a small client in other languages, with the glue of `docs/glue`, under the test runner of each language.

A language that is not on the machine is skipped and named; where SUITE_LANGUAGES=required declares that all are, it fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from mockserver.scenario import documents
from mockserver.testing.report.replay import print_replay
from tests.pages.blocks import blocks
from tests.wheels import ROOT

HERE = Path(__file__).parent
GLUE = ROOT / "docs" / "glue"
TESTS = 30
TIMEOUT_SECONDS = 240
PAGE_MAX_BYTES = 12_288
JAVA = (
    "javac -encoding UTF-8 -d out *.java && t={} && "
    'java -Djdk.httpclient.redirects.retrylimit=1 -cp out "$(echo $t | cut -c1 | tr a-z A-Z)$(echo $t | cut -c2-)Test"'
)


class Language(NamedTuple):
    """
    A language with its glue and its test runner.

    Attributes:
        name: Of the folder of its suite, and of its page.
        glue: The file below `docs/glue`.
        glue_place: The same file below the folder of the suite.
        glue_lines: How many lines it may have.
        program: Without which nothing of it runs.
        run: The command that runs the tests `crm`, `page` or `failing`.
        page_place: Where the example of the page is, below the folder of the suite.
        passed: Matches each test that passes.
    """

    name: str
    glue: str
    glue_place: str
    glue_lines: int
    program: str
    run: str
    page_place: str
    passed: str


# fmt: off
LANGUAGES = (
    Language("go", "mockserver.go", "mockserver/mockserver.go", 100, "go", "go test -v ./{}", "page/page_test.go", "^--- PASS"),
    Language("java", "Mockserver.java", "Mockserver.java", 100, "javac", JAVA, "PageTest.java", "^ok "),
    Language("ruby", "mockserver.rb", "mockserver.rb", 80, "ruby", "ruby -w {}_test.rb", "page_test.rb", r"[.](?=[.]*\n\nFinished)"),
    Language("typescript", "mockserver.mjs", "mockserver.mjs", 250, "node", "node --test --test-reporter=tap {}.test.mjs", "page.test.mjs", "^ok "),
)
# fmt: on
KINDS = {"typescript": "javascript"}
ENVIRONMENT = {"GOFLAGS": "-mod=mod", "GOPROXY": "off"}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
each_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)


@pytest.fixture
def folder(language: Language, tmp_path: Path) -> Path:
    """The suite of a language with its glue, and the command of this environment, as an installed one would be."""
    if shutil.which(language.program) is None:
        sentence = f"{language.program} is not on this machine: the suite in {language.name} does not run"
        if os.environ.get("SUITE_LANGUAGES") == "required":
            pytest.fail(f"SUITE_LANGUAGES=required, but {sentence}")
        pytest.skip(sentence)
    suite = tmp_path / language.name
    shutil.copytree(HERE / language.name, suite)
    for place in (language.glue_place, language.page_place):
        (suite / place).parent.mkdir(exist_ok=True)
    (suite / language.glue_place).write_text(glue_of(language), encoding="utf-8")
    (example, *_) = (
        block for block in blocks(page_of(language)) if block.kind == KINDS.get(language.name, language.name)
    )
    (suite / language.page_place).write_text(example.text, encoding="utf-8")
    command = tmp_path / "bin" / "mockserver"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mockserver "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return suite


def glue_of(language: Language) -> str:
    return (GLUE / language.glue).read_text("utf-8")


def page_of(language: Language) -> str:
    return f"docs/from-{language.name}.md"


def run(language: Language, folder: Path, tests: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", language.run.format(tests)],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "PATH": path, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@each_language
def test_the_glue_and_its_page_are_short(language: Language) -> None:
    page = ROOT / page_of(language)

    assert len(glue_of(language).splitlines()) <= language.glue_lines
    assert page.stat().st_size <= PAGE_MAX_BYTES
    assert language.glue in page.read_text("utf-8")


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_thirty_tests_of_a_client_pass(language: Language, folder: Path) -> None:
    done = run(language, folder, "crm")

    assert 0 == done.returncode, done.stdout
    assert TESTS == len(re.findall(language.passed, done.stdout, re.MULTILINE)), done.stdout


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_the_example_of_the_page_passes_with_a_server_that_requires_a_token(language: Language, folder: Path) -> None:
    done = run(language, folder, "page", MOCKSERVER_TOKEN="let-me-in")

    assert 0 == done.returncode, done.stdout


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_a_failing_test_prints_the_report_and_leaves_its_files(language: Language, folder: Path) -> None:
    done = run(language, folder, "failing")

    assert 0 != done.returncode
    assert "readCampaign got the campaign id" in done.stdout
    (kept,) = folder.rglob(".mockserver/failures")
    texts = {file.name: file.read_text("utf-8") for file in kept.iterdir()}
    (name,) = (file.stem for file in kept.glob("*.txt") if "readCampaign got the campaign id" in texts[file.name])
    assert {f"{name}.{ending}" for ending in ("txt", "yaml", "har", "html")} <= texts.keys()
    assert texts[f"{name}.txt"].splitlines()[-1].endswith(f"/{name}.txt")
    assert "readCampaign GET /v1/campaigns/campaign_none" in texts[f"{name}.html"]
    assert 0 == print_replay(documents.read(kept / f"{name}.yaml"), StringIO())
    assert [] == [name for name, text in texts.items() if re.search(r"sk_[a-z0-9]{8}", text)]


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_an_expectation_on_calls_that_is_not_met_fails_its_test_in_words(language: Language, folder: Path) -> None:
    done = run(language, folder, "failing")

    assert "expected exactly 1 call of listCampaigns, got 0; no call reached the sandbox" in done.stdout


@pytest.mark.deep
@pytest.mark.suites
@pytest.mark.parametrize("language", LANGUAGES[:1], ids=["go"])
def test_a_panic_of_go_leaves_the_report_of_its_test(language: Language, folder: Path) -> None:
    done = run(language, folder, "failing")

    assert "panic: the client has no campaign" in done.stdout
    assert "clock: advance by 7m" in done.stdout


@pytest.mark.deep
@pytest.mark.suites
@each_language
def test_a_rule_that_never_fires_fails_its_test(language: Language, folder: Path) -> None:
    done = run(language, folder, "failing")

    assert "a rule that must fire never fired" in done.stdout
    (kept,) = folder.rglob(".mockserver/failures")
    (text,) = (text for file in kept.glob("*.txt") if "rules that never fired:" in (text := file.read_text("utf-8")))
    assert "startCampaign" in text
