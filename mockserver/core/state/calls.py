"""What comes in and what goes out: Call, FilePart, Shown, and the one exception of the core, ApiError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from mockserver.contract.endpoints import Endpoint


class UploadedFile(NamedTuple):
    """One uploaded file: its name, the type that its sender declared, "" where it declared none, and the content."""

    name: str
    declared_type: str
    content: bytes


class Call(NamedTuple):
    """
    One request to the public API, before anything of it was believed.

    `endpoint` is None where no operation has this method and path; `allow` then lists the methods that the path has.
    `path` is the raw path as it came; `params` are its parameters, percent-decoded.
    `query` holds every pair in order; `headers` have lower-case names.
    `body` is None where the body was larger than the mock takes (then nothing of it was read).
    `files` reads the files of an upload when the operation asks for them, given the number of files that it takes; it
    returns none where the body cannot be read, and refuses one that is beyond the bounds of the mock.
    `base_url` is the prefix under which the sandbox was reached, for the urls that an answer hands out.
    `cut_from_bytes` is the size of the whole body where a record holds only the beginning of it, else None.
    `number` is the call's number, from 1, among those that a rule makes wait; 0 for any other call.
    """

    method: str
    path: str
    endpoint: Endpoint | None
    allowed_methods: tuple[str, ...]
    params: Mapping[str, str]
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    body: bytes | None
    read_files: Callable[[int], Sequence[UploadedFile]]
    base_url: str
    cut_from_bytes: int | None = None
    number: int = 0

    def __repr__(self) -> str:  # headers, path and body may hold a key
        return f"Call(method={self.method!r}, endpoint={self.endpoint.id if self.endpoint else None!r})"


class Success(NamedTuple):
    """What an operation answers: the success of its endpoint, as facts that the edge spells."""

    value: Any


class ApiError(Exception):
    """
    A refusal in the API's own words: a code of the catalogue, and what the Portuguese message wants filled in.

    `reason` says in English, for the developer and never in the body, what came and what was wanted; `clause` names
    the broken clause, `location` the place (a JSON pointer, a header, a parameter).
    """

    def __init__(self, code: str, *, clause: str, reason: str, location: str = "", **details: object) -> None:
        super().__init__(code, reason)
        self.code = code
        self.clause = clause
        self.reason = reason
        self.location = location
        self.details = details

    def without_traceback(self) -> Self:
        """This refusal without the frames it was raised in: they hold the whole call until the collector of cycles runs."""
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)


class Refused(NamedTuple):
    """A refusal as a record: without the facts of its message, and without the traceback, whose frames hold the whole call."""

    code: str
    clause: str
    location: str
    reason: str


Outcome = Success | ApiError


class CallResult(NamedTuple):
    """
    An outcome beside what was found out about the call on the way: its tenant and its JSON body.

    The outcome is None where a rule kept the operation from running and said something of its own, or nothing. `at` is
    the instant as of which it is shown, where that is not now.
    """

    outcome: Outcome | None
    tenant_id: str | None
    request_body: Any
    as_of: int | None = None
