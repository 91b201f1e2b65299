"""How long a 429 tells its client to wait: Retry-After in seconds, or as an HTTP date."""

from __future__ import annotations

from mockserver.core.instants import Span, retry_after
from mockserver.core.journal import Exchange


def told_wait(exchange: Exchange) -> Span | None:
    """The wait that the answer's Retry-After asks for; None where it has none that can be read."""
    written = next((value for name, value in exchange.headers if name.lower() == "retry-after"), "")
    return retry_after(written, exchange.at)
