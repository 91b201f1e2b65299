"""Every block of README.md, CONTRIBUTING.md and docs/ does what its page describes."""

from __future__ import annotations

import configparser
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mockserver import MockServer
from mockserver.scenario.choices import load_profile
from tests.pages import examples, sessions
from tests.pages.blocks import KINDS, MARKERS, Block, blocks, every_block, is_recording, pages, read, record
from tests.wheels import ROOT

GENERATED = ("docs/choices.md", "docs/conduct.md", "docs/scenarios.md")
RECORD = "if the page is out of date, record it again: python -m tests.pages"
_DIRECTIVE = r"\{[a-z-]+\}.*"  # of the site, which checks it when it is built
README_BYTES = 9 * 1024
PAGE_BYTES = 12 * 1024
EXAMPLES = [example for page in pages() for example in examples.examples(blocks(page))]
SESSIONS = [block for block in every_block("console") if block.is_run]


# What a newcomer reads first is for the test line, the other pages for the deep run: each example is a process or a suite.
FIRST = ("README.md", "docs/pytest.md", "docs/other-languages.md", "docs/webhooks.md")


def case(value: Any, block: Block) -> Any:
    """A parameter named after its block, in the deep run alone by its page, or if the block's marker has it so."""
    is_deep = block.page not in FIRST or "deep" in block.markers
    return pytest.param(value, id=str(block), marks=[pytest.mark.deep] * is_deep)


def test_every_block_is_of_a_kind_that_a_test_checks() -> None:
    unknown = [
        f"{block}: {block.kind!r}"
        for page in pages()
        for block in blocks(page)
        if block.kind not in KINDS and not re.fullmatch(_DIRECTIVE, block.kind)
    ]

    assert [] == unknown


def test_every_fence_is_read_and_every_quote_belongs_to_an_example() -> None:
    fences = {page: re.findall(r"^\s*(?:```|~~~)", read(page), re.MULTILINE) for page in pages()}
    quotes = [example.quote for example in EXAMPLES]

    assert [] == [page for page, lines in fences.items() if len(lines) != 2 * len(blocks(page))]
    assert [] == [str(block) for block in every_block("text") if block.is_run and block not in quotes]


def test_every_marker_is_known_and_a_block_that_is_not_run_gives_its_reason() -> None:
    every = [block for page in pages() for block in blocks(page)]

    assert [] == [f"{block}: {name}" for block in every for name in block.markers if name not in MARKERS]
    assert [] == [f"{block}" for block in every if "" in block.markers.values()]


@pytest.mark.parametrize("example", [case(example, example.block) for example in EXAMPLES])
def test_an_example_behaves_as_its_page_states(example: examples.Example, pytester: pytest.Pytester) -> None:
    outcome = examples.run(example, pytester)
    if is_recording() and example.quote is not None:
        record(example.quote, examples.quoted(example.quote, outcome))
        return

    assert [] == list(examples.problems(example, outcome)), RECORD


@pytest.mark.skipif(bool(sessions.MISSING), reason=f"not on this machine: {', '.join(sessions.MISSING)}")
@pytest.mark.parametrize("block", [case(block, block) for block in SESSIONS])
def test_a_session_prints_the_output_on_its_page(block: Block, tmp_path: Path) -> None:
    replayed = sessions.replay(block, tmp_path)
    if is_recording():
        assert [] == [each for each in replayed if each.is_refused], "a refusal of the mock is not recorded"
        record(block, sessions.recorded(replayed))
        return

    differing = [(each.step.command, each.status, each.printed) for each in replayed if not each.is_as_shown]
    assert [] == differing, RECORD


def test_the_key_of_a_session_is_the_one_that_the_server_prints() -> None:
    with MockServer() as server, server.sandbox("demo") as sandbox:
        keys = {key for block in SESSIONS for key in re.findall(r"\bsk_\w+", block.text)}

        assert {sandbox.secret_key} == keys


