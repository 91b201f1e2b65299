"""The messages of a send in the list of its chat: rendered for the recipient, one per item, none if it failed."""

import pytest

from mockserver import Sandbox
from tests.operations.campaigning import NOON, counts, messages, run
from tests.operations.filter_world import alone, statement

ANA = {
    "id": "chat_ana",
    "name": "Ana Prado",
    "contact": "+55 11 5550-0101",
    "birthDate": "1990-04-07",
    "custom": {"dentista": "Dra. Lívia"},
}
BARE = {"id": "chat_bare"}
VIPS = alone(statement("chat.status", "equals", "vip"))
OFF = {"id": "chat_off", "platform": "photoapp"}
AUTOMATIC = {
    "id": "template_automatic",
    "items": [{"text": "{{1}}|{{2}}|{{3}}|{{4}}|{{5}}|{{6}}|{{7}}|{{1}}"}],
    "variables": [
        {"key": "var1", "source": "chat.name"},
        {"key": "var2", "source": "chat.contact"},
        {"key": "var3", "source": "chat.birthDate"},
        {"key": "var4", "source": "custom.dentista"},
        {"key": "var5", "label": "Cupom", "required": True},
        {"key": "var6", "label": "Loja", "required": False},
    ],
}
SEVERAL = {
    "id": "template_several",
    "isOfficial": True,
    "items": [
        {"type": "text", "text": "Oi, {{1}}"},
        {"type": "image", "text": "Veja", "mediaId": "media_one"},
        {"type": "document", "mediaId": "media_two"},
    ],
    "variables": [{"key": "var1", "source": "chat.name"}],
}
GIVEN = {
    "tenants": [{"id": "tenant_default", "name": "Clínica"}],
    "templates": [{"id": "template_plain", "items": [{"text": "Oi"}]}, AUTOMATIC, SEVERAL],
    "chats": [ANA, BARE, OFF],
}
pytestmark = pytest.mark.mockserver(now=NOON, given=GIVEN)


@pytest.mark.clause("send.message", "templates.varn", "templates.automatic", "start.common-variables")
def test_a_message_is_rendered_for_its_recipient(mockserver: Sandbox) -> None:
    ids = run(mockserver, {"var5": "DEZ {{1}}", "var6": "Centro"}, templateId="template_automatic")
    mockserver.advance(until="idle")

    ana, bare = (messages(mockserver, each)[0]["text"] for each in ("chat_ana", "chat_bare"))
    assert "Ana Prado|+55 11 5550-0101|07/04/1990|Dra. Lívia|DEZ {{1}}|Centro||Ana Prado" == ana
    assert "||||DEZ {{1}}|Centro||" == bare
    assert ((3, 2, 1), []) == (counts(mockserver, ids), messages(mockserver, "chat_off"))


@pytest.mark.clause("send.message", "messages.record")
@pytest.mark.parametrize(
    ("template", "platform", "chat", "official", "charged"),
    [
        ("template_plain", "chatapp", "chat_ana", False, False),
        ("template_several", "chatapp", "chat_ana", True, True),
        ("template_several", "photoapp", "chat_off", True, False),
    ],
)
def test_a_sent_message_has_the_record_of_the_tenants_own(
    mockserver: Sandbox, template: str, platform: str, chat: str, official: bool, charged: bool
) -> None:
    run(mockserver, templateId=template, platform=platform)
    mockserver.advance(until="idle")

    first = messages(mockserver, chat)[-1]
    assert first.pop("id")
    assert first.pop("createdAt").startswith("2026-03-01T12:00:0")
    assert first.pop("text").startswith("Oi")
    assert {
        "type": "text",
        "status": "sent",
        "sender": {"id": "tenant_default", "name": "Clínica", "isParticipant": False},
        "isOfficialTemplate": official,
        "templateCharged": charged,
    } == first


@pytest.mark.clause("send.message", "templates.items", "messages.list")
def test_a_send_counts_once_and_leaves_a_message_an_item_in_order(mockserver: Sandbox) -> None:
    ids = run(mockserver, templateId="template_several")

    newest_first = messages(mockserver, "chat_ana")
    assert (3, 1, 0) == counts(mockserver, ids)
    assert ["document", "image", "text"] == [each["type"] for each in newest_first]
    assert {"2026-03-01T12:00:00.000Z"} == {each["createdAt"] for each in newest_first}
    assert 3 == len({each["id"] for each in newest_first})
    assert ("media_two", "document") == (newest_first[0]["media"]["id"], newest_first[0]["media"]["type"])
    assert ("Veja", "media_one") == (newest_first[1]["text"], newest_first[1]["media"]["id"])
    assert "Oi, Ana Prado" == newest_first[2]["text"]
    assert "media" not in newest_first[2]


@pytest.mark.clause("send.message", "messages.list")
def test_messages_of_several_campaigns_and_seeded_ones_are_listed_newest_first(mockserver: Sandbox) -> None:
    seeded = [
        {"chatId": "chat_ana", "id": "message_old", "text": "old", "createdAt": "2026-03-01T11:59:59.999Z"},
        {"chatId": "chat_ana", "id": "message_same", "text": "same instant", "createdAt": NOON},
    ]
    mockserver.apply({"given": {"messages": seeded}})
    run(mockserver, name="First")
    run(mockserver, name="Second", templateId="template_several")

    texts = [each.get("text") for each in messages(mockserver, "chat_ana")]
    assert [None, "Veja", "Oi, Ana Prado", "Oi", "same instant", "old"] == texts


@pytest.mark.clause("send.message")
def test_the_oldest_chat_is_sent_to_first(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"chats": [{"id": "chat_aaa", "name": "Zoe"}]}})
    run(mockserver, cadence=60)
    mockserver.advance(until="idle")

    ids = ("chat_ana", "chat_bare", "chat_aaa")
    assert ["12:00:00.000", "12:00:01.000", "12:00:03.000"] == [
        messages(mockserver, each)[0]["createdAt"][11:23] for each in ids
    ]


@pytest.mark.clause("messages.list")
@pytest.mark.mockserver(
    given={"templates": [{"id": "template_plain"}], "chats": [{}, {"id": "chat_b", "status": "vip"}]}
)
def test_sends_within_a_microsecond_are_paged_one_by_one_without_a_gap(mockserver: Sandbox) -> None:
    run(mockserver, name="Seventh", cadence=7)
    mockserver.advance(8.571428)
    run(mockserver, name="Whole", filters=VIPS)
    run(mockserver, name="Again", filters=VIPS)
    mockserver.advance("1m")
    whole_list = [each["id"] for each in messages(mockserver, "chat_b")]

    paged, query = [], "limit=1"
    while query:
        page = mockserver.call("GET", f"/v1/messaging/chats/chat_b?{query}").json()
        paged += [each["id"] for each in page["records"]]
        query = page["nextCursor"] and f"limit=1&cursor={page['nextCursor']}"
    assert 3 == len(whole_list)
    assert whole_list == paged
