"""
The context of a run: its settings, its calls, and the records that it creates.

1. Every call is sent by `RunContext.call`, within the run's rate. It is the one place where a call of a probe is refused:
   without `allow_writes` each POST but the audience preview, without `allow_sends` each start.
2. Keys and the links of sessions are never recorded: an exchange has a stand-in for its key, and recorded answers have both
   redacted.
"""

from __future__ import annotations

import json as jsonlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partialmethod
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

from mockserver._json import JSON
from mockserver.contract.endpoints import ENDPOINTS, Endpoint
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import json_value, whole_number
from mockserver.probe.transport import HttpTransport, RateLimiter, Stop
from mockserver.trace.entries import Entry
from mockserver.trace.exchange import Exchange
from mockserver.trace.recorded import recorded_exchange

Need = Literal[
    "allow_writes", "allow_sends", "public_key", "other_key", "chat", "form", "entrypoint"
]  # of the settings
KeyRole = Literal["secret", "public", "other", "none", "unknown", "unprefixed"]

JSON_HEADERS: Final = {"content-type": "application/json"}
_FAILURES_IN_A_ROW_MAX: Final = 3
_HEADERS_RECORDED: Final = ("content-type", "date", "retry-after", "ratelimit", "ratelimit-policy")
_KEYS_RECORDED: Final[Mapping[KeyRole, str]] = {
    "secret": "sk_secret",
    "public": "pk_public",
    "other": "sk_other",
    "unknown": "sk_unknown",
    "unprefixed": "key_unknown",
}
_PARAMETER = re.compile(r"\{\w+\}")


@dataclass(frozen=True, kw_only=True)
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


class Probe(NamedTuple):
    """A few calls with one purpose, and what they need."""

    name: str
    run: Callable[[RunContext], None]
    needs: tuple[Need, ...] = ()


class Unexpected(Exception):
    """A response after which a probe cannot continue."""


