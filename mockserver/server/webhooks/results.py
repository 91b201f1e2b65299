"""The result of one webhook request, over a socket or in process."""

from __future__ import annotations

from dataclasses import dataclass

RESPONSE_MAX_BYTES = 64 * 1024
CANCELED = "canceled"  # the error of a request that was canceled before its response


@dataclass(frozen=True, slots=True)
class SendResult:
    """
    Result of a request: the endpoint's status, Retry-After as sent and the beginning of its body, or the error.

    `exit` is what a receiver in this process raised to end the test, such as by `pytest.fail`; the sender raises it again
    once the result is recorded.
    """

    status: int | None
    error: str | None = None
    duration_ms: int = 0
    retry_after: str = ""
    body: bytes = b""
    exit: BaseException | None = None
