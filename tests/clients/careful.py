"""
A careful client of the API: it relies only on what the document specifies.

A write whose answer is lost is looked up before it is repeated; unknown fields and unknown values are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.clients.calls import TRIES, Refused, Unreachable, Unsure, back_off_s
from tests.clients.connecting import Connecting
from tests.clients.operations import JSON

DRAIN_S = 60  # how long after a cancel what was queued may still be sent

FINAL = frozenset({"completed", "failed", "canceled"})
STARTED_ALREADY = frozenset({"CAMPAIGN_ALREADY_PROCESSING", "CAMPAIGN_NOT_DRAFT"})
ENDED_ALREADY = frozenset({"UNPROCESSABLE_REQUEST", "CAMPAIGN_NOT_DRAFT"})


@dataclass(frozen=True)
class Plan:
    """A campaign as its author thinks of it."""

    name: str
    template_id: str
    cadence: int
    filters: Sequence[JSON]
    platform: str = "chatapp"

    def body(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "platform": self.platform,
            "templateId": self.template_id,
            "cadence": self.cadence,
            "filters": list(self.filters),
        }


@dataclass(frozen=True)
class Outcome:
    """The progress of an execution; a status that is not a final one, documented or not, means that it continues."""

    status: str
    target: int
    sent: int
    failed: int

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @classmethod
    def of(cls, shown: JSON) -> Outcome:
        return cls(shown["status"], shown["targetCount"], shown["sentCount"], shown["failedCount"])


@dataclass(frozen=True)
class Uploaded:
    """The ids of the files that were stored, by name, and the names of the others."""

    ids: Mapping[str, str]
    failed: tuple[str, ...]


class Careful(Connecting):
    """The API as one tenant sees it."""

    poll_execution_s = 15

    # Campaigns

    def templates(self) -> list[JSON]:
        found: list[JSON] = self.list_templates()["templates"]
        return found

    def audience(self, filters: Sequence[JSON]) -> int:
        """The number of chats that the filters select now; a start may target more or fewer."""
        counted = self.preview_audience({"filters": list(filters)})
        return int(counted["estimatedCount"])

    def launch(self, plan: Plan, values: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Create and start; the ids of campaign and execution. `values` by variable, of which the template's are sent."""
        campaign_id = self.create(plan)
        return campaign_id, self.start(campaign_id, plan.template_id, values or {})

    def create(self, plan: Plan) -> str:
        """A draft as planned, made once: after a lost answer, or where the name is taken, it is looked for by name."""
        for attempt in range(TRIES):
            try:
                return str(self.create_campaign(plan.body())["campaignId"])
            except Unsure:
                self._wait(back_off_s(attempt))
            except Refused as refusal:
                if not self._is_name_taken(refusal):
                    raise
                found = self._draft_of(plan)
                if found is None:
                    raise
                return found
            found = self._draft_of(plan)
            if found is not None:
                return found
        raise Unreachable(plan.name)

    def start(self, campaign_id: str, template_id: str, values: Mapping[str, str]) -> str:
        """The one execution of the campaign: started here, or found running after an answer that was lost."""
        for attempt in range(TRIES):
            try:
                return self._start(campaign_id, template_id, values, may_ask_again=True)
            except Unsure:
                self._wait(back_off_s(attempt))
            except Refused as refusal:
                if refusal.code not in STARTED_ALREADY:
                    raise
            runs = self.campaign(campaign_id)["executions"]
            if runs:
                return str(runs[0]["id"])
            self._refuse_ended(campaign_id)
        raise Unreachable(campaign_id)

    def _start(self, campaign_id: str, template_id: str, values: Mapping[str, str], may_ask_again: bool) -> str:
        wanted = [variable["key"] for variable in self.template(template_id)["commonVariables"]]
        body = {"commonVariables": {key: values[key] for key in wanted if key in values}}
        try:
            return str(self.start_campaign(campaign_id, body)["executionId"])
        except Refused as refusal:
            # The template may have changed since it was read.
            if refusal.code != "CAMPAIGN_MISSING_COMMON_VARIABLES" or not may_ask_again:
                raise
        return self._start(campaign_id, template_id, values, may_ask_again=False)

    def _refuse_ended(self, campaign_id: str) -> None:
        """A draft that was canceled, or a run that has left no execution, is not started again."""
        status = self.campaign(campaign_id)["status"]
        if status in FINAL:
            raise Refused(422, "CAMPAIGN_NOT_DRAFT")

    def template(self, template_id: str) -> JSON:
        found: JSON = self.read_template(template_id)
        return found

    def campaign(self, campaign_id: str) -> JSON:
        found: JSON = self.read_campaign(campaign_id)
        return found

    def campaigns(self) -> list[JSON]:
        found: list[JSON] = self.list_campaigns()["campaigns"]
        return found

    def follow(self, campaign_id: str, execution_id: str, patience_s: float = 3600) -> Outcome:
        """Poll until the status is final or the timeout has passed; return the last read."""
        waited_s = 0.0
        while True:
            outcome = self.outcome(campaign_id, execution_id)
            if self._is_over(outcome) or waited_s >= patience_s:
                return outcome
            self._wait(self.poll_execution_s)
            waited_s += self.poll_execution_s

    def _is_over(self, outcome: Outcome) -> bool:
        return outcome.is_final

    def outcome(self, campaign_id: str, execution_id: str) -> Outcome:
        return Outcome.of(self.read_execution(campaign_id, execution_id))

    def cancel(self, campaign_id: str) -> str:
        """Cancel until the campaign has ended; its final status, which may be that it had completed."""
        for attempt in range(TRIES):
            try:
                self.cancel_campaign(campaign_id)
            except Unsure:
                self._wait(back_off_s(attempt))
            except Refused as refusal:
                if refusal.code not in ENDED_ALREADY:
                    raise
            status = str(self.campaign(campaign_id)["status"])
            if status in FINAL:
                return status
        raise Unreachable(campaign_id)

    def settled(self, campaign_id: str, execution_id: str) -> Outcome:
        """The counts of a canceled run once nothing of it can be under way."""
        self._wait(DRAIN_S)
        return self.outcome(campaign_id, execution_id)

    def _is_name_taken(self, refusal: Refused) -> bool:
        return refusal.code == "CAMPAIGN_NAME_ALREADY_EXISTS"

    def _draft_of(self, plan: Plan) -> str | None:
        """The campaign of this plan: the name alone might be that of another."""
        wanted = {key: value for key, value in plan.body().items() if key != "filters"}
        for campaign in self.campaigns():
            if all(campaign[key] == value for key, value in wanted.items()) and campaign["status"] == "draft":
                return str(campaign["id"])
        return None

    # Media and messages

    def upload(self, files: Mapping[str, tuple[bytes, str]]) -> Uploaded:
        """Store files, given as content and type by name; send only those again that the storage lost."""
        ids: dict[str, str] = {}
        for attempt in range(2):
            left = {name: file for name, file in files.items() if name not in ids}
            ids |= self._upload(left)
            if len(ids) == len(files):
                break
            self._wait(back_off_s(attempt))
        return Uploaded(ids, tuple(name for name in files if name not in ids))

    def _upload(self, files: Mapping[str, tuple[bytes, str]]) -> dict[str, str]:
        parts = [("files", (name, content, kind)) for name, (content, kind) in files.items()]
        try:
            results = self.upload_media(parts)
        except Unsure:
            return {}  # a file that is stored twice does no harm
        except Refused as refusal:
            if refusal.code is not None or len(files) == 1:
                raise
            # A proxy refused the request as too large, so each file is sent by itself.
            return {name: id for each in files for name, id in self._upload({each: files[each]}).items()}
        return {result["name"]: result["id"] for result in results if result["success"]}

    def messages(self, chat_id: str, limit: int = 50) -> Iterator[JSON]:
        """Every message of a chat, newest first and each once, until there is no cursor."""
        query: dict[str, Any] = {"limit": limit}
        seen: set[str] = set()
        cursors: set[str] = set()
        while True:
            page = self.list_messages(chat_id, query)
            for record in page["records"]:
                if record["id"] not in seen:
                    seen.add(record["id"])
                    yield record
            cursor = self._next_cursor(page, limit)
            if not cursor or cursor in cursors:
                return
            cursors.add(cursor)
            query["cursor"] = cursor

    def _next_cursor(self, page: JSON, limit: int) -> str | None:
        return page.get("nextCursor")

    def form_origins(self, form_id: str) -> list[str]:
        found: list[str] = self.read_form_policy(form_id)["iframeEmbedAllowedOrigins"]
        return found
