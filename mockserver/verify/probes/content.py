"""
Probes of content: messages, entrypoints, forms, media and templates.

Probes of messages, entrypoints, forms and media, by the ids that the user gave.

Probes of templates: the list, its order, and the details with their variables.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from mockserver.verify import passive_checks
from mockserver.verify.context import Exchange, RunContext, succeeded

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


def unknown_ids(visit: RunContext) -> None:
    tag = visit.settings.tag
    for operation, prefix, clause, code in (
        ("readEntrypoint", "entrypoint", "entrypoints.read", "ENTRYPOINT_NOT_FOUND"),
        ("listMessages", "chat", "messages.list", "CHAT_NOT_FOUND"),
        ("readFormPolicy", "form", "forms.policy", "FORM_NOT_FOUND"),
    ):
        visit.refused(clause, visit.call(operation, f"{prefix}_mockserver_verify_{tag}"), code)


def messages(visit: RunContext) -> None:
    """The newest page of a chat: its order, its records, and its cursor where it is the only page."""
    exchange = visit.call("listMessages", visit.settings.chat)
    records = succeeded(exchange)["records"]
    _newest_first(visit, exchange, records)
    _end(visit, exchange)
    breaches = [
        each for each in passive_checks.read("listMessages", exchange.json).breaches if each.startswith("/records")
    ]
    wanted = breaches[0] if breaches else "records of the documented fields"
    visit.judge("messages.record", not breaches, exchange, wanted)
    for option, shown in (("null", _has_null), ("absent", _lacks)):
        if any(shown(record) for record in records):
            visit.observe("message-absent-vs-null", [option], exchange)
    texts = [record.get("text") for record in records]
    for option, found in (("minimal", None), ("text-always", "")):
        if found in texts:
            visit.observe("message-required-fields", [option], exchange)


def _has_null(record: dict[str, Any]) -> bool:
    return any(record.get(key, "") is None for key in OPTIONAL)


def _lacks(record: dict[str, Any]) -> bool:
    return any(key not in record for key in OPTIONAL)


def _newest_first(visit: RunContext, exchange: Exchange, records: list[dict[str, Any]]) -> None:
    instants = [datetime.fromisoformat(record["createdAt"]) for record in records]
    visit.judge("messages.list", instants == sorted(instants, reverse=True), exchange, "the newest message first")


def _end(visit: RunContext, exchange: Exchange) -> None:
    """How the last page shows that nothing follows."""
    cursor = exchange.json.get("nextCursor", "absent")
    if not cursor or cursor == "absent":
        visit.observe("next-cursor-end", [{None: "null", "": "empty"}.get(cursor, "absent")], exchange)


def pages(visit: RunContext) -> None:
    """Small pages to the end, where the service takes `limit` and `cursor`, which the document does not show."""
    records: list[dict[str, Any]] = []
    short, query, exchange = None, f"?limit={_PAGE_SIZE}", None
    for _ in range(_PAGES_MAX):
        exchange = visit.call("listMessages", visit.settings.chat, query=query)
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
            shown = exchange
        query = f"?limit={_PAGE_SIZE}&cursor={quote(str(cursor), safe='')}"
    else:
        return
    _newest_first(visit, exchange, records)
    _end(visit, exchange)
    if short is not None:
        visit.observe("short-pages", ["short" if short else "full"], shown)


def entrypoint(visit: RunContext) -> None:
    exchange = visit.call("readEntrypoint", visit.settings.entrypoint)
    read = succeeded(exchange)["entrypoint"]
    fits = read["id"] == visit.settings.entrypoint
    visit.judge("entrypoints.read", fits, exchange, f"the entrypoint {visit.settings.entrypoint}")
    visit.judge("base.ids", str(read["id"]).startswith("entrypoint_"), exchange, "an id that begins with entrypoint_")
    if any(key in read for key in _PHONE_FIELDS):
        visit.observe("entrypoint-two-shapes", ["union"], exchange)
    elif read["platform"] not in _PHONELESS:
        visit.observe("entrypoint-two-shapes", ["literal"], exchange)
    if read.get("funnelStepId") is None:
        visit.observe("funnel-null", ["null" if "funnelStepId" in read else "absent"], exchange)


def form(visit: RunContext) -> None:
    exchange = visit.call("readFormPolicy", visit.settings.form)
    origins = succeeded(exchange)["iframeEmbedAllowedOrigins"]
    fits = all(str(origin).startswith("https://") for origin in origins)
    visit.judge("forms.policy", fits, exchange, "https origins alone")


def refused_media(visit: RunContext) -> None:
    """
    An upload without a file, and one of files whose type no service takes: nothing should come of either.

    No good file is uploaded, since nothing deletes one.
    """
    empty = visit.call("uploadMedia", body=f"--{_BOUNDARY}--\r\n".encode(), headers=_MULTIPART)
    visit.refused("media.empty", empty, "MEDIA_UPLOAD_EMPTY")
    exchange = visit.call("uploadMedia", body=_upload(), headers=_MULTIPART)
    if exchange.code == "MEDIA_INVALID_FORMAT":
        visit.judge("media.format", True, exchange, "MEDIA_INVALID_FORMAT")
        visit.observe("media-partial-failure", ["all-or-nothing"], exchange)
        return
    results = exchange.json if exchange.succeeded and isinstance(exchange.json, list) else []
    visit.not_cleaned_up += [f"media {each['id']}" for each in results if each.get("success") is True]
    failed = bool(results) and all(each["success"] is False for each in results)
    visit.judge("media.format", failed, exchange, "MEDIA_INVALID_FORMAT, or a success of false for each file")
    visit.observe("media-partial-failure", ["per-file"] if failed else [], exchange)
    if failed:
        _results(visit, exchange, results)


def _upload() -> bytes:
    part = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{{}}"\r\n'
        "Content-Type: application/x-mockserver-verify\r\n\r\nmockserver verify\r\n"
    )
    return ("".join(part.format(name) for name in _FILES) + f"--{_BOUNDARY}--\r\n").encode()


def _results(visit: RunContext, exchange: Exchange, results: list[dict[str, Any]]) -> None:
    for each in results:
        shapes = {"absent": "id" not in each, "null": each.get("id", "") is None, "empty": each.get("id") == ""}
        visit.observe("media-failed-item-shape", (name for name, fits in shapes.items() if fits), exchange)
    orders = {_FILES: "request", _FILES[::-1]: "reversed"}
    names = tuple(str(each["name"]) for each in results)
    visit.judge("media.upload", sorted(names) == sorted(_FILES), exchange, "one element a file, by its name")
    visit.observe("media-result-order", [orders[names]] if names in orders else [], exchange)


_DETAILS_MAX: Final = 8
_ORDERED_FROM: Final = 4  # fewer rows can be in order by chance
_STATUSES: Final = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")


def listing(visit: RunContext) -> None:
    """Official means approved; an internal template has no status; the order is one of the three."""
    exchange = visit.call("listTemplates")
    rows = succeeded(exchange)["templates"]
    for row in rows:
        status = row.get("providerTemplateStatus")
        if not status and row["isOfficial"] is False:
            shown = "empty" if status == "" else "null" if "providerTemplateStatus" in row else "absent"
            visit.observe("provider-status-internal", [shown], exchange)
        if not status or status in _STATUSES:
            wanted = f"isOfficial exactly with APPROVED, in {row['id']}"
            visit.judge("templates.official", row["isOfficial"] is (status == "APPROVED"), exchange, wanted)
        kinds = status is None or isinstance(status, str)
        visit.judge("templates.status", kinds, exchange, "providerTemplateStatus as text, where there is one")
    _order(visit, exchange, [row["createdAt"] for row in rows])


def _order(visit: RunContext, exchange: Exchange, instants: list[str]) -> None:
    if len(set(instants)) < _ORDERED_FROM:
        return
    ascending = instants == sorted(instants)
    descending = instants == sorted(instants, reverse=True)
    option = "oldest-first" if ascending else "newest-first" if descending else "shuffled"
    visit.observe("list-order", [option], exchange)


def details(visit: RunContext) -> None:
    """Items in order from 0, null media ids for text, and manual variables that map to placeholders."""
    for row in _varied(visit.templates)[:_DETAILS_MAX]:
        exchange = visit.call("readTemplate", row["id"])
        detail = succeeded(exchange)
        visit.details[row["id"]] = detail
        same = all(detail[key] == row[key] for key in ("id", "name", "isOfficial"))
        visit.judge("templates.detail", same, exchange, "id, name and isOfficial as in the list")
        items = detail["items"]
        in_order = [item["order"] for item in items] == list(range(len(items)))
        plain = all(item["mediaId"] is None for item in items if item["type"] == "text")
        visit.judge("templates.items", in_order and plain, exchange, "order from 0, and mediaId null for text")
        _variables(visit, exchange, detail)


def _varied(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Official, internal and unapproved templates by turns, so that the first few show every kind."""
    kinds: dict[tuple[Any, bool], list[dict[str, Any]]] = {}
    for row in rows:
        kinds.setdefault((row.get("isOfficial"), bool(row.get("providerTemplateStatus"))), []).append(row)
    longest = max((len(kind) for kind in kinds.values()), default=0)
    return [kind[place] for place in range(longest) for kind in kinds.values() if place < len(kind)]


def _variables(visit: RunContext, exchange: Exchange, detail: dict[str, Any]) -> None:
    variables = detail["commonVariables"]
    texts = " ".join(str(item.get("text")) for item in detail["items"])
    if variables:
        distinct = len({each["key"] for each in variables}) == len(variables)
        visit.judge("templates.common-variables", distinct, exchange, "each variable once")
    for each in variables:
        number = re.sub(r"^var", "", each["key"])
        holds = each["key"].startswith("var") and f"{{{{{number}}}}}" in texts
        visit.judge("templates.varn", holds, exchange, f"the placeholder of {each['key']} in a text")


def unknown(visit: RunContext) -> None:
    exchange = visit.call("readTemplate", f"template_mockserver_verify_{visit.settings.tag}")
    visit.refused("templates.unknown", exchange, "MESSAGE_TEMPLATE_NOT_FOUND")
