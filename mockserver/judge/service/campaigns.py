"""Histories of campaigns: their states, what never changes, names, lists, and what a refused call leaves as it was."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Final

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core.instants import SECOND
from mockserver.judge.service.evidence import History, is_refused, is_repetition
from mockserver.judge.service.verdicts import ALONE, ONE_ANSWER, ONE_CLOCK, UNCHANGED, Verdicts
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.order import Ranked, around, instant, precedes, reversal, window
from mockserver.trace.sightings import Sighting, rows_of, sent

_RANKS: Final[Mapping[str, int]] = {"draft": 0, "processing": 1, **dict.fromkeys(CAMPAIGN.final, 2)}
_FIXED_FIELDS: Final[Mapping[str, str]] = {
    "name": "campaigns.name",
    "description": "campaigns.description",
    "platform": "campaigns.platform",
    "templateId": "campaigns.template",
    "cadence": "campaigns.cadence-kept",
}
# Refusals of a start because it has been started already: by another caller, or by a repetition inside of a library.
_STARTED_BY_ANOTHER: Final = frozenset(("CAMPAIGN_NOT_DRAFT", "CAMPAIGN_ALREADY_PROCESSING"))
_LAG: Final = 5 * SECOND  # of the option campaign-first of execution-status-lag
_WORDS_OF_PAGES: Final = ("cursor", "next", "page", "pagination", "total", "offset", "more")
_SIZES_OF_PAGES: Final = frozenset((10, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000))
_COMPARED_MAX: Final = 20  # campaigns of one name of which each pair is compared, not only neighbours
_FREED: Final = frozenset(("canceled", "failed"))  # the states that free a name, by an option of name-uniqueness-scope


def lifecycles(history: History, verdicts: Verdicts) -> None:
    """No campaign steps back, none has two ends, and a start succeeds once, from a draft."""
    for id, rows in history.records("campaign").items():
        _one_way(id, rows, verdicts)
        one_end(CAMPAIGN.clause, id, [row for row in rows if row.status in CAMPAIGN.final], verdicts)
        _one_start(id, [row for row in rows if row.how == "started"], verdicts)
        _cancel_is_final(id, rows, history, verdicts)


def ranked(rows: Iterable[Sighting], ranks: Mapping[str, int]) -> list[Ranked]:
    """Return the sightings whose states are of the document, with their ranks."""
    known = [(row, [ranks[status] for status in row.statuses if status in ranks]) for row in rows if row.statuses]
    return [Ranked(row, min(values), max(values)) for row, values in known if values]


def _one_way(id: str, rows: Sequence[Sighting], verdicts: Verdicts) -> None:
    in_ranks = ranked(rows, _RANKS)
    fallen = reversal(in_ranks)
    for row in rows:
        verdicts.hold(_clause_of(row))
    if fallen is not None:
        earlier, later = (row.sighting for row in fallen)
        clause = "start.not-draft" if later.how == "started" else _clause_of(earlier)
        verdicts.broken(clause, [earlier.cited, later.cited], id, (described(earlier), described(later)))


def _clause_of(row: Sighting) -> str:
    """Return the clause that breaks if a campaign steps back after what this sighting shows."""
    if row.how == "refused":
        code = row.cited.code if isinstance(row.cited, Exchange) else None
        return "start.already" if code == "CAMPAIGN_ALREADY_PROCESSING" else "start.not-draft"
    return {"started": "start.response", "canceled": "cancel.processing"}.get(row.how, CAMPAIGN.clause)


def described(row: Sighting) -> str:
    """Return what a sighting shows of a record's state, in words."""
    words = {
        "created": "created",
        "started": "started, so processing",
        "canceled": "canceled with 204, so ended",
        "refused": "refused as not a draft",
        "event": f"status {row.status} by its event",
    }
    return words.get(row.how, f"status {row.status}")


def one_end(clause: str, id: str, ends: Sequence[Sighting], verdicts: Verdicts) -> None:
    """Compare all sightings of a record's end with the first."""
    verdicts.hold(clause, len(ends) - 1)
    for row in ends[1:]:
        if row.status != ends[0].status:
            verdicts.broken(clause, [ends[0].cited, row.cited], id, (described(ends[0]), described(row)))


def _one_start(id: str, starts: Sequence[Sighting], verdicts: Verdicts) -> None:
    """Of several starts one at most succeeds; a repetition with the same Idempotency-Key may get the same answer."""
    for first, second in combinations(starts, 2):
        if is_repetition(first.cited, second.cited):
            continue
        values = "start answered with success", "start answered with success again"
        verdicts.broken("start.once", [first.cited, second.cited], id, values)
    verdicts.hold("start.once", len(starts))


