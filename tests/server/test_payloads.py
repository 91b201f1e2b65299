"""Content and signature of a webhook request by each option, and every fault that a rule applies to an attempt."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import pytest
from freezegun import freeze_time
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError
from svix.webhooks import Webhook as SvixWebhook

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from tests.harness.options import each_option
from tests.harness.rows import each_row
from tests.operations.inbox import Inbox
from tests.operations.session_calls import FUNNELS, NOON, begin

pytestmark = [pytest.mark.mockserver(now=NOON, given=FUNNELS), pytest.mark.clause("events.subscribed")]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
FORGERIES = ("no-signature", "wrong-secret", "old-timestamp", "changed-body", "changed-id", "junk-header")

NOON_SECONDS = "1772366400"


def completed_inbox(sandbox: Sandbox, *answers: int, name: str = "São João ☕/", secret: str = SECRET) -> Inbox:
    """An inbox that has been sent the completion of a session."""
    inbox = Inbox(*answers)
    sandbox.receive_webhooks(inbox, secret=secret)
    sandbox.complete_session(begin(sandbox), name=name)
    return inbox


def verify(webhook: ReceivedWebhook, secret: str = SECRET) -> JSON:
    found: JSON = Webhook(secret).verify(webhook.body, dict(webhook.headers))
    return found


def is_refused(webhook: ReceivedWebhook, secret: str = SECRET) -> bool:
    """As a receiver that verifies does: by the verifier's own error, or by the one that junk makes it raise."""
    try:
        verify(webhook, secret)
    except (WebhookVerificationError, ValueError):
        return True
    return False


def signature_names(webhook: ReceivedWebhook) -> set[str]:
    return set(webhook.headers) - {"content-type", "user-agent", "content-length", "host"}


def is_standard(webhook: ReceivedWebhook) -> bool:
    return verify(webhook)["data"]["entrypoint"]["name"] == "São João ☕/" and is_refused(webhook, OTHER)


def is_of_svix(webhook: ReceivedWebhook) -> bool:
    SvixWebhook(SECRET).verify(webhook.body, dict(webhook.headers))  # it raises for one that is not
    return True


def is_of_stripe(webhook: ReceivedWebhook) -> bool:
    parts = dict(each.split("=") for each in webhook.headers["stripe-signature"].split(","))
    signed = hmac.new(SECRET.encode(), parts["t"].encode() + b"." + webhook.body, hashlib.sha256)
    return signed.hexdigest() == parts["v1"]


def is_of_hub(webhook: ReceivedWebhook) -> bool:
    signed = hmac.new(SECRET.encode(), webhook.body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}" == webhook.headers["x-hub-signature-256"]


@each_option(
    ("headers", "is_signed"),
    "wh-signature",
    {
        "standard-webhooks": ({"webhook-id", "webhook-timestamp", "webhook-signature"}, is_standard),
        "svix": ({"svix-id", "svix-timestamp", "svix-signature"}, is_of_svix),
        "stripe": ({"stripe-signature"}, is_of_stripe),
        "hub-sha256": ({"x-hub-signature-256"}, is_of_hub),
        "unsigned": ({"webhook-id", "webhook-timestamp"}, lambda _: True),
    },
)
def test_requests_are_signed_by_the_scheme_that_is_chosen(
    mockserver: Sandbox, headers: set[str], is_signed: Callable[[ReceivedWebhook], bool]
) -> None:
    [webhook] = completed_inbox(mockserver).webhooks

    assert headers == signature_names(webhook)
    assert is_signed(webhook)


@pytest.mark.parametrize("secret", ["a plain password", "x", "ü" * 20, "whsec_", "whsec_!!", "my secret"])
def test_a_text_that_another_scheme_took_is_the_key_itself(mockserver: Sandbox, secret: str) -> None:
    mockserver.choose({"wh-signature": "stripe"})
    inbox = Inbox()
    mockserver.receive_webhooks(inbox, secret=secret)
    mockserver.choose({"wh-signature": "standard-webhooks"})
    mockserver.complete_session(begin(mockserver))

    [webhook] = inbox.webhooks
    assert Webhook(secret.encode()).verify(webhook.body, dict(webhook.headers))


NOT_BASE64 = ["abc", "whsec_!!", "my secret", "whsec_", "a plain password", "ü" * 20]


