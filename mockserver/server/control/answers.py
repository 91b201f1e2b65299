"""
The answers of the control plane as types: what returns one is checked against it, and the document has its schema.

1. A command's answer is the type that its handler returns (`openapi/answers.py` makes the schemas).
2. `Annotated` adds to a schema: a text is a description, a mapping has keywords; one with `type`, `$ref` or `oneOf` is all of it.
3. A type that is a `component` has its name in the document; any other is written out where it is.
4. Annotations are values here, not texts: only then does a type know which of its keys are optional.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, TypeVar, is_typeddict

from mockserver._json import Count, InstantText, Schema
from mockserver.contract.lifecycles import DELIVERY, EVENTS, LIFECYCLES
from mockserver.contract.openapi.parts import ref
from mockserver.core.ledger import LedgerRows
from mockserver.core.state import records
from mockserver.judge.coverage.dimensions import DIMENSIONS
from mockserver.report.run.check import KINDS
from mockserver.server.control.openapi.shapes import OBJECT, array, either, obj, one_of

Answer = TypeVar("Answer")

INLINE: Final = ("inline",)  # a named schema, written out
Anything = Any
ChoiceValue = Annotated[Any, Schema(ref("ChoiceValue"))]
Rules = Annotated[list[dict[str, Any]], Schema(array(ref("RuleInForce")))]
Document = Annotated[dict[str, Any], Schema(ref("Scenario"))]
SessionAnswer = Annotated[dict[str, Any], Schema(ref("ReadConnectionSessionResponse"))]
CampaignAnswer = Annotated[dict[str, Any], Schema(ref("ReadCampaignResponse"))]
EventData = Annotated[Any, Schema(either(ref("ConnectedData"), ref("ConnectionExpired"), ref("ConnectionFailed")))]
EventName = Annotated[str, Schema(one_of(*EVENTS))]
DeliveryStatus = Annotated[str, Schema(one_of(*DELIVERY.states))]
Limit = Annotated[
    Literal["sandboxes", "idle", "age", "memory", "restart", "run"],
    "The limit of the server that refuses a sandbox, or that has ended it; `restart` of its process, `run` a bound of its test.",
]
Masked = Annotated[str, "The first three characters, redacted."]


def component(kind: type[Answer]) -> type[Answer]:
    """Mark a type as one that has a name in the document."""
    kind.is_component = True  # type: ignore[attr-defined]
    return kind


def is_component(kind: object) -> bool:
    """Return True for a type that has a name in the document."""
    return is_typeddict(kind) and hasattr(kind, "is_component")


# Refusals


@component
class Problem(TypedDict):
    path: str
    found: str
    wanted: str
    nearest: NotRequired[str]
    position: NotRequired[Annotated[str, "In the file of a library scenario."]]


@component
class ControlError(TypedDict):
    statusCode: int
    code: str
    message: str
    problems: NotRequired[list[Problem]]
    limit: NotRequired[Limit]


# The server and its sandboxes


class OfShard(TypedDict):
    """What one of several servers adds: its number, and how many there are."""

    shard: NotRequired[Count]
    shards: NotRequired[Count]


class Health(OfShard):
    status: Literal["ok"]
    version: str


@component
class CreatedSandbox(TypedDict):
    sandboxId: str
    baseUrl: Annotated[str, "With the host that the request has."]
    tenantId: str
    secretKey: str
    publicKey: str
    webhookSecrets: Annotated[Mapping[str, str], "Signing secrets that were assigned, by endpoint."]
    token: NotRequired[Annotated[str, "Opens the control plane of this sandbox, if the server has a token."]]


class OpenSandbox(TypedDict):
    sandboxId: str
    baseUrl: str
    createdAt: InstantText
    exchanges: Count
    labels: Mapping[str, str]
    memoryBytes: Annotated[Count, "An estimate."]
    idleSeconds: Annotated[Count, "Since its last call, in real time."]


class ClosedSandbox(TypedDict):
    sandboxId: str
    lateCalls: Count
    limit: NotRequired[Limit]


class Sandboxes(OfShard):
    sandboxes: list[OpenSandbox]
    closed: list[ClosedSandbox]


class EndedSandboxes(OfShard):
    ended: list[str]


# Time


@component
class ClockState(TypedDict):
    now: InstantText
    frozen: bool


@component
class FiredTimer(TypedDict):
    at: InstantText
    what: str
    id: str


DueTimer = Annotated[FiredTimer, INLINE]


class Advanced(TypedDict):
    now: InstantText
    fired: list[FiredTimer]


# Behaviour


class ChoiceRow(TypedDict):
    id: str
    question: str
    options: list[str]
    default: ChoiceValue
    value: ChoiceValue
    clause: str


@component
class ChoiceList(TypedDict):
    choices: list[ChoiceRow]


class TrackedChoices(TypedDict):
    read: list[str]


class ScenarioSummary(TypedDict):
    name: str
    summary: str
    clauses: list[str]


class ScenarioList(TypedDict):
    scenarios: list[ScenarioSummary]


class ScenarioInFull(TypedDict):
    document: Document
    rules: list[str]


class AppliedTenant(TypedDict):
    id: str
    secretKey: str
    publicKey: str


@component
class AppliedScenario(TypedDict):
    scenario: str | None
    tenants: list[AppliedTenant]
    created: Mapping[str, list[str]]
    rules: list[str]
    ignored: list[str]
    webhookSecrets: NotRequired[Mapping[str, str]]


class RuleList(TypedDict):
    rules: Rules


@component
class TenantSettings(TypedDict):
    tenantId: str
    name: str
    developersEnabled: bool
    subscription: Annotated[str, Schema(one_of("active", "suspended", "canceled", "none"))]
    secretKey: Masked
    publicKey: Masked


# The state


@component
class TenantState(TenantSettings):
    """The state of a tenant; the fields and types of its records' classes describe the rows of its tables."""

    chatCount: Count
    funnels: list[records.Funnel]
    entrypoints: list[records.Entrypoint]
    templates: list[records.Template]
    chats: list[records.Chat]
    messages: list[records.Message]
    forms: list[records.Form]
    webhooks: list[records.Webhook]
    campaigns: list[records.Campaign]
    executions: list[records.Execution]
    sessions: list[records.Session]
    walks: list[records.HostedFlow]
    media: list[records.Media]


