"""
Options that the form of one answer or event shows, with what else the recording shows of its record.

A row returns the options of one choice that lead to this answer: all that remain possible, none if no option does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

from mockserver._json import JSON, changed
from mockserver.contract.choices import CHOICES
from mockserver.contract.filters import FIELDS, PART_OPERATORS
from mockserver.contract.limits import PAGE_LIMIT_DEFAULT
from mockserver.contract.text import http_date, whole_number
from mockserver.core.instants import MILLISECOND, MINUTE, SECOND, Instant, parse
from mockserver.core.operations.sending import Counts
from mockserver.judge.choices.facts import Alternative, Facts, rows_of
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.order import precedes
from mockserver.trace.trace import Trace
from mockserver.wire.formats import BODY_FORMATS
from mockserver.wire.serializers import progress

_ENDED = ("completed", "failed", "canceled")
_LAG = 5 * SECOND  # of `campaign-first`
_OF_PROGRESS = ("progress-rounding", "progress-zero-target", "progress-after-cancel")
_COMPARED_MAX = 40  # rows of a list, each with each
_SURELY_SORTED = 10  # rows: by chance once in 3,628,800 lists


class Shown(NamedTuple):
    """Combinations of options that fit an answer, and the answer's index `n`; of an event its index among the deliveries."""

    alternatives: tuple[Alternative, ...]
    n: int
    is_delivery: bool = False


def _one(choice: str, options: Iterable[str], n: int, *, is_delivery: bool = False) -> Shown:
    return Shown(({choice: frozenset(options)},), n, is_delivery)


Options = Iterator[tuple[str, Iterable[str]]]
# How a field without a value may be shown.
_EMPTY: Final = ((None, "null"), ("", "empty"))


def _emptiness(row: Mapping[str, Any], key: str) -> list[str]:
    """Return how a field without a value is shown: absent, null or empty; none for one with a value."""
    if key not in row:
        return ["absent"]
    return [option for value, option in _EMPTY if row[key] == value]


def _both_or_neither(row: Mapping[str, Any], keys: Sequence[str], both: str, neither: str) -> list[str]:
    count = sum(key in row for key in keys)
    options = {len(keys): [both], 0: [neither]}
    return options.get(count, [])


def _templates(exchange: Exchange, answer: Any, _facts: Facts) -> Options:
    rows = rows_of(answer, "templates")
    for row in rows:
        if row.get("isOfficial") is False and not row.get("providerTemplateStatus"):
            yield "provider-status-internal", _emptiness(row, "providerTemplateStatus")
    yield "list-order", _orders([_instant(row.get("createdAt")) for row in rows])


def _orders(instants: Sequence[Instant | None]) -> list[str]:
    """Return the orders that a list may have by the instants of creation, as far as these are shown."""
    known = [instant for instant in instants if instant is not None]
    newest = all(first >= second for first, second in pairwise(known))
    oldest = all(first <= second for first, second in pairwise(known))
    return _order(newest, oldest, len(set(known)))


def _order(is_newest: bool, is_oldest: bool, count: int) -> list[str]:
    """Return the orders of a list; a shuffled one of `count` rows is sorted by chance once in `count` factorial cases."""
    sorted_by = [*(["newest-first"] if is_newest else []), *(["oldest-first"] if is_oldest else [])]
    return sorted_by if sorted_by and count >= _SURELY_SORTED else [*sorted_by, "shuffled"]


def _campaigns(exchange: Exchange, answer: Any, facts: Facts) -> Options:
    """Compare the order of a list with what is known of the order in which the campaigns were created."""
    ids = [str(row.get("id")) for row in rows_of(answer, "campaigns")][:_COMPARED_MAX]
    pairs = list(combinations(ids, 2))
    is_newest = not any(facts.is_older(first, second) for first, second in pairs)
    is_oldest = not any(facts.is_older(second, first) for first, second in pairs)
    if is_newest and is_oldest:
        return
    yield "list-order", _order(is_newest, is_oldest, sum(map(facts.is_created, ids)))


def _campaign(exchange: Exchange, answer: Any, facts: Facts) -> Options:
    if not isinstance(answer, dict):
        return
    yield "detail-fields", _both_or_neither(answer, ("description", "filters"), "full", "literal")
    rows = rows_of(answer, "executions")
    for row in rows:
        status, counts = row.get("status"), _counts_of(row)
        if status in ("canceled", "failed") and "completedAt" in row:
            yield "completedAt-on-cancel-fail", ["null" if row["completedAt"] is None else "set"]
        if counts is not None and row.get("id") in facts.started:
            yield from _end(str(status), counts)
    if rows and rows[0].get("id") in facts.started:
        yield "execution-status-lag", _lags(answer, rows[0])


