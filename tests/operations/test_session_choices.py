"""What the document leaves open about connection sessions: each option, seen from outside."""

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.options import option_case
from tests.operations.session_calls import FUNNELS, begin, create, end, read
from tests.operations.world import refused


@pytest.mark.parametrize(
    "code",
    [
        option_case("session-unknown-code", "resource-not-found", "RESOURCE_NOT_FOUND"),
        option_case("session-unknown-code", "entrypoint-not-found", "ENTRYPOINT_NOT_FOUND"),
    ],
)
@pytest.mark.mockserver(given={"tenants": [{"id": "tenant_other", "secretKey": "sk_other"}]})
@pytest.mark.clause("session.read", "auth.denied", "base.tenant-scope")
def test_a_session_that_is_unknown_or_another_tenants_gets_the_chosen_code(mockserver: Sandbox, code: str) -> None:
    theirs = begin(mockserver, key="sk_other")

    for session_id in ("unknown", theirs):
        assert (404, code) == refused(mockserver.call("GET", f"{SESSIONS}/{session_id}"))


@pytest.mark.parametrize("status", ["pending", "completed", "failed", "expired"])
@pytest.mark.parametrize(
    "shown",
    [
        option_case("session-read-fields", "literal", set()),
        option_case("session-read-fields", "all", {"url", "expiresAt"}),
    ],
)
@pytest.mark.clause("session.read")
def test_a_read_session_shows_link_and_deadline_as_its_creation_did_or_neither(
    mockserver: Sandbox, shown: set[str], status: str
) -> None:
    made = create(mockserver)

    found = read(mockserver, end(mockserver, made["sessionId"], status))

    assert {key: made[key] for key in shown} == {key: found[key] for key in ("url", "expiresAt") if key in found}


@pytest.mark.parametrize("status", ["pending", "completed"])
@pytest.mark.parametrize(
    "shown",
    [
        option_case("reason-when-none", "absent", {}),
        option_case("reason-when-none", "null", {"reason": None, "message": None}),
    ],
)
@pytest.mark.clause("session.read")
def test_without_a_reason_both_keys_are_absent_or_null(mockserver: Sandbox, shown: JSON, status: str) -> None:
    found = read(mockserver, end(mockserver, begin(mockserver), status))

    assert shown == {key: value for key, value in found.items() if key not in ("sessionId", "status", "entrypoint")}


