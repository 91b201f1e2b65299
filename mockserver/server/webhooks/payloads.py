"""Requests of an attempt: the genuine one, its copies, and those that a rule adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType

from mockserver._json import JSON
from mockserver.core import ids
from mockserver.core.instants import MINUTE, Instant
from mockserver.core.state.outbox import PlannedAttempt
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.webhooks.signing import SCHEMES, SignatureScheme, SigningInput
from mockserver.version import VERSION
from mockserver.wire import formats, serializers

_TOO_OLD = 10 * MINUTE  # twice the tolerance of the reference verifiers
_STRANGER = "whsec_c3RyYW5nZXItd2l0aG91dC1hLXNlY3JldA=="
_FORMER = "whsec_Zm9ybWVyLXNlY3JldC1iZWZvcmUtcm90YXRpb24="


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One request to an endpoint; `fault` is what a rule did to it, None for the genuine one."""

    fault: str | None
    headers: Mapping[str, str]
    body: bytes


class WebhookRequestBuilder:
    """
    Builds the requests of one attempt.

    `signed_at` is their timestamp: `wall`, the process's instant, which verifiers compare with theirs, or the
    sandbox's by the choice `wh-timestamp`.
    """

    def __init__(self, sandbox: SandboxState, planned: PlannedAttempt, wall: Instant) -> None:
        self._planned = planned
        self.signed_at = planned.at if sandbox.choices["wh-timestamp"] == "sandbox-clock" else wall
        self._scheme: SignatureScheme = SCHEMES[str(sandbox.choices["wh-signature"])]
        self._format = formats.BODY_FORMATS[planned.faults.spell or str(sandbox.choices["wh-body-bytes"])]
        view = formats.SerializationContext(sandbox.choices, sandbox.seed, sandbox.now, "")
        envelope = serializers.event(view, planned.delivery.event)
        has_more = sandbox.choices["additive-fields"] != "none"
        self._envelope = formats.with_unknown_fields(envelope) if has_more else envelope

    def genuine(self, fault: str | None = None) -> WebhookRequest:
        """Return the event's own request; a `duplicate` is the same request again."""
        return self._request(fault, self._envelope)

    def extra_requests(self) -> list[WebhookRequest]:
        """Return the requests before the genuine one: an event of an unknown kind, and a forged request that differs from it."""
        faults = self._planned.faults
        extra: list[WebhookRequest] = []
        if faults.unknown_kind is not None:
            unknown = {"event": faults.unknown_kind, "data": {}}
            extra.append(self._request("unknown-kind", unknown, message_id=self._fresh_id("unknown")))
        if faults.forge is not None:
            forged = _FORGERIES[faults.forge](self)
            if forged != self.genuine():
                extra.append(replace(forged, fault=faults.forge))
        return extra

    def _secrets(self) -> tuple[str, ...]:
        webhook = self._planned.webhook
        former = webhook.former_secret(self._planned.at)
        if not former and self._planned.faults.old_secret:
            former = webhook.old_secret or _FORMER
        return (former, webhook.secret) if former else (webhook.secret,)

    def _fresh_id(self, purpose: str) -> str | None:
        own = self._planned.message_id
        return own and "msg_" + ids.seeded_id(0, purpose, self._planned.delivery.id, self._planned.number)

    def _request(
        self,
        fault: str | None,
        envelope: JSON,
        *,
        message_id: str | None = None,
        wall: Instant | None = None,
        secrets: tuple[str, ...] = (),
    ) -> WebhookRequest:
        """Return the signed request; the defaults of id, instant and secrets are those of the genuine request."""
        body = self._format(envelope).encode()
        signing_input = SigningInput(
            message_id or self._planned.message_id, self.signed_at if wall is None else wall, body
        )
        headers = {"Content-Type": "application/json", "User-Agent": f"mockserver-webhooks/{VERSION}"}
        return WebhookRequest(fault, headers | self._scheme.sign(signing_input, secrets or self._secrets()), body)

    def unsigned(self) -> WebhookRequest:
        genuine = self.genuine()
        unsigned = {name: value for name, value in genuine.headers.items() if name != self._scheme.signature_header}
        return replace(genuine, headers=unsigned)

    def with_wrong_secret(self) -> WebhookRequest:
        return self._request(None, self._envelope, secrets=(_STRANGER,))

    def with_old_timestamp(self) -> WebhookRequest:
        return self._request(None, self._envelope, wall=self.signed_at - _TOO_OLD)

    def with_changed_body(self) -> WebhookRequest:
        changed = deepcopy(self._envelope)
        changed["data"]["sessionId"] = self._envelope["data"]["sessionId"][:-1] + "0"
        return replace(self.genuine(), body=self._format(changed).encode())

    def with_changed_id(self) -> WebhookRequest:
        genuine, name = self.genuine(), self._scheme.id_header
        message_id = self._fresh_id("changed")
        return replace(genuine, headers={**genuine.headers, name: message_id}) if name and message_id else genuine

    def with_junk_signature(self) -> WebhookRequest:
        genuine, name = self.genuine(), self._scheme.signature_header
        return replace(genuine, headers={**genuine.headers, name: "junk"}) if name else genuine


_FORGERIES: Mapping[str, Callable[[WebhookRequestBuilder], WebhookRequest]] = MappingProxyType(
    {
        "no-signature": WebhookRequestBuilder.unsigned,
        "wrong-secret": WebhookRequestBuilder.with_wrong_secret,
        "old-timestamp": WebhookRequestBuilder.with_old_timestamp,
        "changed-body": WebhookRequestBuilder.with_changed_body,
        "changed-id": WebhookRequestBuilder.with_changed_id,
        "junk-header": WebhookRequestBuilder.with_junk_signature,
    }
)
