"""A full disk: no test has another result by it, one line says which file is missing, and no part of a file is left."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.judge.coverage.coverage import Coverage
from tests.testing.conftest import Suite

FULL = "OSError: [[]Errno 28[]] No space left on device*"
TESTS = """
import pytest

def test_passes(mockserver):
    assert 200 == mockserver.call("GET", "/v1/campaigns").status

def test_fails(mockserver):
    assert 404 == mockserver.call("GET", "/v1/campaigns").status

@pytest.mark.mockserver_explore(faults=["internal-error"])
def test_explored(mockserver):
    mockserver.call("GET", "/v1/campaigns").json()["campaigns"]
"""


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be made, and have the disk be full in the middle of the content of each."""
    write_bytes = Path.write_bytes

    def write_half(file: Path, content: bytes) -> int:
        write_bytes(file, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)


WRITTEN = (("explore", "json"), ("explore", "html"))


def files_below(folder: Path) -> list[str]:
    return sorted(
        file.name for file in folder.rglob("*") if file.is_file() and file.suffix not in (".py", ".ini", ".pyc")
    )


@pytest.mark.deep
@pytest.mark.usefixtures("full_disk")
def test_each_test_has_its_own_result_and_each_missing_file_one_line(suite: Suite) -> None:
    result = suite.run(
        TESTS,
        "--mockserver-cov",
        *(f"--mockserver-{part}-{form}=out/{part}.{form}" for part, form in WRITTEN),
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
    )

    result.assert_outcomes(passed=2, failed=1)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines_random(
        [
            f"no replay document was written: {FULL}",
            f"  no replay document was written: {FULL}",
            f"no trace was written: {FULL}",
            *(f"mockserver: out/{part}.{form} was not written: No space left on device" for part, form in WRITTEN),
            "mockserver: *coverage.json was not written: No space left on device",
        ]
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert [] == [name for name in files_below(suite.pytester.path) if name != ".gitignore"]


@pytest.mark.usefixtures("full_disk")
def test_a_file_keeps_its_former_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "coverage.json"
    file.write_text("{}", encoding="utf-8")

    with pytest.raises(OSError, match="No space left on device"):
        Coverage().save(file)

    assert ("{}", ["coverage.json"]) == (file.read_text(encoding="utf-8"), files_below(tmp_path))


@pytest.mark.usefixtures("full_disk")
def test_a_command_prints_the_file_and_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "coverage.json", tmp_path / "out.html"
    source.write_text(Coverage().as_text(), encoding="utf-8")

    status = main(["coverage", "html", str(source), "-o", str(target)])

    assert (2, f"mockserver: {target}: No space left on device\n") == (status, capsys.readouterr().err)
    assert not target.exists()
