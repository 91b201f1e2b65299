"""What the README shows is what happens: its examples run, and its transcript's answers are the server's, byte for byte."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mockserver.scenario.choices import load_profile
from tests.wheels import attempt

pytestmark = pytest.mark.deep  # processes, an installed wheel, and a machine that shrinks

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", README, re.DOTALL)


def transcript() -> list[tuple[str, str]]:
    """Each command of the transcript with what it printed."""
    parts = re.split(r"^\$ ", blocks("console")[0], flags=re.MULTILINE)[1:]
    return [(command, answer.strip()) for command, _, answer in (part.partition("\n") for part in parts)]


@contextmanager
def served(*options: str) -> Iterator[tuple[str, str]]:
    """A server in a process of its own: its address and secret key, as it prints them."""
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", "--log-format", "off", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = re.search(r"http://\S+", process.stdout.readline())
        key = next(found for line in process.stdout if (found := re.search(r"sk_\w+", line)))
        assert url is not None
        yield url[0], key[0]
        process.terminate()


@pytest.fixture
def example(installed: Path, tmp_path: Path) -> Callable[[int], str]:
    """Runs an example in an empty project beside an installed copy; answers what pytest printed."""

    def run(number: int) -> str:
        (tmp_path / "test_mine.py").write_text(blocks("python")[number], encoding="utf-8")
        pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis")
        return attempt(*pytest_, cwd=tmp_path, PYTHONPATH=str(installed)).stdout

    return run


@pytest.mark.parametrize(
    ("number", "tests"),
    [(0, 1), (3, 1), (4, 2), (5, 1), (6, 1)],
    ids=["fixture", "strategy", "faults", "webhooks", "assertions"],
)
def test_an_example_passes(example: Callable[[int], str], number: int, tests: int) -> None:
    assert example(number).splitlines()[-1].startswith(f"{tests} passed in ")


def test_the_sweeps_pass_under_every_option(example: Callable[[int], str]) -> None:
    found = re.fullmatch(r"(\d+) passed in .*", example(2).splitlines()[-1])

    assert found is not None and int(found[1]) > 25


def test_the_machine_finds_the_bug_and_names_it_first(example: Callable[[int], str]) -> None:
    told = example(7)

    (section,) = re.findall(r"^-+ mockserver -+\n(.*)", told, re.MULTILINE)
    assert blocks("text")[0].splitlines()[0] == section
    assert told.splitlines()[-1].startswith("1 failed, 1 passed in ")


def test_the_example_without_pytest_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", blocks("python")[1]], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "entrypoints.chatapp.connected"


def test_the_profile_that_verify_writes_is_one_to_serve(tmp_path: Path) -> None:
    verify, serve = (line.removeprefix("$ mockserver ").split() for line in blocks("console")[1].splitlines())
    with served("--profile", "guide") as (url, key):
        given = {"$URL": url, "$KEY": key}
        arguments = [*(given.get(word, word) for word in verify), "--rate", "500"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "mockserver", *arguments], cwd=tmp_path, env=environment, check=True)

    (name,) = {word for word in verify if word.endswith(".yaml")} & set(serve)
    assert "guide" == load_profile(tmp_path / name)["dual-status"]
    with served(*[str(tmp_path / word) if word == name else word for word in serve[1:]]):
        pass


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_the_document_of_a_failed_run_is_saved_and_sent_again(tmp_path: Path) -> None:
    save, again = (line.removeprefix("$ ") for line in blocks("console")[2].splitlines())
    with served("--freeze", "2026-03-01T12:00:00Z") as (url, key):
        call = f"curl -sf -H 'X-API-Key: {key}' {url}/v1/campaigns"
        subprocess.run(["bash", "-c", f"URL={url}\n{call} -o answer && {save}"], cwd=tmp_path, check=True)
    assert key not in (tmp_path / "failed.json").read_text(encoding="utf-8")

    command = [sys.executable, "-m", *again.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[0] == "GET /v1/campaigns -> 200"
    assert done.stdout.splitlines()[-1].startswith("1 call or command, none")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_the_transcript_is_what_a_new_user_sees() -> None:
    (start, _), (_, _), (helper, _), *calls = transcript()
    options = start.removesuffix(" &").split()[2:]
    with served(*options) as (url, key):
        head = f"URL={url} KEY={key}\n{helper}\n"
        seen = [
            subprocess.run(["bash", "-c", head + call], capture_output=True, check=True).stdout for call, _ in calls
        ]

    answers = [each.decode().replace("\r", "").replace(url, "http://127.0.0.1:5055").strip() for each in seen]
    assert answers == [answer for _, answer in calls]


def test_the_key_of_the_transcript_is_the_one_that_is_printed() -> None:
    with served() as (_, key):
        assert transcript()[1][0].endswith(f"KEY={key}")
