"""A small receiver of events, right in all that is asked of one, with bugs to plant; and the machine around it."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from typing import Any

from hypothesis.stateful import invariant, rule

from mockserver.testing.machine import ON_DELIVERIES, GatewayMachine

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
TOLERANCE_S = 300
BUGS = {
    "no-dedupe": "does everything again when an event comes again",
    "forged-accepted": "acknowledges an event without looking at its signature",
    "late-event-overwrites": "takes the late failure of an old session for the end of the connection",
}


class Receiver:
    """Keeps whether the account is connected, and how often each session was provisioned."""

    def __init__(self, bug: str | None) -> None:
        self.bug, self.secret, self.tenant = bug, "", ""
        self.seen: set[str] = set()
        self.provisioned: dict[str, int] = {}
        self.known: set[str] = set()
        self.strangers: list[str] = []
        self.connected = False

    def __call__(self, letter: Any) -> int:
        headers = {name.lower(): value for name, value in letter.headers.items()}
        if self.bug != "forged-accepted" and not self.is_genuine(headers, letter.body):
            return 401
        event = letter.json()
        if headers.get("webhook-id", "") in self.seen and self.bug != "no-dedupe":
            return 200
        self.seen.add(headers.get("webhook-id", ""))
        if not self.is_genuine(headers, letter.body):
            self.strangers.append(event["event"])
        session = event["data"]["sessionId"]
        if event["event"] == "entrypoints.chatapp.connected":
            self.provisioned[session] = self.provisioned.get(session, 0) + 1
            self.connected = True
        elif self.bug == "late-event-overwrites":
            self.connected = False
        return 200

    def is_genuine(self, headers: dict[str, str], body: bytes) -> bool:
        """True where it is signed, of now, and about the own tenant: a signature tells nothing of whose event it is."""
        try:
            age = abs(time.time() - int(headers["webhook-timestamp"]))
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        except (KeyError, ValueError):
            return False
        mac = b64encode(
            hmac.new(b64decode(self.secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
        ).decode()
        given = [each.removeprefix("v1,") for each in headers.get("webhook-signature", "").split()]
        return age <= TOLERANCE_S and mac in given and self.is_own(json.loads(body)["data"])

    def is_own(self, data: dict[str, Any]) -> bool:
        """A signature does not say whose event it is; failures name no tenant."""
        return bool(data.get("tenantId", self.tenant) == self.tenant)


class Receiving(GatewayMachine):
    """Connection sessions and what comes of them by webhook."""

    faults = ON_DELIVERIES
    operator = False
    failures = None
    bug: str | None = None

    def make_client(self) -> Receiver:
        receiver = Receiver(self.bug)
        receiver.secret = self.sandbox.receive_webhooks(receiver).secret
        receiver.tenant = self.sandbox.state()["tenants"][0]["tenantId"]
        return receiver

    @rule()
    def connect(self) -> None:
        self.sandbox.call("POST", SESSIONS, json={})

    @invariant()
    def a_session_is_provisioned_once(self) -> None:
        assert all(count == 1 for count in self.client.provisioned.values()), "an event was taken for two: no dedupe"

    @invariant()
    def only_the_gateway_is_believed(self) -> None:
        assert self.client.strangers == [], "a forged event was accepted"

    @invariant()
    def what_is_connected_stays_so(self) -> None:
        assert self.client.connected or not self.client.provisioned, "a late event of an old session overwrote the new"


SHOWS = {
    "no-dedupe": "an event was taken for two",
    "forged-accepted": "a forged event was accepted",
    "late-event-overwrites": "a late event of an old session overwrote the new",
}
