"""
Recorded calls, replayed on a sandbox in the recorded state under each option of the choices that the call reads.

1. A situation is a state that the recording allows. What the recording does not show is free: there is a situation for each
   value that can change the outcome.
2. An option fits a call if some situation leads to the recorded outcome under it. If no option fits, the state of the service
   is not one of the situations, and the call shows nothing.
3. An outcome is the code of the refusal, or success; of an upload also which files were stored, in the order of the results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice, product
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.operations import validation
from mockserver.core.operations.dispatch import handle_call
from mockserver.core.state.calls import ApiError, Call, no_files
from mockserver.core.state.records import (
    Campaign,
    Chat,
    ChatAttributes,
    Execution,
    Funnel,
    SendSchedule,
    Session,
    Template,
    Variable,
)
from mockserver.core.state.sandbox import Clock, KeyOwner, SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.judge.choices.facts import Alternative, Facts
from mockserver.trace.exchange import Exchange
from mockserver.wire.formats import SerializationContext
from mockserver.wire.request import files_of
from mockserver.wire.serializers import SERIALIZERS

Outcome = str | tuple[tuple[bool, str], ...]


class PossibleState(NamedTuple):
    """A state that the recording allows: `fill` puts it into a sandbox and its tenant; equal keys are equal states."""

    key: tuple[Hashable, ...]
    fill: Callable[[SandboxState, Tenant], None]


_OWN, _OTHER, _KEY = "tenant_own", "tenant_other", "sk_own"
SUCCESS: Final = "success"
_SITUATIONS_MAX: Final = 128
_OUTCOMES_MAX: Final = 4_096  # of one call, over its situations and options
# Refusals before a body is read, failures, and refusals by numbers that no recording shows.
_REFUSALS_BEFORE_A_BODY: Final = frozenset(
    ("API_KEY_MISSING", "API_KEY_INVALID", "DEVELOPERS_DISABLED", "SUBSCRIPTION_INACTIVE", "API_KEY_WRONG_TYPE",
     "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "CAMPAIGN_SIZE_LIMIT_EXCEEDED", "MEDIA_UPLOAD_TOO_MANY_FILES",
     "MEDIA_FILE_TOO_LARGE")
)  # fmt: skip
# Read by these calls without an influence on an outcome.
_WITHOUT_INFLUENCE: Final = frozenset(
    ("case-sensitivity", "missing-value-negative-ops", "exists-meaning", "between-bounds", "estimated-count-exactness",
     "late-sends-after-cancel", "execution-status-lag", "audience-off-channel", "size-limit-base", "datetime-spelling",
     "media-failed-item-shape", "short-pages", "page-stability", "expiry-driver", "state-vs-event-order")
)  # fmt: skip
# Those on which the validation of a body depends.
_OF_BODIES: Final = frozenset(
    ("empty-json-body", "unknown-body-keys", "null-for-optional", "platform-required", "filter-error-split",
     "filters-empty-list", "group-no-statements", "funnelId-alone")
)  # fmt: skip


class _Unread(BaseException):
    """A choice was read that has no option yet; no handler of an operation catches it."""

    def __init__(self, choice: str) -> None:
        self.choice = choice


class _Assigned(dict[str, Any]):
    """Choices of which only some have an option: reading another one raises `_Unread`, unless its option is irrelevant."""

    def __init__(self, options: Mapping[str, str], irrelevant: frozenset[str]) -> None:
        super().__init__(options)
        self._irrelevant = irrelevant

    def __missing__(self, choice: str) -> Any:
        if choice in self._irrelevant or CHOICES[choice].value:
            return DEFAULTS[choice]
        raise _Unread(choice)


def _each_option(
    run: Callable[[_Assigned], Outcome], irrelevant: frozenset[str]
) -> Iterator[tuple[Alternative, Outcome]]:
    """Yield the outcome for each combination of options of the choices that `run` reads."""
    pending: list[dict[str, str]] = [{}]
    while pending:
        options = pending.pop()
        try:
            outcome = run(_Assigned(options, irrelevant))
        except _Unread as unread:
            pending += [{**options, unread.choice: option} for option in CHOICES[unread.choice].options]
            continue
        yield {choice: frozenset({option}) for choice, option in options.items()}, outcome


class Replayer:
    """Replays the calls of a recording. Calls with equal bodies in equal situations are replayed once."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[Hashable, tuple[Alternative, ...]] = {}

    def fitting(self, exchange: Exchange) -> tuple[Alternative, ...]:
        """Return the options that together lead to the recorded outcome; none if the call shows nothing of any choice."""
        shown, endpoint = _shown(exchange), ENDPOINTS.get(exchange.operation or "")
        situations = _SITUATIONS.get(exchange.operation or "")
        if shown is None or endpoint is None or situations is None:
            return ()
        if exchange.request_body is None and endpoint.body != "none":
            return ()
        states = list(islice(situations(exchange, self._facts, shown), _SITUATIONS_MAX + 1))
        content_type = exchange.request_headers.get("content-type")
        key = exchange.operation, shown, exchange.request_body, content_type, tuple(state.key for state in states)
        if key not in self._known:
            self._known[key] = _fitting(exchange, shown, states) if len(states) <= _SITUATIONS_MAX else ()
        return self._known[key]


