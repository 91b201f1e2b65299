"""Ids, keys and tokens: a hash of the sandbox's seed, a purpose and a count, so that equal runs have equal ones."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

_DIGITS: Final = "abcdefghijklmnopqrstuvwxyz234567"  # of Base32 (RFC 4648, 6), in lower case
_PAIRS: Final = [first + second for first in _DIGITS for second in _DIGITS]


def seeded_id(seed: int, purpose: str, *counts: object, chars: int = 20) -> str:
    """Return `chars` lower-case letters and digits (5 bits each, an even number of them), determined by seed, purpose and count."""
    bits = chars * 5
    digest = blake2b(repr((seed, purpose, counts)).encode(), digest_size=-(-bits // 8)).digest()
    number = int.from_bytes(digest, "big") >> (-bits % 8)
    return "".join([_PAIRS[number >> place & 1023] for place in range(bits - 10, -1, -10)])


def seeded_int(seed: int, purpose: str, *counts: object, below: int) -> int:
    """Return a whole number from 0 to `below` - 1, determined in the same way."""
    return int.from_bytes(blake2b(repr((seed, purpose, counts)).encode(), digest_size=16).digest(), "big") % below
