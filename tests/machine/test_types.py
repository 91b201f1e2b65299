"""Hypothesis draws the typed bodies through its entry point, at little cost to those who draw none."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mockserver import Sandbox
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.testing import bodies, hypothesis_types
from mockserver.testing.strategies import GIVEN
from tests.machine.steady import STEADY

ROOT = Path(__file__).resolve().parents[2]
FEW = settings(STEADY, max_examples=5, phases=[Phase.generate])


def test_the_entry_point_names_the_function() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert {"mockserver": "mockserver.testing.hypothesis_types:register"} == project["entry-points"]["hypothesis"]


def test_every_body_is_generated_from_its_type_as_json() -> None:
    hypothesis_types.register()
    drawn: set[str] = set()

    for name in bodies.__all__:

        @FEW
        @given(st.from_type(getattr(bodies, name)))
        def check(body: Any) -> None:
            assert body == json.loads(json.dumps(body))

        check()
        drawn.add(name)

    assert set(bodies.__all__) == drawn


@pytest.mark.mockserver(given=dict(GIVEN), now="2026-03-01T12:00:00Z")
@pytest.mark.parametrize("operation", ["previewAudience", "createCampaign", "createConnectionSession"])
def test_a_request_generated_from_its_type_is_accepted(mockserver: Sandbox, operation: str) -> None:
    hypothesis_types.register()
    kind = getattr(bodies, f"{operation[0].upper()}{operation[1:]}Request")

    @FEW
    @given(st.from_type(kind))
    def check(body: Any) -> None:
        with mockserver.checkpoint():
            assert mockserver.call("POST", ENDPOINTS[operation].path, json=body).status < 300

    check()
