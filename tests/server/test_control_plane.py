"""The control plane over a socket: the response of each route, and the correction in each refusal."""

import json

import pytest
import requests

from mockserver import MockServer
from mockserver.contract.choices import CHOICES
from mockserver.server.control.routes import ROUTES
from mockserver.version import VERSION
from tests.harness.rows import each_row
from tests.server.control_calls import NOON, Made, control, make, refused


def test_the_server_returns_its_health_and_version(mockserver_server: MockServer, made: Made) -> None:
    for base in (mockserver_server.url, made.base):
        reply = control(base, "GET", "/health")
        assert (200, {"status": "ok", "version": VERSION}) == (reply.status_code, reply.json())


class TestSandboxes:
    def test_one_is_created_from_a_whole_config(self, mockserver_server: MockServer) -> None:
        recipe = {
            "scenario": {"scenario": "mine", "given": {"funnels": [{"id": "funnel_a"}]}},
            "seed": 7,
            "choices": {"dual-status": "guide"},
            "clock": {"freeze": NOON},
            "given": {"forms": [{"id": "form_a"}]},
        }

        state = json.loads(make(mockserver_server.url, **recipe).state())

        assert (7, "guide") == (state["seed"], state["choices"]["dual-status"])
        assert {"now": "2026-03-01T12:00:00.000Z", "frozen": True} == state["clock"]
        assert (["funnel_a"], ["form_a"]) == tuple(
            [each["id"] for each in state["tenants"][0][kind]] for kind in ("funnels", "forms")
        )


class TestClock:
    def test_it_is_frozen_followed_and_advanced(self, made: Made) -> None:
        frozen = made.control("PUT", "/clock", {"freeze": "2026-03-01T13:00:00Z"})
        advanced = made.control("POST", "/clock/advance", {"by": "20m"})
        to = made.control("POST", "/clock/advance", {"to": "2026-03-01T13:30:00Z"})
        following = made.control("PUT", "/clock", {"follow": True})
        stopped = made.control("PUT", "/clock", {"freeze": True})

        assert {"now": "2026-03-01T13:00:00.000Z", "frozen": True} == frozen.json()
        assert {"now": "2026-03-01T13:20:00.000Z", "fired": []} == advanced.json()
        assert "2026-03-01T13:30:00.000Z" == to.json()["now"]
        assert (False, True) == (following.json()["frozen"], stopped.json()["frozen"])
        assert stopped.json()["now"].startswith("2026-03-01T13:30:")

    def test_an_advance_to_the_next_due_timer_ends_at_it_and_without_one_changes_nothing(self, made: Made) -> None:
        session_id = made.session()

        first, second = (made.control("POST", "/clock/advance", {"to": "next"}).json() for _ in range(2))
        fired = [{"at": "2026-03-01T12:20:00.000Z", "what": "session.expire", "id": session_id}]
        assert {"now": "2026-03-01T12:20:00.000Z", "fired": fired} == first
        assert {"now": "2026-03-01T12:20:00.000Z", "fired": []} == second


class TestChoices:
    def test_all_are_listed_with_question_options_default_value_and_clause(self, made: Made) -> None:
        listed = made.control("GET", "/choices").json()["choices"]

        assert list(CHOICES) == [each["id"] for each in listed]
        for each, row in zip(listed, CHOICES.values(), strict=True):
            assert {"id", "question", "options", "default", "value", "clause"} == set(each)
            assert (list(row.options), row.default, row.default) == (each["options"], each["default"], each["value"])
            assert each["question"].endswith("?") and each["clause"]


class TestTenants:
    def test_its_settings_are_read_with_its_keys_in_short(self, made: Made) -> None:
        assert {
            "tenantId": made.tenant,
            "name": "Default tenant",
            "developersEnabled": True,
            "subscription": "active",
            "secretKey": "sk_...",
            "publicKey": "pk_...",
        } == made.control("GET", f"/tenants/{made.tenant}").json()


@each_row("path", sorted({route.path for route in ROUTES}))
def test_the_refusal_of_a_method_lists_those_of_the_path(made: Made, path: str) -> None:
    methods = [route.method for route in ROUTES if route.path == path]

    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(methods):
        reply = requests.request(method, made.base + path.replace("{id}", "x").replace("{sessionId}", "x"), timeout=60)

        assert (405, "MOCK_WRONG_METHOD") == refused(reply)
        assert all(each in reply.json()["message"] for each in methods)
        assert ", ".join(methods) == reply.headers["Allow"]


@pytest.mark.parametrize(
    ("path", "nearest"),
    [("/clok", "/_mock/clock"), ("/sandboxs", "/_mock/sandboxes"), ("/clock/", "/_mock/clock"), ("/zzzzzzzz", None)],
)
def test_the_refusal_of_an_unknown_path_has_the_nearest(made: Made, path: str, nearest: str | None) -> None:
    reply = made.control("GET", path)

    assert (404, "MOCK_NOT_FOUND") == refused(reply)
    assert nearest is None or reply.json()["message"].endswith(f"; did you mean {nearest!r}?")


def test_a_command_that_moves_the_clock_is_dated_after_the_move(made: Made) -> None:
    reply = made.control("POST", "/clock/advance", {"by": "20m"})

    assert "Sun, 01 Mar 2026 12:20:00 GMT" == reply.headers["Date"]
