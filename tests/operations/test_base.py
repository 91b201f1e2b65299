"""The conventions of every call: the prefix, JSON, ids, the tenant's own view, unknown paths, success statuses."""

import json
import re

import pytest

from mockserver import Sandbox
from tests.clients.operations import SESSIONS
from tests.harness.options import each_option
from tests.harness.rows import each_row
from tests.operations.world import (
    DRAFT,
    GIVEN,
    OPERATIONS,
    OTHER_KEY,
    draft,
    every_success,
    refused,
    running,
    session,
    upload,
)

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


@pytest.mark.clause("base.prefix", "base.unknown-path")
@pytest.mark.parametrize("prefix", ["", "/v2", "/V1", "/v1/v1", "/api/v1", "/v1/."])
def test_an_operation_outside_the_prefix_is_an_unknown_path(mockserver: Sandbox, prefix: str) -> None:
    replies = {
        operation: refused(mockserver.call(method, prefix + path.removeprefix("/v1")))
        for operation, (method, path) in OPERATIONS.items()
    }

    assert dict.fromkeys(OPERATIONS, (404, "RESOURCE_NOT_FOUND")) == replies


@pytest.mark.clause("base.json")
def test_success_answers_are_json_and_a_cancel_has_no_content(mockserver: Sandbox) -> None:
    replies = every_success(mockserver)
    cancelled = replies.pop("cancelCampaign")

    assert (204, b"") == (cancelled.status, cancelled.body)
    assert "content-type" not in cancelled.headers
    for operation, reply in replies.items():
        assert "application/json; charset=utf-8" == reply.headers["content-type"], operation
        assert isinstance(json.loads(reply.body.decode("utf-8")), list if operation == "uploadMedia" else dict)


@pytest.mark.clause("base.json")
@pytest.mark.parametrize(("to", "kind"), [("document", "application/json"), ("script", "text/plain")])
def test_an_answer_that_a_browser_shows_is_json_and_one_that_it_would_run_is_text(
    mockserver: Sandbox, to: str, kind: str
) -> None:
    headers = mockserver.call("GET", "/v1/campaigns", headers={"Sec-Fetch-Dest": to}).headers

    assert (f"{kind}; charset=utf-8", "sandbox") == (headers["content-type"], headers["content-security-policy"])


@pytest.mark.clause("base.json")
@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;a=b"]
)
def test_a_json_body_is_taken_under_its_own_type(mockserver: Sandbox, content_type: str) -> None:
    reply = mockserver.call(
        "POST", "/v1/campaigns", body=json.dumps(DRAFT).encode(), headers={"Content-Type": content_type}
    )

    assert 201 == reply.status


@pytest.mark.clause("base.ids")
def test_ids_are_assigned_and_begin_with_their_kind(mockserver: Sandbox) -> None:
    campaign_id, execution_id = running(mockserver)
    session_id = session(mockserver)
    completed = mockserver.complete_session(session_id)
    media_id = upload(mockserver, ("nota.txt", "text/plain", b"nota")).json()[0]["id"]
    ids = {
        "campaign_": campaign_id,
        "execution_": execution_id,
        "session_": session_id,
        "entrypoint_": completed["entrypoint"]["id"],
        "media_": media_id,
    }

    for prefix, id in ids.items():
        assert re.fullmatch(f"[a-z_]*{prefix}[0-9A-Za-z]+", id), id
    for prefix in ("campaign_", "entrypoint_"):
        assert ids[prefix].startswith(prefix)


@pytest.mark.clause("base.ids")
def test_seed_data_without_ids_gets_ids_of_its_kind(mockserver: Sandbox) -> None:
    given = {"funnels": [{"steps": [{}]}], "templates": [{}], "chats": [{}], "forms": [{}], "entrypoints": [{}]}

    created = mockserver.apply({"given": given})["created"]

    assert created["funnelSteps"][0].startswith("funnel_step_")
    assert created["entrypoints"][0].startswith("entrypoint_")
    assert all(re.fullmatch(r"[a-z_]+_[0-9A-Za-z]+", id) for ids in created.values() for id in ids)


@pytest.mark.clause("base.ids")
def test_an_id_that_a_caller_sends_along_is_not_the_records_id(mockserver: Sandbox) -> None:
    assert "campaign_mine" != draft(mockserver, id="campaign_mine", campaignId="campaign_mine")


@pytest.mark.clause("base.tenant-scope")
def test_lists_and_counts_contain_only_records_of_the_tenant(mockserver: Sandbox) -> None:
    mine, theirs = draft(mockserver), draft(mockserver, key=OTHER_KEY, templateId="template_other")

    def seen(key: str | None) -> tuple[list[str], set[str], int]:
        campaigns = mockserver.call("GET", "/v1/campaigns", key=key).json()["campaigns"]
        templates = mockserver.call("GET", "/v1/message-templates", key=key).json()["templates"]
        count = mockserver.call("POST", "/v1/campaigns/audience-preview", key=key, json={}).json()["estimatedCount"]
        return [each["id"] for each in campaigns], {each["id"] for each in templates}, count

    assert ([mine], {"template_plain", "template_official", "template_coupon"}, 3) == seen(None)
    assert ([theirs], {"template_other"}, 1) == seen(OTHER_KEY)


