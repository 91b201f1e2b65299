"""
A scenario with what a recording saw first: seed data, the clock, and the choices that the recording settles.

1. A record is seed data if the recording shows it and does not have its creation.
2. What no answer shows, and what a scenario cannot have, is a comment.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML

from mockserver._json import JSON, View
from mockserver.contract import schemas
from mockserver.contract.filters import PLATFORMS
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core.instants import Instant, format_milliseconds
from mockserver.judge.choices.learning import LearnedChoice
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.trace.exchange import Exchange
from mockserver.trace.sightings import Kind, objects_of, sighted
from mockserver.trace.trace import Trace

_KINDS: Final[tuple[Kind, ...]] = ("campaign", "execution", "session", "template", "entrypoint")
_CHATS_OF_A_RUN: Final = 2  # one is sent to at the start, and one is left
_OF_TEMPLATES: Final = ("id", "name", "description", "createdAt", "updatedAt")
_OF_CAMPAIGNS: Final = ("id", "name", "description", "platform", "templateId", "cadence", "filters", "status")
_STATUSES: Final = schemas.load("templateListEntry")["properties"]["providerTemplateStatus"]["enum"]
_ITEM_TYPES: Final = schemas.load("readTemplate.response")["properties"]["items"]["items"]["properties"]["type"]["enum"]
_OF_ENTRYPOINTS: Final = ("id", "name", "displayName", "funnelStepId", "isCoexistence")


class _Record(NamedTuple):
    """The fields of a record, each as it was shown first, and whether the recording has its creation."""

    fields: JSON
    is_new: bool


Records = Mapping[str, _Record]


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
    Return a scenario with what a recording saw; the key with most calls is that of the first tenant.

    Args:
        recording: As it was read.
        learnt: What the recording shows of the choices.
    """
    comments: list[str] = []
    begin = format_milliseconds(_begin(recording))
    keys = sorted(recording.by_key, key=lambda key: -len(recording.by_key[key]))
    seeds = [_given(recording, key, begin, comments) for key in keys]
    first, *others = list(filter(None, seeds)) or [{}]
    tenants = [{"id": f"tenant_{number}", **seed} for number, seed in enumerate(others, 2)]
    document: JSON = {
        "scenario": "recording",
        "choices": {row.id: row.options[0] for row in learnt if row.state == "settled"},
        "clock": {"freeze": begin},
        "given": _without_empty({**first, "tenants": tenants}),
    }
    document = _valid(_without_empty(document), comments)
    return SeededScenario(document, tuple(dict.fromkeys(comments)))


def _without_empty(values: View) -> JSON:
    return {key: value for key, value in values.items() if value}


def _begin(recording: Trace) -> Instant:
    """Return the instant of the first call by the service's clock, by the recorder's if no answer has a date."""
    dates = [call.date for call in recording.exchanges if call.date is not None]
    starts = [call.sent_at for call in recording.exchanges if call.is_timed]
    return [*dates, *starts, 0][0]


def _valid(document: JSON, comments: list[str]) -> JSON:
    """Return the document without the entries that it cannot have; each of them is a comment."""
    while True:
        try:
            SandboxHost().create(SandboxConfig(document))
            return document
        except ScenarioError as refused:
            problem = refused.problems[0]
            steps = problem.path.strip("/").split("/")
            if not _drop(document, steps):
                raise
            comments.append(f"how the service has {'/'.join(steps[:4])}, which is left out: {problem}")


def _drop(document: Any, steps: Sequence[str]) -> bool:
    """Remove the entry of the first list on a path; return False if the path has no entry of a list."""
    for step in steps:
        if isinstance(document, list):
            del document[int(step)]
            return True
        document = document.get(step, {})
    return False


def _given(recording: Trace, key: str | None, begin: str, comments: list[str]) -> JSON:
    """Return the seed data of the tenant of a key, by kind."""
    campaigns, executions, sessions, templates, entrypoints = (_of_key(recording, kind, key) for kind in _KINDS)
    connected = [row.fields.get("entrypoint") for row in sessions.values() if row.is_new]
    new = [entrypoint.get("id") for entrypoint in connected if isinstance(entrypoint, dict)]
    comments += [f"session {id}: a scenario has no sessions" for id in sorted(sessions) if not sessions[id].is_new]
    seeded = _campaigns(campaigns, executions, begin, comments)
    read = [call.params["chatId"] for call in recording.lists_of("message") if call.succeeded and call.key == key]
    chats: list[JSON] = [{"id": id} for id in dict.fromkeys(read)]
    if any("executionId" in entry for entry in seeded):
        chats += [{} for _ in range(len(chats), _CHATS_OF_A_RUN)]
    entries = [_entrypoint(row.fields, number) for number, row in enumerate(entrypoints.values())]
    return _without_empty(
        {
            "funnels": _funnels(row.fields for row in (*sessions.values(), *entrypoints.values())),
            "entrypoints": [entry for entry in entries if entry["id"] not in new],
            "templates": _templates(templates, campaigns, comments),
            "chats": chats,
            "campaigns": seeded,
        }
    )


