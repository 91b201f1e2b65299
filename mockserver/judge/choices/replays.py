"""
Recorded calls, replayed on a sandbox in the recorded state under each option of the choices that the call reads.

1. A situation is a state that the recording allows. What the recording does not show is free: there is a situation for each
   value that can change the outcome.
2. An option fits a call if some situation leads to the recorded outcome under it. If no option fits, the state of the service
   is not one of the situations, and the call shows nothing.
3. An outcome is the code of the refusal, or success; of an upload also which files were stored, in the order of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from inspect import signature
from itertools import islice, product
from typing import Any, Final, NamedTuple, TypeVar

from mockserver.contract.choices import CHOICES, DEFAULTS
from mockserver.contract.endpoints import ENDPOINTS, Endpoint
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
    Template,
    Variable,
)
from mockserver.core.state.sandbox import Clock, KeyOwner, SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.judge.choices.facts import Facts, TemplateFacts
from mockserver.judge.service.verdicts import Alternative, Shown
from mockserver.trace.exchange import Exchange
from mockserver.trace.sightings import OF_NO_DRAFT, objects_of
from mockserver.trace.trace import Trace
from mockserver.wire.formats import SerializationContext
from mockserver.wire.request import files_of
from mockserver.wire.serializers import SERIALIZERS

Result = TypeVar("Result")
Outcome = str | tuple[tuple[bool, str], ...]


class Stored(NamedTuple):
    """A record in the table of its kind, of the caller's tenant or of the other one."""

    kind: str
    record: Any
    tenant: str = "own"


PossibleState = tuple[Stored, ...]
SUCCESS: Final = "success"
_ID: Final = "in_the_path"  # of each record that a path names
_KEY: Final = "sk_own"
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


def each_option(
    run: Callable[[_Assigned], Result], irrelevant: frozenset[str] = frozenset()
) -> Iterator[tuple[Alternative, Result]]:
    """Yield the result for each combination of options of the choices that `run` reads."""
    pending: list[dict[str, str]] = [{}]
    while pending:
        options = pending.pop()
        try:
            result = run(_Assigned(options, irrelevant))
        except _Unread as unread:
            pending += [{**options, unread.choice: option} for option in CHOICES[unread.choice].options]
            continue
        yield {choice: frozenset({option}) for choice, option in options.items()}, result


def shown_by_replays(recording: Trace, facts: Facts) -> Iterator[Shown]:
    """Yield the options that together lead to a recorded outcome. Calls with equal bodies in equal situations are replayed once."""
    known: dict[Hashable, tuple[Alternative, ...]] = {}
    for exchange in recording.calls:
        endpoint, shown = ENDPOINTS[exchange.operation or ""], _shown(exchange)
        situations = _SITUATIONS.get(endpoint.id)
        is_body_unknown = exchange.request_body is None and endpoint.body != "none"
        if shown is None or situations is None or is_body_unknown:
            continue
        call = _call(exchange, endpoint)
        states = tuple(islice(situations(exchange, facts, shown), _SITUATIONS_MAX + 1))
        key = endpoint.id, shown, call.body, call.headers.get("content-type"), states
        if key not in known:
            known[key] = _fitting(call, endpoint, shown, states) if len(states) <= _SITUATIONS_MAX else ()
        if known[key]:
            yield Shown(known[key], exchange)


def _fitting(
    call: Call, endpoint: Endpoint, shown: Outcome, states: Sequence[PossibleState]
) -> tuple[Alternative, ...]:
    irrelevant = _WITHOUT_INFLUENCE
    if endpoint.body == "json":
        validated = list(each_option(partial(_validated, call, endpoint), irrelevant))
        if len({outcome for _, outcome in validated}) == 1:
            irrelevant = irrelevant.union(*(options for options, _ in validated))
    alternatives: list[Alternative] = []
    count = 0
    for state in states:
        for options, outcome in each_option(partial(_run, call, state), irrelevant):
            count += 1
            if count > _OUTCOMES_MAX:
                return ()
            if outcome == shown and options not in alternatives:
                alternatives.append(options)
    return tuple(alternatives)


