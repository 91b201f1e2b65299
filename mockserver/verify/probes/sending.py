"""
Probes of starts, with nobody in the audience: every one goes through `drafts.start`, which looks at the preview first.

What only a running campaign shows (pace, a second start, late sends) is never asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mockserver.verify import temporary_campaigns
from mockserver.verify.context import Exchange, RunContext, Unexpected, succeeded
from mockserver.verify.probes import campaigns
from mockserver.verify.temporary_campaigns import Chosen

MISSING: Final = "CAMPAIGN_MISSING_COMMON_VARIABLES"
UNPROCESSABLE: Final = "UNPROCESSABLE_REQUEST"
_READS_MAX: Final = 5
_OUTCOMES: Final = {"completed": "complete", "failed": "failed"}


def _values(template: Chosen) -> dict[str, str]:
    return dict.fromkeys(template.required, "mockserver verify")


def start(visit: RunContext) -> None:
    """A start of a draft for nobody, what becomes of it, and what a second start and a cancel then get."""
    template = temporary_campaigns.any_template(visit)
    unknown = visit.call("startCampaign", f"campaign_mockserver_verify_{visit.settings.tag}", json={})
    visit.refused("start.unknown", unknown, "CAMPAIGN_NOT_FOUND")
    id = temporary_campaigns.created(visit, temporary_campaigns.body(visit, "start", template))
    exchange = temporary_campaigns.start(visit, id, _values(template) or None)
    if exchange.code == UNPROCESSABLE:
        visit.observe("start-empty-audience", ["unprocessable"], exchange)
        _still_draft(visit, id)
        return
    answer = succeeded(exchange)
    fits = answer["status"] == "processing" and bool(answer["executionId"])
    visit.judge("start.response", fits, exchange, "executionId and the status processing")
    status = _outcome(visit, id)
    if status not in _OUTCOMES:
        raise Unexpected(f"the campaign for nobody is still {status}")
    again = temporary_campaigns.start(visit, id, _values(template) or None)
    visit.refused("start.not-draft", again, "CAMPAIGN_NOT_DRAFT")
    _cancel_ended(visit, id, status)


def _still_draft(visit: RunContext, id: str) -> None:
    read = visit.call("readCampaign", id)
    holds = succeeded(read)["status"] == "draft" and not read.json["executions"]
    visit.judge("start.refused-changes-nothing", holds, read, "a draft without executions")


def _outcome(visit: RunContext, id: str) -> str:
    """The campaign's status once it has ended, or after a few reads; what its first final read tells."""
    status = "processing"
    for _ in range(_READS_MAX):
        detail = campaigns.read(visit, id)
        status = str(detail["status"])
        if status in campaigns.FINAL:
            break
    read = visit.exchanges[-1]
    entries = detail["executions"]
    if status in _OUTCOMES:
        visit.observe("start-empty-audience", [_OUTCOMES[status]], read)
        if entries and entries[0]["status"] in campaigns.FINAL:
            visit.observe("execution-status-lag", ["none"], read)
        if entries and entries[0]["status"] == "completed":
            ended = status == "completed" and entries[0]["completedAt"] is not None
            visit.judge("send.completed", ended, read, "campaign and execution completed, completedAt set")
    return status


def _cancel_ended(visit: RunContext, id: str, status: str) -> None:
    exchange = temporary_campaigns.cancel(visit, id)
    by_code = {UNPROCESSABLE: "unprocessable", "CAMPAIGN_NOT_DRAFT": "not-draft"}
    option = "no-op" if exchange.status == 204 else by_code.get(str(exchange.code))
    visit.judge("cancel.final", option is not None, exchange, f"204, or {' or '.join(by_code)}")
    visit.observe("cancel-final", [option] if option else [], exchange)
    read = visit.call("readCampaign", id)
    visit.judge("cancel.final", succeeded(read)["status"] == status, read, f"the status {status}, as before the cancel")


def variables(visit: RunContext) -> None:
    """Required variables that are missing, that are no texts, and that are empty."""
    template = _one(
        visit,
        [each for each in temporary_campaigns.chosen(visit, temporary_campaigns.sendable(visit)) if each.required],
        "required",
    )
    id = temporary_campaigns.created(visit, temporary_campaigns.body(visit, "variables", template))
    missing = temporary_campaigns.start(visit, id)
    visit.refused("start.missing-variables", missing, MISSING)
    if missing.code != MISSING:
        return
    _still_draft(visit, id)
    number = temporary_campaigns.start(visit, id, dict.fromkeys(template.required, 1))
    visit.refused("start.common-variables", number, "VALIDATION_ERROR")
    # Variables were just seen to be looked at before the audience, so a refusal of the audience has accepted them.
    empty = temporary_campaigns.start(visit, id, dict.fromkeys(template.required, ""))
    accepted = empty.succeeded or empty.code == UNPROCESSABLE
    option = "accept" if accepted else "missing" if empty.code == MISSING else None
    visit.observe("common-vars-empty", [option] if option else [], empty)


def extra_variables(visit: RunContext) -> None:
    """A value for a variable that the template does not have; whether it spoils the sends stays unseen."""
    template = temporary_campaigns.any_template(visit)
    id = temporary_campaigns.created(visit, temporary_campaigns.body(visit, "extra variable", template))
    exchange = temporary_campaigns.start(visit, id, _values(template) | {"var9999": "mockserver verify"})
    if exchange.code == "VALIDATION_ERROR":
        visit.observe("common-vars-extra-keys", ["reject"], exchange)
    elif exchange.succeeded or exchange.code == UNPROCESSABLE:
        visit.observe("common-vars-extra-keys", ["ignore", "fail-sends"], exchange)


def unapproved_template(visit: RunContext) -> None:
    """A start with a template that the provider has not approved."""
    template = _one(visit, temporary_campaigns.chosen(visit, temporary_campaigns.unapproved(visit)), "unapproved")
    id = temporary_campaigns.created(visit, temporary_campaigns.body(visit, "unapproved", template))
    exchange = temporary_campaigns.start(visit, id, _values(template) or None)
    visit.observe("unapproved-template", _unapproved(visit, exchange), exchange)


def _unapproved(visit: RunContext, exchange: Exchange) -> list[str]:
    if exchange.succeeded:
        return ["sends-fail"]
    if exchange.code == "MESSAGE_TEMPLATE_NOT_FOUND":
        return ["not-found"]
    if exchange.code != UNPROCESSABLE:
        return []
    # An audience of nobody may be what is refused; unless such a start was seen to pass, the two look the same.
    passes = any(
        each.choice == "start-empty-audience" and "unprocessable" not in each.options for each in visit.observations
    )
    return ["unprocessable"] if passes else ["sends-fail", "unprocessable"]


def _one(visit: RunContext, found: Sequence[Chosen], kind: str) -> Chosen:
    if not found:
        raise Unexpected(f"no {'template' if kind == 'unapproved' else 'variable'} of the tenant is {kind}")
    return found[0]
