"""Signature schemes of webhook requests, by option of `wh-signature`. The caller passes the timestamp."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core.instants import SECOND, Instant, to_datetime
from mockserver.core.webhooks.deliveries import key_of

Headers = dict[str, str]


class SigningInput(NamedTuple):
    """Input of a signature: the message's id (None without one), the instant of the timestamp, and the body."""

    message_id: str | None
    wall: Instant
    body: bytes


class SignatureScheme(NamedTuple):
    """A signature scheme: a function that returns the headers, and the headers of the id and the signature."""

    sign: Callable[[SigningInput, Sequence[str]], Headers]
    id_header: str | None
    signature_header: str | None


def _standard(prefix: str) -> SignatureScheme:
    """Standard Webhooks: base64 of HMAC-SHA256 over `id.timestamp.body`, one signature per secret."""

    def sign(signing_input: SigningInput, secrets: Sequence[str]) -> Headers:
        signatures = " ".join(_signature(signing_input, secret) for secret in secrets)
        return {**_identity(prefix, signing_input), f"{prefix}-signature": signatures}

    return SignatureScheme(sign, f"{prefix}-id", f"{prefix}-signature")


def _identity(prefix: str, signing_input: SigningInput) -> Headers:
    own = {f"{prefix}-id": signing_input.message_id} if signing_input.message_id is not None else {}
    return {**own, f"{prefix}-timestamp": str(signing_input.wall // SECOND)}


def _signature(signing_input: SigningInput, secret: str) -> str:
    from standardwebhooks import Webhook

    signer = Webhook(key_of(secret) or secret.encode())  # a text that another scheme took is the key itself
    return signer.sign(signing_input.message_id or "", to_datetime(signing_input.wall), signing_input.body.decode())


def _hex(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _stripe(signing_input: SigningInput, secrets: Sequence[str]) -> Headers:
    timestamp = str(signing_input.wall // SECOND)
    signed = timestamp.encode() + b"." + signing_input.body
    return {"Stripe-Signature": ",".join([f"t={timestamp}", *(f"v1={_hex(secret, signed)}" for secret in secrets)])}


def _hub(signing_input: SigningInput, secrets: Sequence[str]) -> Headers:
    return {"X-Hub-Signature-256": f"sha256={_hex(secrets[-1], signing_input.body)}"}  # the header has one signature


SCHEMES: Mapping[str, SignatureScheme] = MappingProxyType(
    {
        "standard-webhooks": _standard("webhook"),
        "svix": _standard("svix"),
        "stripe": SignatureScheme(_stripe, None, "Stripe-Signature"),
        "hub-sha256": SignatureScheme(_hub, None, "X-Hub-Signature-256"),
        "unsigned": SignatureScheme(lambda signing_input, _: _identity("webhook", signing_input), "webhook-id", None),
    }
)