def _validated(call: Call, endpoint: Endpoint, choices: _Assigned) -> Outcome:
    """Return the valid body as a text, or the code of its refusal."""
    sandbox = _sandbox(choices)
    try:
        return repr(validation.validate_body(sandbox, endpoint, validation.parse_body(sandbox, endpoint, call)))
    except ApiError as refusal:
        return refusal.code


def _sandbox(choices: _Assigned) -> SandboxState:
    return SandboxState(seed=0, clock=Clock(0, frozen=True), lock=nullcontext(), process_now=lambda: 0, choices=choices)


def _shown(exchange: Exchange) -> Outcome | None:
    """Return the recorded outcome; None if it shows nothing of the operation."""
    if not exchange.is_answered or exchange.code in _REFUSALS_BEFORE_A_BODY:
        return None
    if not exchange.succeeded:
        return exchange.code
    return _results(exchange.response_json) if exchange.creates == "media" else SUCCESS


def _results(answer: Any) -> Outcome:
    rows = objects_of({"files": answer}, "files")
    return tuple((row.get("success") is True, str(row.get("name"))) for row in rows)


def _run(call: Call, state: PossibleState, choices: _Assigned) -> Outcome:
    sandbox = _sandbox(choices)
    sandbox.tenants = {id: Tenant(id, id, f"sk_{id}", f"pk_{id}") for id in ("own", "other")}
    sandbox.keys[_KEY] = KeyOwner("own", "secret")
    for kind, record, tenant in state:
        table = sandbox.tenants[tenant].table(kind)
        if kind == "chat":
            table.add(record)
        else:
            table[record.id] = record
    outcome = handle_call(sandbox, call).outcome
    if isinstance(outcome, ApiError):
        return outcome.code
    if call.endpoint is not None and call.endpoint.creates == "media" and outcome is not None:
        return _results(SERIALIZERS[call.endpoint.id](SerializationContext(choices, 0, 0, ""), outcome.value))
    return SUCCESS


def _call(exchange: Exchange, endpoint: Endpoint) -> Call:
    return Call(
        method=exchange.method,
        path=exchange.path,
        endpoint=endpoint,
        allowed_methods=(),
        params=dict.fromkeys(exchange.params, _ID),
        query=exchange.query,
        headers={**exchange.request_headers, "x-api-key": _KEY},
        body=exchange.request_body or b"",
        read_files=files_of if endpoint.body == "multipart" else no_files,
        base_url="",
    )


# Records with what these calls read of them.


def _record(kind: Callable[..., Any], **fields: Any) -> Any:
    """Return a record whose other fields are None."""
    return kind(**{**dict.fromkeys(signature(kind).parameters), **fields})


def _campaign(status: str, *, id: str = _ID, name: str = "") -> PossibleState:
    """Return a campaign, with its execution if it runs one."""
    runs = ("execution",) if status == "processing" else ()
    campaign = _record(
        Campaign,
        id=id,
        name=name,
        status=status,
        template_id="template",
        platform="chatapp",
        cadence=60,
        execution_ids=runs,
    )
    schedule = SendSchedule(0, 0, (), ())
    executions = [
        _record(Execution, id=run, campaign_id=id, schedule=schedule, started_at=0, status=status) for run in runs
    ]
    return (Stored("campaign", campaign), *(Stored("execution", execution) for execution in executions))


def _template(id: str, status: str | None, variables: Mapping[str, bool]) -> PossibleState:
    rows = tuple(Variable(key, key, required, None) for key, required in variables.items())
    return (Stored("template", _record(Template, id=id, provider_status=status, variables=rows)),)


_CHAT: Final = Stored("chat", Chat(1, "chat", _record(ChatAttributes, platform="chatapp")))
_ANY: Final = _record(Campaign, id=_ID, name="")  # of a record these calls read no more than whose it is


# The situations of each operation.


