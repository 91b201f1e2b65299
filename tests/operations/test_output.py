"""Responses where the document is silent: date-times, further fields and values, the order of lists."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.options import in_force, option_case
from tests.operations.world import GIVEN, draft, every_success, running, session

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def date_times(sandbox: Sandbox) -> JSON:
    """Every date-time that answers and events show, by its place."""
    campaign_id, _ = running(sandbox)
    sandbox.advance(until="idle")
    session_id = session(sandbox)
    sandbox.complete_session(session_id)
    execution = sandbox.call("GET", f"/v1/campaigns/{campaign_id}").json()["executions"][0]
    template = sandbox.call("GET", "/v1/message-templates").json()["templates"][0]
    messages = sandbox.call("GET", "/v1/messaging/chats/chat_ana").json()["records"]
    return {
        "createdAt of a template": template["createdAt"],
        "updatedAt of a template": template["updatedAt"],
        "startedAt": execution["startedAt"],
        "completedAt": execution["completedAt"],
        "createdAt of a sent message": messages[0]["createdAt"],
        "createdAt of a seeded message": messages[1]["createdAt"],
        "occurredAt": sandbox.events[0]["data"]["occurredAt"],
    }


SPELLINGS = [
    option_case("datetime-spelling", "milliseconds", r"\.\d{3}Z"),
    option_case("datetime-spelling", "seconds", "Z"),
    option_case("datetime-spelling", "microseconds", r"\.\d{6}Z"),
    option_case("datetime-spelling", "offset", r"(\.\d+)?\+00:00"),
]


@pytest.mark.clause("base.output", "session.expires-at")
@pytest.mark.parametrize("ending", SPELLINGS)
def test_every_date_time_is_the_same_instant_in_the_chosen_format_and_a_deadline_has_its_z(
    mockserver: Sandbox, ending: str
) -> None:
    shown = date_times(mockserver)
    expires_at = mockserver.call("POST", SESSIONS, json={}).json()["expiresAt"]

    for place, text in shown.items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d" + ending, text), (place, text)
    instants = {place: datetime.fromisoformat(text) for place, text in shown.items()}
    assert datetime.fromisoformat("2026-03-01T12:00:00Z") == instants["startedAt"]
    assert datetime.fromisoformat("2026-03-01T12:00:02Z") == instants["completedAt"] == instants["occurredAt"]
    assert datetime.fromisoformat("2026-03-01T12:20:02Z") == datetime.fromisoformat(expires_at)
    assert expires_at.endswith("Z")


@pytest.mark.clause("base.output")
@in_force("datetime-spelling", "microseconds")
def test_microseconds_end_in_zeros_since_every_format_is_cut_to_the_millisecond(mockserver: Sandbox) -> None:
    mockserver.advance(0.001234)

    campaign_id, _ = running(mockserver)
    detail = mockserver.call("GET", f"/v1/campaigns/{campaign_id}").json()

    assert "2026-03-01T12:00:00.001000Z" == detail["executions"][0]["startedAt"]


def objects(value: Any) -> Iterator[JSON]:
    """Every object of a JSON value, itself first."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(each)


@pytest.mark.option("additive-fields", "none")
@pytest.mark.clause("base.output")
@pytest.mark.option("additive-fields", "unknown-fields")
def test_every_object_of_an_answer_may_have_a_field_more(mockserver: Sandbox) -> None:
    plain = every_success(mockserver)
    mockserver.reset()
    mockserver.choose({"additive-fields": "unknown-fields"})

    for operation, reply in every_success(mockserver).items():
        if operation == "cancelCampaign":
            continue
        before, after = list(objects(plain[operation].json())), list(objects(reply.json()))
        assert len(before) == len(after) > 0, operation
        for small, large in zip(before, after, strict=True):
            assert set(small) < set(large), operation
        assert plain[operation].status == reply.status


def open_values(sandbox: Sandbox, template: str = "template_official") -> list[str]:
    """A value of every list that the document leaves open."""
    templates = {each["id"]: each for each in sandbox.call("GET", "/v1/message-templates").json()["templates"]}
    item = sandbox.call("GET", "/v1/message-templates/template_plain").json()["items"][0]
    message = sandbox.call("GET", "/v1/messaging/chats/chat_ana").json()["records"][0]
    entrypoint = sandbox.call("GET", "/v1/entrypoints/entrypoint_desk").json()["entrypoint"]
    return [
        templates[template]["providerTemplateStatus"],
        item["type"],
        message["type"],
        message["status"],
        entrypoint["platform"],
    ]


PROVIDER_STATUSES = ["APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED"]
PLATFORMS = ["chatapp", "chatapp_lite", "photoapp", "botapp"]
MESSAGE_TYPES = [
    "text",
    "image",
    "audio",
    "video",
    "document",
    "sticker",
    "location",
    "contact",
    "template",
    "comment",
    "system",
    "unsupported",
]
MESSAGE_STATUSES = ["pending", "sent", "delivered", "read", "failed"]


