"""Request bodies where the document is silent: empty ones, unknown keys, nulls."""

import gzip
import json
from typing import Any

import pytest

from mockserver import Sandbox
from tests.clients.operations import SESSIONS
from tests.documents.reading import public, validator
from tests.harness.options import each_option, in_force
from tests.harness.rows import each_row
from tests.operations.world import DRAFT, GIVEN, draft, refused

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

JSON = {"Content-Type": "application/json"}
PREVIEW = "/v1/campaigns/audience-preview"
GROUP: dict[str, Any] = {
    "combinator": "and",
    "statements": [{"field": "chat.status", "operator": "equals", "value": "open"}],
}
invalid = (400, "VALIDATION_ERROR")


def optional_bodies(sandbox: Sandbox, *, name: str) -> list[tuple[str, int]]:
    """The calls whose body may be left out, with the status of their success."""
    return [(f"/v1/campaigns/{draft(sandbox, name=name)}/start", 202), (PREVIEW, 200), (SESSIONS, 202)]


@pytest.mark.clause("base.input")
@each_option("accepts", "empty-json-body", {"accept": True, "reject": False})
def test_no_body_and_an_empty_object_are_always_taken_and_an_empty_body_of_json_by_choice(
    mockserver: Sandbox, accepts: bool
) -> None:
    for path, status in optional_bodies(mockserver, name="Without"):
        assert status == mockserver.call("POST", path).status
    for path, status in optional_bodies(mockserver, name="Object"):
        assert status == mockserver.call("POST", path, json={}).status
    for path, status in optional_bodies(mockserver, name="Empty"):
        assert (status if accepts else 400) == mockserver.call("POST", path, headers=JSON).status


@pytest.mark.clause("base.input", "campaigns.validation")
@pytest.mark.parametrize("headers", [{}, JSON], ids=["without a type", "with a type"])
def test_a_creation_needs_a_body(mockserver: Sandbox, headers: dict[str, str]) -> None:
    assert invalid == refused(mockserver.call("POST", "/v1/campaigns", headers=headers))


def with_unknown_keys(sandbox: Sandbox) -> Any:
    """Bodies with an undocumented key, at each depth, and the status without it."""
    statement = GROUP["statements"][0] | {"colour": "red"}
    return {
        "creation": ("/v1/campaigns", DRAFT | {"colour": "red"}, 201),
        "group": ("/v1/campaigns", DRAFT | {"name": "B", "filters": [GROUP | {"colour": "red"}]}, 201),
        "statement": ("/v1/campaigns", DRAFT | {"name": "C", "filters": [GROUP | {"statements": [statement]}]}, 201),
        "preview": (PREVIEW, {"colour": "red"}, 200),
        "start": (f"/v1/campaigns/{draft(sandbox, name='D')}/start", {"colour": "red"}, 202),
    }


@pytest.mark.clause("base.input")
@each_option("ignores", "unknown-body-keys", {"ignore": True, "reject": False})
def test_unknown_keys_are_ignored_or_refused_at_every_depth(mockserver: Sandbox, ignores: bool) -> None:
    bodies = with_unknown_keys(mockserver)
    statuses = {where: status if ignores else 400 for where, (_, _, status) in bodies.items()}

    assert statuses == {
        where: mockserver.call("POST", path, json=body).status for where, (path, body, _) in bodies.items()
    }


@pytest.mark.clause("base.input")
@in_force("unknown-body-keys", "reject")
def test_known_keys_and_the_names_of_variables_are_never_unknown(mockserver: Sandbox) -> None:
    whole = DRAFT | {"description": "d", "filters": [GROUP], "templateId": "template_coupon"}
    campaign_id = mockserver.call("POST", "/v1/campaigns", json=whole).json()["campaignId"]
    values = {"commonVariables": {"var1": "OLA10"}}

    assert 202 == mockserver.call("POST", f"/v1/campaigns/{campaign_id}/start", json=values).status


@pytest.mark.parametrize(("option", "fits"), [("ignore", True), ("reject", False)])
def test_the_served_document_has_unknown_keys_of_filters_where_they_are_ignored(option: str, fits: bool) -> None:
    document = public(**{"unknown-body-keys": option})
    documented = validator(document, document["components"]["schemas"]["CreateCampaignRequest"])
    statement = GROUP["statements"][0] | {"colour": "red"}

    assert fits == documented.is_valid({**DRAFT, "filters": [GROUP | {"statements": [statement]}]})


@pytest.mark.clause("base.input", "session.no-extra")
@pytest.mark.parametrize("option", ["ignore", "reject"])
def test_a_session_never_takes_an_unknown_key(mockserver: Sandbox, option: str) -> None:
    mockserver.choose({"unknown-body-keys": option})

    assert invalid == refused(mockserver.call("POST", SESSIONS, json={"colour": "red"}))


