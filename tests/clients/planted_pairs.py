"""Bugs that show only if two things fail: the careful client recovers from the first, and errs when the recovery fails too."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tests.clients.calls import Busy, Refused, Unsure, back_off_s
from tests.clients.careful import STARTED_ALREADY, Plan
from tests.clients.planted import Crm


class _Once(Crm):
    """Looks up once, without a repetition, what a lost call has changed."""

    def _runs_of(self, campaign_id: str) -> Any:
        return self._call("GET", f"/v1/campaigns/{campaign_id}")["executions"]

    def _is_known(self, name: str) -> bool:
        return any(campaign["name"] == name for campaign in self._call("GET", "/v1/campaigns")["campaigns"])


class StartAfterFailedRead(_Once):
    """starts again if the read after a lost start fails too"""

    def start(self, campaign_id: str, template_id: str, values: Mapping[str, str]) -> str:
        try:
            return self._start(campaign_id, template_id, values, may_ask_again=True)
        except Unsure:
            pass
        runs = []
        with suppress(Unsure, Busy):
            runs = self._runs_of(campaign_id)
        return str(runs[0]["id"]) if runs else super().start(campaign_id, template_id, values)


class RenameAfterFailedSearch(_Once):
    """creates under another name if the search after a lost create fails too"""

    def create(self, plan: Plan) -> str:
        try:
            return str(self.create_campaign(plan.body())["campaignId"])
        except Unsure:
            pass
        try:
            self._is_known(plan.name)
        except (Unsure, Busy):
            return super().create(replace(plan, name=f"{plan.name} (2)"))
        return self._draft_of(plan) or super().create(plan)


class SecondBusyIgnored(Crm):
    """waits as the first 429 asks, and a second after the next"""

    def _pause_s(self, busy: Busy, attempt: int) -> float:
        return super()._pause_s(busy, attempt) if attempt == 0 else 1


class CancelTriedTwice(Crm):
    """takes a campaign for canceled after two cancels, whatever became of them"""

    def cancel(self, campaign_id: str) -> str:
        for attempt in range(2):
            try:
                self._call("POST", f"/v1/campaigns/{campaign_id}/cancel")
            except Busy as busy:
                self._wait(self._pause_s(busy, attempt))
            except Unsure:
                self._wait(back_off_s(attempt))
            except Refused:
                return str(self.campaign(campaign_id)["status"])
            else:
                break
        return "canceled"


class CloneAfterOutdatedRead(_Once):
    """makes the campaign again if the start that follows an outdated read is refused"""

    def launch(self, plan: Plan, values: Mapping[str, str] | None = None) -> tuple[str, str]:
        campaign_id = self.create(plan)
        with suppress(Unsure):
            return campaign_id, self._start(campaign_id, plan.template_id, values or {}, may_ask_again=True)
        runs = self.campaign(campaign_id)["executions"]
        if runs:
            return campaign_id, str(runs[0]["id"])
        try:
            return campaign_id, self._start(campaign_id, plan.template_id, values or {}, may_ask_again=True)
        except Unsure:
            return campaign_id, self.start(campaign_id, plan.template_id, values or {})
        except Refused as refusal:
            if refusal.code not in STARTED_ALREADY:
                raise
        return super().launch(replace(plan, name=f"{plan.name} b"), values)


class RenameAfterSecondLoss(Crm):
    """searches after a lost create, and appends (2) after the second one that is lost"""

    def create(self, plan: Plan) -> str:
        with suppress(Unsure):
            return str(self.create_campaign(plan.body())["campaignId"])
        known = self._draft_of(plan)
        if known is not None:
            return known
        with suppress(Unsure):
            return str(self.create_campaign(plan.body())["campaignId"])
        return super().create(replace(plan, name=f"{plan.name} (2)"))


BUGS: Mapping[str, type[Crm]] = MappingProxyType(
    {
        "start-after-failed-read": StartAfterFailedRead,
        "rename-after-failed-search": RenameAfterFailedSearch,
        "second-busy-ignored": SecondBusyIgnored,
        "cancel-tried-twice": CancelTriedTwice,
        "clone-after-outdated-read": CloneAfterOutdatedRead,
        "rename-after-second-loss": RenameAfterSecondLoss,
    }
)
