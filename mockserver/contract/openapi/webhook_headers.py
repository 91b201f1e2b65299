"""The headers with which the receiver of an event verifies it, by `wh-signature` and `wh-idempotency`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {"standard-webhooks": "webhook", "svix": "svix", "unsigned": "webhook"}
)
_IDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "same-per-event": "The same for each attempt to deliver the event, so that its receiver can ignore a repetition.",
        "new-per-try": "Of this attempt alone.",
    }
)
_TIMESTAMP: Final = "The instant of the attempt, in seconds since 1970."
_SIGNATURE: Final = (
    "`v1,` and the base64 of the HMAC-SHA256 of `ID.TIMESTAMP.BODY`: the values of the other headers, and the bytes of "
    "the body. The key is the base64-decoded rest of the secret after `whsec_`; a secret that is not base64 is the key "
    "itself. One for each secret that is valid, separated by blanks."
)
_ALONE: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "stripe": {
            "Stripe-Signature": "`t=` and the instant of the attempt in seconds since 1970, then for each secret that "
            "is valid `,v1=` and the HMAC-SHA256 of `T.BODY` in hexadecimal digits. The key is the text of the secret."
        },
        "hub-sha256": {
            "X-Hub-Signature-256": "`sha256=` and the HMAC-SHA256 of the body in hexadecimal digits. The key is the "
            "text of the secret."
        },
    }
)


def webhook_headers(choices: Mapping[str, object]) -> dict[str, str]:
    """Return the headers, each with its description, in the order in which a receiver reads them."""
    scheme, repetition = str(choices["wh-signature"]), str(choices["wh-idempotency"])
    if scheme in _ALONE:
        return dict(_ALONE[scheme])
    prefix = _PREFIXES[scheme]
    headers = {f"{prefix}-id": _IDS[repetition]} if repetition in _IDS else {}
    headers[f"{prefix}-timestamp"] = _TIMESTAMP
    return headers if scheme == "unsigned" else {**headers, f"{prefix}-signature": _SIGNATURE}
