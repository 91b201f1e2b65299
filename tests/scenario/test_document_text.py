"""The text of a document: what no reader may take long over is refused in well under a second, with its line and column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver._json import JSON
from mockserver.cli import main
from mockserver.scenario.documents import read
from tests.harness.steps import python_calls

LEVELS = 5_000
NO_YAML = "text that the YAML parser refuses"
STEPS_MAX = 8_000_000  # twice the most that one takes; what grows faster than the text takes many times as many

DEEPER = "a value nested deeper than 72 levels, the mock's own bound"
ALIASED = "aliases of more than 100000 values, the mock's own bound"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
MERGE_BOMB = "a0: &a0 {b: 1}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
# The text, and a part of its refusal.
HOSTILE = {
    "bomb.yaml": (BOMB, f"line 6, column 25: got {ALIASED}"),
    "merge-bomb.yaml": (MERGE_BOMB, f"got {ALIASED}"),
    "itself.yaml": ("given: &g\n  chats: [*g, *g]\n", "line 2, column 11: got the alias *g inside its own value"),
    "itself-as-key.yaml": ("&a {? *a : 1}\n", "line 1, column 7: got the alias *a inside its own value"),
    "lists.yaml": ("given: " + "[" * LEVELS + "]" * LEVELS, f"line 1, column 79: got {DEEPER}"),
    "maps.yaml": ("given: " + "{a: " * LEVELS + "1" + "}" * LEVELS, DEEPER),
    "blocks.yaml": ("\n".join(" " * level + "a:" for level in range(500)), f"line 72, column 72: got {DEEPER}"),
    "dashes.yaml": ("- " * LEVELS + "x", DEEPER),
    "open.yaml": ("[" * 100_000, DEEPER),
    "lists.json": ('{"given": ' + "[" * LEVELS + "]" * LEVELS + "}", DEEPER),
    "objects.json": ('{"given":' * LEVELS + "1" + "}" * LEVELS, DEEPER),
    "some-levels.json": (
        '{"given": ' + "[" * 300 + "]" * 300 + "}",
        "/given/0 (line 1, column 82): got " + DEEPER[:36],
    ),
    "open.json": ('{"given": ' + "[" * 100_000, DEEPER),
    "digits.yaml": ("seed: " + "1" * 5_000, "line 1, column 7: got a value that cannot be read"),
    "digits.json": ('{"seed": ' + "1" * 5_000 + "}", "line 1, column 10: got a value that cannot be read"),
    "month.yaml": ("clock: {freeze: 2026-13-45}", "line 1, column 17: got a value that cannot be read: month"),
    "tag.yaml": (
        "given: !!python/object/apply:os.system [ls]",
        "line 1, column 8: got text that the YAML parser refuses (could not determine",
    ),
    "twice.json": ('{"seed": 1, "seed": 2}', 'line 1, column 13: got duplicate key "seed"'),
    "twice.yaml": (
        "given:\n  chats: {count: 3}\n  chats: {count: 4}",
        'line 3, column 3: got duplicate key "chats" in one object; expected YAML 1.2',
    ),
    "python.yaml": (
        '"""A client."""\n',
        "got text that the YAML parser refuses (expected '<document start>', but found ('<scalar>',))",
    ),
    "list.yaml": ("- 1", "/: got a list; expected an object"),
    "word.yaml": ("demo", "/: got a single value; expected an object"),
    "nul.yaml": ("a: \0", "unacceptable character"),
}


# Each step of these is counted for seconds; one of them is for the test line.
SLOW = ("lists.json", "open.yaml", "open.json")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.deep] * (name in SLOW)) for name in HOSTILE])
def test_a_hostile_text_is_refused_in_few_steps(tmp_path: Path, name: str, mockserver_server: MockServer) -> None:
    text, reason = HOSTILE[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    read_before(tmp_path)
    refusals: list[str] = []

    def refuse() -> None:
        with pytest.raises(ScenarioError) as refusal:
            mockserver_server.sandbox(str(tmp_path / name))
        refusals.append(str(refusal.value))

    steps = python_calls(refuse)

    assert reason in refusals[0]
    assert STEPS_MAX > steps


def read_before(folder: Path) -> None:
    """Import the reader, which is not part of the cost of a text."""
    (folder / "well.yaml").write_text("scenario: well", encoding="utf-8")
    read(folder / "well.yaml")


def test_a_python_document_that_contains_itself_is_refused(mockserver: Sandbox) -> None:
    given: JSON = {}
    given["chats"] = [given, given]

    with pytest.raises(ScenarioError, match="nested deeper than 72 levels"):
        mockserver.apply({"given": given})


@pytest.mark.parametrize("levels", [64, 65, 400])
def test_a_body_of_any_depth_is_in_the_document_of_its_run(
    mockserver_server: MockServer, tmp_path: Path, levels: int
) -> None:
    body = json.loads("[" * levels + "]" * levels)
    with mockserver_server.sandbox() as sandbox:
        sandbox.call("POST", "/v1/campaigns", json=body)
        document = sandbox.log.replay_document()
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document), encoding="utf-8")

    assert 0 == main(["replay-calls", str(path)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", f"line 1, column 6: got {NO_YAML} (expected ',' or ']', but got '<stream end>'); expected YAML 1.2"),
        (
            "a: {b: 1",
            f"line 1, column 9: got {NO_YAML} (expected ',' or '}}', but got '<stream end>'); expected YAML 1.2",
        ),
        ("a: 1\n- b\n", f"line 2, column 1: got {NO_YAML} (expected <block end>, but found '-'); expected YAML 1.2"),
        ("a: b: c\n", f"line 1, column 5: got {NO_YAML} (mapping values are not allowed here); expected YAML 1.2"),
    ],
)
def test_invalid_yaml_is_reported_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "broken.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(ScenarioError) as refused:
        read(tmp_path / "broken.yaml")

    assert message in str(refused.value)
