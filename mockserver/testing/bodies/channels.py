"""Types of the bodies of the API, generated from the schemas: channels."""

from typing import Literal, NotRequired, TypedDict


class CreateConnectionSessionRequest(TypedDict):
    """Body of a connection session creation."""

    funnelStepId: NotRequired[str]
    funnelId: NotRequired[str]
    coexistence: NotRequired[bool]
    returnUrl: NotRequired[str]


class CreateConnectionSessionAnswer(TypedDict):
    """Connection session created."""

    sessionId: str
    status: Literal["pending"]
    url: str
    expiresAt: str


class ConnectedEntrypoint(TypedDict):
    """Entrypoint of a completed session."""

    id: str
    name: str
    displayPhone: str
    phoneNumberId: str
    businessAccountId: str
    isCoexistence: bool
    funnelId: NotRequired[str | None]
    funnelStepId: NotRequired[str | None]
    platform: NotRequired[Literal["chatapp", "chatapp_lite", "photoapp", "botapp"]]
    displayName: NotRequired[str]


class ReadConnectionSessionAnswer(TypedDict):
    """Connection session."""

    sessionId: str
    status: Literal["pending", "completed", "failed", "expired"]
    entrypoint: NotRequired[ConnectedEntrypoint | None]
    reason: NotRequired[Literal["expired", "token_exchange_failed", "phone_in_use", "funnel_not_found"] | None]
    message: NotRequired[str | None]
    url: NotRequired[str]
    expiresAt: NotRequired[str]


class ReadEntrypointAnswerEntrypoint(TypedDict):
    id: str
    name: str
    platform: Literal["chatapp", "chatapp_lite", "photoapp", "botapp"]
    displayName: str
    isCoexistence: bool
    funnelStepId: NotRequired[str | None]
    displayPhone: NotRequired[str]
    phoneNumberId: NotRequired[str]
    businessAccountId: NotRequired[str]
    funnelId: NotRequired[str | None]


class ReadEntrypointAnswer(TypedDict):
    """Entrypoint."""

    entrypoint: ReadEntrypointAnswerEntrypoint