@pytest.mark.parametrize("status", ["failed", "expired"])
@pytest.mark.parametrize(
    "shown",
    [
        option_case("entrypoint-when-failed", "null", {"entrypoint": None}),
        option_case("entrypoint-when-failed", "absent", {}),
    ],
)
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
@pytest.mark.parametrize(
    ("at_once", "later"),
    [
        option_case("user-cancels", "failed", ("failed", "token_exchange_failed"), ("failed", "token_exchange_failed")),
        option_case("user-cancels", "pending", ("pending", None), ("expired", "expired")),
    ],
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


@pytest.mark.parametrize(
    "code",
    [
        option_case("funnelId-alone", "validation-error", "VALIDATION_ERROR"),
        option_case("funnelId-alone", "invalid-request", "INVALID_REQUEST"),
    ],
)
@pytest.mark.clause("session.funnel-pair", "base.invalid-request")
def test_a_funnel_without_its_step_gets_the_chosen_code(mockserver: Sandbox, code: str) -> None:
    reply = mockserver.call("POST", SESSIONS, json={"funnelId": "funnel_sales"})
    assert (400, code) == refused(reply)
    assert "expected a value, as funnelId is given" == reply.headers["x-mock-reason"].partition("; ")[2]
    wrong_in_itself = mockserver.call("POST", SESSIONS, json={"funnelStepId": 7})
    assert (400, "VALIDATION_ERROR") == refused(wrong_in_itself)
    assert create(mockserver, {"funnelId": "funnel_sales", "funnelStepId": "funnel_step_first"})


@pytest.mark.mockserver(given=FUNNELS, choices={"funnel-checked-when": "creation"})
@pytest.mark.option("funnel-checked-when", "creation")
@pytest.mark.clause("session.funnel-checked-late")
class TestFunnelCheckedAtCreation:
    @pytest.mark.parametrize(
        "body",
        [
            {"funnelStepId": "funnel_step_unknown"},
            {"funnelStepId": "funnel_step_care", "funnelId": "funnel_sales"},
            {"funnelStepId": "funnel_step_theirs"},
        ],
    )
    def test_an_unknown_funnel_is_refused_at_the_creation(self, mockserver: Sandbox, body: JSON) -> None:
        assert (404, "RESOURCE_NOT_FOUND") == refused(mockserver.call("POST", SESSIONS, json=body))
        assert [] == mockserver.state()["tenants"][0]["sessions"]

    @pytest.mark.parametrize(
        "body",
        [
            {"funnelStepId": "funnel_step_theirs"},
            {"funnelStepId": "funnel_step_theirs", "funnelId": "funnel_theirs"},
            {"funnelStepId": "funnel_step_care", "funnelId": "funnel_theirs"},
        ],
    )
    @pytest.mark.clause("auth.denied")
    def test_another_tenants_funnel_or_step_is_hidden_or_denied(self, mockserver: Sandbox, body: JSON) -> None:
        hidden = refused(mockserver.call("POST", SESSIONS, json=body))
        mockserver.choose({"cross-tenant-code": "access-denied"})
        denied = refused(mockserver.call("POST", SESSIONS, json=body))
        unknown = refused(mockserver.call("POST", SESSIONS, json={"funnelStepId": "funnel_step_unknown"}))

        assert (404, "RESOURCE_NOT_FOUND") == hidden == unknown
        assert (403, "RESOURCE_ACCESS_DENIED") == denied

    def test_the_reason_names_the_funnel_that_has_the_step(self, mockserver: Sandbox) -> None:
        body = {"funnelStepId": "funnel_step_care", "funnelId": "funnel_sales"}
        owner = next(
            funnel["id"]
            for funnel in mockserver.state()["tenants"][0]["funnels"]
            if "funnel_step_care" in str(funnel["steps"])
        )

        reason = mockserver.call("POST", SESSIONS, json=body).headers["x-mock-reason"]

        assert f"got the step 'funnel_step_care' of funnel {owner!r}; expected one of 'funnel_sales'" in reason
        assert "no funnel of the tenant" not in reason

    def test_a_funnel_that_is_there_makes_a_session_that_completes(self, mockserver: Sandbox) -> None:
        session_id = begin(mockserver, {"funnelStepId": "funnel_step_new", "funnelId": "funnel_sales"})

        assert "completed" == mockserver.complete_session(session_id)["status"]


@pytest.mark.mockserver(now="2026-03-01T12:00:30Z", choices={"expiry-driver": "sweeper"})
@pytest.mark.option("expiry-driver", "sweeper")
@pytest.mark.clause("session.expired", "events.failed")
class TestSweeper:
    def test_a_session_is_still_pending_after_its_deadline_and_expires_within_a_minute(
        self, mockserver: Sandbox
    ) -> None:
        session_id = begin(mockserver)

        mockserver.advance("20m")
        late = read(mockserver, session_id)["status"], mockserver.events
        mockserver.advance(60)

        assert ("pending", []) == late
        assert "expired" == read(mockserver, session_id)["status"]

    def test_the_sweep_emits_exactly_one_event(self, mockserver: Sandbox) -> None:
        session_id = begin(mockserver)

        fired = mockserver.advance("1h")

        assert ["2026-03-01T12:21:00.000Z"] == [each["at"] for each in mockserver.events]
        assert [{"at": "2026-03-01T12:21:00.000Z", "what": "session.expire", "id": session_id}] == fired


@pytest.mark.mockserver(now="2026-03-01T12:00:00.000000Z", choices={"expiry-driver": "on-read"})
@pytest.mark.option("expiry-driver", "on-read")
@pytest.mark.clause("session.expired", "events.failed")
class TestExpiryOnRead:
    def test_the_read_itself_expires_it_and_the_event_has_the_instant_of_the_read(self, mockserver: Sandbox) -> None:
        session_id = begin(mockserver)
        fired = mockserver.advance("1h")
        assert ([], []) == (mockserver.events, fired)

        shown = read(mockserver, session_id)

        assert ("expired", "expired") == (shown["status"], shown["reason"])
        assert ["2026-03-01T13:00:00.000Z"] == [each["at"] for each in mockserver.events]
        read(mockserver, session_id)
        assert 1 == len(mockserver.events)


@pytest.mark.clause("session.return-url")
@pytest.mark.option("return-url-scheme", "https-only")
@pytest.mark.parametrize("url", ["http://localhost:5173/back", "http://127.0.0.1/", "http://clinic.example/"])
def test_an_http_return_url_is_refused(mockserver: Sandbox, url: str) -> None:
    reply = mockserver.call("POST", SESSIONS, json={"returnUrl": url})

    assert (400, "VALIDATION_ERROR") == refused(reply)
    assert "its scheme is 'http'" in reply.headers["x-mock-reason"]


@pytest.mark.clause("session.return-url")
@pytest.mark.option("return-url-scheme", "loopback-http")
@pytest.mark.mockserver(choices={"return-url-scheme": "loopback-http"})
@pytest.mark.parametrize(
    "url", ["http://localhost:5173/back?a=1", "http://127.0.0.1/", "http://[::1]:3000/", "https://clinic.example/"]
)
def test_an_http_return_url_of_this_machine_is_where_the_end_user_goes(mockserver: Sandbox, url: str) -> None:
    user = mockserver.end_user(create(mockserver, {"returnUrl": url}))
    page = user.open()

    scheme = url.partition(":")[0].lower()
    assert f"form-action 'self' {scheme}:" in page.headers["content-security-policy"]
    assert url == user.connect().location


@pytest.mark.mockserver(choices={"return-url-scheme": "loopback-http"})
@pytest.mark.parametrize(
    "url",
    [
        "http://clinic.example/",
        "http://localhost.clinic.example/",
        "http://a@localhost/",
        "http://localhost:x/",
        "http://",
    ],
)
def test_an_http_return_url_of_another_machine_is_refused(mockserver: Sandbox, url: str) -> None:
    assert (400, "VALIDATION_ERROR") == refused(mockserver.call("POST", SESSIONS, json={"returnUrl": url}))


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
    if by_rule:
        mockserver.at("0s").set_choice({"expiry-driver": driver})
    else:
        mockserver.choose({"expiry-driver": driver})
    mockserver.advance("1h")

    assert [instant] == [each["at"][:23] for each in mockserver.events]
    assert "expired" == read(mockserver, session_id)["status"]


@pytest.mark.option("completion-check-order")
def test_a_used_number_is_the_reason_although_the_funnel_is_gone_too(mockserver: Sandbox) -> None:
    mockserver.complete_session(begin(mockserver), phone="+5511988887777")
    session_id = begin(mockserver, {"funnelStepId": "funnel_step_gone"})

    mockserver.complete_session(session_id, phone="+5511988887777")

    assert "phone_in_use" == read(mockserver, session_id)["reason"]