def _fitting(exchange: Exchange, shown: Outcome, states: Sequence[PossibleState]) -> tuple[Alternative, ...]:
    call, irrelevant = _call(exchange), _WITHOUT_INFLUENCE
    assert call.endpoint is not None
    if call.endpoint.body == "json":
        validated = {outcome for _, outcome in _each_option(lambda choices: _validated(call, choices), irrelevant)}
        irrelevant = irrelevant | _OF_BODIES if len(validated) == 1 else irrelevant
    alternatives: list[Alternative] = []
    count = 0
    for state in states:
        for options, outcome in _each_option(partial(_run, call, state), irrelevant):
            count += 1
            if count > _OUTCOMES_MAX:
                return ()
            if outcome == shown and options not in alternatives:
                alternatives.append(options)
    return tuple(alternatives)


def _validated(call: Call, choices: _Assigned) -> Outcome:
    """Return the valid body as a text, or the code of its refusal."""
    assert call.endpoint is not None
    sandbox = _sandbox(choices)
    try:
        ready = validation.validate_body(sandbox, call.endpoint, validation.parse_body(sandbox, call.endpoint, call))
    except ApiError as refusal:
        return refusal.code
    return json.dumps(ready, default=lambda value: value.code if isinstance(value, ApiError) else str(value))


def _sandbox(choices: _Assigned) -> SandboxState:
    return SandboxState(seed=0, clock=Clock(0, frozen=True), lock=nullcontext(), process_now=lambda: 0, choices=choices)


def _shown(exchange: Exchange) -> Outcome | None:
    """Return the recorded outcome; None if it shows nothing of the operation."""
    if not exchange.is_answered or exchange.code in _REFUSALS_BEFORE_A_BODY:
        return None
    if not exchange.succeeded:
        return exchange.code
    return _results(exchange.response_json) if exchange.operation == "uploadMedia" else SUCCESS


def _results(answer: Any) -> Outcome | None:
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        return None
    return tuple((row.get("success") is True, str(row.get("name"))) for row in answer)


def _run(call: Call, state: PossibleState, choices: _Assigned) -> Outcome:
    sandbox = _sandbox(choices)
    tenant = Tenant(_OWN, _OWN, _KEY, "pk_own")
    sandbox.tenants = {_OWN: tenant, _OTHER: Tenant(_OTHER, _OTHER, "sk_other", "pk_other")}
    sandbox.keys[_KEY] = KeyOwner(_OWN, "secret")
    state.fill(sandbox, tenant)
    outcome = handle_call(sandbox, call).outcome
    if isinstance(outcome, ApiError):
        return outcome.code
    if call.endpoint is not None and call.endpoint.id == "uploadMedia" and outcome is not None:
        return _results(SERIALIZERS["uploadMedia"](SerializationContext(choices, 0, 0, ""), outcome.value)) or SUCCESS
    return SUCCESS


def _call(exchange: Exchange) -> Call:
    path, _, query = exchange.path.partition("?")
    endpoint = ENDPOINTS[exchange.operation or ""]
    return Call(
        method=exchange.method,
        path=path,
        endpoint=endpoint,
        allowed_methods=(),
        params=exchange.params,
        query=parse_qsl(query, keep_blank_values=True),
        headers={**exchange.request_headers, "x-api-key": _KEY},
        body=exchange.request_body or b"",
        read_files=files_of if endpoint.body == "multipart" else no_files,
        base_url="",
    )


