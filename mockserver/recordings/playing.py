"""
Play a recording on a sandbox of a scenario: send each call at its instant, and compare the answers.

1. An id that the service assigned is another one in the sandbox: the first time it is shown the two are paired, and later calls
   have the sandbox's.
2. Equal are: instants at most a second apart, texts of errors and sent messages, fields that the document does not have, values
   that it does not list, and the phone numbers and urls that the service assigned.
3. A call whose answer is not the service's word is sent, and its answer is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from mockserver.contract import schemas
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import json_value
from mockserver.core.instants import SECOND, Instant, parse
from mockserver.core.state.tenant import TABLES
from mockserver.recordings.clocks import service_instants, service_order
from mockserver.recordings.masking import words_of_document
from mockserver.server import front_controller
from mockserver.server.api.exchange import NO_TIMEOUT
from mockserver.server.api.request import HttpRequest
from mockserver.server.api.response import HttpResponse
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.verify.histories.exchanges import RecordedExchange, Recording

_ASSIGNED: Final = frozenset(("url", "nextCursor", "displayPhone", "phoneNumberId", "businessAccountId"))
_OPEN_TEXTS: Final = frozenset(("message", "text"))
_OF_ERRORS: Final = frozenset(("statusCode", "code", "message"))
_NOT_COMPARED: Final = frozenset(("requestId", "details"))
_UNKNOWN_KEY: Final = "sk_unknown"
_APART_MAX: Final = SECOND


class PlayDifference(NamedTuple):
    """
    Where the answer of the sandbox differs from the recorded one.

    Attributes:
        n: The index of the exchange.
        call: Its method and path.
        place: The path of the value in the body, or `status`.
        recorded: The recorded value, as JSON; empty if it has none.
        played: That of the sandbox.
        code: The code of the recorded error, if it is one.
    """

    n: int
    call: str
    place: str
    recorded: str
    played: str
    code: str | None = None

    def __str__(self) -> str:
        return f"#{self.n} {self.call}: {self.place}: recorded {self.recorded or 'nothing'}, played {self.played or 'nothing'}"


def play(document: Mapping[str, Any], masked: Recording, plain: Recording | None = None) -> list[PlayDifference]:
    """
    Return the differences of a scenario from a recording.

    Args:
        document: A scenario, such as `mockserver inspect-recording --scenario-out` writes.
        masked: The recording with the stand-ins that the scenario has too.
        plain: The recording as it was read, for the contents of uploads; `masked` by default.

    Raises:
        ScenarioError: The document is not valid.
    """
    return _played(document, masked, plain or masked)[1]


def assigned_ids(document: Mapping[str, Any], recording: Recording) -> Mapping[str, str]:
    """Return the ids that the sandbox of a scenario assigns, by the recorded ids in whose place they are."""
    return _played(document, recording, recording)[0].ids


def _played(document: Mapping[str, Any], masked: Recording, plain: Recording) -> tuple[_Player, list[PlayDifference]]:
    ordered = service_order(masked.exchanges)
    player = _Player(SandboxHost().create(SandboxConfig(document)), document, masked, service_instants(ordered))
    read = {exchange.index: exchange for exchange in plain.exchanges}
    rows = [row for exchange in ordered for row in player.differences(_with_files(exchange, read[exchange.index]))]
    return player, rows


def _with_files(exchange: RecordedExchange, read: RecordedExchange) -> RecordedExchange:
    """Return an upload with the bytes and the names of its files, any other exchange as it is."""
    if exchange.operation != "uploadMedia":
        return exchange
    return replace(
        exchange, request_body=read.request_body, request_headers=read.request_headers, response_body=read.response_body
    )


class _Player:
    """
    A sandbox, and the keys of the recording's tenants.

    Attributes:
        ids: The ids that the sandbox has in place of the recorded ones.
    """

    def __init__(
        self,
        hosted: HostedSandbox,
        document: Mapping[str, Any],
        recording: Recording,
        instants: Mapping[int, Instant],
    ) -> None:
        self._hosted = hosted
        self._instants = instants
        self.ids: dict[str, str] = {}
        self._played: set[str] = set()
        tenants = hosted.sandbox.tenants.values()
        self._given = {id for tenant in tenants for table in TABLES for id in getattr(tenant, table)}
        self._given |= {row.id for tenant in tenants for rows in tenant.messages.values() for row in rows}
        # An id that the sandbox made is no id of the recording, even if they are equal.
        self._given &= {*_texts(document)}
        self._keys = _keys(hosted, recording)

    def differences(self, exchange: RecordedExchange) -> Iterator[PlayDifference]:
        """Send a call at its instant, and yield where its answer differs."""
        instant = self._instants[exchange.index]
        if instant > self._hosted.sandbox.now:
            self._hosted.advance(to=instant)
        if exchange.request_body is None:
            return
        response, _ = front_controller.handle_request(
            self._hosted.host, self._request(exchange), self._hosted, NO_TIMEOUT
        )
        if not exchange.is_answered or exchange.method == "HEAD":
            return
        call = f"{exchange.method} {exchange.path}"
        status = response.status if isinstance(response, HttpResponse) else None
        body = json_value(response.body, ABSENT) if isinstance(response, HttpResponse) else ABSENT
        if status != exchange.status or self._code(body) != exchange.code:
            recorded, played = f"{exchange.status} {exchange.code or ''}", f"{status} {self._code(body) or ''}"
            yield PlayDifference(exchange.index, call, "status", recorded.strip(), played.strip(), exchange.code)
        elif exchange.response_body is not None:
            for place, one, other in self._compared(exchange.response_json, body, "", "", exchange):
                yield PlayDifference(exchange.index, call, place, _text(one), _text(other))

    def _code(self, body: Any) -> str | None:
        code = body.get("code") if isinstance(body, dict) and "statusCode" in body else None
        return code if isinstance(code, str) else None

    def _request(self, exchange: RecordedExchange) -> HttpRequest:
        headers = {
            name: value
            for name, value in exchange.request_headers.items()
            if name in ("content-type", "accept", "authorization")
        }
        key = self._removed_key(exchange) if exchange.key is None else self._keys.get(exchange.key, _UNKNOWN_KEY)
        if key is not None:
            headers["x-api-key"] = key
        body = exchange.request_body or b""
        if exchange.request_json is not ABSENT and isinstance(exchange.request_json, dict | list):
            body = json.dumps(self._replaced(exchange.request_json), ensure_ascii=False).encode()
        return HttpRequest.create(
            method=exchange.method,
            target=self._target(exchange.path),
            headers=headers,
            body=body,
            base_url=self._hosted.base_url,
        )

    def _removed_key(self, exchange: RecordedExchange) -> str | None:
        """Return a key for a call whose recorder has removed it, as the answer shows; None if the call had none."""
        tenant = next(iter(self._hosted.sandbox.tenants.values()))
        by_code = {"API_KEY_MISSING": None, "API_KEY_INVALID": _UNKNOWN_KEY, "API_KEY_WRONG_TYPE": tenant.public_key}
        return by_code.get(exchange.code or "", tenant.secret_key)

    def _target(self, path: str) -> str:
        plain, mark, query = path.partition("?")
        steps = [self._id(step) for step in plain.split("/")]
        pairs = (pair.partition("=") for pair in query.split("&"))
        return "/".join(steps) + mark + "&".join(name + sign + self._id(value) for name, sign, value in pairs)

    def _id(self, written: str) -> str:
        other = self.ids.get(unquote(written))
        return written if other is None else quote(other, safe="")

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._replaced(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._replaced(element) for element in value]
        return self.ids.get(value, value) if isinstance(value, str) else value

    def _compared(
        self, one: Any, other: Any, key: str, place: str, exchange: RecordedExchange
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield the place and the two values where a recorded value and that of the sandbox differ."""
        if isinstance(one, dict) and isinstance(other, dict):
            compared = _compared_names(exchange)
            for name in dict.fromkeys([*one, *other]):
                if name in compared:
                    values = one.get(name, ABSENT), other.get(name, ABSENT)
                    yield from self._compared(*values, name, f"{place}/{name}", exchange)
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for number, (element, others) in enumerate(zip(one, other, strict=True)):
                yield from self._compared(element, others, key, f"{place}/{number}", exchange)
        elif isinstance(one, list) and isinstance(other, list):
            yield f"{place or '/'} (length)", len(one), len(other)
        elif not self._is_equal(one, other, key):
            yield place or "/", one, other

    def _is_equal(self, one: Any, other: Any, key: str) -> bool:
        if not isinstance(one, str) or not isinstance(other, str):
            return bool(one == other)
        if key == "id" or key.endswith("Id") or key in _ASSIGNED:
            return self._is_same_record(one, other)
        if one == other:
            return True
        if key in _OPEN_TEXTS:
            return bool(one) == bool(other)
        first, second = parse(one), parse(other)
        if first is not None and second is not None:
            return abs(first[0] - second[0]) <= _APART_MAX and len(one) == len(other)
        return one not in words_of_document() and other not in words_of_document()

    def _is_same_record(self, one: str, other: str) -> bool:
        """Return True if an id is that of the sandbox, or has it from now on; one of the scenario is the same in both."""
        if one in self._given or other in self._given:
            return one == other
        if one == other:
            self._played.add(other)
            return self.ids.setdefault(one, other) == other
        if one not in self.ids and other not in self._played:
            self.ids[one] = other
            self._played.add(other)
        return self.ids.get(one) == other


