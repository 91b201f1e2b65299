"""
The context of a run: its settings, records, and the calls that it makes.

The records of a run: its settings, exchanges, findings and observations, and the row of a probe.

A visit to a service: the calls of one run, what was found by them, and what the run has made and must take back.

1. Every call goes through `Visit.call`, at the run's pace. It is the one place where a call can be refused to a probe:
   without `allow_writes` no POST but the audience preview goes out, without `allow_sends` no start.
2. Keys are sent and never stored: an exchange has the role of its key, and stored responses have their secrets redacted.
3. A probe judges and observes only what its row names.
"""

from __future__ import annotations

import json
import json as jsonlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from mockserver.contract.endpoints import ENDPOINTS, Endpoint
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import brief, json_value, whole_number
from mockserver.verify.transport import Answered, HttpTransport, RateLimiter

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
class RunSettings:
    """
    What a run was given: keys, ids, and what it may do. Its text shows no key.

    `tag` distinguishes the names of this run from those of others.
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
        """Return True if the user gave what a probe needs."""
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
        """Return the error's code, or None."""
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
    return brief(text, _EXCERPT_CHARS)


class Judgement(NamedTuple):
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
    run: Callable[[RunContext], None]
    clauses: tuple[str, ...]
    choices: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


class Unexpected(Exception):
    """An answer that a probe cannot go on from; its clauses that were not judged by then stay unseen."""


class Stop(Exception):
    """An answer after which no probe makes sense: the key is refused, or the service limits the rate."""


Watcher = Callable[["RunContext", Exchange], None]
JSON = {"Content-Type": "application/json"}
_UNANSWERED_MAX = 3
_HEADERS_KEPT = ("content-type", "date", "retry-after", "ratelimit", "ratelimit-policy")


