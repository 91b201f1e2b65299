"""Types of the bodies of the API, generated from the schemas: campaigns."""

from typing import Any, Literal, NotRequired, TypedDict


class FiltersEntryStatementsEntry(TypedDict):
    field: str
    operator: str
    value: NotRequired[Any]
    value2: NotRequired[Any]


class FiltersEntry(TypedDict):
    combinator: Literal["and", "or"]
    statements: list[FiltersEntryStatementsEntry]


class PreviewAudienceRequest(TypedDict):
    """Body of an audience preview."""

    filters: NotRequired[list[FiltersEntry]]


class PreviewAudienceAnswer(TypedDict):
    """Audience estimate."""

    estimatedCount: int


class CreateCampaignRequest(TypedDict):
    """Body of a campaign creation."""

    name: str
    platform: Literal["chatapp_lite", "chatapp", "photoapp"]
    templateId: str
    cadence: int
    description: NotRequired[str]
    filters: NotRequired[list[FiltersEntry]]


class CreateCampaignAnswer(TypedDict):
    """Campaign created."""

    campaignId: str
    status: Literal["draft"]


class ListCampaignsAnswerCampaignsEntry(TypedDict):
    id: str
    name: str
    description: str | None
    status: Literal["draft", "processing", "completed", "canceled", "failed"]
    platform: Literal["chatapp_lite", "chatapp", "photoapp"]
    templateId: str
    cadence: int


class ListCampaignsAnswer(TypedDict):
    """Campaign list."""

    campaigns: list[ListCampaignsAnswerCampaignsEntry]


class ExecutionEntry(TypedDict):
    """Execution in the campaign detail."""

    id: str
    status: Literal["processing", "completed", "failed", "canceled"]
    targetCount: int
    sentCount: int
    failedCount: int
    startedAt: str
    completedAt: str | None


class ReadCampaignAnswerFiltersEntryStatementsEntry(TypedDict):
    field: str
    operator: str
    value: NotRequired[Any]
    value2: NotRequired[Any]


class ReadCampaignAnswerFiltersEntry(TypedDict):
    combinator: Literal["and", "or"]
    statements: list[ReadCampaignAnswerFiltersEntryStatementsEntry]


class ReadCampaignAnswer(TypedDict):
    """Campaign detail."""

    id: str
    name: str
    status: Literal["draft", "processing", "completed", "canceled", "failed"]
    platform: Literal["chatapp_lite", "chatapp", "photoapp"]
    templateId: str
    cadence: int
    executions: list[ExecutionEntry]
    description: NotRequired[str | None]
    filters: NotRequired[list[ReadCampaignAnswerFiltersEntry] | None]


class ReadExecutionAnswer(TypedDict):
    """Execution progress."""

    id: str
    status: Literal["processing", "completed", "failed", "canceled"]
    targetCount: int
    sentCount: int
    failedCount: int
    progress: int


class StartCampaignRequest(TypedDict):
    """Body of a campaign start."""

    commonVariables: NotRequired[dict[str, str]]


class StartCampaignAnswer(TypedDict):
    """Campaign started."""

    executionId: str
    status: Literal["processing"]


class ReadFilterSchemaAnswerFieldsEntry(TypedDict):
    field: Literal[
        "chat.platform",
        "chat.status",
        "chat.monetization",
        "chat.entrypointId",
        "chat.funnelStepId",
        "chat.trackingLinkId",
        "chat.isGroupChat",
        "chat.isAnswered",
        "chat.needsHumanAttention",
        "chat.attentionReason",
        "chat.tagIds",
        "chat.assignedUserId",
        "chat.virtual.participants-count",
        "chat.virtual.dm-participant.contact",
        "chat.virtual.dm-participant.birthDate",
        "chat.virtual.lastMessageAt",
        "chat.virtual.lastUpdateAt",
    ]
    type: Literal["string", "number", "boolean", "date", "array"]
    valueFormat: str
    operators: list[
        Literal[
            "equals",
            "not-equals",
            "contains",
            "not-contains",
            "in",
            "not-in",
            "exists",
            "not-exists",
            "starts-with",
            "ends-with",
            "not-starts-with",
            "not-ends-with",
            "greater-than",
            "less-than",
            "greater-than-or-equal",
            "less-than-or-equal",
            "between",
            "not-between",
            "has-any",
            "has-all",
            "has-none",
        ]
    ]
    allowedValues: NotRequired[list[str]]


class ReadFilterSchemaAnswer(TypedDict):
    """Catalog of filters."""

    fields: list[ReadFilterSchemaAnswerFieldsEntry]
    combinators: list[Literal["and", "or"]]
