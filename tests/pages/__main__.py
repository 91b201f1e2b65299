"""Record again what the pages quote: `python -m tests.pages` writes outputs of sessions and first lines of reports."""

from __future__ import annotations

import os
import sys

import pytest

from tests.pages.blocks import RECORDING

os.environ[RECORDING] = "1"
sys.exit(
    pytest.main(
        ["-q", "-p", "no:randomly", "-m", "", "tests/pages", "-k", "session_prints or example_behaves", *sys.argv[1:]]
    )
)
