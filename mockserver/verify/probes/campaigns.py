"""
Probes of campaigns: drafts, and those that the tenant has already.

Probes of drafts: what a creation takes, refuses and shows, when two names are the same, and the cancel of a draft.

Probes of the campaigns that the tenant has already: their details and what their executions tell. They read alone.
"""

from __future__ import annotations

from typing import Any, Final

from mockserver.contract.limits import CADENCE_MAX_PER_MINUTE, CAMPAIGN_DESCRIPTION_MAX_CHARS, CAMPAIGN_NAME_MAX_CHARS
from mockserver.contract.schemas import ABSENT
from mockserver.verify import temporary_campaigns
from mockserver.verify.context import Exchange, RunContext, succeeded
from mockserver.verify.previews import all_of, is_

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


def fullest(visit: RunContext) -> None:
    """A draft at every limit is taken, listed and read as it was sent; its name is then taken."""
    template = temporary_campaigns.any_template(visit)
    name = temporary_campaigns.name(visit, "full").ljust(CAMPAIGN_NAME_MAX_CHARS, "-")
    description = "d" * CAMPAIGN_DESCRIPTION_MAX_CHARS
    content = temporary_campaigns.body(
        visit, "full", template, name=name, description=description, cadence=CADENCE_MAX_PER_MINUTE
    )
    exchange = temporary_campaigns.create(visit, content)
    visit.judge("campaigns.create", exchange.succeeded, exchange, "a draft")
    answer = succeeded(exchange)
    visit.judge("campaigns.create", answer["status"] == "draft", exchange, "the status draft")
    visit.judge(
        "base.ids", str(answer["campaignId"]).startswith("campaign_"), exchange, "an id that begins with campaign_"
    )
    _shown(visit, str(answer["campaignId"]), content)
    again = temporary_campaigns.create(visit, temporary_campaigns.body(visit, "full", template, name=name))
    visit.refused("campaigns.name", again, TAKEN)


def _shown(visit: RunContext, id: str, content: dict[str, Any]) -> None:
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


def refused_bodies(visit: RunContext) -> None:
    """Each of these fails the schema, and no draft comes of it."""
    template = temporary_campaigns.any_template(visit)
    for number, (clause, changes) in enumerate(_REFUSED):
        exchange = temporary_campaigns.create(
            visit, temporary_campaigns.body(visit, f"refused {number}", template, **changes)
        )
        for each in (clause, "campaigns.validation"):
            visit.refused(each, exchange, "VALIDATION_ERROR")


def platform(visit: RunContext) -> None:
    """Whether a platform may be left out."""
    template = temporary_campaigns.any_template(visit)
    exchange = temporary_campaigns.create(
        visit, temporary_campaigns.body(visit, "no platform", template, platform=ABSENT)
    )
    if exchange.code == "VALIDATION_ERROR":
        visit.observe("platform-required", ["required"], exchange)
    elif exchange.succeeded:
        read = visit.call("readCampaign", str(exchange.json["campaignId"]))
        is_default = succeeded(read)["platform"] == "chatapp"
        visit.observe("platform-required", ["default-chatapp"] if is_default else [], read)
    else:
        visit.observe("platform-required", [], exchange)


