"""
The fields of the API document, transcribed by hand: what each schema must contain, and all that it may.

A place is a path; `*` is any element. The comment of a row names the line of the document, or the choice that adds to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

Bounds = tuple[int | None, int | None]
NONE: Bounds = (None, None)


class Field(NamedTuple):
    """
    What a schema says of one place.

    Attributes:
        presence: `required` or `optional`, a key of an object; `each`, an element; `whole`, the schema itself.
        kinds: The types of JSON, or `any`.
        keys: Of an object: `open` to unknown keys, `closed`, or a `map`.
        enum: All values.
        form: The spelling of a text, by its name in `documented_forms.json`.
        range: The least and the greatest number.
        length: The fewest and the most characters.
        items: The fewest and the most elements.
        is_unique: Elements differ.
        needs: Keys that need another key.
        unknown: Keywords of a schema file that this table has no attribute for.
    """

    presence: str
    kinds: frozenset[str]
    keys: str | None = None
    enum: frozenset[str | None] = frozenset()
    form: str | None = None
    range: Bounds = NONE
    length: Bounds = NONE
    items: Bounds = NONE
    is_unique: bool = False
    needs: tuple[tuple[str, str], ...] = ()
    unknown: frozenset[str] = frozenset()


Section = dict[str, Field]


def field(presence: str, *kinds: str, enum: Iterable[str | None] = (), **facts: Any) -> Field:
    return Field(presence, frozenset(kinds), enum=frozenset(enum), **facts)


whole, each, required, optional = (partial(field, name) for name in ("whole", "each", "required", "optional"))


def below(place: str, presence: str, shared: Section, *kinds: str) -> Section:
    """Return the places of a shared schema below a place, which may be of other kinds too."""
    top = shared[""]
    inner = {f"{place}/{name}": row for name, row in shared.items() if name}
    return {place: top._replace(presence=presence, kinds=top.kinds.union(kinds)), **inner}


# fmt: off
FILTERS: Section = {
    "": whole("array"),  # L44
    "*": each("object", keys="open"),  # L50
    "*/combinator": required("string", enum=("and", "or")),  # L52
    "*/statements": required("array", items=(1, None)),  # L53, choice filter-error-split
    "*/statements/*": each("object", keys="open"),  # L53
    "*/statements/*/field": required("string"),  # L54
    "*/statements/*/operator": required("string"),  # L55
    "*/statements/*/value": optional("any"),  # L56
    "*/statements/*/value2": optional("any"),  # L57
}

TEMPLATE_LIST_ENTRY: Section = {
    "": whole("object", keys="closed"),  # L114
    "id": required("string", length=(1, None)),  # L114
    "name": required("string"),  # L114
    "description": required("string", "null"),  # L114
    "isOfficial": required("boolean"),  # L114
    "createdAt": required("string", form="date-time"),  # L114
    "updatedAt": required("string", form="date-time"),  # L114
    "providerTemplateStatus": optional("string", "null", enum=("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED", "",
        None)),  # L114, choice provider-status-values, choice provider-status-internal
}

EXECUTION_ENTRY: Section = {
    "": whole("object", keys="closed"),  # L108
    "id": required("string", length=(1, None)),  # L99
    "status": required("string", enum=("processing", "completed", "failed", "canceled")),  # L100
    "targetCount": required("integer", range=(0, None)),  # L101
    "sentCount": required("integer", range=(0, None)),  # L102
    "failedCount": required("integer", range=(0, None)),  # L103
    "startedAt": required("string", form="date-time"),  # L105
    "completedAt": required("string", "null", form="date-time"),  # L106
}

CONNECTED_ENTRYPOINT: Section = {
    "": whole("object", keys="closed"),  # L143
    "id": required("string", length=(1, None)),  # L143
    "name": required("string"),  # L143
    "displayPhone": required("string"),  # L143
    "phoneNumberId": required("string"),  # L143
    "businessAccountId": required("string"),  # L143
    "isCoexistence": required("boolean"),  # L143
    "funnelId": optional("string", "null"),  # L143, choice funnel-null
    "funnelStepId": optional("string", "null"),  # L143, choice funnel-null
    "platform": optional("string", enum=("chatapp", "chatapp_lite", "photoapp", "botapp")),  # choice entrypoint-two-shapes
    "displayName": optional("string"),  # choice entrypoint-two-shapes
}

MESSAGE_RECORD: Section = {
    "": whole("object", keys="closed"),  # L164, choice message-required-fields, choice message-absent-vs-null
    "id": required("string", length=(1, None)),  # L168
    "type": required("string", enum=("text", "image", "audio", "video", "document", "sticker", "location", "contact",
        "template", "comment", "system", "unsupported")),  # L168, choice message-type-values
    "status": required("string", enum=("pending", "sent", "delivered", "read", "failed")),  # L168, choice message-status-values
    "sender": optional("object", "null", keys="closed"),  # L169
    "sender/id": required("string"),  # L169
    "sender/name": required("string"),  # L169
    "sender/isParticipant": required("boolean"),  # L169
    "sender/avatarUrl": optional("string", "null"),  # L169
    "createdAt": required("string", form="date-time"),  # L172
    "isOfficialTemplate": optional("boolean", "null"),  # L170
    "templateCharged": optional("boolean", "null"),  # L171
    "text": optional("string", "null"),  # L173
    "transcription": optional("string", "null"),  # L174
    "forward": optional("object", "null", keys="closed"),  # L175
    "forward/displayName": optional("string", "null"),  # L175
    "forward/type": optional("string", "null"),  # L175
    "forward/date": optional("number", "null"),  # L175
    "replyToId": optional("string", "null"),  # L176
    "photoapp": optional("object", "null", keys="closed"),  # L177
    "photoapp/kind": optional("string", "null"),  # L177
    "photoapp/commentId": optional("string", "null"),  # L177
    "photoapp/mediaId": optional("string", "null"),  # L177
    "photoapp/parentCommentId": optional("string", "null"),  # L177
    "media": optional("object", "null", keys="closed"),  # L178
    "media/id": optional("string", "null"),  # L178
    "media/type": optional("string", "null"),  # L178
    "media/url": optional("string", "null"),  # L178
    "media/mimeType": optional("string", "null"),  # L178
    "media/fileName": optional("string", "null"),  # L178
    "location": optional("object", "null", keys="closed"),  # L179
    "location/latitude": optional("number", "null"),  # L179
    "location/longitude": optional("number", "null"),  # L179
    "location/name": optional("string", "null"),  # L179
    "location/address": optional("string", "null"),  # L179
    "location/url": optional("string", "null"),  # L179
    "templateComponents": optional("object", "null", keys="open"),  # L180
    "ad": optional("object", "null", keys="closed"),  # L181
    "ad/id": optional("string", "null"),  # L181
    "ad/type": optional("string", "null"),  # L181
    "ad/url": optional("string", "null"),  # L181
    "ad/headline": optional("string", "null"),  # L181
}

TABLE: dict[str, Section] = {
    "dateTime": {
        "": whole("string", form="date-time"),  # L105
    },
    "utcDateTime": {
        "": whole("string", form="utc-date-time"),  # L138
    },
    "uri": {
        "": whole("string", form="uri"),  # L137
    },
    "campaignName": {
        "": whole("string", length=(1, 100)),  # L39
    },
    "campaignDescription": {
        "": whole("string", length=(None, 2000)),  # L40
    },
    "campaignPlatform": {
        "": whole("string", enum=("chatapp_lite", "chatapp", "photoapp")),  # L41
    },
    "campaignStatus": {
        "": whole("string", enum=("draft", "processing", "completed", "canceled", "failed")),  # L45
    },
    "executionStatus": {
        "": whole("string", enum=("processing", "completed", "failed", "canceled")),  # L100
    },
    "cadence": {
        "": whole("integer", range=(1, 9007199254740991)),  # L43
    },
    "entrypointPlatform": {
        "": whole("string", enum=("chatapp", "chatapp_lite", "photoapp", "botapp")),  # choice entrypoint-platforms
    },
    "sessionReason": {
        "": whole("string", enum=("expired", "token_exchange_failed", "phone_in_use", "funnel_not_found")),  # L140
    },
    "filters": FILTERS,
    "previewAudience.request": {
        "": whole("object", keys="open"),  # L262
        **below("filters", "optional", FILTERS),  # L262
    },
    "createCampaign.request": {
        "": whole("object", keys="open"),  # L269
        "name": required("string", length=(1, 100)),  # L269, L39
        "platform": required("string", enum=("chatapp_lite", "chatapp", "photoapp")),  # L269, L41, choice platform-required
        "templateId": required("string"),  # L269, L42
        "cadence": required("integer", range=(1, 9007199254740991)),  # L269, L43
        "description": optional("string", length=(None, 2000)),  # L269, L40
        **below("filters", "optional", FILTERS),  # L269, L44
    },
    "startCampaign.request": {
        "": whole("object", keys="open"),  # L292
        "commonVariables": optional("object", keys="map"),  # L292
        "commonVariables/*": each("string"),  # L292
    },
    "createConnectionSession.request": {
        "": whole("object", keys="closed", needs=(("funnelId", "funnelStepId"),)),  # L308, L313
        "funnelStepId": optional("string", length=(1, None)),  # L312
        "funnelId": optional("string", length=(1, None)),  # L313
        "coexistence": optional("boolean"),  # L314
        "returnUrl": optional("string", length=(1, 2000)),  # L315
    },
    "templateListEntry": TEMPLATE_LIST_ENTRY,
    "listTemplates.response": {
        "": whole("object", keys="closed"),  # L250
        "templates": required("array"),  # L250
        **below("templates/*", "each", TEMPLATE_LIST_ENTRY),  # L250
    },
    "readTemplate.response": {
        "": whole("object", keys="closed"),  # L116
        "id": required("string", length=(1, None)),  # L116
        "name": required("string"),  # L116
        "isOfficial": required("boolean"),  # L116
        "items": required("array"),  # L116
        "items/*": each("object", keys="closed"),  # L120
        "items/*/id": required("string", length=(1, None)),  # L120
        "items/*/order": required("integer", range=(0, None)),  # L121
        "items/*/type": required("string", enum=("text", "image", "video", "audio", "document")),  # L122, choice template-item-types
        "items/*/text": required("string"),  # L123
        "items/*/mediaId": required("string", "null"),  # L124
        "commonVariables": required("array"),  # L116
        "commonVariables/*": each("object", keys="closed"),  # L125
        "commonVariables/*/key": required("string", form="varN"),  # L125
        "commonVariables/*/label": required("string"),  # L126
        "commonVariables/*/required": required("boolean"),  # L127
    },
    "readFilterSchema.response": {
        "": whole("object", keys="closed"),  # choice filter-schema-shape
        "fields": required("array", items=(1, None)),  # choice filter-schema-shape
        "fields/*": each("object", keys="closed"),  # choice filter-schema-shape
        "fields/*/field": required("string", enum=("chat.platform", "chat.status", "chat.monetization", "chat.entrypointId",
            "chat.funnelStepId", "chat.trackingLinkId", "chat.isGroupChat", "chat.isAnswered", "chat.needsHumanAttention",
            "chat.attentionReason", "chat.tagIds", "chat.assignedUserId", "chat.virtual.participants-count",
            "chat.virtual.dm-participant.contact", "chat.virtual.dm-participant.birthDate", "chat.virtual.lastMessageAt",
            "chat.virtual.lastUpdateAt")),  # L65-81
        "fields/*/type": required("string", enum=("string", "number", "boolean", "date", "array")),  # L87-91
        "fields/*/valueFormat": required("string", length=(1, None)),  # choice filter-schema-shape
        "fields/*/operators": required("array", items=(1, None), is_unique=True),  # choice filter-schema-shape
        "fields/*/operators/*": each("string", enum=("equals", "not-equals", "contains", "not-contains", "in", "not-in",
            "exists", "not-exists", "starts-with", "ends-with", "not-starts-with", "not-ends-with", "greater-than",
            "less-than", "greater-than-or-equal", "less-than-or-equal", "between", "not-between", "has-any", "has-all",
            "has-none")),  # L87-91
        "fields/*/allowedValues": optional("array", items=(1, None), is_unique=True),  # choice filter-schema-shape
        "fields/*/allowedValues/*": each("string"),  # choice filter-schema-shape
        "combinators": required("array", items=(2, None), is_unique=True),  # choice filter-schema-shape
        "combinators/*": each("string", enum=("and", "or")),  # L52
    },
    "previewAudience.response": {
        "": whole("object", keys="closed"),  # L263
        "estimatedCount": required("integer", range=(0, None)),  # L263
    },
    "createCampaign.response": {
        "": whole("object", keys="closed"),  # L270
        "campaignId": required("string", length=(1, None)),  # L270
        "status": required("string", enum=("draft",)),  # L270
    },
    "listCampaigns.response": {
        "": whole("object", keys="closed"),  # L280
        "campaigns": required("array"),  # L280
        "campaigns/*": each("object", keys="closed"),  # L280
        "campaigns/*/id": required("string", length=(1, None)),  # L280
        "campaigns/*/name": required("string", length=(1, 100)),  # L280, L39
        "campaigns/*/description": required("string", "null", length=(None, 2000)),  # L280, L40
        "campaigns/*/status": required("string", enum=("draft", "processing", "completed", "canceled", "failed")),  # L280, L45
        "campaigns/*/platform": required("string", enum=("chatapp_lite", "chatapp", "photoapp")),  # L280, L41
        "campaigns/*/templateId": required("string"),  # L280
        "campaigns/*/cadence": required("integer", range=(1, 9007199254740991)),  # L280, L43
    },
    "executionEntry": EXECUTION_ENTRY,
    "readCampaign.response": {
        "": whole("object", keys="closed"),  # L284
        "id": required("string", length=(1, None)),  # L284
        "name": required("string", length=(1, 100)),  # L284, L39
        "status": required("string", enum=("draft", "processing", "completed", "canceled", "failed")),  # L284, L45
        "platform": required("string", enum=("chatapp_lite", "chatapp", "photoapp")),  # L284, L41
        "templateId": required("string"),  # L284
        "cadence": required("integer", range=(1, 9007199254740991)),  # L284, L43
        "executions": required("array"),  # L284
        **below("executions/*", "each", EXECUTION_ENTRY),  # L284
        "description": optional("string", "null", length=(None, 2000)),  # choice detail-fields
        "filters": optional("array", "null"),  # choice detail-fields
        "filters/*": each("object", keys="closed"),  # choice detail-fields
        "filters/*/combinator": required("string", enum=("and", "or")),  # choice detail-fields
        "filters/*/statements": required("array"),  # choice detail-fields, choice group-no-statements
        "filters/*/statements/*": each("object", keys="closed"),  # choice detail-fields
        "filters/*/statements/*/field": required("string"),  # choice detail-fields
        "filters/*/statements/*/operator": required("string"),  # choice detail-fields
        "filters/*/statements/*/value": optional("any"),  # choice detail-fields
        "filters/*/statements/*/value2": optional("any"),  # choice detail-fields
    },
    "readExecution.response": {
        "": whole("object", keys="closed"),  # L108
        "id": required("string", length=(1, None)),  # L99
        "status": required("string", enum=("processing", "completed", "failed", "canceled")),  # L100
        "targetCount": required("integer", range=(0, None)),  # L101
        "sentCount": required("integer", range=(0, None)),  # L102
        "failedCount": required("integer", range=(0, None)),  # L103
        "progress": required("integer", range=(0, 100)),  # L104
    },
    "startCampaign.response": {
        "": whole("object", keys="closed"),  # L293
        "executionId": required("string", length=(1, None)),  # L293
        "status": required("string", enum=("processing",)),  # L293
    },
    "createConnectionSession.response": {
        "": whole("object", keys="closed"),  # L317
        "sessionId": required("string", length=(1, None)),  # L317
        "status": required("string", enum=("pending",)),  # L317
        "url": required("string", form="uri"),  # L317
        "expiresAt": required("string", form="utc-date-time"),  # L317
    },
    "connectedEntrypoint": CONNECTED_ENTRYPOINT,
    "readConnectionSession.response": {
        "": whole("object", keys="closed"),  # L323
        "sessionId": required("string", length=(1, None)),  # L323
        "status": required("string", enum=("pending", "completed", "failed", "expired")),  # L136
        **below("entrypoint", "optional", CONNECTED_ENTRYPOINT, "null"),  # L139, choice entrypoint-when-failed
        "reason": optional("string", "null", enum=("expired", "token_exchange_failed", "phone_in_use", "funnel_not_found")),  # L140, choice reason-when-none
        "message": optional("string", "null"),  # L141, choice reason-when-none
        "url": optional("string", form="uri"),  # choice session-read-fields
        "expiresAt": optional("string", form="utc-date-time"),  # choice session-read-fields
    },
    "readEntrypoint.response": {
        "": whole("object", keys="closed"),  # L327
        "entrypoint": required("object", keys="closed"),  # L327
        "entrypoint/id": required("string", length=(1, None)),  # L156
        "entrypoint/name": required("string"),  # L156
        "entrypoint/platform": required("string", enum=("chatapp", "chatapp_lite", "photoapp", "botapp")),  # L156, choice entrypoint-platforms
        "entrypoint/displayName": required("string"),  # L156
        "entrypoint/isCoexistence": required("boolean"),  # L156
        "entrypoint/funnelStepId": optional("string", "null"),  # L156, choice funnel-null
        "entrypoint/displayPhone": optional("string"),  # choice entrypoint-two-shapes
        "entrypoint/phoneNumberId": optional("string"),  # choice entrypoint-two-shapes
        "entrypoint/businessAccountId": optional("string"),  # choice entrypoint-two-shapes
        "entrypoint/funnelId": optional("string", "null"),  # choice entrypoint-two-shapes, choice funnel-null
    },
    "event.connected": {
        "": whole("object", keys="closed"),  # L362
        "event": required("string", enum=("entrypoints.chatapp.connected",)),  # L366
        "data": required("object", keys="closed"),  # L366
        "data/tenantId": required("string", length=(1, None)),  # L366
        "data/sessionId": required("string", length=(1, None)),  # L366
        "data/occurredAt": required("string", form="date-time"),  # L366
        **below("data/entrypoint", "required", CONNECTED_ENTRYPOINT),  # L366
    },
    "event.connection_failed": {
        "": whole("object", keys="closed"),  # L362
        "event": required("string", enum=("entrypoints.chatapp.connection_failed",)),  # L367
        "data": required("object", keys="closed"),  # L367
        "data/status": required("string", enum=("expired", "failed")),  # L367
        "data/reason": required("string", enum=("expired", "token_exchange_failed", "phone_in_use", "funnel_not_found")),  # L367
        "data/sessionId": required("string", length=(1, None)),  # L367
        "data/tenantId": optional("string", length=(1, None)),  # choice wh-data-asymmetry
        "data/occurredAt": optional("string", form="date-time"),  # choice wh-data-asymmetry
        "data/entrypoint": optional("null"),  # choice wh-data-asymmetry
    },
    "uploadMedia.response": {
        "": whole("array", items=(1, None)),  # L332
        "*": each("object", keys="closed"),  # L160
        "*/success": required("boolean"),  # L160
        "*/name": required("string"),  # L160
        "*/id": optional("string", "null"),  # L160, choice media-failed-item-shape
        "*/url": optional("string", "null"),  # L160, choice media-failed-item-shape
    },
    "messageRecord": MESSAGE_RECORD,
    "listMessages.response": {
        "": whole("object", keys="closed"),  # L338
        "records": required("array"),  # L338
        **below("records/*", "each", MESSAGE_RECORD),  # L338
        "nextCursor": optional("string", "null"),  # L183, choice next-cursor-end
    },
    "readFormPolicy.response": {
        "": whole("object", keys="closed"),  # L187
        "iframeEmbedAllowedOrigins": required("array"),  # L187
        "iframeEmbedAllowedOrigins/*": each("string", form="https-origin"),  # L187
    },
    "error": {
        "": whole("object", keys="closed"),  # L379
        "statusCode": required("integer", range=(400, 599)),  # L379
        "code": required("string", enum=("API_KEY_MISSING", "API_KEY_INVALID", "API_KEY_WRONG_TYPE", "DEVELOPERS_DISABLED",
            "SUBSCRIPTION_INACTIVE", "LEAD_LIMIT_EXCEEDED", "FORM_INACTIVE", "RESOURCE_ACCESS_DENIED", "ENTRYPOINT_NOT_FOUND",
            "FORM_NOT_FOUND", "CHAT_NOT_FOUND", "RESOURCE_NOT_FOUND", "FORM_ALREADY_SUBMITTED", "VALIDATION_ERROR",
            "INVALID_PHONE", "ENTRYPOINT_PLATFORM_UNSUPPORTED", "PLATFORM_UNSUPPORTED", "FORM_MISSING_ENTRYPOINTS",
            "FORM_INVALID_ANSWERS", "FORM_INVALID_DESTINATION", "MEDIA_UPLOAD_EMPTY", "MEDIA_UPLOAD_TOO_MANY_FILES",
            "MEDIA_FILE_TOO_LARGE", "MEDIA_INVALID_FORMAT", "INVALID_REQUEST", "UNPROCESSABLE_REQUEST",
            "MESSAGE_CAMPAIGN_NOT_ALLOWED", "CAMPAIGN_NOT_FOUND", "CAMPAIGN_NAME_ALREADY_EXISTS",
            "CAMPAIGN_TEMPLATE_NOT_FOUND", "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", "CAMPAIGN_INVALID_FILTERS",
            "CAMPAIGN_NOT_DRAFT", "CAMPAIGN_ALREADY_PROCESSING", "CAMPAIGN_MISSING_COMMON_VARIABLES",
            "CAMPAIGN_SIZE_LIMIT_EXCEEDED", "MESSAGE_TEMPLATE_NOT_FOUND", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR")),  # L383-421
        "message": required("string"),  # L379
    },
}