class RunContext:
    """
    The state of one run.

    Attributes:
        exchanges: What was sent and received.
        templates: The templates that the service lists.
        template_details: The details that the run has read, by template id.
        other_templates: The ids of another tenant's templates.
        campaigns: The names of the campaigns that the run created and that have not ended, by id.
        sessions: The ids of the sessions that the run created.
        not_cleaned_up: One text for each record that the run created and could not remove.

    Lifetime: one run.
    """

    def __init__(
        self,
        transport: HttpTransport,
        settings: RunSettings,
        rate_limiter: RateLimiter,
        source: str = "",
        begin: int = 0,
    ) -> None:
        self.settings = settings
        self.exchanges: list[Exchange] = []
        self.templates: list[JSON] = []
        self.other_templates: list[str] = []
        self.template_details: dict[str, JSON] = {}
        self.campaigns: dict[str, str] = {}
        self.not_cleaned_up: list[str] = []
        self.sessions: list[str] = []
        self._rate_limiter = rate_limiter
        self._source = source
        self._begin = begin
        self._transport = transport
        self._failures_in_a_row = 0
        self._keys: Mapping[KeyRole, str] = {
            "secret": settings.key,
            "public": settings.public_key,
            "other": settings.other_key,
            "none": "",
            "unknown": f"sk_mockserver_probe_{settings.tag}",
            "unprefixed": f"mockserver-probe-{settings.tag}",
        }
        own = (settings.key, settings.public_key, settings.other_key)
        self._redacted = {key: f"{key[:3]}..." for key in own if key}

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
            headers: More headers, by lower-case name.
            key: Which key to send.

        Raises:
            PermissionError: If the settings do not allow the call; nothing is sent.
            Unexpected: If no response arrives, the service fails, or the subscription refuses this write.
            Stop: If the key's tenant is refused altogether, or the service limits the rate, or does not respond at all.
        """
        endpoint = ENDPOINTS[operation]
        self._refuse_unless_allowed(endpoint)
        path = _PARAMETER.sub("{}", endpoint.path).format(*(quote(id, safe="") for id in ids))
        if json is not ABSENT:
            headers = {**JSON_HEADERS, **(headers or {})}
            body = jsonlib.dumps(json, ensure_ascii=False).encode()
        call = Entry(
            method=endpoint.method,
            url=path + query,
            source=self._source,
            request_headers=headers or {},
            request_body=body,
            is_ordered=True,
        )
        exchange = self._send(call, key)
        if exchange.status == 429:
            seconds = whole_number(exchange.response_headers.get("retry-after", ""))
            self._rate_limiter.back_off(1 if seconds is None else seconds)
            exchange = self._send(call, key)
        _require_that_the_run_can_continue(exchange)
        return exchange

    # One method for each operation that a probe calls, with the other arguments of `call`.
    list_templates = partialmethod(call, "listTemplates")
    read_template = partialmethod(call, "readTemplate")
    read_filter_schema = partialmethod(call, "readFilterSchema")
    preview_audience = partialmethod(call, "previewAudience")
    create_campaign = partialmethod(call, "createCampaign")
    list_campaigns = partialmethod(call, "listCampaigns")
    read_campaign = partialmethod(call, "readCampaign")
    read_execution = partialmethod(call, "readExecution")
    start_campaign = partialmethod(call, "startCampaign")
    cancel_campaign = partialmethod(call, "cancelCampaign")
    create_connection_session = partialmethod(call, "createConnectionSession")
    read_connection_session = partialmethod(call, "readConnectionSession")
    read_entrypoint = partialmethod(call, "readEntrypoint")
    upload_media = partialmethod(call, "uploadMedia")
    list_messages = partialmethod(call, "listMessages")
    read_form_policy = partialmethod(call, "readFormPolicy")

    def unknown_id(self, prefix: str) -> str:
        """Return an id that no record has."""
        return f"{prefix}_mockserver_probe_{self.settings.tag}"

    def redact(self, text: str) -> str:
        """Return a text without the keys, and without the links of the sessions that the run created."""
        for secret, shown in self._redacted.items():
            text = text.replace(secret, shown)
        return text

    def _refuse_unless_allowed(self, endpoint: Endpoint) -> None:
        if not endpoint.writes:
            return
        if not self.settings.allow_writes:
            raise PermissionError(f"{endpoint.id} needs --allow-writes")
        if endpoint.creates == "execution" and not self.settings.allow_sends:
            raise PermissionError(f"{endpoint.id} needs --allow-sends")

    def _send(self, call: Entry, key: KeyRole) -> Exchange:
        """Send a call, and record it and its answer, or that none arrived."""
        self._rate_limiter.wait()
        sent_at_s = self._rate_limiter.elapsed_s
        try:
            response = self._transport.call(
                call.method,
                call.url,
                key=self._keys[key],
                body=call.request_body or b"",
                headers=call.request_headers,
            )
        except OSError as failure:
            self._failures_in_a_row += 1
            self._record(call, key, sent_at_s)
            kind = Stop if self._failures_in_a_row >= _FAILURES_IN_A_ROW_MAX else Unexpected
            raise kind(f"{call.method} {call.url}: {failure}") from None
        self._failures_in_a_row = 0
        answer = replace(
            call,
            status=response.status,
            response_headers={name: value for name, value in response.headers.items() if name in _HEADERS_RECORDED},
            response_body=self._without_secrets(response.body),
        )
        return self._record(answer, key, sent_at_s)

    def _record(self, call: Entry, key: KeyRole, sent_at_s: float) -> Exchange:
        sent_at = self._begin + math.floor(sent_at_s * 1_000_000)
        ended_at = self._begin + math.ceil(self._rate_limiter.elapsed_s * 1_000_000)
        headers = dict(call.request_headers)
        if key in _KEYS_RECORDED:
            headers["x-api-key"] = _KEYS_RECORDED[key]
        entry = replace(call, request_headers=headers, sent_at=sent_at, ended_at=ended_at)
        exchange = recorded_exchange(entry, len(self.exchanges) + 1, sent_at)
        self.exchanges.append(exchange)
        return exchange

    def _without_secrets(self, body: bytes) -> bytes:
        """Return the body of an answer without keys and links; the link of a new session is redacted from now on."""
        answer = json_value(body)
        if isinstance(answer, dict) and "sessionId" in answer and isinstance(answer.get("url"), str) and answer["url"]:
            ending = answer["url"].rpartition("/")[2]
            kept = ending if ending == answer["sessionId"] else ""
            self._redacted.setdefault(answer["url"], f"https://link-{len(self._redacted)}.invalid/{kept}")
        return self.redact(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _require_that_the_run_can_continue(exchange: Exchange) -> None:
    if exchange.status == 429:
        raise Stop(f"the service limits the rate of calls ({exchange.code or 429})")
    if (exchange.status or 0) >= 500:
        raise Unexpected(f"got {exchange.status} for {exchange.method} {exchange.path}")
    if exchange.code == "SUBSCRIPTION_INACTIVE":
        kind = Stop if exchange.method == "GET" else Unexpected
        raise kind("the subscription of the key's tenant is not active")
    if exchange.code == "DEVELOPERS_DISABLED":
        raise Stop("the developer environment of the key's tenant is off")


def require_success(exchange: Exchange) -> JSON:
    """Return the object that a success has; raise Unexpected if the call failed, or its body is none."""
    if not exchange.succeeded or not isinstance(exchange.response_json, dict):
        received = f"{exchange.status} {exchange.code or ''}".rstrip()
        raise Unexpected(f"got {received} for {exchange.method} {exchange.path}")
    return exchange.response_json