def templates(visit: RunContext) -> None:
    """An unknown template, and an official one on the lite channel."""
    nowhere = temporary_campaigns.Chosen(f"template_mockserver_verify_{visit.settings.tag}", "chatapp", (), ())
    exchange = temporary_campaigns.create(visit, temporary_campaigns.body(visit, "unknown template", nowhere))
    visit.refused("campaigns.template", exchange, *_NOT_FOUND)
    options = [_NOT_FOUND[exchange.code]] if exchange.code in _NOT_FOUND else []
    visit.observe("template-not-found-code", options, exchange)
    for row in temporary_campaigns.official(visit)[:1]:
        wrong = temporary_campaigns.Chosen(row["id"], "chatapp_lite", (), ())
        mismatch = temporary_campaigns.create(visit, temporary_campaigns.body(visit, "mismatch", wrong))
        visit.refused("campaigns.template-mismatch", mismatch, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH")


def other_templates(visit: RunContext) -> None:
    """Another tenant's template makes no campaign."""
    for id in visit.others[:1]:
        foreign = temporary_campaigns.Chosen(id, "chatapp", (), ())
        exchange = temporary_campaigns.create(
            visit, temporary_campaigns.body(visit, "template of another tenant", foreign)
        )
        wanted = dict.fromkeys(_NOT_FOUND, "not-found") | {"RESOURCE_ACCESS_DENIED": "access-denied"}
        for clause in ("campaigns.template", "base.tenant-scope", "auth.denied"):
            visit.refused(clause, exchange, *wanted)
        visit.observe("cross-tenant-code", [wanted[exchange.code]] if exchange.code in wanted else [], exchange)


def filters(visit: RunContext) -> None:
    """A creation refuses the filters that the preview refuses."""
    template = temporary_campaigns.any_template(visit)
    for statement in (
        is_("chat.mockserverVerify", "exists"),
        is_("chat.tagIds", "equals", "tag_mockserver_verify"),
        is_("chat.monetization", "equals", "1"),
    ):
        content = temporary_campaigns.body(visit, "wrong filters", template, filters=[all_of(statement)])
        exchange = temporary_campaigns.create(visit, content)
        for clause in ("audience.same-filters", "filters.invalid"):
            visit.refused(clause, exchange, "CAMPAIGN_INVALID_FILTERS")


def names_and_cancel(visit: RunContext) -> None:
    """When two names are the same; what a cancel does to a draft and to a canceled campaign."""
    template = temporary_campaigns.any_template(visit)
    content = temporary_campaigns.body(visit, "names", template)
    id = temporary_campaigns.created(visit, content)
    upper = temporary_campaigns.create(visit, content | {"name": content["name"].upper()})
    spaced = temporary_campaigns.create(visit, content | {"name": content["name"] + " "})
    _order(visit, id)
    if upper.code == TAKEN or spaced.code == TAKEN:
        scope = "case-insensitive" if upper.code == TAKEN else "trimmed"
        visit.observe("name-uniqueness-scope", [scope], upper if upper.code == TAKEN else spaced)
    elif upper.succeeded and spaced.succeeded:
        visit.observe("name-uniqueness-scope", ["exact", "free-when-ended"], spaced)
    if _canceled(visit, id):
        again = temporary_campaigns.create(visit, content)
        options = ["free-when-ended"] if again.succeeded else ["exact", "case-insensitive", "trimmed"]
        visit.judge("campaigns.name", again.succeeded or again.code == TAKEN, again, f"a draft, or {TAKEN}")
        visit.observe("name-uniqueness-scope", options if again.succeeded or again.code == TAKEN else [], again)


def _order(visit: RunContext, first: str) -> None:
    """The draft made later, and the one made just before it, as the list has them."""
    made = list(visit.campaigns)
    later = made[made.index(first) + 1 :]
    listing = visit.call("listCampaigns")
    ids = [each["id"] for each in succeeded(listing)["campaigns"]]
    if later and first in ids and later[-1] in ids:
        newest = ids.index(later[-1]) < ids.index(first)
        visit.observe("list-order", ["newest-first" if newest else "oldest-first", "shuffled"], listing)


def _canceled(visit: RunContext, id: str) -> bool:
    """Cancel a draft and see what came of it; True where it is canceled."""
    exchange = temporary_campaigns.cancel(visit, id)
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


def _cancel_unknown(visit: RunContext) -> Exchange:
    return visit.call("cancelCampaign", f"campaign_mockserver_verify_{visit.settings.tag}")


def _repeated(visit: RunContext, id: str) -> None:
    again = temporary_campaigns.cancel(visit, id)
    fits = again.status == 204 or again.code == "UNPROCESSABLE_REQUEST"
    visit.judge("cancel.final", fits, again, "204, or UNPROCESSABLE_REQUEST")
    visit.observe("repeat-cancel", ["no-op" if again.status == 204 else "unprocessable"] if fits else [], again)


FINAL: Final = ("completed", "failed", "canceled")
_EACH_STATUS_MAX: Final = 3


def campaigns(visit: RunContext) -> None:
    """A few campaigns of each status, with their newest execution."""
    visit.refused("campaigns.detail", _unknown(visit), "CAMPAIGN_NOT_FOUND")
    listing = visit.call("listCampaigns")
    rows = succeeded(listing)["campaigns"]
    for status in ("draft", "processing", *FINAL):
        for row in [row for row in rows if row["status"] == status][:_EACH_STATUS_MAX]:
            read(visit, row["id"])


def _unknown(visit: RunContext) -> Exchange:
    return visit.call("readCampaign", f"campaign_mockserver_verify_{visit.settings.tag}")


def read(visit: RunContext, id: str) -> dict[str, Any]:
    """The detail of a campaign, and what it tells; its newest execution too, where it has one."""
    exchange = visit.call("readCampaign", id)
    detail: dict[str, Any] = succeeded(exchange)
    shown = [key for key in ("description", "filters") if key in detail]
    visit.observe("detail-fields", ["full" if shown else "literal"], exchange)
    visit.judge("base.ids", str(detail["id"]).startswith("campaign_"), exchange, "an id that begins with campaign_")
    visit.judge("campaigns.status-values", detail["status"] in ("draft", "processing", *FINAL), exchange, "a status")
    for entry in detail["executions"]:
        _entry(visit, exchange, entry)
    nowhere = visit.call("readExecution", id, f"execution_mockserver_verify_{visit.settings.tag}")
    by_code = {"RESOURCE_NOT_FOUND": "resource", "CAMPAIGN_NOT_FOUND": "campaign"}
    visit.refused("execution.read", nowhere, *by_code)
    visit.observe("execution-not-found-code", [by_code[nowhere.code]] if nowhere.code in by_code else [], nowhere)
    if detail["executions"]:
        _execution(visit, id, detail)
    return detail


def _entry(visit: RunContext, exchange: Exchange, entry: dict[str, Any]) -> None:
    ended, status = entry["completedAt"], entry["status"]
    fits = ended is None if status == "processing" else status != "completed" or ended is not None
    visit.judge("campaigns.detail-executions", fits, exchange, "completedAt null while it runs, set once completed")
    if status in ("canceled", "failed"):
        visit.observe("completedAt-on-cancel-fail", ["null" if ended is None else "set"], exchange)


def _execution(visit: RunContext, id: str, detail: dict[str, Any]) -> None:
    exchange = visit.call("readExecution", id, detail["executions"][0]["id"])
    run = succeeded(exchange)
    done, target = run["sentCount"] + run["failedCount"], run["targetCount"]
    visit.judge("send.counts", done <= target, exchange, "sentCount + failedCount of at most targetCount")
    if detail["status"] in FINAL and run["status"] == "processing":
        visit.observe("execution-status-lag", ["campaign-first"], exchange)
    _progress(visit, exchange, run, done, target)


def _progress(visit: RunContext, exchange: Exchange, run: dict[str, Any], done: int, target: int) -> None:
    """Progress follows the counts by one of the roundings; a canceled execution may show 100."""
    progress, status = run["progress"], run["status"]
    if target == 0:
        visit.judge("send.progress", progress == 100 or status != "completed", exchange, "100 once completed")
        if status == "processing":
            visit.observe("progress-zero-target", {0: ["zero"], 100: ["hundred"]}.get(progress, []), exchange)
        return
    rounded = {
        "floor": 100 * done // target,
        "half-up": (200 * done + target) // (2 * target),
        "ceil": -(-100 * done // target),
    }
    fits = progress in rounded.values()
    jumped = status == "canceled" and progress == 100 and not fits
    visit.judge("send.progress", fits or jumped, exchange, f"{rounded['floor']} or {rounded['ceil']}")
    if status == "canceled" and done < target:
        visit.observe("progress-after-cancel", ["hundred"] if jumped else ["partial"], exchange)
    if fits:
        visit.observe("progress-rounding", (name for name in rounded if rounded[name] == progress), exchange)
