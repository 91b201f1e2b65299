"""The two kinds of row that answer what the API document leaves open: what can be chosen, and what is fixed."""

from typing import Literal, NamedTuple

Provenance = Literal["documented", "inferred", "invented"]
ValueKind = Literal["", "rate", "per-platform", "count", "bytes-per-kind"]
FixedKind = Literal["fixed", "effect"]


class Choice(NamedTuple):
    """
    One open question that a sandbox answers as it is told.

    `where` names lines of the API document; `clauses` names the clauses of the contract that leave the point open.
    `options` are the names that can be chosen; `default` is one of them, or a value where `value` names a kind:
    `rate` is "off" or {requests, per} (per: seconds or a duration text), `per-platform` maps a platform to messages
    (None for no limit), `count` is a whole number, `bytes-per-kind` maps a kind of media to bytes.
    `provenance` says where the default comes from: the document's words, inference, or invention.
    """

    id: str
    family: str
    question: str
    where: str
    options: tuple[str, ...]
    default: object
    why: str
    provenance: Provenance
    clauses: tuple[str, ...] = ()
    value: ValueKind = ""


class Fixed(NamedTuple):
    """
    One open question that is answered once for every sandbox.

    A row of kind `effect` has its other answers in seed data and in the effects of a scenario, `fixed` has none.
    `note` says what else a reader should expect of it, or nothing.
    """

    id: str
    family: str
    decision: str
    why: str
    kind: FixedKind = "fixed"
    note: str = ""
