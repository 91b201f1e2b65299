"""The examples in the skeletons of the documents are answers of real runs, as `python -m tests.documents.skeletons` writes them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from copy import deepcopy
from typing import Any

import pytest

from mockserver import MockServer
from mockserver._data import data_dir
from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.openapi import skeleton
from mockserver.contract.openapi.parts import schema_files
from mockserver.server.control.openapi import control
from mockserver.server.control.routes import ROUTES
from tests.documents.skeletons import NAMES, Name, recorded, written

WRITE = "python -m tests.documents.skeletons"
# An estimate of memory, which differs between releases of Python.
_MEMORY = re.compile(r'(memoryBytes": )\d+')


def comparable(value: Any) -> Any:
    return json.loads(_MEMORY.sub(r"\1 0", json.dumps(value)))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_are_those_of_a_run(name: Name) -> None:
    assert comparable(recorded(name)) == comparable(skeleton.read(name)["examples"]), WRITE


def test_a_skeleton_has_each_operation_of_the_table_and_no_other() -> None:
    assert list(ENDPOINTS) == list(skeleton.read("api")["operations"])
    assert [row.id for row in ROUTES] == list(skeleton.read("control")["operations"])


def test_each_change_of_a_schema_is_at_a_place_that_its_file_has() -> None:
    files = [name for row in ENDPOINTS.values() for name in (row.request_schema, row.response_schema) if name]
    components = schema_files(tuple(files))
    changes = skeleton.read("api")["schemas"]["changes"]
    parts: list[dict[str, Any]] = [{"remove": [place]} for place in changes["remove"]]
    parts += [{"set": {place: value}} for place, value in changes["set"].items()]
    for part in parts:
        changed = deepcopy(components)
        skeleton.apply(changed, part)

        assert components != changed, f"no file has the place of {part}"


def test_each_change_of_a_part_of_scenario_documents_changes_the_control_document() -> None:
    written = skeleton.filled(skeleton.read("control")["schemas"], defaultdict(int))
    changes, whole = written["changes"], control.request_components(deepcopy(written))

    for kind, places in changes.items():
        for place in places:
            rest = [each for each in places if each != place]
            kept = rest if kind == "remove" else {each: places[each] for each in rest}
            less = control.request_components(deepcopy({**written, "changes": {**changes, kind: kept}}))

            assert whole != less, f"no part has the place {place}"


def test_a_skeleton_has_the_options_of_the_choices_that_it_names() -> None:
    whole = skeleton.read("api")
    named = {**whole["headers"], "wh-idempotency": whole["texts"]["webhookId"]}

    assert {choice: list(CHOICES[choice].options) for choice in named} == {
        choice: list(options) for choice, options in named.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_skeleton_is_as_the_command_writes_it(name: Name) -> None:
    text = (data_dir("schemas") / "openapi" / f"{name}.json").read_text(encoding="utf-8")

    assert written(skeleton.read(name)) + "\n" == text, WRITE


def test_a_server_that_is_asked_for_no_document_reads_no_skeleton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton, "read", lambda name: pytest.fail(f"{name} was read"))
    with MockServer() as server, server.sandbox("demo") as sandbox:
        assert 200 == sandbox.call("GET", "/v1/campaigns").status
