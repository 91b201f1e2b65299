"""Ids, keys and tokens: a hash of the sandbox's seed, a purpose and a count, so that equal runs have equal ones."""

from __future__ import annotations

from base64 import b32encode
from hashlib import blake2b


def seeded_id(seed: int, purpose: str, *counts: object, chars: int = 20) -> str:
    """Return `chars` lower-case letters and digits (of Base32, 5 bits each), determined by seed, purpose and count."""
    digest = blake2b(repr((seed, purpose, counts)).encode(), digest_size=-(-chars * 5 // 8)).digest()
    return b32encode(digest).decode().lower()[:chars]


def seeded_int(seed: int, purpose: str, *counts: object, below: int) -> int:
    """Return a whole number from 0 to `below` - 1, determined in the same way."""
    return int.from_bytes(blake2b(repr((seed, purpose, counts)).encode(), digest_size=16).digest(), "big") % below
