"""
Probes of starts with an empty audience, each through `temporary_campaigns.start`, which checks the preview first.

No probe provokes what only a running campaign shows: its rate, a second start, late sends.
"""

from __future__ import annotations

from typing import Final

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.probe import temporary_campaigns
from mockserver.probe.context import RunContext, Unexpected
from mockserver.probe.probes import campaigns
from mockserver.probe.temporary_campaigns import UsableTemplate, create_draft, usable

_READS_MAX: Final = 5


def _values(template: UsableTemplate) -> dict[str, str]:
    return dict.fromkeys(template.required, "mockserver probe")


def start(context: RunContext) -> None:
    """The start of a draft with an empty audience, its outcome, a second start and a cancel."""
    template = temporary_campaigns.any_template(context)
    context.start_campaign(context.unknown_id("campaign"), json={})
    id = create_draft(context, "start", template)
    context.read_campaign(id)
    if not temporary_campaigns.start(context, id, _values(template)).succeeded:
        context.read_campaign(id)
        return
    for _ in range(_READS_MAX):
        if campaigns.read(context, id)["status"] in CAMPAIGN.final:
            break
    temporary_campaigns.start(context, id, _values(template))
    temporary_campaigns.cancel(context, id)
    context.read_campaign(id)


def variables(context: RunContext) -> None:
    """Required variables that are missing, that are not texts, and that are empty."""
    templates = [template for template in usable(context) if template.required]
    if not templates:
        raise Unexpected("no variable of the tenant is required")
    template = templates[0]
    id = create_draft(context, "variables", template)
    context.read_campaign(id)
    for values in ({}, dict.fromkeys(template.required, 1)):
        if temporary_campaigns.start(context, id, values).succeeded:
            return
        context.read_campaign(id)
    other = create_draft(context, "empty variables", template)
    temporary_campaigns.start(context, other, dict.fromkeys(template.required, ""))
    context.read_template(template.id)


def extra_variables(context: RunContext) -> None:
    """A value for a variable that the template does not declare."""
    template = temporary_campaigns.any_template(context)
    id = create_draft(context, "extra variable", template)
    temporary_campaigns.start(context, id, _values(template) | {"var9999": "mockserver probe"})


def unapproved_template(context: RunContext) -> None:
    """A start with a template that the provider has not approved."""
    templates = usable(context, is_approved=False)
    if not templates:
        raise Unexpected("no template of the tenant is unapproved")
    template = templates[0]
    id = create_draft(context, "unapproved", template)
    temporary_campaigns.start(context, id, _values(template))
    context.read_template(template.id)
