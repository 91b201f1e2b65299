"""What bent the world: rules that fired, calls that a rule delays, sends that have failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from mockserver._json import View
from mockserver.contract.clauses import sentence_of
from mockserver.contract.effects import DELIVERY, EFFECTS
from mockserver.contract.effects.descriptions import describe_rule
from mockserver.judge.client.receivers import REFUSALS
from mockserver.report.problem import Problem
from mockserver.report.run import words
from mockserver.report.run.causes import receivers
from mockserver.report.run.failure import Failure
from mockserver.report.run.rules import matched
from mockserver.report.run.snapshot import APPROVED, SandboxSnapshot
from mockserver.report.run.words import Call

_CAUSED_SHOWN: Final = 3  # of what one rule has caused
_SENDS_CLAUSE: Final = "send.failures"


def fired_rules(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield each rule that fired, with its calls and what it caused."""
    delaying = {id for call in snapshot.deferred for id in call["rules"]}
    rules = {rule["id"]: rule for rule in snapshot.rules if rule["fired"] and not _is_idle(rule)}
    rules = {id: rule for id, rule in rules.items() if id not in delaying}
    calls: dict[str, list[Call]] = {id: [] for id in rules}
    for call in snapshot.exchanges:
        if call.fault:
            calls.setdefault(call.fault["rule"], []).append(call)
    survived = words.survived(snapshot.exchanges)
    for id, own in calls.items():
        rule = rules.get(id, {})
        problem = _fired(snapshot, id, rule, own)
        is_survived = bool(own) and "did" not in rule and survived.issuperset(call.n for call in own)
        if is_survived or _was_forgery_refused(snapshot, rule):
            problem = replace(problem, rank="advice")
        yield problem


def _was_forgery_refused(snapshot: SandboxSnapshot, rule: View) -> bool:
    """Return True for a rule that forges requests, each of which its receiver refused, as it should."""
    forgery = rule.get("do", {}).get("deliver", {}).get("forge")
    if forgery is None:
        return False
    attempts = receivers.attempts(snapshot.events)
    statuses = {attempt.get("status") for attempt in attempts if attempt.get("fault") == forgery}
    return bool(statuses) and statuses <= {*REFUSALS}


def _fired(snapshot: SandboxSnapshot, id: str, rule: View, calls: Sequence[Call]) -> Problem:
    numbers = {call.n for call in calls}
    numbers |= {firing["exchange"] for firing in rule.get("did", ()) if firing["exchange"]}
    caused = list(dict.fromkeys([*_changes(snapshot, id, rule), *map(_outcome, calls)]))
    effects = rule.get("do", {})
    meanings = [EFFECTS[name].meaning for name in effects if effects[name] == {} and name in EFFECTS]
    did = "; ".join(caused[-_CAUSED_SHOWN:] or meanings)
    what = f"{id} ({describe_rule(rule)})" if rule else id
    times = f" {rule['fired']} times" if rule.get("fired", 1) > max(1, len(numbers)) else ""
    return Problem(
        headline=f"{what} fired{times}{f': {did}' if did else ''}",
        rank="fault",
        calls=words.lines_of(snapshot.exchanges, numbers),
        caused=list(_repetitions(snapshot, calls)),
        ids=[id],
    )


def _changes(snapshot: SandboxSnapshot, id: str, rule: View) -> Iterator[str]:
    """Yield what a rule has changed in the state."""
    for firing in rule.get("did", ()):
        for sends in firing.get("sends", ()):
            name = snapshot.names.get(sends["execution"], sends["execution"])
            if sends["failing"]:
                yield f"{sends['failing']} of {sends['of']} sends of {name} fail"
    for change in snapshot.transitions:
        if change["cause"].get("rule") == id:
            yield words.change(change, snapshot.names)


def _outcome(call: Call) -> str:
    """Return whether the operation of a call that a rule changed took effect, and what its client got."""
    effect = "took effect" if call.applied else "did not take effect"
    received = "the client got no answer" if call.status is None else f"the client got {call.status}"
    names = call.fault["effects"] if call.fault else ()
    meanings = [EFFECTS[name].meaning for name in names if name in EFFECTS]
    is_success = call.status is not None and call.status < 400
    meaning = f": {'; '.join(meanings)}" if meanings and is_success else ""
    return f"{call.operation or call.path} {effect}, {received}{meaning}"


def _repetitions(snapshot: SandboxSnapshot, calls: Sequence[Call]) -> Iterator[str]:
    """Yield a line for each of these calls that the next one repeats."""
    numbers = {call.n for call in calls}
    for n, call in words.repetitions(snapshot.exchanges).items():
        if call.n in numbers:
            yield f"#{n} is the same again: {words.BY_TRANSPORT}"


def delayed_calls(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the calls that a rule delays and that have not arrived yet."""
    rules = {rule["id"]: describe_rule(rule) for rule in snapshot.rules}
    for call in snapshot.deferred:
        by = ", ".join(f"{id} ({rules[id]})" if id in rules else id for id in call["rules"])
        yield Problem(
            headline=f"{call['method']} {call['path']} has not arrived yet: {by} delays it",
            rank="fault",
            ids=call["rules"],
        )


def unapproved_templates(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the executions whose sends failed as their template is not approved."""
    for execution in snapshot.unapproved:
        campaign, template = (snapshot.names.get(id, id) for id in (execution["campaignId"], execution["template"]))
        sends = execution["sends"]
        failed = f"{sends['failed']} of {words.counted(sends['target'], 'send')} of {campaign} failed"
        yield Problem(
            headline=f"{failed}: its template {template!r} is {execution['providerStatus']}, not {APPROVED}",
            sentence=sentence_of(_SENDS_CLAUSE),
            ids=[execution["campaignId"]],
        )


def without_effect(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the rules that had nothing to act on when they fired."""
    for rule in snapshot.rules:
        if _is_idle(rule):
            headline = f"{rule['id']} ({describe_rule(rule)}) had no effect: {rule['noTarget']}"
            yield Problem(headline=headline, ids=[rule["id"]])


def _is_idle(rule: View) -> bool:
    """Return True for a rule that had nothing to act on when it fired."""
    return "noTarget" in rule and "did" not in rule and rule.get("on") != DELIVERY


def idle_rules(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the rules of the test itself that never fired."""
    for rule in snapshot.rules:
        what = f"{rule['id']} ({describe_rule(rule)})"
        if not rule["fired"] and rule["scenario"] is None:
            yield Problem(headline=f"{what} never fired: {matched(rule['matched'])}", ids=[rule["id"]])