def _of_key(recording: Trace, kind: Kind, key: str | None) -> Records:
    """Return what successes of one key show; a refusal shows no field."""
    found: dict[str, _Record] = {}
    for id, rows in sighted(recording, kind).items():
        own = [row for row in rows if isinstance(row.cited, Exchange) and row.cited.key == key and row.how != "refused"]
        fields: JSON = {}
        for row in reversed(own):
            fields |= _present(row.shown, row.shown)
        if own:
            found[id] = _Record(fields, id in recording.records.created)
    return found


def _present(shown: View, keys: Iterable[str]) -> JSON:
    """Return these fields as far as they have a value."""
    return {key: shown[key] for key in keys if shown.get(key) is not None}


def _funnels(linked: Iterable[View]) -> list[JSON]:
    """Return the funnels and steps that entrypoints and accepted sessions name; some answers show the step alone."""
    funnels: dict[str, str] = {}
    for shown in linked:
        link = shown.get("sent") or shown
        step, funnel = link.get("funnelStepId"), link.get("funnelId")
        if isinstance(step, str) and (isinstance(funnel, str) or step not in funnels):
            funnels[step] = funnel if isinstance(funnel, str) else f"funnel_of_{step}"
    steps: dict[str, list[JSON]] = defaultdict(list)
    for step, funnel in funnels.items():
        steps[funnel].append({"id": step})
    return [{"id": funnel, "steps": rows} for funnel, rows in steps.items()]


def _entrypoint(shown: View, number: int) -> JSON:
    """Return an entrypoint with another number than its own, which is one of the country."""
    entry = _present(shown, _OF_ENTRYPOINTS)
    if shown.get("platform") in PLATFORMS:
        entry["platform"] = shown["platform"]
    if shown.get("displayPhone"):
        entry["displayPhone"] = f"+55119{number:08}"
    return entry


def _templates(templates: Records, campaigns: Records, comments: list[str]) -> list[JSON]:
    """Return the templates that are listed, read, or named by a campaign, which has one."""
    entries = {id: _template(row.fields, comments) for id, row in templates.items()}
    named = [row.fields["templateId"] for row in campaigns.values() if "templateId" in row.fields]
    for id in map(str, named):
        if id not in entries:
            entries[id] = {"id": id}
            comments.append(f"template {id}, which no answer shows")
    if campaigns and not entries:
        return [{"id": "template_of_campaigns"}]
    return list(entries.values())


def _template(shown: View, comments: list[str]) -> JSON:
    status = shown.get("providerTemplateStatus")
    entry = _present(shown, _OF_TEMPLATES)
    if shown.get("isOfficial"):
        entry["isOfficial"] = True
    elif status:
        is_listed = status in _STATUSES
        entry["providerTemplateStatus"] = status if is_listed else "PENDING"
        comments += [] if is_listed else [f"the status of template {shown['id']}, which the document does not list"]
    if "items" in shown:
        entry["items"] = list(map(_item, objects_of(shown, "items")))
        variables = objects_of(shown, "commonVariables")
        entry["variables"] = [_present(variable, ("key", "label", "required")) for variable in variables]
    return entry


def _item(shown: View) -> JSON:
    kind = "image" if shown.get("mediaId") else "text"
    is_listed = shown.get("type") in _ITEM_TYPES
    return {"type": shown["type"] if is_listed else kind, **_present(shown, ("text", "mediaId"))}


def _campaigns(campaigns: Records, executions: Records, begin: str, comments: list[str]) -> list[JSON]:
    """Return the campaigns that the recording did not create, in the state in which they were seen first."""
    runs = {row.fields["campaignId"]: id for id, row in executions.items() if not row.is_new}
    entries: list[JSON] = []
    for id, row in campaigns.items():
        if row.is_new:
            continue
        entry = {**_present(row.fields, _OF_CAMPAIGNS), "id": id}
        entries.append(entry)
        if not row.fields:
            comments.append(f"campaign {id}, which no answer shows")
        status = entry.get("status", CAMPAIGN.initial)
        if status == CAMPAIGN.initial or (status == "canceled" and id not in runs):
            continue
        if id not in runs:
            comments.append(f"the execution of campaign {id}, which is listed as {status}")
        entry["executionId"] = runs.get(id, f"execution_of_{id}")
        if status != "completed":
            comments.append(f"the audience of campaign {id}, which has all chats")
            entry["startedAt"] = begin
            entry.pop("filters", None)
    return entries
