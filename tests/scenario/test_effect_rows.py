"""The table of effects, the schema of documents and what runs them name the same effects, in the same groups."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from mockserver._json import JSON
from mockserver.cli.listing import scenario_schema
from mockserver.contract import schemas
from mockserver.contract.effects import EFFECTS, FORGERIES, WIRE_FAULTS, of_group
from mockserver.contract.errors import ERRORS
from mockserver.core.faults.effects import STATE_EFFECTS
from mockserver.wire.formats import BODY_FORMATS

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "scenario.json").read_text(encoding="utf-8"))
DEFINITIONS = SCHEMA["$defs"]
DO = DEFINITIONS["effects"]["properties"]

# As the page of scenario documents lists them.
DOCUMENTED = {
    "wire": "error reply bad-gateway delay delay-after drop reset truncate garble dribble stale",
    "state": "complete-session fail-session expire-session cancel-session visit-link fail-campaign"
    " cancel-campaign stall-sends resume-sends slow-sends fail-sends set-tenant revoke-key rotate-key set-template remove-template remove-funnel"
    " remove-entrypoint fail-media given rate-limit set-choice advance",
    "delivery": "deliver",
}


@pytest.mark.parametrize("group", DOCUMENTED)
def test_each_group_is_the_documented_one(group: str) -> None:
    assert sorted(DOCUMENTED[group].split()) == sorted(of_group(group))


def test_the_schema_has_the_faults_of_the_wire_as_their_rows_have_them() -> None:
    text = (Path(__file__).parents[2] / "schemas" / "scenario.json").read_text(encoding="utf-8")

    assert scenario_schema() == text, "write it again: mockserver scenarios --schema"


def test_no_two_faults_of_a_rule_set_one_field_of_it_unless_they_exclude_each_other() -> None:
    rows = WIRE_FAULTS.values()
    fields = {row.name: set(row.fields(row.examples[0], lambda *_: 1)) - {"skips_operation"} for row in rows}
    shared = [
        (one.name, other.name)
        for one, other in combinations(rows, 2)
        if fields[one.name] & fields[other.name] and not set(one.phases) & set(other.phases)
    ]

    assert [] == shared


def test_the_schema_has_every_effect_and_no_more() -> None:
    assert sorted(EFFECTS) == sorted(DO)


def test_every_state_effect_has_its_function() -> None:
    assert set(of_group("state")) == set(STATE_EFFECTS)


def test_closed_sets_of_the_schema_are_those_of_the_tables() -> None:
    codes = DO["error"]["anyOf"]
    assert set(ERRORS) == set(codes[0]["enum"]) == set(codes[1]["properties"]["code"]["enum"])
    assert list(FORGERIES) == DO["deliver"]["properties"]["forge"]["enum"]
    assert [each for each in BODY_FORMATS if each != "compact"] == DO["deliver"]["properties"]["spell"]["enum"]


def _resolved(place: JSON) -> JSON:
    return DEFINITIONS[place["$ref"].rpartition("/")[2]] if "$ref" in place else place


def test_every_example_of_a_rule_and_of_an_effect_is_valid() -> None:
    rules = list(DEFINITIONS["rule"]["examples"])
    rules += [{"on": each, "do": {"advance": "1s"}} for each in DEFINITIONS["rule"]["properties"]["on"]["examples"]]
    rules += [{"on": "*", "do": each} for each in DEFINITIONS["effects"]["examples"]]
    for key, place in DEFINITIONS["rule"]["properties"].items():
        rules += [{"on": "*", "do": {"advance": 1}, key: each} for each in place.get("examples", ()) if key != "on"]
    for name, place in DO.items():
        written = {**_resolved(place), **place}
        rules += [{"on": "*", "do": {name: each}} for each in written.get("examples", ())]
    assert len(rules) > 25
    for rule in rules:
        assert [] == schemas.check("scenario", {"script": [rule]}), rule
