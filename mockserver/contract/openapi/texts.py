"""Texts of the public API's document: tags, summaries, descriptions of parameters; and its links."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mockserver.contract.endpoints import Operation


class OperationText(NamedTuple):
    """The tag of an operation, its summary and its description."""

    tag: str
    summary: str
    description: str


TAGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Templates": "Message templates, which are written outside of the API.",
        "Audiences": "Filters of chats, and the size of the audience that they select.",
        "Campaigns": "Mass messages: a template, an audience and a rate.",
        "Connection sessions": "Hosted sessions through which an end user connects an official number.",
        "Entrypoints": "Connected channels.",
        "Messaging": "Media and the messages of a chat.",
        "Forms": "The embed policy of forms.",
    }
)

# fmt: off
OPERATION_TEXTS: Final[Mapping[Operation, OperationText]] = MappingProxyType({
    "listTemplates":           OperationText("Templates", "List templates", "The message templates of the tenant. Sends nothing."),
    "readTemplate":            OperationText("Templates", "Read a template", "A template with its items and the variables that a start must supply."),
    "readFilterSchema":        OperationText("Audiences", "Read the catalog of filters", "The filter fields, their operators and the format of their values."),
    "previewAudience":         OperationText("Audiences", "Estimate an audience", "The number of chats that the filters select; without filters, of all chats. Creates and sends nothing."),
    "createCampaign":          OperationText("Campaigns", "Create a campaign", "Saves a draft. Nothing is sent before its start."),
    "listCampaigns":           OperationText("Campaigns", "List campaigns", "The campaigns of the organisation."),
    "readCampaign":            OperationText("Campaigns", "Read a campaign", "A campaign with the history of its executions. Read it after a timeout of a start, before the start is repeated."),
    "readExecution":           OperationText("Campaigns", "Read an execution", "The progress of an execution. Poll it every 10 to 30 seconds until its status is final."),
    "startCampaign":           OperationText("Campaigns", "Start a campaign", "Fixes the audience and begins to send. The body is optional if the template has no manual variables."),
    "cancelCampaign":          OperationText("Campaigns", "Cancel a campaign", "Interrupts the running execution; sends that are queued may still be processed."),
    "createConnectionSession": OperationText("Connection sessions", "Create a connection session", "Returns a link for the end user, who opens it at the top level of a window within 20 minutes."),
    "readConnectionSession":   OperationText("Connection sessions", "Read a connection session", "The result of a session, as a fallback for its event. Poll it every 2 to 5 seconds while it is pending."),
    "readEntrypoint":          OperationText("Entrypoints", "Read an entrypoint", "One connected channel of the tenant."),
    "uploadMedia":             OperationText("Messaging", "Upload media", "One or more files in the field `files`; their ids are used when messages are sent."),
    "listMessages":            OperationText("Messaging", "List the messages of a chat", "The newest first, in pages."),
    "readFormPolicy":          OperationText("Forms", "Read the embed policy of a form", "The origins that may embed the form; the form need not be active."),
})
# fmt: on

PARAMETERS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("Templates", "id"): "Id of a template.",
        ("Campaigns", "id"): "Id of a campaign.",
        ("Campaigns", "executionId"): "Id of an execution of this campaign.",
        ("Connection sessions", "sessionId"): "Id of a session, as its creation returned it.",
        ("Entrypoints", "id"): "Id of an entrypoint.",
        ("Messaging", "chatId"): "Id of a chat.",
        ("Messaging", "cursor"): "The `nextCursor` of the page before.",
        ("Messaging", "limit"): "The number of messages of a page.",
        ("Forms", "id"): "Public id of a form.",
    }
)

# By operation: the operations that a client calls next, with the parameters that its answer gives.
_CAMPAIGN = {"id": "$response.body#/campaignId"}
_FIRST_CAMPAIGN = {"id": "$response.body#/campaigns/0/id"}
LINKS: Final[Mapping[Operation, Mapping[Operation, Mapping[str, str]]]] = MappingProxyType(
    {
        "listTemplates": {"readTemplate": {"id": "$response.body#/templates/0/id"}},
        "createCampaign": {"readCampaign": _CAMPAIGN, "startCampaign": _CAMPAIGN, "cancelCampaign": _CAMPAIGN},
        "listCampaigns": {"readCampaign": _FIRST_CAMPAIGN},
        "startCampaign": {
            "readExecution": {"id": "$request.path.id", "executionId": "$response.body#/executionId"},
            "readCampaign": {"id": "$request.path.id"},
            "cancelCampaign": {"id": "$request.path.id"},
        },
        "createConnectionSession": {"readConnectionSession": {"sessionId": "$response.body#/sessionId"}},
    }
)

INTERFACE_VERSION: Final = "1.0"  # of the interface description, by the API document

INTRODUCTION: Final = """\
The public API of a CRM gateway: mass-message campaigns, templates, audience filters, media, messages, entrypoints, forms and hosted connection sessions.

Every call is scoped to the tenant of its key. Every error has `statusCode`, `code` and `message`; clients act on `code`.

`x-clause` names the sentence of the API document that an operation follows. `x-choices` are the open points of that document that show in an operation, with the option that this document describes.
"""