def _cancel_is_final(id: str, rows: Sequence[Sighting], history: History, verdicts: Verdicts) -> None:
    """After a cancel the campaign is canceled; 204 for one that had ended already is an option."""
    cancels = [row for row in rows if row.how == "canceled"]
    ends = [row for row in rows if row.status in CAMPAIGN.final]
    for cancel in cancels:
        verdicts.hold("cancel.processing", len(ends))
        for end in ends:
            if end.status == "canceled":
                continue
            if _ended_after(cancel.cited, end):
                values = "canceled with 204", f"status {end.status}, completedAt {_completed_at(end)}, which is later"
                verdicts.broken("cancel.processing", [cancel.cited, end.cited], id, values, ONE_CLOCK)
            else:
                verdicts.excuse("cancel.processing", "cancel-final")
    _refused_cancels(id, rows, history, verdicts)


def _completed_at(end: Sighting) -> object:
    dates = [row.get("completedAt") for row in rows_of(end.shown, "executions")]
    return dates[0] if dates else None


def _ended_after(cancel: Cited, end: Sighting) -> bool:
    """Return True if the campaign went on for longer than its execution's status may lag behind."""
    ended, at = instant(_completed_at(end)), window(cancel)
    return ended is not None and at is not None and ended > at[1] + _LAG


def _refused_cancels(id: str, rows: Sequence[Sighting], history: History, verdicts: Verdicts) -> None:
    """A campaign that was processing before a cancel and still is after it can be canceled."""
    running = [row for row in rows if row.status == "processing"]
    for cancel in history.calls("cancelCampaign"):
        if cancel.params.get("id") != id or cancel.code not in ("UNPROCESSABLE_REQUEST", "CAMPAIGN_NOT_DRAFT"):
            continue
        before = next((row for row in running if precedes(row.cited, cancel)), None)
        after = next((row for row in running if precedes(cancel, row.cited)), None)
        if before is not None and after is not None:
            values = f"cancel refused with {cancel.code}", "status processing before and after it"
            verdicts.broken("cancel.processing", [cancel, after.cited], id, values)


def fixed_fields(history: History, verdicts: Verdicts) -> None:
    """What a campaign was created with reads back, and no call changes it."""
    for rows in history.records("campaign").values():
        for field, clause in _FIXED_FIELDS.items():
            verdicts.fixed(clause, field, rows, UNCHANGED, is_private=field in ("name", "description"))


def names(history: History, verdicts: Verdicts) -> None:
    """No two campaigns have one name, unless the first has freed it by its end; a name that is refused is in the list."""
    by_name: dict[str, dict[str, Sighting]] = defaultdict(dict)
    records = history.records("campaign")
    for id, rows in records.items():
        for row in rows:
            name = row.shown.get("name")
            if isinstance(name, str):
                by_name[name].setdefault(id, row)
    for same in by_name.values():
        verdicts.hold("campaigns.name", len(same) - 1)
        for first, second in combinations(same, 2) if len(same) <= _COMPARED_MAX else pairwise(same):
            _two_of_one_name(records[first], records[second], verdicts)
    for refused in history.calls("createCampaign"):
        if refused.code == "CAMPAIGN_NAME_ALREADY_EXISTS":
            _taken(refused, history, verdicts)


def _two_of_one_name(first: Sequence[Sighting], second: Sequence[Sighting], verdicts: Verdicts) -> None:
    for rows, other in ((first, second), (second, first)):
        made = next((row for row in other if row.how == "created"), None)
        if made is not None and _has_its_name_at(rows, made.cited):
            named = next(row for row in rows if isinstance(row.shown.get("name"), str))
            verdicts.broken("campaigns.name", [named.cited, made.cited], made.id, _same_name(rows[0].id, made.id))
            return
    in_lists = _with_name_in_lists(second)
    both = next((row for index, row in _with_name_in_lists(first).items() if index in in_lists), None)
    if both is not None:
        verdicts.broken("campaigns.name", [both.cited], both.id, _same_name(first[0].id, second[0].id), ONE_ANSWER)
    else:
        verdicts.excuse("campaigns.name", "name-uniqueness-scope")


def _same_name(first: str, second: str) -> tuple[str, str]:
    return f"{first} has a name", f"{second} has the same"


def _with_name_in_lists(rows: Sequence[Sighting]) -> dict[int, Sighting]:
    """Return what the lists show of a campaign that has not freed its name, by the number of the list's exchange."""
    return {row.cited.number: row for row in rows if row.how == "listed" and row.status not in (None, *_FREED)}


def _has_its_name_at(rows: Sequence[Sighting], creation: Cited) -> bool:
    """Return True if the campaign was there, neither canceled nor failed, when another one was created."""
    if not any(precedes(row.cited, creation) for row in rows):
        return False
    if any(row.status == "completed" for row in rows):
        return True
    return any(row.status in ("draft", "processing") and precedes(creation, row.cited) for row in rows)


def _taken(refused: Exchange, history: History, verdicts: Verdicts) -> None:
    """A name that is refused is that of a campaign, which a later list contains."""
    name = (sent(refused) or {}).get("name")
    if not isinstance(name, str):
        return
    for listing in _whole_lists(history):
        if precedes(refused, listing):
            rows = rows_of(listing.response_json, "campaigns")
            same = any(str(row.get("name")).strip().casefold() == name.strip().casefold() for row in rows)
            values = "a name is refused as taken", "no campaign in the list has it"
            verdicts.judge("campaigns.name", same, [refused, listing], f"#{refused.number}", values, UNCHANGED)
            return