def _empty(_exchange: Exchange, _facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    yield ()


def _templates(id: str, known: TemplateFacts, given: Iterable[str]) -> Iterator[PossibleState]:
    """Yield the template as it may be; of one whose variables are unknown, as the given values of a start may need it."""
    optional, required = dict.fromkeys(given, False), dict.fromkeys(given, True)
    free: list[Mapping[str, bool]] = [{}, *([optional, required] if required else []), {**required, "var999999": True}]
    for status, variables in product(known.statuses, free if known.variables is None else [known.variables]):
        yield _template(id, status, variables)
    if known.may_be_absent:
        yield ()


def _creations(exchange: Exchange, facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    """Yield the template, and the campaigns of the same or a similar name, as they may be."""
    name, template_id = str(exchange.sent.get("name")), str(exchange.sent.get("templateId"))
    similar = [row for row in facts.named(exchange) if row.name.casefold().strip() == name.casefold().strip()]
    unknown = (), _campaign("draft", id="unknown", name=name)
    known = [[_campaign(status, id=row.id, name=row.name) for status in sorted(row.statuses)] for row in similar]
    templates = _templates(template_id, facts.template(template_id, exchange), ())
    for states in product(templates, unknown, *known):
        yield tuple(stored for state in states for stored in state)


def _starts(exchange: Exchange, facts: Facts, shown: Outcome) -> Iterator[PossibleState]:
    """Yield the campaign, its template and its audience as they may be; the latter two are read for a draft alone."""
    campaign_id = exchange.params["id"]
    template = facts.template(facts.template_of(campaign_id), exchange)
    statuses = facts.statuses(campaign_id, exchange)
    yield from _absent_or_foreign("campaign", campaign_id, exchange, facts)
    if shown in OF_NO_DRAFT:
        yield from map(_campaign, sorted(statuses))
    elif "draft" in statuses:
        values = exchange.sent.get("commonVariables")
        keys = sorted(values) if isinstance(values, dict) else ()
        for templates, chats in product(_templates("template", template, keys), ((), (_CHAT,))):
            yield (*_campaign("draft"), *templates, *chats)


def _cancels(exchange: Exchange, facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    yield from _absent_or_foreign("campaign", exchange.params["id"], exchange, facts)
    yield from map(_campaign, sorted(facts.statuses(exchange.params["id"], exchange)))


def _reads(kind: str, exchange: Exchange, facts: Facts, shown: Outcome) -> Iterator[PossibleState]:
    """Yield a record of a path that is absent or another tenant's; a success shows nothing."""
    if shown != SUCCESS:
        yield from _absent_or_foreign(kind, next(iter(exchange.params.values())), exchange, facts)


def _executions(exchange: Exchange, facts: Facts, shown: Outcome) -> Iterator[PossibleState]:
    """Yield the campaign as it may be; one of the caller's own has no such execution."""
    campaign_id = exchange.params["id"]
    yield from _reads("campaign", exchange, facts, shown)
    if facts.is_own(campaign_id, exchange) or not facts.is_known(campaign_id, exchange):
        yield _campaign("draft")


def _absent_or_foreign(kind: str, record_id: str, exchange: Exchange, facts: Facts) -> Iterator[PossibleState]:
    if not facts.is_known(record_id, exchange):
        yield ()
    if not facts.is_own(record_id, exchange):
        yield (Stored(kind, _ANY, "other"),)


def _sessions(exchange: Exchange, _facts: Facts, _shown: Outcome) -> Iterator[PossibleState]:
    """Yield a tenant without the funnel of the call, and one with it."""
    funnel_id, step_id = exchange.sent.get("funnelId"), exchange.sent.get("funnelStepId")
    yield ()
    if isinstance(step_id, str):
        yield (Stored("funnel", Funnel(str(funnel_id or "funnel_1"), "", ((step_id, ""),))),)


_SITUATIONS: Final[Mapping[str, Callable[[Exchange, Facts, Outcome], Iterator[PossibleState]]]] = {
    "readTemplate": partial(_reads, "template"),
    "previewAudience": _empty,
    "createCampaign": _creations,
    "readCampaign": partial(_reads, "campaign"),
    "readExecution": _executions,
    "startCampaign": _starts,
    "cancelCampaign": _cancels,
    "createConnectionSession": _sessions,
    "readConnectionSession": partial(_reads, "session"),
    "readEntrypoint": partial(_reads, "entrypoint"),
    "uploadMedia": _empty,
}
