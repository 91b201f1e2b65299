"""
Probes of starts with an empty audience, each through `temporary_campaigns.start`, which checks the preview first.

No probe provokes what only a running campaign shows: its rate, a second start, late sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mockserver.verify import temporary_campaigns
from mockserver.verify.context import Exchange, RunContext, Unexpected, require_success
from mockserver.verify.probes import campaigns
from mockserver.verify.temporary_campaigns import UsableTemplate

MISSING: Final = "CAMPAIGN_MISSING_COMMON_VARIABLES"
UNPROCESSABLE: Final = "UNPROCESSABLE_REQUEST"
_READS_MAX: Final = 5
_OUTCOMES: Final = {"completed": "complete", "failed": "failed"}


def _values(template: UsableTemplate) -> dict[str, str]:
    return dict.fromkeys(template.required, "mockserver verify")


def start(context: RunContext) -> None:
    """The start of a draft with an empty audience, its outcome, and the responses to a second start and to a cancel."""
    template = temporary_campaigns.any_template(context)
    unknown = context.call("startCampaign", f"campaign_mockserver_verify_{context.settings.tag}", json={})
    context.judge_refusal("start.unknown", unknown, "CAMPAIGN_NOT_FOUND")
    id = temporary_campaigns.create_draft(context, temporary_campaigns.body(context, "start", template))
    exchange = temporary_campaigns.start(context, id, _values(template) or None)
    if exchange.code == UNPROCESSABLE:
        context.observe("start-empty-audience", ["unprocessable"], exchange)
        _judge_still_draft(context, id)
        return
    answer = require_success(exchange)
    fits = answer["status"] == "processing" and bool(answer["executionId"])
    context.judge("start.response", fits, exchange, "executionId and the status processing")
    status = _observe_outcome(context, id)
    if status not in _OUTCOMES:
        raise Unexpected(f"the campaign without targets is still {status}")
    again = temporary_campaigns.start(context, id, _values(template) or None)
    context.judge_refusal("start.not-draft", again, "CAMPAIGN_NOT_DRAFT")
    _cancel_ended(context, id, status)


def _judge_still_draft(context: RunContext, id: str) -> None:
    read = context.call("readCampaign", id)
    holds = require_success(read)["status"] == "draft" and not read.json["executions"]
    context.judge("start.refused-changes-nothing", holds, read, "a draft without executions")


def _observe_outcome(context: RunContext, id: str) -> str:
    """Read a campaign until it has ended, a few times at most; observe the first final read, and return the status."""
    status = "processing"
    for _ in range(_READS_MAX):
        detail = campaigns.read(context, id)
        status = str(detail["status"])
        if status in campaigns.FINAL:
            break
    read = context.exchanges[-1]
    entries = detail["executions"]
    if status in _OUTCOMES:
        context.observe("start-empty-audience", [_OUTCOMES[status]], read)
        if entries and entries[0]["status"] in campaigns.FINAL:
            context.observe("execution-status-lag", ["none"], read)
        if entries and entries[0]["status"] == "completed":
            ended = status == "completed" and entries[0]["completedAt"] is not None
            context.judge("send.completed", ended, read, "campaign and execution completed, completedAt set")
    return status


def _cancel_ended(context: RunContext, id: str, status: str) -> None:
    exchange = temporary_campaigns.cancel(context, id)
    by_code = {UNPROCESSABLE: "unprocessable", "CAMPAIGN_NOT_DRAFT": "not-draft"}
    option = "no-op" if exchange.status == 204 else by_code.get(str(exchange.code))
    context.judge("cancel.final", option is not None, exchange, f"204, or {' or '.join(by_code)}")
    context.observe("cancel-final", [option] if option else [], exchange)
    read = context.call("readCampaign", id)
    context.judge(
        "cancel.final", require_success(read)["status"] == status, read, f"the status {status}, as before the cancel"
    )


def variables(context: RunContext) -> None:
    """Required variables that are missing, that are not texts, and that are empty."""
    template = _first(
        [each for each in temporary_campaigns.usable(context, temporary_campaigns.sendable(context)) if each.required],
        "required",
    )
    id = temporary_campaigns.create_draft(context, temporary_campaigns.body(context, "variables", template))
    missing = temporary_campaigns.start(context, id)
    context.judge_refusal("start.missing-variables", missing, MISSING)
    if missing.code != MISSING:
        return
    _judge_still_draft(context, id)
    number = temporary_campaigns.start(context, id, dict.fromkeys(template.required, 1))
    context.judge_refusal("start.common-variables", number, "VALIDATION_ERROR")
    # The service has checked the variables before the audience, so a refusal for the audience has accepted them.
    empty = temporary_campaigns.start(context, id, dict.fromkeys(template.required, ""))
    accepted = empty.succeeded or empty.code == UNPROCESSABLE
    option = "accept" if accepted else "missing" if empty.code == MISSING else None
    context.observe("common-vars-empty", [option] if option else [], empty)


def extra_variables(context: RunContext) -> None:
    """A value for a variable that the template does not declare; whether it fails the sends is not observed."""
    template = temporary_campaigns.any_template(context)
    id = temporary_campaigns.create_draft(context, temporary_campaigns.body(context, "extra variable", template))
    exchange = temporary_campaigns.start(context, id, _values(template) | {"var9999": "mockserver verify"})
    if exchange.code == "VALIDATION_ERROR":
        context.observe("common-vars-extra-keys", ["reject"], exchange)
    elif exchange.succeeded or exchange.code == UNPROCESSABLE:
        context.observe("common-vars-extra-keys", ["ignore", "fail-sends"], exchange)


def unapproved_template(context: RunContext) -> None:
    """A start with a template that the provider has not approved."""
    template = _first(temporary_campaigns.usable(context, temporary_campaigns.unapproved(context)), "unapproved")
    id = temporary_campaigns.create_draft(context, temporary_campaigns.body(context, "unapproved", template))
    exchange = temporary_campaigns.start(context, id, _values(template) or None)
    context.observe("unapproved-template", _options_of_unapproved(context, exchange), exchange)


def _options_of_unapproved(context: RunContext, exchange: Exchange) -> list[str]:
    if exchange.succeeded:
        return ["sends-fail"]
    if exchange.code == "MESSAGE_TEMPLATE_NOT_FOUND":
        return ["not-found"]
    if exchange.code != UNPROCESSABLE:
        return []
    # The refusal may concern the empty audience, unless an earlier start with an empty audience was accepted.
    passes = any(
        each.choice == "start-empty-audience" and "unprocessable" not in each.options for each in context.observations
    )
    return ["unprocessable"] if passes else ["sends-fail", "unprocessable"]


def _first(templates: Sequence[UsableTemplate], kind: str) -> UsableTemplate:
    if not templates:
        raise Unexpected(f"no {'template' if kind == 'unapproved' else 'variable'} of the tenant is {kind}")
    return templates[0]
