"""
The campaigns that a run makes: unmistakable names, an audience that no chat can satisfy, and their end.

1. Whatever a creation answers, a campaign that came of it is noted, so that it can be taken back.
2. A start goes out only for a campaign of this run, and only while the preview of its filters is exactly 0: nobody can
   be sent anything. Where the preview says anything else nothing is started, not even for a small audience.
3. A service could still lose the filters on the way. The cadence is therefore one message a minute, and a start that
   has a target after all is canceled with the next call, and ends the run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mockserver.contract.schemas import ABSENT
from mockserver.verify.context import Exchange, RunContext, Stop, Unexpected, succeeded
from mockserver.verify.previews import nobody, preview, size


class Chosen(NamedTuple):
    """A template to make campaigns with, the platform that it certainly may have, and its required variables."""

    id: str
    platform: str
    required: tuple[str, ...]
    manual: tuple[str, ...]


def name(visit: RunContext, purpose: str) -> str:
    """A name that says where it comes from and that no other run gives."""
    return f"mockserver verify {visit.settings.tag} {purpose}"


def official(visit: RunContext) -> list[dict[str, Any]]:
    return [each for each in visit.templates if each.get("isOfficial") is True]


def unapproved(visit: RunContext) -> list[dict[str, Any]]:
    """Templates that the provider knows and has not approved."""
    return [each for each in visit.templates if each.get("isOfficial") is False and each.get("providerTemplateStatus")]


def sendable(visit: RunContext) -> list[dict[str, Any]]:
    """Templates that a campaign can certainly use: official ones, and internal ones, which no provider knows."""
    doubtful = {each["id"] for each in unapproved(visit)}
    return [each for each in visit.templates if each["id"] not in doubtful]


def chosen(visit: RunContext, templates: list[dict[str, Any]]) -> list[Chosen]:
    """These templates with what their details say; only those whose details were read."""
    found = []
    for each in templates:
        detail = visit.details.get(each["id"])
        if detail is not None:
            variables = detail["commonVariables"]
            required = tuple(one["key"] for one in variables if one["required"])
            platform = "chatapp" if each["isOfficial"] else "chatapp_lite"
            found.append(Chosen(each["id"], platform, required, tuple(one["key"] for one in variables)))
    return found


def any_template(visit: RunContext) -> Chosen:
    """A template for drafts; Unexpected where the tenant has none."""
    found = chosen(visit, sendable(visit)) or chosen(visit, visit.templates)
    if not found:
        raise Unexpected("the tenant has no template to make a campaign with")
    return found[0]


def body(visit: RunContext, purpose: str, template: Chosen, **changes: Any) -> dict[str, Any]:
    """The body of a creation; a change to ABSENT leaves its field out."""
    plain = {
        "name": name(visit, purpose),
        "platform": template.platform,
        "templateId": template.id,
        "cadence": 1,
        "filters": nobody(),
    }
    return {key: value for key, value in (plain | changes).items() if value is not ABSENT}


def create(visit: RunContext, content: dict[str, Any]) -> Exchange:
    """The creation, whatever it answers; what came of it is noted."""
    exchange = visit.call("createCampaign", json=content)
    if exchange.succeeded and isinstance(exchange.json, dict) and "campaignId" in exchange.json:
        visit.campaigns[str(exchange.json["campaignId"])] = str(content.get("name"))
    return exchange


def created(visit: RunContext, content: dict[str, Any]) -> str:
    """The id of a new draft; Unexpected where none came of it."""
    return str(succeeded(create(visit, content))["campaignId"])


def cancel(visit: RunContext, id: str) -> Exchange:
    """The cancel, whatever it answers; a campaign that it ended is no longer to be taken back."""
    exchange = visit.call("cancelCampaign", id)
    if exchange.succeeded:
        visit.campaigns.pop(id, None)
    return exchange


def start(visit: RunContext, id: str, variables: dict[str, Any] | None = None) -> Exchange:
    """The start of a draft that this run made, once more found to have nobody in its audience."""
    if id not in visit.campaigns:
        raise PermissionError(f"{id} is no draft of this run")
    audience = preview(visit, *nobody())
    if size(audience) != 0:
        raise Unexpected(f"an audience of nobody was estimated as {size(audience)}, so nothing was started")
    exchange = visit.call("startCampaign", id, json={} if variables is None else {"commonVariables": variables})
    if exchange.succeeded:
        _stop_if_anybody(visit, id)
    return exchange


def _stop_if_anybody(visit: RunContext, id: str) -> None:
    """Cancel what was started for somebody, and end the run."""
    executions = succeeded(visit.call("readCampaign", id)).get("executions", [])
    if any(each["targetCount"] for each in executions):
        given = visit.campaigns[id]
        outcome = "it was canceled at once" if cancel(visit, id).succeeded else "it could not be canceled"
        visit.not_cleaned_up.append(f"campaign {id} {given!r} was started for somebody; {outcome}")
        raise Stop("a campaign whose filters select nobody was started for somebody")


def clean_up(visit: RunContext) -> None:
    """Cancel what the run made and has not ended; what cannot be canceled is named as left behind."""
    for id, given in list(visit.campaigns.items()):
        try:
            status = visit.call("readCampaign", id).json.get("status")
            if status in ("completed", "failed", "canceled") or cancel(visit, id).succeeded:
                continue
        except Exception as failure:  # noqa: BLE001 - whatever it is, the next campaign is to be taken back too
            status = f"unknown: {failure}"
        visit.not_cleaned_up.append(f"campaign {id} {given!r}, {status}")
    visit.campaigns.clear()
