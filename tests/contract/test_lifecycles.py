"""The lifecycle tables are closed, reachable and the document's."""

import pytest

from mockserver.contract import schemas
from mockserver.contract.lifecycles import (
    CAMPAIGN,
    CONNECTED,
    CONNECTION_FAILED,
    EVENTS,
    LIFECYCLES,
    SESSION,
    SUBSCRIPTIONS,
    Lifecycle,
)

TABLES = pytest.mark.parametrize("lifecycle", LIFECYCLES.values(), ids=lambda each: each.kind)


@TABLES
def test_every_transition_leads_to_a_declared_state(lifecycle: Lifecycle) -> None:
    named = {state for step in lifecycle.steps for state in (step.source, step.target)}
    named |= {deadline.state for deadline in lifecycle.deadlines}

    assert named == set(lifecycle.states)


@TABLES
def test_every_state_is_reached_from_the_initial_one(lifecycle: Lifecycle) -> None:
    reached = {lifecycle.initial}
    for _ in lifecycle.states:
        reached |= {step.target for step in lifecycle.steps if step.source in reached}

    assert reached == set(lifecycle.states)


@TABLES
def test_a_state_and_trigger_lead_to_one_state(lifecycle: Lifecycle) -> None:
    moves = [(step.source, step.trigger) for step in lifecycle.steps]

    assert sorted(set(moves)) == sorted(moves)


@TABLES
def test_an_event_of_a_step_is_a_row_of_the_events(lifecycle: Lifecycle) -> None:
    assert set() == {step.event for step in lifecycle.steps if step.event is not None} - set(EVENTS)


def test_an_endpoint_of_a_document_may_be_registered_for_each_group_and_kind() -> None:
    endpoint = schemas.load("scenario")["$defs"]["webhook"]["properties"]["events"]

    assert list(SUBSCRIPTIONS) == endpoint["items"]["enum"]


@pytest.mark.parametrize("kind", EVENTS)
def test_the_schema_of_an_event_names_its_kind(kind: str) -> None:
    assert [kind] == schemas.load(EVENTS[kind].schema)["properties"]["event"]["enum"]


def test_the_campaign_has_the_documented_transitions() -> None:
    documented = {
        ("draft", "processing"),
        ("processing", "completed"),
        ("processing", "failed"),
        ("processing", "canceled"),
        ("draft", "canceled"),
    }

    assert {(step.source, step.target) for step in CAMPAIGN.steps} == documented


def test_a_session_ends_once_with_its_event() -> None:
    documented = {
        ("pending", "completed", CONNECTED),
        ("pending", "failed", CONNECTION_FAILED),
        ("pending", "expired", CONNECTION_FAILED),
    }

    assert {(step.source, step.target, step.event) for step in SESSION.steps} == documented
    assert SESSION.final == {"completed", "failed", "expired"}
