"""
Checks of the invariants of a machine.

Invariants on what is asked for: whom a campaign reaches, how fast, with which values; and where keys stand.

Invariants on what the calls have caused: executions, sends, clones, restarts.

What was caused twice is the client's doing where it was within one step; two steps may well ask for the same.

Invariants on reading: when to stop, how often to ask, and to read on while there is more.

Invariants on calls made again: blindly, after a success, after a final refusal, too soon, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from mockserver.conduct.evidence import requested_wait
from mockserver.contract.filters import FIELDS
from mockserver.contract.text import nearest
from mockserver.core import ledger
from mockserver.core.instants import SECOND, Instant, parse
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import Campaign, Execution
from mockserver.testing.machine.example_log import (
    ExampleLog,
    answer,
    code,
    has_told_final,
    is_lost,
    is_success,
    request,
)

_FAR_BEYOND = 10  # times the ceiling: no slip of the pen, but of the unit


def _started(story: ExampleLog) -> Iterator[tuple[JournalEntry, Campaign, Execution]]:
    """The starts of the step that took effect, with what they started."""
    starts = story.new_of("startCampaign")
    if not starts:
        return
    runs = {
        transition.cause.get("exchange"): transition.id
        for transition in story.sandbox.journal.transitions
        if transition.kind == "execution" and transition.source is None
    }
    for each in starts:
        tenant = story.owner(each)
        if each.n in runs and tenant is not None:
            execution = tenant.executions[runs[each.n]]
            yield each, tenant.campaigns[execution.campaign_id], execution


def _body(exchange: JournalEntry) -> Mapping[str, Any]:
    return exchange.body if isinstance(exchange.body, dict) else {}


def missing_filters(story: ExampleLog) -> Iterator[str]:
    """A campaign for everyone, though the preview before it had filters, or a key nearly called filters came."""
    made: dict[str, Any] = {
        transition.id: transition.cause.get("exchange")
        for transition in story.sandbox.journal.transitions
        if transition.kind == "campaign" and transition.source is None
    }
    creates = {each.n: each for each in story.of("createCampaign")}
    for start, campaign, execution in _started(story):
        create = creates.get(made.get(campaign.id) or 0)
        if campaign.filters or create is None:
            continue
        near = [key for key in _body(create) if key != "filters" and nearest(key, ("filters",), likeness=0.7)]
        previews = [each for each in story.of("previewAudience") if each.n < create.n]
        previewed = bool(previews) and bool(_body(previews[-1]).get("filters"))
        if near or previewed:
            why = f"the body says {near[0]!r}" if near else f"the preview before it (#{previews[-1].n}) had filters"
            yield f"campaign {campaign.id} was started (#{start.n}) without filters, for all {len(execution.targets)} chats, though {why}: lost filters"


def unrestricted_platform(story: ExampleLog) -> Iterator[str]:
    """A campaign that reaches chats of other platforms, and has no filter on the platform."""
    for start, campaign, execution in _started(story):
        fields = {each["field"] for group in campaign.filters or () for each in group["statements"]}
        others = sorted({chat.platform for chat in execution.targets} - {campaign.platform})
        if others and "chat.platform" not in fields:
            yield f"campaign {campaign.id} on {campaign.platform} was started (#{start.n}) for chats on {', '.join(others)} too: platform taken for the audience"


def cadences(story: ExampleLog) -> Iterator[str]:
    """A cadence far beyond the platform's ceiling: a unit mistaken."""
    ceilings: Any = story.sandbox.choices["throughput-ceilings"]
    for each in story.new_of("createCampaign"):
        cadence, ceiling = _body(each).get("cadence"), ceilings.get(_body(each).get("platform"))
        if each.applied and ceiling and isinstance(cadence, int) and cadence > _FAR_BEYOND * ceiling:
            yield f"a campaign of {cadence} messages per minute (#{each.n}), where the platform makes {ceiling}: a cadence in another unit?"


