"""The control plane responds to any request with JSON, and never with a failure of the mock."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.scenario import library
from mockserver.server import app as flask_app
from mockserver.server.control.commands import Route
from mockserver.server.control.routes import ROUTES
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from tests.clients.operations import SESSIONS
from tests.depth import at_depth
from tests.harness.rows import each_row
from tests.operations.world import DRAFT, GIVEN
from tests.server.hostile import HEADERS, Request, check, send, strict_json, targets, written

JSON = {"Accept": "application/json"}
WEBHOOK = {"url": "http://127.0.0.1:9/hook"}
SEED = {**GIVEN, "webhooks": [WEBHOOK]}
RULE = {
    "on": "createCampaign",
    "where": {"body.name": "x"},
    "do": {"reply": {"status": 500, "body": {"a": [1]}}},
}
DOCUMENT = {"scenario": "a", "seed": 1, "choices": {"dual-status": "guide"}, "clock": {"freeze": "2026-03-01T12:00:00Z"},
            "given": {"chats": [{"id": "chat_z", "monetization": 1.5, "custom": {"a": "b"}}], "forms": [{"id": "form_z"}]},
            "script": [RULE, {"at": "5s", "do": {"advance": "1s"}}]}  # fmt: skip

# A lawful body for each route that takes one.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/_mock/sandboxes"): {"scenario": DOCUMENT, "seed": 3, "choices": {"list-order": "shuffled", "media-max-files": 2},
                                   "clock": {"follow": True}, "given": GIVEN, "profile": "guide", "labels": {"job": "1"}},
    ("PUT", "/_mock/clock"): {"freeze": "2026-03-02T12:00:00Z"},
    ("POST", "/_mock/clock/advance"): {"by": "20m"},
    ("PATCH", "/_mock/choices"): {"dual-status": "guide", "rate-limit-numbers": {"requests": 5, "per": "10s"}, "media-max-size": {"image": 5}},
    ("POST", "/_mock/rules"): [{"on": "listCampaigns", "nth": 2, "do": {"drop": "after"}}],
    ("POST", "/_mock/scenarios"): {**DOCUMENT, "clock": {"freeze": "2026-03-01T12:00:00Z"}},
    ("PATCH", "/_mock/tenants/{id}"): {"developersEnabled": True, "subscription": "active", "name": "A"},
    ("POST", "/_mock/journal/verify"): {"operation": "createCampaign", "atLeast": 1, "where": {"body.name": "~a", "query.x": ">=1", "path.id": 1}},
    ("POST", "/_mock/sessions/{sessionId}/complete"): {"phone": "+5511999990000", "name": "A"},
    ("POST", "/_mock/sessions/{sessionId}/fail"): {"reason": "phone_in_use"},
    ("POST", "/_mock/webhooks"): {**WEBHOOK, "events": ["entrypoints"], "secret": "whsec_abcdefghijklmnop", "tenantId": "tenant_default"},
    ("POST", "/_mock/webhooks/{id}/rotate"): {"secret": "whsec_abcdefghijklmnop"},
    ("POST", "/_mock/calls"): {"method": "POST", "path": "/v1/campaigns?limit=1", "headers": {"x-api-key": "sk_a", "content-type": "application/json"},
                               "bodyBase64": "e30=", "timeout": "30s"},
}  # fmt: skip
QUERY = ("colour", "id", "sessionId")  # parameters that no query has
VIEWS = [
    route.path
    for route in ROUTES
    if route.method == "GET"
    and "{" not in route.path
    and route.form == "json"
    and route.id not in ("readSample", "readOpenapi")
]


class World:
    """A host with a default sandbox in which each kind of record is; made for one example, or for all that only read."""

    def __init__(self) -> None:
        self.host = SandboxHost()
        self.hosted = self.host.create(
            SandboxConfig(given=SEED, clock={"freeze": "2026-03-01T12:00:00Z"}), id=DEFAULT_ID
        )
        self.app = flask_app.build(self.host)
        self.key = self.hosted.tenant.secret_key
        self.session_id = self.api("POST", SESSIONS, {}).get("sessionId", "")
        self.webhook_id = next(iter(self.hosted.tenant.webhooks))
        self.campaign_id = self.api("POST", "/v1/campaigns", DRAFT).get("campaignId", "")

    def api(self, method: str, path: str, body: Any) -> Any:
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = Request(method, path, headers, content)
        return check(send(self.app, request), request)

    @property
    def known(self) -> dict[str, tuple[str, ...]]:
        return {
            "{sessionId}": (self.session_id,),
            "{id}": (self.campaign_id, "tenant_default", self.webhook_id, "checkpoint_1", "default"),
        }

    def check_views(self) -> None:
        for path in VIEWS:
            request = Request("GET", path, JSON)
            answer = send(self.app, request)
            assert check(answer, request) is not None
            assert answer.status in (200, 409), (path, answer)


@pytest.fixture(scope="module")
def read_world() -> World:
    """One world for the commands that only read, since to make a world takes longer than a command."""
    return World()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@given(data=st.data())
@settings(
    max_examples=at_depth(3, 40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
def test_no_value_of_a_control_call_makes_the_mock_fail(read_world: World, route: Route, data: st.DataObject) -> None:
    world = read_world if route.method == "GET" else World()
    lawful = BODIES.get((route.method, route.path))
    request = Request(
        route.method,
        data.draw(targets(route.path, world.known, (*route.query_names, *QUERY))),
        data.draw(HEADERS),
        data.draw(written(lawful if lawful is not None else {}) | st.just(b"")),
    )
    check(send(world.app, request), request)
    if route.method != "GET":
        world.check_views()


@given(data=st.data(), name=st.sampled_from(sorted(library.paths())))
@settings(
    max_examples=at_depth(5, 400),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
def test_no_part_of_a_scenario_makes_the_mock_fail(name: str, data: st.DataObject) -> None:
    world = World()
    request = Request("POST", "/_mock/scenarios", {}, data.draw(written(library.document(name))))
    check(send(world.app, request), request)
    world.check_views()


HOSTILE_BODIES = [b'{"a": 1e999}', b'{"a": -1e999}', b'{"a": NaN}', b"[Infinity]", b'"\\ud800"', b'{"\\udfff": 1}', b"\xff\xfe",
                  b'{"a": ' + b"1" * 4_000 + b"}", b'{"a": ' + b"1" * 6_000 + b"}", b"[" * 100, b"1e-999", b'{"name": 1e999}']  # fmt: skip


@each_row("body", HOSTILE_BODIES)
@each_row("path", ["/v1/campaigns", "/v1/campaigns/audience-preview"])
def test_every_view_is_json_after_a_body_that_is_hardly_json(body: bytes, path: str) -> None:
    world = World()
    world.api("POST", path, body)
    send(world.app, Request("POST", "/_mock/choices/watch"))

    world.check_views()
    for view in VIEWS:
        strict_json(send(world.app, Request("GET", view, JSON)).body)
