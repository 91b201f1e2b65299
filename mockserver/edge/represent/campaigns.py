"""Templates, audiences, campaigns and executions as the document shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.contract.lifecycles import EXECUTION
from mockserver.core import sends
from mockserver.core.campaigns import Detail
from mockserver.core.instants import Instant
from mockserver.core.records import Campaign, Execution, Template
from mockserver.edge import spelling
from mockserver.edge.represent.view import JSON, View, absent_null_or


def template_list(view: View, templates: Sequence[Template]) -> JSON:
    return {"templates": [_template_entry(view, each) for each in spelling.ordered(view.choices, view.seed, templates)]}


def _template_entry(view: View, template: Template) -> JSON:
    status = template.provider_status
    entry: JSON = {
        "id": template.id,
        "name": template.name,
        "description": template.description,
        "isOfficial": template.is_official,
    }
    if status is None:
        entry |= absent_null_or(view, "provider-status-internal", "providerTemplateStatus")
    else:
        entry["providerTemplateStatus"] = spelling.enum_value(view.choices, "providerTemplateStatus", status)
    entry["createdAt"] = spelling.date_time(view.choices, template.created_at)
    entry["updatedAt"] = spelling.date_time(view.choices, template.updated_at)
    return entry


def template_detail(view: View, template: Template) -> JSON:
    return {
        "id": template.id,
        "name": template.name,
        "isOfficial": template.is_official,
        "items": [
            {
                "id": item.id,
                "order": item.order,
                "type": spelling.enum_value(view.choices, "itemType", item.type),
                "text": item.text or "",
                "mediaId": item.media_id,
            }
            for item in template.items
        ],
        "commonVariables": [
            {"key": variable.key, "label": variable.label, "required": variable.required}
            for variable in template.variables
            if variable.source is None
        ],
    }


def preview(view: View, count: int) -> JSON:
    return {"estimatedCount": count}


def created_campaign(view: View, campaign: Campaign) -> JSON:
    return {"campaignId": campaign.id, "status": campaign.status}


def campaign_list(view: View, campaigns: Sequence[Campaign]) -> JSON:
    return {"campaigns": [_campaign_entry(each) for each in spelling.ordered(view.choices, view.seed, campaigns)]}


def _campaign_entry(campaign: Campaign) -> JSON:
    return {
        "id": campaign.id,
        "name": campaign.name,
        "description": campaign.description,
        "status": campaign.status,
        "platform": campaign.platform,
        "templateId": campaign.template_id,
        "cadence": campaign.cadence,
    }


def campaign_detail(view: View, shown: Detail) -> JSON:
    """The literal shape has neither description nor filters; the option `full` of detail-fields has both."""
    body = _campaign_entry(shown.campaign)
    if view.choices["detail-fields"] == "literal":
        del body["description"]
    else:
        body["filters"] = [_filter_group(group) for group in shown.campaign.filters or ()]
    body["executions"] = [_execution_entry(view, each) for each in shown.executions]
    return body


def _filter_group(group: Mapping[str, Any]) -> JSON:
    """A group as it was sent, without keys that the document does not know."""
    known = ("field", "operator", "value", "value2")
    statements = [{key: each[key] for key in known if key in each} for each in group["statements"]]
    return {"combinator": group["combinator"], "statements": statements}


def _execution_entry(view: View, execution: Execution) -> JSON:
    return {
        **_counted(execution, sends.counts(execution.sends, view.now)),
        "startedAt": spelling.date_time(view.choices, execution.started_at),
        "completedAt": _completed_at(view, execution),
    }


def _counted(execution: Execution, counts: sends.Counts) -> JSON:
    """What the detail's entry and the single execution have in common."""
    return {
        "id": execution.id,
        "status": execution.status,
        "targetCount": counts.target,
        "sentCount": counts.sent,
        "failedCount": counts.failed,
    }


def _completed_at(view: View, execution: Execution) -> str | None:
    """Null while it runs; an end by cancel or failure shows its moment, or null, by choice."""
    if execution.ended_at is None:
        return None
    if execution.status != "completed" and view.choices["completedAt-on-cancel-fail"] == "null":
        return None
    return spelling.date_time(view.choices, _end_shown(execution))


def _end_shown(execution: Execution) -> Instant:
    """The exact instant of the last send, cut, where it lies a fraction of a microsecond before the end was noted."""
    last = sends.shown_at(execution.sends, execution.sends.total - 1) if execution.sends.total else None
    ended = execution.ended_at or 0
    return last if execution.status == "completed" and last is not None and last + 1 == ended else ended


def execution_progress(view: View, execution: Execution) -> JSON:
    counts = sends.counts(execution.sends, view.now)
    return _counted(execution, counts) | {"progress": progress(view.choices, execution.status, counts)}


def progress(choices: Mapping[str, object], status: str, counts: sends.Counts) -> int:
    """0-100 from processed over target, rounded by choice; only what has all been processed is 100 by default."""
    if status == "canceled" and choices["progress-after-cancel"] == "hundred":
        return 100
    if counts.target == 0:
        return 100 if status == "completed" or choices["progress-zero-target"] == "hundred" else 0
    done = 100 * counts.processed
    return {
        "floor": done // counts.target,
        "half-up": (2 * done + counts.target) // (2 * counts.target),
        "ceil": -(-done // counts.target),
    }[str(choices["progress-rounding"])]


def started(view: View, execution: Execution) -> JSON:
    return {"executionId": execution.id, "status": EXECUTION.initial}
