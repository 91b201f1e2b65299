"""The table of the operations, checked against itself."""

from typing import get_args

from mockserver.contract import clauses, schemas
from mockserver.contract.endpoints import ENDPOINTS, Route
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core.state.tenant import TABLE_OF


def test_a_subject_is_a_kind_of_record_named_by_a_parameter_of_the_path() -> None:
    subjects = {row.id: (row.path, *row.subject) for row in ENDPOINTS.values() if row.subject}

    wrong = {
        operation
        for operation, (path, kind, parameter) in subjects.items()
        if kind not in TABLE_OF or f"{{{parameter}}}" not in path
    }
    assert set() == wrong
    assert {"readTemplate", "readCampaign", "readExecution", "startCampaign", "cancelCampaign"} <= set(subjects)
    assert {"readConnectionSession", "readEntrypoint"} <= set(subjects)


def test_type_checkers_read_the_methods_and_paths_of_the_table() -> None:
    assert [f"{row.method} {row.path}" for row in ENDPOINTS.values()] == list(get_args(Route))


def test_each_field_with_a_clause_of_its_own_is_one_of_its_body() -> None:
    known = {clause.id for clause in clauses.read()}
    wrong = {
        (operation, field): clause
        for operation, row in ENDPOINTS.items()
        for field, clause in row.field_clauses
        if clause not in known or field not in schemas.load(row.request_schema or "")["properties"]
    }

    assert {} == wrong


def test_an_operation_that_changes_something_is_a_post_other_than_the_audience_preview() -> None:
    posts = {row.id for row in ENDPOINTS.values() if row.method == "POST"}

    assert posts - {"previewAudience"} == {row.id for row in ENDPOINTS.values() if row.writes}


def test_a_transition_that_an_operation_causes_is_one_of_its_subject() -> None:
    for row in ENDPOINTS.values():
        if row.trigger:
            assert row.subject
            assert LIFECYCLES[row.subject[0]].sources(row.trigger)
