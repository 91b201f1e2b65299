"""Redaction: a key or signing secret shows only its first three characters and `...`, wherever it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from mockserver.contract.text import brief

_ENCODED_CHARS = 7  # for one character, percent-encoded three times
_CUT_SPARE_CHARS = 200  # read beyond a cut, since masking makes a text shorter
_KEY_PREFIXES = ("sk_", "pk_", "whsec_")
_KEY_LIKE = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(_KEY_PREFIXES)})[A-Za-z0-9_+/=\-]+")
_ESCAPE = re.compile(r"\\+u00([2-7][0-9A-Fa-f])")
_SHORT_CHARS = 100
_SHORT_TEXTS_MAX = 10_000
_DECODINGS_MAX = 3  # a text may be percent-encoded again and again


def mask(secret: str) -> str:
    """Return the masked form of a key or secret."""
    return f"{secret[:3]}..."


def to_json_text(value: object) -> str:
    """Return the value as JSON, or as Python formats it if JSON cannot."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def masked_excerpt(value: object, secrets: Iterable[str], limit_chars: int = 80) -> str:
    """Return the value as text for a reason: secrets masked first, then cut."""
    return Redactor(secrets).brief(value if isinstance(value, str) else to_json_text(value), limit_chars)


def _decoded(written: str) -> str:
    """Return the text with percent-encoding and JSON's escapes of ASCII resolved once."""
    if "%" in written:
        written = unquote(written)
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), written) if "\\u" in written else written


def _encoded(text: str) -> str:
    """Return the text with its percent signs and its unprintable characters percent-encoded."""
    return "".join(
        char if char.isprintable() and char != "%" else quote(char, safe="", errors="backslashreplace") for char in text
    )


class Redactor:
    """Masks the given secrets, and everything in the form of a key, in texts and JSON values."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = [secret for secret in secrets if len(secret) > 3]
        self._of_short: dict[str, str] = {}  # of texts in JSON values: keys and headers recur in each call of a journal

    def text(self, written: str) -> str:
        """
        Return the text with every secret masked, encoded ones too.

        The rest of a text with an encoded secret is decoded as well, except unprintable characters: the result has no
        new line ends or escape characters.
        """
        hidden = decoded = self._hidden(written)
        for _ in range(_DECODINGS_MAX):
            before, decoded = decoded, _decoded(decoded)
            if decoded == before:
                break
            shorter = self._hidden(decoded)
            if shorter != decoded:
                hidden, decoded = _encoded(shorter), shorter
        return hidden

    def brief(self, written: str, limit_chars: int) -> str:
        """Return the text as `text` does, cut to a length; only the beginning of a long text is read."""
        window = 2 * limit_chars + _CUT_SPARE_CHARS
        if len(written) <= window:
            hidden = self.text(written)
        else:
            # The cut may be inside a secret (encoded at worst): drop the rest of it.
            margin = max(_ENCODED_CHARS * max(map(len, self._secrets), default=0), 1)
            hidden = self.text(written[: window + margin])[:-margin] + "..."
        return brief(hidden, limit_chars)

    def contains_secret(self, written: str) -> bool:
        """Return True if the text may contain a secret, plain or percent-encoded."""
        return "%" in written or "\\u" in written or self._hidden(written) != written

    def _hidden(self, written: str) -> str:
        # Most texts have no secret: to look for each of them takes a tenth of a substitution. A generator would take half.
        for secret in self._secrets:
            if secret in written:
                written = self._known.sub(lambda match: mask(match[0]), written)
                break
        for prefix in _KEY_PREFIXES:
            if prefix in written:
                return _KEY_LIKE.sub(lambda match: mask(match[0]), written)
        return written

    @cached_property
    def _known(self) -> re.Pattern[str]:
        longest_first = sorted(self._secrets, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)))

    def value(self, value: Any) -> Any:
        """Return the JSON value with every secret in its texts and keys masked."""
        if isinstance(value, str):
            return self._recurring(value)
        if isinstance(value, Mapping):
            return {self._recurring(str(key)): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(element) for element in value]
        return value

    def _recurring(self, written: str) -> str:
        """Return what `text` does, computed once for a short text."""
        hidden = self._of_short.get(written)
        if hidden is None:
            hidden = self.text(written)
            if len(written) <= _SHORT_CHARS and len(self._of_short) < _SHORT_TEXTS_MAX:
                self._of_short[written] = hidden
        return hidden