UNDOCUMENTED = [
    ("GET", "/v1"),
    ("GET", "/v1/"),
    ("GET", "/"),
    ("GET", "/v1/campaigns/"),
    ("GET", "/v1//campaigns"),
    ("GET", "/v1/campaigns//"),
    ("GET", "/v1/campaigns/../campaigns"),
    ("GET", "/v1/Campaigns"),
    ("GET", "/v1/campaigns/a/executions"),
    ("GET", "/v1/campaigns%2Ffilters/schema"),
    ("POST", "/v1/campaigns/a/start/"),
    ("GET", "/v1/entrypoints?platform=chatapp"),
    ("GET", "/v1/messaging/chats"),
    ("POST", "/v1/messaging/messages"),
    ("GET", "/v1/forms/form_visit"),
    ("POST", "/v1/forms/form_visit/submissions"),
    ("GET", "/favicon.ico"),
]


@pytest.mark.clause("base.unknown-path")
@each_row(("method", "path"), UNDOCUMENTED)
def test_an_unknown_path_gets_the_error_body_with_or_without_a_key(mockserver: Sandbox, method: str, path: str) -> None:
    for key in (None, "", "sk_nobodys"):
        assert (404, "RESOURCE_NOT_FOUND") == refused(mockserver.call(method, path, key=key))


@each_row(
    ("path", "nearest"),
    [
        ("/campaigns", "/v1/campaigns"),
        ("/v2/campaigns/cmp_1", "/v1/campaigns/cmp_1"),
        ("/V1/campaigns", "/v1/campaigns"),
        ("/api/v1/message-templates", "/v1/message-templates"),
        ("/v1/v1/campaigns", "/v1/campaigns"),
        ("/v1/campaigns/", "/v1/campaigns"),
        ("/v1//campaigns", "/v1/campaigns"),
        ("/v1/campaign/cmp_1/starts", "/v1/campaigns/cmp_1/start"),
        ("/v1/campaigns/cmp_1/execution/exe_2", "/v1/campaigns/cmp_1/executions/exe_2"),
        ("/v1/forms/form_1/embed_frame_policy", "/v1/forms/form_1/embed-frame-policy"),
    ],
)
def test_the_reason_of_an_unknown_path_proposes_the_nearest_one_with_the_ids_of_the_call(
    mockserver: Sandbox, path: str, nearest: str
) -> None:
    reason = mockserver.call("GET", path).headers["x-mock-reason"]

    assert reason.endswith(f"; did you mean {nearest!r}?")


@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v1/messaging/messages", "/v1/forms/form_visit", "/favicon.ico", "/v1/%00", "/v1/campaigns" * 9],
)
def test_the_reason_of_a_path_without_a_near_one_proposes_none(mockserver: Sandbox, path: str) -> None:
    assert "did you mean" not in mockserver.call("GET", path).headers["x-mock-reason"]


@pytest.mark.clause("base.unknown-path", "templates.read-only")
@each_row("path", sorted({path for _, path in OPERATIONS.values()}))
def test_a_method_that_the_path_lacks_gets_the_error_body_and_the_methods_it_has(
    mockserver: Sandbox, path: str
) -> None:
    has = {method for method, other in OPERATIONS.values() if other == path}
    # A GET of the preview may also read a campaign of that id, so nothing is asserted about it.
    unclear = {"GET"} if path == "/v1/campaigns/audience-preview" else set()

    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} - has - unclear:
        reply = mockserver.call(method, path, key="")

        assert (404, "RESOURCE_NOT_FOUND") == refused(reply)
        assert has == set(reply.headers["allow"].split(", ")) - {"HEAD"} - unclear


def test_a_head_is_a_get_without_its_body(mockserver: Sandbox) -> None:
    for path in ("/v1/campaigns", "/v1/campaigns/nobodys"):
        head, get = (mockserver.call(method, path) for method in ("HEAD", "GET"))

        assert (b"", get.status) == (head.body, head.status)
        assert str(len(get.body)) == head.headers["content-length"]


POSTS = ("createCampaign", "startCampaign", "previewAudience", "uploadMedia")


@pytest.mark.clause("base.success")
@each_option(
    "of_posts",
    "success-status",
    {"rest": (201, 202, 200, 201), "all-200": (200, 200, 200, 200), "all-201": (201, 201, 201, 201)},
)
def test_the_success_status_of_every_operation(mockserver: Sandbox, of_posts: tuple[int, int, int, int]) -> None:
    documented = {"createConnectionSession": 202, "cancelCampaign": 204}
    expected = dict.fromkeys(OPERATIONS, 200) | dict(zip(POSTS, of_posts, strict=True)) | documented

    assert expected == {operation: reply.status for operation, reply in every_success(mockserver).items()}


def test_every_answer_is_dated_by_the_sandboxs_own_clock(mockserver: Sandbox) -> None:
    assert "Sun, 01 Mar 2026 12:00:00 GMT" == mockserver.call("GET", "/v1/campaigns").headers["date"]
    assert "Sun, 01 Mar 2026 12:00:00 GMT" == mockserver.call("GET", f"{SESSIONS}/nobodys").headers["date"]


@pytest.mark.clause("campaigns.detail", "entrypoints.read")
@pytest.mark.parametrize(
    ("path", "code"),
    [("/v1/campaigns/filters", "CAMPAIGN_NOT_FOUND"), ("/v1/entrypoints/chatapp", "ENTRYPOINT_NOT_FOUND")],
)
def test_an_id_that_reads_like_a_word_of_another_path_is_an_unknown_id(
    mockserver: Sandbox, path: str, code: str
) -> None:
    assert (404, code) == refused(mockserver.call("GET", path))
