"""A written document: both JSON and YAML, in lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from mockserver.scenario.documents import dump

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab:\"'#- ", max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["scenario", "given", "script", "calls"]), VALUES))
def test_a_document_reads_the_same_as_json_and_as_yaml(document: dict[str, Any]) -> None:
    written = dump({key: value if isinstance(value, list | None) else [value] for key, value in document.items()})

    assert json.loads(written) == YAML(typ="safe", pure=True).load(written)


def test_each_key_each_rule_and_each_call_has_a_line() -> None:
    calls = [{"call": "GET /v1/campaigns", "answer": {"status": 200}}, {"do": "advance", "with": {"by": "1m"}}]
    document = {"scenario": "Órfã", "given": {"chats": [{"id": "a"}, {"id": "b"}]}, "script": [], "calls": calls}

    assert [
        "{",
        '  "scenario": "Órfã",',
        '  "given": {"chats": [{"id": "a"}, {"id": "b"}]},',
        '  "script": [],',
        '  "calls": [',
        '    {"call": "GET /v1/campaigns", "answer": {"status": 200}},',
        '    {"do": "advance", "with": {"by": "1m"}}',
        "  ]",
        "}",
    ] == dump(document).splitlines()
