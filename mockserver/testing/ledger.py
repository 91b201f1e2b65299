"""The ledger in Python: what the client's calls caused, each a list of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.edge.oracles import LEDGER

Row = Mapping[str, Any]


class Ledger:
    """
    Side effects as they stood when this was read; rows are dicts with ids and exchange numbers.

    `assert sandbox.ledger.duplicate_sends == []` is one assertion.
    """

    executions: Sequence[Row]
    duplicate_executions: Sequence[Row]
    sends: Sequence[Row]
    duplicate_sends: Sequence[Row]
    cloned_campaigns: Sequence[Row]
    abandoned_sessions: Sequence[Row]
    unused_media: Sequence[Row]

    def __init__(self, found: Mapping[str, Sequence[Row]]) -> None:
        for name, attribute in LEDGER.items():
            setattr(self, attribute, found[name])

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(getattr(self, attribute))} {attribute}" for attribute in LEDGER.values())
        return f"<Ledger: {counts}>"
