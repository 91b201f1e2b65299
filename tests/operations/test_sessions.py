"""Connection sessions: what a creation accepts and returns, what a read shows, and what the document leaves open."""

import re
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.options import each_option, in_force
from tests.harness.rows import each_row
from tests.operations.session_calls import FUNNELS, NOON, begin, create, end, read
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
@pytest.mark.option("return-url-scheme", "https-only")
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


@each_option(
    "code",
    "session-unknown-code",
    {"resource-not-found": "RESOURCE_NOT_FOUND", "entrypoint-not-found": "ENTRYPOINT_NOT_FOUND"},
)
@pytest.mark.mockserver(given={"tenants": [{"id": "tenant_other", "secretKey": "sk_other"}]})
@pytest.mark.clause("session.read", "auth.denied", "base.tenant-scope")
def test_a_session_that_is_unknown_or_another_tenants_gets_the_chosen_code(mockserver: Sandbox, code: str) -> None:
    theirs = begin(mockserver, key="sk_other")

    for session_id in ("unknown", theirs):
        assert (404, code) == refused(mockserver.call("GET", f"{SESSIONS}/{session_id}"))


@pytest.mark.parametrize("status", ["pending", "completed", "failed", "expired"])
@each_option("shown", "session-read-fields", {"literal": set(), "all": {"url", "expiresAt"}})
@pytest.mark.clause("session.read")
def test_a_read_session_shows_link_and_deadline_as_its_creation_did_or_neither(
    mockserver: Sandbox, shown: set[str], status: str
) -> None:
    made = create(mockserver)

    found = read(mockserver, end(mockserver, made["sessionId"], status))

    assert {key: made[key] for key in shown} == {key: found[key] for key in ("url", "expiresAt") if key in found}


@pytest.mark.parametrize("status", ["pending", "completed"])
@each_option("shown", "reason-when-none", {"absent": {}, "null": {"reason": None, "message": None}})
@pytest.mark.clause("session.read")
def test_without_a_reason_both_keys_are_absent_or_null(mockserver: Sandbox, shown: JSON, status: str) -> None:
    found = read(mockserver, end(mockserver, begin(mockserver), status))

    assert shown == {key: value for key, value in found.items() if key not in ("sessionId", "status", "entrypoint")}


@pytest.mark.parametrize("status", ["failed", "expired"])
@each_option("shown", "entrypoint-when-failed", {"null": {"entrypoint": None}, "absent": {}})
@pytest.mark.clause("session.read", "session.failed", "session.expired")
def test_a_session_that_did_not_complete_has_a_null_entrypoint_or_none(
    mockserver: Sandbox, shown: JSON, status: str
) -> None:
    session_id = begin(mockserver)
    assert read(mockserver, session_id)["entrypoint"] is None

    found = read(mockserver, end(mockserver, session_id, status))

    assert {"sessionId", "status", "reason", "message"} == set(found) - {"entrypoint"}
    assert shown == {key: value for key, value in found.items() if key == "entrypoint"}


@pytest.mark.clause("session.user-cancels", "session.failed")
@each_option(
    ("at_once", "later"),
    "user-cancels",
    {
        "failed": (("failed", "token_exchange_failed"), ("failed", "token_exchange_failed")),
        "pending": (("pending", None), ("expired", "expired")),
    },
)
def test_a_cancellation_is_a_failed_token_exchange_or_noticed_only_at_the_deadline(
    mockserver: Sandbox, at_once: tuple[str, str | None], later: tuple[str, str]
) -> None:
    session_id = begin(mockserver)
    ended = mockserver.cancel_session(session_id)

    def shown() -> tuple[str, str | None]:
        found = read(mockserver, session_id)
        return found["status"], found.get("reason")

    assert at_once == (ended["status"], ended.get("reason")) == shown()
    mockserver.advance("20m")
    assert later == shown()
    assert ["entrypoints.chatapp.connection_failed"] == [event["event"] for event in mockserver.events]


@each_option("code", "funnelId-alone", {"validation-error": "VALIDATION_ERROR", "invalid-request": "INVALID_REQUEST"})
@pytest.mark.clause("session.funnel-pair", "base.invalid-request")
def test_a_funnel_without_its_step_gets_the_chosen_code(mockserver: Sandbox, code: str) -> None:
    reply = mockserver.call("POST", SESSIONS, json={"funnelId": "funnel_sales"})
    assert (400, code) == refused(reply)
    assert "expected a value, as funnelId is given" == reply.headers["x-mock-reason"].partition("; ")[2]
    wrong_in_itself = mockserver.call("POST", SESSIONS, json={"funnelStepId": 7})
    assert (400, "VALIDATION_ERROR") == refused(wrong_in_itself)
    assert create(mockserver, {"funnelId": "funnel_sales", "funnelStepId": "funnel_step_first"})


