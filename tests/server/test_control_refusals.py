"""Access to the control plane, the bodies that it accepts, and no whole key in any refusal."""

import json
import logging
from collections.abc import Iterator

import pytest
import requests

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.core.state.records import Webhook
from mockserver.server import front_controller
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.hosting.log_lines import ServerLog, as_text
from mockserver.wire.request import HttpRequest
from tests.clients.operations import SESSIONS
from tests.server.control_calls import NOON, Made, control, make, refused, response_to

SECRET = "sk_test_secret_of_the_default_tenant"
PUBLIC = "pk_test_public_of_the_default_tenant"
SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEYS = {
    "tenants": [{"id": "tenant_default", "secretKey": SECRET, "publicKey": PUBLIC}],
    "webhooks": [{"url": "http://127.0.0.1:9/hook", "secret": SIGNING}],
}


@pytest.fixture
def made(mockserver_server: MockServer) -> Iterator[Made]:
    """A sandbox made over HTTP, frozen at noon."""
    fresh = make(mockserver_server.url, clock={"freeze": NOON})
    yield fresh
    requests.delete(f"{fresh.server}/_mock/sandboxes/{fresh.id}", timeout=60)


class TestStrangers:
    @pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:{port}"])
    def test_a_name_of_this_machine_is_answered(self, made: Made, host: str) -> None:
        name = host.format(port=made.server.rpartition(":")[2])

        assert 200 == made.control("GET", "/clock", headers={"Host": name}).status_code

    @pytest.mark.parametrize(
        "host",
        ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80", "192.0.2.7", "0.0.0.0"],
    )
    def test_a_foreign_host_is_refused(self, made: Made, host: str) -> None:
        reply = made.control("POST", "/reset", headers={"Host": host})

        assert (403, "MOCK_FOREIGN_HOST") == refused(reply)

    @pytest.mark.parametrize("host", ["[::1", "a b", "[]", "127.0.0.1@evil.example"])
    def test_an_invalid_host_is_refused(self, made: Made, host: str) -> None:
        reply = made.control("POST", "/reset", headers={"Host": host})

        assert 400 <= reply.status_code < 500

    @pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "http://localhost:{port}"])
    def test_a_page_of_this_server_is_answered(self, made: Made, origin: str) -> None:
        origin = origin.format(port=made.server.rpartition(":")[2])

        assert 200 == made.control("GET", "/clock", headers={"Origin": origin}).status_code

    @pytest.mark.parametrize(
        "origin",
        [
            "https://evil.example",
            "null",
            "",
            "http://127.0.0.1.evil.example",
            "file://",
            "http://[",
            "http://localhost@evil",
        ],
    )
    def test_a_page_of_another_site_is_refused(self, made: Made, origin: str) -> None:
        session_id = made.session()
        for method, path in (("GET", "/state"), ("POST", "/reset"), ("POST", f"/sessions/{session_id}/expire")):
            assert 403 == refused(made.control(method, path, headers={"Origin": origin}))[0]

        assert "pending" == made.api("GET", f"{SESSIONS}/{session_id}").json()["status"]

    def test_no_header_lets_a_web_page_in(self, made: Made) -> None:
        for method in ("GET", "OPTIONS"):
            for path in ("/clock", "/../v1/campaigns"):
                reply = made.control(method, path, headers={"Origin": made.server})
                assert [] == [name for name in reply.headers if name.lower().startswith("access-control-")]

    def test_where_there_is_a_token_only_who_sends_it_is_answered(self) -> None:
        host = SandboxHost()
        host.create(SandboxConfig(), id=DEFAULT_ID)
        host.token = "t0ken-ção"

        def status(target: str, **headers: str) -> int:
            request = HttpRequest("GET", target, headers, b"", host.origin)
            return response_to(host, request).status

        assert 401 == status("/_mock/clock", host="gateway.lan")
        assert 200 == status("/_mock/clock", host="gateway.lan", authorization="Bearer t0ken-ção")
        assert 403 == status("/_mock/clock", origin="https://evil.example", authorization="Bearer t0ken-ção")
        assert 401 == status("/_mock/clock")
        assert 401 == status("/_mock/clock", authorization="Bearer t0ken")
        assert 401 == status("/_mock/clock", authorization="Bearer ")
        assert 200 == status("/_mock/clock", authorization="Bearer t0ken-ção")
        assert 200 == status("/v1/campaigns", **{"x-api-key": host.sandboxes[DEFAULT_ID].tenant.secret_key})


