"""
What `--mockserver-cov` adds to a suite, as a ratio of processor time: `python -m tests.benchmarks.coverage`.

Two suites: 200 tests of two calls each, and the tests that play the library. Each runs in a process of its own, `ROUNDS`
times with the option and without it by turns, so that what else the machine does falls on both; 1.03 is too much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.benchmarks.suites import COUNT
from tests.wheels import ROOT

ROUNDS = 9
SUITE = f"""
import pytest

GIVEN = {{"templates": [{{"id": "template_hello"}}]}}
BODY = {{"name": "Hello", "platform": "chatapp", "templateId": "template_hello", "cadence": 60}}


@pytest.mark.parametrize("number", range({COUNT}))
@pytest.mark.mockserver(given=GIVEN)
def test_it(mockserver, number):
    with mockserver.requests_session() as session:
        session.headers["X-API-Key"] = mockserver.secret_key
        made = session.post(f"{{mockserver.base_url}}/v1/campaigns", json=BODY).json()
        read = session.get(f"{{mockserver.base_url}}/v1/campaigns/{{made['campaignId']}}").json()
        assert "draft" == read["status"]
"""
# The seconds of the process's own processor time, from its start to its end.
PROGRAM = "import sys, time, pytest; code = pytest.main(sys.argv[1:]); print(time.process_time(), file=sys.stderr); sys.exit(code)"


def seconds(arguments: Sequence[str]) -> float:
    """The processor time of one run."""
    command = [sys.executable, "-c", PROGRAM, "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=True)
    return float(done.stderr.splitlines()[-1])


def compare(name: str, suite: Sequence[str], option: Sequence[str]) -> None:
    """Print the ratio of a suite."""
    seconds(suite)  # compiles
    without, with_option = zip(*((seconds(suite), seconds([*suite, *option])) for _ in range(ROUNDS)), strict=True)
    least, middle = min(with_option) / min(without), median(with_option) / median(without)
    print(f"{name}: {min(without):.2f} s; with coverage {least:.3f} times (least), {middle:.3f} times (median)")


def main() -> None:
    played = sorted(str(path) for path in (ROOT / "tests" / "scenario").glob("test_*_played.py"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_it.py"
        file.write_text(SUITE, encoding="utf-8")
        option = ("--mockserver-cov", f"--mockserver-cov-file={folder}/coverage.json")
        compare(f"{COUNT} tests of two calls", [str(file), f"--rootdir={folder}"], option)
        compare(f"the library, {len(played)} files", played, option)


if __name__ == "__main__":
    main()
