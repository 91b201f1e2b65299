"""The script of a document: each entry becomes a rule, or a problem with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.contract import choices, schemas
from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import ALIASES, EFFECTS
from mockserver.contract.endpoints import ENDPOINTS, OPERATIONS, named
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.nearest import nearest
from mockserver.core import campaigns, progress
from mockserver.core.instants import LATEST, Instant, as_shown
from mockserver.core.matching import readable
from mockserver.core.phones import BRAZIL, e164, expected
from mockserver.core.redaction import spelled
from mockserver.core.rules import Rule
from mockserver.core.sandbox import Sandbox
from mockserver.scenario import conditions
from mockserver.scenario.conditions import DELIVERY
from mockserver.scenario.problems import Problem, step
from mockserver.scenario.pruning import left_out
from mockserver.scenario.settings import choice_problem
from mockserver.scenario.wires import wait, wire_of

_DURATION = "a duration such as 20m, 1h30m, 3500ms, PT20M or seconds, never negative"
_TRIGGERS = ("on", "at", "after")
_CALLS_ONLY = ("skip", "nth", "every", "times", "from", "until", "where", "when")

Entry = Mapping[str, Any]


def put_in_force(sandbox: Sandbox, script: Sequence[Entry], scenario: str | None, problems: list[Problem]) -> list[str]:
    """Add the rules of a script to the sandbox, in order; answers their ids, and collects what is wrong."""
    made = []
    for number, entry in enumerate(script):
        rule = _rule(sandbox, entry, scenario, f"/script/{number}", problems)
        if rule is None:
            continue
        sandbox.script.add(rule)
        made.append(rule.id)
        _arm(sandbox, rule)
    return made


def _arm(sandbox: Sandbox, rule: Rule) -> None:
    """Have time fire the rule, where it waits for an instant or for progress."""
    if rule.at is not None:
        sandbox.arm(rule.at, "rule", "fire", "", rule.id, 0)
    if rule.sent is not None:
        for tenant in sandbox.tenants.values():
            for campaign in tenant.campaigns.values():
                execution = campaigns.active_execution(tenant, campaign)  # none lags behind a campaign that has ended
                if execution is not None:  # with its finish after the rule, where both fall on one instant
                    progress.bend(sandbox, tenant, execution, execution.sends)


def _rule(sandbox: Sandbox, entry: Entry, scenario: str | None, path: str, problems: list[Problem]) -> Rule | None:
    found = len(problems)
    if left_out(entry).isdisjoint(_TRIGGERS):
        _check_trigger(entry, path, problems)
        if len(problems) == found:
            conditions.check(entry, path, problems)
    effects = _effects(entry["do"], f"{path}/do", problems)
    _check_effects(entry, effects, f"{path}/do", problems)
    spans = {key: _span(entry.get(key), f"{path}/{key}", problems) for key in ("at", "from", "until")}
    wire = wire_of(effects, f"{path}/do", problems)
    since = as_shown(sandbox.now)  # as deadlines count, so that a rule can meet one
    due = {key: None if span is None else since + span for key, span in spans.items()}
    if due["at"] is not None and due["at"] > LATEST:
        problems.append(Problem(f"{path}/at", spelled(entry["at"]), "an instant before the year 10000"))
    if len(problems) > found:
        return None
    return _built(sandbox, entry, scenario, effects, wire, due)


def _built(
    sandbox: Sandbox, entry: Entry, scenario: str | None, effects: Entry, wire: Any, due: Mapping[str, Instant | None]
) -> Rule:
    on = entry.get("on")
    number = sandbox.count("rule")
    return Rule(
        seq=number,
        id=f"rule_{number}",
        scenario=scenario,
        written={key: value for key, value in entry.items() if key != "do"} | {"do": effects},
        applied_at=sandbox.now,
        operations=named(on) if on not in (None, DELIVERY) else (),
        deliveries=on == DELIVERY,
        at=due["at"],
        sent=entry.get("after", {}).get("sent"),
        skip=entry.get("skip", 0),
        nth=entry.get("nth"),
        every=entry.get("every"),
        times=entry.get("times"),
        chance=entry.get("chance"),
        opens=due["from"],
        closes=due["until"],
        where=entry.get("where", {}) if on == DELIVERY else readable(entry.get("where", {})),
        condition=entry.get("while", {}),
        early=entry.get("when") == "before",
        wire=wire,
        world=tuple(
            (name, parse_duration(args) if name == "advance" else args)
            for name, args in effects.items()
            if EFFECTS[name].group == "world"
        ),
        twists=effects.get("deliver"),
        must_fire=entry.get("mustFire", False),
    )


def _check_trigger(entry: Entry, path: str, problems: list[Problem]) -> None:
    triggers = [key for key in _TRIGGERS if key in entry]
    if len(triggers) != 1:
        problems.append(Problem(path, " and ".join(triggers) or "none", "exactly one of on, at and after"))
        return
    if "on" not in entry:
        _refuse(entry, _CALLS_ONLY, path, f"no {{}} beside {triggers[0]}: it belongs to `on`", problems)
        return
    on = entry["on"]
    if on != DELIVERY and not named(on):
        known = (*OPERATIONS, DELIVERY, "*", *(f"{row.method} {row.path}" for row in ENDPOINTS.values()))
        wanted = "an operation id, METHOD /path as the document writes it, *, or delivery"
        problems.append(Problem(f"{path}/on", spelled(on), wanted, nearest(on, known)))


def _refuse(entry: Entry, keys: Sequence[str], path: str, wanted: str, problems: list[Problem]) -> None:
    for key in keys:
        if key in entry:
            problems.append(Problem(f"{path}/{key}", spelled(entry[key]), wanted.format(key)))


def _effects(written: Entry, path: str, problems: list[Problem]) -> dict[str, Any]:
    """The effects under their own names, those known by another name translated."""
    effects: dict[str, Any] = {}
    for name, args in written.items():
        own, meant = ALIASES.get(name, (name, None))
        if own in effects or (name in ALIASES and own in written):
            problems.append(Problem(f"{path}/{name}", spelled(args), f"{own} once: {name} is another name of it"))
        if name in ALIASES and args is not True and schemas.check("scenario", {"script": [{"do": {own: args}}]}):
            problems.append(Problem(f"{path}/{name}", spelled(args), f"true, or what {own} takes, such as {meant!r}"))
        effects[own] = meant if name in ALIASES and args is True else args
    return effects


def _check_effects(entry: Entry, effects: Entry, path: str, problems: list[Problem]) -> None:
    groups = {EFFECTS[name].group for name in effects}
    on = entry.get("on")
    if "wire" in groups and on in (None, DELIVERY):
        bent = ", ".join(name for name in effects if EFFECTS[name].group == "wire")
        problems.append(Problem(path, bent, "effects on the wire only beside `on` an operation"))
    if "delivery" in groups and on != DELIVERY:
        problems.append(Problem(f"{path}/deliver", spelled(effects["deliver"]), "deliver only beside `on: delivery`"))
    phone = effects.get("complete-session", {}).get("phone")
    if phone is not None and e164(phone, BRAZIL) is None:
        problems.append(Problem(f"{path}/complete-session/phone", spelled(phone), expected(BRAZIL)))
    _check_new_key(effects.get("rotate-key", {}), f"{path}/rotate-key/key", problems)
    if "advance" in effects:
        _span(effects["advance"], f"{path}/advance", problems)
    if "delay" in effects.get("deliver", {}):
        wait(effects["deliver"]["delay"], f"{path}/deliver/delay", problems)
    _check_choices(effects, path, problems)
    _check_one_way(effects, path, problems)


def _check_new_key(rotated: Entry, path: str, problems: list[Problem]) -> None:
    """A secret key begins with sk_, and a public one with pk_: nothing else opens a door."""
    prefix = {"secret": "sk_", "public": "pk_"}[rotated.get("kind", "secret")]
    if "key" in rotated and not rotated["key"].startswith(prefix):
        problems.append(Problem(path, spelled(rotated["key"]), f"a key that begins with {prefix}"))


def _check_choices(effects: Entry, path: str, problems: list[Problem]) -> None:
    settings = dict(effects.get("set-choice", {}))
    if "rate-limit" in effects:
        settings["rate-limit-numbers"] = effects["rate-limit"]
    for choice_id, value in settings.items():
        wrong = choice_problem(choice_id, value, hints=len(problems) < PROBLEMS_MAX)
        if wrong is None and choice_id not in choices.CHOICES:
            wrong = Problem("", spelled(choice_id), "a choice; this is a fixed decision")
        if wrong is not None:
            place = f"/set-choice{step(choice_id)}" if choice_id in effects.get("set-choice", {}) else "/rate-limit"
            problems.append(wrong._replace(path=f"{path}{place}"))


def _check_one_way(effects: Entry, path: str, problems: list[Problem]) -> None:
    """Arguments of which only one can hold: which sends or files fail."""
    for name, ways in (("fail-sends", ("ratio", "every", "chats")), ("fail-media", ("ratio", "every", "names"))):
        given = [way for way in ways if way in effects.get(name, {})]
        if len(given) > 1:
            problems.append(Problem(f"{path}/{name}", ", ".join(given), f"one of {', '.join(ways)}"))


def _span(written: object, path: str, problems: list[Problem]) -> int | None:
    if written is None:
        return None
    span = parse_duration(written)
    if span is None:
        problems.append(Problem(path, spelled(written), _DURATION))
    return span
