"""
Judge a client by a recording: the rules of conduct over what it sent and received.

1. The judges are those of a sandbox. They get the records that the recording shows: campaigns, executions and sessions as
   their creation and later answers describe them, never what a service may have stored besides.
2. A rule is not assessed if a recording cannot show it: the reason is in `_NOT_SHOWN`, or follows from what was left out.
3. Exchanges that overlap prove no order: a finding that cites such is left out.
4. Times are those of the recorder, which is the client's machine or near it. The service's clock is another: its deadlines are
   converted by the `Date` of the answer that states them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qsl

from mockserver.contract.choices import DEFAULTS
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import http_date, whole_number
from mockserver.core.instants import DAY, MILLISECOND, MINUTE, SECOND, Instant, from_datetime, parse
from mockserver.core.run import Run
from mockserver.core.state.calls import Call, Refused, no_files
from mockserver.core.state.journal import JournalEntry, Transition
from mockserver.core.state.outbox import Attempt, Delivery
from mockserver.core.state.records import Campaign, Event, Execution, SendSchedule, Session, Template, Variable
from mockserver.core.state.rules import AppliedFault
from mockserver.core.state.sandbox import Clock
from mockserver.core.state.tenant import Tenant
from mockserver.judge.client.judge import judge
from mockserver.judge.client.rules import RULES, ConductResult, Finding, NotAssessed
from mockserver.trace.exchange import Exchange
from mockserver.trace.trace import Trace

_LATER_CALLS: Final = "a recording may lack the calls that followed"
_RECEIVER: Final = "a recording does not show whether a delivery was genuine"
_REASON: Final = "only the service knows the place for which it refused the body"
# Why no recording shows a rule.
_NOT_SHOWN: Final[Mapping[str, str]] = {
    "platform-used-as-audience": "a recording does not show the chats of an audience",
    "nulls-for-omitted": _REASON,
    "bad-return-url": _REASON,
    "poll-dies-on-error": _LATER_CALLS,
    "progress-is-done": _LATER_CALLS,
    "page-early-stop": _LATER_CALLS,
    "cancel-and-forget": _LATER_CALLS,
    "stop-too-soon": _LATER_CALLS,
    "waits-for-return": _LATER_CALLS,
    "webhook-only": _LATER_CALLS,
    "id-not-stored-first": _LATER_CALLS,
    "event-before-answer": _LATER_CALLS,
    "ack-then-lose": _LATER_CALLS,
    "no-verify": _RECEIVER,
    "missing-header-passes": _RECEIVER,
    "reserialised-body": _RECEIVER,
    "secret-misread": _RECEIVER,
    "accepts-old-timestamps": _RECEIVER,
    "tolerance-on-occurredAt": _RECEIVER,
    "first-signature-only": _RECEIVER,
    "refuses-unknown-kind": _RECEIVER,
    "framework-in-the-way": _RECEIVER,
    "failure-event-misread": _RECEIVER,
    "trusts-payload-tenant": _RECEIVER,
}
_EFFECT: Final = "a recording does not show whether a call without an answer took effect"
_AFTER_LOST: Final = ("blind-post-retry", "rename-after-lost-create", "clone-after-conflict")
# Why the absence of a finding proves nothing, where a recording shows a part of the rule.
_SHOWN_IN_PART: Final[Mapping[str, str]] = {
    "cadence-units": "a recording does not show how many messages a platform sends per minute",
    "wrong-variable-keys": "only a template that was read before the start is compared",
}
# Rules that depend on times, which a cassette does not have.
_TIMED: Final = frozenset(
    ("no-timeout", "poll-after-final", "poll-too-fast", "poll-final-set-incomplete", "ignore-retry-after", "retry-hopeless",
     "blind-post-retry", "only-200-is-ok", "json-on-204", "reuse-dead-session", "poll-past-deadline", "session-storm",
     "double-provision", "clone-after-conflict", "rename-after-lost-create", "page-endless", "slow-ack")
)  # fmt: skip
_NO_TIMES: Final = "the recording has no times"
# Rules that read the bodies of these operations; without one of them the rule is not assessed.
_BODIES: Final[Mapping[str, tuple[str, ...]]] = {
    "clone-after-conflict": ("createCampaign",),
    "rename-after-lost-create": ("createCampaign",),
    "lost-filters": ("createCampaign", "previewAudience"),
    "cadence-units": ("createCampaign",),
    "naive-dates": ("createCampaign", "previewAudience"),
    "wrong-variable-keys": ("startCampaign",),
    "stale-template": ("startCampaign",),
    "funnel-misuse": ("createConnectionSession",),
    "multipart-by-hand": ("uploadMedia",),
    "blind-post-retry": ("createCampaign", "startCampaign"),
    "only-200-is-ok": ("startCampaign",),
    "session-storm": ("createConnectionSession",),
}
_UNTIMED_STEP: Final = DAY  # between two calls of a cassette: longer than every window of a judge
_NEVER: Final = 2**62  # a deadline that the recording does not show
_OVERLAP_MAX_MS: Final = 1  # that two calls in a row may show because both of their ends are rounded
_LOST: Final = {"drop": "after"}  # the effect with which a sandbox's journal records an answer that did not arrive


def judge_client(recording: Trace) -> ConductResult:
    """
    Return what the client did against the document's advice, the most severe first, and what the recording does not show.

    The numbers that a finding cites are the indexes of the recording's exchanges.
    """
    result = judge(_Life(recording).run())
    excused = dict(_excuses(recording))
    exchanges = {exchange.number: exchange for exchange in recording.exchanges}
    findings: list[Finding] = []
    for finding in result.findings:
        if finding.rule in excused:
            continue
        if _has_order([exchanges[n] for n in finding.exchanges if n in exchanges]):
            findings.append(finding)
        else:
            excused[finding.rule] = "the calls that would prove it overlap"
    proved = {finding.rule for finding in findings}
    in_part = {**_SHOWN_IN_PART, **(dict.fromkeys(_AFTER_LOST, _EFFECT) if _has_unknown_effects(recording) else {})}
    reasons = {**in_part, **{row.rule: row.why for row in result.not_assessed}, **excused}
    not_assessed = (NotAssessed(rule, reasons[rule]) for rule in RULES if rule in reasons and rule not in proved)
    return ConductResult(tuple(findings), tuple(not_assessed))


def _excuses(recording: Trace) -> Iterator[tuple[str, str]]:
    """Yield the rules that this recording cannot show, each with the reason; the first reason of a rule is the one to print."""
    left_out = {exchange.operation for exchange in recording.exchanges if exchange.request_body is None}
    for rule, operations in _BODIES.items():
        missing = [operation for operation in operations if operation in left_out]
        if missing:
            yield rule, f"the recording lacks a body of {missing[0]}"
    if not all(exchange.is_timed for exchange in recording.exchanges):
        yield from ((rule, _NO_TIMES) for rule in _TIMED)
    yield from _NOT_SHOWN.items()


def _has_unknown_effects(recording: Trace) -> bool:
    """Return True if a create or a start failed, or got no answer."""
    writes = (row for row in recording.exchanges if row.operation in ("createCampaign", "startCampaign"))
    return any(not write.is_answered or (write.status or 0) >= 500 for write in writes)


def _has_order(cited: Sequence[Exchange]) -> bool:
    """Return True if each of these calls had its answer before the next one was sent, but for the rounding of times."""
    rows = sorted(cited, key=lambda exchange: exchange.number)
    return all(
        not (first.is_timed and second.is_timed)
        or first.is_ordered
        or first.ended_at <= second.sent_at + _OVERLAP_MAX_MS * MILLISECOND
        for first, second in pairwise(rows)
        if first.status is not None
    )


class _Life:
    """The run of a sandbox that would have had the exchanges of a recording, as far as these show it."""

    def __init__(self, recording: Trace) -> None:
        self._recording = recording
        self._tenants: dict[str, Tenant] = {}
        self._transitions: list[Transition] = []
        self._templates: dict[tuple[str, str], tuple[Variable, ...]] = {}

    def run(self) -> Run:
        """Return the run."""
        entries: list[JournalEntry] = []
        last: Instant = 0
        for exchange in self._recording.exchanges:
            last = exchange.at
            entry = _entry(exchange, last)
            entries.append(entry)
            self._add_records(exchange, entry)
        ended = [exchange.ended_at for exchange in self._recording.exchanges if exchange.is_timed]
        now = max([last, *ended])
        return Run(
            now=now,
            read_at=now,
            clock=Clock(now, frozen=False),
            choices={**DEFAULTS, "throughput-ceilings": {}},
            exchanges=entries,
            last_exchange=len(entries),
            transitions=self._transitions,
            has_all_transitions=False,
            tenants=self._tenants,
            deliveries=dict(self._deliveries()),
            visits=(),
            rules={},
            deferred={},
            commands=(),
            knows_effects=False,
        )

    def _tenant(self, exchange: Exchange) -> Tenant:
        key = exchange.key or ""
        return self._tenants.setdefault(key, Tenant(key, key, key, ""))

    def _add_records(self, exchange: Exchange, entry: JournalEntry) -> None:
        answer = exchange.response_json
        if not exchange.succeeded or not isinstance(answer, dict):
            return
        tenant = self._tenant(exchange)
        add = _ADDERS.get(exchange.operation or "")
        if add is not None:
            add(self, tenant, exchange, entry, answer)

    def _created(self, kind: str, id: str, status: str, entry: JournalEntry) -> None:
        cause = {"exchange": entry.n}
        self._transitions.append(
            Transition(
                n=len(self._transitions) + 1, at=entry.at, kind=kind, id=id, source=None, target=status, cause=cause
            )
        )

    def add_campaign(self, tenant: Tenant, exchange: Exchange, entry: JournalEntry, answer: Mapping[str, Any]) -> None:
        """Add a campaign as the body of its create describes it."""
        body, id = exchange.request_json, answer.get("campaignId")
        if not isinstance(body, dict) or not isinstance(id, str):
            return
        filters = body.get("filters")
        cadence = body.get("cadence")
        tenant.campaigns[id] = Campaign(
            seq=entry.n,
            id=id,
            name=str(body.get("name")),
            description=None,
            platform=str(body.get("platform")),
            template_id=str(body.get("templateId")),
            cadence=cadence if type(cadence) is int else 1,
            filters=filters if isinstance(filters, list) else None,
            created_at=entry.at,
            status="draft",
            state_version=1,
        )
        self._created("campaign", id, "draft", entry)

    def add_execution(self, tenant: Tenant, exchange: Exchange, entry: JournalEntry, answer: Mapping[str, Any]) -> None:
        """Add an execution of a campaign whose create the recording has, with the variables that its template was read with."""
        id, campaign = answer.get("executionId"), tenant.campaigns.get(exchange.params.get("id", ""))
        if not isinstance(id, str) or campaign is None:
            return
        body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
        values = body.get("commonVariables")
        values = values if isinstance(values, dict) else {}
        sent = tuple(Variable(str(key), "", required=False, source=None) for key in values)
        variables = self._templates.get((tenant.id, campaign.template_id), sent)
        template = Template(
            seq=0,
            id=campaign.template_id,
            name="",
            description=None,
            provider_status=None,
            items=(),
            variables=variables,
            created_at=entry.at,
            updated_at=entry.at,
        )
        schedule = SendSchedule(0, 0, (), ())
        tenant.executions[id] = Execution(
            seq=entry.n,
            id=id,
            campaign_id=campaign.id,
            platform=campaign.platform,
            template=template,
            values=values,
            targets=(),
            schedule=schedule,
            started_at=entry.at,
            ended_at=None,
            status="processing",
            state_version=1,
        )
        self._created("execution", id, "processing", entry)

    def add_session(self, tenant: Tenant, exchange: Exchange, entry: JournalEntry, answer: Mapping[str, Any]) -> None:
        """Add a session, its deadline by the recorder's clock."""
        body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
        id, return_url = answer.get("sessionId"), body.get("returnUrl")
        if not isinstance(id, str):
            return
        tenant.sessions[id] = Session(
            seq=entry.n,
            id=id,
            token="",
            funnel_id=None,
            funnel_step_id=None,
            coexistence=False,
            return_url=return_url if isinstance(return_url, str) else None,
            created_at=entry.at,
            expires_at=_deadline(exchange, answer),
            status="pending",
            state_version=1,
        )
        self._created("session", id, "pending", entry)

    def read_session(self, tenant: Tenant, exchange: Exchange, _entry: JournalEntry, answer: Mapping[str, Any]) -> None:
        """Take over the status and the entrypoint of a session."""
        session, status = tenant.sessions.get(exchange.params.get("sessionId", "")), answer.get("status")
        entrypoint = answer.get("entrypoint")
        id = entrypoint.get("id") if isinstance(entrypoint, dict) else None
        if session is not None and isinstance(status, str):
            entrypoint_id = id if isinstance(id, str) else None
            tenant.sessions[session.id] = session._replace(status=status, entrypoint_id=entrypoint_id)

    def read_template(
        self, tenant: Tenant, exchange: Exchange, _entry: JournalEntry, answer: Mapping[str, Any]
    ) -> None:
        """Note the manual variables of a template."""
        rows = answer.get("commonVariables")
        keys = [row.get("key") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        variables = tuple(Variable(key, "", required=False, source=None) for key in keys if isinstance(key, str))
        self._templates[tenant.id, exchange.params.get("id", "")] = variables

    def _deliveries(self) -> Iterator[tuple[str, Delivery]]:
        for delivery in self._recording.deliveries:
            event: Any = delivery.json if delivery.json is not ABSENT else {}
            kind, data = str(event.get("event")), event.get("data")
            session_id = str(data.get("sessionId")) if isinstance(data, dict) else ""
            at = delivery.at
            record = Session(
                seq=0,
                id=session_id,
                token="",
                funnel_id=None,
                funnel_step_id=None,
                coexistence=False,
                return_url=None,
                created_at=at,
                expires_at=_NEVER,
                status="pending",
                state_version=1,
            )
            id = next(
                (delivery.headers[name] for name in ("webhook-id", "svix-id") if name in delivery.headers),
                f"#{delivery.number}",
            )
            attempt = Attempt(
                number=1,
                at=at,
                due=at,
                status=delivery.status,
                error=None,
                duration_ms=(delivery.ended_at - delivery.at) // MILLISECOND,
                headers=delivery.headers,
                body=delivery.body,
            )
            row = Delivery(
                seq=delivery.number,
                id=f"delivery_{delivery.number}",
                event=Event(seq=delivery.number, id=id, at=at, kind=kind, tenant_id="", record=record, entrypoint=None),
                webhook_id=delivery.endpoint or "the receiver",
                tenant_id="",
                status="delivered",
                state_version=1,
                due=at,
                attempts=(attempt,),
            )
            yield row.id, row


_Adder = Callable[[_Life, Tenant, Exchange, JournalEntry, Mapping[str, Any]], None]
_ADDERS: Final[Mapping[str, _Adder]] = {
    "createCampaign": _Life.add_campaign,
    "startCampaign": _Life.add_execution,
    "createConnectionSession": _Life.add_session,
    "readConnectionSession": _Life.read_session,
    "readTemplate": _Life.read_template,
}


def _entry(exchange: Exchange, at: Instant) -> JournalEntry:
    """Return an exchange as a sandbox's journal would have it; what it does not show is as if it had not happened."""
    path, _, query = exchange.path.partition("?")
    endpoint = ENDPOINTS.get(exchange.operation or "")
    is_left_out = exchange.request_body is None  # two bodies that were left out are not equal
    call = Call(
        method=exchange.method,
        path=path,
        endpoint=endpoint,
        allowed_methods=(),
        params=exchange.params,
        query=parse_qsl(query, keep_blank_values=True),
        headers=exchange.request_headers,
        body=exchange.request_body,
        read_files=no_files,
        base_url="",
        cut_from_bytes=exchange.number if is_left_out else None,
    )
    is_lost = exchange.trouble in ("no-answer", "broken-body")
    body = None if exchange.request_json is ABSENT else exchange.request_json
    return JournalEntry(
        n=exchange.number,
        at=at,
        operation=exchange.operation,
        tenant_id=exchange.key or "",
        call=call,
        body=body,
        status=None if is_lost else exchange.status,
        headers=tuple(_headers(exchange)),
        answer=b"" if is_lost else exchange.response_body or b"",
        applied=exchange.succeeded,
        error=Refused(exchange.code, "", "", "") if exchange.code is not None else None,
        choices={},
        fault=AppliedFault("", _LOST) if is_lost else _waited(exchange),
        monotonic_us=exchange.at if exchange.is_timed else None,
        is_reused=is_lost,  # a library may have repeated it; the recording does not show on which connection it was
    )


def _waited(exchange: Exchange) -> AppliedFault | None:
    """Return the delay of an answer that took two minutes or longer, as a rule would have caused it."""
    wait_ms = (exchange.ended_at - exchange.at) // MILLISECOND
    return AppliedFault("", {"delay": f"{wait_ms // 1000}s"}) if wait_ms * MILLISECOND >= 2 * MINUTE else None


def _headers(exchange: Exchange) -> Iterable[tuple[str, str]]:
    """Yield the headers of the answer; a date in Retry-After as the seconds of the shortest wait that reaches it."""
    for name, value in exchange.response_headers.items():
        date = http_date(value) if name == "retry-after" and whole_number(value.strip()) is None else None
        if date is None or date.tzinfo is None:
            yield name, value
            continue
        until = from_datetime(date)
        clocks = [exchange.ended_at, *filter(None, [_service_date(exchange)])]
        yield name, str(max(0, (until - max(clocks)) // SECOND - 1))


def _service_date(exchange: Exchange) -> Instant | None:
    """Return the instant of the answer's Date, by the service's clock."""
    date = http_date(exchange.response_headers.get("date", ""))
    return from_datetime(date) if date is not None and date.tzinfo is not None else None


def _deadline(exchange: Exchange, answer: Mapping[str, Any]) -> Instant:
    """Return a session's deadline by the recorder's clock, not too early; `_NEVER` if the service's clock is unknown."""
    expires, now = parse(str(answer.get("expiresAt"))), _service_date(exchange)
    if expires is None or now is None:
        return _NEVER
    return exchange.ended_at + expires[0] - now + SECOND
