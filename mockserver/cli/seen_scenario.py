"""
A scenario with what a recording saw first: seed data, the clock, and the choices that the recording settles.

1. A record is seed data if the recording shows it and does not have its creation.
2. What no answer shows, and what a scenario cannot have, is a comment.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from ruamel.yaml import YAML

from mockserver._json import JSON, changed
from mockserver.contract import schemas
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.text import whole_number
from mockserver.core.instants import SECOND, Instant, format_milliseconds, parse
from mockserver.core.phone_numbers import normalize_phone
from mockserver.judge.choices.learning import LearnedChoice
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.trace.exchange import Exchange
from mockserver.trace.masking import words_of_document
from mockserver.trace.sightings import objects_of as rows_of
from mockserver.trace.trace import Trace

_COUNTRY: Final = "BR"
_TARGETS_MAX: Final = 1_000  # chats of one past run
_PROBLEMS_MAX: Final = 200  # records that are left out because the scenario would not be valid
_PLATFORMS: Final = ("chatapp", "chatapp_lite", "photoapp", "botapp")
_OF_CAMPAIGNS: Final = ("id", "name", "description", "platform", "templateId", "cadence", "status")
_OF_ENTRYPOINTS: Final = ("id", "name", "displayName", "funnelStepId", "isCoexistence")
_OF_MESSAGES: Final = (
    "id", "type", "status", "sender", "isOfficialTemplate", "templateCharged", "createdAt", "text", "transcription", "forward",
    "replyToId", "photoapp", "media", "location", "templateComponents", "ad",
)  # fmt: skip


class SeededScenario(NamedTuple):
    """A scenario document, and what the recording leaves open of it, each in one sentence."""

    document: JSON
    comments: tuple[str, ...]

    def as_yaml(self) -> str:
        """Return the document as YAML, with the comments at its head."""
        yaml, out = YAML(), io.StringIO()
        yaml.width = 120
        yaml.dump(self.document, out)
        comments = [f"# Not known: {' '.join(comment.split())}" for comment in self.comments]
        return "\n".join(["# Written from a recording.", *comments, out.getvalue()])


def seeded_scenario(recording: Trace, learnt: Sequence[LearnedChoice]) -> SeededScenario:
    """
    Return a scenario with what a recording saw.

    Args:
        recording: With stand-ins for what is private.
        learnt: What the recording shows of the choices.
    """
    comments: list[str] = []
    begin = _begin(recording)
    given: JSON = {}
    for place, keys in enumerate(_tenants(recording)):
        calls = [call for call in recording.exchanges if call.key in keys or (not place and not call.key)]
        seed = _Seed([call for call in calls if call.succeeded], begin, comments).given()
        if place:
            given.setdefault("tenants", []).append({"id": f"tenant_{place + 1}", **seed})
        else:
            given |= seed
    document: JSON = {
        "scenario": "recording",
        "choices": {row.id: row.options[0] for row in learnt if row.state == "settled"},
        "clock": {"freeze": format_milliseconds(begin)},
        "given": given,
    }
    document = _valid({key: value for key, value in document.items() if value}, comments)
    return SeededScenario(document, tuple(dict.fromkeys(comments)))


def _begin(recording: Trace) -> Instant:
    """Return the instant of the first call by the service's clock, by the recorder's if no answer has a date."""
    dates = [call.date for call in recording.exchanges if call.date is not None]
    if dates:
        return dates[0]
    return min((call.sent_at for call in recording.exchanges if call.is_timed), default=0)


def _tenants(recording: Trace) -> list[list[str]]:
    """
    Return the keys of each tenant, the one with most calls first.

    A public key is of the first tenant: it reads forms alone. A key that was always refused is of none.
    """
    calls: dict[str, int] = {}
    for key, rows in recording.by_key.items():
        is_refused = all(row.code in ("API_KEY_INVALID", "API_KEY_MISSING") for row in rows)
        if key is not None and not is_refused:
            calls[key] = len(rows)
    secret = sorted((key for key in calls if not key.startswith("pk_")), key=lambda key: -calls[key])
    groups = [[key] for key in secret] or [[]]
    groups[0] += [key for key in calls if key.startswith("pk_")]
    return groups


def _valid(document: JSON, comments: list[str]) -> JSON:
    """Return the document without the entries that it cannot have; each of them is a comment."""
    for _ in range(_PROBLEMS_MAX):
        try:
            SandboxHost().create(SandboxConfig(document))
        except ScenarioError as refused:
            problem = refused.problems[0]
            steps = problem.path.strip("/").split("/")
            if not _drop(document, steps):
                raise
            comments.append(f"how the service has {'/'.join(steps[:4])}, which is left out: {problem}")
        else:
            break
    return document


def _drop(document: Any, steps: Sequence[str]) -> bool:
    """Remove the entry of the first list on a path; return False if the path has no entry of a list."""
    for step in steps:
        if isinstance(document, list):
            place = whole_number(step)
            if place is None or place >= len(document):
                return False
            del document[place]
            return True
        document = document.get(step) if isinstance(document, dict) else None
    return False


class _Seed:
    """The seed data of one tenant, from the calls that succeeded."""

    def __init__(self, calls: Sequence[Exchange], begin: Instant, comments: list[str]) -> None:
        self._calls = calls
        self._begin = begin
        self._comments = comments
        self._created = {
            str(body.get(key))
            for operation, key in (("createCampaign", "campaignId"), ("createConnectionSession", "sessionId"))
            for _, body in self._of(operation)
        }

    def given(self) -> JSON:
        """Return the seed data, by kind."""
        campaigns, audiences = self._campaigns()
        templates = self._templates(campaigns)
        if campaigns and not templates:  # a campaign has one
            templates = [{"id": "template_of_campaigns"}]
        sessions = {call.params.get("sessionId", "") for call, _ in self._of("readConnectionSession")} - self._created
        self._comments += [f"session {id}: a scenario has no sessions" for id in sorted(sessions)]
        chats = list(dict.fromkeys(call.params.get("chatId", "") for call, _ in self._of("listMessages")))
        given: JSON = {
            "funnels": self._funnels(),
            "entrypoints": self._entrypoints(),
            "templates": templates,
            "forms": self._forms(),
            "chats": [{"id": id} for id in chats] + audiences,
            "messages": self._messages(),
            "campaigns": campaigns,
        }
        return {kind: rows for kind, rows in given.items() if rows}

    def _of(self, *operations: str) -> Iterator[tuple[Exchange, JSON]]:
        """Yield the calls of some operations and the objects that they returned."""
        for call in self._calls:
            if call.operation in operations and isinstance(call.response_json, dict):
                yield call, call.response_json

    def _funnels(self) -> list[JSON]:
        """Return the funnels and steps that entrypoints and accepted sessions name."""
        funnels: dict[str, str | None] = {}  # by step; some answers show the step alone
        for call, body in self._of("createConnectionSession", "readConnectionSession", "readEntrypoint"):
            for row in (call.request_json, body.get("entrypoint")):
                step, funnel = (row.get("funnelStepId"), row.get("funnelId")) if isinstance(row, dict) else (None, None)
                if isinstance(step, str):
                    funnels[step] = funnels.get(step) or (funnel if isinstance(funnel, str) else None)
        steps: dict[str, list[str]] = defaultdict(list)
        for step, funnel in funnels.items():
            steps[funnel or f"funnel_of_{step}"].append(step)
        return [{"id": id, "steps": [{"id": step} for step in rows]} for id, rows in steps.items()]

    def _entrypoints(self) -> list[JSON]:
        """Return the entrypoints that no session of the recording has created."""
        rows: dict[str, JSON] = {}
        created: set[str] = set()
        for _, body in self._of("readEntrypoint", "readConnectionSession"):
            shown = body.get("entrypoint")
            if not isinstance(shown, dict):
                continue
            id = str(shown.get("id"))
            if body.get("sessionId") in self._created:
                created.add(id)
            rows.setdefault(id, {}).update(_entrypoint(shown, len(rows)))
        return [row for id, row in rows.items() if id not in created]

    def _templates(self, campaigns: Sequence[JSON]) -> list[JSON]:
        """Return the templates that are listed, read, or named by a campaign."""
        rows: dict[str, JSON] = {}
        for _, body in self._of("listTemplates"):
            for shown in rows_of(body, "templates"):
                rows.setdefault(str(shown.get("id")), self._listed_template(shown))
        for _, body in self._of("readTemplate"):
            id = str(body.get("id"))
            row = rows.setdefault(id, {"id": id, "name": body.get("name")})
            if body.get("isOfficial") and "providerTemplateStatus" not in row:
                row["isOfficial"] = True
            row |= _template_detail(body)
        bodies = [call.request_json for call, _ in self._of("createCampaign")]
        named = [row.get("templateId") for row in (*bodies, *campaigns) if isinstance(row, dict)]
        for template_id in named:
            if isinstance(template_id, str) and template_id not in rows:
                rows[template_id] = {"id": template_id}
                self._comments.append(f"template {template_id}, which no answer shows")
        return list(rows.values())

    def _listed_template(self, shown: Mapping[str, Any]) -> JSON:
        row: JSON = {key: shown[key] for key in ("id", "name", "description") if key in shown}
        row |= {key: shown[key] for key in ("createdAt", "updatedAt") if isinstance(shown.get(key), str)}
        status: Any = shown.get("providerTemplateStatus")
        if not status:
            return row | ({"isOfficial": True} if shown.get("isOfficial") else {})
        if shown.get("isOfficial"):
            row["providerTemplateStatus"] = "APPROVED"
        elif status in words_of_document():
            row["providerTemplateStatus"] = status
        else:
            row["providerTemplateStatus"] = "PENDING"
            self._comments.append(f"the status of template {shown.get('id')}, whose value the document does not list")
        return row

    def _forms(self) -> list[JSON]:
        rows: dict[str, JSON] = {}
        for call, body in self._of("readFormPolicy"):
            origins = body.get("iframeEmbedAllowedOrigins")
            if isinstance(origins, list):
                id = call.params.get("id", "")
                rows[id] = {"id": id, "iframeEmbedAllowedOrigins": origins}
        return list(rows.values())

    def _messages(self) -> list[JSON]:
        """Return the messages of each chat that arrived before the recording, the oldest first."""
        rows: dict[str, JSON] = {}
        cursors = {parse_qs(call.path.partition("?")[2]).get("cursor", [""])[-1] for call in self._calls}
        for call, body in self._of("listMessages"):
            chat, following = call.params.get("chatId", ""), body.get("nextCursor")
            if following and following not in cursors:
                self._comments.append(f"the messages of {chat} beyond the last page that was read")
            for shown in rows_of(body, "records"):
                created = parse(str(shown.get("createdAt")))
                if created is None or created[0] > self._begin + SECOND:
                    self._comments.append(f"when and why message {shown.get('id')} arrived")
                    continue
                rows.setdefault(str(shown.get("id")), {"chatId": chat, **_message(shown)})
        oldest_first = list(rows.values())
        oldest_first.reverse()  # of equal instants the later one is listed first
        oldest_first.sort(key=lambda row: parse(row["createdAt"]) or (0, True))
        for row in oldest_first:
            if row.get("replyToId") not in rows:
                row.pop("replyToId", None)
        return oldest_first

    def _campaigns(self) -> tuple[list[JSON], list[JSON]]:
        """Return the campaigns that the recording did not create, as it saw them first, and the chats of their runs."""
        rows: dict[str, JSON] = {}
        runs: dict[str, JSON] = {}
        for call, body in self._of("listCampaigns", "readCampaign"):
            for shown in rows_of(body, "campaigns") if call.operation == "listCampaigns" else [body]:
                id = str(shown.get("id"))
                if id in self._created or shown.get("status") not in CAMPAIGN.states:
                    continue
                own = rows.setdefault(id, {})
                own |= {key: shown[key] for key in _OF_CAMPAIGNS if key not in own and shown.get(key) is not None}
                if isinstance(shown.get("filters"), list):
                    own.setdefault("filters", shown["filters"])
                for execution in rows_of(shown, "executions")[:1]:
                    runs.setdefault(id, dict(execution))
        for call in self._calls:
            id = call.params.get("id", "")
            if call.operation in ("startCampaign", "cancelCampaign") and id not in rows and id not in self._created:
                rows[id] = {"id": id}
                self._comments.append(f"campaign {id}, which no answer shows")
        audiences: list[JSON] = []
        for place, (id, own) in enumerate(rows.items()):
            created = self._begin - (place + 1) * SECOND  # in the order in which they are listed
            run = runs.get(id)
            if own.get("status", CAMPAIGN.initial) != CAMPAIGN.initial:
                audiences += self._add_run(own, run)
                started = parse(own.get("startedAt", ""))
                created = min(created, started[0]) if started is not None else created
            own["createdAt"] = format_milliseconds(created)
        return list(rows.values()), audiences

    def _add_run(self, own: JSON, run: Mapping[str, Any] | None) -> list[JSON]:
        """Add its run to a campaign that has been started, and return the chats of the run, which have a tag of their own."""
        id, status = own["id"], own["status"]
        if run is None and status == "canceled":  # as a draft
            return []
        begin = format_milliseconds(self._begin)
        if run is None:
            self._comments.append(f"the execution of campaign {id}, which is listed as {status}")
            run = {"id": f"execution_of_{id}", "startedAt": begin, "targetCount": 0 if status == "completed" else 2}
        own["executionId"] = run.get("id")
        own["startedAt"] = run.get("startedAt") or begin
        if status in ("failed", "canceled"):
            own["completedAt"] = run.get("completedAt") or own["startedAt"]
        statement = {"field": "chat.tagIds", "operator": "has-any", "value": [f"tag_of_{id}"]}
        own["filters"] = [{"combinator": "and", "statements": [statement]}]
        target = run.get("targetCount")
        count = min(target, _TARGETS_MAX) if isinstance(target, int) else 0
        chat = {"platform": own.get("platform", _PLATFORMS[0]), "tagIds": [f"tag_of_{id}"]}
        return [chat] * count


def _entrypoint(shown: Mapping[str, Any], number: int) -> JSON:
    row: JSON = {key: shown[key] for key in _OF_ENTRYPOINTS if shown.get(key) is not None}
    if shown.get("platform") in _PLATFORMS:
        row["platform"] = shown["platform"]
    phone = shown.get("displayPhone")
    if isinstance(phone, str):  # a stand-in need not be a number of the country
        row["displayPhone"] = phone if normalize_phone(phone, _COUNTRY) else f"+55119{number:08}"
    return row


def _template_detail(body: Mapping[str, Any]) -> JSON:
    items: list[JSON] = []
    for shown in rows_of(body, "items"):
        kind = shown.get("type")
        if kind not in words_of_document():
            kind = "image" if shown.get("mediaId") else "text"
        item = {"type": kind, "text": shown.get("text") or ""}
        if shown.get("mediaId"):
            item["mediaId"] = shown["mediaId"]
        items.append(item)
    variables = [
        {key: variable[key] for key in ("key", "label", "required") if key in variable}
        for variable in rows_of(body, "commonVariables")
    ]
    return {"items": items, "variables": variables}


def _message(shown: Mapping[str, Any]) -> JSON:
    """Return a message without what the document does not have: other fields, and unlisted values."""
    names = _fields_of_messages()
    row: JSON = {}
    for key in _OF_MESSAGES:
        if shown.get(key) is not None:
            row[key] = changed(shown[key], lambda part: {name: part[name] for name in part if name in names})
    for key, default in (("type", "text" if shown.get("sender") else "system"), ("status", "delivered")):
        if row.get(key) not in words_of_document():
            row[key] = default
    return row


@cache
def _fields_of_messages() -> frozenset[str]:
    """Return the names of all fields in a list of messages."""
    return frozenset(_names(schemas.load("listMessages.response")))


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", ())
        for inner in schema.values():
            yield from _names(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _names(inner)
