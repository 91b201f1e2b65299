"""Campaigns: their states, what never changes, names, lists, and what a refused call leaves as it was."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Final

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core.instants import SECOND
from mockserver.judge.service.evidence import (
    Rows,
    after,
    before,
    both,
    described,
    ends,
    first,
    is_refused,
    is_repetition,
    ranked,
    shown_of,
)
from mockserver.judge.service.verdicts import (
    ALONE,
    ONE_CLOCK,
    TENANTS,
    UNCHANGED,
    ClauseCheck,
    Excused,
    Found,
    Kept,
    breach,
    fixed,
    judged,
    one_end,
)
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.order import around, instant, precedes, reversal, window
from mockserver.trace.sightings import OF_NO_DRAFT, Sighting, rows_of, sighted
from mockserver.trace.trace import Trace

_FIXED_FIELDS: Final[Mapping[str, str]] = {
    "name": "campaigns.name",
    "description": "campaigns.description",
    "platform": "campaigns.platform",
    "templateId": "campaigns.template",
    "cadence": "campaigns.cadence-kept",
}
_NOT_CANCELABLE: Final = ("UNPROCESSABLE_REQUEST", "CAMPAIGN_NOT_DRAFT")
_LAG: Final = 5 * SECOND  # of the option campaign-first of execution-status-lag
_WORDS_OF_PAGES: Final = ("cursor", "next", "page", "pagination", "total", "offset", "more")
_SIZES_OF_PAGES: Final = frozenset((10, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000))
_COMPARED_MAX: Final = 20  # campaigns of one name of which each pair is compared, not only neighbours
_FREED: Final = (None, "canceled", "failed")  # states that free a name, by an option of name-uniqueness-scope, or none
_TAKEN: Final = "CAMPAIGN_NAME_ALREADY_EXISTS"


def lifecycles(trace: Trace) -> Found:
    """No campaign steps back, none has two ends, and a start succeeds once, from a draft."""
    cancels = dict(trace.grouped_by("id", "cancelCampaign"))
    for id, rows in sighted(trace, "campaign").items():
        final = ends(rows, CAMPAIGN)
        yield from _one_way(rows)
        yield from one_end(CAMPAIGN.clause, final)
        yield from _one_start([row for row in rows if row.how == "started"])
        yield from _cancel_is_final([row for row in rows if row.how == "canceled"], final)
        yield from _refused_cancels(cancels.get(id, ()), [row for row in rows if row.status == "processing"])


def _one_way(rows: Rows) -> Found:
    for row in rows:
        yield Kept(_clause_of(row))
    pair = reversal(ranked(rows, CAMPAIGN))
    if pair is not None:
        earlier, later = pair
        clause = "start.not-draft" if later.how == "started" else _clause_of(earlier)
        yield breach(clause, both(*pair), earlier, later)


def _clause_of(row: Sighting) -> str:
    """Return the clause that breaks if a campaign steps back after what this sighting shows."""
    if row.how == "refused":
        assert isinstance(row.cited, Exchange)
        return "start.already" if row.cited.code == "CAMPAIGN_ALREADY_PROCESSING" else "start.not-draft"
    return {"started": "start.response", "canceled": "cancel.processing"}.get(row.how, CAMPAIGN.clause)


def _one_start(starts: Rows) -> Found:
    """Of several starts one at most succeeds; a repetition with the same Idempotency-Key may get the same answer."""
    values = "start answered with success", "start answered with success again"
    for one, other in combinations(starts, 2):
        if not is_repetition(one.cited, other.cited):
            yield breach("start.once", values, one, other)
    yield Kept("start.once", len(starts))


def _cancel_is_final(cancels: Rows, final: Rows) -> Found:
    """After a cancel the campaign is canceled; 204 for one that had ended already is an option."""
    for cancel in cancels:
        yield Kept("cancel.processing", len(final))
        for end in final:
            if end.status == "canceled":
                continue
            completed_at = next((row.get("completedAt") for row in rows_of(end.shown, "executions")), None)
            if _is_after(cancel.cited, completed_at):
                values = "canceled with 204", f"status {end.status}, completedAt {completed_at}, which is later"
                yield breach("cancel.processing", values, cancel, end, assumption=ONE_CLOCK)
            else:
                yield Excused("cancel.processing", "cancel-final")


def _is_after(cancel: Cited, completed_at: Any) -> bool:
    """Return True if the campaign went on for longer than its execution's status may lag behind."""
    ended, at = instant(completed_at), window(cancel)
    return ended is not None and at is not None and ended > at[1] + _LAG