def _lags(campaign: Mapping[str, Any], execution: Mapping[str, Any]) -> list[str]:
    """
    Return the options of execution-status-lag that fit a campaign and its execution.

    The last send of n is at least (n - 1) / cadence minutes after the start, by the service's own instants, which may be cut
    to seconds. An execution that completed less than five seconds after that did not lag.
    """
    if campaign.get("status") in _ENDED and execution.get("status") == "processing":
        return ["campaign-first"]
    counts, cadence = _counts_of(execution), campaign.get("cadence")
    started, ended = _instant(execution.get("startedAt")), _instant(execution.get("completedAt"))
    if execution.get("status") != "completed" or not counts or started is None or ended is None:
        return ["none", "campaign-first"]
    shortest = max(0, counts.target - 1) * MINUTE // cadence if isinstance(cadence, int) and cadence > 0 else 0
    return ["none"] if ended - started + SECOND < shortest + _LAG else ["none", "campaign-first"]


def _execution(exchange: Exchange, answer: Any, facts: Facts) -> Options:
    counts = _counts_of(answer) if isinstance(answer, dict) else None
    if counts is None:
        return
    status = str(answer.get("status"))
    if answer.get("id") in facts.started:
        yield from _end(status, counts)
    if counts.sent and answer.get("id") in facts.with_extra_values:
        yield "common-vars-extra-keys", ["ignore"]


def _progress(exchange: Exchange) -> tuple[Alternative, ...]:
    """Return the combinations of options that lead to the progress of an execution; of none that leads to it no option."""
    answer = exchange.response_json
    counts = _counts_of(answer) if isinstance(answer, dict) else None
    if counts is None:
        return ()
    fitting: list[Alternative] = []
    for options in product(*(CHOICES[choice].options for choice in _OF_PROGRESS)):
        chosen = dict(zip(_OF_PROGRESS, options, strict=True))
        if progress(chosen, str(answer.get("status")), counts) == answer.get("progress"):
            fitting.append({choice: frozenset({option}) for choice, option in chosen.items()})
    return tuple(fitting) or ({"progress-rounding": frozenset()},)


def _end(status: str, counts: Counts) -> Options:
    """Yield what the end of an execution shows that had no targets, or whose every send failed, if the recording has its start."""
    ended = {"completed": 0, "failed": 1}.get(status)
    if ended is None:
        return
    if counts.target == 0:
        yield "start-empty-audience", [("complete", "failed")[ended]]
    elif counts.failed == counts.target:
        yield "all-sends-failed", [("completed", "failed")[ended]]


def _session(exchange: Exchange, answer: Any, _facts: Facts) -> Options:
    if not isinstance(answer, dict):
        return
    status, entrypoint = answer.get("status"), answer.get("entrypoint")
    yield "session-read-fields", _both_or_neither(answer, ("url", "expiresAt"), "all", "literal")
    if status in ("pending", "completed") and not answer.get("reason"):
        yield "reason-when-none", _emptiness(answer, "reason")
    if status in ("failed", "expired"):
        yield "entrypoint-when-failed", _emptiness(answer, "entrypoint")
    if isinstance(entrypoint, dict):
        yield from _connected(entrypoint)


def _connected(entrypoint: Mapping[str, Any]) -> Options:
    yield "entrypoint-two-shapes", _both_or_neither(entrypoint, ("platform", "displayName"), "union", "literal")
    for key in ("funnelId", "funnelStepId"):
        if not entrypoint.get(key):
            yield "funnel-null", _emptiness(entrypoint, key)


def _entrypoint(exchange: Exchange, answer: Any, facts: Facts) -> Options:
    entrypoint = answer.get("entrypoint") if isinstance(answer, dict) else None
    if not isinstance(entrypoint, dict):
        return
    if "displayPhone" in entrypoint:
        yield "entrypoint-two-shapes", ["union"]
    elif str(entrypoint.get("id")) in facts.phones:
        yield "entrypoint-two-shapes", ["literal"]
    if not entrypoint.get("funnelStepId"):
        yield "funnel-null", _emptiness(entrypoint, "funnelStepId")


# Fields of a message that any message may lack; a null in one of them is an option, a missing one another.
_OPTIONAL: Final = ("isOfficialTemplate", "templateCharged", "transcription", "forward", "replyToId", "photoapp", "location", "ad")  # fmt: skip


