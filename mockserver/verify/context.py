"""
The context of a run: its settings, its calls, what they show, and the records that it creates.

1. Every call is sent by `RunContext.call`, within the run's rate. It is the one place where a call of a probe is refused:
   without `allow_writes` each POST but the audience preview, without `allow_sends` each start.
2. Keys are sent and never recorded: an exchange has the role of its key, and recorded responses have the keys redacted.
3. A probe judges and observes only the clauses and choices that its row names.
"""

from __future__ import annotations

import json
import json as jsonlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from mockserver._json import JSON
from mockserver.contract.endpoints import ENDPOINTS, Endpoint
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import brief, json_value, whole_number
from mockserver.verify.transport import HttpTransport, RateLimiter, RawResponse

Need = Literal["writes", "sends", "public-key", "other-key", "chat", "form", "entrypoint"]
KeyRole = Literal["secret", "public", "other", "none", "unknown", "unprefixed"]

# The option that supplies each need.
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
    Settings of a run: keys, ids, and what it may do. Its `repr` shows no key.

    `tag` is part of every name that this run gives, so that no two runs give the same name.
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
        """Return True if the settings supply this need."""
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
        """The keys, which no output may show."""
        return tuple(key for key in (self.key, self.public_key, self.other_key) if key)


class Exchange(NamedTuple):
    """
    One call and its response.

    `operation` is None for a path that the document does not contain; `key` is the role of the key that was sent, never
    the key; `json` is ABSENT if the body is not JSON.
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
        """The error's code, or None."""
        code = self.json.get("code") if self.status >= 400 and isinstance(self.json, dict) else None
        return code if isinstance(code, str) else None

    @property
    def request_text(self) -> str:
        """The call in one line."""
        role = "" if self.key == "secret" else f" ({self.key} key)" if self.key != "none" else " (no key)"
        return f"{self.method} {self.path}{role}{' ' + excerpt(self.sent) if self.sent else ''}"

    @property
    def response_text(self) -> str:
        """The response in one line."""
        is_json = self.json is not ABSENT
        text = json.dumps(self.json, ensure_ascii=False) if is_json else repr(self.body[:_EXCERPT_CHARS])
        return f"{self.status} {excerpt(text) if self.body else '(no content)'}"


def excerpt(text: str) -> str:
    """Return the beginning of a text."""
    return brief(text, _EXCERPT_CHARS)


class Judgement(NamedTuple):
    """Whether a clause holds in one exchange, and the response that it expects."""

    clause: str
    holds: bool
    exchange: Exchange
    expected: str


class Observation(NamedTuple):
    """The options of a choice that lead to the response of one exchange; none if no option does."""

    choice: str
    options: frozenset[str]
    exchange: Exchange


class Probe(NamedTuple):
    """A few calls with one purpose: what they need, the clauses they judge, and the choices they can observe."""

    name: str
    run: Callable[[RunContext], None]
    clauses: tuple[str, ...]
    choices: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


class Unexpected(Exception):
    """A response after which a probe cannot continue; its other clauses are reported as not observed."""


class Stop(Exception):
    """A response that ends the run: the service refuses the key, or limits the rate of calls."""


Check = Callable[["RunContext", Exchange], None]
JSON_HEADERS = {"Content-Type": "application/json"}
_FAILURES_IN_A_ROW_MAX = 3
_HEADERS_RECORDED = ("content-type", "date", "retry-after", "ratelimit", "ratelimit-policy")