class TestBodies:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/sandboxes"),
            ("PUT", "/clock"),
            ("POST", "/clock/advance"),
            ("PATCH", "/choices"),
            ("POST", "/scenarios"),
            ("PATCH", "/tenants/tenant_default"),
            ("POST", "/journal/verify"),
            ("POST", "/sessions/x/complete"),
            ("POST", "/sessions/x/fail"),
        ],
    )
    def test_a_body_that_is_not_a_json_object_is_refused_and_changes_nothing(
        self, made: Made, method: str, path: str
    ) -> None:
        bodies = [b"{", b"[]", b'"x"', b"5", b"null", b"\xff", b'{"a": NaN}', b"[" * 5000, b"{'a': 1}"]
        before = made.state()

        replies = {
            body[:9]: requests.request(method, f"{made.base}/_mock{path}", data=body, timeout=60) for body in bodies
        }

        assert {body[:9]: 400 for body in bodies} == {body: refused(reply)[0] for body, reply in replies.items()}
        assert before == made.state()

    def test_a_body_that_is_too_large_is_not_read(self, made: Made) -> None:
        body = b'{"given": {"chats": [' + b" " * (1024 * 1024) + b"]}}"

        reply = requests.post(f"{made.base}/_mock/scenarios", data=body, timeout=60)

        assert (413, "MOCK_BODY_TOO_LARGE") == refused(reply)

    @pytest.mark.parametrize(
        ("method", "path", "body", "nearest"),
        [
            ("POST", "/sandboxes", {"choises": {}}, "choices"),
            ("PUT", "/clock", {"freze": NOON}, "freeze"),
            ("PUT", "/clock", {"follow": True, "catchup": True}, "catchUp"),
            ("POST", "/clock/advance", {"untill": "idle"}, "until"),
            ("PATCH", "/tenants/tenant_default", {"developersEnable": True}, "developersEnabled"),
            ("POST", "/sessions/x/complete", {"fone": "+5511999990000"}, "phone"),
        ],
    )
    def test_the_refusal_of_an_unknown_key_has_the_nearest(
        self, made: Made, method: str, path: str, body: JSON, nearest: str
    ) -> None:
        reply = made.control(method, path, body)

        assert (400, "MOCK_BAD_BODY") == refused(reply)
        assert nearest == reply.json()["problems"][0]["nearest"]
        assert nearest in reply.json()["message"]


