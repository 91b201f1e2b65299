"""
Probes of messages, entrypoints, forms and media, by the ids that the user supplies, and of templates.

No valid file is uploaded, since no call deletes one.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from mockserver._json import JSON
from mockserver.probe.context import RunContext, require_success

# What the ids of records begin with, by the operation that reads one.
_PREFIXES: Final = {
    "readTemplate": "template",
    "readEntrypoint": "entrypoint",
    "listMessages": "chat",
    "readFormPolicy": "form",
    "readConnectionSession": "connection_session",
}
_PAGE_SIZE: Final = 4
_PAGES_MAX: Final = 16
_DETAILS_PER_KIND_MAX: Final = 3
_BOUNDARY: Final = "mockserver-probe-boundary"
_MULTIPART: Final = {"content-type": f"multipart/form-data; boundary={_BOUNDARY}"}
_PART: Final = (
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="mockserver-probe-{{}}.bin"\r\n'
    "Content-Type: application/x-mockserver-probe\r\n\r\nmockserver probe\r\n"
)
_UPLOAD: Final = (_PART.format(1) + _PART.format(2) + f"--{_BOUNDARY}--\r\n").encode()


def unknown_ids(context: RunContext) -> None:
    for operation, prefix in _PREFIXES.items():
        context.call(operation, context.unknown_id(prefix))


def messages(context: RunContext) -> None:
    """The newest page of a chat."""
    require_success(context.call("listMessages", context.settings.chat))


def pages(context: RunContext) -> None:
    """Small pages to the end, if the service accepts `limit` and `cursor`, which the document does not show."""
    query = f"?limit={_PAGE_SIZE}"
    for _ in range(_PAGES_MAX):
        exchange = context.call("listMessages", context.settings.chat, query=query)
        cursor = exchange.response_json.get("nextCursor") if exchange.succeeded else None
        if not cursor:
            break
        query = f"?limit={_PAGE_SIZE}&cursor={quote(str(cursor), safe='')}"


def entrypoint(context: RunContext) -> None:
    context.call("readEntrypoint", context.settings.entrypoint)


def form(context: RunContext) -> None:
    context.call("readFormPolicy", context.settings.form)


def refused_media(context: RunContext) -> None:
    """An upload without a file, and one with files of a type that no service accepts: neither stores a file."""
    context.call("uploadMedia", body=f"--{_BOUNDARY}--\r\n".encode(), headers=_MULTIPART)
    exchange = context.call("uploadMedia", body=_UPLOAD, headers=_MULTIPART)
    results = exchange.response_json if exchange.succeeded and isinstance(exchange.response_json, list) else []
    context.not_cleaned_up += [f"media {row['id']}" for row in results if row.get("success") is True]


def template_details(context: RunContext) -> None:
    """The details of some templates of each kind."""
    kinds: dict[tuple[Any, bool], list[JSON]] = {}
    for row in context.templates:
        kinds.setdefault((row.get("isOfficial"), bool(row.get("providerTemplateStatus"))), []).append(row)
    for rows in kinds.values():
        for row in rows[:_DETAILS_PER_KIND_MAX]:
            context.template_details[row["id"]] = require_success(context.call("readTemplate", row["id"]))
