"""What a client in another language needs of the control plane: its address, its secrets, a seed, endpoints, settled deliveries."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.server.hosting.host import SandboxHost
from tests.server.conftest import Serve
from tests.server.control_calls import control, make, refused
from tests.server.hosts import send
from tests.server.sockets import app
from tests.server.test_background import Standalone, standalone  # noqa: F401 - a fixture

HOOK = "http://127.0.0.1:9/hook"


def create(host: SandboxHost, **body: Any) -> JSON:
    """The answer to a creation without a socket."""
    response = send(host, "POST", "/_mock/sandboxes", json.dumps(body).encode())
    answer: JSON = json.loads(response.body)
    assert 201 == response.status, answer
    return answer


class TestCreation:
    def test_the_answer_has_the_signing_secrets_that_were_assigned(self, mockserver_server: MockServer) -> None:
        scenario = {"given": {"webhooks": [{"url": HOOK}]}}
        given = {"webhooks": [{"url": HOOK}, {"url": HOOK, "secret": "mine"}]}

        made = make(mockserver_server.url, scenario=scenario, given=given)

        ids = [each["id"] for each in json.loads(made.state())["tenants"][0]["webhooks"]]
        assert ids[:2] == list(made.webhook_secrets)
        assert all(secret.startswith("whsec_") for secret in made.webhook_secrets.values())

    def test_keys_follow_from_the_seed_of_the_server_or_from_a_seed_that_is_given(self) -> None:
        hosts = [SandboxHost(), SandboxHost()]
        hosts[1].default_seed = lambda: 7

        assert create(hosts[0])["secretKey"] != create(hosts[1])["secretKey"]
        given = [create(host, **body) for host in hosts for body in ({"seed": 3}, {"scenario": {"seed": 3}})]
        assert 1 == len({each["secretKey"] for each in given})

    def test_a_profile_sets_its_choices_below_those_of_the_body_and_above_the_scenarios(
        self, mockserver_server: MockServer
    ) -> None:
        made = make(
            mockserver_server.url,
            profile="hostile",
            scenario={"choices": {"dual-status": "catalog", "list-order": "newest-first"}},
            choices={"list-order": "oldest-first"},
        )

        choices = json.loads(made.state())["choices"]

        assert ("guide", "oldest-first", "all-201") == tuple(
            choices[name] for name in ("dual-status", "list-order", "success-status")
        )

    @pytest.mark.parametrize("profile", ["hostle", "../profile.json", "profile.yaml", ""])
    def test_a_profile_is_one_of_the_mocks_own_and_never_a_file(
        self, mockserver_server: MockServer, profile: str
    ) -> None:
        reply = control(mockserver_server.url, "POST", "/sandboxes", {"profile": profile})

        assert (400, "MOCK_BAD_SCENARIO") == refused(reply)
        (problem,) = reply.json()["problems"]
        assert ("/profile", "one of literal, guide, hostile") == (problem["path"], problem["wanted"])
        assert ("hostile" if profile == "hostle" else None) == problem.get("nearest")


class TestWebhooks:
    def test_an_endpoint_is_registered_and_returned_with_its_secret(self, mockserver_server: MockServer) -> None:
        made = make(mockserver_server.url, seed=1)

        first = made.control("POST", "/webhooks", {"url": HOOK})
        second = made.control("POST", "/webhooks", {"url": HOOK, "events": ["entrypoints"], "secret": "mine"}).json()

        assert 201 == first.status_code
        assert ("tenant_default", HOOK, []) == tuple(first.json()[key] for key in ("tenantId", "url", "events"))
        assert first.json()["secret"].startswith("whsec_")
        assert (["entrypoints"], "mine") == (second["events"], second["secret"])
        stored = json.loads(made.state())["tenants"][0]["webhooks"]
        assert [first.json()["webhookId"], second["webhookId"]] == [each["id"] for each in stored]
        assert first.json()["secret"] not in made.control("GET", "/steps").text


class TestSettledDeliveries:
    """Commands that end a session, on a server that delivers in the background."""

    COMMANDS: tuple[tuple[str, JSON | None], ...] = (
        ("complete", {}),
        ("fail", {"reason": "token_exchange_failed"}),
        ("cancel", None),
        ("expire", None),
    )

    @pytest.mark.parametrize(("command", "body"), COMMANDS)
    def test_the_response_follows_the_deliveries(
        self,
        standalone: Standalone,  # noqa: F811
        serve: Serve,
        command: str,
        body: JSON | None,
    ) -> None:
        seen = []
        standalone.receive(serve(app(lambda post: seen.append(post.json["data"]["sessionId"]))).url)
        sessions = [standalone.made.session() for _ in range(3)]

        for number, session in enumerate(sessions, 1):
            assert 200 == standalone.made.control("POST", f"/sessions/{session}/{command}", body).status_code
            assert sessions[:number] == seen

    @pytest.mark.parametrize(("command", "body"), COMMANDS)
    def test_with_wait_false_it_does_not(
        self,
        standalone: Standalone,  # noqa: F811
        serve: Serve,
        command: str,
        body: JSON | None,
    ) -> None:
        held = threading.Event()
        standalone.receive(serve(app(lambda _: held.wait(10) and None)).url)
        session = standalone.made.session()

        reply = standalone.made.control("POST", f"/sessions/{session}/{command}?wait=false", body)

        assert (200, False) == (reply.status_code, held.is_set())
        (delivery,) = standalone.events()[0]["deliveries"]
        assert "due" == delivery["status"]
        held.set()
