"""The machine around the small client: everything it can do, with every invariant on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from mockserver import Sandbox
from mockserver.conduct.evidence import was_received
from mockserver.testing.machine import INVARIANTS, GatewayMachine
from mockserver.testing.strategies import GIVEN
from tests.machine.client import Client, NameTaken, Trouble

TAKEN = "Já existe"
SINCE = "2020-01-01T00:00:"  # and a second of its own, which tells one launch from the next
MORE = [{"id": f"chat_more_{number}"} for number in range(3)]  # so that a campaign takes its time
MESSAGES = [{"chatId": "chat_ana", "text": f"Mensagem {number}"} for number in range(5)]


class Campaigns(GatewayMachine):
    """What a CRM does with the gateway."""

    given: ClassVar[Mapping[str, Any]] = {**GIVEN, "chats": [*GIVEN["chats"], *MORE], "messages": MESSAGES}
    invariants = tuple(INVARIANTS)
    fault_operations = (
        "startCampaign",
        "createCampaign",
        "cancelCampaign",
        "createConnectionSession",
        "readExecution",
        "readCampaign",
        "readConnectionSession",
    )
    varied = ("message-text", "dual-status", "success-status", "short-pages")
    failures = None
    bug: str | None = None

    @classmethod
    def prepare(cls, sandbox: Sandbox) -> None:
        body = {"name": TAKEN, "platform": "chatapp", "templateId": "template_internal", "cadence": 60}
        sandbox.call("POST", "/v1/campaigns", json=body)

    def make_client(self) -> Client:
        self.launched: list[tuple[str, str]] = []
        self.sessions: list[str] = []
        self.names = 0
        return Client(self.sandbox, self.sleep, self.bug)

    def _on_record(self) -> Any:
        return st.sampled_from(self.launched)

    @rule(per_minute=st.one_of(st.sampled_from([1, 5, 60, 5000]), st.integers(1, 600)))
    def launch(self, per_minute: int) -> None:
        self.names += 1
        with suppress(Trouble):
            campaign, execution = self.client.launch(f"Campanha {self.names}", per_minute, f"{SINCE}{self.names:02d}Z")
            if execution is not None:
                self.launched.append((campaign, execution))

    @rule()
    def launch_under_a_taken_name(self) -> None:
        told: Exception | None = None
        try:
            self.client.launch(TAKEN, 60, f"{SINCE}00Z")
        except Trouble as trouble:
            told = trouble
        last = self.sandbox._hosted.sandbox.journal.exchanges[-1]
        if last.operation == "createCampaign" and was_received(last) and last.error is not None:
            is_taken = last.error.code == "CAMPAIGN_NAME_ALREADY_EXISTS"
            assert is_taken == isinstance(told, NameTaken), f"a refusal was misread: {last.error.code} as {told!r}"

    @precondition(lambda self: self.launched)
    @rule(run=st.runner().flatmap(_on_record))
    def watch(self, run: tuple[str, str]) -> None:
        with suppress(Trouble):
            self.client.watch(*run)

    @precondition(lambda self: self.launched)
    @rule(run=st.runner().flatmap(_on_record))
    def cancel(self, run: tuple[str, str]) -> None:
        with suppress(Trouble):
            self.client.cancel(run[0])

    @rule()
    def connect(self) -> None:
        with suppress(Trouble):
            self.sessions.append(self.client.connect())

    @precondition(lambda self: self.sessions)
    @rule(session=st.runner().flatmap(lambda self: st.sampled_from(self.sessions)))
    def await_connection(self, session: str) -> None:
        with suppress(Trouble):
            self.client.await_connection(session)

    @rule()
    def read_history(self) -> None:
        with suppress(Trouble):
            self.client.history("chat_ana")


def with_bug(name: str | None) -> type[Campaigns]:
    """The machine around a client with this bug."""
    return type("Campaigns", (Campaigns,), {"bug": name})