class TestKeysAreAlwaysRedacted:
    @pytest.fixture
    def used(self, made: Made) -> Made:
        """A sandbox in which every key has been sent to every place that takes a text."""
        assert 201 == made.control("POST", "/scenarios", {"given": KEYS}).status_code
        url, headers = made.base + SESSIONS, {"X-API-Key": SECRET}
        for key in (SECRET, PUBLIC, SIGNING, "sk_live_of_the_real_service_1234"):
            requests.post(url, json={"returnUrl": f"https://a.example/?key={key}"}, headers=headers, timeout=60)
            requests.post(url, json={key: key, "funnelStepId": 5}, headers=headers, timeout=60)
            requests.post(url, data=key, headers=headers | {"X-Other": key}, timeout=60)
            requests.get(f"{url}/{key}?key={key}", headers={"X-API-Key": key, "Cookie": f"a={key}"}, timeout=60)
            requests.get(url, headers={"Authorization": f"Bearer {key}"}, timeout=60)
        return made

    @pytest.mark.parametrize(
        "path",
        [
            "/journal",
            "/state",
            "/events",
            "/tenants/tenant_default",
            "/sandboxes",
            "/choices",
            "/steps",
            "/replay",
            f"/replay?name={SECRET}",
        ],
    )
    def test_not_in_what_the_control_plane_shows(self, used: Made, path: str) -> None:
        shown = used.control("GET", path).text

        for secret in ("secret_of_the", "public_of_the", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "of_the_real_service"):
            assert secret not in shown

    def test_not_in_the_journal_where_it_was_sent_percent_encoded(self, mockserver_server: MockServer) -> None:
        with mockserver_server.sandbox(given=KEYS) as sandbox:
            sandbox.call("GET", f"{SESSIONS}/{SECRET.replace('_', '%5F')}")

            assert "secret%5Fof%5Fthe" not in str(sandbox.log.journal)

    @pytest.mark.parametrize("prefix", ["", "x", "_", "x" * 40, "x" * 50, "x " * 25, "x" * 70])
    def test_not_in_a_reason_wherever_it_is_in_a_text(self, used: Made, prefix: str) -> None:
        for key in (SECRET, PUBLIC, SIGNING):
            body = {"coexistence": prefix + key}
            reply = requests.post(used.base + SESSIONS, json=body, headers={"X-API-Key": SECRET}, timeout=60)

            reason = reply.headers["X-Mock-Reason"]
            assert [] == [key[at : at + 8] for at in range(4, len(key) - 8) if key[at : at + 8] in reason]

    def test_not_in_the_response_to_a_scenario_or_a_verification(self, used: Made) -> None:
        verified = used.control(
            "POST",
            "/journal/verify",
            {"operation": "readConnectionSession", "where": {"path.sessionId": SECRET}, "times": 99},
        )
        taken = used.control("POST", "/scenarios", {"given": {"tenants": [{"id": "tenant_b", "secretKey": SECRET}]}})

        assert "secret_of_the" not in verified.text + taken.text
        assert (400, "MOCK_BAD_SCENARIO") == refused(taken)

    @pytest.mark.parametrize(
        "target", [f"/v1/campaigns/{SECRET}?key={PUBLIC}", f"/v1/campaigns/{SECRET.replace('_', '%5F')}", f"/{SIGNING}"]
    )
    def test_not_in_a_line_of_the_log(self, caplog: pytest.LogCaptureFixture, target: str) -> None:
        lines: list[str] = []
        host = SandboxHost()
        host.create(SandboxConfig(given=KEYS), id=DEFAULT_ID)
        host.log = ServerLog(lambda line: lines.append(as_text(line)[0].removesuffix("\n")))
        with caplog.at_level(logging.DEBUG):
            front_controller.handle_request(host, HttpRequest("GET", target, {"x-api-key": SECRET}, b"", host.origin))

        [line] = lines
        written = (line + caplog.text).replace("%5F", "_")
        assert [] == [each for each in ("secret_of_the", "public_of_the", SIGNING[6:]) if each in written]

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
                "checkpoint": world.checkpoint(),
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
    "method, path, body",
    [
        ("POST", "/scenarios", {"script": [{"on": "KEY", "do": {"drop": "after"}}]}),
        ("POST", "/scenarios", {"KEY": 1}),
        ("PATCH", "/choices", {"KEY": "KEY"}),
        ("POST", "/journal/verify", {"operation": "KEY", "times": 1}),
        ("GET", "/tenants/KEY", None),
        ("GET", "/KEY", None),
    ],
)
def test_no_refusal_repeats_a_key(mockserver_server: MockServer, method: str, path: str, body: JSON | None) -> None:
    with mockserver_server.sandbox() as sandbox:
        key = sandbox.secret_key
        written = None if body is None else json.loads(json.dumps(body).replace("KEY", key))
        reply = control(sandbox.base_url, method, path.replace("KEY", key), written)

        assert reply.status_code in (400, 404)
        assert key not in reply.text and "sk_..." in reply.text


def test_a_wrong_field_of_varied_chats_is_refused_with_its_place(made: Made) -> None:
    chats = {"count": 1, "vary": {"status": [5]}}
    reply = made.control("POST", "/scenarios", {"given": {"chats": chats}})

    assert (400, "MOCK_BAD_SCENARIO") == refused(reply)
    assert ["/given/chats/vary/status/0"] == [problem["path"] for problem in reply.json()["problems"]]


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