def _refused_cancels(cancels: Sequence[Exchange], running: Rows) -> Found:
    """A campaign that was processing before a cancel and still is after it can be canceled."""
    for cancel in cancels:
        later = after(cancel, running)
        if cancel.code in _NOT_CANCELABLE and before(running, cancel) is not None and later is not None:
            values = f"cancel refused with {cancel.code}", "status processing before and after it"
            yield breach("cancel.processing", values, cancel, later)


def fixed_fields(trace: Trace) -> Found:
    """What a campaign was created with reads back, and no call changes it."""
    for rows in sighted(trace, "campaign").values():
        for field, clause in _FIXED_FIELDS.items():
            yield from fixed(clause, field, rows, UNCHANGED, is_private=field in ("name", "description"))


def names(trace: Trace) -> Found:
    """No two campaigns have one name, unless the first has freed it by its end; a name that is refused is in the list."""
    by_name: dict[str, list[Rows]] = defaultdict(list)
    for rows in sighted(trace, "campaign").values():
        for name in dict.fromkeys(_name(row) for row in rows):
            if name is not None:
                by_name[name].append(rows)
    for same in by_name.values():
        yield Kept("campaigns.name", len(same) - 1)
        pairs = combinations(same, 2) if len(same) <= _COMPARED_MAX else pairwise(same)
        for one, other in pairs:
            yield from _two_of_one_name(one, other)
    for refused in trace.of("createCampaign"):
        if refused.code == _TAKEN:
            yield from _taken(refused, trace)


def _name(row: Sighting) -> str | None:
    name = row.shown.get("name")
    return name if isinstance(name, str) else None


def _two_of_one_name(one: Rows, other: Rows) -> Found:
    for rows, others in ((one, other), (other, one)):
        made = first(others, "created")
        if made is not None and _has_its_name_at(rows, made.cited):
            named = next(row for row in rows if _name(row) is not None)
            yield breach("campaigns.name", _same_name(rows, others), named, made)
            return
    in_lists = _with_name_in_lists(other)
    listed = next((row for number, row in _with_name_in_lists(one).items() if number in in_lists), None)
    if listed is not None:
        yield breach("campaigns.name", _same_name(one, other), listed)
    else:
        yield Excused("campaigns.name", "name-uniqueness-scope")


def _same_name(one: Rows, other: Rows) -> tuple[str, str]:
    return f"{one[0].id} has a name", f"{other[0].id} has the same"


def _with_name_in_lists(rows: Rows) -> dict[int, Sighting]:
    """Return what the lists show of a campaign that has not freed its name, by the number of the list's exchange."""
    return {row.cited.number: row for row in rows if row.how == "listed" and row.status not in _FREED}


def _has_its_name_at(rows: Rows, creation: Cited) -> bool:
    """Return True if the campaign was there, neither canceled nor failed, when another one was created."""
    if before(rows, creation) is None:
        return False
    if any(row.status == "completed" for row in rows):
        return True
    return after(creation, [row for row in rows if row.status in ("draft", "processing")]) is not None


def _taken(refused: Exchange, trace: Trace) -> Found:
    """A name that is refused is that of a campaign, which a later list contains."""
    name = refused.sent.get("name")
    listing = next((listing for listing in _whole_lists(trace) if precedes(refused, listing)), None)
    if not isinstance(name, str) or listing is None:
        return
    names = [str(row.get("name")).strip().casefold() for row in rows_of(listing.response_json, "campaigns")]
    values = "a name is refused as taken", "no campaign in the list has it"
    is_listed = name.strip().casefold() in names
    yield judged("campaigns.name", is_listed, values, refused, listing, assumption=UNCHANGED)


def _whole_lists(trace: Trace) -> list[Exchange]:
    """Return the lists of campaigns that are not one page of several; the document does not show whether there are pages."""
    lists = [call for call in trace.of("listCampaigns") if call.succeeded and "?" not in call.path]
    return [call for call in lists if not _may_be_a_page(call.response_json)]


