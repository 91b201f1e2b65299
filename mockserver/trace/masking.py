"""
Stand-ins for what is private in a recording: keys, tokens, phone numbers, names, texts, contents of files.

1. What stays is listed: ids, dates, numbers, flags, and the words of the API document. Every other text gets a stand-in, also
   in a field that the document does not have.
2. A stand-in has the form of its value: letters for letters, digits for digits, the same length, punctuation and
   placeholders (`{{1}}`) as they were. Equal values have equal stand-ins, so a masked recording shows the same relations.
3. Stand-ins depend on the whole recording: without it no phone number can be tried until its stand-in matches.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from mockserver._data import data_dir
from mockserver.contract import schemas
from mockserver.contract.errors import ERRORS
from mockserver.contract.filters import FIELDS
from mockserver.contract.media_types import is_text
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import json_value, whole_number
from mockserver.core.instants import MILLISECOND, parse
from mockserver.core.redaction import is_secret_name, keys_in, replace_keys
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.trace import Trace

# Fields whose texts are ids, or words and formats of the document.
_KEPT_FIELDS: Final = frozenset(
    ("id", "key", "status", "platform", "type", "kind", "code", "event", "combinator", "combinators", "operator", "operators",
     "field", "reason", "mimeType", "valueFormat", "allowedValues", "providerTemplateStatus", "nextCursor", "cursor", "limit")
)  # fmt: skip
_KEPT_ENDINGS: Final = ("Id", "Ids", "At")
_KEPT_HEADERS: Final = frozenset(
    ("accept", "accept-encoding", "content-encoding", "content-length", "content-type", "connection", "date", "retry-after",
     "ratelimit", "ratelimit-policy", "transfer-encoding", "user-agent", "x-api-key", "webhook-id", "webhook-timestamp", "svix-id",
     "svix-timestamp")
)  # fmt: skip
_PLACES: Final = frozenset(("latitude", "longitude"))
_PHONE = re.compile(r"(?<![\w+])\+?\d(?:[ ().-]{0,2}\d){7,}(?![\w])|(?<![\w+])\+?\d{8,}(?=@)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DRAWS_MAX: Final = 256  # of a stand-in that no other text has; of more texts than their form has values some are equal
# What a stand-in leaves as it is: placeholders of templates, the scheme of an address and the own machine, and the ending of a file's name.
_FORM = re.compile(
    r"\{\{[^{}]*\}\}|^[a-z][a-z0-9+.-]*://(?:(?:localhost|127\.0\.0\.1)(?=[:/?#]|$))?|(?<=\S)\.[A-Za-z0-9]{2,4}$"
)
_NUMBER = re.compile(r"[+-]?\d{1,7}(?:\.\d+)?")
_QUOTED_MIN_CHARS = 3  # of a private text that a sentence may quote; a shorter one is part of other words
_FILE_HEAD_BYTES = 16  # shows the type of a binary file, and nothing in it


class Masker:
    """
    Replaces what is private by stand-ins.

    Attributes:
        counts: How many values got a stand-in, by the name of their field; those without a field are under `text`.
    """

    def __init__(self, salt: bytes, keep: Iterable[str] = ()) -> None:
        """
        Make a masker.

        Args:
            salt: What the stand-ins depend on; `salt_of` returns that of a recording.
            keep: Names of fields whose texts stay.
        """
        self._salt = salt
        self._keep = frozenset(keep)
        self._stand_ins: dict[str, str] = {}
        self._taken: set[str] = set()
        self.counts: Counter[str] = Counter()

    def recording(self, recording: Trace) -> Trace:
        """Return the recording with stand-ins in every path, header and body."""
        return replace(
            recording,
            exchanges=[self._exchange(exchange) for exchange in recording.exchanges],
            deliveries=[self._delivery(delivery) for delivery in recording.deliveries],
        )

    def _exchange(self, exchange: Exchange) -> Exchange:
        return replace(
            exchange,
            path=self._path(exchange.path),
            params={name: self.words(value) for name, value in exchange.params.items()},
            request_headers=self._headers(exchange.request_headers),
            request_body=self._body(exchange.request_body, exchange.request_headers),
            response_headers=self._headers(exchange.response_headers),
            response_body=self._body(exchange.response_body, exchange.response_headers),
            key=None if exchange.key is None else self.words(exchange.key),
        )

    def _delivery(self, delivery: DeliveryAttempt) -> DeliveryAttempt:
        body = self._body(delivery.body, delivery.headers) or b""
        return replace(delivery, headers=self._headers(delivery.headers), body=body, endpoint="")

    def _path(self, path: str) -> str:
        plain, mark, query = path.partition("?")
        segments = "/".join(map(self.words, plain.split("/")))
        return segments + mark + "&".join(map(self._parameter, query.split("&")))

    def _parameter(self, pair: str) -> str:
        name, sign, value = pair.partition("=")
        return name + sign + self._field_text(value, name)

    def _headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return {name: self._header(name, value) for name, value in headers.items()}

    def _header(self, name: str, value: str) -> str:
        if name in _KEPT_HEADERS or name in self._keep:
            return self.words(value)
        if is_secret_name(name):
            return " ".join(map(self._key, keys_in(value))) or "..."
        return self._stand_in(value)

    def _body(self, body: bytes | None, headers: Mapping[str, str]) -> bytes | None:
        """Return a body with stand-ins: JSON by its fields, an upload by its parts, everything else as one text."""
        if not body:
            return body
        value = json_value(body, ABSENT)
        if value is not ABSENT:
            return json.dumps(self.value(value), ensure_ascii=False).encode("utf-8", "surrogatepass")
        content_type = headers.get("content-type", "")
        boundary = re.search(r'boundary="?([^";]+)', content_type)
        if content_type.startswith("multipart/") and boundary is not None:
            separator = b"--" + boundary[1].encode("utf-8", "surrogatepass")
            return separator.join(map(self._part, body.split(separator)))
        try:
            return self.text(body.decode()).encode()
        except UnicodeDecodeError:
            return _blank(body)

    def _part(self, part: bytes) -> bytes:
        """Return a part of an upload: names of files with stand-ins, contents without all but the beginning of a binary one."""
        head, gap, content = part.partition(b"\r\n\r\n")
        named = re.sub(rb'(filename="?)([^";\r\n]*)', self._file_name, head)
        if not gap:
            return named
        file = content.removesuffix(b"\r\n")
        return named + gap + _blank(file) + content[len(file) :]

    def _file_name(self, match: re.Match[bytes]) -> bytes:
        return match[1] + self.text(match[2].decode("utf-8", "replace"), "name").encode()

    def value(self, value: Any, field: str = "") -> Any:
        """Return a JSON value with stand-ins for its private texts; `field` is the name of the member that it is."""
        if field in self._keep:
            return value
        if isinstance(value, dict):
            shown = ("value",) if _is_of_table(value) else ()
            return {
                self.words(name): inner if name in shown else self.value(inner, name) for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self.value(element, field) for element in value]
        if isinstance(value, str):
            return self._field_text(value, field)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value, field)
        return value

    def _field_text(self, text: str, field: str) -> str:
        if field in _KEPT_FIELDS or field.endswith(_KEPT_ENDINGS) or text in words_of_document() or parse(text):
            return self.words(text)
        if _DATE.fullmatch(text) or _NUMBER.fullmatch(text):
            return text
        return self.text(text, field)

    def _number(self, number: float, field: str) -> float:
        if field in _PLACES:
            self.counts[field] += 1
            return 0
        if "phone" in field.lower() and isinstance(number, int) and number >= 0:
            return whole_number(self.text(str(number), field)) or 0
        return number

    def text(self, text: str, field: str = "text") -> str:
        """Return the stand-in of a private text."""
        if not text or not any(map(str.isalnum, text)):
            return text
        if text not in self._stand_ins:
            self._stand_ins[text] = self._unlike_others(text)
            self.counts[self.words(field) or "text"] += 1
        return self._stand_ins[text]

    def words(self, text: str) -> str:
        """Return a text of the API itself, such as an id, with stand-ins for the phone numbers and keys in it."""
        if _DATE.match(text):
            return text
        return _PHONE.sub(lambda match: self.text(match[0], "phone"), replace_keys(text, self._key))

    def _key(self, key: str) -> str:
        prefix, mark, rest = key.partition("_")
        return prefix + mark + self._letters(rest)

    def sentence(self, text: str) -> str:
        """Return a text about the recording with the stand-ins of all texts that have got one, the longest first."""
        for private in sorted(self._stand_ins, key=len, reverse=True):
            if len(private) >= _QUOTED_MIN_CHARS and private in text:
                text = text.replace(private, self._stand_ins[private])
        return self.words(text)

    def _unlike_others(self, text: str) -> str:
        """Return a stand-in that no other text has: two names of one letter would be equal in one of 26 recordings."""
        for draw in range(_DRAWS_MAX):
            stand_in = self._stand_in(text, draw)
            if stand_in not in self._taken:
                break
        self._taken.add(stand_in)
        return stand_in

    def _stand_in(self, text: str, draw: int = 0) -> str:
        stand_in = self._letters(text, draw)
        for match in _FORM.finditer(text):
            stand_in = stand_in[: match.start()] + match[0] + stand_in[match.end() :]
        return stand_in

    def _letters(self, text: str, draw: int = 0) -> str:
        """Return as many letters and digits as the text has, each of its kind."""
        stream = self._stream(text, draw)
        return "".join(_like(character, next(stream)) if character.isalnum() else character for character in text)

    def _stream(self, text: str, draw: int) -> Iterator[int]:
        """Yield bytes that depend on the recording, the text and the number of the draw."""
        seed = hashlib.sha256(self._salt + text.encode("utf-8", "surrogatepass")).digest()
        count = draw << 16
        while True:
            yield from hashlib.sha256(seed + count.to_bytes(4, "big")).digest()
            count += 1


def _like(character: str, number: int) -> str:
    if character in "0123456789":
        return chr(ord("0") + number % 10)
    letter = chr(ord("a") + number % 26)
    return letter.upper() if character.isupper() else letter


def _is_of_table(statement: Mapping[str, Any]) -> bool:
    """Return True if the value of a filter is a part of a value that the document lists for its field: `app` of a platform."""
    field, part = FIELDS.get(str(statement.get("field"))), statement.get("value")
    return field is not None and isinstance(part, str) and any(part in allowed for allowed in field.allowed or ())


def _blank(content: bytes) -> bytes:
    """Return as many bytes, of which only the first show the type of the file; those of a text would show the text."""
    head = content[:_FILE_HEAD_BYTES]
    shown = b"" if is_text(head) else head
    return shown + bytes(len(content) - len(shown))


@cache
def words_of_document() -> frozenset[str]:
    """Return the texts that the document itself has as values: those of enumerations, of filter fields and of errors."""
    words: set[str] = {error.message for error in ERRORS.values()}
    words.update(FIELDS)
    for file in sorted(data_dir("schemas").glob("*.json")):
        if not file.name.startswith(("control.", "scenario.")):
            words.update(_enumerated(schemas.load(file.stem)))
    return frozenset(words)


def _enumerated(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        if isinstance(schema.get("const"), str):
            yield schema["const"]
        for inner in schema.values():
            yield from _enumerated(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _enumerated(inner)


def salt_of(recording: Trace) -> bytes:
    """Return what the stand-ins of a recording depend on: all its bodies, the same for the same recording."""
    digest = hashlib.sha256()
    for exchange in recording.exchanges:
        at = exchange.at // MILLISECOND if exchange.is_timed else exchange.number
        digest.update(f"{exchange.path}\n{exchange.key}\n{at}\n".encode("utf-8", "surrogatepass"))
        digest.update(exchange.request_body or b"")
        digest.update(exchange.response_body or b"")
    return digest.digest()
