"""The records of a run: its settings, exchanges, findings and observations, and the row of a probe."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mockserver.contract.problems import ABSENT

if TYPE_CHECKING:
    from mockserver.verify.visit import Visit

Need = Literal["writes", "sends", "public-key", "other-key", "chat", "form", "entrypoint"]
KeyRole = Literal["secret", "public", "other", "none", "unknown", "unprefixed"]

# What a user gives for each need.
NEEDS: Mapping[Need, str] = {
    "writes": "--allow-writes",
    "sends": "--allow-sends",
    "public-key": "--public-key",
    "other-key": "--other-key",
    "chat": "--chat",
    "form": "--form",
    "entrypoint": "--entrypoint",
}
_EXCERPT_CHARS = 300


@dataclass(frozen=True)
class Settings:
    """
    What a run was given: keys, ids, and what it may do. Its text shows no key.

    `tag` tells the names of this run from every other's.
    """

    key: str = field(repr=False)
    tag: str
    public_key: str = field(default="", repr=False)
    other_key: str = field(default="", repr=False)
    chat: str = ""
    form: str = ""
    entrypoint: str = ""
    allow_writes: bool = False
    allow_sends: bool = False

    def has(self, need: Need) -> bool:
        """True where the need was given."""
        return bool(
            {
                "writes": self.allow_writes,
                "sends": self.allow_sends,
                "public-key": self.public_key,
                "other-key": self.other_key,
                "chat": self.chat,
                "form": self.form,
                "entrypoint": self.entrypoint,
            }[need]
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no output may show."""
        return tuple(key for key in (self.key, self.public_key, self.other_key) if key)


class Exchange(NamedTuple):
    """
    One call and its answer.

    `operation` is None for a path that the document does not have; `key` is the role of the key that was sent, never
    the key; `json` is ABSENT where the body is no JSON.
    """

    n: int
    operation: str | None
    method: str
    path: str
    key: KeyRole
    sent: str
    status: int
    headers: Mapping[str, str]
    json: Any
    body: bytes

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def code(self) -> str | None:
        """The error's code, None where there is none."""
        return self.json.get("code") if self.status >= 400 and isinstance(self.json, dict) else None

    @property
    def asked(self) -> str:
        """The call in one line."""
        role = "" if self.key == "secret" else f" ({self.key} key)" if self.key != "none" else " (no key)"
        return f"{self.method} {self.path}{role}{' ' + excerpt(self.sent) if self.sent else ''}"

    @property
    def found(self) -> str:
        """The answer in one line."""
        shown = (
            json.dumps(self.json, ensure_ascii=False) if self.json is not ABSENT else repr(self.body[:_EXCERPT_CHARS])
        )
        return f"{self.status} {excerpt(shown) if self.body else '(no content)'}"


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= _EXCERPT_CHARS else text[: _EXCERPT_CHARS - 3] + "..."


class Finding(NamedTuple):
    """One look at a clause: whether it held there, and what it wants."""

    clause: str
    holds: bool
    exchange: Exchange
    wanted: str


class Observation(NamedTuple):
    """One look at a choice: the options that would have answered so; none where no option would."""

    choice: str
    options: frozenset[str]
    exchange: Exchange


class Probe(NamedTuple):
    """A question to the service: what it needs, the clauses it judges, and the choices it can observe."""

    name: str
    run: Callable[[Visit], None]
    clauses: tuple[str, ...]
    choices: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


class Unexpected(Exception):
    """An answer that a probe cannot go on from; its clauses that were not judged by then stay unseen."""


class Stop(Exception):
    """An answer after which no probe makes sense: the key is refused, or the service limits the rate."""
