"""Redaction: a key or signing secret shows its first three characters and `...`, wherever it turns up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

_KEY_LIKE = re.compile(r"\b(sk_|pk_|whsec_)[A-Za-z0-9_+/=\-]+")


def short(secret: str) -> str:
    """The short form of a key or secret."""
    return f"{secret[:3]}..."


def spelled(value: object) -> str:
    """The value as JSON spells it; what JSON has no word for, as Python does."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def shown(value: object, secrets: Iterable[str], limit_chars: int = 80) -> str:
    """The value as text for a reason: secrets hidden first, then cut."""
    written = Redactor(secrets).text(value if isinstance(value, str) else spelled(value))
    return written if len(written) <= limit_chars else written[: limit_chars - 3] + "..."


def _encoded(text: str) -> str:
    """The text with its percent signs and its unprintable characters percent-encoded."""
    return "".join(
        char if char.isprintable() and char != "%" else quote(char, safe="", errors="backslashreplace") for char in text
    )


class Redactor:
    """Hides the secrets it was given, and whatever has the form of a key, in texts and JSON values."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted((re.escape(secret) for secret in secrets if len(secret) > 3), key=len, reverse=True)
        self._known = re.compile("|".join(known)) if known else None

    def text(self, written: str) -> str:
        """
        The text with every secret in its short form, one that was percent-encoded too.

        Then the rest of the text is decoded as well, but for what is not printable: no line end and no escape comes of it.
        """
        decoded = unquote(written) if "%" in written else written
        hidden = self._hidden(decoded)
        if hidden == decoded:
            return written
        return hidden if decoded == written else _encoded(hidden)

    def finds(self, written: str) -> bool:
        """True where the text may hold a secret, as it stands or percent-encoded."""
        return "%" in written or self._hidden(written) != written

    def _hidden(self, written: str) -> str:
        if self._known is not None:
            written = self._known.sub(lambda found: short(found[0]), written)
        return _KEY_LIKE.sub(lambda found: short(found[0]), written)

    def value(self, value: Any) -> Any:
        """The JSON value with every secret in its texts, keys of objects included, in its short form."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return value
