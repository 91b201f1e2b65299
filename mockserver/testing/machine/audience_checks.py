"""Invariants on what is asked for: whom a campaign reaches, how fast, with which values; and where keys stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.contract.filters import FIELDS
from mockserver.contract.nearest import nearest
from mockserver.core.instants import parse
from mockserver.core.journal import Exchange
from mockserver.core.records import Campaign, Execution
from mockserver.testing.machine.story import Story

_FAR_BEYOND = 10  # times the ceiling: no slip of the pen, but of the unit


def _started(story: Story) -> Iterator[tuple[Exchange, Campaign, Execution]]:
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


def _body(exchange: Exchange) -> Mapping[str, Any]:
    return exchange.body if isinstance(exchange.body, dict) else {}


def lost_filters(story: Story) -> Iterator[str]:
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


def off_platform(story: Story) -> Iterator[str]:
    """A campaign that reaches chats of other platforms, and has no filter on the platform."""
    for start, campaign, execution in _started(story):
        fields = {each["field"] for group in campaign.filters or () for each in group["statements"]}
        others = sorted({chat.platform for chat in execution.targets} - {campaign.platform})
        if others and "chat.platform" not in fields:
            yield f"campaign {campaign.id} on {campaign.platform} was started (#{start.n}) for chats on {', '.join(others)} too: platform taken for the audience"


def cadences(story: Story) -> Iterator[str]:
    """A cadence far beyond the platform's ceiling: a unit mistaken."""
    ceilings: Any = story.sandbox.choices["throughput-ceilings"]
    for each in story.new_of("createCampaign"):
        cadence, ceiling = _body(each).get("cadence"), ceilings.get(_body(each).get("platform"))
        if each.applied and ceiling and isinstance(cadence, int) and cadence > _FAR_BEYOND * ceiling:
            yield f"a campaign of {cadence} messages per minute (#{each.n}), where the platform makes {ceiling}: a cadence in another unit?"


def variables(story: Story) -> Iterator[str]:
    """Values for what is no manual variable of the template."""
    for start, campaign, execution in _started(story):
        manual = {each.key for each in execution.template.variables if each.source is None}
        strange = sorted(set(execution.values) - manual)
        if strange:
            yield f"start of {campaign.id} (#{start.n}) gave values for {', '.join(strange)}; the template asks for {', '.join(sorted(manual)) or 'none'}"


def naive_dates(story: Story) -> Iterator[str]:
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


def secrets(story: Story) -> Iterator[str]:
    """A key or signing secret anywhere but in X-API-Key."""
    known = story.sandbox.secrets() if story.new else []
    for each in story.new:
        places = _texts(each)
        everything = "\n".join(places.values())
        for place in (place for secret in known if secret in everything for place in places if secret in places[place]):
            yield f"{each.operation} (#{each.n}) carries a key in {place}"


def _texts(exchange: Exchange) -> Mapping[str, str]:
    """The places of a request where no key belongs, with what stands there."""
    call = exchange.call
    headers = {f"the header {name}": value for name, value in call.headers.items() if name != "x-api-key"}
    return {
        "the path": call.path,
        "the query": " ".join(value for _, value in call.query),
        "the body": (call.body or b"").decode("utf-8", "replace"),
        **headers,
    }
