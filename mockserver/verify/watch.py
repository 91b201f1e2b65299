"""
What is judged of every exchange as it comes: the envelope of errors, statuses, and the shape of successes.

Each watcher is a row that names its clauses and choices, as a probe's does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mockserver.contract.endpoints import DOCUMENTED_STATUS, ENDPOINTS, SUCCESS_STATUS
from mockserver.contract.errors import ERRORS
from mockserver.contract.problems import ABSENT
from mockserver.contract.reading import http_date, whole_number
from mockserver.verify import shape
from mockserver.verify.records import Exchange
from mockserver.verify.visit import Visit

ERROR_KEYS: Final = ("statusCode", "code", "message")


class Watch(NamedTuple):
    """What looks at every exchange, with the clauses and choices that it may speak of."""

    run: Callable[[Visit, Exchange], None]
    clauses: tuple[str, ...]
    choices: tuple[str, ...] = ()


def error_body(visit: Visit, exchange: Exchange) -> None:
    """Every error has the three keys, and its statusCode is the HTTP status."""
    if exchange.status < 400:
        return
    body = exchange.json
    fits = (
        isinstance(body, dict)
        and all(key in body for key in ERROR_KEYS)
        and type(body["statusCode"]) is int
        and body["statusCode"] == exchange.status
        and isinstance(body["code"], str)
        and isinstance(body["message"], str)
    )
    wanted = f"{{statusCode: {exchange.status}, code, message}}"
    visit.judge("base.error-body", fits, exchange, wanted)
    if exchange.status >= 500:
        visit.judge("base.internal", fits and exchange.code == "INTERNAL_ERROR", exchange, "INTERNAL_ERROR as JSON")


def error_status(visit: Visit, exchange: Exchange) -> None:
    """A code has its catalogue's status, or the campaign guide's in the guide's own realm."""
    if exchange.status < 400 or exchange.code is None:
        return
    row = ERRORS.get(str(exchange.code))
    if row is None:
        visit.judge("base.error-catalog", False, exchange, "one of the 39 codes of the catalogue")
        return
    guided = row.guide_status != row.status and exchange.path.startswith("/v1/campaigns")
    statuses = {row.status, row.guide_status} if guided else {row.status}
    wanted = f"{row.code} as {' or '.join(map(str, sorted(statuses)))}"
    visit.judge("base.error-catalog", exchange.status in statuses, exchange, wanted)
    if guided:
        visit.judge("base.error-guide", exchange.status in statuses, exchange, wanted)
        by_option = {"catalog": row.status, "guide": row.guide_status}
        visit.observe("dual-status", (each for each in by_option if by_option[each] == exchange.status), exchange)


def lapsed(visit: Visit, exchange: Exchange) -> None:
    """A lapsed subscription refuses everything, or writes alone."""
    if exchange.code != "SUBSCRIPTION_INACTIVE" or exchange.operation is None:
        return
    visit.judge("auth.subscription", exchange.status == 403, exchange, "403")
    writes = ENDPOINTS[exchange.operation].writes
    if not writes or any(each.succeeded for each in visit.exchanges):
        visit.observe("subscription-scope", ["writes-only" if writes else "all"], exchange)


def too_often(visit: Visit, exchange: Exchange) -> None:
    """A 429 has its code, and tells the wait in one of the known ways."""
    if exchange.status == 429:
        visit.judge("base.rate-limit", exchange.code == "RATE_LIMIT_EXCEEDED", exchange, "RATE_LIMIT_EXCEEDED")
        visit.observe("rate-limit-headers", [_told(exchange.headers)], exchange)


def _told(headers: Mapping[str, str]) -> str:
    after = headers.get("retry-after")
    if after is None:
        return "draft-fields" if "ratelimit" in headers else "none"
    if whole_number(after) is not None:
        return "seconds"
    return "garbage" if http_date(after) is None else "http-date"


def success_status(visit: Visit, exchange: Exchange) -> None:
    """Two success statuses are documented; the others are open."""
    operation = exchange.operation
    if not exchange.succeeded or operation is None:
        return
    status = DOCUMENTED_STATUS.get(operation, exchange.status)
    visit.judge("base.success", exchange.status == status, exchange, str(status))
    if operation not in DOCUMENTED_STATUS and ENDPOINTS[operation].method == "POST":
        options = [option for option, row in SUCCESS_STATUS.items() if row[operation] == exchange.status]
        visit.observe("success-status", options, exchange)


def success_body(visit: Visit, exchange: Exchange) -> None:
    """A success is JSON of the documented shape; what the document leaves open is left to the surveys."""
    operation = exchange.operation
    if not exchange.succeeded or operation is None:
        return
    endpoint = ENDPOINTS[operation]
    if endpoint.response_schema is None:
        visit.judge("base.success", not exchange.body, exchange, "no content")
        return
    is_json = exchange.json is not ABSENT and "json" in exchange.headers.get("content-type", "")
    visit.judge("base.json", is_json, exchange, "a JSON body with a JSON Content-Type")
    breaches = shape.read(operation, exchange.json).breaches
    visit.judge(endpoint.clause, not breaches, exchange, breaches[0] if breaches else "the documented shape")


_SHOWN: Final = tuple(row.clause for row in ENDPOINTS.values() if row.response_schema is not None)
WATCHES: Final[tuple[Watch, ...]] = (
    Watch(error_body, ("base.error-body", "base.internal")),
    Watch(error_status, ("base.error-catalog", "base.error-guide"), ("dual-status",)),
    Watch(lapsed, ("auth.subscription",), ("subscription-scope",)),
    Watch(too_often, ("base.rate-limit",), ("rate-limit-headers",)),
    Watch(success_status, ("base.success",), ("success-status",)),
    Watch(success_body, ("base.json", "base.success", *_SHOWN)),
)
