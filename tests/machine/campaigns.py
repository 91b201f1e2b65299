"""The machine around the client of a CRM: everything it can do, with every rule of conduct on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from mockserver import Sandbox
from mockserver.testing.machine import GatewayMachine
from mockserver.testing.strategies import GIVEN
from tests.clients.planted import BUGS, TROUBLE, Crm, NameTaken

TAKEN = "Já existe"
SINCE = "2020-01-01T00:00:"  # and a second of its own, which distinguishes the launches
MORE = [{"id": f"chat_more_{number}"} for number in range(3)]  # so that a campaign takes its time
MESSAGES = [{"chatId": "chat_ana", "text": f"Mensagem {number}"} for number in range(5)]
# Rules that a client keeps also where an example ends in the middle of its work.
CONDUCT = (
    "duplicate-start", "clone-after-conflict", "rename-after-lost-create", "blind-post-retry", "only-200-is-ok",
    "restart-canceled", "wrong-variable-keys", "cancel-and-forget", "poll-too-fast",
    "poll-final-set-incomplete", "lost-filters", "platform-used-as-audience", "cadence-units",
    "naive-dates", "key-in-wrong-place", "page-early-stop", "ignore-retry-after", "reuse-dead-session",
)  # fmt: skip


class Campaigns(GatewayMachine):
    """The steps of a CRM with the gateway."""

    given: ClassVar[Mapping[str, Any]] = {**GIVEN, "chats": [*GIVEN["chats"], *MORE], "messages": MESSAGES}
    conduct = CONDUCT
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
    bug: str | None = None

    @classmethod
    def prepare(cls, sandbox: Sandbox) -> None:
        body = {"name": TAKEN, "platform": "chatapp", "templateId": "template_internal", "cadence": 60}
        sandbox.call("POST", "/v1/campaigns", json=body)

    def make_client(self) -> Crm:
        self.launched: list[tuple[str, str]] = []
        self.sessions: list[str] = []
        self.names = 0
        client = Crm if self.bug is None else BUGS[self.bug]
        return client(self.sandbox.base_url, self.sandbox.secret_key, self.sandbox.requests_session(), self.sleep)

    def _on_record(self) -> Any:
        return st.sampled_from(self.launched)

    @rule(per_minute=st.one_of(st.sampled_from([1, 5, 60, 5000]), st.integers(1, 600)))
    def launch(self, per_minute: int) -> None:
        self.names += 1
        with suppress(*TROUBLE):
            self.launched.append(
                self.client.launch_since(f"Campanha {self.names}", per_minute, f"{SINCE}{self.names:02d}Z")
            )

    @rule()
    def launch_and_cancel(self) -> None:
        self.launch(1)
        if self.launched:
            self.cancel(self.launched[-1])

    @rule()
    def launch_under_a_taken_name(self) -> None:
        raised: Exception | None = None
        try:
            self.client.launch_since(TAKEN, 60, f"{SINCE}00Z")
        except TROUBLE as trouble:
            raised = trouble
        last = self.sandbox._hosted.sandbox.journal.exchanges[-1]
        if last.operation == "createCampaign" and last.was_received and last.error is not None:
            is_taken = last.error.code == "CAMPAIGN_NAME_ALREADY_EXISTS"
            assert is_taken == isinstance(raised, NameTaken), f"a refusal was misread: {last.error.code} as {raised!r}"

    @precondition(lambda self: self.launched)
    @rule(run=st.runner().flatmap(_on_record))
    def watch(self, run: tuple[str, str]) -> None:
        with suppress(*TROUBLE):
            self.client.follow(*run)

    @precondition(lambda self: self.launched)
    @rule(run=st.runner().flatmap(_on_record))
    def cancel(self, run: tuple[str, str]) -> None:
        with suppress(*TROUBLE):
            self.client.cancel(run[0])

    @rule()
    def connect(self) -> None:
        with suppress(*TROUBLE):
            self.sessions.append(self.client.create_session({})["sessionId"])

    @precondition(lambda self: self.sessions)
    @rule(session=st.runner().flatmap(lambda self: st.sampled_from(self.sessions)))
    def await_connection(self, session: str) -> None:
        with suppress(*TROUBLE):
            self.client.await_session(session, patience_s=60)

    @rule()
    def read_history(self) -> None:
        with suppress(*TROUBLE):
            list(self.client.messages("chat_ana", limit=2))


def with_bug(name: str | None) -> type[Campaigns]:
    """The machine around a client with this bug."""
    return type("Campaigns", (Campaigns,), {"bug": name})
