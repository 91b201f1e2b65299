"""
Probes of messages, entrypoints, forms and media, by the ids that the user supplies, and of templates.

No valid file is uploaded, since no call deletes one.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from mockserver._json import JSON
from mockserver.probe.context import RunContext, require_success

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
    context.read_template(context.unknown_id("template"))
    context.read_entrypoint(context.unknown_id("entrypoint"))
    context.list_messages(context.unknown_id("chat"))
    context.read_form_policy(context.unknown_id("form"))
    context.read_connection_session(context.unknown_id("connection_session"))


def messages(context: RunContext) -> None:
    """The newest page of a chat."""
    require_success(context.list_messages(context.settings.chat))


def pages(context: RunContext) -> None:
    """Small pages to the end, if the service accepts `limit` and `cursor`, which the document does not show."""
    query = f"?limit={_PAGE_SIZE}"
    for _ in range(_PAGES_MAX):
        exchange = context.list_messages(context.settings.chat, query=query)
        cursor = exchange.response_json.get("nextCursor") if exchange.succeeded else None
        if not cursor:
            break
        query = f"?limit={_PAGE_SIZE}&cursor={quote(str(cursor), safe='')}"


def entrypoint(context: RunContext) -> None:
    context.read_entrypoint(context.settings.entrypoint)


def form(context: RunContext) -> None:
    context.read_form_policy(context.settings.form)


def refused_media(context: RunContext) -> None:
    """An upload without a file, and one with files of a type that no service accepts: neither stores a file."""
    context.upload_media(body=f"--{_BOUNDARY}--\r\n".encode(), headers=_MULTIPART)
    exchange = context.upload_media(body=_UPLOAD, headers=_MULTIPART)
    results = exchange.response_json if exchange.succeeded and isinstance(exchange.response_json, list) else []
    context.not_cleaned_up += [f"media {row['id']}" for row in results if row.get("success") is True]


def template_details(context: RunContext) -> None:
    """The details of some templates of each kind."""
    kinds: dict[tuple[Any, bool], list[JSON]] = {}
    for row in context.templates:
        kinds.setdefault((row.get("isOfficial"), bool(row.get("providerTemplateStatus"))), []).append(row)
    for rows in kinds.values():
        for row in rows[:_DETAILS_PER_KIND_MAX]:
            context.template_details[row["id"]] = require_success(context.read_template(row["id"]))
