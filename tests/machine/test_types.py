"""Record types are known to Hypothesis through its entry point, at no cost to those who do not draw them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mockserver.core.state import records
from mockserver.core.state.tenant import Tenant
from mockserver.testing import hypothesis_types
from tests.machine.steady import STEADY

ROOT = Path(__file__).resolve().parents[2]
TYPES = (
    records.Chat,
    records.Template,
    records.Entrypoint,
    records.Funnel,
    records.Form,
    records.Webhook,
    records.Campaign,
    records.Execution,
    records.Session,
    Tenant,
)


def test_the_entry_point_names_the_function():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert {"mockserver": "mockserver.testing.hypothesis_types:register"} == project["entry-points"]["hypothesis"]


@pytest.mark.parametrize("kind", TYPES)
def test_a_record_is_drawn_from_its_type(kind: type):
    hypothesis_types.register()

    @settings(STEADY, max_examples=5, phases=[Phase.generate])
    @given(st.from_type(kind))
    def check(record):
        assert isinstance(record, kind)

    check()


def test_a_record_is_one_that_a_sandbox_holds():
    hypothesis_types.register()

    @settings(STEADY, max_examples=20, phases=[Phase.generate])
    @given(st.from_type(records.Chat))
    def check(chat):
        assert not chat.is_group_chat or (None, None) == (chat.contact, chat.birth_date)

    check()


def test_a_type_is_known_once_it_is_imported_and_nothing_is_before():
    code = """
import sys
import hypothesis.strategies as st
from mockserver.testing import hypothesis_types

hypothesis_types.register()
print([name for name in sys.modules if name.startswith("mockserver.core")])
from mockserver.core.state.records import Chat
from mockserver.core.state.tenant import Tenant

types = st._internal.types._global_type_lookup
print(Chat in types, Tenant in types)
modules = [sys.modules[kind.__module__] for kind in (Chat, Tenant)]
print({type(each.__loader__).__name__ for each in modules} | {type(each.__spec__.loader).__name__ for each in modules})
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)

    assert ["[]", "True True", "{'SourceFileLoader'}"] == done.stdout.splitlines()


@pytest.mark.parametrize(
    ("imported", "heavy"),
    [
        (
            "mockserver.testing.hypothesis_types",
            ("hypothesis", "flask", "mockserver.core", "mockserver.testing.strategies"),
        ),
        ("mockserver", ("hypothesis",)),
        ("mockserver.testing.server", ("hypothesis",)),
    ],
)
def test_importing_it_imports_nothing_heavy(imported: str, heavy: tuple[str, ...]):
    code = f"import sys, {imported}; print([name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)

    assert "[]" == done.stdout.strip()