@each_row("scheme", ["standard-webhooks", "svix"])
@each_row("secret", NOT_BASE64)
def test_a_secret_that_no_library_of_the_scheme_decodes_is_refused(
    mockserver: Sandbox, scheme: str, secret: str
) -> None:
    mockserver.choose({"wh-signature": scheme})
    receiver = mockserver.receive_webhooks(Inbox(), secret=SECRET)
    before = mockserver.state()
    expected = f"got a text of {len(secret)} characters; expected base64"

    with pytest.raises(ValueError, match=f"secret: {expected}"):
        mockserver.receive_webhooks("http://127.0.0.1:9/hook", secret=secret)
    with pytest.raises(ValueError, match=f"secret: {expected}"):
        mockserver.webhooks.rotate(receiver.id, secret)
    with pytest.raises(ValueError, match=f"/given/webhooks/0/secret: {expected}"):
        mockserver.apply({"given": {"webhooks": [{"url": "http://127.0.0.1:9/hook", "secret": secret}]}})

    assert before == mockserver.state()


@each_option(
    ("has", "has_not"),
    "wh-body-bytes",
    {
        "compact": ("São João ☕/".encode(), b": "),
        "escaped": (rb"S\u00e3o Jo\u00e3o \u2615/", b"\xc3"),
        "spaced": (b'": "', b'":"'),
        "reordered-keys": (b'{"data":{"', b'{"event"'),
    },
)
def test_the_bytes_of_a_body_are_a_choice_and_its_meaning_is_not(
    mockserver: Sandbox, has: bytes, has_not: bytes
) -> None:
    [webhook] = completed_inbox(mockserver).webhooks
    [event] = mockserver.events

    assert has in webhook.body and has_not not in webhook.body
    assert {key: event[key] for key in ("event", "data")} == verify(webhook)


@each_option(
    ("still", "ends"),
    "wh-secret-rotation",
    {
        "one-day": ("23h59m59s", "1s"),
        "1h": ("59m59s", "1s"),
        "1500ms": ("1499ms", "1ms"),
        "none": (None, 0),
        "until-next": ("5000d", None),
    },
)
def test_a_former_secret_signs_for_the_length_of_a_rotation_on_the_sandboxs_clock(
    mockserver: Sandbox, still: str | None, ends: str | int | None
) -> None:
    inbox = Inbox()
    receiver = mockserver.receive_webhooks(inbox, secret=SECRET)
    mockserver.webhooks.rotate(receiver.id, OTHER)
    if still is not None:
        mockserver.advance(still)
        mockserver.complete_session(begin(mockserver))
        assert verify(inbox.webhooks[-1], SECRET) == verify(inbox.webhooks[-1], OTHER)
        assert 2 == len(inbox.webhooks[-1].headers["webhook-signature"].split())
    if ends is not None:
        mockserver.advance(ends)
        mockserver.complete_session(begin(mockserver))
        assert (True, False) == (is_refused(inbox.webhooks[-1], SECRET), is_refused(inbox.webhooks[-1], OTHER))
        assert 1 == len(inbox.webhooks[-1].headers["webhook-signature"].split())


def test_a_rotation_that_is_repeated_leaves_the_former_secret_in_effect(mockserver: Sandbox) -> None:
    inbox = Inbox()
    receiver = mockserver.receive_webhooks(inbox, secret=SECRET)
    first = mockserver.webhooks.rotate(receiver.id, OTHER)
    mockserver.advance("1h")
    second = mockserver.webhooks.rotate(receiver.id, OTHER)
    mockserver.complete_session(begin(mockserver))

    assert first == second
    assert (False, False) == (is_refused(inbox.webhooks[-1], SECRET), is_refused(inbox.webhooks[-1], OTHER))


def test_a_script_may_add_a_signature_of_a_former_secret_before_the_valid_one(mockserver: Sandbox) -> None:
    mockserver.on("delivery").times(1).deliver(old_secret=True)
    [webhook] = completed_inbox(mockserver).webhooks
    first, second = webhook.headers["webhook-signature"].split()

    verify(webhook)
    alone = dict(webhook.headers)
    assert not is_refused(webhook._replace(headers=alone | {"webhook-signature": second}))
    assert is_refused(webhook._replace(headers=alone | {"webhook-signature": first}))


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_request_that_every_verifier_refuses_is_sent_in_addition_to_the_genuine_one(
    mockserver: Sandbox, forge: Any
) -> None:
    mockserver.on("delivery").times(1).deliver(forge=forge)
    inbox = completed_inbox(mockserver, 401)
    forged, true = inbox.webhooks

    assert is_refused(forged) and not is_refused(true)
    [delivery] = mockserver.events[0]["deliveries"]
    assert "delivered" == delivery["status"]
    assert [(401, forge), (200, None)] == [(each["status"], each.get("fault")) for each in delivery["attempts"]]


@pytest.mark.parametrize("scheme", ["svix", "stripe", "hub-sha256", "unsigned"])
@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_request_is_never_the_genuine_one_under_any_scheme(
    mockserver: Sandbox, scheme: str, forge: Any
) -> None:
    mockserver.choose({"wh-signature": scheme})
    mockserver.on("delivery").times(1).deliver(forge=forge)
    *forged, true = completed_inbox(mockserver).webhooks

    assert [] == [each for each in forged if (each.headers, each.body) == (true.headers, true.body)]
    assert len(forged) == 1 or (scheme, forge) in {
        ("stripe", "changed-id"),  # it has none
        ("hub-sha256", "changed-id"),
        ("hub-sha256", "old-timestamp"),
        ("unsigned", "no-signature"),
        ("unsigned", "wrong-secret"),
        ("unsigned", "junk-header"),
    }


