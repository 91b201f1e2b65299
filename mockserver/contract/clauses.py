"""
The clauses of the contract: every sentence of the API document that a test can be held against.

The sentences are data, in `clauses.yaml` beside this module.
A test names what it shows with `@pytest.mark.clause("campaigns.name")`, and a clause that no test names is a failure,
except for those in `DEFERRED`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

# Clause -> what must exist before a test can show the whole of it. Take a row out with the feature's first test.
DEFERRED: Mapping[str, str] = MappingProxyType({})


class Clause(NamedTuple):
    """One sentence of the contract; `choices` are the ids of what the document leaves open in it."""

    id: str
    part: str
    text: str
    choices: tuple[str, ...]

    @property
    def shown_later(self) -> bool:
        """True while the feature that the clause speaks of is missing, so that no test has to show it yet."""
        return self.id in DEFERRED


@cache
def read() -> tuple[Clause, ...]:
    """Every clause, in the document's order."""
    # Imported here: who only serves the API reads no clauses, and the YAML reader takes long to load.
    from ruamel.yaml import YAML

    rows = YAML(typ="safe", pure=True).load(Path(__file__).with_name("clauses.yaml").read_text(encoding="utf-8"))
    return tuple(Clause(row["id"], row["part"], row["text"], tuple(row["choices"])) for row in rows)
