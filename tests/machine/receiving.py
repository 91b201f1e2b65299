"""The machine around a receiver of events, careful or with a seeded bug."""

from __future__ import annotations

from typing import Any

from hypothesis.stateful import invariant, rule

from mockserver.testing.machine import ON_DELIVERIES, GatewayMachine
from tests.clients.operations import SESSIONS
from tests.clients.planted_receivers import BUGS
from tests.clients.receiving import CarefulReceiver


class Receiving(GatewayMachine):
    """Connection sessions and their webhooks."""

    faults = ON_DELIVERIES
    operator = False
    bug: str | None = None

    def make_client(self) -> CarefulReceiver:
        tenant_id = self.sandbox.state()["tenants"][0]["tenantId"]
        receiver = (CarefulReceiver if self.bug is None else BUGS[self.bug])([], tenant_id)
        judge = CarefulReceiver(receiver.secrets, tenant_id)
        receiver.secrets = judge.secrets
        self.strangers: list[str] = []

        def receive(webhook: Any) -> int:
            status = receiver(webhook)
            if status < 300 and judge(webhook) >= 300:
                self.strangers.append(webhook.json()["event"])
            return status

        receiver.secrets.append(self.sandbox.receive_webhooks(receive).secret)
        return receiver

    @rule()
    def connect(self) -> None:
        self.client.keep(self.sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])

    @invariant()
    def a_session_is_provisioned_once(self) -> None:
        self.client.work()
        welcomed = self.client.welcomed
        assert len(welcomed) == len(set(welcomed)), "an event was taken for two: no dedupe"

    @invariant()
    def only_the_gateway_is_believed(self) -> None:
        assert self.strangers == [], "a forged event was accepted"

    @invariant()
    def connected_numbers_remain_connected(self) -> None:
        self.client.work()
        connected = self.client.number is not None
        assert connected or not self.client.welcomed, "a late event of an old session overwrote the new"