def test_python_that_is_not_run_compiles() -> None:
    for block in every_block("python"):
        compile(block.text, str(block), "exec")


def _documents() -> Iterator[tuple[Block, Any]]:
    for block in every_block("yaml", "json"):
        is_json = block.kind == "json"
        yield block, json.loads(block.text) if is_json else YAML(typ="safe").load(io.StringIO(block.text))


def test_every_scenario_plays_and_every_profile_loads(tmp_path: Path) -> None:
    played = []
    with MockServer() as server:
        for block, document in _documents():
            if not block.is_run or {"file", "page file"} & block.markers.keys():
                continue
            played.append(block)
            if set(document) == {"choices"}:
                (tmp_path / "profile.yaml").write_text(block.text, encoding="utf-8")
                assert set(document["choices"]) <= set(load_profile(tmp_path / "profile.yaml"))
                continue
            with server.sandbox(now="2026-03-01T12:00:00Z") as sandbox:
                sandbox.apply(document)
                sandbox.advance(until="idle")

    assert played != []


def test_settings_files_are_read_without_a_complaint() -> None:
    for block in every_block("toml"):
        tomllib.loads(block.text)
    for block in every_block("ini"):
        configparser.ConfigParser().read_string(block.text)


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine")
def test_javascript_passes_under_node(tmp_path: Path) -> None:
    with MockServer() as server, server.sandbox("demo") as default:
        shutil.copy(ROOT / "docs" / "glue" / "mockserver.mjs", tmp_path)
        for block in every_block("javascript"):
            if not block.is_run:
                continue
            (tmp_path / "example.test.mjs").write_text(block.text, encoding="utf-8")
            environment = {**os.environ, "MOCKSERVER_SERVER": default.base_url}
            done = subprocess.run(
                ["node", "--test", "example.test.mjs"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                encoding="utf-8",
                timeout=60,
                check=False,
            )

            assert 0 == done.returncode, f"{block}: {done.stdout}"


def _simple_commands(block: Block) -> list[list[str]]:
    joined = block.text.replace("\\\n", " ")
    return [part.split() for line in joined.splitlines() for part in re.split(r"&&|;|\|", line) if part.split()]


def _unknown(words: list[str], extras: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a shell line names that does not exist: modules, extras, files of the checkout but for the site."""
    declared = {re.split(r"\W", requirement)[0] for extra in extras.values() for requirement in extra}
    for program, option, module in zip(words, words[1:], words[2:], strict=False):
        is_module = program.endswith("python") and option == "-m" and "$" not in module
        if is_module and module not in declared and importlib.util.find_spec(module) is None:
            yield module
    for listed in re.findall(r"\[([\w,]+)\]", " ".join(words)):
        yield from (extra for extra in listed.split(",") if extra not in extras)
    for word in words:
        if (
            re.match(r"(\.ci|tests|mockserver|docs(?!/_build/))/\w", word)
            and not (ROOT / word.partition("::")[0]).exists()
        ):
            yield word


def test_shell_lines_name_what_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    assert [] == [
        f"{block}: {name}"
        for block in every_block("sh")
        for words in _simple_commands(block)
        for name in _unknown(words, extras)
    ]


def test_every_page_is_listed_by_the_index() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", read("docs/index.md")))

    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"} == listed


def test_no_example_of_the_readme_is_left_to_the_deep_run() -> None:
    kinds = {block.kind for block in blocks("README.md") if block.is_run and "deep" not in block.markers}

    assert {"python", "console", "sh"} == kinds == {block.kind for block in blocks("README.md")}


def test_pages_are_short() -> None:
    shown = {page: re.sub(r"\]\([^)]*\)", "]", read(page)) for page in pages() if not page.startswith(GENERATED)}
    sizes = {page: len(text.encode()) for page, text in shown.items()}

    assert len(read("README.md").encode()) <= README_BYTES
    assert [] == [(page, size) for page, size in sizes.items() if size > PAGE_BYTES]
