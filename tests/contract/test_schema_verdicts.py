"""The verdicts on values: the bounds of the four request bodies, and one verdict of the two schema engines."""

import json
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver import _data
from mockserver.contract import schemas
from tests.depth import at_depth
from tests.harness.rows import each_row

EXAMPLES: dict[str, list[Any]] = json.loads(Path(__file__).with_name("documented_examples.json").read_text("utf-8"))
REQUESTS = [
    "previewAudience.request",
    "createCampaign.request",
    "startCampaign.request",
    "createConnectionSession.request",
]

CAMPAIGN = EXAMPLES["createCampaign.request"][0]
ABOVE = 2**53
# fmt: on

# Refusals of a schema by a rule that combines several fields: which example, what is put in, where the problem is.
JOINED: list[tuple[str, int, dict[str, Any], str]] = [
    ("createConnectionSession.request", 0, {"funnelId": "funnel_1"}, "/funnelStepId"),
    ("executionEntry", 0, {"completedAt": None}, "/completedAt"),
    ("executionEntry", 1, {"completedAt": "2026-03-01T12:02:00Z"}, "/completedAt"),
    ("readConnectionSession.response", 0, {"entrypoint": {}}, "/entrypoint"),
    ("readConnectionSession.response", 0, {"reason": "expired"}, "/reason"),
    ("readConnectionSession.response", 0, {"status": "completed"}, "/entrypoint"),
    ("readConnectionSession.response", 0, {"status": "failed"}, "/reason"),
    ("readConnectionSession.response", 4, {"reason": "expired"}, "/reason"),
    ("readConnectionSession.response", 5, {"reason": "phone_in_use"}, "/reason"),
    ("event.connection_failed", 0, {"data": {"status": "expired", "reason": "phone_in_use"}}, "/data/reason"),
    ("event.connection_failed", 0, {"data": {"status": "failed", "reason": "expired"}}, "/data/reason"),
    ("uploadMedia.response", 0, {"id": None}, "/0/id"),
]


@each_row(("name", "number", "put_in", "pointer"), JOINED)
def test_a_schema_refuses_fields_that_contradict_each_other(
    name: str, number: int, put_in: dict[str, Any], pointer: str
) -> None:
    example = EXAMPLES[name][number]
    mutant = [{**example[0], **put_in}] if isinstance(example, list) else {**example, **put_in}

    assert not schemas.is_valid(name, mutant)
    assert pointer in [problem.pointer for problem in schemas.problems(name, mutant)]


numbers = st.one_of(
    st.sampled_from(
        [0, 1, ABOVE - 1, ABOVE, -ABOVE, 60.0, 60.5, True, "60", 1e308, float(ABOVE), 2**64, 10**400, 10**5000]
    ),
    st.integers(),
    st.floats(),
    st.decimals(),
)
texts = st.one_of(
    st.builds(
        str.__mul__,
        st.sampled_from(["a", "😀", "\ud800", "e\u0301"]),
        st.sampled_from([0, 1, 99, 100, 101, 2000, 2001]),
    ),
    st.text(max_size=5),
)
odd = st.one_of(st.none(), numbers, texts, st.lists(numbers, max_size=2), st.dictionaries(texts, numbers, max_size=2))
statements = st.fixed_dictionaries(
    {}, optional={"field": odd | st.just("chat.status"), "operator": odd | st.just("in"), "value": odd}
)
groups = st.fixed_dictionaries(
    {}, optional={"combinator": odd | st.just("or"), "statements": st.lists(statements | odd, max_size=2) | odd}
)
some_property = st.fixed_dictionaries(
    {},
    optional={
        "name": odd, "platform": odd | st.sampled_from(["chatapp", "botapp"]), "cadence": odd, "description": odd, "templateId": odd,
        "filters": st.lists(groups | odd, max_size=2) | odd, "commonVariables": st.dictionaries(st.just("var1"), odd) | odd,
        "funnelId": odd, "funnelStepId": odd, "coexistence": odd, "returnUrl": odd, "unheardOf": odd,
    },
)  # fmt: skip


@given(name=st.sampled_from(REQUESTS), put_in=some_property, keep=st.booleans(), data=st.data())
@settings(deadline=None, max_examples=at_depth(5, 1000))
def test_the_two_engines_have_one_verdict(name: str, put_in: dict[str, Any], keep: bool, data: st.DataObject) -> None:
    example = data.draw(st.sampled_from(EXAMPLES[name])) if keep else {}
    known = schemas.load(name)["properties"].keys() | ({"unheardOf"} if keep else set())
    body = {**example, **{key: value for key, value in put_in.items() if key in known}}

    assert schemas.is_valid(name, body) == (schemas.problems(name, body) == [])
    assert (schemas.check(name, body) == []) == schemas.is_valid(name, body)


def test_a_value_nested_beyond_writing_is_refused_and_not_an_error() -> None:
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]

    assert [problem.keyword for problem in schemas.check("createCampaign.request", {**CAMPAIGN, "name": deep})] == [
        "size"
    ]


def test_problems_are_listed_deepest_first_as_sentences() -> None:
    body = {**CAMPAIGN, "cadence": 0, "filters": [{"combinator": "and", "statements": [{"field": "chat.status"}]}]}

    assert [str(problem) for problem in schemas.check("createCampaign.request", body)] == [
        "/filters/0/statements/0/operator: got nothing; expected a string that is required",
        "/cadence: got 0; expected a number of at least 1",
    ]


def test_an_unknown_schema_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"; did you mean 'createCampaign\.request'\?"):
        schemas.load("createCampain.request")


def test_the_engines_are_imported_only_when_a_value_is_checked() -> None:
    code = "import sys, mockserver.contract.schemas; print(*{'jsonschema', 'jsonschema_rs'} & set(sys.modules))"
    root = Path(_data.__file__).parent.parent

    assert (
        run([sys.executable, "-c", code], cwd=root, capture_output=True, encoding="utf-8", check=True).stdout.strip()
        == ""
    )


def test_a_data_folder_without_the_marker_is_passed_over(tmp_path: Path) -> None:
    package, checkout = tmp_path / "site-packages" / "mockserver", tmp_path / "site-packages"
    (checkout / "schemas").mkdir(parents=True)
    with pytest.raises(_data.DataNotFoundError, match="no folder 'schemas' with the marker file"):
        _data.find("schemas", [package, checkout])

    (package / "schemas").mkdir(parents=True)
    (package / "schemas" / _data.MARKER).touch()
    assert _data.find("schemas", [package, checkout]) == package / "schemas"
