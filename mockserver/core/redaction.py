"""
Redaction: what every view, file and line of a log goes through before it is read later.

1. A key, a signing secret or a token that the caller knows, and everything in the form of one, shows only its first three
   characters and `...`, wherever it is.
2. Any other value of a header or parameter with the name of a secret (`is_secret_name`) is `...`, after the scheme of its
   credentials: in headers, in queries and forms, in urls within any text, and in conditions of rules on those. So are texts
   of JSON members that `is_secret_member` names, and the part of a url before `@`. In a document that is to be replayed the
   second such value is `...2`, so that its calls differ where those of the run did.
3. To mask a text again changes nothing.
4. Recordings have hashes instead (`replace_keys`, `hashed_key`): equal keys stay equal, and no key is stored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from mockserver.contract.text import brief

_ENCODED_CHARS = 7  # for one character, percent-encoded three times
_CUT_SPARE_CHARS = 200  # read beyond a cut, since masking makes a text shorter
TOKEN_PREFIX: Final = "mocktoken_"  # of the tokens that a server gives to its sandboxes, and of its cookies
# What the names of secrets end with, in any case.
_WORDS = (
    "authorization", "cookie", "credential", "credentials", "jwt", "passphrase", "passwd", "password", "pwd", "secret", "token",
)  # fmt: skip
_WORD = rf"(?:{'|'.join(_WORDS)})\d*"
_MEMBER_NAME = re.compile(rf"{_WORD}\]?$", re.IGNORECASE)
_KEY_NAME = re.compile(r"(?:^|-|access|api|auth|client|private|subscription)key\d*$")
# Whole names, in lower case and with `-` in place of `_`: of headers and parameters that tools of browsers and proxies mask.
_NAMES = frozenset(
    ("assertion", "auth", "authentication", "client-assertion", "code", "code-verifier", "id-token-hint", "pass", "session",
     "session-id", "sid", "sig", "signature", "x-amz-signature", "x-auth", "x-session-id")
)  # fmt: skip
_OPEN_NAMES = ("idempotency-key",)
_PARAMETER = re.compile(r"""(?<=[?&#;])([^=&#;\s?"'<>]+)=""")
_PARAMETER_VALUE = re.compile(r"""[^&#\s"'<>]*""")
_USERINFO = re.compile(r"""(?<=://)([^/?#\s"'<>]+)(?=@)""")
# Members of JSON or of a `repr`, also within a JSON text, and lines of a request's head.
_MEMBER = re.compile(rf"""({_WORD}(?:\\*["'])\s*:\s*(\\*["']))((?:(?!\2)(?:\\.|[^\\]))+)""", re.IGNORECASE | re.DOTALL)
_SCHEME = "(?:Basic|Bearer|Digest|Negotiate|NTLM|Token)"
_LINE = re.compile(
    rf"""((?:authorization|cookie2?):\s*)({_SCHEME}\s+[^\s"',]+|[^\s"',;=]{{1,200}}=[^\s"',;]*(?:;\s*[^\s"',;]+)*)""",
    re.IGNORECASE,
)
_MASKED = re.compile(r"[^.\s]{0,3}\.\.\.[0-9]*")
# What stays of a secret value: the sign of a condition, and the scheme of credentials (RFC 9110, 11.6.2).
_BEGIN = re.compile(rf"(?:>=|<=|!=|[<>~])?\s*(?:{_SCHEME}(?:\s+|$))?", re.IGNORECASE)
_NAMED = ("headers", "query")  # members of JSON values whose own members are headers and parameters
_CONDITIONS = ("header.", "query.")
_KEY_PREFIXES = ("sk_", "pk_", "whsec_", TOKEN_PREFIX)
_KEY_CHARS_MIN = 16  # after the prefix: shorter ones are words, such as `pk_campaign_one`
_KEY_BEGIN = rf"(?<![A-Za-z0-9])({'|'.join(_KEY_PREFIXES)})[A-Za-z0-9_+/=\-]"
KEY_LIKE: Final = rf"{_KEY_BEGIN}{{{_KEY_CHARS_MIN},}}"
_KEY_LIKE = re.compile(KEY_LIKE)
# Short keys, hashes of keys and words that begin like one: each gets a stand-in, so that words stay equal to themselves.
_KEY_OR_WORD = re.compile(rf"{_KEY_BEGIN}{{8,}}")
_HASH_CHARS = 12
_ESCAPE = re.compile(r"\\+u00([2-7][0-9A-Fa-f])")
_FORM = "application/x-www-form-urlencoded"
_SHORT_CHARS = 100
_SHORT_TEXTS_MAX = 10_000
_DECODINGS_MAX = 3  # a text may be percent-encoded again and again


def mask(secret: str) -> str:
    """Return the masked form of a key or secret."""
    return f"{secret[:3]}..."


def hashed_key(key: str) -> str:
    """Return the prefix of a key, or `key_`, and a hash."""
    prefix = next((prefix for prefix in _KEY_PREFIXES if key.startswith(prefix)), "key_")
    return prefix + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


def keys_in(written: str) -> list[str]:
    """Return the keys in a text, short or hashed ones too."""
    return [match[0] for match in _KEY_OR_WORD.finditer(written)]


def replace_keys(written: str, stand_in: Callable[[str], str]) -> str:
    """Return the text with a stand-in for each key, short or hashed ones too."""
    if not any(prefix in written for prefix in _KEY_PREFIXES):
        return written
    return _KEY_OR_WORD.sub(lambda match: stand_in(match[0]), written)


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Return True if the value of a header or parameter of this name is a secret."""
    plain = name.lower().replace("_", "-")
    if plain in _OPEN_NAMES:
        return False
    return plain in _NAMES or _KEY_NAME.search(plain) is not None or is_secret_member(name)


@lru_cache(maxsize=1024)
def is_secret_member(name: str) -> bool:
    """Return True if the text of a JSON member of this name is a secret; `key`, `code` and `session` are ordinary there."""
    return _MEMBER_NAME.search(name) is not None


def is_form(content_type: str) -> bool:
    """Return True for the media type of parameters in a body."""
    return content_type.partition(";")[0].strip().lower() == _FORM


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


def _forms(secret: str) -> tuple[str, ...]:
    """Return the secret as parameters may show it: split at its first `=`, and with spaces for each `+`."""
    bare = secret.rstrip("=")
    return secret, bare, bare.replace("+", " ")


class Redactor:
    """
    Masks the given secrets, everything in the form of a key, and what has the name of a secret, in texts and JSON values.

    Args:
        secrets: keys, signing secrets and tokens.
        by_name: False to leave the last of these to a redactor that masks the same texts later, together with others.
        is_distinct: True to number the values that the names show to be secret.
    """

    def __init__(self, secrets: Iterable[str], *, by_name: bool = True, is_distinct: bool = False) -> None:
        self._by_name = by_name
        self._is_distinct = is_distinct
        self._numbers: dict[str, int] = {}  # of the values that their names show to be secret
        self._secrets = list(dict.fromkeys(form for secret in secrets for form in _forms(secret) if len(form) > 3))
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
            margin = _ENCODED_CHARS * max(map(len, self._secrets), default=_KEY_CHARS_MIN)
            hidden = self.text(written[: window + margin])[:-margin] + "..."
        return brief(hidden, limit_chars)

    def _hidden(self, written: str) -> str:
        # Most texts have no secret: to look for each of them takes a tenth of a substitution. A generator would take half.
        for secret in self._secrets:
            if secret in written:
                written = self._known.sub(lambda match: mask(match[0]), written)
                break
        for prefix in _KEY_PREFIXES:
            if prefix in written:
                written = _KEY_LIKE.sub(lambda match: mask(match[0]), written)
                break
        return self._prose(written) if self._by_name else written

    def _prose(self, written: str) -> str:
        """Return the text with what has the name of a secret in its urls, members and lines masked."""
        if "=" in written:
            written = self._urls(written)
        if ":" not in written:
            return written
        written = _USERINFO.sub(lambda match: self._placeholder(match[1]), written)
        lowered = written.lower()  # to look for each word takes a hundredth of a search that ignores case
        if not any(word in lowered for word in _WORDS):
            return written
        written = _MEMBER.sub(lambda match: match[1] + self._credentials(match[3]), written)
        return _LINE.sub(lambda match: match[1] + self._credentials(match[2]), written)

    def _urls(self, written: str) -> str:
        parts: list[str] = []
        end = 0
        for match in _PARAMETER.finditer(written):
            if match.start() < end or not is_secret_name(unquote(match[1])):
                continue
            value = _PARAMETER_VALUE.match(written, match.end())
            assert value is not None
            parts += written[end : match.end()], self._placeholder(value[0])
            end = value.end()
        return "".join(parts) + written[end:]

    def _placeholder(self, value: str) -> str:
        """Return what replaces a whole value; what is masked or empty stays."""
        if not value or _MASKED.fullmatch(value):
            return value
        if not self._is_distinct:
            return "..."
        number = self._numbers.setdefault(value, len(self._numbers) + 1)
        return "..." if number == 1 else f"...{number}"

    def named(self, name: str, value: str) -> str:
        """Return the value of a header or parameter, masked if its name shows that it is a secret."""
        hidden = self._recurring(value)
        return self._credentials(hidden) if self._by_name and is_secret_name(name) else hidden

    def _credentials(self, value: str) -> str:
        begin = _BEGIN.match(value)
        assert begin is not None
        return begin[0] + self._placeholder(value[begin.end() :])

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return headers, or parameters of a query, with what is secret in them masked."""
        return {self._recurring(name): self.named(name, value) for name, value in headers.items()}

    def target(self, written: str) -> str:
        """Return the target of a request, its path and each parameter masked."""
        path, mark, query = written.partition("?")
        return self.text(path) + mark + self.parameters(query)

    def body(self, written: str, content_type: str) -> str:
        """Return the text of a body; that of a form has parameters."""
        return self.parameters(written) if is_form(content_type) else self.text(written)

    def parameters(self, written: str) -> str:
        """Return the parameters of a query or form, each masked and encoded on its own: they stay the same ones."""
        return "&".join(map(self._pair, written.split("&")))

    def _pair(self, written: str) -> str:
        name, equals, value = written.partition("=")
        pair = (unquote_plus(name), unquote_plus(value))
        hidden = (self._recurring(pair[0]), self.named(*pair))
        if hidden == pair:
            return written
        if pair == (name, value):
            return equals.join(hidden)
        return equals.join(quote_plus(part, safe="/:?", errors="surrogatepass") for part in hidden)

    @cached_property
    def _known(self) -> re.Pattern[str]:
        longest_first = sorted(self._secrets, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)))

    def value(self, value: Any) -> Any:
        """Return the JSON value with every secret in its texts and keys masked."""
        if isinstance(value, str):
            return self._recurring(value)
        if isinstance(value, Mapping):
            return {self._recurring(str(key)): self._member(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(element) for element in value]
        return value

    def _member(self, key: str, inner: Any) -> Any:
        if isinstance(inner, str):
            if key.startswith(_CONDITIONS):
                return self.named(key.partition(".")[2], inner)
            hidden = self._recurring(inner)
            return self._credentials(hidden) if self._by_name and is_secret_member(key) else hidden
        if key in _NAMED and isinstance(inner, Mapping):
            return {
                self._recurring(str(name)): self.named(str(name), each) if isinstance(each, str) else self.value(each)
                for name, each in inner.items()
            }
        return self.value(inner)

    def _recurring(self, written: str) -> str:
        """Return what `text` does, computed once for a short text."""
        hidden = self._of_short.get(written)
        if hidden is None:
            hidden = self.text(written)
            if len(written) <= _SHORT_CHARS and len(self._of_short) < _SHORT_TEXTS_MAX:
                self._of_short[written] = hidden
        return hidden
