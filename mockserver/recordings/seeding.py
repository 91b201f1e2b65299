"""
Seed data of one tenant: the records that a recording shows and does not have the creation of, as it saw them first.

What could not be known is a comment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs

from mockserver._json import JSON, changed
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core.instants import HOUR, MILLISECOND, MINUTE, SECOND, Instant, format_milliseconds, parse
from mockserver.core.phone_numbers import normalize_phone
from mockserver.recordings.facts import rows_of
from mockserver.recordings.forms import counts_of
from mockserver.recordings.masking import words_of_document
from mockserver.recordings.playing import properties_of
from mockserver.recordings.population import AudienceSize, population
from mockserver.recordings.replays import REFUSALS_BEFORE_A_BODY
from mockserver.verify.histories.exchanges import RecordedExchange

COUNTRY: Final = "BR"
# Refusals of a start or cancel that do not show that there is such a campaign.
_NOT_THERE: Final = REFUSALS_BEFORE_A_BODY | {"CAMPAIGN_NOT_FOUND", "RESOURCE_ACCESS_DENIED", "VALIDATION_ERROR"}
_LONG_AGO: Final = HOUR
_MANY: Final = 10_000  # targets of a run that must not end


class Seed:
    """The seed data of one tenant."""

    def __init__(
        self,
        calls: Sequence[RecordedExchange],
        instants: Mapping[int, Instant],
        begin: Instant,
        choices: Mapping[str, object],
        comments: list[str],
    ) -> None:
        self._all = calls
        self._calls = [call for call in calls if call.succeeded]
        self._instants = instants
        self._begin = begin
        self._choices = choices
        self._positions: dict[str, int] = {}  # by chat, in the audience of every chat
        self._comments = comments
        self._runs = sorted(set(self._runs_of_everyone()))
        self._created = {
            str(call.response_json.get(key))
            for call in self._calls
            for key in ("campaignId", "sessionId")
            if isinstance(call.response_json, dict) and call.operation in ("createCampaign", "createConnectionSession")
        }

    def given(self) -> JSON:
        """Return the seed data, by kind."""
        campaigns = self._campaigns()
        given: JSON = {
            "funnels": self._funnels(),
            "entrypoints": self._entrypoints(),
            "templates": self._templates(campaigns),
            "forms": self._forms(),
        }
        if campaigns and not given["templates"]:  # a campaign has one
            given["templates"] = [{"id": "template_of_campaigns"}]
        messages = self._messages()
        counts = [
            *self._counts(),
            *(
                AudienceSize(row["filters"], row.pop("_target"), str(row.get("platform", "chatapp")))
                for row in campaigns
                if "_target" in row
            ),
        ]
        chats = population(counts, {key: given[key] for key in ("funnels", "entrypoints")}, self._choices)
        self._comments += chats.comments
        rows = chats.chats
        for chat_id in dict.fromkeys(self._chat_ids()):
            position = self._positions.get(chat_id)
            # The runs of listed campaigns have sent messages to the chats with tags, which a listing would show.
            free = [place for place in reversed(range(len(rows))) if not rows[place].keys() & {"id", "tagIds"}]
            if position in free:
                rows[position]["id"] = chat_id
            elif free and position is None:
                rows[free[0]]["id"] = chat_id
            else:
                rows.append({"id": chat_id})
        given |= {"chats": rows, "messages": messages, "campaigns": campaigns}
        return {kind: entries for kind, entries in given.items() if entries}

    def _of(self, operation: str) -> Iterator[tuple[RecordedExchange, Any]]:
        yield from ((call, call.response_json) for call in self._calls if call.operation == operation)

    def _funnels(self) -> list[JSON]:
        """Return the funnels and steps that entrypoints and accepted sessions name."""
        funnels: dict[str, str | None] = {}  # by step; some answers show the step alone
        for call, body in [
            *self._of("createConnectionSession"),
            *self._of("readConnectionSession"),
            *self._of("readEntrypoint"),
        ]:
            for row in (call.request_json, body.get("entrypoint") if isinstance(body, dict) else None):
                step, funnel = (row.get("funnelStepId"), row.get("funnelId")) if isinstance(row, dict) else (None, None)
                if isinstance(step, str):
                    funnels[step] = funnels.get(step) or (funnel if isinstance(funnel, str) else None)
        steps: dict[str, list[str]] = defaultdict(list)
        for step, funnel in funnels.items():
            steps[funnel or f"funnel_of_{step}"].append(step)
        return [{"id": id, "steps": [{"id": step} for step in rows]} for id, rows in steps.items()]

    def _entrypoints(self) -> list[JSON]:
        """Return the entrypoints that no session of the recording has created."""
        created = {
            str(body["entrypoint"].get("id"))
            for _, body in self._of("readConnectionSession")
            if isinstance(body, dict)
            and isinstance(body.get("entrypoint"), dict)
            and body.get("sessionId") in self._created
        }
        rows: dict[str, JSON] = {}
        for _, body in [*self._of("readEntrypoint"), *self._of("readConnectionSession")]:
            shown = body.get("entrypoint") if isinstance(body, dict) else None
            if not isinstance(shown, dict) or str(shown.get("id")) in created:
                continue
            row = {
                key: shown[key]
                for key in ("id", "name", "displayName", "funnelStepId", "isCoexistence")
                if shown.get(key) is not None
            }
            if shown.get("platform") in ("chatapp", "chatapp_lite", "photoapp", "botapp"):
                row["platform"] = shown["platform"]
            if isinstance(shown.get("displayPhone"), str):
                is_valid = normalize_phone(shown["displayPhone"], COUNTRY)
                row["displayPhone"] = shown["displayPhone"] if is_valid else f"+55119{len(rows):08}"
            rows.setdefault(str(shown.get("id")), {}).update(row)
        return list(rows.values())

    def _templates(self, campaigns: Sequence[JSON]) -> list[JSON]:
        """Return the templates that are listed, read, or named by a campaign."""
        rows: dict[str, JSON] = {}
        for _, body in self._of("listTemplates"):
            for shown in rows_of(body, "templates"):
                rows.setdefault(str(shown.get("id")), self._listed_template(shown))
        for _, body in self._of("readTemplate"):
            if isinstance(body, dict):
                self._add_detail(rows, body)
        used = [
            call.request_json.get("templateId")
            for call, _ in self._of("createCampaign")
            if isinstance(call.request_json, dict)
        ]
        for id in [*used, *(row.get("templateId") for row in campaigns)]:
            if isinstance(id, str) and id not in rows:
                rows[id] = {"id": id}
                self._comments.append(f"template {id}, which no answer shows")
        return list(rows.values())

    def _listed_template(self, shown: Mapping[str, Any]) -> JSON:
        row: JSON = {key: shown[key] for key in ("id", "name", "description") if key in shown}
        row |= {key: shown[key] for key in ("createdAt", "updatedAt") if isinstance(shown.get(key), str)}
        status = shown.get("providerTemplateStatus")
        if status:
            is_known = status in words_of_document()
            row["providerTemplateStatus"] = "APPROVED" if shown.get("isOfficial") else status if is_known else "PENDING"
            if not is_known:
                self._comments.append(
                    f"the status of template {shown.get('id')}, whose value the document does not list"
                )
        elif shown.get("isOfficial"):
            row["isOfficial"] = True
        return row

    def _add_detail(self, rows: dict[str, JSON], body: Mapping[str, Any]) -> None:
        id = str(body.get("id"))
        row = rows.setdefault(
            id, {"id": id, "name": body.get("name"), **({"isOfficial": True} if body.get("isOfficial") else {})}
        )
        items = rows_of(body, "items")
        kinds = words_of_document()
        row["items"] = [
            {"type": item["type"] if item.get("type") in kinds else "image" if item.get("mediaId") else "text",
             "text": item.get("text") or "", **({"mediaId": item["mediaId"]} if item.get("mediaId") else {})}
            for item in items
        ]  # fmt: skip
        row["variables"] = [
            {key: variable[key] for key in ("key", "label", "required") if key in variable}
            for variable in rows_of(body, "commonVariables")
        ]

    def _forms(self) -> list[JSON]:
        rows = {
            call.params.get("id", ""): {
                "id": call.params.get("id", ""),
                "iframeEmbedAllowedOrigins": body["iframeEmbedAllowedOrigins"],
            }
            for call, body in self._of("readFormPolicy")
            if isinstance(body, dict) and isinstance(body.get("iframeEmbedAllowedOrigins"), list)
        }
        return list(rows.values())

    def _chat_ids(self) -> list[str]:
        return [call.params.get("chatId", "") for call, _ in self._of("listMessages")]

    def _messages(self) -> list[JSON]:
        """Return the messages of each chat that its first listing shows, the oldest first."""
        rows: dict[str, JSON] = {}
        listed: dict[str, Instant] = {}
        for call, body in self._of("listMessages"):
            chat = call.params.get("chatId", "")
            until = listed.setdefault(chat, self._instants[call.index])
            for shown in rows_of(body, "records"):
                created = parse(str(shown.get("createdAt")))
                position = self._position(shown, created[0]) if created is not None else None
                if position is not None:
                    self._positions.setdefault(chat, position)
                    continue
                if created is None or created[0] > until + SECOND:
                    self._comments.append(f"when and why message {shown.get('id')} arrived")
                    continue
                row = {
                    key: _known(value) for key, value in shown.items() if value is not None and key in _MESSAGE_MEMBERS
                }
                for key, kind in (("type", "text" if shown.get("sender") else "system"), ("status", "delivered")):
                    row[key] = shown[key] if shown.get(key) in words_of_document() else kind
                rows.setdefault(str(shown.get("id")), {"chatId": chat, **row})
        oldest_first = list(rows.values())
        oldest_first.reverse()  # of equal instants the later one is listed first
        oldest_first.sort(key=_created)
        return [*self._older(oldest_first), *oldest_first]

    def _position(self, message: Mapping[str, Any], created: Instant) -> int | None:
        """Return the position in an audience of every chat at which a run of the recording sent a message; None if none did."""
        sender = message.get("sender")
        if not isinstance(sender, dict) or sender.get("isParticipant") is not False:
            return None
        for start, cadence, target in self._runs:
            position, rest = divmod((created - start) * cadence, MINUTE)
            if min(rest, MINUTE - rest) <= cadence * 2 * MILLISECOND:
                place = position + (rest > MINUTE // 2)
                if 0 <= place < target:
                    return place
        return None

    def _runs_of_everyone(self) -> Iterator[tuple[Instant, int, int]]:
        """Yield start, cadence and target of each run of the recording that had no filters."""
        bodies = {
            str(body.get("campaignId")): call.request_json
            for call, body in self._of("createCampaign")
            if isinstance(body, dict) and isinstance(call.request_json, dict)
        }
        for call, _ in self._of("readCampaign"):
            sent = bodies.get(call.params.get("id", ""), {"filters": True})
            for row in rows_of(call.response_json, "executions"):
                start, counts, cadence = parse(str(row.get("startedAt"))), counts_of(row), sent.get("cadence")
                if not sent.get("filters") and start is not None and counts is not None and isinstance(cadence, int):
                    yield start[0], cadence, counts.target

    def _older(self, messages: Sequence[JSON]) -> list[JSON]:
        """Return a message for each chat of which the last page was not read."""
        more = self._chats_with_unread_pages()
        self._comments += [f"the messages of {chat} beyond the last page that was read" for chat in sorted(more)]
        known = {row.get("id") for row in messages}
        replied = {
            str(row["replyToId"]): str(row["chatId"]) for row in messages if row.get("replyToId") not in (None, *known)
        }
        oldest = min((_created(row)[0] for row in messages), default=self._begin)
        older = [{"chatId": chat, "id": id} for id, chat in replied.items()]
        older += [{"chatId": chat} for chat in sorted(more) if chat not in replied.values()]
        return [{**row, "createdAt": format_milliseconds(oldest - SECOND)} for row in older]

    def _chats_with_unread_pages(self) -> set[str]:
        followed = {parse_qs(call.path.partition("?")[2]).get("cursor", [""])[-1] for call in self._calls}
        whole: set[str] = set()
        more: set[str] = set()
        for call, body in self._of("listMessages"):
            cursor = body.get("nextCursor") if isinstance(body, dict) else None
            if cursor and str(cursor) not in followed:
                more.add(call.params.get("chatId", ""))
            elif isinstance(body, dict) and not cursor:
                whole.add(call.params.get("chatId", ""))
        return more - whole

    def _counts(self) -> Iterator[AudienceSize]:
        """Yield the sizes of audiences: of executions as they were started, then of previews."""
        yield from self._counts_of_executions()
        for call, body in self._of("previewAudience"):
            sent, count = call.request_json, body.get("estimatedCount") if isinstance(body, dict) else None
            filters = sent.get("filters") if isinstance(sent, dict) else None
            if type(count) is int and (filters is None or isinstance(filters, list)):
                yield AudienceSize(filters or [], count)

    def _counts_of_executions(self) -> Iterator[AudienceSize]:
        bodies = {
            str(body.get("campaignId")): call.request_json
            for call, body in self._of("createCampaign")
            if isinstance(body, dict) and isinstance(call.request_json, dict)
        }
        runs: dict[str, list[tuple[int, int]]] = defaultdict(list)
        targets: dict[str, tuple[str, int]] = {}
        for call in self._calls:
            if call.operation in ("readExecution", "readCampaign"):
                for row in (
                    [call.response_json]
                    if call.operation == "readExecution"
                    else rows_of(call.response_json, "executions")
                ):
                    counts = counts_of(row)
                    if counts is not None:
                        targets[str(row.get("id"))] = call.params.get("id", ""), counts.target
                        runs[str(row.get("id"))].append((counts.processed, counts.failed))
        for id, (campaign_id, target) in targets.items():
            body = bodies.get(campaign_id)
            if body is not None:
                filters = body.get("filters") if isinstance(body.get("filters"), list) else []
                yield AudienceSize(
                    filters or [], target, str(body.get("platform", "chatapp")), max(runs[id])[0], _fails(runs[id])
                )

    def _campaigns(self) -> list[JSON]:
        """Return the campaigns that the recording did not create, as it saw them first."""
        rows: dict[str, JSON] = {}
        for call in self._calls:
            shown = rows_of(call.response_json, "campaigns") if call.operation == "listCampaigns" else []
            if call.operation == "readCampaign" and isinstance(call.response_json, dict):
                shown = [call.response_json]
            for row in shown:
                if str(row.get("id")) not in self._created and row.get("status") in CAMPAIGN.states:
                    self._see_campaign(rows.setdefault(str(row.get("id")), {}), row)
        for call in self._all:
            self._add_unseen(rows, call)
        self._date(rows)
        for id, own in rows.items():
            if not own.pop("_seen", False) and own.get("status") != CAMPAIGN.initial:
                self._comments.append(f"the execution of campaign {id}, which is listed as {own.get('status')}")
                own |= self._unseen_past(str(own.get("status")), id)
        return list(rows.values())

    def _see_campaign(self, own: JSON, row: Mapping[str, Any]) -> None:
        """Add to a campaign what an answer shows of it first."""
        for key in ("id", "name", "description", "platform", "templateId", "cadence", "status"):
            if row.get(key) is not None and key not in own:
                own[key] = row[key]
        if isinstance(row.get("executions"), list) and "_seen" not in own:
            own |= {"_seen": True, **self._past(row)}

    def _add_unseen(self, rows: dict[str, JSON], call: RecordedExchange) -> None:
        """Add a campaign that no answer shows, and that an answer to a start or cancel implies."""
        id = call.params.get("id", "")
        is_acted_on = call.operation in ("startCampaign", "cancelCampaign") and call.is_answered
        if is_acted_on and id not in rows and id not in self._created and call.code not in _NOT_THERE:
            is_draft = call.succeeded and not (
                call.operation == "cancelCampaign" and self._choices.get("cancel-draft") == "unprocessable"
            )
            rows[id] = {"id": id, "status": CAMPAIGN.initial if is_draft else "canceled", "_seen": True}
            self._comments.append(f"campaign {id}, which no answer shows")

    def _date(self, rows: Mapping[str, JSON]) -> None:
        """Give the campaigns instants of creation in the order in which they are listed."""
        listed = [str(row.get("id")) for _, body in self._of("listCampaigns") for row in rows_of(body, "campaigns")]
        order = [*dict.fromkeys(id for id in [*listed, *rows] if id in rows)]
        if self._choices.get("list-order") == "oldest-first":
            order.reverse()
        starts = [parse(str(row["startedAt"])) for row in rows.values() if "startedAt" in row]
        base = min([self._begin - _LONG_AGO, *(start[0] for start in starts if start is not None)])
        for place, id in enumerate(order):
            rows[id]["createdAt"] = format_milliseconds(base - (place + 1) * SECOND)

    def _unseen_past(self, status: str, id: str) -> JSON:
        """Return some past that leads to a status: a run without targets, or one that ended after its first message."""
        if status == "canceled":
            return {}
        start = format_milliseconds(self._begin - _LONG_AGO)
        least = 0 if self._choices.get("start-empty-audience", "complete") == "complete" else 1
        target = {"completed": least, "failed": 2}.get(status, _MANY)
        return {
            "executionId": f"execution_of_{id}",  # one that the sandbox makes may be that of another campaign
            "startedAt": start,
            **({"completedAt": start} if status == "failed" else {}),
            "filters": _tagged(id),
            "_target": target,
        }

    def _past(self, row: Mapping[str, Any]) -> JSON:
        """Return the past of a campaign, with an audience of its own; `_target` is the size of that."""
        executions = rows_of(row, "executions")
        if not executions:
            return {"filters": row["filters"]} if isinstance(row.get("filters"), list) else {}
        execution = executions[0]
        target = execution.get("targetCount")
        past = {key: execution[key] for key in ("startedAt", "completedAt") if isinstance(execution.get(key), str)}
        start, counts, cadence = parse(str(past.get("startedAt"))), counts_of(execution), row.get("cadence")
        if (
            row.get("status") in ("failed", "canceled")
            and "completedAt" not in past
            and start
            and counts
            and isinstance(cadence, int)
        ):
            last = max(0, counts.processed - 1) * MINUTE // max(1, cadence)
            past["completedAt"] = format_milliseconds(
                start[0] + last
            )  # not shown; that of the last message at the earliest
        return {
            "executionId": execution.get("id"),
            **past,
            "filters": _tagged(str(row.get("id"))),
            **({"_target": target} if type(target) is int else {}),
        }


def _tagged(id: str) -> list[JSON]:
    """Return filters that select the chats of one campaign's audience."""
    statement = {"field": "chat.tagIds", "operator": "has-any", "value": [f"tag_of_{id}"]}
    return [{"combinator": "and", "statements": [statement]}]


_MESSAGE_MEMBERS: Final = frozenset(
    ("id", "type", "status", "sender", "isOfficialTemplate", "templateCharged", "createdAt", "text", "transcription", "forward",
     "replyToId", "photoapp", "media", "location", "templateComponents", "ad")
)  # fmt: skip


def _created(message: Mapping[str, Any]) -> tuple[Instant, bool]:
    return parse(str(message["createdAt"])) or (0, False)


def _known(value: Any) -> Any:
    """Return a part of a message without the fields that the document does not have."""
    names = properties_of("listMessages")
    return changed(value, lambda part: {key: inner for key, inner in part.items() if key in names})


def _fails(counts: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Return positions that failed, by the growing numbers of processed and failed sends; of each step the last ones."""
    fails: set[int] = set()
    before = (0, 0)
    for processed, failed in sorted(counts):
        more = failed - before[1]
        fails |= set(range(processed - more, processed))
        before = processed, failed
    return frozenset(fails)
