"""Connection sessions: what a creation accepts, what it returns, and what a pending session shows."""

import re
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row
from tests.operations.session_calls import NOON, create, read
from tests.operations.world import refused

GOOD_RETURN_URLS = [
    "https://app.example",
    "https://app.example/",
    "https://app.example/back?tenant=1&x=%20#done",
    "HTTPS://APP.EXAMPLE/Back",
    "https://localhost:8443/back",
    "https://192.0.2.7/back",
    "https://[2001:db8::1]:8443/back",
    "https://app.example/?next=user@mail.example",
    "https://xn--caf-dma.example/ol%C3%A1",
    "https://café.example/olá?nome=São#já",
    "https://a.example:0/",
    "https://a.example:/",
    "https://a_b.example/",
    "https://127.1/",
    "https://a.example/a^b|c",
    "https://a.example/%zz",
    "https://app.example/".ljust(2000, "a"),
]
BAD_RETURN_URLS = [
    "http://app.example/back",
    "http://localhost/back",
    "ftp://app.example/back",
    "javascript:alert(1)",
    "//app.example/back",
    "/back",
    "app.example/back",
    "back",
    "https:",
    "https://",
    "https:///back",
    "https:app.example",
    "https://:443/back",
    "https://user@app.example/back",
    "https://user:secret@app.example/back",
    "https://:secret@app.example/back",
    "https://app.example@evil.example/back",
    "https://app.example\\@evil.example/back",
    "https://app.example/a b",
    " https://app.example/back",
    "https://app.example/back ",
    "https://app.example/back\n",
    "https://app.example/\tback",
    "https://app.example:0x1/back",
    "https://app.example:99999/back",
    "https://[2001:db8::1/back",
    "https://a.example^/",
    "https://a.example|b/",
    "https://a.example%00.evil/",
    "https://a.example%/",
    "https://<a.example>/",
    "https://256.256.256.256/",
    "https://1.2.3.4.5/",
    "https://a.1/",
    "https://[v1.a]/",
    "https://[fe80::1%25eth0]/",
    "https://xn--a/",
    "https://\u00ad/",
    "https://a\u2028b.example/",
    "https://a.example:8443x/",
    "https://a.example:65536/",
]
WRONG_BODIES: list[Any] = [
    {"coexistence": "true"},
    {"coexistence": 1},
    {"coexistence": None},
    {"funnelStepId": ""},
    {"funnelStepId": 7},
    {"funnelStepId": None},
    {"funnelStepId": "funnel_step_new", "funnelId": ""},
    {"funnelStepId": "funnel_step_new", "funnelId": 7},
    {"returnUrl": ""},
    {"returnUrl": 7},
    {"returnUrl": None},
    {"returnUrl": ["https://app.example"]},
    {"returnUrl": "https://app.example/".ljust(2001, "a")},
    *(
        {"coexistence": True, extra: "x"}
        for extra in ("returnURL", "funnelstepid", "phone", "sessionId", "expiresAt", "")
    ),
    [],
    "{}",
    0,
]


def sessions(sandbox: Sandbox) -> list[JSON]:
    sessions: list[JSON] = sandbox.state()["tenants"][0]["sessions"]
    return sessions


@pytest.mark.mockserver(now=NOON)
@pytest.mark.clause("session.create", "session.expires-at", "session.read", "base.success")
def test_a_session_begins_pending_with_a_link_and_a_deadline_of_twenty_minutes(mockserver: Sandbox) -> None:
    reply = mockserver.call("POST", SESSIONS, json={})

    body = reply.json()
    assert 202 == reply.status
    assert {"sessionId", "status", "url", "expiresAt"} == set(body)
    assert "pending" == body["status"]
    assert "2026-03-01T12:20:00.000Z" == body["expiresAt"]
    session_id = body["sessionId"]
    assert {"sessionId": session_id, "status": "pending", "entrypoint": None} == read(mockserver, session_id)


