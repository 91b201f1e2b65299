"""
Probes of messages, entrypoints, forms and media, by the ids that the user supplies, and of templates.

No valid file is uploaded, since no call deletes one.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from mockserver._json import JSON
from mockserver.verify import passive_checks
from mockserver.verify.context import Exchange, RunContext, require_success

OPTIONAL: Final = (
    "text", "transcription", "forward", "replyToId", "photoapp", "media", "location", "templateComponents", "ad",
)  # fmt: skip
_PHONE_FIELDS: Final = ("displayPhone", "phoneNumberId", "businessAccountId", "funnelId")
_PHONELESS: Final = ("photoapp", "botapp")
_PAGE_SIZE: Final = 4
_PAGES_MAX: Final = 16
_BOUNDARY: Final = "mockserver-verify-boundary"
_MULTIPART: Final = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
_FILES: Final = ("mockserver-verify-1.bin", "mockserver-verify-2.bin")


def unknown_ids(context: RunContext) -> None:
    tag = context.settings.tag
    for operation, prefix, clause, code in (
        ("readEntrypoint", "entrypoint", "entrypoints.read", "ENTRYPOINT_NOT_FOUND"),
        ("listMessages", "chat", "messages.list", "CHAT_NOT_FOUND"),
        ("readFormPolicy", "form", "forms.policy", "FORM_NOT_FOUND"),
    ):
        context.judge_refusal(clause, context.call(operation, f"{prefix}_mockserver_verify_{tag}"), code)


def messages(context: RunContext) -> None:
    """The newest page of a chat: its order, its records, and its cursor if it is the only page."""
    exchange = context.call("listMessages", context.settings.chat)
    records = require_success(exchange)["records"]
    _judge_order(context, exchange, records)
    _observe_end(context, exchange)
    violations = [
        each for each in passive_checks.compare("listMessages", exchange.json).violations if each.startswith("/records")
    ]
    expected = violations[0] if violations else "records of the documented fields"
    context.judge("messages.record", not violations, exchange, expected)
    if any(record.get(key, "") is None for record in records for key in OPTIONAL):
        context.observe("message-absent-vs-null", ["null"], exchange)
    if any(key not in record for record in records for key in OPTIONAL):
        context.observe("message-absent-vs-null", ["absent"], exchange)
    texts = [record.get("text") for record in records]
    for option, text in (("minimal", None), ("text-always", "")):
        if text in texts:
            context.observe("message-required-fields", [option], exchange)


def _judge_order(context: RunContext, exchange: Exchange, records: list[JSON]) -> None:
    instants = [datetime.fromisoformat(record["createdAt"]) for record in records]
    context.judge("messages.list", instants == sorted(instants, reverse=True), exchange, "the newest message first")


def _observe_end(context: RunContext, exchange: Exchange) -> None:
    """Observe how the last page shows that no page follows."""
    cursor = exchange.json.get("nextCursor", "absent")
    if not cursor or cursor == "absent":
        context.observe("next-cursor-end", [{None: "null", "": "empty"}.get(cursor, "absent")], exchange)


def pages(context: RunContext) -> None:
    """Small pages to the end, if the service accepts `limit` and `cursor`, which the document does not show."""
    records: list[JSON] = []
    short, query, exchange = None, f"?limit={_PAGE_SIZE}", None
    for _ in range(_PAGES_MAX):
        exchange = context.call("listMessages", context.settings.chat, query=query)
        if not exchange.succeeded or len(exchange.json["records"]) > _PAGE_SIZE:
            return
        page, cursor = exchange.json["records"], exchange.json.get("nextCursor")
        if records and page and page[0]["id"] in {record["id"] for record in records}:
            return
        records += page
        if not cursor:
            break
        if short is None or len(page) < _PAGE_SIZE:
            short = len(page) < _PAGE_SIZE or bool(short)
            judged = exchange
        query = f"?limit={_PAGE_SIZE}&cursor={quote(str(cursor), safe='')}"
    else:
        return
    _judge_order(context, exchange, records)
    _observe_end(context, exchange)
    if short is not None:
        context.observe("short-pages", ["short" if short else "full"], judged)


def entrypoint(context: RunContext) -> None:
    exchange = context.call("readEntrypoint", context.settings.entrypoint)
    entrypoint = require_success(exchange)["entrypoint"]
    fits = entrypoint["id"] == context.settings.entrypoint
    context.judge("entrypoints.read", fits, exchange, f"the entrypoint {context.settings.entrypoint}")
    context.judge(
        "base.ids", str(entrypoint["id"]).startswith("entrypoint_"), exchange, "an id that begins with entrypoint_"
    )
    if any(key in entrypoint for key in _PHONE_FIELDS):
        context.observe("entrypoint-two-shapes", ["union"], exchange)
    elif entrypoint["platform"] not in _PHONELESS:
        context.observe("entrypoint-two-shapes", ["literal"], exchange)
    if entrypoint.get("funnelStepId") is None:
        context.observe("funnel-null", ["null" if "funnelStepId" in entrypoint else "absent"], exchange)


def form(context: RunContext) -> None:
    exchange = context.call("readFormPolicy", context.settings.form)
    origins = require_success(exchange)["iframeEmbedAllowedOrigins"]
    fits = all(str(origin).startswith("https://") for origin in origins)
    context.judge("forms.policy", fits, exchange, "https origins alone")


def refused_media(context: RunContext) -> None:
    """An upload without a file, and one with files of a type that no service accepts: neither stores a file."""
    empty = context.call("uploadMedia", body=f"--{_BOUNDARY}--\r\n".encode(), headers=_MULTIPART)
    context.judge_refusal("media.empty", empty, "MEDIA_UPLOAD_EMPTY")
    exchange = context.call("uploadMedia", body=_UPLOAD, headers=_MULTIPART)
    if exchange.code == "MEDIA_INVALID_FORMAT":
        context.judge("media.format", True, exchange, "MEDIA_INVALID_FORMAT")
        context.observe("media-partial-failure", ["all-or-nothing"], exchange)
        return
    results = exchange.json if exchange.succeeded and isinstance(exchange.json, list) else []
    context.not_cleaned_up += [f"media {each['id']}" for each in results if each.get("success") is True]
    failed = bool(results) and all(each["success"] is False for each in results)
    context.judge("media.format", failed, exchange, "MEDIA_INVALID_FORMAT, or a success of false for each file")
    context.observe("media-partial-failure", ["per-file"] if failed else [], exchange)
    if failed:
        _judge_results(context, exchange, results)


_PART: Final = (
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{{}}"\r\n'
    "Content-Type: application/x-mockserver-verify\r\n\r\nmockserver verify\r\n"
)
_UPLOAD: Final = ("".join(map(_PART.format, _FILES)) + f"--{_BOUNDARY}--\r\n").encode()


def _judge_results(context: RunContext, exchange: Exchange, results: list[JSON]) -> None:
    for result in results:
        shapes = {"absent": "id" not in result, "null": result.get("id", "") is None, "empty": result.get("id") == ""}
        context.observe("media-failed-item-shape", (name for name, fits in shapes.items() if fits), exchange)
    orders = {_FILES: "request", _FILES[::-1]: "reversed"}
    names = tuple(str(each["name"]) for each in results)
    context.judge("media.upload", sorted(names) == sorted(_FILES), exchange, "one element per file, by its name")
    context.observe("media-result-order", [orders[names]] if names in orders else [], exchange)


_DETAILS_MAX: Final = 8
_ORDERED_FROM: Final = 4  # fewer rows can be in order by chance
_STATUSES: Final = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")


def template_list(context: RunContext) -> None:
    """Official means approved; an internal template has no status; the order is one of the three."""
    exchange = context.call("listTemplates")
    rows = require_success(exchange)["templates"]
    for row in rows:
        status = row.get("providerTemplateStatus")
        if not status and row["isOfficial"] is False:
            option = "empty" if status == "" else "null" if "providerTemplateStatus" in row else "absent"
            context.observe("provider-status-internal", [option], exchange)
        if not status or status in _STATUSES:
            expected = f"isOfficial exactly with APPROVED, in {row['id']}"
            context.judge("templates.official", row["isOfficial"] is (status == "APPROVED"), exchange, expected)
        is_text = status is None or isinstance(status, str)
        context.judge("templates.status", is_text, exchange, "providerTemplateStatus as text, or none")
    _observe_order(context, exchange, [row["createdAt"] for row in rows])


def _observe_order(context: RunContext, exchange: Exchange, instants: list[str]) -> None:
    if len(set(instants)) < _ORDERED_FROM:
        return
    ascending = instants == sorted(instants)
    descending = instants == sorted(instants, reverse=True)
    option = "oldest-first" if ascending else "newest-first" if descending else "shuffled"
    context.observe("list-order", [option], exchange)


def template_details(context: RunContext) -> None:
    """The order of the items from 0, null media ids of texts, and the placeholders of manual variables."""
    for row in _alternate_kinds(context.templates)[:_DETAILS_MAX]:
        exchange = context.call("readTemplate", row["id"])
        detail = require_success(exchange)
        context.template_details[row["id"]] = detail
        same = all(detail[key] == row[key] for key in ("id", "name", "isOfficial"))
        context.judge("templates.detail", same, exchange, "id, name and isOfficial as in the list")
        items = detail["items"]
        in_order = [item["order"] for item in items] == list(range(len(items)))
        plain = all(item["mediaId"] is None for item in items if item["type"] == "text")
        context.judge("templates.items", in_order and plain, exchange, "order from 0, and mediaId null for text")
        _judge_variables(context, exchange, detail)


def _alternate_kinds(rows: list[JSON]) -> list[JSON]:
    """Return official, internal and unapproved templates in turn, so that the first few show every kind."""
    kinds: dict[tuple[Any, bool], list[JSON]] = {}
    for row in rows:
        kinds.setdefault((row.get("isOfficial"), bool(row.get("providerTemplateStatus"))), []).append(row)
    longest = max((len(kind) for kind in kinds.values()), default=0)
    return [kind[place] for place in range(longest) for kind in kinds.values() if place < len(kind)]


def _judge_variables(context: RunContext, exchange: Exchange, detail: JSON) -> None:
    variables = detail["commonVariables"]
    texts = " ".join(str(item.get("text")) for item in detail["items"])
    if variables:
        distinct = len({each["key"] for each in variables}) == len(variables)
        context.judge("templates.common-variables", distinct, exchange, "each variable once")
    for variable in variables:
        number = re.sub(r"^var", "", variable["key"])
        holds = variable["key"].startswith("var") and f"{{{{{number}}}}}" in texts
        context.judge("templates.varn", holds, exchange, f"the placeholder of {variable['key']} in a text")


def unknown_template(context: RunContext) -> None:
    exchange = context.call("readTemplate", f"template_mockserver_verify_{context.settings.tag}")
    context.judge_refusal("templates.unknown", exchange, "MESSAGE_TEMPLATE_NOT_FOUND")
