"""
A shard: one process of a fleet, whose sandboxes have its number in their ids, so that a proxy finds the owner of each.

1. The id of a sandbox is `sandbox_SHARD_COUNT_HASH`. The hash follows from the seed of the server, the count and the run.
2. A run is the time from a start of the process to its end. The next one has other ids, so that no client gets the sandbox of another client.
3. `/sandboxes/shard_N/_mock/...` addresses the control plane of one shard; its default sandbox is not that of the fleet,
   unless the shard is the first one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from mockserver.contract.text import whole_number

SHARDS_MAX: Final = 256
_HASH_DIGITS: Final = 12
_SHARD: Final = r"(\d{1,3})/(\d{1,3})(?:/([0-9A-Za-z]{1,32}))?"
_FIRST_RUN: Final = "0"


class Shard(NamedTuple):
    """
    One process of a fleet.

    Attributes:
        number: from 0; clients without a sandbox of their own use the default sandbox of shard 0.
        shards: the number of processes.
        run: of the process, `0` for the first one.
    """

    number: int
    shards: int
    run: str = _FIRST_RUN

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
        return self.run != _FIRST_RUN and re.fullmatch(form, sandbox_id, re.ASCII) is not None

    def as_json(self) -> dict[str, int]:
        """Return the members that an answer has of the process that gave it."""
        return {"shard": self.number, "shards": self.shards}


def read_shard(text: str, new_run: Callable[[], str]) -> Shard:
    """
    Return the shard of a setting.

    Args:
        text: `NUMBER/COUNT`, or `NUMBER/COUNT/RUN`.
        new_run: returns the run of a text without one.

    Raises:
        ValueError: The text has another form.
    """
    match = re.fullmatch(_SHARD, text, re.ASCII)
    number, count = (whole_number(match[1]) or 0, whole_number(match[2]) or 0) if match else (0, 0)
    if match is None or not number < count <= SHARDS_MAX:
        raise ValueError(f"expected NUMBER/COUNT with a number below the count of at most {SHARDS_MAX}, such as 0/2")
    return Shard(number, count, match[3] or new_run())