def _messages(exchange: Exchange, answer: Any, _facts: Facts) -> Options:
    rows = rows_of(answer, "records")
    for row in rows:
        if any(key not in row for key in _OPTIONAL):
            yield "message-absent-vs-null", ["absent"] if None not in row.values() else []
        elif any(row[key] is None for key in _OPTIONAL):
            yield "message-absent-vs-null", ["null"]
        if row.get("text") is None:
            yield "message-required-fields", ["minimal"]
    cursor = answer.get("nextCursor") if isinstance(answer, dict) else None
    if not cursor and isinstance(answer, dict):
        yield "next-cursor-end", _emptiness(answer, "nextCursor")
        return
    written = parse_qs(exchange.path.partition("?")[2]).get("limit", [str(PAGE_LIMIT_DEFAULT)])[-1]
    limit = whole_number(written)
    if limit is not None and len(rows) < limit:
        yield "short-pages", ["short"]
    elif limit is not None and len(rows) == limit > 1:  # half of a limit of 1 is 1
        yield "short-pages", ["full"]


def _previews(exchange: Exchange, answer: Any, _facts: Facts) -> Options:
    """Whatever else is open, a part of a platform's name selects chats under one option alone."""
    body = exchange.request_json if isinstance(exchange.request_json, dict) else {}
    groups, platform = rows_of(body, "filters"), FIELDS["chat.platform"]
    if len(groups) != 1 or groups[0].get("combinator") != "and" or not isinstance(answer, dict):
        return
    if not answer.get("estimatedCount"):
        return
    for statement in rows_of(groups[0], "statements"):
        is_part = statement.get("operator") in _PARTS and statement.get("value") not in (platform.allowed or ())
        if statement.get("field") == "chat.platform" and is_part:
            yield "platform-text-operators", ["text"]


_PARTS: Final = frozenset(operator for operator in PART_OPERATORS if not operator.startswith("not-"))


def _uploads(exchange: Exchange, answer: Any, _facts: Facts) -> Options:
    for row in answer if isinstance(answer, list) else []:
        if isinstance(row, dict) and row.get("success") is False:
            shapes = {*_emptiness(row, "id")} & {*_emptiness(row, "url")}
            yield "media-failed-item-shape", shapes


_FORMS: Final[Mapping[str, Callable[[Exchange, Any, Facts], Options]]] = {
    "listTemplates": _templates,
    "previewAudience": _previews,
    "listCampaigns": _campaigns,
    "readCampaign": _campaign,
    "readExecution": _execution,
    "readConnectionSession": _session,
    "readEntrypoint": _entrypoint,
    "listMessages": _messages,
    "uploadMedia": _uploads,
}


def of_answer(exchange: Exchange, facts: Facts) -> Iterator[Shown]:
    """Yield what the form of an answer shows."""
    read = _FORMS.get(exchange.operation or "")
    if read is not None and exchange.succeeded and exchange.response_body:
        for choice, options in read(exchange, exchange.response_json, facts):
            yield _one(choice, options, exchange.number)
        if exchange.operation == "readExecution" and (alternatives := _progress(exchange)):
            yield Shown(alternatives, exchange.number)
    if exchange.code == "SUBSCRIPTION_INACTIVE" and exchange.method == "GET":
        yield _one("subscription-scope", ["all"], exchange.number)
    if exchange.status == 429 and exchange.code and exchange.response_headers:
        yield _one("rate-limit-headers", [_wait_format(exchange.response_headers)], exchange.number)
    if exchange.code == "VALIDATION_ERROR" and exchange.status in (414, 431):
        yield _one("head-bounds", ["http-status"], exchange.number)


def _wait_format(headers: Mapping[str, str]) -> str:
    after = headers.get("retry-after")
    if after is None:
        return "draft-fields" if "ratelimit" in headers else "none"
    if whole_number(after.strip()) is not None:
        return "seconds"
    return "garbage" if http_date(after) is None else "http-date"


def of_several(recording: Trace) -> Iterator[Shown]:
    """Yield what several answers show together: counts after a cancel, and messages that are on two pages."""
    counts: dict[str, list[tuple[Exchange, int]]] = defaultdict(list)
    pages: dict[tuple[str, str], Exchange] = {}
    for exchange in recording.exchanges:
        answer = exchange.response_json if exchange.succeeded else None
        if exchange.operation in ("readExecution", "readCampaign") and isinstance(answer, dict):
            for row in [answer] if exchange.operation == "readExecution" else rows_of(answer, "executions"):
                shown = _counts_of(row) if row.get("status") == "canceled" else None
                if shown is not None:
                    counts[str(row.get("id"))].append((exchange, shown.processed))
        if exchange.operation == "listMessages" and isinstance(answer, dict):
            yield from _repeated(exchange, answer, pages)
    for reads in counts.values():
        first, last = min(reads, key=lambda read: read[1]), max(reads, key=lambda read: read[1])
        if first[1] < last[1] and precedes(first[0], last[0]):
            yield _one("late-sends-after-cancel", ["five-seconds", "current-minute"], last[0].number)


