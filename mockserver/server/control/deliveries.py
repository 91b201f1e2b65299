"""The command that shows an event in full: the requests of its deliveries, and what each of their signatures covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.contract.text import closest_match_hint, whole_number
from mockserver.core.instants import SECOND, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.outbox import Attempt, Delivery
from mockserver.core.state.records import Webhook
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.api.response import redactor
from mockserver.server.control import views
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.webhooks.signing import SCHEMES, SignatureScheme, SigningInput

JSON = dict[str, Any]
Arguments = Mapping[str, Any]

_SECONDS_MAX = 253_402_300_799  # of the last instant
_TIMESTAMPS = ("webhook-timestamp", "svix-timestamp")


def read_event(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Return an event with each request that was sent for it, byte for byte, and the check of its signature."""
    sandbox, event_id = hosted.sandbox, args["id"]
    entry = next((event for event in views.events(sandbox)["events"] if event["id"] == event_id), None)
    if entry is None:
        ids = [event.id for event in sandbox.events]
        expected = ", ".join(ids[:5]) or "one that exists; there is none yet"
        hint = closest_match_hint(event_id, ids)
        raise ControlError(404, "MOCK_NOT_FOUND", f"event: got {event_id!r}; expected {expected}{hint}")
    hide = redactor(sandbox)
    rows = [_delivery(sandbox, delivery, hide) for delivery in sandbox.outbox.of_event(event_id)]
    return {**entry, "deliveries": rows}


def _delivery(sandbox: SandboxState, delivery: Delivery, hide: Redactor) -> JSON:
    match = sandbox.find("webhook", delivery.webhook_id)
    webhook = match[1] if match else None
    return {
        "id": delivery.id,
        "endpoint": delivery.webhook_id,
        "url": hide.text(webhook.url) if webhook else None,
        "status": delivery.status,
        "due": None if delivery.has_ended else format_exact(delivery.due),
        "attempts": [_attempt(attempt, webhook, hide) for attempt in delivery.attempts],
    }


def _attempt(attempt: Attempt, webhook: Webhook | None, hide: Redactor) -> JSON:
    return {
        "number": attempt.number,
        "at": format_exact(attempt.at),
        "due": format_exact(attempt.due),
        "status": attempt.status,
        "error": hide.text(attempt.error) if attempt.error else None,
        "fault": attempt.fault,
        "durationMs": attempt.duration_ms,
        "headers": hide.value(dict(attempt.headers)),
        "body": hide.text(attempt.body.decode("utf-8", "replace")),
        "bodyBytes": len(attempt.body),
        "answer": hide.text(attempt.answer.decode("utf-8", "replace")),
        "signature": _signature(attempt, webhook),
    }


class _Signed(NamedTuple):
    """The parts of a request that its signature covers, as its headers have them."""

    message_id: str | None
    timestamp: str | None
    signatures: list[str]


def _signature(attempt: Attempt, webhook: Webhook | None) -> JSON | None:
    """Return what a request is signed with, part by part; None if it has no signature."""
    headers = {name.lower(): value for name, value in attempt.headers.items()}
    for name, scheme in SCHEMES.items():
        if scheme.signature_header is None or scheme.signature_header.lower() not in headers:
            continue
        signed = _signed(headers, scheme)
        return {
            "scheme": name,
            "id": signed.message_id,
            "timestamp": signed.timestamp,
            "signatures": [
                {"value": value, "secret": _secret_of(attempt, webhook, scheme, signed, value)}
                for value in signed.signatures
            ],
        }
    return None


def _signed(headers: Mapping[str, str], scheme: SignatureScheme) -> _Signed:
    assert scheme.signature_header is not None
    value = headers[scheme.signature_header.lower()]
    if scheme.signature_header == "Stripe-Signature":
        pairs = [part.partition("=") for part in value.split(",")]
        timestamp = next((text for name, _, text in pairs if name == "t"), None)
        return _Signed(None, timestamp, [f"v1={text}" for name, _, text in pairs if name == "v1"] or [value])
    timestamp = next((headers[name] for name in _TIMESTAMPS if name in headers), None)
    message_id = headers.get(scheme.id_header) if scheme.id_header else None
    return _Signed(message_id, timestamp, value.split(" "))


def _secret_of(
    attempt: Attempt, webhook: Webhook | None, scheme: SignatureScheme, signed: _Signed, value: str
) -> str | None:
    """Return which secret of the endpoint has signed: `current` or `former`; None if neither has."""
    seconds = whole_number(signed.timestamp or "0")
    if webhook is None or seconds is None or seconds > _SECONDS_MAX:
        return None
    signing_input = SigningInput(signed.message_id, seconds * SECOND, attempt.body)
    for name, secret in (("current", webhook.secret), ("former", webhook.old_secret)):
        if secret and value in _signed(_lower(scheme.sign(signing_input, (secret,))), scheme).signatures:
            return name
    return None


def _lower(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}
