"""
Sizes of what a journal records, in bytes, estimated from above.

A JSON value is counted by its text: walking the value would cost more than keeping it, and its objects are many times
larger than the text they are read from.
"""

from __future__ import annotations

from mockserver.core.calls import Call

ENTRY_BYTES = 1_536  # of the records of one exchange or step themselves
_PAIR_BYTES = 200  # of a header or a query pair: two texts and their place
_VALUE_BYTES = 112  # of one JSON value: the largest of the small ones is a Decimal
_CHARACTER_BYTES = 4


def of_json(text: bytes) -> int:
    """The size of the value that this JSON text is read as."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return _CHARACTER_BYTES * len(text) + _VALUE_BYTES * values


def of_call(call: Call) -> int:
    """The size of a call as it is recorded."""
    size = len(call.path) + (len(call.body) if call.body else 0)
    size += sum(map(len, call.headers.values())) + _PAIR_BYTES * (len(call.headers) + len(call.query))
    if call.query:
        size += sum(len(name) + len(value) for name, value in call.query)
    return size
