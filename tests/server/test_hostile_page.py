"""The hosted page responds to any request with a page, and never with a failure of the mock."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.server import app as flask_app
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from tests.clients.operations import SESSIONS
from tests.depth import at_depth
from tests.operations.world import GIVEN
from tests.server.hostile import HEADERS, TEXT, TEXTS, Answer, Request, check, send
from tests.server.page_calls import fields

FORM_TYPE = "application/x-www-form-urlencoded"
FIELDS = ("secret", "press", "step", "account", "name", "number", "phone")
PRESSES = ("continue", "back", "cancel", "simulate-phone_already_in_use", "simulate-")
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", "BREW")
SESSION_BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"coexistence": True},
    {"returnUrl": "https://crm.example/back?a=1#b"},
)


class Visitor:
    """Someone with a session's link, in a sandbox of their own, who has pressed continue some times."""

    def __init__(self, body: dict[str, Any], presses: int) -> None:
        self.host = SandboxHost()
        hosted = self.host.create(SandboxConfig(given=GIVEN, clock={"freeze": "2026-03-01T12:00:00Z"}), id=DEFAULT_ID)
        self.app = flask_app.build(self.host)
        headers = {"X-API-Key": hosted.tenant.secret_key, "Content-Type": "application/json", "Host": "localhost"}
        made = send(self.app, Request("POST", SESSIONS, headers, json.dumps(body).encode()))
        self.path = urlsplit(json.loads(made.body)["url"]).path
        for _ in range(presses):
            self.press(
                {"press": "continue", "phone": "+5511999990000", "name": "Ana", "account": "new", "number": "new"}
            )

    def form(self) -> dict[str, str]:
        return fields(send(self.app, Request("GET", self.path, {"Host": "localhost"})))

    def press(self, form: dict[str, str]) -> None:
        body = urlencode(self.form() | form).encode()
        answer = send(self.app, Request("POST", self.path, {"Host": "localhost", "Content-Type": FORM_TYPE}, body))
        self.path = urlsplit(answer.headers.get("location", self.path)).path


def check_page(answer: Answer, request: Request) -> None:
    check(answer, request)
    assert request.method != "HEAD" or not answer.body
    answer.body.decode("utf-8")


@pytest.mark.parametrize("presses", range(4))
@pytest.mark.parametrize("body", SESSION_BODIES, ids=["plain", "coexistence", "return"])
@given(data=st.data())
@settings(max_examples=at_depth(6, 100), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_value_of_a_visit_makes_the_page_fail(body: JSON, presses: int, data: st.DataObject) -> None:
    visitor = Visitor(body, presses)
    known = visitor.form() if data.draw(st.booleans()) else {}
    form = {**known, **data.draw(st.dictionaries(st.sampled_from(FIELDS[1:]) | TEXT, TEXT, max_size=4))}
    if data.draw(st.booleans()):
        form["press"] = data.draw(st.sampled_from(PRESSES) | TEXT)
    written = (
        urlencode(form, errors="replace").encode()
        if data.draw(st.integers(0, 9))
        else data.draw(st.binary(max_size=20))
    )
    odd = data.draw(TEXT)
    path = data.draw(st.sampled_from((visitor.path, f"/connect/{quote(odd)}", f"/connect/walk/{quote(odd, safe='[]%')}",
                                      visitor.path + "/", visitor.path + "?" + quote(odd), "/connect/style.css", "/connect/icon.svg", "/connect/")))  # fmt: skip
    headers = {"Content-Type": FORM_TYPE, **data.draw(HEADERS)}
    request = Request(data.draw(st.sampled_from(METHODS)), path, headers, written)

    check_page(send(visitor.app, request), request)


@pytest.mark.law
@pytest.mark.parametrize("method", METHODS)
def test_no_host_and_no_origin_makes_the_page_fail(method: str) -> None:
    values = [text for text in TEXTS if text.isprintable()]
    for value in values[
        METHODS.index(method) % at_depth(8, 1) :: at_depth(8, 1)
    ]:  # each value with one method at least
        visitor = Visitor({}, 1)
        for name in ("Host", "Origin", "Sec-Fetch-Site", "Content-Type", "User-Agent"):
            request = Request(method, visitor.path, {"Content-Type": FORM_TYPE, name: value}, b"press=continue")

            check_page(send(visitor.app, request), request)
