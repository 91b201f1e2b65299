"""What the document leaves open about connection sessions: each option, seen from outside."""

from collections.abc import Callable

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.operations.session_calls import FUNNELS, begin, create, entrypoints, read
from tests.operations.world import refused

OTHER = {"tenants": [{"id": "tenant_other", "secretKey": "sk_other"}]}


@pytest.mark.parametrize(
    ("option", "code"),
    [
        pytest.param(
            "resource-not-found",
            "RESOURCE_NOT_FOUND",
            marks=pytest.mark.option("session-unknown-code", "resource-not-found"),
        ),
        pytest.param(
            "entrypoint-not-found",
            "ENTRYPOINT_NOT_FOUND",
            marks=pytest.mark.option("session-unknown-code", "entrypoint-not-found"),
        ),
    ],
)
@pytest.mark.clause("session.read")
def test_an_unknown_session_gets_the_chosen_code(mockserver: Sandbox, option: str, code: str) -> None:
    mockserver.choose({"session-unknown-code": option})

    assert (404, code) == refused(mockserver.call("GET", f"{SESSIONS}/unknown"))


@pytest.mark.parametrize(
    ("choices", "refusal"),
    [
        pytest.param({}, (404, "RESOURCE_NOT_FOUND"), marks=pytest.mark.option("cross-tenant-code", "not-found")),
        pytest.param({"session-unknown-code": "entrypoint-not-found"}, (404, "ENTRYPOINT_NOT_FOUND")),
        pytest.param(
            {"cross-tenant-code": "access-denied"},
            (403, "RESOURCE_ACCESS_DENIED"),
            marks=pytest.mark.option("cross-tenant-code", "access-denied"),
        ),
        pytest.param(
            {"cross-tenant-code": "access-denied", "session-unknown-code": "entrypoint-not-found"},
            (403, "RESOURCE_ACCESS_DENIED"),
        ),
    ],
)
@pytest.mark.mockserver(given=OTHER)
@pytest.mark.clause("session.read", "auth.denied", "base.tenant-scope")
def test_a_session_of_another_tenant_is_hidden_or_denied(
    mockserver: Sandbox, choices: JSON, refusal: tuple[int, str]
) -> None:
    theirs = begin(mockserver, key="sk_other")
    mockserver.choose(choices)

    assert refusal == refused(mockserver.call("GET", f"{SESSIONS}/{theirs}"))
    assert "pending" == read(mockserver, theirs, key="sk_other")["status"]


@pytest.mark.mockserver(choices={"cross-tenant-code": "access-denied"})
@pytest.mark.clause("session.read")
def test_an_unknown_session_is_not_forbidden(mockserver: Sandbox) -> None:
    assert (404, "RESOURCE_NOT_FOUND") == refused(mockserver.call("GET", f"{SESSIONS}/unknown"))


@pytest.mark.parametrize("end", ["pending", "completed", "failed", "expired"])
@pytest.mark.clause("session.read")
class TestReadFields:
    @pytest.mark.option("session-read-fields", "literal")
    def test_a_read_session_shows_neither_link_nor_deadline(self, mockserver: Sandbox, end: str) -> None:
        session_id = ended(mockserver, begin(mockserver), end)

        assert set() == {"url", "expiresAt"} & set(read(mockserver, session_id))

    @pytest.mark.option("session-read-fields", "all")
    def test_a_read_session_shows_both_as_its_creation_did(self, mockserver: Sandbox, end: str) -> None:
        mockserver.choose({"session-read-fields": "all"})
        made = create(mockserver)

        ended(mockserver, made["sessionId"], end)

        shown = read(mockserver, made["sessionId"])
        assert (end, made["url"], made["expiresAt"]) == (shown["status"], shown["url"], shown["expiresAt"])


def ended(sandbox: Sandbox, session_id: str, end: str) -> str:
    """The session, brought to this status."""
    moves: dict[str, Callable[[str], object]] = {
        "pending": lambda _: None,
        "completed": sandbox.complete_session,
        "failed": sandbox.fail_session,
        "expired": sandbox.expire_session,
    }
    moves[end](session_id)
    return session_id


@pytest.mark.parametrize("end", ["pending", "completed"])
@pytest.mark.clause("session.read")
class TestReasonWhenNone:
    @pytest.mark.option("reason-when-none", "absent")
    def test_without_a_reason_there_is_no_such_key(self, mockserver: Sandbox, end: str) -> None:
        shown = read(mockserver, ended(mockserver, begin(mockserver), end))

        assert {"sessionId", "status", "entrypoint"} == set(shown)

    @pytest.mark.option("reason-when-none", "null")
    def test_without_a_reason_both_keys_are_null(self, mockserver: Sandbox, end: str) -> None:
        mockserver.choose({"reason-when-none": "null"})

        shown = read(mockserver, ended(mockserver, begin(mockserver), end))

        assert {"sessionId", "status", "entrypoint", "reason", "message"} == set(shown)
        assert (None, None) == (shown["reason"], shown["message"])