def test_a_lost_event_counts_as_accepted_and_its_forged_request_is_still_sent(mockserver: Sandbox) -> None:
    mockserver.on("delivery").times(1).deliver(forge="wrong-secret", lose=True)
    inbox = completed_inbox(mockserver)
    mockserver.advance("3d")

    assert [True] == [is_refused(webhook) for webhook in inbox.webhooks]
    [delivery] = mockserver.events[0]["deliveries"]
    assert "delivered" == delivery["status"]
    assert [("wrong-secret", None), (None, "lost by a script")] == [
        (each.get("fault"), each.get("error")) for each in delivery["attempts"]
    ]

    mockserver.webhooks.redeliver(mockserver.events[0]["id"])
    assert not is_refused(inbox.webhooks[-1])


@pytest.mark.option("wh-duplicates", "effect")
def test_duplicates_follow_what_was_accepted_under_the_same_id(mockserver: Sandbox) -> None:
    mockserver.on("delivery").nth(2).deliver(duplicate=2)
    inbox = completed_inbox(mockserver, 500)
    mockserver.advance("5s")

    assert 4 == len(inbox.webhooks)
    assert 1 == len({(webhook.headers["webhook-id"], webhook.body) for webhook in inbox.webhooks})
    [delivery] = mockserver.events[0]["deliveries"]
    assert [None, None, "duplicate", "duplicate"] == [each.get("fault") for each in delivery["attempts"]]


@pytest.mark.option("wh-unknown-kind", "effect")
def test_an_event_of_an_unknown_kind_is_sent_before_the_genuine_one(mockserver: Sandbox) -> None:
    mockserver.on("delivery").times(1).deliver(unknown_kind="campaigns.finished")
    unknown, true = completed_inbox(mockserver, 400).webhooks

    assert {"event": "campaigns.finished", "data": {}} == verify(unknown)
    assert unknown.headers["webhook-id"] != true.headers["webhook-id"]
    assert "delivered" == mockserver.events[0]["deliveries"][0]["status"]


@pytest.mark.parametrize(("answers", "order"), [((), "bac"), ((500,), "bbac")])
@pytest.mark.option("wh-order", "effect")
def test_a_reordered_event_is_sent_once_the_next_is_accepted(
    mockserver: Sandbox, answers: tuple[int, ...], order: str
) -> None:
    """Three sessions end at once, and the first delivery has the fault."""
    mockserver.on("delivery").times(1).deliver(reorder=True)
    inbox = Inbox(*answers)
    mockserver.receive_webhooks(inbox)
    sessions = {name: begin(mockserver) for name in "abc"}
    for session_id in sessions.values():
        mockserver.complete_session(session_id)
    mockserver.advance("10s")

    assert [sessions[name] for name in order] == inbox.sessions


def test_a_reordered_event_without_a_successor_is_sent_after_five_minutes(mockserver: Sandbox) -> None:
    mockserver.on("delivery").times(1).deliver(reorder=True)
    inbox = completed_inbox(mockserver)
    mockserver.advance("5m")

    assert 1 == len(inbox.webhooks)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.mockserver(choices={"expiry-driver": "on-read"})
def test_a_script_may_have_an_event_sent_before_the_answer_of_the_call_that_caused_it(
    mockserver: Sandbox, early: bool
) -> None:
    if early:
        mockserver.on("delivery").deliver(before_answer=True)
    inbox, session_id = Inbox(), begin(mockserver)
    mockserver.receive_webhooks(inbox)
    mockserver.advance("20m")

    mockserver.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{session_id}")

    assert ([session_id] if early else []) == inbox.sessions


@pytest.mark.option("wh-timestamp", "process-clock")
@pytest.mark.option("wh-timestamp", "sandbox-clock")
def test_the_timestamp_is_of_the_process_clock_or_may_be_of_the_sandboxs(mockserver: Sandbox) -> None:
    [webhook] = completed_inbox(mockserver).webhooks
    assert NOON_SECONDS != webhook.headers["webhook-timestamp"]
    assert verify(webhook)

    mockserver.choose({"wh-timestamp": "sandbox-clock"})
    [webhook] = completed_inbox(mockserver).webhooks
    assert NOON_SECONDS == webhook.headers["webhook-timestamp"]
    assert webhook.json()["data"]["occurredAt"].startswith(NOON[:19])
    with freeze_time(NOON):
        assert verify(webhook)
