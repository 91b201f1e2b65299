"""Probes of drafts: what a creation takes, refuses and shows, when two names are the same, and the cancel of a draft."""

from __future__ import annotations

from typing import Any, Final

from mockserver.contract.limits import CADENCE_MAX_PER_MINUTE, CAMPAIGN_DESCRIPTION_MAX_CHARS, CAMPAIGN_NAME_MAX_CHARS
from mockserver.contract.problems import ABSENT
from mockserver.verify import drafts
from mockserver.verify.asking import all_of, is_
from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit, succeeded

TAKEN: Final = "CAMPAIGN_NAME_ALREADY_EXISTS"
_NOT_FOUND: Final = {
    "MESSAGE_TEMPLATE_NOT_FOUND": "message-template",
    "CAMPAIGN_TEMPLATE_NOT_FOUND": "campaign-template",
}

# Bodies that fail the schema: a clause, and the changes to a good body.
_REFUSED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("campaigns.name", {"name": ABSENT}),
    ("campaigns.name", {"name": ""}),
    ("campaigns.name", {"name": "n" * (CAMPAIGN_NAME_MAX_CHARS + 1)}),
    ("campaigns.description", {"description": "d" * (CAMPAIGN_DESCRIPTION_MAX_CHARS + 1)}),
    ("campaigns.platform", {"platform": "botapp"}),
    ("campaigns.template", {"templateId": ABSENT}),
    ("campaigns.cadence", {"cadence": ABSENT}),
    ("campaigns.cadence", {"cadence": 0}),
    ("campaigns.cadence", {"cadence": -1}),
    ("campaigns.cadence", {"cadence": 1.5}),
    ("campaigns.cadence", {"cadence": "60"}),
    ("campaigns.cadence", {"cadence": CADENCE_MAX_PER_MINUTE + 1}),
)


def fullest(visit: Visit) -> None:
    """A draft at every limit is taken, listed and read as it was sent; its name is then taken."""
    template = drafts.any_template(visit)
    name = drafts.name(visit, "full").ljust(CAMPAIGN_NAME_MAX_CHARS, "-")
    description = "d" * CAMPAIGN_DESCRIPTION_MAX_CHARS
    content = drafts.body(visit, "full", template, name=name, description=description, cadence=CADENCE_MAX_PER_MINUTE)
    exchange = drafts.create(visit, content)
    visit.judge("campaigns.create", exchange.succeeded, exchange, "a draft")
    answer = succeeded(exchange)
    visit.judge("campaigns.create", answer["status"] == "draft", exchange, "the status draft")
    visit.judge(
        "base.ids", str(answer["campaignId"]).startswith("campaign_"), exchange, "an id that begins with campaign_"
    )
    _shown(visit, str(answer["campaignId"]), content)
    again = drafts.create(visit, drafts.body(visit, "full", template, name=name))
    visit.refused("campaigns.name", again, TAKEN)


def _shown(visit: Visit, id: str, content: dict[str, Any]) -> None:
    listing = visit.call("listCampaigns")
    row: dict[str, Any] = next((each for each in succeeded(listing)["campaigns"] if each["id"] == id), {})
    wanted = {key: content[key] for key in ("name", "description", "platform", "templateId")} | {"status": "draft"}
    fits = {key: row.get(key) for key in wanted} == wanted
    visit.judge("campaigns.list", fits, listing, f"{id} with name, description, platform and template as sent, a draft")
    detail = visit.call("readCampaign", id)
    for exchange, shown in ((listing, row), (detail, succeeded(detail))):
        kept = type(shown.get("cadence")) is int and shown["cadence"] == content["cadence"]
        for clause in ("campaigns.cadence", "campaigns.cadence-kept"):
            visit.judge(clause, kept, exchange, f"the cadence {content['cadence']}")


def refused_bodies(visit: Visit) -> None:
    """Each of these fails the schema, and no draft comes of it."""
    template = drafts.any_template(visit)
    for number, (clause, changes) in enumerate(_REFUSED):
        exchange = drafts.create(visit, drafts.body(visit, f"refused {number}", template, **changes))
        for each in (clause, "campaigns.validation"):
            visit.refused(each, exchange, "VALIDATION_ERROR")


def platform(visit: Visit) -> None:
    """Whether a platform may be left out."""
    template = drafts.any_template(visit)
    exchange = drafts.create(visit, drafts.body(visit, "no platform", template, platform=ABSENT))
    if exchange.code == "VALIDATION_ERROR":
        visit.observe("platform-required", ["required"], exchange)
    elif exchange.succeeded:
        read = visit.call("readCampaign", str(exchange.json["campaignId"]))
        is_default = succeeded(read)["platform"] == "chatapp"
        visit.observe("platform-required", ["default-chatapp"] if is_default else [], read)
    else:
        visit.observe("platform-required", [], exchange)


