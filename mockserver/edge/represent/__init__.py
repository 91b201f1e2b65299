"""
Representation: what an operation found, as the JSON that the document shows.

One function an operation, in the table `BODIES`; absent or null, and which of two documented shapes, are choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mockserver.edge.represent import campaigns, channels
from mockserver.edge.represent.view import View

__all__ = ["BODIES", "View", "campaigns", "channels"]


def _as_it_is(view: View, shown: Any) -> Any:
    return shown


BODIES: Mapping[str, Callable[[View, Any], Any]] = MappingProxyType(
    {
        "listTemplates": campaigns.template_list,
        "readTemplate": campaigns.template_detail,
        "readFilterSchema": _as_it_is,
        "previewAudience": campaigns.preview,
        "createCampaign": campaigns.created_campaign,
        "listCampaigns": campaigns.campaign_list,
        "readCampaign": campaigns.campaign_detail,
        "readExecution": campaigns.execution_progress,
        "startCampaign": campaigns.started,
        "createConnectionSession": channels.created_session,
        "readConnectionSession": channels.session_read,
        "readEntrypoint": channels.entrypoint_read,
        "uploadMedia": channels.uploaded,
        "listMessages": channels.message_page,
        "readFormPolicy": channels.form_policy,
    }
)
