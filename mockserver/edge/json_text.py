"""
Writing JSON that every parser reads (RFC 8259): no NaN, no infinity, no half of a surrogate pair.

A value that JSON has no form for is written as text: a number beyond a double as "Infinity" or "-Infinity", half of a
surrogate pair as its escape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

# Compact, accents as they are; a Decimal is a number that a client wrote with a fraction.
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=float, allow_nan=False).encode
# Of an integer: 4,214 digits; the interpreter writes no more than 4,300 (sys.set_int_max_str_digits).
_BITS_MAX = 14_000


def encoded(value: Any) -> bytes:
    """Return the value as JSON in UTF-8."""
    try:
        return _ENCODE(value).encode()
    except ValueError:  # rare, so that an ordinary value is read only once
        return _ENCODE(_writable(value)).encode()


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else json.dumps(value)
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS_MAX else f"an integer of {value.bit_length()} bits"
    if isinstance(value, Mapping):
        return {_writable(key): _writable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(each) for each in value]
    return value
