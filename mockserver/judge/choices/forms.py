"""
Options that the form of one answer or event shows, with what else the recording shows of its record.

A row returns the options of one choice that lead to this answer: all that remain possible, none if no option does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Any, Final

from mockserver._json import JSON, changed
from mockserver.contract.limits import PAGE_LIMIT_DEFAULT
from mockserver.contract.text import http_date, whole_number
from mockserver.core.operations.sending import Counts
from mockserver.judge.choices.facts import Facts
from mockserver.judge.choices.replays import each_option
from mockserver.judge.service.verdicts import Shown, observed
from mockserver.trace.exchange import TOO_MANY, DeliveryAttempt, Exchange
from mockserver.trace.order import instant
from mockserver.trace.sightings import Kind, Sighting, rows_of, sighted, sightings
from mockserver.trace.trace import Trace
from mockserver.wire.formats import BODY_FORMATS
from mockserver.wire.serializers import progress

Options = Iterator[tuple[str, Iterable[str]]]
_COMPARED_MAX: Final = 40  # rows of a list, each with each
_SURELY_SORTED: Final = 10  # rows: by chance once in 3,628,800 lists
_EMPTY: Final = ((None, "null"), ("", "empty"))  # how a field without a value may be shown
# Fields that any message may lack; a null in one of them is an option, a missing one another.
_OPTIONAL: Final = ("isOfficialTemplate", "templateCharged", "transcription", "forward", "replyToId", "photoapp", "location", "ad")  # fmt: skip
# The scheme of a signature, by its header.
_SCHEMES: Final[Mapping[str, str]] = {
    "webhook-signature": "standard-webhooks",
    "svix-signature": "svix",
    "stripe-signature": "stripe",
    "x-hub-signature-256": "hub-sha256",
}


def shown_by_forms(recording: Trace, facts: Facts) -> Iterator[Shown]:
    """Yield what the forms of answers and events show."""
    for kind, records in recording.once(sightings).items():
        for row in chain.from_iterable(records.values()):
            for choice, options in _OF_RECORDS.get(kind, _nothing)(row, facts):
                yield observed(choice, options, row.cited)
    for call in recording.exchanges:
        read = _OF_ANSWERS.get(call.operation or "", _nothing) if call.succeeded else _refusal
        for choice, options in read(call, facts):
            yield observed(choice, options, call)
    for rows in sighted(recording, "execution").values():
        yield from _counted(rows)
    yield from _events(recording.deliveries)


def _nothing(_shown: object, _facts: Facts) -> Options:
    yield from ()


def _emptiness(row: Mapping[str, Any], key: str) -> list[str]:
    """Return how a field without a value is shown: absent, null or empty; none for one with a value."""
    if key not in row:
        return ["absent"]
    return [option for value, option in _EMPTY if row[key] == value]


def _both_or_neither(row: Mapping[str, Any], keys: Sequence[str], both: str, neither: str) -> list[str]:
    count = sum(key in row for key in keys)
    options = {len(keys): [both], 0: [neither]}
    return options.get(count, [])


# What an answer shows by one record.


def _template(row: Sighting, _facts: Facts) -> Options:
    if row.how == "listed" and row.shown.get("isOfficial") is False and not row.shown.get("providerTemplateStatus"):
        yield "provider-status-internal", _emptiness(row.shown, "providerTemplateStatus")


def _campaign(row: Sighting, _facts: Facts) -> Options:
    if row.how == "read":
        yield "detail-fields", _both_or_neither(row.shown, ("description", "filters"), "full", "literal")


def _execution(row: Sighting, facts: Facts) -> Options:
    """Yield how a run ended; one without targets, or whose every send failed, if the recording has its start."""
    status, counts = row.shown.get("status"), _counts_of(row.shown)
    if status in ("canceled", "failed") and "completedAt" in row.shown:
        yield "completedAt-on-cancel-fail", ["null" if row.shown["completedAt"] is None else "set"]
    if counts is None or not facts.is_new(row.id):
        return
    if status not in ("completed", "failed"):
        return
    if counts.target == 0:
        yield "start-empty-audience", ["complete" if status == "completed" else "failed"]
    elif counts.failed == counts.target:
        yield "all-sends-failed", [status]


def _session(row: Sighting, _facts: Facts) -> Options:
    shown, entrypoint = row.shown, row.shown.get("entrypoint")
    if row.how == "event" and row.status != "completed":
        keys = ("tenantId", "occurredAt", "entrypoint")
        yield "wh-data-asymmetry", _both_or_neither(shown, keys, "same-keys", "literal")
    if row.how != "created" and isinstance(entrypoint, dict):
        yield "entrypoint-two-shapes", _both_or_neither(entrypoint, ("platform", "displayName"), "union", "literal")
        yield from _funnel(entrypoint, "funnelId", "funnelStepId")
    if row.how != "read":
        return
    yield "session-read-fields", _both_or_neither(shown, ("url", "expiresAt"), "all", "literal")
    if row.status in ("pending", "completed") and not shown.get("reason"):
        yield "reason-when-none", _emptiness(shown, "reason")
    if row.status in ("failed", "expired"):
        yield "entrypoint-when-failed", _emptiness(shown, "entrypoint")


def _funnel(entrypoint: Mapping[str, Any], *keys: str) -> Options:
    for key in keys:
        if not entrypoint.get(key):
            yield "funnel-null", _emptiness(entrypoint, key)


def _entrypoint(row: Sighting, _facts: Facts) -> Options:
    if row.how == "read":  # `_session` has the other shape
        yield from _funnel(row.shown, "funnelStepId")


def _message(row: Sighting, _facts: Facts) -> Options:
    is_any_missing = any(key not in row.shown for key in _OPTIONAL)
    if is_any_missing:
        yield "message-absent-vs-null", ["absent"] if None not in row.shown.values() else []
    elif any(row.shown[key] is None for key in _OPTIONAL):
        yield "message-absent-vs-null", ["null"]
    if row.shown.get("text") is None:
        yield "message-required-fields", ["minimal"]


_OF_RECORDS: Final[Mapping[Kind, Callable[[Sighting, Facts], Options]]] = {
    "template": _template,
    "campaign": _campaign,
    "execution": _execution,
    "session": _session,
    "entrypoint": _entrypoint,
    "message": _message,
}


# What an answer shows as a whole.


def _templates(exchange: Exchange, _facts: Facts) -> Options:
    """Compare the order of a list with the instants of creation, as far as these are shown."""
    instants = [instant(row.get("createdAt")) for row in rows_of(exchange.response_json, "templates")]
    known = [at for at in instants if at is not None]
    oldest_first = sorted(known)
    yield "list-order", _order(known[::-1] == oldest_first, known == oldest_first, len(set(known)))


def _campaigns(exchange: Exchange, facts: Facts) -> Options:
    """Compare the order of a list with what is known of the order in which the campaigns were created."""
    ids = [row["id"] for row in rows_of(exchange.response_json, "campaigns")][:_COMPARED_MAX]
    pairs = list(combinations(ids, 2))
    newest = not any(facts.is_older(first, second) for first, second in pairs)
    oldest = not any(facts.is_older(second, first) for first, second in pairs)
    if not (newest and oldest):
        yield "list-order", _order(newest, oldest, sum(map(facts.is_new, ids)))


def _order(is_newest: bool, is_oldest: bool, count: int) -> list[str]:
    """Return the orders of a list; a shuffled one of `count` rows is sorted by chance once in `count` factorial cases."""
    is_sorted = is_newest or is_oldest
    may_be_shuffled = not is_sorted or count < _SURELY_SORTED
    fits = {"newest-first": is_newest, "oldest-first": is_oldest, "shuffled": may_be_shuffled}
    return [order for order in fits if fits[order]]


def _page(exchange: Exchange, _facts: Facts) -> Options:
    answer = exchange.response_json
    if not isinstance(answer, dict):
        return
    if not answer.get("nextCursor"):
        yield "next-cursor-end", _emptiness(answer, "nextCursor")
        return
    count = len(rows_of(answer, "records"))
    written = exchange.query_value("limit")
    limit = PAGE_LIMIT_DEFAULT if written is None else whole_number(written)
    if limit is not None and count < limit:
        yield "short-pages", ["short"]
    elif count == limit != 1:  # half of a limit of 1 is 1
        yield "short-pages", ["full"]


_OF_ANSWERS: Final[Mapping[str, Callable[[Exchange, Facts], Options]]] = {
    "listTemplates": _templates,
    "listCampaigns": _campaigns,
    "listMessages": _page,
}


def _refusal(exchange: Exchange, _facts: Facts) -> Options:
    if exchange.code == "SUBSCRIPTION_INACTIVE" and exchange.method == "GET":
        yield "subscription-scope", ["all"]
    if exchange.status == TOO_MANY and exchange.code and exchange.response_headers:
        yield "rate-limit-headers", [_wait_format(exchange.response_headers)]


def _wait_format(headers: Mapping[str, str]) -> str:
    after = headers.get("retry-after")
    if after is None:
        return "draft-fields" if "ratelimit" in headers else "none"
    if whole_number(after.strip()) is not None:
        return "seconds"
    return "garbage" if http_date(after) is None else "http-date"


# What several answers or choices show together.


def _counted(rows: Sequence[Sighting]) -> Iterator[Shown]:
    """Yield the options that lead to the progress that an execution's counts are shown with."""
    for row in rows:
        status, counts = str(row.shown.get("status")), _counts_of(row.shown)
        if counts is not None and row.how == "read":
            outcomes = each_option(partial(progress, status=status, counts=counts))
            fitting = [options for options, outcome in outcomes if outcome == row.shown.get("progress")]
            yield Shown(tuple(fitting) or ({"progress-rounding": frozenset()},), row.cited)