class RunContext:
    """
    The state of one run.

    Attributes:
        findings: Judgements of clauses, in the order of the calls.
        templates: The templates that the service lists.
        template_details: The details that the run has read, by template id.
        other_templates: The ids of another tenant's templates.
        campaigns: The names of the campaigns that the run created and that have not ended, by id.
        sessions: The ids of the sessions that the run created.
        session_urls: Their one-use urls, which no output may show.
        not_cleaned_up: One text for each record that the run created and could not remove.
        row: The probe that runs; None between probes.

    Lifetime: one run.
    """

    def __init__(
        self, transport: HttpTransport, settings: RunSettings, rate_limiter: RateLimiter, checks: Iterable[Check] = ()
    ) -> None:
        self.settings = settings
        self.rate_limiter = rate_limiter
        self.exchanges: list[Exchange] = []
        self.findings: list[Judgement] = []
        self.observations: list[Observation] = []
        self.templates: list[JSON] = []
        self.other_templates: list[str] = []
        self.template_details: dict[str, JSON] = {}
        self.campaigns: dict[str, str] = {}
        self.not_cleaned_up: list[str] = []
        self.sessions: list[str] = []
        self.session_urls: list[str] = []
        self.row: Probe | None = None
        self._transport = transport
        self._checks = tuple(checks)
        self._failures_in_a_row = 0
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
        Call an operation and return the exchange.

        Args:
            operation: The operation's id in `ENDPOINTS`.
            ids: The parameters of its path, in order.
            query: The query string with its `?`.
            json: A value to send as JSON, with the Content-Type; it replaces `body`.
            body: The bytes to send.
            headers: More headers.
            key: Which key to send.

        Raises:
            PermissionError: If the settings do not allow the call; nothing is sent.
            Unexpected: If no response arrives, the service fails, or the subscription refuses this write.
            Stop: If the key's tenant is refused altogether, or the service limits the rate, or does not respond at all.
        """
        endpoint = ENDPOINTS[operation]
        self._refuse_unless_allowed(endpoint)
        path = endpoint.path
        for id in ids:
            name = path[path.index("{") : path.index("}") + 1]
            path = path.replace(name, quote(id, safe=""), 1)
        sent = body if json is ABSENT else jsonlib.dumps(json, ensure_ascii=False).encode()
        content_type = {} if json is ABSENT else JSON_HEADERS
        return self._exchange(operation, endpoint.method, path + query, key, sent, {**content_type, **(headers or {})})

    def get(self, path: str) -> Exchange:
        """Read a path that the document does not contain."""
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
        response = self._send(method, path, key, sent, headers)
        if response.status == 429:
            seconds = whole_number(response.headers.get("retry-after", ""))
            self.rate_limiter.back_off(1 if seconds is None else seconds)
            limited = self._record(operation, method, path, key, sent, response)
            response = self._send(method, path, key, sent, headers)
            if response.status == 429:
                raise Stop(f"the service limits the rate of calls ({limited.code or 429})")
        exchange = self._record(operation, method, path, key, sent, response)
        if exchange.status >= 500:
            raise Unexpected(f"got {exchange.status} for {exchange.method} {exchange.path}")
        if exchange.code == "SUBSCRIPTION_INACTIVE":
            kind = Stop if exchange.method == "GET" else Unexpected
            raise kind("the subscription of the key's tenant is not active")
        if exchange.code == "DEVELOPERS_DISABLED":
            raise Stop("the developer environment of the key's tenant is off")
        return exchange

    def _send(self, method: str, path: str, key: KeyRole, sent: bytes, headers: Mapping[str, str]) -> RawResponse:
        self.rate_limiter.wait()
        try:
            response = self._transport.call(method, path, key=self._keys[key], body=sent, headers=headers)
        except OSError as failure:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= _FAILURES_IN_A_ROW_MAX:
                raise Stop(f"{method} {path}: {failure}") from None
            raise Unexpected(f"{method} {path}: {failure}") from None
        self._failures_in_a_row = 0
        return response

    def _record(
        self, operation: str | None, method: str, path: str, key: KeyRole, sent: bytes, response: RawResponse
    ) -> Exchange:
        body = response.body
        for secret in self.settings.secrets:
            body = body.replace(secret.encode(), f"{secret[:3]}...".encode())
        number = len(self.exchanges) + 1
        text = sent.decode("utf-8", "replace")
        headers = {name: value for name, value in response.headers.items() if name in _HEADERS_RECORDED}
        exchange = Exchange(
            number, operation, method, path, key, text, response.status, headers, json_value(body, ABSENT), body
        )
        self.exchanges.append(exchange)
        row, self.row = self.row, None  # a check has a row of its own
        for check in self._checks:
            check(self, exchange)
        self.row = row
        return exchange

    def judge(self, clause: str, holds: bool, exchange: Exchange, expected: str) -> bool:
        """Record whether a clause holds in an exchange, and return it; `expected` describes the response that would hold."""
        if self.row is not None and clause not in self.row.clauses:
            raise AssertionError(f"the probe {self.row.name!r} does not name the clause {clause}")
        self.findings.append(Judgement(clause, holds, exchange, expected))
        return holds

    def observe(self, choice: str, options: Iterable[str], exchange: Exchange) -> None:
        """Record the options of a choice that lead to this response."""
        if self.row is not None and choice not in self.row.choices:
            raise AssertionError(f"the probe {self.row.name!r} does not name the choice {choice}")
        self.observations.append(Observation(choice, frozenset(options), exchange))

    def judge_refusal(self, clause: str, exchange: Exchange, *codes: str) -> bool:
        """Record whether the call was refused with one of these codes, as the clause demands, and return it."""
        return self.judge(clause, exchange.code in codes, exchange, f"the error {' or '.join(codes)}")


def require_success(exchange: Exchange, expected: type | tuple[type, ...] = dict) -> Any:
    """Return the body of a success; raise Unexpected if the call failed or the body has another type."""
    if not exchange.succeeded or not isinstance(exchange.json, expected):
        received = f"{exchange.status} {exchange.code or ''}".rstrip()
        raise Unexpected(f"got {received} for {exchange.method} {exchange.path}")
    return exchange.json