def _whole_lists(history: History, verdicts: Verdicts | None = None) -> list[Exchange]:
    """Return the lists of campaigns that are not one page of several; the document does not show whether there are pages."""
    lists = [call for call in history.calls("listCampaigns") if call.succeeded]
    whole = [call for call in lists if "?" not in call.path and not _may_be_a_page(call.response_json)]
    if verdicts is not None and len(whole) < len(lists):
        verdicts.excuse("campaigns.list", "list-pagination")
    return whole


def _may_be_a_page(body: Any) -> bool:
    """Return True for a list with a field that leads to other pages, or with as many rows as a page usually has."""
    others = [key.lower() for key in body if key != "campaigns"] if isinstance(body, dict) else []
    leads_on = any(word in key for key in others for word in _WORDS_OF_PAGES)
    return leads_on or len(rows_of(body, "campaigns")) in _SIZES_OF_PAGES


def lists(history: History, verdicts: Verdicts) -> None:
    """A list has each campaign once, and all that were there before."""
    first_seen: dict[str, Sighting] = {}
    for id, rows in history.records("campaign").items():
        seen = next((row for row in rows if row.how not in ("canceled", "refused")), None)
        if seen is not None:
            first_seen[id] = seen
    for listing in _whole_lists(history, verdicts):
        present = once("campaigns.list", listing, "campaigns", verdicts)
        for id, row in first_seen.items():
            if precedes(row.cited, listing):
                values = f"{described(row)}: {id}", "a list without it"
                verdicts.judge("campaigns.list", id in present, [row.cited, listing], id, values, UNCHANGED)


def once(clause: str, listing: Exchange, key: str, verdicts: Verdicts) -> frozenset[str]:
    """Compare the ids of a list, of which each is in it once, and return them."""
    ids = Counter(str(row["id"]) for row in rows_of(listing.response_json, key))
    for id, count in ids.items():
        values = f"{id} in the list", "again in the list"
        verdicts.judge(clause, count == 1, [listing], id, values, ONE_ANSWER)
    return frozenset(ids)


def existence(history: History, verdicts: Verdicts) -> None:
    """A campaign that there was is not unknown later."""
    for operation, clause in (
        ("readCampaign", "campaigns.detail"),
        ("startCampaign", "start.unknown"),
        ("cancelCampaign", "cancel.unknown"),
    ):
        for call in history.calls(operation):
            if call.code != "CAMPAIGN_NOT_FOUND":
                verdicts.hold(clause)
                continue
            rows = history.records("campaign").get(call.params.get("id", ""), ())
            seen = next((row for row in rows if row.how != "refused" and precedes(row.cited, call)), None)
            if seen is not None:
                values = f"{described(seen)}: {seen.id}", "CAMPAIGN_NOT_FOUND"
                verdicts.broken(clause, [seen.cited, call], seen.id, values, UNCHANGED)


def refused_starts(history: History, verdicts: Verdicts) -> None:
    """A campaign whose every start was refused has not started."""
    starts: dict[str, list[Exchange]] = defaultdict(list)
    for call in history.calls("startCampaign"):
        starts[call.params.get("id", "")].append(call)
    for id, calls in starts.items():
        rows = history.records("campaign").get(id, ())
        is_left_alone = all(is_refused(call) and call.code not in _STARTED_BY_ANOTHER for call in calls)
        if not is_left_alone or not any(row.how == "created" for row in rows):
            continue
        for row in rows:
            first = next((call for call in calls if precedes(call, row.cited)), None)
            if first is None or row.how == "refused" or not row.statuses:
                continue
            has_started = row.status in ("processing", "completed", "failed")
            values = f"start refused with {first.code or first.status}", described(row)
            verdicts.judge("start.refused-changes-nothing", not has_started, [first, row.cited], id, values, ALONE)


def refused_creations(history: History, verdicts: Verdicts) -> None:
    """A campaign whose creation was refused is not in a list that lacked its name before."""
    listings = _whole_lists(history)
    made = [(sent(call) or {}).get("name") for call in history.calls("createCampaign") if not is_refused(call)]
    for refused in history.calls("createCampaign"):
        name = (sent(refused) or {}).get("name")
        is_taken = refused.code == "CAMPAIGN_NAME_ALREADY_EXISTS"  # by a campaign that another caller created
        if not is_refused(refused) or is_taken or not isinstance(name, str) or name in made:
            continue
        listed = around(refused, listings, lambda listing: listing)
        if listed is None or _has_name(listed[0], name):
            continue
        values = f"creation refused with {refused.code or refused.status}", "a later list has a campaign of its name"
        is_kept = not _has_name(listed[1], name)
        verdicts.judge("campaigns.create", is_kept, [refused, listed[1]], f"#{refused.number}", values, ALONE)


def _has_name(listing: Exchange, name: str) -> bool:
    return any(row.get("name") == name for row in rows_of(listing.response_json, "campaigns"))