@pytest.mark.option("provider-status-values", "effect")
@pytest.mark.option("message-type-values", "effect")
@pytest.mark.option("message-status-values", "effect")
@pytest.mark.option("entrypoint-platforms", "effect")
def test_seed_data_has_each_listed_value(mockserver_server: MockServer) -> None:
    kinds = [{"type": kind} for kind in MESSAGE_TYPES] + [{"status": status} for status in MESSAGE_STATUSES]
    given = {
        "chats": [{"id": "chat_a"}],
        "messages": [{"chatId": "chat_a", **each} for each in kinds],
        "templates": [{"providerTemplateStatus": status} for status in PROVIDER_STATUSES],
        "entrypoints": [{"id": platform, "platform": platform} for platform in PLATFORMS],
    }
    with mockserver_server.sandbox(given=given) as sandbox:
        messages = sandbox.call("GET", "/v1/messaging/chats/chat_a").json()["records"]
        templates = sandbox.call("GET", "/v1/message-templates").json()["templates"]
        entrypoints = [sandbox.call("GET", f"/v1/entrypoints/{each}").json()["entrypoint"] for each in PLATFORMS]

    assert (set(MESSAGE_TYPES), set(MESSAGE_STATUSES)) == tuple(
        {each[key] for each in messages} for key in ("type", "status")
    )
    assert {status: status == "APPROVED" for status in PROVIDER_STATUSES} == {
        each["providerTemplateStatus"]: each["isOfficial"] for each in templates
    }
    assert PLATFORMS == [each["platform"] for each in entrypoints]


@pytest.mark.clause("base.output")
@pytest.mark.option("new-enum-values", "listed")
def test_by_default_only_listed_values_occur(mockserver: Sandbox) -> None:
    assert ["APPROVED", "text", "text", "delivered", "chatapp"] == open_values(mockserver)


@pytest.mark.clause("base.output")
@in_force("new-enum-values", "unseen")
def test_an_open_enum_may_have_an_undocumented_value(mockserver: Sandbox) -> None:
    listed = {*PROVIDER_STATUSES, *PLATFORMS, *MESSAGE_TYPES, *MESSAGE_STATUSES}
    mockserver.apply({"given": {"templates": [{"id": "template_waiting", "providerTemplateStatus": "PENDING"}]}})

    shown = open_values(mockserver, "template_waiting")

    assert all(isinstance(value, str) and value for value in shown)
    assert set() == listed & set(shown)


def names_listed(sandbox: Sandbox) -> tuple[list[str], list[str]]:
    campaigns = sandbox.call("GET", "/v1/campaigns").json()["campaigns"]
    templates = sandbox.call("GET", "/v1/message-templates").json()["templates"]
    return [each["name"] for each in campaigns], [each["name"] for each in templates]


def fill(sandbox: Sandbox) -> None:
    """Eight campaigns and, from the newest to the oldest, eight templates; the last two of each at one instant."""
    created = [f"2026-02-{day:02d}T00:00:00Z" for day in (8, 7, 6, 5, 4, 3, 2, 2)]
    templates = [{"name": f"T{number}", "createdAt": at} for number, at in enumerate(created)]
    sandbox.apply({"given": {"templates": templates}})
    for number in range(8):
        template_id = sandbox.call("GET", "/v1/message-templates").json()["templates"][0]["id"]
        draft(sandbox, name=f"C{number}", templateId=template_id)
        if number < 6:
            sandbox.advance("1s")


NEWEST_FIRST = ["C7", "C6", "C5", "C4", "C3", "C2", "C1", "C0"], ["T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7"]


@pytest.mark.mockserver(given={}, now="2026-03-01T12:00:00Z", seed=1)
@pytest.mark.clause("templates.list", "campaigns.list")
@pytest.mark.option("list-order", "newest-first")
@pytest.mark.option("list-order", "oldest-first")
@pytest.mark.option("list-order", "shuffled")
def test_lists_have_the_newest_or_the_oldest_first_or_no_order_that_a_client_could_use(mockserver: Sandbox) -> None:
    """Of one instant the later call or the first given is first."""
    fill(mockserver)
    campaigns, templates = (names[::-1] for names in NEWEST_FIRST)

    assert NEWEST_FIRST == names_listed(mockserver)
    mockserver.choose({"list-order": "oldest-first"})
    assert (campaigns, ["T6", "T7", *templates[2:]]) == names_listed(mockserver)
    mockserver.choose({"list-order": "shuffled"})
    shown = names_listed(mockserver)
    assert shown == names_listed(mockserver)
    for names, newest_first in zip(shown, NEWEST_FIRST, strict=True):
        assert sorted(names) == sorted(newest_first)
        assert names not in (newest_first, newest_first[::-1])
