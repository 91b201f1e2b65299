"""Message templates: listed and read, with their manual variables; automatic ones are filled for each recipient."""

import pytest

from mockserver import Sandbox, ScenarioError
from mockserver._json import JSON
from tests.harness.options import each_option
from tests.operations.campaigning import messages, run

pytestmark = pytest.mark.mockserver(now="2026-03-01T12:00:00Z")

TEMPLATES = "/v1/message-templates"
STATUSES = ["APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED"]

PROMO = {
    "id": "template_promo",
    "name": "Promoção de março",
    "description": "Para quem já é paciente",
    "isOfficial": True,
    "items": [
        {"type": "text", "text": "Olá {{1}}, use o cupom {{2}} até {{3}}."},
        {"type": "image", "mediaId": "media_front"},
        {"type": "text", "text": "Até logo"},
    ],
    "variables": [
        {"key": "var1", "source": "chat.name"},
        {"key": "var2", "label": "Cupom", "required": True},
        {"key": "var3", "label": "Validade", "required": False},
    ],
    "createdAt": "2026-01-02T03:04:05Z",
    "updatedAt": "2026-02-03T04:05:06.789Z",
}
INTERNAL = {"id": "template_internal", "name": "Interno", "createdAt": "2026-01-01T00:00:00Z"}


def listed(sandbox: Sandbox) -> list[JSON]:
    templates: list[JSON] = sandbox.call("GET", TEMPLATES).json()["templates"]
    return templates


def read(sandbox: Sandbox, id: str) -> JSON:
    body: JSON = sandbox.call("GET", f"{TEMPLATES}/{id}").json()
    return body


@pytest.mark.clause("templates.list")
@pytest.mark.option("provider-status-internal", "absent")
@pytest.mark.mockserver(given={"templates": [PROMO, INTERNAL]})
def test_the_list_has_these_fields_of_each_template(mockserver: Sandbox) -> None:
    reply = mockserver.call("GET", TEMPLATES)

    assert 200 == reply.status
    assert {
        "templates": [
            {
                "id": "template_promo",
                "name": "Promoção de março",
                "description": "Para quem já é paciente",
                "isOfficial": True,
                "providerTemplateStatus": "APPROVED",
                "createdAt": "2026-01-02T03:04:05.000Z",
                "updatedAt": "2026-02-03T04:05:06.789Z",
            },
            {
                "id": "template_internal",
                "name": "Interno",
                "description": None,
                "isOfficial": False,
                "createdAt": "2026-01-01T00:00:00.000Z",
                "updatedAt": "2026-01-01T00:00:00.000Z",
            },
        ]
    } == reply.json()


@pytest.mark.clause("templates.list")
@pytest.mark.mockserver(given={"templates": [PROMO, INTERNAL]})
@each_option("shown", "provider-status-internal", {"absent": "nothing", "null": None, "empty": ""})
def test_an_internal_template_shows_that_no_provider_ever_saw_it(mockserver: Sandbox, shown: str | None) -> None:
    official, internal = listed(mockserver)

    assert shown == internal.get("providerTemplateStatus", "nothing")
    assert "APPROVED" == official["providerTemplateStatus"]


@pytest.mark.clause("templates.detail", "templates.items", "templates.common-variables")
@pytest.mark.mockserver(given={"templates": [PROMO]})
def test_the_detail_has_the_items_in_order_and_only_the_manual_variables(mockserver: Sandbox) -> None:
    reply = mockserver.call("GET", f"{TEMPLATES}/template_promo")
    body = reply.json()
    item_ids = [item.pop("id") for item in body["items"]]

    assert 200 == reply.status
    assert {
        "id": "template_promo",
        "name": "Promoção de março",
        "isOfficial": True,
        "items": [
            {"order": 0, "type": "text", "text": "Olá {{1}}, use o cupom {{2}} até {{3}}.", "mediaId": None},
            {"order": 1, "type": "image", "text": "", "mediaId": "media_front"},
            {"order": 2, "type": "text", "text": "Até logo", "mediaId": None},
        ],
        "commonVariables": [
            {"key": "var2", "label": "Cupom", "required": True},
            {"key": "var3", "label": "Validade", "required": False},
        ],
    } == body
    assert 3 == len(set(item_ids))
    assert all(isinstance(id, str) and id for id in item_ids)


@pytest.mark.clause("templates.official", "templates.status")
@pytest.mark.parametrize("status", STATUSES)
def test_a_template_is_official_exactly_while_the_provider_approves_it(mockserver: Sandbox, status: str) -> None:
    mockserver.apply({"given": {"templates": [{"id": "template_t", "providerTemplateStatus": status}]}})
    official = status == "APPROVED"

    assert [(status, official)] == [(each["providerTemplateStatus"], each["isOfficial"]) for each in listed(mockserver)]
    assert official is read(mockserver, "template_t")["isOfficial"]


@pytest.mark.clause("templates.official")
@pytest.mark.parametrize(
    "contradiction",
    [{"isOfficial": False, "providerTemplateStatus": "APPROVED"}]
    + [{"isOfficial": True, "providerTemplateStatus": status} for status in STATUSES[1:]],
)
def test_seed_data_that_contradicts_the_approval_is_refused(mockserver: Sandbox, contradiction: JSON) -> None:
    with pytest.raises(ScenarioError, match="isOfficial"):
        mockserver.apply({"given": {"templates": [{"id": "template_t"} | contradiction]}})

    assert [] == listed(mockserver)


@pytest.mark.clause("templates.varn")
@pytest.mark.mockserver(
    given={
        "templates": [
            {
                "id": "template_swapped",
                "items": [{"type": "text", "text": "{{2}} {{1}} {{11}} {{ 1 }} {1}"}],
                "variables": [{"key": f"var{number}", "label": str(number), "required": True} for number in (11, 1, 2)],
            }
        ],
        "chats": [{"id": "chat_ana"}],
    }
)
def test_a_variable_fills_the_placeholder_of_its_number_whatever_the_order(mockserver: Sandbox) -> None:
    keys = [each["key"] for each in read(mockserver, "template_swapped")["commonVariables"]]
    run(mockserver, {"var1": "{{2}}", "var2": "dois", "var11": "onze"}, templateId="template_swapped")

    assert ["var11", "var1", "var2"] == keys
    assert ["dois {{2}} onze {{ 1 }} {1}"] == [each["text"] for each in messages(mockserver, "chat_ana")]


@pytest.mark.clause("templates.detail")
@pytest.mark.mockserver(given={"templates": [PROMO]})
def test_an_id_is_the_same_id_percent_encoded(mockserver: Sandbox) -> None:
    assert "template_promo" == read(mockserver, "%74emplate%5Fpromo")["id"]
