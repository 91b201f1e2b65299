"""
A scenario that behaves as a recording shows: seed data for what it saw first, its choices, its clock, and rules for the rest.

1. A record is seed data if the recording shows it and does not have its creation.
2. What the service did without a call of the recording is a rule: a session that an end user finished, a campaign that failed, and
   an error that the state does not explain.
3. What could not be known is a comment.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.errors import ERRORS
from mockserver.core.instants import SECOND, Instant, format_milliseconds, parse
from mockserver.core.phone_numbers import normalize_phone
from mockserver.recordings.clocks import executions_of, service_instants, service_order
from mockserver.recordings.facts import Facts, rows_of
from mockserver.recordings.learning import LearnedChoice
from mockserver.recordings.orders import LISTS, seeds_of_order
from mockserver.recordings.playing import PlayDifference, play, tenants_of
from mockserver.recordings.replays import Replayer
from mockserver.recordings.seeding import COUNTRY, Seed
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.verify.histories.exchanges import RecordedExchange, Recording

_TRIED_MAX, _ALTERNATIVES_MAX = 20, 18  # answers, and combinations of options that are tried for each
_PLAYED_MAX: Final = 20_000  # calls of all plays that try a rule, or an option on which a status does not depend
_PLAYS_MIN: Final = 5  # of these plays, however long the recording is
_PROBLEMS_MAX: Final = 200  # records that are left out because the scenario would not be valid
# Choices on which the content of an answer depends, and that its status does not show.
_OF_CONTENT: Final[Mapping[str, Sequence[str]]] = {
    "listTemplates": ("list-order",), "previewAudience": ("group-no-statements", "date-only-and-naive"),
    "listMessages": ("short-pages", "page-stability"), "readConnectionSession": ("expiry-driver", "state-vs-event-order"),
    **dict.fromkeys(
        ("readCampaign", "readExecution"),
        ("audience-off-channel", "execution-status-lag", "late-sends-after-cancel", "start-empty-audience", "common-vars-extra-keys",
         "unapproved-template")),
}  # fmt: skip
# The calls whose answers depend on a write.
_WRITES: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(
        ("createCampaign", "startCampaign", "cancelCampaign"),
        ("createCampaign", "startCampaign", "cancelCampaign", "readCampaign", "readExecution", "listCampaigns")),
    "createConnectionSession": ("readConnectionSession", "readEntrypoint"),
}  # fmt: skip
# Fields that depend on the chats of an audience.
_OF_AUDIENCES: Final = frozenset(("targetCount", "sentCount", "failedCount", "progress", "estimatedCount"))
REASON: Final = "what leads to the answer of "  # begins the comment on an answer that is played otherwise


class World(NamedTuple):
    """A scenario document, and what the recording leaves open of it, each in one sentence."""

    document: JSON
    comments: tuple[str, ...]

    def as_yaml(self) -> str:
        """Return the document as YAML, with the comments at its head."""
        from ruamel.yaml import YAML

        yaml, out = YAML(), io.StringIO()
        yaml.width = 120
        yaml.dump(self.document, out)
        head = [
            "# Written from a recording; play it back with `mockserver inspect-recording --play THIS_FILE RECORDING`."
        ]
        return "\n".join(
            [*head, *(f"# Not known: {' '.join(comment.split())}" for comment in self.comments), out.getvalue()]
        )


def world(recording: Recording, learnt: Sequence[LearnedChoice]) -> World:
    """
    Return a scenario that behaves as the recording shows.

    Args:
        recording: With stand-ins for what is private.
        learnt: What the recording shows of the choices.
    """
    recording = replace(recording, exchanges=service_order(recording.exchanges))
    instants = service_instants(recording.exchanges)
    comments: list[str] = []
    choices = _choices(learnt, recording.exchanges)
    groups = tenants_of(recording)
    begin = min(instants.values(), default=0)
    given: JSON = {}
    for place, keys in enumerate(groups):
        calls = [
            exchange for exchange in recording.exchanges if exchange.key in keys or (not place and not exchange.key)
        ]
        own = Seed(calls, instants, begin, choices, comments).given()
        if place:
            given.setdefault("tenants", []).append({"id": f"tenant_{place + 1}", **own})
        else:
            given |= own
    document: JSON = {
        "scenario": "recording",
        "choices": choices,
        "clock": {"freeze": format_milliseconds(begin)},
        "given": given,
        "script": list(_rules(recording.exchanges, instants, begin)),
    }
    document = _valid({key: value for key, value in document.items() if value}, comments)
    document = _with_effects_of_lost_calls(document, recording)
    settled = {row.id for row in learnt if row.state == "settled"}
    document = _with_choices(document, recording, settled, comments)
    document = _with_errors(document, recording, comments)
    document = _with_counts(document, recording, comments)
    if "list-order" not in settled or choices["list-order"] == "shuffled":
        document = _with_seed(document, recording, comments)
    comments += _reasons(document, recording)
    return World(document, tuple(dict.fromkeys(comments)))


def _choices(learnt: Sequence[LearnedChoice], exchanges: Sequence[RecordedExchange]) -> dict[str, str]:
    """Return the settled options, of a set without the default its first, and the order of lists if one shows it."""
    settled = {row.id: row.options[0] for row in learnt if row.state == "settled"}
    sets = {
        row.id: row.options[0] for row in learnt if row.state == "set" and CHOICES[row.id].default not in row.options
    }
    order = {"list-order": "oldest-first"} if _adds_at_the_end(exchanges) else {}
    return order | settled | sets


def _adds_at_the_end(exchanges: Sequence[RecordedExchange]) -> bool:
    """Return True if the last campaign of a list is one that the recording created, and the first is not."""
    created = {
        row.response_json.get("campaignId")
        for row in exchanges
        if row.operation == "createCampaign" and row.succeeded and isinstance(row.response_json, dict)
    }
    lists = [
        [row.get("id") in created for row in rows_of(exchange.response_json, "campaigns")]
        for exchange in exchanges
        if exchange.operation == "listCampaigns" and exchange.succeeded
    ]
    return any(ours and ours[-1] and not ours[0] for ours in lists)


def _with_choices(document: JSON, recording: Recording, settled: set[str], comments: list[str]) -> JSON:
    """Return the document with options of open choices under which more answers are as recorded."""
    replayer = Replayer(Facts(recording))
    by_index = {exchange.index: exchange for exchange in recording.exchanges}
    differences = play(document, recording)
    tried: set[int] = set()
    while True:
        untried = [row for row in differences if row.n not in tried]
        if len(tried) >= _plays_of(recording):
            untried = [row for row in untried if row.place == "status"]
        row = next(iter(untried), None)
        if row is None or len(tried) >= _TRIED_MAX:
            return document
        tried.add(row.n)
        chosen = document.get("choices", {})
        for alternative in _alternatives(by_index[row.n], replayer, is_of_status=row.place == "status"):
            options = _new_options(alternative, chosen, settled)
            changed = {**document, "choices": {**chosen, **options}}
            played = _played(changed, recording) if options else None
            if played is not None and _distance(played) < _distance(differences):
                document, differences = changed, played
                names = ", ".join(f"{id}: {option}" for id, option in options.items())
                comments.append(f"whether the service has {names}; that explains #{row.n}")
                break


def _new_options(alternative: Mapping[str, str], chosen: Mapping[str, object], settled: set[str]) -> Mapping[str, str]:
    """Return the options of choices that the recording leaves open, other than those in force."""
    return {
        id: option
        for id, option in alternative.items()
        if id not in settled and option != chosen.get(id, CHOICES[id].default)
    }


def _played(document: JSON, recording: Recording) -> list[PlayDifference] | None:
    """Return the differences of a scenario; None if its seed data cannot be under its choices."""
    try:
        return play(document, recording)
    except ScenarioError:
        return None


def _with_seed(document: JSON, recording: Recording, comments: list[str]) -> JSON:
    """Return the document with a seed under which shuffled lists are in the recorded order, if no other order is."""
    lists = {exchange.index for exchange in recording.exchanges if exchange.operation in LISTS}
    differences = play(document, recording)
    if not any(row.n in lists and row.place.endswith("/id") for row in differences):
        return document
    shuffled = {**document, "choices": {**document.get("choices", {}), "list-order": "shuffled"}}
    for seed in islice(seeds_of_order(document, recording), _PLAYS_MIN):
        changed = {**shuffled, "seed": seed}
        if _distance(play(changed, recording)) < _distance(differences):
            comments.append("what decides the order of lists: the scenario has a seed with the recorded one")
            return changed
    return document


def _alternatives(exchange: RecordedExchange, replayer: Replayer, *, is_of_status: bool) -> list[dict[str, str]]:
    """Return the combinations of options to try for an answer that differs: in its status, or in its content."""
    if is_of_status:
        found = [{id: next(iter(options)) for id, options in each.items()} for each in replayer.fitting(exchange)]
    else:
        ids = _OF_CONTENT.get(exchange.operation or "", ())
        found = [{id: option} for id in ids for option in CHOICES[id].options]
    return found[:_ALTERNATIVES_MAX]


def _with_effects_of_lost_calls(document: JSON, recording: Recording) -> JSON:
    """Return the document in which calls without an answer took effect, if more answers then are as recorded."""
    distance = _distance(play(document, recording))
    lost = [place for place, rule in enumerate(document.get("script", ())) if rule["do"] == {"drop": "before"}]
    for place in lost[: _plays_of(recording)]:
        rule = document["script"][place]
        if distance != (0, 0):
            script = [*document["script"][:place], {**rule, "do": {"drop": "after"}}, *document["script"][place + 1 :]]
            changed = {**document, "script": script}
            if (nearer := _distance(play(changed, recording))) < distance:
                document, distance = changed, nearer
    return document


def _plays_of(recording: Recording) -> int:
    """Return how often a recording may be played to try something: a long one seldom."""
    return max(_PLAYS_MIN, _PLAYED_MAX // max(1, len(recording.exchanges)))


def _distance(differences: Sequence[PlayDifference]) -> tuple[int, int]:
    """Return the numbers of calls with another status and with any difference."""
    return len({row.n for row in differences if row.place == "status"}), len({row.n for row in differences})


def _valid(document: JSON, comments: list[str]) -> JSON:
    """Return the document without the entries that it cannot have; each of them is a comment."""
    for _ in range(_PROBLEMS_MAX):
        try:
            SandboxHost().create(SandboxConfig(document))
            return document
        except ScenarioError as refused:
            problem = refused.problems[0]
            steps = problem.path.strip("/").split("/")
            if not _drop(document, steps):
                raise
            comments.append(f"how the service has {'/'.join(steps[:4])}, which is left out: {problem}")
    return document


def _drop(document: Any, steps: Sequence[str]) -> bool:
    """Remove the entry of the first list on a path; return False if the path has no entry of a list."""
    for step in steps:
        if isinstance(document, list):
            number = next((number for number in range(len(document)) if str(number) == step), None)
            if number is not None:
                del document[number]
            return number is not None
        document = document.get(step) if isinstance(document, dict) else None
    return False


def _with_errors(document: JSON, recording: Recording, comments: list[str]) -> JSON:
    """Return the document with a rule for each recorded error that the state does not explain."""
    numbers = _numbers(recording.exchanges)
    by_index = {exchange.index: exchange for exchange in recording.exchanges}
    tried: set[int] = set()
    for _ in range(_plays_of(recording)):
        new = [
            row
            for row in play(document, recording)
            if row.place == "status" and row.code in ERRORS and row.n not in tried and by_index[row.n].operation
        ]
        if not new:
            break
        first = new[0]  # later ones may follow from it
        for row in new if first.code in ("INTERNAL_ERROR", "RATE_LIMIT_EXCEEDED") else [first]:
            tried.add(row.n)
            operation = by_index[row.n].operation
            rule = {"on": operation, "nth": numbers[row.n], "do": {"error": row.code}}
            document = {**document, "script": [*document.get("script", ()), rule]}
            comments.append(f"why #{row.n} ({operation}) was refused with {row.code}: a rule repeats it")
    return document


def _with_counts(document: JSON, recording: Recording, comments: list[str]) -> JSON:
    """Return the document with a rule for each size of an audience that its chats do not explain."""
    numbers = _numbers(recording.exchanges)
    by_index = {exchange.index: exchange for exchange in recording.exchanges}
    script = list(document.get("script", ()))
    for row in play(document, recording):
        call = by_index[row.n]
        if call.operation == "previewAudience" and row.place == "/estimatedCount":
            reply = {"status": call.status, "body": {"estimatedCount": call.response_json["estimatedCount"]}}
            script.append({"on": call.operation, "nth": numbers[row.n], "do": {"reply": reply}})
            comments.append(f"which chats #{row.n} (previewAudience) has counted: a rule repeats the number")
    return {**document, **({"script": script} if script else {})}


def _reasons(document: JSON, recording: Recording) -> Iterator[str]:
    """Yield for each call that the scenario answers otherwise than recorded why the recording cannot show what led to it."""
    by_index = {exchange.index: exchange for exchange in recording.exchanges}
    places: dict[int, set[str]] = defaultdict(set)
    for row in play(document, recording):
        places[row.n].add(row.place.rpartition("/")[2])
    for n, names in places.items():
        reason = _reason(_Differing(by_index[n], names, recording.exchanges))
        yield f"{REASON}#{n} ({by_index[n].operation}): {reason}"


class _Differing(NamedTuple):
    """An answer that is played otherwise, the names of the fields that differ, and what is recorded besides it."""

    exchange: RecordedExchange
    names: AbstractSet[str]
    exchanges: Sequence[RecordedExchange]

    def causes(self) -> list[RecordedExchange]:
        """Return the calls on which the answer may depend, by index."""
        rows = sorted(self.exchanges, key=lambda other: other.index)
        candidates = (row for row in rows if row is not self.exchange and not self.exchange.precedes(row))
        return [row for row in candidates if _may_lead_to(row, self.exchange)]


def _of_unknown_entrypoints(row: _Differing) -> Iterator[str]:
    if row.exchange.operation == "readEntrypoint":
        id = row.exchange.params.get("id", "")
        earlier = (other.response_body or b"" for other in row.exchanges if other.precedes(row.exchange))
        if not any(id.encode() in body for body in earlier):
            yield f"no earlier answer shows {id}, so it may be the entrypoint of any session"


def _of_left_out_bodies(row: _Differing) -> Iterator[str]:
    for cause in row.causes():
        if cause.request_body is None and cause.succeeded:
            yield f"#{cause.index} has no body of its request, so it cannot be played"


def _of_audiences(row: _Differing) -> Iterator[str]:
    if row.names & _OF_AUDIENCES:
        yield "no answer shows the chats of its audience"
    if row.exchange.operation == "listMessages" and any(each.operation == "startCampaign" for each in row.exchanges):
        yield "no answer shows the chats to which a campaign sends"


def _of_lists(row: _Differing) -> Iterator[str]:
    if row.exchange.operation in LISTS and "id" in row.names:
        yield "its list is sorted neither by newest nor by oldest, and no answer shows what decides its order"


def _of_lost_answers(row: _Differing) -> Iterator[str]:
    for cause in row.causes():
        if not cause.is_answered:
            yield f"#{cause.index} has no answer of the service, so its effect is unknown"


def _of_overlaps(row: _Differing) -> Iterator[str]:
    for cause, following in pairwise(sorted([*row.causes(), row.exchange], key=lambda other: other.index)):
        if not cause.precedes(following):
            yield f"#{cause.index} and #{following.index} overlap, and their order is open"


def _of_durations(row: _Differing) -> Iterator[str]:
    started = (cause for cause in row.causes() if cause.operation == "startCampaign" and cause.succeeded)
    if "status" in row.names:
        for cause in started:
            yield f"no answer shows how many chats #{cause.index} sends to, which decides when it ends"


def _of_events(row: _Differing) -> Iterator[str]:
    if row.exchange.operation == "readConnectionSession" and "status" in row.names:
        yield "the scenario has no receiver of webhooks, whose event may precede the end that a read shows"


# What may have led to an answer and is not in the recording, the surest first.
_REASONS: Final[Sequence[Callable[[_Differing], Iterator[str]]]] = (
    _of_unknown_entrypoints, _of_left_out_bodies, _of_audiences, _of_lists, _of_lost_answers, _of_overlaps, _of_durations,
    _of_events,
)  # fmt: skip


def _reason(row: _Differing) -> str:
    """Return why a recording leaves open what the fields of an answer depend on."""
    return next(chain.from_iterable(find(row) for find in _REASONS), "no call of the recording leads to it")


def _may_lead_to(cause: RecordedExchange, exchange: RecordedExchange) -> bool:
    """Return True if an answer may depend on a call: one on the same record, or on all of them."""
    if exchange.operation not in _WRITES.get(cause.operation or "", ()) or cause.key != exchange.key:
        return False
    ids = {cause.params.get("id"), exchange.params.get("id")} - {None}
    return len(ids) < 2 or cause.operation == "createConnectionSession"


def _numbers(exchanges: Sequence[RecordedExchange]) -> dict[int, int]:
    """Return the number of each call among those of its operation, by index."""
    counts: Counter[str] = Counter()
    numbers: dict[int, int] = {}
    for exchange in exchanges:
        if exchange.operation is not None and exchange.request_body is not None:
            counts[exchange.operation] += 1
            numbers[exchange.index] = counts[exchange.operation]
    return numbers


def _rules(exchanges: Sequence[RecordedExchange], instants: Mapping[int, Instant], begin: Instant) -> Iterator[JSON]:
    """Yield rules for what happened without a call of the recording, and for answers that did not arrive."""
    yield from _ends_of_sessions(exchanges, instants)
    yield from _ends_of_campaigns(exchanges, begin)
    numbers = _numbers(exchanges)
    for exchange in exchanges:
        if exchange.trouble == "no-answer" and exchange.index in numbers:
            yield {"on": exchange.operation, "nth": numbers[exchange.index], "do": {"drop": "before"}}


def _ends_of_sessions(exchanges: Sequence[RecordedExchange], instants: Mapping[int, Instant]) -> Iterator[JSON]:
    """
    Yield a rule for the end of each session: before the first read that shows it.

    If that read is after the deadline, or of the entrypoint while other sessions are pending, which a rule could end instead,
    the rule follows the last call that showed the session as pending.
    """
    deadlines: dict[str, Instant] = {}  # of the sessions that have not been seen at their end
    pending: dict[str, RecordedExchange] = {}  # the last call that showed each of these
    numbers = _numbers(exchanges)
    entrypoints: dict[str, RecordedExchange] = {}  # the first read of each
    for exchange in exchanges:
        body = exchange.response_json
        if not exchange.succeeded:
            continue
        if exchange.operation == "readEntrypoint":
            entrypoints.setdefault(exchange.params.get("id", ""), exchange)
        if not isinstance(body, dict):
            continue
        id, expires = str(body.get("sessionId")), parse(str(body.get("expiresAt")))
        if exchange.operation == "createConnectionSession" and expires is not None:
            deadlines[id], pending[id] = expires[0], exchange
        if exchange.operation != "readConnectionSession" or id not in deadlines:
            continue
        if body.get("status") == "pending":
            pending[id] = exchange
            continue
        is_late = instants[exchange.index] >= deadlines.pop(id)
        shown = pending.pop(id)
        effect = _end_of_session(body, is_late=is_late)
        if effect:
            entrypoint = body["entrypoint"].get("id") if isinstance(body.get("entrypoint"), dict) else None
            first = entrypoints.get(str(entrypoint), exchange)
            is_unclear = first is not exchange and bool(pending)
            cause, when = (shown, "after") if is_late or is_unclear else (first, "before")
            yield {"on": cause.operation, "nth": numbers[cause.index], "when": when, "do": effect}


def _end_of_session(body: Mapping[str, Any], *, is_late: bool) -> JSON:
    """Return the effect that ends a session as an answer shows; none for one that expires by itself."""
    status = body.get("status")
    if status == "completed" and isinstance(body.get("entrypoint"), dict):
        name, phone = body["entrypoint"].get("name"), str(body["entrypoint"].get("displayPhone"))
        is_valid = normalize_phone(phone, COUNTRY) is not None
        return {"complete-session": {**({"name": name} if name else {}), **({"phone": phone} if is_valid else {})}}
    if status == "failed":
        return {"fail-session": {"reason": body.get("reason") or "token_exchange_failed"}}
    return {"expire-session": {}} if status == "expired" and not is_late else {}


def _end(row: Mapping[str, Any], *, is_canceled: bool) -> str | None:
    """Return the effect that ended an execution with messages left; None if none did, or a cancel of the recording."""
    is_left = row.get("sentCount", 0) + row.get("failedCount", 0) < row.get("targetCount", 0)
    if not is_left or (row.get("status") == "canceled" and is_canceled):
        return None
    return {"failed": "fail-campaign", "canceled": "cancel-campaign"}.get(str(row.get("status")))


def _ends_of_campaigns(exchanges: Sequence[RecordedExchange], begin: Instant) -> Iterator[JSON]:
    """Yield a rule for each campaign that failed with messages left, or that another caller canceled."""
    done = [exchange for exchange in exchanges if exchange.succeeded]
    canceled = {exchange.params.get("id") for exchange in done if exchange.operation == "cancelCampaign"}
    started = {exchange.params.get("id") for exchange in done if exchange.operation == "startCampaign"}
    numbers, runs = _numbers(exchanges), executions_of(exchanges)
    seen: set[str] = set()
    for exchange in done:
        if exchange.operation != "readCampaign":
            continue
        id = exchange.params.get("id", "")
        for row in rows_of(exchange.response_json, "executions"):
            effect = _end(row, is_canceled=id in canceled)
            if effect is None or id in seen or id not in started:
                continue
            seen.add(id)
            ended = parse(str(runs.get(str(row.get("id")), row).get("completedAt")))
            if ended is not None and ended[0] > begin:
                yield {"at": f"{(ended[0] - begin) / SECOND:.3f}s", "do": {effect: {}}}
            else:
                yield {"on": "readCampaign", "nth": numbers[exchange.index], "when": "before", "do": {effect: {}}}
