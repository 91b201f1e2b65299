"""Invalid seed data, defaults of the mock, and how seed data is merged with existing records."""

import pytest

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver._json import JSON


def wrong(sandbox: Sandbox, given: JSON) -> list[str]:
    """The path of each problem for which this seed data is refused."""
    with pytest.raises(ScenarioError) as refusal:
        sandbox.apply({"given": given})
    return [problem.path for problem in refusal.value.problems]


@pytest.mark.clause("templates.items")
def test_a_text_item_has_no_media(mockserver: Sandbox) -> None:
    given = {"templates": [{"items": [{"type": "text", "text": "oi", "mediaId": "media_x"}]}]}

    assert ["/given/templates/0/items/0/mediaId"] == wrong(mockserver, given)


@pytest.mark.clause("templates.items")
def test_a_media_item_without_an_id_gets_one(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"templates": [{"id": "template_card", "items": [{"type": "image"}]}]}})

    [item] = mockserver.call("GET", "/v1/message-templates/template_card").json()["items"]

    assert item["mediaId"].startswith("media_")


@pytest.mark.clause("entrypoints.read")
def test_only_a_chatapp_number_is_in_coexistence(mockserver: Sandbox) -> None:
    given = {"entrypoints": [{"platform": "photoapp", "isCoexistence": True}]}

    assert ["/given/entrypoints/0/isCoexistence"] == wrong(mockserver, given)


def test_a_reply_answers_a_message_that_is_there(mockserver: Sandbox) -> None:
    chat = {"chats": [{"id": "chat_a"}]}
    reply = {"chatId": "chat_a", "id": "message_b", "replyToId": "message_a"}

    assert ["/given/messages/0/replyToId"] == wrong(mockserver, {**chat, "messages": [reply]})
    mockserver.apply({"given": {**chat, "messages": [reply, {"chatId": "chat_a", "id": "message_a"}]}})


def test_a_message_of_the_organisation_is_sent_by_the_tenant(mockserver: Sandbox) -> None:
    mockserver.apply(
        {"given": {"chats": [{"id": "chat_a"}], "messages": [{"chatId": "chat_a", "sender": {"isParticipant": False}}]}}
    )

    [record] = mockserver.call("GET", "/v1/messaging/chats/chat_a").json()["records"]

    assert {"id": "tenant_default", "name": "Default tenant", "isParticipant": False} == record["sender"]


def test_an_assigned_signing_secret_is_returned_once_and_whole(mockserver: Sandbox) -> None:
    applied = mockserver.apply({"given": {"webhooks": [{"url": "http://127.0.0.1:9/hook"}]}})

    [(webhook_id, secret)] = applied["webhookSecrets"].items()
    assert [webhook_id] == applied["created"]["webhooks"]
    assert secret.startswith("whsec_")
    assert secret not in str(mockserver.state())


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ({"count": 3}, [{"id": "chat_x"}], 4),
        ([{"id": "chat_x"}], {"count": 2}, 3),
        ({"count": 3}, {"count": 2}, 5),
        ([{"id": "chat_x"}], [{"id": "chat_y"}], 2),
    ],
)
def test_a_recipes_own_seed_data_joins_its_scenarios(
    mockserver_server: MockServer, first: JSON | list[JSON], second: JSON | list[JSON], count: int
) -> None:
    with mockserver_server.sandbox({"given": {"chats": first}}, given={"chats": second}) as sandbox:
        assert {"estimatedCount": count} == sandbox.call("POST", "/v1/campaigns/audience-preview").json()


@pytest.mark.parametrize("seed", [-1, 2**53])
def test_a_seed_is_a_whole_number_that_every_language_represents_exactly(
    mockserver_server: MockServer, seed: int
) -> None:
    with pytest.raises(ValueError, match="expected a whole number from 0"):
        mockserver_server.sandbox(seed=seed)


def test_an_unknown_chat_among_very_many_is_refused_with_the_closest_match(mockserver: Sandbox) -> None:
    chats = {"count": 100_000, "each": {}}
    ids = mockserver.apply({"given": {"chats": chats}})["created"]["chats"]
    messages = [{"chatId": f"{chat_id[:-1]}x", "text": "Oi"} for chat_id in ids[:150]]
    with pytest.raises(ScenarioError) as refusal:
        mockserver.apply({"given": {"messages": messages}})

    hints = [problem.nearest for problem in refusal.value.problems]
    assert [chat_id[:-1] for chat_id in ids[:100]] == [str(hint)[:-1] for hint in hints[:100]]
    assert [None] * 50 == hints[100:]  # each costs a search
