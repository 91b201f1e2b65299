"""
The campaigns that a run creates: distinct names, an audience that no chat can satisfy, and their end.

1. Every campaign that a creation returns is recorded, so that `clean_up` cancels it.
2. Only a campaign of this run is started, and only while the preview of its filters returns exactly 0: no chat gets a
   message. With any other count nothing is started, not even for a small audience.
3. A service could still lose the filters of a campaign. The cadence is therefore one message per minute, and a start
   that has a target after all is canceled by the next call, and ends the run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mockserver._json import JSON
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.schemas import ABSENT
from mockserver.probe.context import RunContext, Unexpected, require_success
from mockserver.probe.previews import empty_audience, preview
from mockserver.probe.transport import Stop
from mockserver.trace.exchange import Exchange


class UsableTemplate(NamedTuple):
    """A template for campaigns: a platform that fits it, and the keys of its required variables."""

    id: str
    platform: str
    required: tuple[str, ...] = ()


def name(context: RunContext, purpose: str) -> str:
    """Return a name that shows its origin and that no other run gives."""
    return f"mockserver probe {context.settings.tag} {purpose}"


def usable(context: RunContext, *, is_approved: bool = True) -> list[UsableTemplate]:
    """
    Return the templates whose details were read.

    Approved are those that a campaign can use in any case: official ones, and internal ones without a provider.
    """
    templates: list[UsableTemplate] = []
    for row in context.templates:
        detail = context.template_details.get(row["id"])
        is_refused = row.get("isOfficial") is False and bool(row.get("providerTemplateStatus"))
        if detail is None or is_refused is is_approved:
            continue
        required = tuple(variable["key"] for variable in detail["commonVariables"] if variable["required"])
        platform = "chatapp" if row["isOfficial"] else "chatapp_lite"
        templates.append(UsableTemplate(id=row["id"], platform=platform, required=required))
    return templates


def any_template(context: RunContext) -> UsableTemplate:
    """Return a template for drafts; raise Unexpected if the tenant has none."""
    templates = usable(context) or usable(context, is_approved=False)
    if not templates:
        raise Unexpected("the tenant has no template for a campaign")
    return templates[0]


def create(context: RunContext, purpose: str, template: UsableTemplate, **changes: Any) -> Exchange:
    """
    Create a campaign and return the exchange, also of a refusal; a created campaign is recorded for `clean_up`.

    `changes` are fields of the body; ABSENT omits one.
    """
    fields = {
        "name": name(context, purpose),
        "platform": template.platform,
        "templateId": template.id,
        "cadence": 1,
        "filters": empty_audience(),
        **changes,
    }
    exchange: Exchange = context.create_campaign(
        json={key: value for key, value in fields.items() if value is not ABSENT}
    )
    id = exchange.field("campaignId")
    if exchange.succeeded and id is not None:
        context.campaigns[str(id)] = str(fields["name"])
    return exchange


def create_draft(context: RunContext, purpose: str, template: UsableTemplate, **changes: Any) -> str:
    """Create a draft and return its id; raise Unexpected if the service refuses it."""
    return str(require_success(create(context, purpose, template, **changes))["campaignId"])


def cancel(context: RunContext, id: str) -> Exchange:
    """Cancel a campaign and return the exchange, also of a refusal; `clean_up` skips a canceled campaign."""
    exchange: Exchange = context.cancel_campaign(id)
    if exchange.succeeded:
        context.campaigns.pop(id, None)
    return exchange


def start(context: RunContext, id: str, variables: JSON) -> Exchange:
    """
    Start a draft of this run, after a preview of its filters, and return the exchange, also of a refusal.

    Raises:
        PermissionError: If the run has not created this draft.
        Unexpected: If the preview does not return 0; nothing is started.
        Stop: If the campaign has a target after all; it is canceled.
    """
    if id not in context.campaigns:
        raise PermissionError(f"got {id}; expected a draft of this run")
    count = require_success(preview(context, *empty_audience()))["estimatedCount"]
    if count != 0:
        raise Unexpected(f"an audience that no chat can satisfy was estimated as {count}, so nothing was started")
    exchange: Exchange = context.start_campaign(id, json={"commonVariables": variables} if variables else {})
    if exchange.succeeded:
        _stop_if_it_has_targets(context, id)
    return exchange


def _stop_if_it_has_targets(context: RunContext, id: str) -> None:
    """Cancel a started campaign that has targets, and end the run."""
    executions = require_success(context.read_campaign(id)).get("executions", [])
    if not any(execution["targetCount"] for execution in executions):
        return
    name = context.campaigns[id]
    outcome = "it was canceled immediately" if cancel(context, id).succeeded else "it could not be canceled"
    context.not_cleaned_up.append(f"campaign {id} {name!r} was started with targets; {outcome}")
    raise Stop("a campaign whose filters no chat satisfies was started with targets")


def clean_up(context: RunContext) -> None:
    """Cancel the campaigns of the run that have not ended; name those that cannot be canceled in `not_cleaned_up`."""
    for id, name in list(context.campaigns.items()):
        status = _end(context, id)
        if status not in CAMPAIGN.final:
            context.not_cleaned_up.append(f"campaign {id} {name!r}, {status}")
    context.campaigns.clear()


def _end(context: RunContext, id: str) -> str:
    """Cancel a campaign that has not ended, and return its status."""
    try:
        status = str(context.read_campaign(id).field("status"))
        if status not in CAMPAIGN.final and cancel(context, id).succeeded:
            return "canceled"
        return status
    except Exception as failure:  # noqa: BLE001 - after any failure the next campaign has to be canceled too
        return f"unknown: {failure}"
