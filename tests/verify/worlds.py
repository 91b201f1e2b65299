"""The fixtures of the tests of `verify`: a population that shows every observable choice, a fake clock, a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mockserver import Sandbox
from mockserver.contract.choices import DEFAULTS
from mockserver.verify.context import RunSettings
from mockserver.verify.coverage import OBSERVABLE, Observability
from mockserver.verify.report import VerifyReport
from mockserver.verify.run import verify
from mockserver.verify.transport import RateLimiter

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

# Points that a run cannot observe in a single sandbox; they have tests of their own.
APART = frozenset({"subscription-scope", "rate-limit-headers"})
LEARNT = [row for row in OBSERVABLE.values() if row.choice not in APART]


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


def run(sandbox: Any, transport: Any = None, rate: float = 10, **changes: Any) -> VerifyReport:
    """The report of a run in process, whose seconds are not the wall's."""
    clock = FakeClock()
    return verify(
        transport or sandbox,
        settings(sandbox, **changes),
        RateLimiter(rate, clock, clock.sleep),
        "http://service.example",
    )


def shows(row: Observability, chosen: Mapping[str, object]) -> bool:
    """Return True if a sandbox with these choices shows the option of this one."""
    value = {**DEFAULTS, **chosen}
    under = all(value[choice] in options for choice, options in row.when)
    return under and (not row.distinguishes or value[row.choice] in row.distinguishes)


def learnable(chosen: Mapping[str, object]) -> dict[str, object]:
    """The options that a run must observe on a sandbox with these choices."""
    value = {**DEFAULTS, **chosen}
    return {row.choice: value[row.choice] for row in LEARNT if shows(row, chosen)}


def wrongly_learnt(report: VerifyReport, chosen: Mapping[str, object]) -> dict[str, object]:
    """Choices that a run takes for others."""
    value = {**DEFAULTS, **chosen}
    return {id: option for id, option in report.profile.items() if value[id] != option}
