"""The sixteen operations of the API: method, path, key types, schemas, success status and the errors they declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from mockserver.contract.text import closest_match, closest_match_hint

Operation = Literal[
    "listTemplates",
    "readTemplate",
    "readFilterSchema",
    "previewAudience",
    "createCampaign",
    "listCampaigns",
    "readCampaign",
    "readExecution",
    "startCampaign",
    "cancelCampaign",
    "createConnectionSession",
    "readConnectionSession",
    "readEntrypoint",
    "uploadMedia",
    "listMessages",
    "readFormPolicy",
]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
# The same operations by method and path, for type checkers; the rows below have them as data.
Route = Literal[
    "GET /v1/message-templates",
    "GET /v1/message-templates/{id}",
    "GET /v1/campaigns/filters/schema",
    "POST /v1/campaigns/audience-preview",
    "POST /v1/campaigns",
    "GET /v1/campaigns",
    "GET /v1/campaigns/{id}",
    "GET /v1/campaigns/{id}/executions/{executionId}",
    "POST /v1/campaigns/{id}/start",
    "POST /v1/campaigns/{id}/cancel",
    "POST /v1/entrypoints/chatapp/connection-sessions",
    "GET /v1/entrypoints/chatapp/connection-sessions/{sessionId}",
    "GET /v1/entrypoints/{id}",
    "POST /v1/messaging/media",
    "GET /v1/messaging/chats/{chatId}",
    "GET /v1/forms/{id}/embed-frame-policy",
]
OperationName = Operation | Route | Literal["*"]

Keys = Literal["secret", "any"]
Body = Literal["none", "json", "multipart"]
Kind = Literal["campaign", "execution", "session", "template", "entrypoint", "message", "media", "form"]


class Endpoint(NamedTuple):
    """
    One operation of the API document.

    `keys` is `secret` if only a secret key is accepted, `any` if a public one is too.
    `path` is the document's template, with `{name}` for a parameter.
    `needs_body` refuses a call without any body.
    `subject` is the kind of the record that a call acts on, with the path parameter that holds its id; None if a call
    names no record that a rule can act on.
    `errors` are the operation's own codes, in the order in which the document or a choice has them checked.
    `status` is that of a success, which holds under every option of `success-status` if `has_documented_status`.
    `creates`, `reads` and `lists` are the kind of the records that a success creates, of the one record that it shows by
    the last parameter of the path, and of the records that it lists; each is None if there is none.
    `trigger` is the transition that it causes in the record of its subject.
    `field_clauses` are the clauses of fields of its body that have one of their own.
    """

    id: Operation
    method: Literal["GET", "POST"]
    path: str
    clause: str
    status: int = 200
    keys: Keys = "secret"
    body: Body = "none"
    needs_body: bool = False
    query: tuple[str, ...] = ()
    subject: tuple[str, str] | None = None
    errors: tuple[str, ...] = ()
    has_documented_status: bool = False
    creates: Kind | None = None
    reads: Kind | None = None
    lists: Kind | None = None
    trigger: Literal["start", "cancel"] | None = None
    field_clauses: tuple[tuple[str, str], ...] = ()

    @property
    def request_schema(self) -> str | None:
        """Name of the schema of the JSON body, or None if there is no JSON body."""
        return f"{self.id}.request" if self.body == "json" else None

    @property
    def response_schema(self) -> str | None:
        """Name of the schema of the success body, or None if success has no content (cancel)."""
        return None if self.status == HTTPStatus.NO_CONTENT else f"{self.id}.response"

    @property
    def writes(self) -> bool:
        """Return True if the operation can change the state; the audience preview cannot."""
        return self.creates is not None or self.trigger is not None

    @property
    def record_parameter(self) -> str:
        """Name of the last parameter of the path; empty if the path has none."""
        names = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return names[-1] if names else ""

    def clause_of(self, field: str) -> str:
        """Return the clause for a refusal because of the value of a field of the body."""
        return dict(self.field_clauses).get(field, self.clause)


# Every operation may refuse a call for these reasons (choice-free: the document's rules of keys,
# tenants, request rates and failures hold for "every request").
COMMON_ERRORS: tuple[str, ...] = (
    "API_KEY_MISSING",
    "API_KEY_INVALID",
    "DEVELOPERS_DISABLED",
    "SUBSCRIPTION_INACTIVE",
    "API_KEY_WRONG_TYPE",
    "RESOURCE_ACCESS_DENIED",
    "RATE_LIMIT_EXCEEDED",
    "INTERNAL_ERROR",
)

HEAD_ERROR = "VALIDATION_ERROR"  # of every operation too, for a head beyond the mock's bounds (choice `head-bounds`)

_TEMPLATE = ("MESSAGE_TEMPLATE_NOT_FOUND", "CAMPAIGN_TEMPLATE_NOT_FOUND")
_FILTERS = ("VALIDATION_ERROR", "CAMPAIGN_INVALID_FILTERS", "PLATFORM_UNSUPPORTED")
_CREATE = (
    "VALIDATION_ERROR",
    *_TEMPLATE,
    "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH",
    *_FILTERS[1:],
    "CAMPAIGN_NAME_ALREADY_EXISTS",
)
_START = (
    "VALIDATION_ERROR",
    "CAMPAIGN_NOT_FOUND",
    "CAMPAIGN_ALREADY_PROCESSING",
    "CAMPAIGN_NOT_DRAFT",
    *_TEMPLATE,
    "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH",
    "CAMPAIGN_MISSING_COMMON_VARIABLES",
    "CAMPAIGN_SIZE_LIMIT_EXCEEDED",
    "UNPROCESSABLE_REQUEST",
)
_CANCEL = ("CAMPAIGN_NOT_FOUND", "CAMPAIGN_NOT_DRAFT", "UNPROCESSABLE_REQUEST")
_SESSION = ("VALIDATION_ERROR", "INVALID_REQUEST", "RESOURCE_NOT_FOUND")
_MEDIA = ("MEDIA_UPLOAD_EMPTY", "MEDIA_UPLOAD_TOO_MANY_FILES", "MEDIA_INVALID_FORMAT", "MEDIA_FILE_TOO_LARGE")
_FILTER_CLAUSES = (("filters", "audience.same-filters"),)
_CAMPAIGN_CLAUSES = (
    ("name", "campaigns.name"),
    ("description", "campaigns.description"),
    ("platform", "campaigns.platform"),
    ("templateId", "campaigns.template"),
    ("cadence", "campaigns.cadence"),
    *_FILTER_CLAUSES,
)
_START_CLAUSES = (("commonVariables", "start.common-variables"),)
_SESSION_CLAUSES = (
    ("funnelId", "session.funnel-pair"),
    ("funnelStepId", "session.funnel-pair"),
    ("coexistence", "session.coexistence"),
    ("returnUrl", "session.return-url"),
)
_OF_CAMPAIGN = ("campaign", "id")
_VERSION = "v1"
_SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"

# fmt: off
_ROWS: tuple[Endpoint, ...] = (
    Endpoint("listTemplates",           "GET",  "/v1/message-templates",             clause="templates.list", lists="template"),
    Endpoint("readTemplate",            "GET",  "/v1/message-templates/{id}",        clause="templates.detail", reads="template",
             subject=("template", "id"), errors=("MESSAGE_TEMPLATE_NOT_FOUND",)),
    Endpoint("readFilterSchema",        "GET",  "/v1/campaigns/filters/schema",      clause="filters.schema"),
    Endpoint("previewAudience",         "POST", "/v1/campaigns/audience-preview",    clause="audience.preview", body="json",
             errors=_FILTERS, field_clauses=_FILTER_CLAUSES),
    Endpoint("createCampaign",          "POST", "/v1/campaigns",                     clause="campaigns.create", status=201, creates="campaign",
             body="json", needs_body=True, errors=_CREATE, field_clauses=_CAMPAIGN_CLAUSES),
    Endpoint("listCampaigns",           "GET",  "/v1/campaigns",                     clause="campaigns.list", lists="campaign"),
    Endpoint("readCampaign",            "GET",  "/v1/campaigns/{id}",                clause="campaigns.detail", reads="campaign",
             subject=_OF_CAMPAIGN, errors=("CAMPAIGN_NOT_FOUND",)),
    Endpoint("readExecution",           "GET",  "/v1/campaigns/{id}/executions/{executionId}", clause="execution.read", reads="execution",
             subject=_OF_CAMPAIGN, errors=("CAMPAIGN_NOT_FOUND", "RESOURCE_NOT_FOUND")),
    Endpoint("startCampaign",           "POST", "/v1/campaigns/{id}/start",          clause="start.response", status=202, creates="execution",
             trigger="start", subject=_OF_CAMPAIGN, body="json", errors=_START, field_clauses=_START_CLAUSES),
    Endpoint("cancelCampaign",          "POST", "/v1/campaigns/{id}/cancel",         clause="cancel.processing", status=204, has_documented_status=True,
             trigger="cancel", subject=_OF_CAMPAIGN, errors=_CANCEL),
    Endpoint("createConnectionSession", "POST", _SESSIONS,                           clause="session.create", status=202, has_documented_status=True,
             creates="session", body="json", errors=_SESSION, field_clauses=_SESSION_CLAUSES),
    Endpoint("readConnectionSession",   "GET",  _SESSIONS + "/{sessionId}",          clause="session.read", reads="session",
             subject=("session", "sessionId"), errors=("RESOURCE_NOT_FOUND", "ENTRYPOINT_NOT_FOUND")),
    Endpoint("readEntrypoint",          "GET",  "/v1/entrypoints/{id}",              clause="entrypoints.read", reads="entrypoint",
             subject=("entrypoint", "id"), errors=("ENTRYPOINT_NOT_FOUND",)),
    Endpoint("uploadMedia",             "POST", "/v1/messaging/media",               clause="media.upload", status=201, creates="media",
             body="multipart", needs_body=True, errors=_MEDIA),
    Endpoint("listMessages",            "GET",  "/v1/messaging/chats/{chatId}",      clause="messages.list", lists="message",
             query=("cursor", "limit"), errors=("VALIDATION_ERROR", "CHAT_NOT_FOUND")),
    Endpoint("readFormPolicy",          "GET",  "/v1/forms/{id}/embed-frame-policy", clause="forms.policy", reads="form", keys="any", errors=("FORM_NOT_FOUND",)),
)
# fmt: on

ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType({row.id: row for row in _ROWS})

# The operations that create, show and list records of a kind.
CREATING: Mapping[Kind, Endpoint] = MappingProxyType({row.creates: row for row in _ROWS if row.creates})
READING: Mapping[Kind, Endpoint] = MappingProxyType({row.reads: row for row in _ROWS if row.reads})
LISTING: Mapping[Kind, Endpoint] = MappingProxyType({row.lists: row for row in _ROWS if row.lists})


# Success statuses by the options of `success-status`. The document gives two (202 for a session, 204 for a cancel);
# both hold under every option, as does the 200 of a GET.
def _with_posts(status: int) -> Mapping[str, int]:
    fixed: dict[str, int] = {row.id: row.status for row in _ROWS if row.has_documented_status or row.method == "GET"}
    return MappingProxyType({**dict.fromkeys(OPERATIONS, status), **fixed})


SUCCESS_STATUS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "rest": MappingProxyType({row.id: row.status for row in _ROWS}),
        "all-200": _with_posts(200),
        "all-201": _with_posts(201),
    }
)


def is_creation_of(operation: str | None, kind: Kind) -> bool:
    """Return True if the operation creates records of this kind; False for None, a call of no operation."""
    return operation is not None and ENDPOINTS[operation].creates == kind


def is_read_of(operation: str | None, kind: Kind) -> bool:
    """Return True if the operation shows one record of this kind; False for None, a call of no operation."""
    return operation is not None and ENDPOINTS[operation].reads == kind


def is_list_of(operation: str | None, kind: Kind) -> bool:
    """Return True if the operation lists records of this kind; False for None, a call of no operation."""
    return operation is not None and ENDPOINTS[operation].lists == kind


def is_cancel(operation: str | None) -> bool:
    """Return True if the operation cancels a record; False for None, a call of no operation."""
    return operation is not None and ENDPOINTS[operation].trigger == "cancel"


def nearest_path(path: str) -> str | None:
    """
    Return the path of the document that is most like an unknown one, with the ids of that one; None if none is.

    A path without the version, with another one, or with a prefix before it, is like the path with the version.
    """
    segments = [segment for segment in path.split("/") if segment]
    variants = (segments, segments[1:], [_VERSION, *segments], [_VERSION, *segments[1:]])
    filled = (_filled(row.path, variant) for row in _ROWS for variant in variants)
    return closest_match(path, [each for each in filled if each is not None])


def _filled(template: str, segments: Sequence[str]) -> str | None:
    """Return the template with its parameters from a path; None if another part of that is not like the template's."""
    expected = template.strip("/").split("/")
    if len(expected) != len(segments):
        return None
    pairs = zip(expected, segments, strict=True)
    parts = [received if name.startswith("{") else closest_match(received, (name,)) or "" for name, received in pairs]
    return "/" + "/".join(parts) if all(parts) else None


def named(written: str) -> tuple[str, ...]:
    """Return the operations of a name: an id, `METHOD /path` as in the document, or `*` for all; none for any other."""
    if written == "*":
        return OPERATIONS
    return tuple(row.id for row in _ROWS if written in (row.id, f"{row.method} {row.path}"))


def operations_named(name: str) -> tuple[str, ...]:
    """
    Return the operations of a name, as `named` does, at least one.

    Raises:
        ValueError: No operation has this name; the message contains the nearest one.
    """
    operations = named(name)
    if not operations:
        hint = closest_match_hint(name, (*OPERATIONS, *(f"{row.method} {row.path}" for row in _ROWS)))
        raise ValueError(f"got the operation {name!r}; expected an operation id, METHOD /path or *{hint}")
    return operations