def templates(visit: Visit) -> None:
    """An unknown template, and an official one on the lite channel."""
    nowhere = drafts.Chosen(f"template_mockserver_verify_{visit.settings.tag}", "chatapp", (), ())
    exchange = drafts.create(visit, drafts.body(visit, "unknown template", nowhere))
    visit.refused("campaigns.template", exchange, *_NOT_FOUND)
    options = [_NOT_FOUND[exchange.code]] if exchange.code in _NOT_FOUND else []
    visit.observe("template-not-found-code", options, exchange)
    for row in drafts.official(visit)[:1]:
        wrong = drafts.Chosen(row["id"], "chatapp_lite", (), ())
        mismatch = drafts.create(visit, drafts.body(visit, "mismatch", wrong))
        visit.refused("campaigns.template-mismatch", mismatch, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH")


def other_templates(visit: Visit) -> None:
    """Another tenant's template makes no campaign."""
    for id in visit.others[:1]:
        foreign = drafts.Chosen(id, "chatapp", (), ())
        exchange = drafts.create(visit, drafts.body(visit, "template of another tenant", foreign))
        wanted = dict.fromkeys(_NOT_FOUND, "not-found") | {"RESOURCE_ACCESS_DENIED": "access-denied"}
        for clause in ("campaigns.template", "base.tenant-scope", "auth.denied"):
            visit.refused(clause, exchange, *wanted)
        visit.observe("cross-tenant-code", [wanted[exchange.code]] if exchange.code in wanted else [], exchange)


def filters(visit: Visit) -> None:
    """A creation refuses the filters that the preview refuses."""
    template = drafts.any_template(visit)
    for statement in (
        is_("chat.mockserverVerify", "exists"),
        is_("chat.tagIds", "equals", "tag_mockserver_verify"),
        is_("chat.monetization", "equals", "1"),
    ):
        content = drafts.body(visit, "wrong filters", template, filters=[all_of(statement)])
        exchange = drafts.create(visit, content)
        for clause in ("audience.same-filters", "filters.invalid"):
            visit.refused(clause, exchange, "CAMPAIGN_INVALID_FILTERS")


def names_and_cancel(visit: Visit) -> None:
    """When two names are the same; what a cancel does to a draft and to a canceled campaign."""
    template = drafts.any_template(visit)
    content = drafts.body(visit, "names", template)
    id = drafts.created(visit, content)
    upper = drafts.create(visit, content | {"name": content["name"].upper()})
    spaced = drafts.create(visit, content | {"name": content["name"] + " "})
    _order(visit, id)
    if upper.code == TAKEN or spaced.code == TAKEN:
        scope = "case-insensitive" if upper.code == TAKEN else "trimmed"
        visit.observe("name-uniqueness-scope", [scope], upper if upper.code == TAKEN else spaced)
    elif upper.succeeded and spaced.succeeded:
        visit.observe("name-uniqueness-scope", ["exact", "free-when-ended"], spaced)
    if _canceled(visit, id):
        again = drafts.create(visit, content)
        options = ["free-when-ended"] if again.succeeded else ["exact", "case-insensitive", "trimmed"]
        visit.judge("campaigns.name", again.succeeded or again.code == TAKEN, again, f"a draft, or {TAKEN}")
        visit.observe("name-uniqueness-scope", options if again.succeeded or again.code == TAKEN else [], again)


def _order(visit: Visit, first: str) -> None:
    """The draft made later, and the one made just before it, as the list has them."""
    made = list(visit.campaigns)
    later = made[made.index(first) + 1 :]
    listing = visit.call("listCampaigns")
    ids = [each["id"] for each in succeeded(listing)["campaigns"]]
    if later and first in ids and later[-1] in ids:
        newest = ids.index(later[-1]) < ids.index(first)
        visit.observe("list-order", ["newest-first" if newest else "oldest-first", "shuffled"], listing)


def _canceled(visit: Visit, id: str) -> bool:
    """Cancel a draft and see what came of it; True where it is canceled."""
    exchange = drafts.cancel(visit, id)
    visit.refused("cancel.unknown", _cancel_unknown(visit), "CAMPAIGN_NOT_FOUND")
    by_status = {204: "canceled", 422: "unprocessable"}
    fits = exchange.status == 204 or exchange.code == "UNPROCESSABLE_REQUEST"
    visit.judge("cancel.draft", fits, exchange, "204, or UNPROCESSABLE_REQUEST")
    visit.observe("cancel-draft", [by_status[exchange.status]] if fits else [], exchange)
    if exchange.status != 204:
        return False
    visit.judge("cancel.no-body", True, exchange, "204 to a call without a body")
    read = visit.call("readCampaign", id)
    visit.judge("cancel.draft", succeeded(read)["status"] == "canceled", read, "the status canceled")
    _repeated(visit, id)
    return True


def _cancel_unknown(visit: Visit) -> Exchange:
    return visit.call("cancelCampaign", f"campaign_mockserver_verify_{visit.settings.tag}")


def _repeated(visit: Visit, id: str) -> None:
    again = drafts.cancel(visit, id)
    fits = again.status == 204 or again.code == "UNPROCESSABLE_REQUEST"
    visit.judge("cancel.final", fits, again, "204, or UNPROCESSABLE_REQUEST")
    visit.observe("repeat-cancel", ["no-op" if again.status == 204 else "unprocessable"] if fits else [], again)
