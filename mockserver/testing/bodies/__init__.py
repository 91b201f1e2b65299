"""Bodies of requests and of successes as types, by operation; held equal to the schemas by a test."""

from __future__ import annotations

from mockserver.testing.bodies.campaigns import (
    CreateCampaignAnswer,
    CreateCampaignRequest,
    ListCampaignsAnswer,
    PreviewAudienceAnswer,
    PreviewAudienceRequest,
    ReadCampaignAnswer,
    ReadExecutionAnswer,
    ReadFilterSchemaAnswer,
    StartCampaignAnswer,
    StartCampaignRequest,
)
from mockserver.testing.bodies.channels import (
    CreateConnectionSessionAnswer,
    CreateConnectionSessionRequest,
    ReadConnectionSessionAnswer,
    ReadEntrypointAnswer,
)
from mockserver.testing.bodies.content import (
    ListMessagesAnswer,
    ListTemplatesAnswer,
    ReadFormPolicyAnswer,
    ReadTemplateAnswer,
    UploadMediaAnswer,
)

__all__ = [
    "CreateCampaignAnswer",
    "CreateCampaignRequest",
    "CreateConnectionSessionAnswer",
    "CreateConnectionSessionRequest",
    "ListCampaignsAnswer",
    "ListMessagesAnswer",
    "ListTemplatesAnswer",
    "PreviewAudienceAnswer",
    "PreviewAudienceRequest",
    "ReadCampaignAnswer",
    "ReadConnectionSessionAnswer",
    "ReadEntrypointAnswer",
    "ReadExecutionAnswer",
    "ReadFilterSchemaAnswer",
    "ReadFormPolicyAnswer",
    "ReadTemplateAnswer",
    "StartCampaignAnswer",
    "StartCampaignRequest",
    "UploadMediaAnswer",
]
