"""The reason phrases of the statuses, as IANA registers them."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from types import MappingProxyType

# The phrases of RFC 9110 that Python before 3.13 has in older words.
_PHRASES = MappingProxyType(
    {413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable", 422: "Unprocessable Content"}
)


@lru_cache(maxsize=64)
def reason_phrase(status: int) -> str:
    """Return the reason phrase of a status as IANA registers it (fixed decision `reason-phrase`)."""
    try:
        return _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
