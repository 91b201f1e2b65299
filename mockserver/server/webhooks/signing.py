"""How a letter to a webhook endpoint is signed, by option of `wh-signature`. The timestamp is handed in."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core.instants import SECOND, Instant, to_datetime

Headers = dict[str, str]


class SigningInput(NamedTuple):
    """What is signed: the message's id (None where there is none), the wall clock's instant, and the body."""

    message_id: str | None
    wall: Instant
    body: bytes


class SignatureScheme(NamedTuple):
    """A way of signing: its headers, and which of them carry the id and the signature."""

    sign: Callable[[SigningInput, Sequence[str]], Headers]
    id_header: str | None
    signature_header: str | None


def _standard(prefix: str) -> SignatureScheme:
    """Standard Webhooks: base64 of HMAC-SHA256 over `id.timestamp.body`, a signature for each secret."""

    def sign(seal: SigningInput, secrets: Sequence[str]) -> Headers:
        signatures = " ".join(_signature(seal, secret) for secret in secrets)
        return {**_identity(prefix, seal), f"{prefix}-signature": signatures}

    return SignatureScheme(sign, f"{prefix}-id", f"{prefix}-signature")


def _identity(prefix: str, seal: SigningInput) -> Headers:
    own = {f"{prefix}-id": seal.message_id} if seal.message_id is not None else {}
    return {**own, f"{prefix}-timestamp": str(seal.wall // SECOND)}


def _signature(seal: SigningInput, secret: str) -> str:
    from standardwebhooks import Webhook

    try:
        signer = Webhook(secret)
    except (ValueError, RuntimeError):  # no base64: then the text itself is the key
        signer = Webhook(secret.encode())
    except Exception as failure:  # the library's own class for an empty key is not public
        if type(failure).__name__ != "EmptyWebhookSecretError":
            raise
        signer = Webhook(secret.encode())
    return signer.sign(seal.message_id or "", to_datetime(seal.wall), seal.body.decode())


def _hex(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _stripe(seal: SigningInput, secrets: Sequence[str]) -> Headers:
    timestamp = str(seal.wall // SECOND)
    signed = timestamp.encode() + b"." + seal.body
    return {"Stripe-Signature": ",".join([f"t={timestamp}", *(f"v1={_hex(each, signed)}" for each in secrets)])}


def _hub(seal: SigningInput, secrets: Sequence[str]) -> Headers:
    return {"X-Hub-Signature-256": f"sha256={_hex(secrets[-1], seal.body)}"}  # it has room for one alone


SCHEMES: Mapping[str, SignatureScheme] = MappingProxyType(
    {
        "standard-webhooks": _standard("webhook"),
        "svix": _standard("svix"),
        "stripe": SignatureScheme(_stripe, None, "Stripe-Signature"),
        "hub-sha256": SignatureScheme(_hub, None, "X-Hub-Signature-256"),
        "unsigned": SignatureScheme(lambda seal, _: _identity("webhook", seal), "webhook-id", None),
    }
)