# The situations of each operation.


def _empty(_exchange: Exchange, _facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    yield _NOTHING


_NOTHING: Final = PossibleState((), lambda _sandbox, _tenant: None)


def _together(*states: PossibleState) -> PossibleState:
    def fill(sandbox: SandboxState, tenant: Tenant) -> None:
        for state in states:
            state.fill(sandbox, tenant)

    return PossibleState(tuple(state.key for state in states), fill)


def _templates(template_id: str, facts: Facts, exchange: Exchange, given: Iterable[str]) -> Iterator[PossibleState]:
    """Yield the template as it may be; of one whose variables are unknown, as the given values of a start may need it."""
    known = facts.template(template_id, exchange)
    keys = list(given)
    optional, required = dict.fromkeys(keys, False), dict.fromkeys(keys, True)
    free: list[Mapping[str, bool]] = [{}, *([optional, required] if keys else []), {**required, "var999999": True}]
    for status, variables in product(known.statuses, free if known.variables is None else [known.variables]):
        yield _template(template_id, status, variables)
    if known.may_be_absent:
        yield _NOTHING


def _template(template_id: str, status: str | None, variables: Mapping[str, bool]) -> PossibleState:
    rows = tuple(Variable(key, key, required, None) for key, required in variables.items())

    def fill(_sandbox: SandboxState, tenant: Tenant) -> None:
        tenant.templates[template_id] = Template(
            seq=1,
            id=template_id,
            name=template_id,
            description=None,
            provider_status=status,
            items=(),
            variables=rows,
            created_at=0,
            updated_at=0,
        )

    return PossibleState(("template", status, *variables.items()), fill)


def _campaign(campaign_id: str, name: str, status: str, template_id: str = "") -> PossibleState:
    def fill(_sandbox: SandboxState, tenant: Tenant) -> None:
        runs = ("execution_run",) if status == "processing" else ()
        tenant.campaigns[campaign_id] = Campaign(
            seq=1,
            id=campaign_id,
            name=name,
            description=None,
            platform="chatapp",
            template_id=template_id,
            cadence=60,
            filters=None,
            created_at=0,
            status=status,
            state_version=1,
            execution_ids=runs,
        )
        template = Template(
            seq=1,
            id=template_id,
            name="",
            description=None,
            provider_status=None,
            items=(),
            variables=(),
            created_at=0,
            updated_at=0,
        )
        schedule = SendSchedule(0, 0, (), ())
        for run in runs:
            tenant.executions[run] = Execution(
                seq=1,
                id=run,
                campaign_id=campaign_id,
                platform="chatapp",
                template=template,
                values={},
                targets=(),
                schedule=schedule,
                started_at=0,
                ended_at=None,
                status=status,
                state_version=1,
            )

    return PossibleState(("campaign", name, status), fill)


def _chat(_sandbox: SandboxState, tenant: Tenant) -> None:
    attributes = ChatAttributes(
        name=None,
        platform="chatapp",
        status="open",
        monetization=None,
        entrypoint_id=None,
        funnel_step_id=None,
        tracking_link_id=None,
        is_group_chat=False,
        is_answered=False,
        needs_human_attention=False,
        attention_reason=None,
        tag_ids=(),
        assigned_user_id=None,
        participants_count=1,
        contact=None,
        birth_date=None,
        custom={},
        last_message_at=None,
        last_update_at=None,
    )
    tenant.chats.add(Chat(1, "chat_1", attributes))


_AUDIENCES: Final = (_NOTHING, PossibleState(("chat",), _chat))


def _creations(exchange: Exchange, facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    """Yield the template, and the campaigns of the same or a similar name, as they may be."""
    body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
    name, template_id = str(body.get("name")), str(body.get("templateId"))
    similar = [row for row in facts.named(exchange) if row.name.casefold().strip() == name.casefold().strip()]
    taken = (_NOTHING, _campaign("campaign_unknown", name, "draft"))
    for template, other in product(_templates(template_id, facts, exchange, ()), taken):
        for statuses in product(*(sorted(row.statuses) for row in similar)):
            known = (_campaign(row.id, row.name, status) for row, status in zip(similar, statuses, strict=True))
            yield _together(template, other, *known)


def _starts(exchange: Exchange, facts: Facts, shown: Outcome) -> Iterator[PossibleState]:
    """Yield the campaign, its template and its audience as they may be; the latter two are read for a draft alone."""
    campaign_id = exchange.params.get("id", "")
    template_id = facts.template_of(campaign_id) or "template_unknown"
    statuses = facts.statuses(campaign_id, exchange)
    yield from _foreign_or_absent("campaign", campaign_id, exchange, facts)
    if shown in ("CAMPAIGN_NOT_DRAFT", "CAMPAIGN_ALREADY_PROCESSING"):
        yield from (_campaign(campaign_id, "", status) for status in sorted(statuses))
    elif "draft" in statuses:
        body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
        values = body.get("commonVariables")
        keys = sorted(values) if isinstance(values, dict) else ()
        for template, audience in product(_templates(template_id, facts, exchange, keys), _AUDIENCES):
            yield _together(_campaign(campaign_id, "", "draft", template_id), template, audience)


def _cancels(exchange: Exchange, facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    campaign_id = exchange.params.get("id", "")
    yield from _foreign_or_absent("campaign", campaign_id, exchange, facts)
    yield from (_campaign(campaign_id, "", status) for status in sorted(facts.statuses(campaign_id, exchange)))


def _by_id(kind: str) -> Callable[[Exchange, Facts, Outcome], Iterator[PossibleState]]:
    """Return the situations of a record by its id: absent, another tenant's, or the caller's own; a success shows nothing."""

    def situations(exchange: Exchange, facts: Facts, shown: Outcome) -> Iterator[PossibleState]:
        record_id = next(iter(exchange.params.values()), "")
        if shown == SUCCESS:
            return
        yield from _foreign_or_absent(kind, record_id, exchange, facts)
        if not facts.is_foreign(record_id, exchange):
            yield PossibleState(("own",), lambda _sandbox, tenant: _place(tenant, kind, record_id))

    return situations


def _foreign_or_absent(kind: str, record_id: str, exchange: Exchange, facts: Facts) -> Iterator[PossibleState]:
    if not facts.is_known(record_id, exchange):
        yield PossibleState(("absent",), lambda _sandbox, _tenant: None)
    if not facts.is_own(record_id, exchange):
        yield PossibleState(("foreign",), lambda sandbox, _tenant: _place(sandbox.tenants[_OTHER], kind, record_id))


def _place(tenant: Tenant, kind: str, record_id: str) -> None:
    if kind == "campaign":
        tenant.campaigns[record_id] = Campaign(
            seq=1,
            id=record_id,
            name="",
            description=None,
            platform="chatapp",
            template_id="",
            cadence=60,
            filters=None,
            created_at=0,
            status="draft",
            state_version=1,
        )
    elif kind == "session":
        tenant.sessions[record_id] = Session(
            seq=1,
            id=record_id,
            token="",
            funnel_id=None,
            funnel_step_id=None,
            coexistence=False,
            return_url=None,
            created_at=0,
            expires_at=2**62,
            status="pending",
            state_version=1,
        )
    else:
        tenant.table(kind)[record_id] = ()  # these calls do not read its content


def _sessions(exchange: Exchange, _facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    """Yield a tenant without the funnel of the call, and one with it."""
    body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
    funnel_id, step_id = body.get("funnelId"), body.get("funnelStepId")
    yield _NOTHING
    if isinstance(step_id, str):
        funnel = Funnel(str(funnel_id or "funnel_1"), "", ((step_id, ""),))
        yield PossibleState(("funnel",), lambda _sandbox, tenant: tenant.funnels.update({funnel.id: funnel}))


_SITUATIONS: Final[Mapping[str, Callable[[Exchange, Facts, Outcome], Iterator[PossibleState]]]] = {
    "readTemplate": _by_id("template"),
    "previewAudience": _empty,
    "createCampaign": _creations,
    "readCampaign": _by_id("campaign"),
    "readExecution": _by_id("campaign"),
    "startCampaign": _starts,
    "cancelCampaign": _cancels,
    "createConnectionSession": _sessions,
    "readConnectionSession": _by_id("session"),
    "readEntrypoint": _by_id("entrypoint"),
    "uploadMedia": _empty,
}
