"""Types of the bodies of the API, generated from the schemas: content."""

from typing import Any, Literal, NotRequired, TypedDict


class TemplateListEntry(TypedDict):
    """Message template in the list."""

    id: str
    name: str
    description: str | None
    isOfficial: bool
    createdAt: str
    updatedAt: str
    providerTemplateStatus: NotRequired[Literal["APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED", ""] | None]


class ListTemplatesAnswer(TypedDict):
    """Template list."""

    templates: list[TemplateListEntry]


class ReadTemplateAnswerItemsEntry(TypedDict):
    id: str
    order: int
    type: Literal["text", "image", "video", "audio", "document"]
    text: str
    mediaId: str | None


class ReadTemplateAnswerCommonVariablesEntry(TypedDict):
    key: str
    label: str
    required: bool


class ReadTemplateAnswer(TypedDict):
    """Template detail."""

    id: str
    name: str
    isOfficial: bool
    items: list[ReadTemplateAnswerItemsEntry]
    commonVariables: list[ReadTemplateAnswerCommonVariablesEntry]


class UploadMediaAnswerEntry(TypedDict):
    success: bool
    name: str
    id: NotRequired[str | None]
    url: NotRequired[str | None]


class MessageRecordSender(TypedDict):
    id: str
    name: str
    isParticipant: bool
    avatarUrl: NotRequired[str | None]


class MessageRecordForward(TypedDict):
    displayName: NotRequired[str | None]
    type: NotRequired[str | None]
    date: NotRequired[float | None]


class MessageRecordPhotoapp(TypedDict):
    kind: NotRequired[str | None]
    commentId: NotRequired[str | None]
    mediaId: NotRequired[str | None]
    parentCommentId: NotRequired[str | None]


class MessageRecordMedia(TypedDict):
    id: NotRequired[str | None]
    type: NotRequired[str | None]
    url: NotRequired[str | None]
    mimeType: NotRequired[str | None]
    fileName: NotRequired[str | None]


class MessageRecordLocation(TypedDict):
    latitude: NotRequired[float | None]
    longitude: NotRequired[float | None]
    name: NotRequired[str | None]
    address: NotRequired[str | None]
    url: NotRequired[str | None]


class MessageRecordAd(TypedDict):
    id: NotRequired[str | None]
    type: NotRequired[str | None]
    url: NotRequired[str | None]
    headline: NotRequired[str | None]


class MessageRecord(TypedDict):
    """Message record."""

    id: str
    type: Literal[
        "text",
        "image",
        "audio",
        "video",
        "document",
        "sticker",
        "location",
        "contact",
        "template",
        "comment",
        "system",
        "unsupported",
    ]
    status: Literal["pending", "sent", "delivered", "read", "failed"]
    sender: NotRequired[MessageRecordSender | None]
    createdAt: str
    isOfficialTemplate: NotRequired[bool | None]
    templateCharged: NotRequired[bool | None]
    text: NotRequired[str | None]
    transcription: NotRequired[str | None]
    forward: NotRequired[MessageRecordForward | None]
    replyToId: NotRequired[str | None]
    photoapp: NotRequired[MessageRecordPhotoapp | None]
    media: NotRequired[MessageRecordMedia | None]
    location: NotRequired[MessageRecordLocation | None]
    templateComponents: NotRequired[dict[str, Any] | None]
    ad: NotRequired[MessageRecordAd | None]


class ListMessagesAnswer(TypedDict):
    """Messages of a chat."""

    records: list[MessageRecord]
    nextCursor: NotRequired[str | None]


class ReadFormPolicyAnswer(TypedDict):
    """Form embed policy."""

    iframeEmbedAllowedOrigins: list[str]


UploadMediaAnswer = list[UploadMediaAnswerEntry]