class Attempt(TypedDict):
    at: InstantText
    status: NotRequired[int]
    error: NotRequired[str]
    fault: NotRequired[str]


class TimedAttempt(Attempt):
    durationMs: NotRequired[Count]


class DeliveryState(TypedDict):
    id: str
    eventId: str
    endpoint: str
    status: DeliveryStatus
    due: InstantText
    attempts: list[Attempt]


class Deliveries(TypedDict):
    deliveries: list[DeliveryState]
    storedEvents: list[str]


@component
class State(TypedDict):
    clock: ClockState
    seed: Count
    choices: Mapping[str, ChoiceValue]
    tenants: list[TenantState]
    rules: Rules
    deliveries: list[DeliveryState]
    storedEvents: list[str]


class CreatedCheckpoint(TypedDict):
    checkpointId: str


# Evidence


class Fault(TypedDict):
    rule: str
    effects: Annotated[Any, Schema(ref("Effects"))]


class Cut(TypedDict):
    """What a body that is only the beginning of the whole one has."""

    cutFromBytes: NotRequired[Count]


class Request(Cut):
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Anything


class Response(Cut):
    status: int
    headers: Mapping[str, str]
    body: Anything


class GivenUp(TypedDict):
    """A call that arrived after its client had disconnected, as a rule of a scenario delayed it."""

    sentAt: InstantText
    lastExchange: Annotated[Count, "The number of the last exchange when the client sent the call."]
    at: Annotated[InstantText, "When the client disconnected."]


@component
class Exchange(TypedDict):
    n: Count
    at: InstantText
    operation: str | None
    tenantId: str | None
    request: Request
    response: Response | None
    applied: bool
    fault: Fault | None
    reason: str | None
    choices: Mapping[str, ChoiceValue]
    givenUp: NotRequired[GivenUp]


class Cause(TypedDict, total=False):
    exchange: Annotated[Count, "The call of this number."]
    timer: Annotated[str, "A deadline."]
    rule: Annotated[str, "A rule of a scenario."]
    page: Annotated[str, "A step of the hosted page."]
    forced: Annotated[str, "A command of the control plane."]
    given: Annotated[str, "Seed data, with the record's id."]
    event: Annotated[str, "Of a delivery: its event."]
    attempt: Annotated[Count, "Of a delivery: its attempt."]
    beforeAnswer: Annotated[Count, "With an attempt: the call whose answer a rule sent after it."]
    script: Annotated[str, "Of a delivery: an effect of a rule."]
    webhook: Annotated[str, "Of a delivery: its endpoint."]


Transition = TypedDict(
    "Transition",
    {
        "n": Count,
        "at": InstantText,
        "kind": Annotated[str, Schema(one_of(*LIFECYCLES))],
        "id": str,
        "from": str | None,
        "to": str,
        "cause": Cause,
    },
)
component(Transition)


class JournalTimes(TypedDict):
    at: Annotated[Literal["virtual"], "Each `at` is by the sandbox's clock, not by the computer's."]


class Journal(TypedDict):
    times: Annotated[JournalTimes, "Which times are by the sandbox's clock."]
    exchanges: list[Exchange]
    transitions: list[Transition]


class HarCreator(TypedDict):
    name: str
    version: str


class HarLog(TypedDict):
    version: str
    creator: HarCreator
    entries: Annotated[list[dict[str, Any]], "Calls and requests to receivers, as HAR 1.2 defines entries."]


class Har(TypedDict):
    log: HarLog


@component
class PathDifference(TypedDict):
    path: str
    expected: Anything
    actual: Anything


class Nearest(TypedDict):
    exchange: Exchange
    differences: list[PathDifference]


class VerifiedCall(TypedDict):
    n: Count
    method: str
    path: str
    status: int | None


