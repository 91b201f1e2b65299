"""The control plane over a socket: the response of each route, and the correction in each refusal."""

import json
from collections.abc import Iterator

import pytest
import requests

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.server.control.routes import ROUTES
from mockserver.version import VERSION
from tests.harness.rows import each_row
from tests.server.control_calls import NOON, Made, control, make, refused


@pytest.fixture
def made(mockserver_server: MockServer) -> Iterator[Made]:
    """A sandbox made over HTTP, frozen at noon."""
    fresh = make(mockserver_server.url, clock={"freeze": NOON})
    yield fresh
    requests.delete(f"{fresh.server}/_mock/sandboxes/{fresh.id}", timeout=60)


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

    @pytest.mark.parametrize(
        "recipe",
        [
            {"seedd": 1},
            {"seed": "1"},
            {"seed": -1},
            {"scenario": "dem"},
            {"scenario": 5},
            {"scenario": {"choices": 5}, "choices": {"dual-status": "guide"}},
            {"scenario": {"given": 5}, "given": {"forms": []}},
            {"scenario": {"given": {"forms": 5}}, "given": {"forms": []}},
            {"choices": {"dual-status": "giude"}},
            {"clock": {"freeze": "noon"}},
            {"clock": {"freeze": 5}},
            {"given": {"chat": []}},
            {"given": {"messages": [{"chatId": "chat_x"}]}},
        ],
        ids=str,
    )
    def test_an_invalid_config_creates_none(self, mockserver_server: MockServer, recipe: JSON) -> None:
        before = len(control(mockserver_server.url, "GET", "/sandboxes").json()["sandboxes"])

        reply = control(mockserver_server.url, "POST", "/sandboxes", recipe)

        assert 400 == refused(reply)[0]
        assert reply.json()["problems"]
        assert before == len(control(mockserver_server.url, "GET", "/sandboxes").json()["sandboxes"])


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

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/clock/advance", {}),
            ("POST", "/clock/advance", {"by": "20m", "until": "idle"}),
            ("POST", "/clock/advance", {"by": -1}),
            ("POST", "/clock/advance", {"by": True}),
            ("POST", "/clock/advance", {"by": "soon"}),
            ("POST", "/clock/advance", {"by": 1e300}),
            ("POST", "/clock/advance", {"to": "2026-03-01T11:59:59Z"}),
            ("POST", "/clock/advance", {"to": "2026-03-01T12:00:01"}),
            ("POST", "/clock/advance", {"until": "busy"}),
            ("PUT", "/clock", {}),
            ("PUT", "/clock", {"freeze": NOON, "follow": True}),
            ("PUT", "/clock", {"freeze": False}),
            ("PUT", "/clock", {"follow": False}),
            ("PUT", "/clock", {"freeze": "2026-03-01T11:59:59Z"}),
            ("PUT", "/clock", {"freeze": "2026-02-30T12:00:00Z"}),
        ],
        ids=str,
    )
    def test_a_wrong_move_is_refused_and_moves_nothing(self, made: Made, method: str, path: str, body: JSON) -> None:
        made.session()
        before = made.state()

        assert 400 == refused(made.control(method, path, body))[0]
        assert before == made.state()


class TestChoices:
    def test_all_are_listed_with_question_options_default_value_and_clause(self, made: Made) -> None:
        listed = made.control("GET", "/choices").json()["choices"]

        assert list(CHOICES) == [each["id"] for each in listed]
        for each, row in zip(listed, CHOICES.values(), strict=True):
            assert {"id", "question", "options", "default", "value", "clause"} == set(each)
            assert (list(row.options), row.default, row.default) == (each["options"], each["default"], each["value"])
            assert each["question"].endswith("?") and each["clause"]

    @pytest.mark.parametrize(
        ("wrong", "nearest"),
        [
            ({"dual-statsu": "guide"}, "dual-status"),
            ({"list-order": "oldest"}, "oldest-first"),
            ({"dual-status": 5}, None),
        ],
    )
    def test_one_that_is_wrong_leaves_all_as_they_were(self, made: Made, wrong: JSON, nearest: str | None) -> None:
        before = made.state()

        reply = made.control("PATCH", "/choices", {"dual-status": "guide"} | wrong)

        assert 400 == refused(reply)[0]
        assert nearest is None or nearest in reply.text
        assert before == made.state()


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

    @pytest.mark.parametrize(
        ("body", "nearest"),
        [({"subscription": "suspnded"}, "suspended"), ({"subscribtion": "none"}, "subscription"), ({"name": ""}, None)],
    )
    def test_a_wrong_setting_is_refused_with_the_nearest_right_one(
        self, made: Made, body: JSON, nearest: str | None
    ) -> None:
        before = made.state()

        reply = made.control("PATCH", f"/tenants/{made.tenant}", body)

        assert (400, "MOCK_BAD_BODY") == refused(reply)
        assert nearest == reply.json()["problems"][0].get("nearest")
        assert before == made.state()


@each_row("path", sorted({route.path for route in ROUTES}))
def test_the_refusal_of_a_method_lists_those_of_the_path(made: Made, path: str) -> None:
    methods = [route.method for route in ROUTES if route.path == path]

    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(methods):
        reply = requests.request(method, made.base + path.replace("{id}", "x").replace("{sessionId}", "x"), timeout=60)

        assert (405, "MOCK_WRONG_METHOD") == refused(reply)
        assert all(each in reply.json()["message"] for each in methods)


def test_a_405_lists_the_methods_in_its_header_too(made: Made) -> None:
    reply = made.control("POST", "/clock")

    assert (405, "GET, PUT") == (reply.status_code, reply.headers.get("Allow"))


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