def variables(story: ExampleLog) -> Iterator[str]:
    """Values for what is no manual variable of the template."""
    for start, campaign, execution in _started(story):
        manual = {each.key for each in execution.template.variables if each.source is None}
        strange = sorted(set(execution.values) - manual)
        if strange:
            yield f"start of {campaign.id} (#{start.n}) gave values for {', '.join(strange)}; the template asks for {', '.join(sorted(manual)) or 'none'}"


def naive_dates(story: ExampleLog) -> Iterator[str]:
    """A filter's date without an offset."""
    for each in story.new_of("createCampaign", "previewAudience"):
        groups = _body(each).get("filters")
        for statement in _statements(groups):
            row = FIELDS.get(str(statement.get("field")))
            written = [statement.get(key) for key in ("value", "value2")] if row and row.type == "date" else []
            for value in written:
                read = parse(value) if isinstance(value, str) else None
                if read is not None and not read[1]:
                    yield f"{each.operation} (#{each.n}) filters by {value!r}, a date without an offset"


def _statements(groups: Any) -> Iterator[Mapping[str, Any]]:
    for group in groups if isinstance(groups, list) else ():
        statements = group.get("statements") if isinstance(group, dict) else None
        yield from (each for each in statements or () if isinstance(each, dict))


def secrets(story: ExampleLog) -> Iterator[str]:
    """A key or signing secret anywhere but in X-API-Key."""
    known = story.sandbox.secrets() if story.new else []
    for each in story.new:
        places = _texts(each)
        everything = "\n".join(places.values())
        for place in (place for secret in known if secret in everything for place in places if secret in places[place]):
            yield f"{each.operation} (#{each.n}) carries a key in {place}"


def _texts(exchange: JournalEntry) -> Mapping[str, str]:
    """The places of a request where no key belongs, with what stands there."""
    call = exchange.call
    headers = {f"the header {name}": value for name, value in call.headers.items() if name != "x-api-key"}
    return {
        "the path": call.path,
        "the query": " ".join(value for _, value in call.query),
        "the body": (call.body or b"").decode("utf-8", "replace"),
        **headers,
    }


def _runs(story: ExampleLog) -> int:
    return sum(len(tenant.executions) for tenant in story.sandbox.tenants.values())


def duplicate_executions(story: ExampleLog) -> Iterator[str]:
    """Two executions of one template with the same values to the same chats within a day."""
    if _runs(story) < 2:
        return
    rows = ledger.read(story.sandbox).duplicate_executions
    for row in (each for each in rows if story.is_one_step(*each["exchanges"])):
        first, second = row["campaignIds"]
        yield f"campaigns {first} and {second} sent the same to the same chats: duplicate executions{_calls(row['exchanges'])}"


def duplicate_sends(story: ExampleLog) -> Iterator[str]:
    """One chat got the same twice within a day."""
    if _runs(story) < 2:
        return
    starts = ledger.creating_exchanges(story.sandbox)
    for row in ledger.read(story.sandbox).duplicate_sends:
        started = sorted(starts.get(each, 0) for each in row["executionIds"])
        if not any(story.is_one_step(*pair) for pair in pairwise(started)):
            continue
        yield f"chat {row['chatId']} got template {row['templateId']} with the same values {row['count']} times: a duplicate send"


def clones(story: ExampleLog) -> Iterator[str]:
    """A campaign made again because the first was taken for failed."""
    if sum(len(tenant.campaigns) for tenant in story.sandbox.tenants.values()) < 2:
        return
    rows = ledger.read(story.sandbox).cloned_campaigns
    for row in (each for each in rows if story.is_one_step(*each["exchanges"])):
        yield f"campaign {row['cloneId']} is a clone of {row['originalId']}, made after {row['why']}{_calls(row['exchanges'])}"