@pytest.mark.parametrize("end", ["failed", "expired"])
@pytest.mark.clause("session.read", "session.failed", "session.expired")
class TestEntrypointWhenFailed:
    @pytest.mark.option("entrypoint-when-failed", "null")
    def test_a_session_that_did_not_complete_has_a_null_entrypoint(self, mockserver: Sandbox, end: str) -> None:
        shown = read(mockserver, ended(mockserver, begin(mockserver), end))

        assert {"sessionId", "status", "entrypoint", "reason", "message"} == set(shown)
        assert shown["entrypoint"] is None

    @pytest.mark.option("entrypoint-when-failed", "absent")
    def test_a_session_that_did_not_complete_has_no_entrypoint_key(self, mockserver: Sandbox, end: str) -> None:
        mockserver.choose({"entrypoint-when-failed": "absent"})
        session_id = begin(mockserver)
        assert read(mockserver, session_id)["entrypoint"] is None

        shown = read(mockserver, ended(mockserver, session_id, end))

        assert {"sessionId", "status", "reason", "message"} == set(shown)


@pytest.mark.parametrize(
    ("option", "code"),
    [
        pytest.param(
            "validation-error", "VALIDATION_ERROR", marks=pytest.mark.option("funnelId-alone", "validation-error")
        ),
        pytest.param(
            "invalid-request", "INVALID_REQUEST", marks=pytest.mark.option("funnelId-alone", "invalid-request")
        ),
    ],
)
@pytest.mark.clause("session.funnel-pair", "base.invalid-request")
def test_a_funnel_without_its_step_gets_the_chosen_code(mockserver: Sandbox, option: str, code: str) -> None:
    mockserver.choose({"funnelId-alone": option})

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

    def test_no_session_completes_between_the_deadline_and_the_sweep(self, mockserver: Sandbox) -> None:
        session_id = begin(mockserver)
        mockserver.advance(1201)

        assert "expired" == mockserver.complete_session(session_id)["status"]
        assert [] == entrypoints(mockserver)


@pytest.mark.mockserver(now="2026-03-01T12:00:00.000000Z", choices={"expiry-driver": "on-read"})
@pytest.mark.option("expiry-driver", "on-read")
@pytest.mark.clause("session.expired", "events.failed")
class TestExpiryOnRead:
    def test_nothing_happens_until_the_session_is_read(self, mockserver: Sandbox) -> None:
        begin(mockserver)

        fired = mockserver.advance("1h")

        assert ([], []) == (mockserver.events, fired)

    def test_the_read_itself_expires_it_and_the_event_has_the_instant_of_the_read(self, mockserver: Sandbox) -> None:
        session_id = begin(mockserver)
        mockserver.advance("1h")

        shown = read(mockserver, session_id)

        assert ("expired", "expired") == (shown["status"], shown["reason"])
        assert ["2026-03-01T13:00:00.000Z"] == [each["at"] for each in mockserver.events]
        read(mockserver, session_id)
        assert 1 == len(mockserver.events)

    def test_no_session_completes_after_the_deadline(self, mockserver: Sandbox) -> None:
        session_id = begin(mockserver)
        mockserver.advance("20m")

        assert "expired" == mockserver.complete_session(session_id)["status"]


@pytest.mark.clause("session.completed")
class TestShapeOfTheChannel:
    @pytest.mark.option("funnel-null", "null")
    def test_no_funnel_is_null(self, mockserver: Sandbox) -> None:
        entrypoint = mockserver.complete_session(begin(mockserver))["entrypoint"]

        assert (None, None) == (entrypoint["funnelId"], entrypoint["funnelStepId"])

    @pytest.mark.option("funnel-null", "absent")
    def test_without_a_funnel_the_key_is_absent(self, mockserver: Sandbox) -> None:
        mockserver.choose({"funnel-null": "absent"})

        entrypoint = mockserver.complete_session(begin(mockserver))["entrypoint"]

        assert set() == {"funnelId", "funnelStepId"} & set(entrypoint)

    @pytest.mark.option("entrypoint-two-shapes", "literal")
    def test_a_session_s_channel_has_neither_platform_nor_display_name(self, mockserver: Sandbox) -> None:
        entrypoint = mockserver.complete_session(begin(mockserver))["entrypoint"]

        assert set() == {"platform", "displayName"} & set(entrypoint)

    @pytest.mark.option("entrypoint-two-shapes", "union")
    def test_a_session_s_channel_has_the_fields_of_both_places(self, mockserver: Sandbox) -> None:
        mockserver.choose({"entrypoint-two-shapes": "union"})

        entrypoint = mockserver.complete_session(begin(mockserver), name="Recepção")["entrypoint"]
        alone = mockserver.call("GET", f"/v1/entrypoints/{entrypoint['id']}").json()["entrypoint"]

        assert ("chatapp", "Recepção") == (entrypoint["platform"], entrypoint["displayName"])
        assert entrypoint == alone


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
        pytest.param("timer", "2026-03-01T12:20:40.000", marks=pytest.mark.option("expiry-driver", "timer")),
        pytest.param("sweeper", "2026-03-01T12:21:00.000", marks=pytest.mark.option("expiry-driver", "sweeper")),
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
