"""Probes of templates: the list, its order, and the details with their variables."""

from __future__ import annotations

import re
from typing import Any, Final

from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit, succeeded

_DETAILS_MAX: Final = 8
_ORDERED_FROM: Final = 4  # fewer rows can be in order by chance
_STATUSES: Final = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")


def listing(visit: Visit) -> None:
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


def _order(visit: Visit, exchange: Exchange, instants: list[str]) -> None:
    if len(set(instants)) < _ORDERED_FROM:
        return
    ascending = instants == sorted(instants)
    descending = instants == sorted(instants, reverse=True)
    option = "oldest-first" if ascending else "newest-first" if descending else "shuffled"
    visit.observe("list-order", [option], exchange)


def details(visit: Visit) -> None:
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


def _variables(visit: Visit, exchange: Exchange, detail: dict[str, Any]) -> None:
    variables = detail["commonVariables"]
    texts = " ".join(str(item.get("text")) for item in detail["items"])
    if variables:
        distinct = len({each["key"] for each in variables}) == len(variables)
        visit.judge("templates.common-variables", distinct, exchange, "each variable once")
    for each in variables:
        number = re.sub(r"^var", "", each["key"])
        holds = each["key"].startswith("var") and f"{{{{{number}}}}}" in texts
        visit.judge("templates.varn", holds, exchange, f"the placeholder of {each['key']} in a text")


def unknown(visit: Visit) -> None:
    exchange = visit.call("readTemplate", f"template_mockserver_verify_{visit.settings.tag}")
    visit.refused("templates.unknown", exchange, "MESSAGE_TEMPLATE_NOT_FOUND")