class Verified(TypedDict):
    ok: bool
    message: NotRequired[str]
    count: Count
    nearest: list[Nearest]
    calls: list[VerifiedCall]


class Step(TypedDict):
    at: InstantText
    exchanges: Count
    transitions: Count
    command: str
    arguments: Annotated[Any, Schema(OBJECT)]


class CalledPath(TypedDict):
    method: str
    path: str


class DeferredCall(CalledPath):
    rules: list[str]


class Unmoved(TypedDict):
    first: Count
    last: Count
    calls: Count
    seconds: float
    idleSeconds: float


class Apart(TypedDict):
    process: InstantText
    sandbox: InstantText
    exchange: Count | None


@component
class History(TypedDict):
    now: InstantText
    exchanges: Count
    steps: list[Step]
    dropped: Count
    deferred: list[DeferredCall]
    due: DueTimer | None
    failing: Annotated[list[str], "The endpoints that are disabled, or whose last attempt was not accepted."]
    coming: Annotated[list[FiredTimer], "The next twenty timers, the soonest first."]
    unmoved: Unmoved | None
    apart: Apart | None


@component
class Ledger(LedgerRows):
    """The rows of the core, as they are."""


class Finding(TypedDict):
    rule: str
    clause: str
    severity: Annotated[int, Schema(type="integer", enum=[1, 2, 3])]
    message: str
    exchanges: list[Count]


class NotAssessed(TypedDict):
    rule: str
    why: str


@component
class ConductReport(TypedDict):
    findings: list[Finding]
    notAssessed: list[NotAssessed]


class CheckFailure(TypedDict):
    kind: Annotated[str, Schema(one_of(*KINDS))]
    message: str
    exchanges: list[Count]


class Check(TypedDict):
    ok: bool
    failures: list[CheckFailure]


@component
class CoveredItems(TypedDict):
    covered: list[str]
    missing: list[str]


@component
class Coverage(TypedDict):
    version: str
    dimensions: Annotated[Mapping[str, CoveredItems], Schema(obj(**dict.fromkeys(DIMENSIONS, ref("CoveredItems"))))]


class ReportedCall(TypedDict):
    n: Count
    operation: str | None
    status: int | None
    code: str | None
    reason: str | None
    fault: Fault | None


class KeptFiles(TypedDict):
    replay: Annotated[str | None, "The document that repeats the run; null if it has no calls, or cannot be written."]
    har: Annotated[str | None, "Its calls and deliveries as a HAR; null if it has no calls, or cannot be written."]
    trace: Annotated[str | None, "The page of its trace; null if it has no calls, or cannot be written."]
    report: Annotated[str | None, "The text of this report; null if it cannot be written."]


@component
class Report(TypedDict):
    version: Annotated[int, "The version of the form of this report."]
    sandboxId: str
    failure: Annotated[str | None, "The words of the test, as the query has them."]
    summary: Annotated[list[str], "The first lines: the most likely cause."]
    call: Annotated[ReportedCall | None, "The last call that was refused, or that a rule changed."]
    text: Annotated[str, "The whole report."]
    files: Annotated[KeptFiles | None, "The files of the failed run, on the server's machine; null if it keeps none."]


# Events and webhooks


class EventDelivery(TypedDict):
    endpoint: str
    status: DeliveryStatus
    attempts: list[TimedAttempt]


@component
class EventEntry(TypedDict):
    id: str
    at: InstantText
    event: EventName
    data: EventData
    deliveries: list[EventDelivery]


class Events(TypedDict):
    events: list[EventEntry]


class SentAttempt(TypedDict):
    number: Count
    at: InstantText
    due: InstantText
    status: int | None
    error: str | None
    fault: str | None
    durationMs: Count
    headers: Mapping[str, str]
    body: str
    bodyBytes: Count
    answer: str


class DeliveryInFull(TypedDict):
    id: str
    endpoint: str
    url: str | None
    status: DeliveryStatus
    due: InstantText | None
    attempts: list[SentAttempt]


@component
class EventInFull(TypedDict):
    id: str
    at: InstantText
    event: EventName
    data: EventData
    deliveries: list[DeliveryInFull]


@component
class CreatedWebhook(TypedDict):
    webhookId: str
    tenantId: str
    url: str
    events: list[str]
    secret: str


class RecoveredWebhook(TypedDict):
    webhookId: str
    events: list[str]


class RotatedWebhook(TypedDict):
    webhookId: str
    secret: str
    oldSecret: str
    oldSecretUntil: InstantText | None


# Calls


class SentCall(TypedDict):
    status: int
    headers: list[Annotated[list[str], Schema(minItems=2, maxItems=2)]]
    bodyBase64: str
    wholeBytes: Annotated[Count, "The size of the body if it were not cut."]
    end: Literal["whole", "cut", "timeout"]


class UnansweredCall(TypedDict):
    noResponse: Literal["drop", "reset", "timeout"]


CallAnswer = Annotated[SentCall, Schema(title="Response")] | Annotated[UnansweredCall, Schema(title="No response")]
