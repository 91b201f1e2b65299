"""
Probes of campaigns.

1. Drafts: what a creation accepts, refuses and returns, when two names are the same, and the cancel of a draft.
2. Campaigns that the tenant has already, with their executions: these probes only read.
"""

from __future__ import annotations

from typing import Final

from mockserver._json import JSON
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.limits import CADENCE_MAX_PER_MINUTE, CAMPAIGN_DESCRIPTION_MAX_CHARS, CAMPAIGN_NAME_MAX_CHARS
from mockserver.contract.schemas import ABSENT
from mockserver.probe.context import RunContext, require_success
from mockserver.probe.previews import all_of, is_, preview
from mockserver.probe.temporary_campaigns import (
    UsableTemplate,
    any_template,
    cancel,
    create,
    create_draft,
    name,
)

# Changes to a good body that fail the schema.
_REFUSED: Final[tuple[JSON, ...]] = (
    {"name": ABSENT},
    {"name": ""},
    {"name": "n" * (CAMPAIGN_NAME_MAX_CHARS + 1)},
    {"description": "d" * (CAMPAIGN_DESCRIPTION_MAX_CHARS + 1)},
    {"platform": "botapp"},
    {"templateId": ABSENT},
    {"cadence": ABSENT},
    {"cadence": 0},
    {"cadence": -1},
    {"cadence": 1.5},
    {"cadence": "60"},
    {"cadence": CADENCE_MAX_PER_MINUTE + 1},
)
_PER_STATUS_MAX: Final = 3


def draft_at_every_limit(context: RunContext) -> None:
    """A draft at every limit is created, listed and read, and a second one gets its name."""
    template = any_template(context)
    longest = name(context, "full").ljust(CAMPAIGN_NAME_MAX_CHARS, "-")
    description = "d" * CAMPAIGN_DESCRIPTION_MAX_CHARS
    cadence = CADENCE_MAX_PER_MINUTE
    id = create_draft(context, "full", template, name=longest, description=description, cadence=cadence)
    context.list_campaigns()
    context.read_campaign(id)
    create(context, "full", template, name=longest)


def refused_bodies(context: RunContext) -> None:
    """Each of these bodies fails the schema."""
    template = any_template(context)
    for number, changes in enumerate(_REFUSED):
        create(context, f"refused {number}", template, **changes)


def platform(context: RunContext) -> None:
    """A creation omits the platform."""
    created = create(context, "no platform", any_template(context), platform=ABSENT)
    if created.succeeded:
        context.read_campaign(str(created.field("campaignId")))


def templates(context: RunContext) -> None:
    """An unknown template, and an official one on the lite channel."""
    create(context, "unknown template", UsableTemplate(id=context.unknown_id("template"), platform="chatapp"))
    for id in [row["id"] for row in context.templates if row.get("isOfficial") is True][:1]:
        create(context, "mismatch", UsableTemplate(id=id, platform="chatapp_lite"))
        context.read_template(id)


def other_templates(context: RunContext) -> None:
    """A creation with another tenant's template is refused."""
    for id in context.other_templates[:1]:
        create(context, "template of another tenant", UsableTemplate(id=id, platform="chatapp"))


def filters(context: RunContext) -> None:
    """A creation refuses the filters that the preview refuses."""
    template = any_template(context)
    for statement in (
        is_("chat.mockserverProbe", "exists"),
        is_("chat.tagIds", "equals", "tag_mockserver_probe"),
        is_("chat.monetization", "equals", "1"),
    ):
        preview(context, all_of(statement))
        create(context, "wrong filters", template, filters=[all_of(statement)])


def names_and_cancel(context: RunContext) -> None:
    """Names that may count as the same, and the cancel of a draft, of a canceled campaign and of an unknown one."""
    template = any_template(context)
    id = create_draft(context, "names", template)
    create(context, "names", template, name=name(context, "names").upper())
    create(context, "names", template, name=name(context, "names") + " ")
    context.list_campaigns()
    context.read_campaign(id)
    is_canceled = cancel(context, id).status == 204
    context.cancel_campaign(context.unknown_id("campaign"))
    context.read_campaign(id)
    if is_canceled:
        cancel(context, id)
        create(context, "names", template)
        context.list_campaigns()


def existing_campaigns(context: RunContext) -> None:
    """A few campaigns of each status, with their newest execution."""
    context.read_campaign(context.unknown_id("campaign"))
    rows = require_success(context.list_campaigns())["campaigns"]
    for status in CAMPAIGN.states:
        for row in [row for row in rows if row["status"] == status][:_PER_STATUS_MAX]:
            read(context, row["id"])


def read(context: RunContext, id: str) -> JSON:
    """Read a campaign, its newest execution and an unknown one, and return the campaign's detail."""
    detail: JSON = require_success(context.read_campaign(id))
    context.read_execution(id, context.unknown_id("execution"))
    for execution in detail["executions"][:1]:
        context.read_execution(id, execution["id"])
    return detail