def restarts(story: ExampleLog) -> Iterator[str]:
    """A start of a campaign that the client had read to be over."""
    over: dict[str, int] = {}
    if not story.new_of("startCampaign"):
        return
    for each in story.of("readCampaign", "readExecution", "startCampaign"):
        campaign = each.call.params["id"]
        if each.operation == "startCampaign" and campaign in over and not each.arrived_late:
            yield f"campaign {campaign} was started (#{each.n}) after it was read to be over (#{over[campaign]})"
        elif has_told_final(each):
            over[campaign] = each.n


def _calls(numbers: Sequence[Any]) -> str:
    known = [f"#{number}" for number in numbers if number is not None]
    return f" ({' and '.join(known)})" if known else ""


_POLLS: Mapping[str, int] = {"readExecution": 10, "readConnectionSession": 2}  # seconds
_STORM = 3


def _reads(story: ExampleLog, *operations: str) -> Iterator[list[JournalEntry]]:
    """The reads of one record within the step."""
    records: dict[str, list[JournalEntry]] = {}
    for each in story.new_of(*operations):
        records.setdefault(each.call.path, []).append(each)
    yield from records.values()


def polls_after_final(story: ExampleLog) -> Iterator[str]:
    """Two reads or more after a final status was read; one more is good practice after an event."""
    for reads in _reads(story, *_POLLS):
        first = next((place for place, each in enumerate(reads) if has_told_final(each)), len(reads))
        later = [each for each in reads[first + 1 :] if is_success(each)]  # one that failed and its repetition are one
        if len(later) > 1:
            status = answer(reads[first]).get("status")
            yield f"{reads[0].call.path} was read {len(later)} times more (#{later[-1].n}) after it was {status} (#{reads[first].n}): polling after a final state"


def fast_polls(story: ExampleLog) -> Iterator[str]:
    """Two reads of what is not over, closer than the document suggests."""
    for operation, seconds in _POLLS.items():
        for reads in _reads(story, operation):
            for first, second in pairwise(each for each in reads if not each.arrived_late):
                gap = (second.at - first.at) / SECOND
                if (
                    is_success(first)
                    and not has_told_final(first)
                    and gap < seconds
                    and not _canceled(story, first, second)
                ):
                    yield f"{second.call.path} was read again after {gap:g} s (#{second.n}); wanted {seconds} s or more"


def _canceled(story: ExampleLog, first: JournalEntry, second: JournalEntry) -> bool:
    """True where the campaign was canceled in between: the second look is after what came of that."""
    between = story.between(first, second)
    return any(
        each.operation == "cancelCampaign" and each.call.params["id"] == first.call.params.get("id") for each in between
    )


def early_stops(story: ExampleLog) -> Iterator[str]:
    """A list that was left at a page that names a next one."""
    for pages in _reads(story, "listMessages"):
        last = pages[-1]
        if is_success(last) and (cursor := answer(last).get("nextCursor")):
            count = len(answer(last).get("records", ()))
            yield f"{last.call.path} was read up to a page of {count} (#{last.n}) whose nextCursor is {str(cursor)[:12]}...: it stopped early"


def repeated_session_creates(story: ExampleLog) -> Iterator[str]:
    """Sessions created one after another in one step; one whose answer was lost is none that the client knows to have."""
    made = [each for each in story.new_of("createConnectionSession") if each.applied and is_success(each)]
    if len(made) >= _STORM or _hurried(made):
        yield f"{len(made)} connection sessions were created at a stroke ({', '.join(f'#{each.n}' for each in made)}): a session storm"


def _hurried(made: Sequence[JournalEntry]) -> bool:
    return any(second.at - first.at < SECOND for first, second in pairwise(made))


_POSTS = ("createCampaign", "createConnectionSession", "uploadMedia", "startCampaign", "cancelCampaign")
_HOPELESS = (400, 401, 403, 404, 409, 422)
_SAME_REFUSALS = 3
_TRANSIENT = (429, 500)


def _failed(exchange: JournalEntry) -> bool:
    return is_lost(exchange) or (exchange.status or 0) >= 500


