"""What is told beside an answer: the English reason of a refusal, and the Portuguese text of a session's end."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mockserver.contract.errors import SESSION_MESSAGES
from mockserver.core.calls import ApiError, Refused
from mockserver.core.redaction import Redactor

_HEADER_MAX_CHARS = 300
_SENTENCE_MAX_CHARS = 2_000

# By option of `message-text`, then by reason.
SESSION_TEXTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "canonical": {reason: canonical for reason, (canonical, _) in SESSION_MESSAGES.items()},
        "reworded": {reason: reworded for reason, (_, reworded) in SESSION_MESSAGES.items()},
        "empty": dict.fromkeys(SESSION_MESSAGES, ""),
    }
)


def sentence(refusal: ApiError | Refused, redactor: Redactor) -> str:
    """The broken clause, the place, and what came and was wanted, without any key or secret."""
    place = f" at {refusal.at}" if refusal.at else ""
    return redactor.brief(f"{refusal.clause}{place}: {refusal.reason}", _SENTENCE_MAX_CHARS)


def header(refusal: ApiError, redactor: Redactor) -> str:
    """The sentence as a header's value: printable ASCII, other characters escaped, at most 300 characters."""
    ascii_text = sentence(refusal, redactor).encode("ascii", "backslashreplace").decode("ascii")
    printable = "".join(each if " " <= each <= "~" else f"\\x{ord(each):02x}" for each in ascii_text)
    return printable if len(printable) <= _HEADER_MAX_CHARS else printable[: _HEADER_MAX_CHARS - 3] + "..."
