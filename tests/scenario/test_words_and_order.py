"""Seed data also take the words of the API document, and of equal instants listings keep the order given."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON

VARIABLES = [{"key": "var1", "label": "Cupom", "required": True}, {"key": "var2", "source": "chat.name"}]
GREATER = [{"combinator": "and", "statements": [{"field": "chat.virtual.participants-count", "operator": "greater-than", "value": 4}]}]  # fmt: skip


def _audience(sandbox: Any) -> int:
    body = {"platform": "chatapp", "filters": GREATER}
    return int(sandbox.call("POST", "/v1/campaigns/audience-preview", json=body).json()["estimatedCount"])


@pytest.mark.parametrize("word", ["variables", "commonVariables"])
def test_the_variables_of_a_template_have_two_names(mockserver: Sandbox, word: str) -> None:
    mockserver.apply({"given": {"templates": [{"id": "template_promo", word: VARIABLES}]}})

    read = mockserver.call("GET", "/v1/message-templates/template_promo").json()
    assert [{"key": "var1", "label": "Cupom", "required": True}] == read["commonVariables"]


@pytest.mark.parametrize("word", ["participantsCount", "participants-count"])
@pytest.mark.parametrize("form", ["list", "each", "vary"])
def test_the_participants_of_a_chat_have_two_names(mockserver: Sandbox, word: str, form: str) -> None:
    chats: dict[str, Any] = {
        "list": [{word: 5}, {word: 5}, {word: 3}],
        "each": {"count": 2, "each": {word: 5}},
        "vary": {"count": 3, "vary": {word: [5, 5, 3]}},
    }
    mockserver.apply({"given": {"chats": chats[form]}})

    assert 2 == _audience(mockserver)


@pytest.mark.parametrize("form", ["list", "each", "vary"])
def test_the_fields_of_a_direct_participant_have_the_names_of_the_filters_too(mockserver: Sandbox, form: str) -> None:
    contact, birth_date = "dm-participant.contact", "dm-participant.birthDate"
    chats: dict[str, Any] = {
        "list": [{contact: "+5511999990000", birth_date: "1990-05-17"}, {contact: "+5511999990001"}],
        "each": {"count": 1, "each": {contact: "+5511999990000", birth_date: "1990-05-17"}},
        "vary": {"count": 2, "vary": {contact: ["+5511999990000", "other"], birth_date: ["1990-05-17", None]}},
    }
    mockserver.apply({"given": {"chats": chats[form]}})
    statements = [
        {"field": f"chat.virtual.{contact}", "operator": "equals", "value": "+5511999990000"},
        {"field": f"chat.virtual.{birth_date}", "operator": "less-than", "value": "1991-01-01T00:00:00Z"},
    ]
    body = {"platform": "chatapp", "filters": [{"combinator": "and", "statements": statements}]}

    assert 1 == mockserver.call("POST", "/v1/campaigns/audience-preview", json=body).json()["estimatedCount"]


BOTH = [
    ({"chats": [{"contact": "a", "dm-participant.contact": "a"}]}, "/given/chats/0/dm-participant.contact"),
    (
        {"chats": [{"birthDate": None, "dm-participant.birthDate": None}]},
        "/given/chats/0/dm-participant.birthDate",
    ),
    ({"templates": [{"variables": [], "commonVariables": []}]}, "/given/templates/0/commonVariables"),
    ({"chats": [{"participantsCount": 1, "participants-count": 1}]}, "/given/chats/0/participants-count"),
    (
        {"chats": {"count": 1, "each": {"participantsCount": 1, "participants-count": 1}}},
        "/given/chats/each/participants-count",
    ),
]


@pytest.mark.parametrize(("given", "place"), BOTH)
def test_both_names_of_one_thing_are_refused_and_nothing_is_applied(
    mockserver: Sandbox, given: JSON, place: str
) -> None:
    before = mockserver.state()

    with pytest.raises(ValueError, match=f"{place}: .* is another name of it"):
        mockserver.apply({"given": given})

    assert before == mockserver.state()


def test_a_problem_of_a_variable_is_at_the_name_that_the_document_has(mockserver: Sandbox) -> None:
    twice = [{"key": "var1"}, {"key": "var1"}]

    with pytest.raises(ValueError, match="/given/templates/0/commonVariables/1/key: "):
        mockserver.apply({"given": {"templates": [{"commonVariables": twice}]}})


KINDS = [
    ("templates", "template_", "/v1/message-templates"),
    ("campaigns", "campaign_", "/v1/campaigns"),
]


def _listed(sandbox: Any, path: str, prefix: str) -> str:
    body = sandbox.call("GET", path).json()
    rows = body if isinstance(body, list) else next(value for value in body.values() if isinstance(value, list))
    return "".join(row["id"].removeprefix(prefix) for row in rows)


@pytest.mark.parametrize("order", ["newest-first", "oldest-first"])
@pytest.mark.parametrize(("kind", "prefix", "path"), KINDS)
def test_of_equal_instants_the_order_given_is_kept(
    mockserver: Sandbox, kind: str, prefix: str, path: str, order: str
) -> None:
    mockserver.choose({"list-order": order})
    given: dict[str, Any] = {"templates": [{"id": "template_x", "createdAt": "2020-01-01T00:00:00Z"}]}
    given[kind] = [{"id": f"{prefix}{letter}"} for letter in "cab"]
    if kind == "campaigns":
        given[kind] = [{**row, "templateId": "template_x"} for row in given[kind]]
    mockserver.apply({"given": given})

    assert "cab" == _listed(mockserver, path, prefix)


def test_of_two_documents_the_later_ones_records_are_newer(mockserver: Sandbox) -> None:
    for letters in ("ab", "cd"):
        mockserver.apply({"given": {"templates": [{"id": f"template_{letter}"} for letter in letters]}})

    assert "cdab" == _listed(mockserver, "/v1/message-templates", "template_")