def _keys(hosted: HostedSandbox, recording: Recording) -> dict[str, str]:
    """Return the keys of the sandbox's tenants by those of the recording; a key that was refused has none."""
    keys: dict[str, str] = {}
    tenants = list(hosted.sandbox.tenants.values())
    for place, group in enumerate(tenants_of(recording)):
        for key in group:
            if place < len(tenants):
                keys[key] = tenants[place].public_key if key.startswith("pk_") else tenants[place].secret_key
    return keys


def tenants_of(recording: Recording) -> list[list[str]]:
    """
    Return the keys of each tenant, the one with most calls first.

    A public key is of the first tenant: it reads forms alone. A key that was always refused is of none.
    """
    histories = {
        key: rows
        for key, rows in recording.histories.items()
        if key is not None and not all(row.code in ("API_KEY_INVALID", "API_KEY_MISSING") for row in rows)
    }
    secret = sorted((key for key in histories if not key.startswith("pk_")), key=lambda key: -len(histories[key]))
    groups = [[key] for key in secret] or [[]]
    groups[0] += [key for key in histories if key.startswith("pk_")]
    return groups


def _compared_names(exchange: RecordedExchange) -> frozenset[str]:
    """Return the names of the properties in an answer's body that the document determines."""
    names = properties_of(exchange.operation or "") if exchange.succeeded else _OF_ERRORS
    return names - _NOT_COMPARED


@cache
def properties_of(operation: str) -> frozenset[str]:
    """Return the names of all properties in the body of an operation's success."""
    name = ENDPOINTS[operation].response_schema if operation in ENDPOINTS else None
    return frozenset(_names(schemas.load(name))) if name is not None else frozenset()


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from properties
        for inner in schema.values():
            yield from _names(inner)
    elif isinstance(schema, Sequence) and not isinstance(schema, str):
        for inner in schema:
            yield from _names(inner)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _text(value: Any) -> str:
    return "" if value is ABSENT else json.dumps(value, ensure_ascii=False)
