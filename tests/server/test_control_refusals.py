"""Access to the control plane, the bodies that it accepts, and no whole key in any refusal."""

import json

import pytest

from mockserver import MockServer
from mockserver.core.state.records import Webhook
from mockserver.wire.request import HttpRequest
from tests.server.control_calls import Made, control, refused

SECRET = "sk_test_secret_of_the_default_tenant"
PUBLIC = "pk_test_public_of_the_default_tenant"
SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEYS = {
    "tenants": [{"id": "tenant_default", "secretKey": SECRET, "publicKey": PUBLIC}],
    "webhooks": [{"url": "http://127.0.0.1:9/hook", "secret": SIGNING}],
}


class TestKeys:
    def test_not_in_any_repr(self, mockserver_server: MockServer) -> None:
        with mockserver_server.sandbox(given=KEYS) as sandbox:
            sandbox.call("GET", "/v1/campaigns", key=PUBLIC)
            world = sandbox._hosted.sandbox
            wire = HttpRequest("GET", "/v1/campaigns", {"x-api-key": SECRET}, b"", "")
            values = {
                "server": mockserver_server,
                "sandbox": sandbox,
                "reply": sandbox.call("GET", "/v1/campaigns"),
                "hosted": sandbox._hosted,
                "world": world,
                "tenants": world.tenants,
                "exchange": world.journal.exchanges[0],
                "call": world.journal.exchanges[0].call,
                "webhook": Webhook("webhook_a", "http://127.0.0.1:9/hook", SIGNING, ()),
                "wire": wire,
                "checkpoint": world.clone(),
            }

            leaks = [
                name
                for name, each in values.items()
                if any(secret in repr(each) for secret in ("secret_of_the", "public_of_the", SIGNING[6:]))
            ]

            assert [] == leaks

    def test_only_the_creation_of_a_tenant_returns_its_keys(self, made: Made) -> None:
        created = json.dumps(made.control("POST", "/scenarios", {"given": {"tenants": [{"id": "tenant_b"}]}}).json())
        assert "sk_" in created and "sk_..." not in created

        again = made.control("POST", "/scenarios", {"given": {"tenants": [{"id": "tenant_b", "name": "B"}]}}).json()

        assert [] == again["tenants"]
        assert "sk_..." == control(made.base, "GET", "/tenants/tenant_b").json()["secretKey"]


@pytest.mark.parametrize(
    ("path", "consequence", "place"),
    [("/scenarios", "nothing of it was applied", ""), ("/sandboxes", "no sandbox was created", "/scenario")],
)
def test_the_message_of_a_refused_document_has_its_first_problem_and_the_number_of_others(
    made: Made, path: str, consequence: str, place: str
) -> None:
    document = {"choices": {"dual-statsu": "guide", "key-scopes": "x"}}
    reply = made.control("POST", path, document if path == "/scenarios" else {"scenario": document})

    assert (400, "MOCK_BAD_SCENARIO") == refused(reply)
    assert (
        f"the document is refused; {consequence}: {place}/choices/dual-statsu: "
        "got \"dual-statsu\"; expected the id of a choice; did you mean 'dual-status'? (and 1 more in `problems`)"
    ) == reply.json()["message"]
