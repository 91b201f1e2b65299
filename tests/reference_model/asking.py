"""Asking the mock and the naive model the same, and holding the answers to each other."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import requests
from flask.testing import FlaskClient
from hypothesis.stateful import RuleBasedStateMachine

from mockserver import MockServer
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.reference_model import naive_answers as answers
from tests.reference_model.draws import LIMITS, TENANTS, naive_tenant, seeds
from tests.reference_model.naive import EPOCH, Campaign, Chat, Refused, Service, Session, Tenant


class Asking(RuleBasedStateMachine):
    """A sandbox next to a model of it; the subclass has `server` and `connection`, a requests session."""

    server: MockServer
    connection: requests.Session

    def __init__(self) -> None:
        super().__init__()
        self.model = Service([naive_tenant(each) for each in TENANTS], LIMITS)
        self.sandbox = self.server.sandbox(
            now="2026-03-01T12:00:00Z",
            given={"tenants": [seeds(each) for each in self.model.tenants]},
            choices={"size-limit-values": LIMITS},
        )
        self.model.now = (self.sandbox.now - EPOCH) // timedelta(microseconds=1)  # between two milliseconds
        self.flask: FlaskClient | None = None
        self.message_ids: dict[str, list[str]] = {}

    # asking and comparing

    def ask(self, transport: str, tenant: Tenant, method: str, path: str, body: JSON | None = None) -> tuple[int, Any]:
        """Status and JSON of a response, over one of the three transports."""
        key = self.sandbox.admin.keys(tenant.id)[0]
        if transport == "socket":
            with self.connection.request(
                method, self.sandbox.base_url + path, json=body, headers={"X-API-Key": key}, timeout=10
            ) as reply:
                return reply.status_code, reply.json() if reply.content else None
        if transport == "flask":
            self.flask = self.flask or self.sandbox.admin.app.test_client()
            opened = self.flask.open(path, method=method, json=body, headers={"X-API-Key": key})
            return opened.status_code, json.loads(opened.data) if opened.data else None
        answer = self.sandbox.call(method, path, key=key, json=body)
        return answer.status, answer.json() if answer.body else None

    def agree(
        self, asked: tuple[int, Any], status: int, expected: Callable[..., Any], *arguments: Any
    ) -> tuple[Any, Any] | None:
        """The success of the mock if the model succeeds, with the result of the model; else the same refusal, and None."""
        found_status, body = asked
        try:
            modelled = expected(*arguments)
        except Refused as refusal:
            assert (refusal.status, refusal.code) == (found_status, body.get("code")), body
            assert {"statusCode", "code", "message"} == set(body) and found_status == body["statusCode"]
            return None
        assert status == found_status, body
        return body, modelled

    def same(self, asked: tuple[int, Any], expected: Callable[..., Any], *arguments: Any) -> None:
        """A read whose whole body the model computes."""
        agreed = self.agree(asked, 200, expected, *arguments)
        assert agreed is None or agreed[0] == agreed[1]

    def pick(self, tenant: Tenant, owner: int, table: str, number: int) -> Any:
        """A record of the caller's or of its neighbour's; None if there is none."""
        position = self.model.tenants.index(tenant) + owner
        records = getattr(self.model.tenants[position % len(TENANTS)], table)
        return records[number % len(records)] if records else None

    def force(self, command: Callable[..., Any], moves: bool) -> None:
        """A control command, which is refused where the record has no such move."""
        try:
            command()
        except ValueError:
            assert not moves
        else:
            assert moves

    # reads that compare everything

    def read_campaign(self, transport: str, tenant: Tenant, campaign: Campaign | None) -> None:
        path = f"/v1/campaigns/{campaign.id if campaign else 'campaign_nowhere'}"
        self.same(self.ask(transport, tenant, "GET", path), answers.campaign_detail, self.model, tenant, campaign)
        wanted = campaign.execution.id if campaign and campaign.execution else "execution_nowhere"
        asked = self.ask(transport, tenant, "GET", f"{path}/executions/{wanted}")
        self.same(asked, answers.execution_progress, self.model, tenant, campaign, wanted)

    def read_messages(self, transport: str, tenant: Tenant, chat: Chat) -> None:
        asked = self.ask(transport, tenant, "GET", f"/v1/messaging/chats/{chat.id}?limit=100")
        agreed = self.agree(asked, 200, answers.message_list, self.model, tenant, chat)
        if agreed:
            body, records = agreed
            ids = [each.pop("id") for each in body["records"]]
            assert {"records": records, "nextCursor": None} == body
            # An id belongs to one message, and a message never moves: newer ones precede it.
            assert self.message_ids.setdefault(chat.id, []) == ids[len(ids) - len(self.message_ids[chat.id]) :]
            self.message_ids[chat.id] = ids
            known = [each for some in self.message_ids.values() for each in some]
            assert len(known) == len(set(known))

    def read_session(self, transport: str, tenant: Tenant, session: Session | None) -> None:
        asked = self.ask(transport, tenant, "GET", f"{SESSIONS}/{session.id if session else 'none'}")
        agreed = self.agree(asked, 200, answers.session_read, self.model, tenant, session)
        if agreed is None or session is None:
            return
        body, modelled = agreed
        assert (body.pop("message", None) is None) == (session.reason is None)
        if body["entrypoint"] is not None and session.entrypoint is not None:
            assert body["entrypoint"].pop("phoneNumberId") and body["entrypoint"].pop("businessAccountId")
            session.entrypoint.id = session.entrypoint.id or body["entrypoint"]["id"]
            modelled["entrypoint"]["id"] = session.entrypoint.id
        assert modelled == body

    # time

    def advance(self, microseconds: int) -> None:
        """Let as much time pass in the mock and in the model."""
        self.sandbox.advance(timedelta(microseconds=microseconds))
        self.model.advance(microseconds)

    def teardown(self) -> None:
        try:
            for wait in (0, 3 * 3600 * 1_000_000):
                self.advance(wait)
                for tenant in self.model.tenants:
                    self.read_everything(tenant)
        finally:
            self.sandbox.close()

    def read_everything(self, tenant: Tenant) -> None:
        transport = "in process"
        self.same(self.ask(transport, tenant, "GET", "/v1/campaigns"), answers.campaign_list, self.model, tenant)
        for campaign in tenant.campaigns:
            self.read_campaign(transport, tenant, campaign)
        for session in tenant.sessions:
            self.read_session(transport, tenant, session)
        for chat in tenant.chats:
            self.read_messages(transport, tenant, chat)
