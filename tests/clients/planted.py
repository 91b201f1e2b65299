"""
The careful client at work for a CRM, and the bugs that real clients have, each seeded as a small difference from it.

`BUGS` has the client of each bug by its name; what the bug does is the first line of its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import requests

from tests.clients.calls import Busy, Refused, Unreachable, Unsure
from tests.clients.careful import STARTED_ALREADY, Careful, Outcome, Plan
from tests.clients.connecting import Connection
from tests.clients.operations import JSON

TRIES = 3


class NameTaken(Exception):
    """A campaign of this name exists."""


class NoAudience(Exception):
    """The filters select no chat."""


# With which the client ends where it cannot do its task.
TROUBLE = (NameTaken, NoAudience, Refused, Unreachable, Unsure)


class Crm(Careful):
    """Launches campaigns for the open chats of its channel, and does the rest as the careful client does."""

    def launch_since(self, name: str, per_minute: int, since: str) -> tuple[str, str]:
        """Create and start a campaign for the chats changed since then; return the ids of campaign and execution."""
        filters = self._filters(since)
        if self.audience(filters) == 0:
            raise NoAudience
        plan = Plan(name, "template_asking", per_minute, filters)
        try:
            return self.launch(plan, {"var2": name})
        except Refused as refusal:
            if self._is_name_taken(refusal):
                raise NameTaken(name) from None
            raise

    def _filters(self, since: str) -> list[JSON]:
        fields = [
            ("chat.status", "equals", "open"),
            ("chat.virtual.lastUpdateAt", "greater-than", since),
            ("chat.platform", "equals", "chatapp"),
        ]
        statements = [{"field": field, "operator": operator, "value": value} for field, operator, value in fields]
        return [{"combinator": "and", "statements": statements}]


class DuplicateStart(Crm):
    """sends a start again after its answer was lost, without reading first"""

    def start_campaign(self, campaign_id: str, body: JSON | None) -> Any:
        try:
            return super().start_campaign(campaign_id, body)
        except Unsure:
            return super().start_campaign(campaign_id, body)


class CloneAfterConflict(Crm):
    """takes ALREADY_PROCESSING for a failure and makes the campaign again under another name"""

    def launch(self, plan: Plan, values: Mapping[str, str] | None = None) -> tuple[str, str]:
        campaign_id, body = self.create(plan), {"commonVariables": dict(values or {})}
        try:
            return campaign_id, self.start_campaign(campaign_id, body)["executionId"]
        except Unsure:
            self.campaign(campaign_id)  # read, and not understood
        try:
            return campaign_id, self.start_campaign(campaign_id, body)["executionId"]
        except Refused as refusal:
            if refusal.code not in STARTED_ALREADY:
                raise
        return super().launch(replace(plan, name=f"{plan.name} b"), values)


class RenameAfterLostCreate(Crm):
    """appends (2) to a name that is taken since the answer to its create was lost"""

    def create(self, plan: Plan) -> str:
        try:
            return str(self.create_campaign(plan.body())["campaignId"])
        except Unsure:
            return super().create(replace(plan, name=f"{plan.name} (2)"))


class BlindRetry(Crm):
    """a middleware repeats each POST whose answer was lost"""

    def _send(self, method: str, path: str, **rest: Any) -> Any:
        return self._repeat(method, path, repeats_unsure=True, **rest)


class Only200IsOk(Crm):
    """repeats whatever did not answer 200"""

    def _exchange(self, method: str, path: str, **rest: Any) -> requests.Response:
        for _ in range(TRIES):
            answer = super()._exchange(method, path, **rest)
            if answer.status_code == 200 or not answer.ok:
                break
        return answer


class LostFilters(Crm):
    """misspells the filters in the create"""

    def create_campaign(self, body: JSON) -> Any:
        return super().create_campaign({"filter" if key == "filters" else key: value for key, value in body.items()})


class PlatformIsAudience(Crm):
    """assumes that the platform restricts the audience"""

    def _filters(self, since: str) -> list[JSON]:
        (group,) = super()._filters(since)
        return [{**group, "statements": group["statements"][:2]}]


class PollAfterFinal(Crm):
    """continues to poll after the end"""

    def follow(self, campaign_id: str, execution_id: str, patience_s: float = 3600) -> Outcome:
        outcome = super().follow(campaign_id, execution_id, patience_s)
        for _ in range(TRIES):
            self._wait(self.poll_execution_s)
            self.outcome(campaign_id, execution_id)
        return outcome


class PageEarlyStop(Crm):
    """stops at a page that is shorter than its limit"""

    def _next_cursor(self, page: JSON, limit: int) -> str | None:
        return super()._next_cursor(page, limit) if len(page["records"]) == limit else None


class JsonOn204(Crm):
    """parses the empty body of a cancel and takes the error for a failure"""

    def cancel_campaign(self, campaign_id: str) -> Any:
        body = super().cancel_campaign(campaign_id)
        return super().cancel_campaign(campaign_id) if body is None else body


class MessageMatched(Crm):
    """recognises a taken name by the text of the message"""

    def _is_name_taken(self, refusal: Refused) -> bool:
        return "nome" in refusal.message


class StatusMatched(Crm):
    """recognises a taken name by the status 400"""

    def _is_name_taken(self, refusal: Refused) -> bool:
        return refusal.status == 400


class IgnoreRetryAfter(Crm):
    """calls again after a second, whatever Retry-After a 429 has"""

    def _pause_s(self, busy: Busy, attempt: int) -> float:
        return 1


class RetryHopeless(Crm):
    """repeats what was refused for good"""

    def _call(self, method: str, path: str, **rest: Any) -> Any:
        for _ in range(TRIES - 1):
            try:
                return super()._call(method, path, **rest)
            except Refused:
                self._wait(10)
        return super()._call(method, path, **rest)


class SessionStorm(Crm):
    """opens a new session as soon as one has failed"""

    def await_session(self, session_id: str, patience_s: float = 60) -> Connection:
        ended = super().await_session(session_id, patience_s)
        for _ in range(TRIES if ended.status == "failed" else 0):
            self.create_session({})
        return ended


class WaitsOnlyForCompleted(Crm):
    """does not take failed and canceled for ends"""

    def _is_over(self, outcome: Outcome) -> bool:
        return outcome.status == "completed"


class CadenceUnit(Crm):
    """sends messages per hour as messages per minute, converted the wrong way round"""

    def create(self, plan: Plan) -> str:
        return super().create(replace(plan, cadence=plan.cadence * 3600))


class RestartEnded(Crm):
    """starts a campaign again that has failed or was canceled"""

    def follow(self, campaign_id: str, execution_id: str, patience_s: float = 3600) -> Outcome:
        outcome = super().follow(campaign_id, execution_id, patience_s)
        if outcome.status in ("failed", "canceled"):
            self.start_campaign(campaign_id, {})
        return outcome


class KeyInQuery(Crm):
    """sends the key in the query too"""

    def _exchange(self, method: str, path: str, **rest: Any) -> requests.Response:
        return super()._exchange(method, path, **rest | {"params": {**rest.get("params", {}), "key": self._key}})


class PollTooFast(Crm):
    """polls every second"""

    poll_execution_s = 1


class CancelAndForget(Crm):
    """does not repeat a cancel that failed"""

    def cancel(self, campaign_id: str) -> str:
        with suppress(Busy, Unsure):
            self._call("POST", f"/v1/campaigns/{campaign_id}/cancel")
        return "canceled"


class WrongVariableKeys(Crm):
    """sends an automatic variable with the manual one"""

    def start_campaign(self, campaign_id: str, body: JSON | None) -> Any:
        values = (body or {}).get("commonVariables", {})
        return super().start_campaign(campaign_id, {"commonVariables": {**values, "var1": "Ana"}})


class NaiveDates(Crm):
    """filters by a date without an offset"""

    def _filters(self, since: str) -> list[JSON]:
        return super()._filters(since.removesuffix("Z"))


BUGS: Mapping[str, type[Crm]] = MappingProxyType(
    {
        "duplicate-start": DuplicateStart,
        "clone-after-conflict": CloneAfterConflict,
        "rename-after-lost-create": RenameAfterLostCreate,
        "blind-retry": BlindRetry,
        "only-200-is-ok": Only200IsOk,
        "lost-filters": LostFilters,
        "platform-is-audience": PlatformIsAudience,
        "poll-after-final": PollAfterFinal,
        "page-early-stop": PageEarlyStop,
        "json-on-204": JsonOn204,
        "message-matched": MessageMatched,
        "status-matched": StatusMatched,
        "ignore-retry-after": IgnoreRetryAfter,
        "retry-hopeless": RetryHopeless,
        "session-storm": SessionStorm,
        "waits-only-for-completed": WaitsOnlyForCompleted,
        "cadence-unit": CadenceUnit,
        "restart-ended": RestartEnded,
        "key-in-query": KeyInQuery,
        "poll-too-fast": PollTooFast,
        "cancel-and-forget": CancelAndForget,
        "wrong-variable-keys": WrongVariableKeys,
        "naive-dates": NaiveDates,
    }
)