def _may_be_a_page(body: Any) -> bool:
    """Return True for a list with a field that leads to other pages, or with as many rows as a page usually has."""
    others = [key.lower() for key in body if key != "campaigns"] if isinstance(body, dict) else []
    leads_on = any(word in key for key in others for word in _WORDS_OF_PAGES)
    return leads_on or len(rows_of(body, "campaigns")) in _SIZES_OF_PAGES


def lists(trace: Trace) -> Found:
    """A list has each campaign once, and all that were there before."""
    whole = _whole_lists(trace)
    if len(whole) < sum(call.succeeded for call in trace.of("listCampaigns")):
        yield Excused("campaigns.list", "list-pagination")
    was_there = [
        next((row for row in rows if row.how not in ("canceled", "refused")), None)
        for rows in sighted(trace, "campaign").values()
    ]
    for listing in whole:
        present = {row["id"] for row in rows_of(listing.response_json, "campaigns")}
        yield from listed_once("campaigns.list", listing, "campaigns")
        for row in was_there:
            if row is not None and precedes(row.cited, listing):
                values = f"{described(row)}: {row.id}", "a list without it"
                yield judged("campaigns.list", row.id in present, values, row, listing, assumption=UNCHANGED)


def listed_once(clause: str, listing: Exchange, key: str) -> Found:
    """Compare the ids of a list, of which each is in it once."""
    ids = Counter(str(row["id"]) for row in rows_of(listing.response_json, key))
    for id, count in ids.items():
        yield judged(clause, count == 1, (f"{id} in the list", "again in the list"), listing, record=id)


def refused_starts(trace: Trace) -> Found:
    """A campaign whose every start was refused has not started."""
    for id, calls in trace.grouped_by("id", "startCampaign"):
        rows = shown_of(trace, "campaign", id)
        # One that is no draft was started by another caller, or by a repetition inside of a library.
        is_left_alone = all(is_refused(call) and call.code not in OF_NO_DRAFT for call in calls)
        if not is_left_alone or first(rows, "created") is None:
            continue
        for row in rows:
            refused = next((call for call in calls if precedes(call, row.cited)), None)
            if refused is None or row.how == "refused" or not row.statuses:
                continue
            has_started = row.status in ("processing", "completed", "failed")
            values = f"start refused with {refused.code or refused.status}", described(row)
            yield judged("start.refused-changes-nothing", not has_started, values, refused, row, assumption=ALONE)


def refused_creations(trace: Trace) -> Found:
    """A campaign whose creation was refused is not in a list that lacked its name before."""
    listings, calls = _whole_lists(trace), trace.of("createCampaign")
    made = [call.sent.get("name") for call in calls if not is_refused(call)]
    for refused in calls:
        name = refused.sent.get("name")
        is_taken = refused.code == _TAKEN  # by a campaign that another caller created
        if not is_refused(refused) or is_taken or not isinstance(name, str) or name in made:
            continue
        listed = around(refused, listings, lambda listing: listing)
        if listed is None or _has_name(listed[0], name):
            continue
        values = f"creation refused with {refused.code or refused.status}", "a later list has a campaign of its name"
        is_kept = not _has_name(listed[1], name)
        yield judged("campaigns.create", is_kept, values, refused, listed[1], assumption=ALONE)


def _has_name(listing: Exchange, name: str) -> bool:
    return any(row.get("name") == name for row in rows_of(listing.response_json, "campaigns"))


# fmt: off
CHECKS: Final = (
    ClauseCheck((CAMPAIGN.clause, "start.response", "start.not-draft", "start.already", "start.once", "cancel.processing"), lifecycles),
    ClauseCheck(tuple(_FIXED_FIELDS.values()), fixed_fields),
    ClauseCheck(("campaigns.name",), names, needs=TENANTS),
    ClauseCheck(("campaigns.list",), lists, needs=TENANTS),
    ClauseCheck(("start.refused-changes-nothing",), refused_starts),
    ClauseCheck(("campaigns.create",), refused_creations, needs=TENANTS),
)
# fmt: on