def _events(deliveries: Sequence[DeliveryAttempt]) -> Iterator[Shown]:
    """Yield what the events that a receiver got show. Some may be forged, so what one alone lacks shows nothing."""
    yield from _signature(deliveries)
    ids: dict[tuple[str, bytes], set[str]] = defaultdict(set)
    for delivery in deliveries:
        event, headers = delivery.json, delivery.headers
        if not isinstance(event, dict) or "event" not in event or not isinstance(event.get("data"), dict):
            continue
        yield observed("wh-body-bytes", _formats(event, delivery.body.decode("utf-8", "replace")), delivery)
        message_id = headers.get("webhook-id", headers.get("svix-id"))
        if message_id is not None:
            ids[delivery.endpoint, delivery.body].add(message_id)
        elif "webhook-timestamp" in headers or "svix-timestamp" in headers:
            yield observed("wh-idempotency", ["none"], delivery)
    for messages in ids.values():
        same = ["same-per-event"] if len(messages) == 1 else []
        yield observed("wh-idempotency", [*same, "new-per-try"], deliveries[0])


def _signature(deliveries: Sequence[DeliveryAttempt]) -> Iterator[Shown]:
    """Yield the one scheme of the signatures."""
    schemes = {_SCHEMES[name] for delivery in deliveries for name in delivery.headers if name in _SCHEMES}
    if schemes:
        yield observed("wh-signature", schemes if len(schemes) == 1 else (), deliveries[0])
    elif deliveries and all("webhook-id" in delivery.headers for delivery in deliveries):
        yield observed("wh-signature", ["unsigned"], deliveries[0])


def _formats(event: JSON, written: str) -> list[str]:
    documented = event if next(iter(event)) == "event" else changed(event, lambda part: dict(reversed(part.items())))
    return [name for name, write in BODY_FORMATS.items() if write(documented) == written]


def _counts_of(row: Mapping[str, Any]) -> Counts | None:
    """Return the counts of an execution as an answer shows them; None if it does not, or they are impossible."""
    numbers = [row.get(key) for key in ("targetCount", "sentCount", "failedCount")]
    whole = [number for number in numbers if type(number) is int and number >= 0]
    if len(whole) < len(numbers):
        return None
    counts = Counts(*whole)
    return counts if counts.processed <= counts.target else None