def with_nulls(sandbox: Sandbox) -> Any:
    """Bodies whose optional fields are null, and the status that leaving them out has."""
    start = f"/v1/campaigns/{draft(sandbox, name='Nulls')}/start"
    return {
        "description": ("/v1/campaigns", DRAFT | {"name": "D", "description": None}, 201),
        "filters": ("/v1/campaigns", DRAFT | {"name": "F", "filters": None}, 201),
        "filters of a preview": (PREVIEW, {"filters": None}, 200),
        "commonVariables": (start, {"commonVariables": None}, 202),
        "funnelStepId": (SESSIONS, {"funnelStepId": None}, 202),
        "funnelId": (SESSIONS, {"funnelId": None, "funnelStepId": "funnel_step_first"}, 202),
        "coexistence": (SESSIONS, {"coexistence": None}, 202),
        "returnUrl": (SESSIONS, {"returnUrl": None}, 202),
    }


@pytest.mark.clause("base.input")
@each_option("omits", "null-for-optional", {"reject": False, "omit": True})
def test_null_is_a_missing_optional_field_or_none(mockserver: Sandbox, omits: bool) -> None:
    bodies = with_nulls(mockserver)
    statuses = {field: status if omits else 400 for field, (_, _, status) in bodies.items()}

    assert statuses == {
        field: mockserver.call("POST", path, json=body).status for field, (path, body, _) in bodies.items()
    }
    listed = mockserver.call("GET", "/v1/campaigns").json()["campaigns"]
    assert {None} == {campaign["description"] for campaign in listed}


@pytest.mark.clause("base.input", "campaigns.platform")
@pytest.mark.parametrize(("nulls", "status"), [("reject", 400), ("omit", 201)])
def test_a_platform_that_may_be_left_out_is_an_optional_field(mockserver: Sandbox, nulls: str, status: int) -> None:
    mockserver.choose({"platform-required": "default-chatapp", "null-for-optional": nulls})
    document = public(**{"platform-required": "default-chatapp", "null-for-optional": nulls})
    documented = validator(document, document["components"]["schemas"]["CreateCampaignRequest"])

    assert status == mockserver.call("POST", "/v1/campaigns", json={**DRAFT, "platform": None}).status
    assert (status < 400) == documented.is_valid({**DRAFT, "platform": None})
    assert 201 == mockserver.call("POST", "/v1/campaigns", json={**DRAFT, "name": "Another"}).status


@pytest.mark.clause("base.input")
@each_row("option", ["reject", "omit"])
@each_row("body", [None, [], "text", 7, True])
def test_a_body_is_an_object_whose_required_fields_are_never_null(mockserver: Sandbox, option: str, body: Any) -> None:
    mockserver.choose({"null-for-optional": option})

    for path in ("/v1/campaigns", PREVIEW, SESSIONS):
        assert invalid == refused(mockserver.call("POST", path, body=json.dumps(body).encode(), headers=JSON))
    for field in ("name", "templateId", "cadence", "platform"):
        assert invalid == refused(mockserver.call("POST", "/v1/campaigns", json=DRAFT | {field: None}))


def test_unknown_query_parameters_are_ignored(mockserver: Sandbox) -> None:
    assert 200 == mockserver.call("GET", "/v1/campaigns?page=2&limit=0&colour=red&colour=blue&=&&").status
    assert 201 == mockserver.call("POST", "/v1/campaigns?dryRun=true", json=DRAFT).status


@pytest.mark.clause("base.input")
def test_of_a_repeated_name_the_last_value_counts(mockserver: Sandbox) -> None:
    body = json.dumps(DRAFT).removesuffix("}") + ', "name": "Second", "cadence": "60", "cadence": 60}'

    assert 201 == mockserver.call("POST", "/v1/campaigns", body=body.encode(), headers=JSON).status
    assert ["Second"] == [row["name"] for row in mockserver.call("GET", "/v1/campaigns").json()["campaigns"]]


@pytest.mark.clause("base.input")
@pytest.mark.parametrize("charset", ["latin-1", "utf-16", "nonsense"])
def test_a_json_body_is_utf_8_whatever_charset_it_declares(mockserver: Sandbox, charset: str) -> None:
    body = json.dumps({**DRAFT, "name": "Promoção"}, ensure_ascii=False).encode()
    headers = {"Content-Type": f"application/json; charset={charset}"}

    assert 201 == mockserver.call("POST", "/v1/campaigns", body=body, headers=headers).status
    assert ["Promoção"] == [row["name"] for row in mockserver.call("GET", "/v1/campaigns").json()["campaigns"]]


@pytest.mark.clause("base.input")
def test_a_compressed_body_is_not_decompressed(mockserver: Sandbox) -> None:
    body = gzip.compress(json.dumps(DRAFT).encode())

    reply = mockserver.call("POST", "/v1/campaigns", body=body, headers={**JSON, "Content-Encoding": "gzip"})
    assert invalid == refused(reply)
    assert 201 == mockserver.call("POST", "/v1/campaigns", json=DRAFT, headers={"Content-Encoding": "gzip"}).status


@pytest.mark.clause("cancel.no-body", "base.input")
@pytest.mark.parametrize("body", [b"{broken", b"\xff", b'{"force": true}', b"a" * 2_000_000], ids=len)
def test_a_body_where_none_is_documented_is_ignored(mockserver: Sandbox, body: bytes) -> None:
    campaign_id = draft(mockserver, name="Not needed")

    assert 200 == mockserver.call("GET", f"/v1/campaigns/{campaign_id}", body=body, headers=JSON).status
    assert 204 == mockserver.call("POST", f"/v1/campaigns/{campaign_id}/cancel", body=body, headers=JSON).status
