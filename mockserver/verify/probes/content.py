"""Probes of messages, entrypoints, forms and media, by the ids that the user gave."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from mockserver.verify import shape
from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit, succeeded

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


def unknown_ids(visit: Visit) -> None:
    tag = visit.settings.tag
    for operation, prefix, clause, code in (
        ("readEntrypoint", "entrypoint", "entrypoints.read", "ENTRYPOINT_NOT_FOUND"),
        ("listMessages", "chat", "messages.list", "CHAT_NOT_FOUND"),
        ("readFormPolicy", "form", "forms.policy", "FORM_NOT_FOUND"),
    ):
        visit.refused(clause, visit.call(operation, f"{prefix}_mockserver_verify_{tag}"), code)


def messages(visit: Visit) -> None:
    """The newest page of a chat: its order, its records, and its cursor where it is the only page."""
    exchange = visit.call("listMessages", visit.settings.chat)
    records = succeeded(exchange)["records"]
    _newest_first(visit, exchange, records)
    _end(visit, exchange)
    breaches = [each for each in shape.read("listMessages", exchange.json).breaches if each.startswith("/records")]
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


def _newest_first(visit: Visit, exchange: Exchange, records: list[dict[str, Any]]) -> None:
    instants = [datetime.fromisoformat(record["createdAt"]) for record in records]
    visit.judge("messages.list", instants == sorted(instants, reverse=True), exchange, "the newest message first")


def _end(visit: Visit, exchange: Exchange) -> None:
    """How the last page shows that nothing follows."""
    cursor = exchange.json.get("nextCursor", "absent")
    if not cursor or cursor == "absent":
        visit.observe("next-cursor-end", [{None: "null", "": "empty"}.get(cursor, "absent")], exchange)


def pages(visit: Visit) -> None:
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


def entrypoint(visit: Visit) -> None:
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


def form(visit: Visit) -> None:
    exchange = visit.call("readFormPolicy", visit.settings.form)
    origins = succeeded(exchange)["iframeEmbedAllowedOrigins"]
    fits = all(str(origin).startswith("https://") for origin in origins)
    visit.judge("forms.policy", fits, exchange, "https origins alone")


def refused_media(visit: Visit) -> None:
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
    visit.left += [f"media {each['id']}" for each in results if each.get("success") is True]
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


def _results(visit: Visit, exchange: Exchange, results: list[dict[str, Any]]) -> None:
    for each in results:
        shapes = {"absent": "id" not in each, "null": each.get("id", "") is None, "empty": each.get("id") == ""}
        visit.observe("media-failed-item-shape", (name for name, fits in shapes.items() if fits), exchange)
    orders = {_FILES: "request", _FILES[::-1]: "reversed"}
    names = tuple(str(each["name"]) for each in results)
    visit.judge("media.upload", sorted(names) == sorted(_FILES), exchange, "one element a file, by its name")
    visit.observe("media-result-order", [orders[names]] if names in orders else [], exchange)