def blind_restarts(story: ExampleLog) -> Iterator[str]:
    """A start repeated after its answer was lost, without a read of the campaign in between."""
    lost: dict[str, JournalEntry] = {}
    if not story.new_of("startCampaign"):
        return
    for each in story.of("startCampaign", "readCampaign", "readExecution", "listCampaigns"):
        if each.operation == "startCampaign":
            campaign = each.call.params["id"]
            if campaign in lost and not each.arrived_late:
                first = lost[campaign]
                yield f"start of {campaign} was sent again (#{each.n}) after its answer was lost (#{first.n}), without reading the campaign first: a duplicate start"
            if is_lost(each):
                lost[campaign] = each
        elif is_success(each):
            _read(lost, each)


def _read(lost: dict[str, JournalEntry], exchange: JournalEntry) -> None:
    if exchange.operation == "listCampaigns":
        lost.clear()
    else:
        lost.pop(exchange.call.params["id"], None)


def blind_retries(story: ExampleLog) -> Iterator[str]:
    """A create of a campaign repeated after a lost answer or a 5xx, with no read in between; of sessions and uploads there is none."""
    for first, second in pairwise(story.new_of("createCampaign")):
        if not _failed(first) or request(first) != request(second) or second.arrived_late:
            continue
        if not any(each.call.method == "GET" and is_success(each) for each in story.between(first, second)):
            how = "its answer was lost" if is_lost(first) else f"a {first.status}"
            yield f"{first.operation} was sent again as it was (#{second.n}) after {how} (#{first.n}), which may have taken effect: a blind retry"


def repeat_after_success(story: ExampleLog) -> Iterator[str]:
    """The same POST again after it had succeeded."""
    for first, second in pairwise(story.new_of(*_POSTS)):
        if is_success(first) and request(first) == request(second) and not second.arrived_late:
            yield f"{first.operation} was sent again (#{second.n}) although it had succeeded with {first.status} (#{first.n})"


def retry_after_final_error(story: ExampleLog) -> Iterator[str]:
    """The same call again and again after the same final refusal."""
    run: list[JournalEntry] = []
    for each in story.new:
        is_refused = not is_lost(each) and each.status in _HOPELESS
        same = run and request(run[-1]) == request(each) and code(run[-1]) == code(each)
        run = [*run, each] if is_refused and same else [each] if is_refused else []
        if len(run) == _SAME_REFUSALS:
            yield f"{each.operation} was sent {_SAME_REFUSALS} times and refused with {code(each) or each.status} each time: a hopeless retry"


def early_retry(story: ExampleLog) -> Iterator[str]:
    """The next call of a step earlier than a 429 asked for."""
    free_at: dict[str | None, tuple[Instant, int]] = {}
    for each in story.new:
        wait, told_by = free_at.get(each.tenant_id, (each.at, 0))
        if each.at < wait and not each.arrived_late:
            early = (wait - each.at) / SECOND
            yield f"{each.operation} was called (#{each.n}) {early:g} s before the Retry-After of #{told_by} was over"
        if not is_lost(each) and each.status == 429 and (asked := requested_wait(each)) is not None:
            free_at[each.tenant_id] = (each.at + asked, each.n)


def forgotten_cancels(story: ExampleLog) -> Iterator[str]:
    """A cancel that met an error that passes, tried once and never again, while the campaign goes on."""
    tries: dict[str, list[JournalEntry]] = {}
    for each in story.new_of("cancelCampaign"):
        tries.setdefault(each.call.params["id"], []).append(each)
    for campaign_id, (first, *more) in tries.items():
        tenant = story.owner(first)
        campaign = tenant.campaigns.get(campaign_id) if tenant else None
        passing = is_lost(first) or first.status in _TRANSIENT
        if passing and not more and campaign is not None and campaign.status == "processing":
            yield f"cancel of {campaign_id} failed (#{first.n}) and was not tried again: the campaign goes on sending"