@pytest.mark.clause("session.create")
def test_every_creation_makes_a_session_of_its_own(mockserver: Sandbox) -> None:
    made = [create(mockserver, {"coexistence": False}) for _ in range(30)]

    assert 30 == len({each["sessionId"] for each in made})
    assert 30 == len({each["url"] for each in made})
    assert {"pending"} == {read(mockserver, each["sessionId"])["status"] for each in made}


@pytest.mark.clause("session.url")
def test_the_link_is_opaque_and_is_not_the_session_id(mockserver: Sandbox) -> None:
    made = create(mockserver)
    link = f"{made['url'].partition('/connect/')[0]}/connect/"

    later = create(mockserver)
    token = later["url"].removeprefix(link)

    assert later["url"].startswith(link)
    assert later["url"] != later["sessionId"]
    assert later["sessionId"] not in later["url"]
    assert later["sessionId"].rpartition("_")[2] not in later["url"]
    assert mockserver.secret_key[3:] not in later["url"] and mockserver.public_key[3:] not in later["url"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{26,}", token)
    assert made["url"].rpartition("/")[2] != token


@each_row("body", WRONG_BODIES)
@pytest.mark.clause(
    "session.create", "session.coexistence", "session.funnel-pair", "session.return-url", "session.no-extra"
)
def test_an_unknown_field_or_one_of_another_type_or_length_is_refused(mockserver: Sandbox, body: Any) -> None:
    assert (400, "VALIDATION_ERROR") == refused(mockserver.call("POST", SESSIONS, json=body))
    assert [] == sessions(mockserver)


@pytest.mark.clause("session.funnel-pair")
def test_a_step_needs_no_funnel_and_one_character_is_enough(mockserver: Sandbox) -> None:
    assert 202 == mockserver.call("POST", SESSIONS, json={"funnelStepId": "s"}).status
    assert 202 == mockserver.call("POST", SESSIONS, json={"funnelStepId": "s", "funnelId": "f"}).status


@each_row("url", GOOD_RETURN_URLS)
@pytest.mark.clause("session.return-url")
def test_an_https_url_without_a_user_is_taken(mockserver: Sandbox, url: str) -> None:
    assert 202 == mockserver.call("POST", SESSIONS, json={"returnUrl": url}).status


@each_row("url", BAD_RETURN_URLS)
@pytest.mark.clause("session.return-url")
def test_any_other_return_url_is_refused(mockserver: Sandbox, url: str) -> None:
    assert (400, "VALIDATION_ERROR") == refused(mockserver.call("POST", SESSIONS, json={"returnUrl": url}))
    assert [] == sessions(mockserver)


@pytest.mark.clause("session.return-url")
def test_the_refusal_of_a_url_does_not_contain_its_password(mockserver: Sandbox) -> None:
    reply = mockserver.call("POST", SESSIONS, json={"returnUrl": "https://user:hunter2@app.example/"})

    assert b"hunter2" not in reply.body
    assert "hunter2" not in str(reply.headers)


@pytest.mark.parametrize("key", ["sk_unknown_to_the_sandbox", ""])
@pytest.mark.clause("session.return-url")
def test_the_truncated_refusal_of_a_url_contains_no_part_of_a_key(mockserver: Sandbox, key: str) -> None:
    key = key or mockserver.secret_key
    url = "http://app.example/".ljust(75, "a") + f"/{key}"

    reply = mockserver.call("POST", SESSIONS, json={"returnUrl": url})

    assert key[:4] not in reply.headers["x-mock-reason"].replace("sk_...", "")


@pytest.mark.clause("session.create", "session.url")
def test_the_link_over_a_socket_starts_with_the_address_of_the_sandbox(mockserver: Sandbox) -> None:
    import requests

    answer = requests.post(mockserver.base_url + SESSIONS, headers={"X-API-Key": mockserver.secret_key}, timeout=60)

    assert 202 == answer.status_code
    assert answer.json()["url"].startswith(f"{mockserver.base_url}/connect/")
