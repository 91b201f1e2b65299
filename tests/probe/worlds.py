"""The fixtures of the tests of `probe`: a population that shows most choices, a fake clock, a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from mockserver import Sandbox
from mockserver.contract.choices import DEFAULTS
from mockserver.probe.context import RunSettings
from mockserver.probe.run import ProbeRun, run_probes
from mockserver.probe.transport import RateLimiter
from mockserver.report.recording import RecordingReport, lines

NOW = "2026-03-01T12:00:00Z"
OTHER_TENANT = "tenant_vizinha"
IDS = {"chat": "chat_helena", "form": "form_primeira_consulta"}
# The demo has no chat whose text is there and empty, and no three chats that a campaign could be stopped in the midst of.
MORE_CHATS = [{"id": "chat_vazio", "name": "Sem motivo", "attentionReason": ""}] + [
    {"id": f"chat_terco_{n}", "name": f"Terço {n}", "platform": "chatapp_lite", "tagIds": ["tag_terco"]}
    for n in (1, 2, 3)
]
THIRDS = [
    {"combinator": "and", "statements": [{"field": "chat.tagIds", "operator": "has-any", "value": ["tag_terco"]}]}
]


class FakeClock:
    """Seconds that pass only by sleeping."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds


@contextmanager
def world(server: Any, choices: Mapping[str, object] | None = None) -> Iterator[Sandbox]:
    """A sandbox on the demo with more chats, and a history of campaigns that ended half-way."""
    with server.sandbox("demo", choices=dict(choices or {}), now=NOW, given={"chats": MORE_CHATS}) as sandbox:
        _history(sandbox)
        yield sandbox


def connected(sandbox: Any) -> str:
    """The id of an entrypoint with a phone number and without a funnel, made as an end user makes it."""
    session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    entrypoint_id: str = sandbox.complete_session(session["sessionId"])["entrypoint"]["id"]
    return entrypoint_id


def _history(sandbox: Any) -> None:
    for name, minutes, end in (("one third", 0, "fail"), ("two thirds", 1, "fail"), ("canceled", 0, "cancel")):
        body = {
            "name": name,
            "platform": "chatapp_lite",
            "templateId": "template_atualizacao_cadastro",
            "cadence": 1,
            "filters": THIRDS,
        }
        id = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
        assert sandbox.call("POST", f"/v1/campaigns/{id}/start", json={}).status in (200, 201, 202)
        if minutes:
            sandbox.advance(minutes=minutes)
        if end == "fail":
            sandbox.admin.fail_campaign(id)
        else:
            assert sandbox.call("POST", f"/v1/campaigns/{id}/cancel").status == 204
        sandbox.advance(seconds=30)


def settings(sandbox: Any, **changes: Any) -> RunSettings:
    """Everything that a run can be given."""
    everything = {
        "key": sandbox.secret_key,
        "tag": "t35t",
        "public_key": sandbox.public_key,
        "other_key": sandbox.admin.keys(OTHER_TENANT)[0],
        "allow_writes": True,
        "allow_sends": True,
        **IDS,
    }
    if "entrypoint" not in changes:
        changes = changes | {"entrypoint": connected(sandbox)}
    return RunSettings(**(everything | changes))


class Probed(NamedTuple):
    """What a run did, and what its answers show."""

    run: ProbeRun
    report: RecordingReport

    @property
    def broken(self) -> list[str]:
        return [clause.id for clause in self.report.service.broken]

    @property
    def learnt(self) -> dict[str, tuple[str, ...]]:
        """The options that remain of each choice of which some are excluded."""
        return {choice.id: choice.options for choice in self.report.choices if choice.state != "not-shown"}

    @property
    def printed(self) -> list[str]:
        """The report as text and as JSON."""
        return ["\n".join(lines(self.report)), json.dumps(self.report.as_json() | self.run.as_json())]


def run(sandbox: Any, transport: Any = None, rate: float = 10, **changes: Any) -> Probed:
    """A run in process, whose seconds are not the wall's, and its report."""
    clock = FakeClock()
    probed = run_probes(
        transport or sandbox,
        settings(sandbox, **changes),
        RateLimiter(rate, clock, clock.sleep),
        "http://service.example",
    )
    return Probed(probed, RecordingReport(probed.recording))


def wrongly_learnt(probed: Probed, chosen: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Choices that a run takes for others, or finds contradicted."""
    value = {**DEFAULTS, **chosen}
    return {id: options for id, options in probed.learnt.items() if value[id] not in options}
