"""The mock answers as the naive model does, for any calls in any order, over each of its transports."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import requests
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from mockserver import MockServer
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.reference_model import naive_answers as answers
from tests.reference_model.asking import Asking
from tests.reference_model.draws import (
    BODIES,
    CHATS,
    CONNECTIONS,
    FILTERS,
    GOOD_BODIES,
    PHONES,
    VARIABLES,
    WAITS,
    naive_chat,
)

TEMPLATES = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 3, 4])
TRANSPORTS = st.sampled_from(["in process"] * 6 + ["flask", "socket"])
TENANT = st.sampled_from([0, 0, 0, 0, 1, 1, 2])
NUMBER = st.integers(0, 5)
# Whose record is meant: mostly the caller's own.
OWNER = st.sampled_from([0, 0, 0, 0, 1])


def some(table: str) -> Callable[..., Any]:
    """Only where some tenant has a record of this table."""
    return precondition(lambda self: any(getattr(tenant, table) for tenant in self.model.tenants))


class Machine(Asking):
    """Every rule calls the mock and the model, and compares."""

    # campaigns

    @initialize(bodies=st.lists(GOOD_BODIES, min_size=1, max_size=3), connection=CONNECTIONS, starts=st.booleans())
    def begin(self, bodies: list[JSON], connection: JSON, starts: bool) -> None:
        for body in bodies:
            self.create("in process", 0, 0, 0, body)
            if starts:
                self.start("in process", 0, 0, -1, {})
        self.connect("in process", 0, connection)

    @rule(transport=TRANSPORTS, which=TENANT, template=TEMPLATES, body=GOOD_BODIES, variables=VARIABLES)
    def create_and_start(self, transport: str, which: int, template: int, body: JSON, variables: JSON) -> None:
        self.create(transport, which, 0, template, body)
        self.start(transport, which, 0, -1, variables)

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, template=TEMPLATES, body=BODIES)
    def create(self, transport: str, which: int, owner: int, template: int, body: JSON) -> None:
        tenant = self.model.tenants[which]
        templates = [*self.model.tenants[(which + owner) % len(self.model.tenants)].templates, "template_nowhere"]
        body = {**body, "templateId": templates[template]}
        agreed = self.agree(
            self.ask(transport, tenant, "POST", "/v1/campaigns", body), 201, self.model.create, tenant, body
        )
        if agreed:
            answer, campaign = agreed
            assert {"campaignId": answer["campaignId"], "status": "draft"} == answer
            campaign.id = answer["campaignId"]

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, number=NUMBER, variables=VARIABLES)
    @some("campaigns")
    def start(self, transport: str, which: int, owner: int, number: int, variables: JSON) -> None:
        tenant = self.model.tenants[which]
        campaign = self.pick(tenant, owner, "campaigns", number)
        path = f"/v1/campaigns/{campaign.id if campaign else 'campaign_nowhere'}/start"
        asked = self.ask(transport, tenant, "POST", path, {"commonVariables": variables} if variables else None)
        agreed = self.agree(asked, 202, self.model.start, tenant, campaign, variables)
        if agreed:
            answer, execution = agreed
            assert {"executionId": answer["executionId"], "status": "processing"} == answer
            execution.id = answer["executionId"]

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, number=NUMBER)
    @some("campaigns")
    def cancel(self, transport: str, which: int, owner: int, number: int) -> None:
        tenant = self.model.tenants[which]
        campaign = self.pick(tenant, owner, "campaigns", number)
        path = f"/v1/campaigns/{campaign.id if campaign else 'campaign_nowhere'}/cancel"
        agreed = self.agree(self.ask(transport, tenant, "POST", path), 204, self.model.cancel, tenant, campaign)
        assert agreed in (None, (None, None))

    @rule(which=TENANT, number=NUMBER)
    @some("campaigns")
    def fail(self, which: int, number: int) -> None:
        campaign = self.pick(self.model.tenants[which], 0, "campaigns", number)
        self.force(
            lambda: self.sandbox.admin.fail_campaign(campaign.id if campaign else "none"), self.model.fail(campaign)
        )

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, number=NUMBER)
    @some("campaigns")
    def read(self, transport: str, which: int, owner: int, number: int) -> None:
        tenant = self.model.tenants[which]
        self.read_campaign(transport, tenant, self.pick(tenant, owner, "campaigns", number))

    @rule(transport=TRANSPORTS, which=TENANT)
    def list(self, transport: str, which: int) -> None:
        tenant = self.model.tenants[which]
        self.same(self.ask(transport, tenant, "GET", "/v1/campaigns"), answers.campaign_list, self.model, tenant)

    # audiences and chats

    @rule(transport=TRANSPORTS, which=TENANT, body=FILTERS)
    def preview(self, transport: str, which: int, body: JSON) -> None:
        tenant = self.model.tenants[which]
        asked = self.ask(transport, tenant, "POST", "/v1/campaigns/audience-preview", body)
        self.same(asked, answers.preview, self.model, tenant, body)

    @rule(which=TENANT, entry=st.sampled_from(CHATS))
    def add_chat(self, which: int, entry: JSON) -> None:
        tenant = self.model.tenants[which]
        chat_id = f"chat_{tenant.id}_{len(tenant.chats)}"
        self.sandbox.apply({"given": {"tenants": [{"id": tenant.id, "chats": [{"id": chat_id, **entry}]}]}})
        tenant.chats.append(naive_chat(chat_id, entry))

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, number=NUMBER)
    def messages(self, transport: str, which: int, owner: int, number: int) -> None:
        tenant = self.model.tenants[which]
        self.read_messages(transport, tenant, self.pick(tenant, owner, "chats", number))

    # sessions

    @rule(transport=TRANSPORTS, which=TENANT, body=CONNECTIONS)
    def connect(self, transport: str, which: int, body: JSON) -> None:
        tenant = self.model.tenants[which]
        agreed = self.agree(self.ask(transport, tenant, "POST", SESSIONS, body), 202, self.model.connect, tenant, body)
        if agreed:
            answer, session = agreed
            expires = self.sandbox.now + timedelta(minutes=20)
            assert "pending" == answer["status"]
            assert expires.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z" == answer["expiresAt"]
            assert answer["sessionId"] not in answer["url"]
            session.id = answer["sessionId"]

    @rule(which=TENANT, number=NUMBER, phone=st.sampled_from(PHONES))
    @some("sessions")
    def complete(self, which: int, number: int, phone: str) -> None:
        session = self.pick(self.model.tenants[which], 0, "sessions", number)
        known = session is None or session.body.get("funnelStepId") in (None, *session.tenant.steps)
        phone = phone if known else "+5511911111111"  # the order of the two reasons is not documented
        session_id = session.id if session else "none"
        self.force(lambda: self.sandbox.complete_session(session_id, phone=phone), self.model.complete(session, phone))

    @rule(transport=TRANSPORTS, which=TENANT, body=CONNECTIONS, phone=st.sampled_from(PHONES))
    def connect_and_complete(self, transport: str, which: int, body: JSON, phone: str) -> None:
        self.connect(transport, which, body)
        self.complete(which, -1, phone)

    @rule(which=TENANT, number=NUMBER, reason=st.sampled_from(["token_exchange_failed", "phone_in_use", "expired"]))
    @some("sessions")
    def end_session(self, which: int, number: int, reason: str) -> None:
        session = self.pick(self.model.tenants[which], 0, "sessions", number)
        session_id = session.id if session else "none"
        if reason == "expired":
            self.force(lambda: self.sandbox.expire_session(session_id), self.model.end_session(session, reason))
        else:
            self.force(
                lambda: self.sandbox.fail_session(session_id, reason=reason), self.model.end_session(session, reason)
            )

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, number=NUMBER)
    @some("sessions")
    def read_sessions(self, transport: str, which: int, owner: int, number: int) -> None:
        tenant = self.model.tenants[which]
        self.read_session(transport, tenant, self.pick(tenant, owner, "sessions", number))

    @rule(transport=TRANSPORTS, which=TENANT, owner=OWNER, number=NUMBER)
    @some("entrypoints")
    def read_entrypoint(self, transport: str, which: int, owner: int, number: int) -> None:
        tenant = self.model.tenants[which]
        entrypoint = self.pick(tenant, owner, "entrypoints", number)
        if entrypoint is not None and not entrypoint.id:
            self.read_session(transport, entrypoint.session.tenant, entrypoint.session)
        asked = self.ask(transport, tenant, "GET", f"/v1/entrypoints/{entrypoint.id if entrypoint else 'none'}")
        self.same(asked, answers.entrypoint_read, self.model, tenant, entrypoint)

    # time

    @rule(microseconds=WAITS)
    def wait(self, microseconds: int) -> None:
        self.advance(microseconds)

    @rule(near=st.sampled_from([-1, 0, 1]), then=st.integers(1, 4))
    @precondition(lambda self: self.model.due_us() is not None)
    def advance_to_the_next_happening(self, near: int, then: int) -> None:
        for _ in range(then):
            due = self.model.due_us()
            self.advance(max(0, (due or 0) + near - self.model.now))


def test_the_mock_answers_as_the_naive_model_does(mockserver_server: MockServer) -> None:
    with requests.Session() as connection:
        machine = type("Machine", (Machine,), {"server": mockserver_server, "connection": connection})
        run_state_machine_as_test(machine, settings=settings(stateful_step_count=20))
