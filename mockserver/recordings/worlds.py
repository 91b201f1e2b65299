"""
A scenario that behaves as a recording shows: seed data for what it saw first, its choices, its clock, and rules for the rest.

1. A record is seed data if the recording shows it and does not have its creation.
2. What the service did without a call of the recording is a rule: a session that an end user finished, a campaign that failed, and
   an error that the state does not explain.
3. What could not be known is a comment.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.errors import ERRORS
from mockserver.core.instants import SECOND, Instant, format_milliseconds, parse
from mockserver.core.phone_numbers import normalize_phone
from mockserver.recordings.clocks import executions_of, service_instants
from mockserver.recordings.facts import Facts, rows_of
from mockserver.recordings.learning import LearnedChoice
from mockserver.recordings.playing import play, tenants_of
from mockserver.recordings.replays import Replayer
from mockserver.recordings.seeding import COUNTRY, Seed
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.verify.histories.exchanges import RecordedExchange, Recording

_TRIED_MAX, _ALTERNATIVES_MAX = 20, 12  # answers, and combinations of options that are tried for each
_ROUNDS_MAX: Final = 5  # of adding rules for errors that the state does not explain
_PROBLEMS_MAX: Final = 200  # records that are left out because the scenario would not be valid


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
        head = ["# Written from a recording; play it back with `mockserver recording --play THIS_FILE RECORDING`."]
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
    instants = service_instants(recording.exchanges)
    comments: list[str] = []
    choices = _choices(learnt)
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
    document = _with_choices(document, recording, {row.id for row in learnt if row.state == "settled"}, comments)
    return World(_with_errors(document, recording, comments), tuple(dict.fromkeys(comments)))


def _choices(learnt: Sequence[LearnedChoice]) -> dict[str, str]:
    """Return the settled options, and of a set without the default its first."""
    settled = {row.id: row.options[0] for row in learnt if row.state == "settled"}
    sets = {
        row.id: row.options[0] for row in learnt if row.state == "set" and CHOICES[row.id].default not in row.options
    }
    return settled | sets


def _with_choices(document: JSON, recording: Recording, settled: set[str], comments: list[str]) -> JSON:
    """Return the document with options of open choices under which more answers are as recorded."""
    replayer = Replayer(Facts(recording))
    by_index = {exchange.index: exchange for exchange in recording.exchanges}
    differences = play(document, recording)
    tried: set[int] = set()
    while True:
        row = next((row for row in differences if row.place == "status" and row.n not in tried), None)
        if row is None or len(tried) >= _TRIED_MAX:
            return document
        tried.add(row.n)
        for alternative in replayer.fitting(by_index[row.n])[:_ALTERNATIVES_MAX]:
            options = {id: next(iter(options)) for id, options in alternative.items() if id not in settled}
            changed = {**document, "choices": {**document.get("choices", {}), **options}}
            played = play(changed, recording)
            if len(played) < len(differences):
                document, differences = changed, played
                chosen = ", ".join(f"{id}: {option}" for id, option in options.items())
                comments.append(f"whether the service has {chosen}, which explain #{row.n}")
                break


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
            comments.append(f"{'/'.join(steps[:4])} is left out: {problem}")
    return document


def _drop(document: Any, steps: Sequence[str]) -> bool:
    """Remove the entry of the innermost list on a path; return False if the path has no list."""
    entries, place = None, 0
    for step in steps:
        if isinstance(document, list):
            number = next((number for number in range(len(document)) if str(number) == step), None)
            if number is None:
                break
            entries, place = document, number
            break
        if not isinstance(document, dict) or step not in document:
            break
        document = document[step]
    if entries is None:
        return False
    del entries[place]
    return True


def _with_errors(document: JSON, recording: Recording, comments: list[str]) -> JSON:
    """Return the document with a rule for each recorded error that the state does not explain."""
    numbers = _numbers(recording.exchanges)
    by_index = {exchange.index: exchange for exchange in recording.exchanges}
    tried: set[int] = set()
    for _ in range(_ROUNDS_MAX):
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

    If that read is after the deadline, the rule follows the last call that showed the session as pending.
    """
    deadlines: dict[str, Instant] = {}
    pending: dict[str, RecordedExchange] = {}
    ended: set[str] = set()
    numbers = _numbers(exchanges)
    for exchange in exchanges:
        body = exchange.response_json
        if not exchange.succeeded or not isinstance(body, dict):
            continue
        id, expires = str(body.get("sessionId")), parse(str(body.get("expiresAt")))
        if exchange.operation == "createConnectionSession" and expires is not None:
            deadlines[id], pending[id] = expires[0], exchange
        if exchange.operation != "readConnectionSession" or id not in deadlines or id in ended:
            continue
        if body.get("status") == "pending":
            pending[id] = exchange
            continue
        ended.add(id)
        is_late = instants[exchange.index] >= deadlines[id]
        effect = _end_of_session(body, is_late=is_late)
        if effect:
            cause, when = (pending[id], "after") if is_late else (exchange, "before")
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
