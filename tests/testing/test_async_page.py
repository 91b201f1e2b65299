"""The examples of docs/async.md run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from mockserver import Sandbox
from tests.testing.conftest import Suite

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "async.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL)


def test_the_examples_pass(suite: Suite):
    suite.run("\n\n".join(EXAMPLES)).assert_outcomes(passed=2)


def test_the_table_names_every_async_form_of_a_sandbox():
    forms = {name for name in dir(Sandbox) if name.endswith("_async")}

    assert forms == set(re.findall(r"`(\w+_async)", PAGE))


def test_each_async_form_has_the_sync_one_beside_it():
    forms = [name for name in dir(Sandbox) if name.endswith("_async") and name != "run_async"]

    assert [] == [name for name in forms if not callable(getattr(Sandbox, name.removesuffix("_async"), None))]
