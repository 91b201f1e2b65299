"""
Excerpts of recorded messages without what is private in them: keys are hashes already, when a recording is read.

A body has its ids, dates, numbers, flags and words of the document; every other text is `...`, so is a number of a person.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import brief, json_value
from mockserver.core.instants import parse
from mockserver.core.redaction import mask

HIDDEN: Final = "..."
_EXCERPT_CHARS: Final = 300
# Fields whose texts are ids, or words and formats of the document.
_SHOWN: Final = frozenset(
    ("id", "key", "status", "platform", "type", "kind", "code", "message", "event", "combinator", "combinators", "operator",
     "operators", "field", "reason", "mimeType", "valueFormat", "allowedValues", "providerTemplateStatus", "nextCursor")
)  # fmt: skip
_SHOWN_ENDINGS: Final = ("Id", "Ids", "At")
_PRIVATE_NUMBERS: Final = frozenset(("latitude", "longitude", "phone"))
_PHONE: Final = re.compile(r"(?<![\w+])\+?\d(?:[ ().-]{0,2}\d){7,}(?!\w)|(?<![\w+])\+?\d{8,}(?=@)")


def without_phones(text: str) -> str:
    """Return a text with only the beginning of each phone number in it, such as that in the id of a chat."""
    return _PHONE.sub(lambda match: mask(match[0]), text)


def excerpt(body: bytes | None) -> str:
    """Return the beginning of a body on one line; an empty text for none, and of one that is not JSON only its size."""
    if not body:
        return ""
    value = json_value(body, ABSENT)
    if value is ABSENT:
        return f"{len(body):,} bytes that are not JSON"
    return brief(json.dumps(_open(value), ensure_ascii=False), _EXCERPT_CHARS)


def _open(value: Any, field: str = "") -> Any:
    if isinstance(value, Mapping):
        return {without_phones(name): _open(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_open(element, field) for element in value]
    if isinstance(value, str):
        is_shown = field in _SHOWN or field.endswith(_SHOWN_ENDINGS) or parse(value) is not None
        return without_phones(value) if is_shown else value and HIDDEN
    return HIDDEN if field in _PRIVATE_NUMBERS else value