def _repeated(exchange: Exchange, answer: Mapping[str, Any], pages: dict[tuple[str, str], Exchange]) -> Iterator[Shown]:
    """Yield the option `offset` for a page with messages of the page before it; note the page by its cursor."""
    chat = exchange.params.get("chatId", "")
    cursor = parse_qs(exchange.path.partition("?")[2]).get("cursor", [""])[-1]
    before = pages.get((chat, cursor))
    ids = {row.get("id") for row in rows_of(answer, "records")}
    if before is not None and not ids.isdisjoint(row.get("id") for row in rows_of(before.response_json, "records")):
        yield _one("page-stability", ["offset"], exchange.number)
    if answer.get("nextCursor"):
        pages[chat, str(answer["nextCursor"])] = exchange


# The scheme of a signature, by its header.
_SCHEMES: Final[Mapping[str, str]] = {
    "webhook-signature": "standard-webhooks",
    "svix-signature": "svix",
    "stripe-signature": "stripe",
    "x-hub-signature-256": "hub-sha256",
}


def _signature(deliveries: Sequence[DeliveryAttempt]) -> Iterator[Shown]:
    schemes = {_SCHEMES[name] for delivery in deliveries for name in delivery.headers if name in _SCHEMES}
    if schemes:
        yield _one("wh-signature", schemes if len(schemes) == 1 else (), 1, is_delivery=True)
    elif deliveries and all("webhook-id" in delivery.headers for delivery in deliveries):
        yield _one("wh-signature", ["unsigned"], 1, is_delivery=True)


def _rotation(deliveries: Sequence[DeliveryAttempt]) -> Iterator[Shown]:
    """A request with two signatures of one scheme is signed with a former secret too."""
    for delivery in deliveries:
        written = [value for name, value in delivery.headers.items() if name in _SCHEMES]
        if any(len(re.findall(r"(?:^|[ ,])v1[,=]", value)) > 1 for value in written):
            yield _one("wh-secret-rotation", ["one-day", "until-next"], delivery.number, is_delivery=True)


def of_deliveries(deliveries: Sequence[DeliveryAttempt]) -> Iterator[Shown]:
    """Yield what the events that a receiver got show. Some may be forged, so what one alone lacks shows nothing."""
    yield from _signature(deliveries)
    yield from _rotation(deliveries)
    ids: dict[tuple[str, bytes], set[str]] = defaultdict(set)
    for delivery in deliveries:
        event = delivery.json
        if not isinstance(event, dict) or not {*event} >= {"event", "data"} or not isinstance(event["data"], dict):
            continue
        for choice, options in _event(delivery, event):
            yield _one(choice, options, delivery.number, is_delivery=True)
        message_id = delivery.headers.get("webhook-id", delivery.headers.get("svix-id"))
        if message_id is not None:
            ids[delivery.endpoint, delivery.body].add(message_id)
        elif "webhook-timestamp" in delivery.headers or "svix-timestamp" in delivery.headers:
            yield _one("wh-idempotency", ["none"], delivery.number, is_delivery=True)
    for messages in ids.values():
        yield _one("wh-idempotency", ["same-per-event", "new-per-try"], 1, is_delivery=True)
        if len(messages) > 1:
            yield _one("wh-idempotency", ["new-per-try"], 1, is_delivery=True)


def _event(delivery: DeliveryAttempt, event: JSON) -> Options:
    documented = event if next(iter(event)) == "event" else changed(event, lambda part: dict(reversed(part.items())))
    written = delivery.body.decode("utf-8", "replace")
    yield "wh-body-bytes", [name for name, write in BODY_FORMATS.items() if write(documented) == written]
    if event["event"].endswith("connection_failed"):
        keys = ("tenantId", "occurredAt", "entrypoint")
        yield "wh-data-asymmetry", _both_or_neither(event["data"], keys, "same-keys", "literal")
    elif isinstance(event["data"].get("entrypoint"), dict):
        yield from _connected(event["data"]["entrypoint"])


def _counts_of(row: Mapping[str, Any]) -> Counts | None:
    """Return the counts of an execution as an answer shows them; None if it does not, or they are impossible."""
    numbers = [row.get(key) for key in ("targetCount", "sentCount", "failedCount")]
    whole = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool) and number >= 0]
    if len(whole) < len(numbers):
        return None
    counts = Counts(*whole)
    return counts if counts.processed <= counts.target else None


def _instant(written: object) -> Instant | None:
    read = parse(written) if isinstance(written, str) else None
    return read[0] // MILLISECOND * MILLISECOND if read is not None else None