class RunContext:
    """
    One run's state; lives as long as the run.

    `templates` and `details` are what the template endpoints showed, `others` the ids of another tenant's; `campaigns` maps the id of each campaign that the
    run made to its name, until it has ended; `sessions` are the ids of the sessions it made, `links` their one-use urls; `left` tells what could not be taken back.
    """

    def __init__(
        self, transport: HttpTransport, settings: RunSettings, pace: RateLimiter, watchers: Iterable[Watcher] = ()
    ) -> None:
        self.settings = settings
        self.pace = pace
        self.exchanges: list[Exchange] = []
        self.findings: list[Judgement] = []
        self.observations: list[Observation] = []
        self.templates: list[dict[str, Any]] = []
        self.others: list[str] = []
        self.details: dict[str, dict[str, Any]] = {}
        self.campaigns: dict[str, str] = {}
        self.not_cleaned_up: list[str] = []
        self.sessions: list[str] = []
        self.links: list[str] = []
        self.row: Probe | None = None
        self._transport = transport
        self._watchers = tuple(watchers)
        self._unanswered = 0
        self._keys: Mapping[KeyRole, str] = {
            "secret": settings.key,
            "public": settings.public_key,
            "other": settings.other_key,
            "none": "",
            "unknown": f"sk_mockserver_verify_{settings.tag}",
            "unprefixed": f"mockserver-verify-{settings.tag}",
        }

    def call(
        self,
        operation: str,
        *ids: str,
        query: str = "",
        json: Any = ABSENT,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        key: KeyRole = "secret",
    ) -> Exchange:
        """
        One call of an operation, its path's parameters in order; `json` becomes the body with its Content-Type.

        Unexpected where no answer came, the service failed, or the subscription has lapsed; Stop where the service refuses
        to be asked any more.
        """
        endpoint = ENDPOINTS[operation]
        self._refuse_unless_allowed(endpoint)
        path = endpoint.path
        for id in ids:
            name = path[path.index("{") : path.index("}") + 1]
            path = path.replace(name, quote(id, safe=""), 1)
        sent = body if json is ABSENT else jsonlib.dumps(json, ensure_ascii=False).encode()
        content_type = {} if json is ABSENT else JSON
        return self._exchange(operation, endpoint.method, path + query, key, sent, {**content_type, **(headers or {})})

    def get(self, path: str) -> Exchange:
        """A GET of a path that the document does not have."""
        return self._exchange(None, "GET", path, "secret", b"", {})

    def _refuse_unless_allowed(self, endpoint: Endpoint) -> None:
        if endpoint.method == "GET" or endpoint.id == "previewAudience":
            return
        if not self.settings.allow_writes:
            raise PermissionError(f"{endpoint.id} needs --allow-writes")
        if endpoint.id == "startCampaign" and not self.settings.allow_sends:
            raise PermissionError("startCampaign needs --allow-sends")

    def _exchange(
        self, operation: str | None, method: str, path: str, key: KeyRole, sent: bytes, headers: Mapping[str, str]
    ) -> Exchange:
        answered = self._answered(method, path, key, sent, headers)
        if answered.status == 429:
            self.pace.rest(_wait_s(answered.headers))
            limited = self._kept(operation, method, path, key, sent, answered)
            answered = self._answered(method, path, key, sent, headers)
            if answered.status == 429:
                raise Stop(f"the service limits the rate of calls ({limited.code or 429})")
        return _judged(self._kept(operation, method, path, key, sent, answered))

    def _answered(self, method: str, path: str, key: KeyRole, sent: bytes, headers: Mapping[str, str]) -> Answered:
        self.pace.wait()
        try:
            answered = self._transport.call(method, path, key=self._keys[key], body=sent, headers=headers)
        except OSError as failure:
            self._unanswered += 1
            if self._unanswered >= _UNANSWERED_MAX:
                raise Stop(f"{method} {path}: {failure}") from None
            raise Unexpected(f"{method} {path}: {failure}") from None
        self._unanswered = 0
        return answered

    def _kept(
        self, operation: str | None, method: str, path: str, key: KeyRole, sent: bytes, answered: Answered
    ) -> Exchange:
        body = self._blotted(answered.body)
        number = len(self.exchanges) + 1
        text = sent.decode("utf-8", "replace")
        headers = {name: value for name, value in answered.headers.items() if name in _HEADERS_KEPT}
        exchange = Exchange(
            number, operation, method, path, key, text, answered.status, headers, json_value(body, ABSENT), body
        )
        self.exchanges.append(exchange)
        row, self.row = self.row, None  # a watcher has a row of its own
        for watch in self._watchers:
            watch(self, exchange)
        self.row = row
        return exchange

    def _blotted(self, body: bytes) -> bytes:
        for secret in self.settings.secrets:
            body = body.replace(secret.encode(), f"{secret[:3]}...".encode())
        return body

    def judge(self, clause: str, holds: bool, exchange: Exchange, wanted: str) -> bool:
        """Take note of whether a clause held in an exchange."""
        if self.row is not None and clause not in self.row.clauses:
            raise AssertionError(f"the probe {self.row.name!r} does not name the clause {clause}")
        self.findings.append(Judgement(clause, holds, exchange, wanted))
        return holds

    def observe(self, choice: str, options: Iterable[str], exchange: Exchange) -> None:
        """Take note of the options of a choice that would have answered so."""
        if self.row is not None and choice not in self.row.choices:
            raise AssertionError(f"the probe {self.row.name!r} does not name the choice {choice}")
        self.observations.append(Observation(choice, frozenset(options), exchange))

    def refused(self, clause: str, exchange: Exchange, *codes: str) -> bool:
        """Judge that the call was refused with one of these codes."""
        return self.judge(clause, exchange.code in codes, exchange, f"the error {' or '.join(codes)}")


def _wait_s(headers: Mapping[str, str]) -> float:
    seconds = whole_number(headers.get("retry-after", ""))
    return 1.0 if seconds is None else float(seconds)


def _judged(exchange: Exchange) -> Exchange:
    if exchange.status >= 500:
        raise Unexpected(f"{exchange.method} {exchange.path} answered {exchange.status}")
    if exchange.code == "SUBSCRIPTION_INACTIVE":
        kind = Stop if exchange.method == "GET" else Unexpected
        raise kind("the subscription of the key's tenant is not active")
    if exchange.code == "DEVELOPERS_DISABLED":
        raise Stop("the developer environment of the key's tenant is off")
    return exchange


def succeeded(exchange: Exchange, wanted: type | tuple[type, ...] = dict) -> Any:
    """The body of a success; Unexpected where it is no success, or of another kind."""
    if not exchange.succeeded or not isinstance(exchange.json, wanted):
        raise Unexpected(f"{exchange.method} {exchange.path} answered {exchange.status} {exchange.code or ''}".rstrip())
    return exchange.json
