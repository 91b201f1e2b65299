"""
A shard: one of several servers behind a proxy, which finds the shard of a sandbox by the number in its id.

1. The id of a sandbox is `sandbox_SHARD_COUNT_HASH`. The hash follows from the seed of the server, the count and the run.
2. A run is the time from a start of the process to its end. The next one has other ids, so that no client gets the sandbox of another client.
3. `/sandboxes/shard_N/_mock/...` addresses the control plane of one shard, with a default
   sandbox of its own; that of shard 0 is also that of clients which name no shard.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

_SHARDS_MAX: Final = 256
_HASH_DIGITS: Final = 12
_SHARD: Final = r"(\d{1,3})/(\d{1,3})"


class Shard(NamedTuple):
    """
    One of several servers.

    Attributes:
        number: from 0.
        shards: the number of servers.
        run: a text that no other run of this shard has.
    """

    number: int
    shards: int
    run: str = ""

    @property
    def name(self) -> str:
        """The segment of a path that addresses the shard itself."""
        return f"shard_{self.number}"

    def sandbox_id(self, count: int, seed: int) -> str:
        """Return the id of the sandbox with this number, counted from 1."""
        digest = hashlib.sha256(f"{seed}/{self.number}/{self.run}/{count}".encode()).hexdigest()
        return f"sandbox_{self.number}_{count}_{digest[:_HASH_DIGITS]}"

    def ended_before(self, sandbox_id: str) -> bool:
        """Return True if an id that this run does not have is of a former run of this shard."""
        form = rf"sandbox_{self.number}_\d+_[0-9a-f]{{{_HASH_DIGITS}}}"
        return re.fullmatch(form, sandbox_id, re.ASCII) is not None


def read_shard(text: str) -> Shard:
    """
    Return the shard of the setting `NUMBER/COUNT`, without a run.

    Raises:
        ValueError: The text has another form.
    """
    match = re.fullmatch(_SHARD, text, re.ASCII)
    expected = f"expected NUMBER/COUNT with a number below the count of at most {_SHARDS_MAX}, such as 0/2"
    if match is None:
        raise ValueError(expected)
    number, count = int(match[1]), int(match[2])
    if not number < count <= _SHARDS_MAX:
        raise ValueError(expected)
    return Shard(number, count)