NO_FUNNELS: list[tuple[JSON, tuple[int, str]]] = [
    # a body, and its refusal where another tenant's records are denied
    ({"funnelStepId": "funnel_step_unknown"}, (404, "RESOURCE_NOT_FOUND")),
    ({"funnelStepId": "funnel_step_care", "funnelId": "funnel_sales"}, (404, "RESOURCE_NOT_FOUND")),
    ({"funnelStepId": "funnel_step_theirs"}, (403, "RESOURCE_ACCESS_DENIED")),
    ({"funnelStepId": "funnel_step_theirs", "funnelId": "funnel_theirs"}, (403, "RESOURCE_ACCESS_DENIED")),
    ({"funnelStepId": "funnel_step_care", "funnelId": "funnel_theirs"}, (403, "RESOURCE_ACCESS_DENIED")),
]


@in_force("funnel-checked-when", "creation")
@pytest.mark.mockserver(given=FUNNELS)
@pytest.mark.clause("session.funnel-checked-late", "auth.denied")
def test_a_funnel_that_is_not_the_tenants_may_be_refused_at_the_creation(mockserver: Sandbox) -> None:
    hidden = [refused(mockserver.call("POST", SESSIONS, json=body)) for body, _ in NO_FUNNELS]
    mockserver.choose({"cross-tenant-code": "access-denied"})
    denied = [refused(mockserver.call("POST", SESSIONS, json=body)) for body, _ in NO_FUNNELS]
    reason = mockserver.call("POST", SESSIONS, json=NO_FUNNELS[1][0]).headers["x-mock-reason"]

    assert [(404, "RESOURCE_NOT_FOUND")] * 5 == hidden
    assert [expected for _, expected in NO_FUNNELS] == denied
    assert "got the step 'funnel_step_care' of funnel 'funnel_care'; expected one of 'funnel_sales'" in reason
    assert "no funnel of the tenant" not in reason
    assert [] == mockserver.state()["tenants"][0]["sessions"]
    session_id = begin(mockserver, {"funnelStepId": "funnel_step_new", "funnelId": "funnel_sales"})
    assert "completed" == mockserver.complete_session(session_id)["status"]


@in_force("expiry-driver", "sweeper")
@pytest.mark.mockserver(now="2026-03-01T12:00:30Z")
@pytest.mark.clause("session.expired", "events.failed")
def test_a_sweep_expires_a_session_within_a_minute_after_its_deadline_and_once(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    mockserver.advance("20m")
    late = read(mockserver, session_id)["status"], mockserver.events
    fired = mockserver.advance("1h")

    assert ("pending", []) == late
    assert "expired" == read(mockserver, session_id)["status"]
    assert ["2026-03-01T12:21:00.000Z"] == [each["at"] for each in mockserver.events]
    assert [{"at": "2026-03-01T12:21:00.000Z", "what": "session.expire", "id": session_id}] == fired


@in_force("expiry-driver", "on-read")
@pytest.mark.mockserver(now="2026-03-01T12:00:00.000000Z")
@pytest.mark.clause("session.expired", "events.failed")
def test_the_read_itself_may_expire_a_session_and_the_event_has_its_instant(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    assert [] == mockserver.advance("1h") == mockserver.events

    shown = [read(mockserver, session_id) for _ in range(2)]

    assert [("expired", "expired")] * 2 == [(each["status"], each["reason"]) for each in shown]
    assert ["2026-03-01T13:00:00.000Z"] == [each["at"] for each in mockserver.events]


@pytest.mark.clause("session.return-url")
@in_force("return-url-scheme", "loopback-http")
@each_row(
    "url", ["http://localhost:5173/back?a=1", "http://127.0.0.1/", "http://[::1]:3000/", "https://clinic.example/"]
)
def test_an_http_return_url_of_this_machine_is_where_the_end_user_goes(mockserver: Sandbox, url: str) -> None:
    user = mockserver.end_user(create(mockserver, {"returnUrl": url}))
    page = user.open()

    scheme = url.partition(":")[0].lower()
    assert f"form-action 'self' {scheme}:" in page.headers["content-security-policy"]
    assert url == user.connect().location


@pytest.mark.mockserver(now="2026-03-01T12:00:30Z", choices={"expiry-driver": "on-read"})
@pytest.mark.parametrize(
    ("driver", "instant"),
    [
        ("timer", "2026-03-01T12:20:40.000"),
        ("sweeper", "2026-03-01T12:21:00.000"),
    ],
)
@pytest.mark.parametrize("by_rule", [False, True])
def test_a_session_that_nothing_has_read_since_its_deadline_expires_as_another_driver_says(
    mockserver: Sandbox, driver: str, instant: str, by_rule: bool
) -> None:
    session_id = begin(mockserver)
    mockserver.advance("20m10s")
    begin(mockserver)  # its deadline is to come
    if by_rule:
        mockserver.at("0s").set_choice({"expiry-driver": driver})
    else:
        mockserver.choose({"expiry-driver": driver})
    mockserver.advance("10m")

    assert [instant] == [each["at"][:23] for each in mockserver.events]
    assert "expired" == read(mockserver, session_id)["status"]


@pytest.mark.option("completion-check-order")
def test_a_used_number_is_the_reason_although_the_funnel_is_gone_too(mockserver: Sandbox) -> None:
    mockserver.complete_session(begin(mockserver), phone="+5511988887777")
    session_id = begin(mockserver, {"funnelStepId": "funnel_step_gone"})

    mockserver.complete_session(session_id, phone="+5511988887777")

    assert "phone_in_use" == read(mockserver, session_id)["reason"]
