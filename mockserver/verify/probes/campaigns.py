"""
Probes of campaigns.

1. Drafts: what a creation accepts, refuses and returns, when two names are the same, and the cancel of a draft.
2. Campaigns that the tenant has already, with their executions: these probes only read.
"""

from __future__ import annotations

from typing import Final

from mockserver._json import JSON
from mockserver.contract.limits import CADENCE_MAX_PER_MINUTE, CAMPAIGN_DESCRIPTION_MAX_CHARS, CAMPAIGN_NAME_MAX_CHARS
from mockserver.contract.schemas import ABSENT
from mockserver.verify import temporary_campaigns
from mockserver.verify.context import Exchange, RunContext, require_success
from mockserver.verify.previews import all_of, is_

TAKEN: Final = "CAMPAIGN_NAME_ALREADY_EXISTS"
_NOT_FOUND: Final = {
    "MESSAGE_TEMPLATE_NOT_FOUND": "message-template",
    "CAMPAIGN_TEMPLATE_NOT_FOUND": "campaign-template",
}

# Bodies that fail the schema: a clause, and the changes to a good body.
_REFUSED: Final[tuple[tuple[str, JSON], ...]] = (
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


def draft_at_every_limit(context: RunContext) -> None:
    """A draft at every limit is created, listed and returned as sent; a second one of its name is refused."""
    template = temporary_campaigns.any_template(context)
    name = temporary_campaigns.name(context, "full").ljust(CAMPAIGN_NAME_MAX_CHARS, "-")
    description = "d" * CAMPAIGN_DESCRIPTION_MAX_CHARS
    content = temporary_campaigns.body(
        context, "full", template, name=name, description=description, cadence=CADENCE_MAX_PER_MINUTE
    )
    exchange = temporary_campaigns.create(context, content)
    context.judge("campaigns.create", exchange.succeeded, exchange, "a draft")
    answer = require_success(exchange)
    context.judge("campaigns.create", answer["status"] == "draft", exchange, "the status draft")
    context.judge(
        "base.ids", str(answer["campaignId"]).startswith("campaign_"), exchange, "an id that begins with campaign_"
    )
    _judge_listing_and_detail(context, str(answer["campaignId"]), content)
    again = temporary_campaigns.create(context, temporary_campaigns.body(context, "full", template, name=name))
    context.judge_refusal("campaigns.name", again, TAKEN)


def _judge_listing_and_detail(context: RunContext, id: str, content: JSON) -> None:
    listing = context.call("listCampaigns")
    row: JSON = next((each for each in require_success(listing)["campaigns"] if each["id"] == id), {})
    expected = {key: content[key] for key in ("name", "description", "platform", "templateId")} | {"status": "draft"}
    fits = {key: row.get(key) for key in expected} == expected
    context.judge(
        "campaigns.list", fits, listing, f"{id} with name, description, platform and template as sent, a draft"
    )
    detail = context.call("readCampaign", id)
    for exchange, campaign in ((listing, row), (detail, require_success(detail))):
        is_as_sent = type(campaign.get("cadence")) is int and campaign["cadence"] == content["cadence"]
        for clause in ("campaigns.cadence", "campaigns.cadence-kept"):
            context.judge(clause, is_as_sent, exchange, f"the cadence {content['cadence']}")


def refused_bodies(context: RunContext) -> None:
    """Each of these bodies fails the schema, and no draft is created."""
    template = temporary_campaigns.any_template(context)
    for number, (clause, changes) in enumerate(_REFUSED):
        exchange = temporary_campaigns.create(
            context, temporary_campaigns.body(context, f"refused {number}", template, **changes)
        )
        for judged in (clause, "campaigns.validation"):
            context.judge_refusal(judged, exchange, "VALIDATION_ERROR")


def platform(context: RunContext) -> None:
    """Whether a creation may omit the platform."""
    template = temporary_campaigns.any_template(context)
    exchange = temporary_campaigns.create(
        context, temporary_campaigns.body(context, "no platform", template, platform=ABSENT)
    )
    if exchange.code == "VALIDATION_ERROR":
        context.observe("platform-required", ["required"], exchange)
    elif exchange.succeeded:
        read = context.call("readCampaign", str(exchange.json["campaignId"]))
        is_default = require_success(read)["platform"] == "chatapp"
        context.observe("platform-required", ["default-chatapp"] if is_default else [], read)
    else:
        context.observe("platform-required", [], exchange)


def templates(context: RunContext) -> None:
    """An unknown template, and an official one on the lite channel."""
    no_template = temporary_campaigns.UsableTemplate(
        f"template_mockserver_verify_{context.settings.tag}", "chatapp", (), ()
    )
    exchange = temporary_campaigns.create(context, temporary_campaigns.body(context, "unknown template", no_template))
    context.judge_refusal("campaigns.template", exchange, *_NOT_FOUND)
    options = [_NOT_FOUND[exchange.code]] if exchange.code in _NOT_FOUND else []
    context.observe("template-not-found-code", options, exchange)
    for row in temporary_campaigns.official(context)[:1]:
        wrong = temporary_campaigns.UsableTemplate(row["id"], "chatapp_lite", (), ())
        mismatch = temporary_campaigns.create(context, temporary_campaigns.body(context, "mismatch", wrong))
        context.judge_refusal("campaigns.template-mismatch", mismatch, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH")


def other_templates(context: RunContext) -> None:
    """A creation with another tenant's template is refused."""
    for id in context.other_templates[:1]:
        foreign = temporary_campaigns.UsableTemplate(id, "chatapp", (), ())
        exchange = temporary_campaigns.create(
            context, temporary_campaigns.body(context, "template of another tenant", foreign)
        )
        for clause in ("campaigns.template", "base.tenant-scope"):
            context.judge_refusal(clause, exchange, *_NOT_FOUND)


def filters(context: RunContext) -> None:
    """A creation refuses the filters that the preview refuses."""
    template = temporary_campaigns.any_template(context)
    for statement in (
        is_("chat.mockserverVerify", "exists"),
        is_("chat.tagIds", "equals", "tag_mockserver_verify"),
        is_("chat.monetization", "equals", "1"),
    ):
        content = temporary_campaigns.body(context, "wrong filters", template, filters=[all_of(statement)])
        exchange = temporary_campaigns.create(context, content)
        for clause in ("audience.same-filters", "filters.invalid"):
            context.judge_refusal(clause, exchange, "CAMPAIGN_INVALID_FILTERS")


def names_and_cancel(context: RunContext) -> None:
    """Which names count as the same, and the cancel of a draft and of a canceled campaign."""
    template = temporary_campaigns.any_template(context)
    content = temporary_campaigns.body(context, "names", template)
    id = temporary_campaigns.create_draft(context, content)
    upper = temporary_campaigns.create(context, content | {"name": content["name"].upper()})
    spaced = temporary_campaigns.create(context, content | {"name": content["name"] + " "})
    _observe_order(context, id)
    if upper.code == TAKEN or spaced.code == TAKEN:
        scope = "case-insensitive" if upper.code == TAKEN else "trimmed"
        context.observe("name-uniqueness-scope", [scope], upper if upper.code == TAKEN else spaced)
    elif upper.succeeded and spaced.succeeded:
        context.observe("name-uniqueness-scope", ["exact", "free-when-ended"], spaced)
    if _cancel_draft(context, id):
        again = temporary_campaigns.create(context, content)
        options = ["free-when-ended"] if again.succeeded else ["exact", "case-insensitive", "trimmed"]
        context.judge("campaigns.name", again.succeeded or again.code == TAKEN, again, f"a draft, or {TAKEN}")
        context.observe("name-uniqueness-scope", options if again.succeeded or again.code == TAKEN else [], again)


def _observe_order(context: RunContext, first: str) -> None:
    """The order in the list of a draft and of one created after it."""
    created = list(context.campaigns)
    later = created[created.index(first) + 1 :]
    listing = context.call("listCampaigns")
    ids = [each["id"] for each in require_success(listing)["campaigns"]]
    if later and first in ids and later[-1] in ids:
        newest_first = ids.index(later[-1]) < ids.index(first)
        context.observe("list-order", ["newest-first" if newest_first else "oldest-first", "shuffled"], listing)


def _cancel_draft(context: RunContext, id: str) -> bool:
    """Cancel a draft and judge the response; return True if the draft is canceled."""
    exchange = temporary_campaigns.cancel(context, id)
    unknown = context.call("cancelCampaign", f"campaign_mockserver_verify_{context.settings.tag}")
    context.judge_refusal("cancel.unknown", unknown, "CAMPAIGN_NOT_FOUND")
    by_status = {204: "canceled", 422: "unprocessable"}
    fits = exchange.status == 204 or exchange.code == "UNPROCESSABLE_REQUEST"
    context.judge("cancel.draft", fits, exchange, "204, or UNPROCESSABLE_REQUEST")
    context.observe("cancel-draft", [by_status[exchange.status]] if fits else [], exchange)
    if exchange.status != 204:
        return False
    context.judge("cancel.no-body", True, exchange, "204 to a call without a body")
    read = context.call("readCampaign", id)
    context.judge("cancel.draft", require_success(read)["status"] == "canceled", read, "the status canceled")
    again = temporary_campaigns.cancel(context, id)
    fits = again.status == 204 or again.code == "UNPROCESSABLE_REQUEST"
    context.judge("cancel.final", fits, again, "204, or UNPROCESSABLE_REQUEST")
    context.observe("repeat-cancel", ["no-op" if again.status == 204 else "unprocessable"] if fits else [], again)
    return True


FINAL: Final = ("completed", "failed", "canceled")
_PER_STATUS_MAX: Final = 3


def existing_campaigns(context: RunContext) -> None:
    """A few campaigns of each status, with their newest execution."""
    unknown = context.call("readCampaign", f"campaign_mockserver_verify_{context.settings.tag}")
    context.judge_refusal("campaigns.detail", unknown, "CAMPAIGN_NOT_FOUND")
    listing = context.call("listCampaigns")
    rows = require_success(listing)["campaigns"]
    for status in ("draft", "processing", *FINAL):
        for row in [row for row in rows if row["status"] == status][:_PER_STATUS_MAX]:
            read(context, row["id"])


def read(context: RunContext, id: str) -> JSON:
    """Read a campaign and its newest execution, judge both, and return the campaign's detail."""
    exchange = context.call("readCampaign", id)
    detail: JSON = require_success(exchange)
    has_more = "description" in detail or "filters" in detail
    context.observe("detail-fields", ["full" if has_more else "literal"], exchange)
    context.judge("base.ids", str(detail["id"]).startswith("campaign_"), exchange, "an id that begins with campaign_")
    context.judge("campaigns.status-values", detail["status"] in ("draft", "processing", *FINAL), exchange, "a status")
    for entry in detail["executions"]:
        ended, status = entry["completedAt"], entry["status"]
        fits = ended is None if status == "processing" else status != "completed" or ended is not None
        expected = "completedAt null while it runs, set once completed"
        context.judge("campaigns.detail-executions", fits, exchange, expected)
        if status in ("canceled", "failed"):
            context.observe("completedAt-on-cancel-fail", ["null" if ended is None else "set"], exchange)
    unknown = context.call("readExecution", id, f"execution_mockserver_verify_{context.settings.tag}")
    by_code = {"RESOURCE_NOT_FOUND": "resource", "CAMPAIGN_NOT_FOUND": "campaign"}
    context.judge_refusal("execution.read", unknown, *by_code)
    context.observe("execution-not-found-code", [by_code[unknown.code]] if unknown.code in by_code else [], unknown)
    if detail["executions"]:
        _judge_execution(context, id, detail)
    return detail


def _judge_execution(context: RunContext, id: str, detail: JSON) -> None:
    exchange = context.call("readExecution", id, detail["executions"][0]["id"])
    run = require_success(exchange)
    done, target = run["sentCount"] + run["failedCount"], run["targetCount"]
    context.judge("send.counts", done <= target, exchange, "sentCount + failedCount of at most targetCount")
    if detail["status"] in FINAL and run["status"] == "processing":
        context.observe("execution-status-lag", ["campaign-first"], exchange)
    _judge_progress(context, exchange, run, done, target)


def _judge_progress(context: RunContext, exchange: Exchange, run: JSON, done: int, target: int) -> None:
    """Progress follows the counts by one of the roundings; a canceled execution may show 100."""
    progress, status = run["progress"], run["status"]
    if target == 0:
        context.judge("send.progress", progress == 100 or status != "completed", exchange, "100 once completed")
        if status == "processing":
            context.observe("progress-zero-target", {0: ["zero"], 100: ["hundred"]}.get(progress, []), exchange)
        return
    rounded = {
        "floor": 100 * done // target,
        "half-up": (200 * done + target) // (2 * target),
        "ceil": -(-100 * done // target),
    }
    fits = progress in rounded.values()
    jumped = status == "canceled" and progress == 100 and not fits
    context.judge("send.progress", fits or jumped, exchange, f"{rounded['floor']} or {rounded['ceil']}")
    if status == "canceled" and done < target:
        context.observe("progress-after-cancel", ["hundred"] if jumped else ["partial"], exchange)
    if fits:
        context.observe("progress-rounding", (name for name in rounded if rounded[name] == progress), exchange)
