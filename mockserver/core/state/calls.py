"""Input and output of the core: the call, the result of an operation, and `ApiError`, the only exception of the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from mockserver.contract.endpoints import Endpoint
from mockserver.contract.errors import ERRORS


class UploadedFile(NamedTuple):
    """One uploaded file: its name, the type that its sender declared, "" if none, and the content."""

    name: str
    declared_type: str
    content: bytes


class Upload(NamedTuple):
    """The files of an upload, and in words what a request without a file has in their place."""

    files: Sequence[UploadedFile]
    instead: str = ""


def no_files(_call: Call, _files_max: int) -> Upload:
    """Return no files: those of a call that is not an upload."""
    return Upload(())


class Excess(NamedTuple):
    """
    What the head of a call has beyond the mock's bounds (choice `head-bounds`).

    `status` is HTTP's: 414 for the request line, 431 for the headers.
    """

    status: int
    reason: str


class Call(NamedTuple):
    """
    One request to the public API, before any check.

    `endpoint` is None if no operation has this method and path; `allowed_methods` then lists the methods of the path.
    `path` is the raw path as received; `params` are its parameters, percent-decoded.
    `query` holds every pair in order; `headers` have lower-case names.
    `body` is None if the body was larger than the mock's bound; the server does not read it then.
    `read_files` is what `upload` parses the body with.
    `base_url` is the prefix under which the client reached the sandbox, for urls in responses.
    `cut_from_bytes` is the size of the whole body if a record holds only its beginning, else None.
    `number` is the call's number, from 1, among those that a rule defers; 0 for any other call.
    `excess` is what its head has beyond the mock's bounds, else None.
    `body_failure` is why the mock could not store the body, else None.
    """

    method: str
    path: str
    endpoint: Endpoint | None
    allowed_methods: tuple[str, ...]
    params: Mapping[str, str]
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    body: bytes | None
    read_files: Callable[[Call, int], Upload]
    base_url: str
    cut_from_bytes: int | None = None
    number: int = 0
    excess: Excess | None = None
    body_failure: str | None = None

    @property
    def key(self) -> str:
        """The value of X-API-Key without the blanks that HTTP allows around a value (RFC 9110, 5.5); "" without one."""
        return self.headers.get("x-api-key", "").strip(" \t")

    def upload(self, files_max: int) -> Upload:
        """
        Return the files of an upload, at most `files_max`; none if the body cannot be parsed.

        Raises:
            ApiError: The body is beyond the bounds of the mock.
        """
        return self.read_files(self, files_max)

    def __repr__(self) -> str:  # headers, path and body may hold a key
        return f"Call(method={self.method!r}, endpoint={self.endpoint.id if self.endpoint else None!r})"


class Success(NamedTuple):
    """The success of an operation, as a value that the serializers turn into JSON."""

    value: Any


class ApiError(Exception):
    """
    A refusal by the API: a code of the catalogue, with the values for the placeholders of its Portuguese message.

    `reason` is for the developer, in English and never in the body: what the call had and what is valid. `clause` is
    the id of the violated clause, by default the one that describes the code best; `location` is the place: a JSON
    pointer, a header or a parameter.
    """

    def __init__(
        self, code: str, *, reason: str, clause: str | None = None, location: str = "", **details: object
    ) -> None:
        super().__init__(code, reason)
        self.code = code
        self.clause = ERRORS[code].clause if clause is None else clause
        self.reason = reason
        self.location = location
        self.details = details

    def without_traceback(self) -> Self:
        """Return this refusal without its traceback, whose frames hold the whole call until the garbage collector runs."""
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)


class Refused(NamedTuple):
    """A refusal as a record: without the details of its message and without the traceback, whose frames hold the whole call."""

    code: str
    clause: str
    location: str
    reason: str


Outcome = Success | ApiError


class CallResult(NamedTuple):
    """
    The outcome of a call, with the tenant and the JSON body that the checks have established.

    The outcome is None if a rule prevented the operation and sends a response of its own, or none. `as_of` is the
    instant at which the response shows the state, if that is not now.
    """

    outcome: Outcome | None
    tenant_id: str | None
    request_body: Any
    as_of: int | None = None
