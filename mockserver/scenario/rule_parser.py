"""The parser of rules: each entry of a script becomes a rule, or problems with their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import DELIVERY, EFFECTS, WIRE_FAULTS, WITHOUT_RESPONSE, deciding
from mockserver.contract.effects.model import ReadWait
from mockserver.contract.effects.state import Subscription
from mockserver.contract.endpoints import ENDPOINTS, OPERATIONS, named
from mockserver.contract.lifecycles import CAMPAIGN, EVENTS, SESSION
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.text import closest_match, pointer_step
from mockserver.core.instants import DAY, LATEST, SHOWABLE, Instant, as_shown
from mockserver.core.operations import campaigns, sending
from mockserver.core.phone_numbers import EXPECTED, normalize_phone
from mockserver.core.redaction import to_json_text
from mockserver.core.state.matching import PATH_ROOTS, is_literal, normalize_conditions
from mockserver.core.state.rules import Rule, WireFaults
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.choices import choice_problem
from mockserver.scenario.problems import Problems, WrongPart

Entry = Mapping[str, Any]

_DURATION = "a duration such as 20m, 1h30m, 3500ms or seconds, never negative"
_LONGEST_WAIT = 366 * DAY  # no client waits longer
_LENGTH = re.compile("[0-9]{1,15}")  # RFC 9110 8.6: digits alone
# RFC 9110 7.6.1: headers of a connection, not of a response; the server frames responses itself.
_OF_THE_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
# A rule has at most one fault for each of these phases; it may have waits with any fault.
_FRAMING = ", ".join(deciding("transmission"))
_EXCLUSIVE = (deciding("operation"), deciding("transmission"), deciding("response"))
_OF_RESPONSES = tuple(dict.fromkeys((*deciding("operation"), *deciding("response"))))


def parse_wire_faults(effects: Mapping[str, Any], path: str, problems: Problems) -> WireFaults | None:
    """Return the faults of the wire as one record, None if there are none; append their problems to `problems`."""
    rows = [row for name, row in WIRE_FAULTS.items() if name in effects]
    if not rows:
        return None
    for group in _EXCLUSIVE:
        _refuse_several(group, effects, path, problems)
    lost, made = ([name for name in group if name in effects] for group in (WITHOUT_RESPONSE, _OF_RESPONSES))
    if lost and made:
        wanted = f"{lost[0]} without {' and '.join(made)}: its client gets no response"
        problems.append(WrongPart(path, f"{lost[0]} with {' and '.join(made)}", wanted))
    _check_headers(effects.get("reply", {}).get("headers", {}), f"{path}/reply/headers", problems)
    fields: dict[str, Any] = {}
    for row in rows:
        read_wait: ReadWait = partial(_wait, f"{path}/{row.name}", problems)
        fields |= row.fields(effects[row.name], read_wait)
    return WireFaults(**fields)


def _refuse_several(names: Sequence[str], given: Entry, path: str, problems: Problems) -> None:
    """Refuse more than one of the names."""
    found = [name for name in names if name in given]
    if len(found) > 1:
        problems.append(WrongPart(path, ", ".join(found), f"one of {', '.join(names)}"))


def _check_headers(headers: Mapping[str, str], path: str, problems: Problems) -> None:
    """Refuse headers that would break the framing of the response, which only faults of the wire do."""
    lengths = [name for name in headers if name.lower() == "content-length"]
    for name in headers:
        if name.lower() in _OF_THE_CONNECTION:
            wanted = f"a header of the response, not of the connection: the server frames it; {_FRAMING} change that"
            problems.append(WrongPart(path + pointer_step(name), f"the header {to_json_text(name)}", wanted))
    for name in lengths[1:]:
        wanted = f"one Content-Length; {lengths[0]} is another"
        problems.append(WrongPart(path + pointer_step(name), f"the header {to_json_text(name)}", wanted))
    if lengths and not _LENGTH.fullmatch(headers[lengths[0]]):
        wanted = "a length of 1 to 15 digits, such as 512"
        problems.add(path + pointer_step(lengths[0]), headers[lengths[0]], wanted)


def _wait(path: str, problems: Problems, written: object, below: str = "") -> int:
    """Return a wait in microseconds, 0 for an invalid one; `path` is the fault's place, `below` that of the wait in it."""
    duration = parse_duration(written)
    if duration is None:
        problems.add(path + below, written, _DURATION)
    elif duration > _LONGEST_WAIT:
        problems.add(path + below, written, "a wait of at most 366 days")
    return duration or 0


# With one of these keys a rule fires a bounded number of times; the last two fire once, or once for each execution.
BOUNDED = frozenset(("nth", "times", "at", "after"))
_TRIGGERS = ("on", "at", "after")
_CALLS_ONLY = ("skip", "nth", "every", "times", "from", "until", "where", "when")


def add_rules(sandbox: SandboxState, script: Sequence[Entry], scenario: str | None, problems: Problems) -> list[str]:
    """
    Add the rules of a script to the sandbox, in order.

    Args:
        sandbox: The sandbox; rules that wait for an instant or for progress are scheduled in it.
        script: The entries of the document's `script`, which the schema accepts.
        scenario: The document's name, for lists of rules.
        problems: Receives the problems of the entries; an entry with a problem adds no rule.

    Returns:
        The ids of the new rules.
    """
    rule_ids = []
    for number, entry in enumerate(script):
        rule = _rule(sandbox, entry, scenario, f"/script/{number}", problems)
        if rule is None:
            continue
        sandbox.rule_set.add(rule)
        rule_ids.append(rule.id)
        _schedule(sandbox, rule)
    return rule_ids


def _schedule(sandbox: SandboxState, rule: Rule) -> None:
    """Schedule the rule if it waits for an instant or for progress."""
    if rule.at is not None:
        sandbox.schedule(rule.at, "rule", "fire", "", rule.id, 0)
    if rule.after_sent is None:
        return
    for tenant, campaign in sandbox.records("campaign"):
        execution = campaigns.active_execution(tenant, campaign)  # none lags behind a campaign that has ended
        if execution is not None:  # schedules its finish after the rule, if both are due at one instant
            sending.replace_schedule(sandbox, tenant, execution, execution.schedule)


def _rule(sandbox: SandboxState, entry: Entry, scenario: str | None, path: str, problems: Problems) -> Rule | None:
    """Return the rule of an entry; None if it has a problem."""
    count_before, on, effects = len(problems), entry.get("on"), entry["do"]
    _check_trigger(entry, path, problems)
    if len(problems) == count_before:
        _check_conditions(entry, path, problems)
    _check_effects(entry, effects, f"{path}/do", problems)
    wire_faults = parse_wire_faults(effects, f"{path}/do", problems)
    due: dict[str, Instant | None] = {}
    for key in ("at", "from", "until"):
        duration = _duration(entry.get(key), f"{path}/{key}", problems)
        # Counted like deadlines, so that a rule can be due at one.
        due[key] = None if duration is None else as_shown(sandbox.now) + duration
    if due["at"] is not None and due["at"] > LATEST:
        problems.add(f"{path}/at", entry["at"], SHOWABLE)
    if len(problems) > count_before:
        return None
    number = sandbox.next_number("rule")
    return Rule(
        seq=number,
        id=f"rule_{number}",
        scenario=scenario,
        source={key: value for key, value in entry.items() if key != "do"} | {"do": effects},
        operations=named(on) if on not in (None, DELIVERY) else (),
        deliveries=on == DELIVERY,
        at=due["at"],
        after_sent=entry.get("after", {}).get("sent"),
        skip=entry.get("skip", 0),
        nth=entry.get("nth"),
        every=entry.get("every"),
        times=entry.get("times"),
        chance=entry.get("chance"),
        active_from=due["from"],
        active_until=due["until"],
        where=entry.get("where", {}) if on == DELIVERY else normalize_conditions(entry.get("where", {})),
        condition=entry.get("while", {}),
        before_operation=entry.get("when") == "before",
        wire_faults=wire_faults,
        state_effects=tuple(
            (name, EFFECTS[name].with_defaults(argument))
            for name, argument in effects.items()
            if EFFECTS[name].group == "state"
        ),
        delivery_faults=effects.get("deliver"),
    )


def _check_trigger(entry: Entry, path: str, problems: Problems) -> None:
    triggers = [key for key in _TRIGGERS if key in entry]
    if len(triggers) != 1:
        problems.append(WrongPart(path, " and ".join(triggers) or "none", "exactly one of on, at and after"))
        return
    if "on" not in entry:
        for key in (key for key in _CALLS_ONLY if key in entry):
            wanted = f"no {key} next to {triggers[0]}: it belongs to `on`"
            problems.add(f"{path}/{key}", entry[key], wanted)
        return
    on = entry["on"]
    if on != DELIVERY and not named(on):
        known = (*OPERATIONS, DELIVERY, "*", *(f"{row.method} {row.path}" for row in ENDPOINTS.values()))
        wanted = "an operation id, METHOD /path as in the API document, *, or delivery"
        problems.add(f"{path}/on", on, wanted, known)


# A name or value of `where`, `while`, `from` and `until` that can never occur is a problem: a literal one has to be one of
# the existing words; one with an operator (`!=`, `~`, `>=` ...) is accepted.
_OF_DELIVERY = ("event", "attempt")
_STATES: Mapping[str, Sequence[str]] = MappingProxyType(
    {"campaign": CAMPAIGN.states, "session": SESSION.states, "subscription": get_args(Subscription)}
)
_SIGNED_NUMBER = r"(>=|<=|!=|>|<)\s*-?[0-9]{1,15}\s*"


def _check_conditions(entry: Entry, path: str, problems: Problems) -> None:
    """Append the problems of a rule's conditions to `problems`; its trigger is valid."""
    for key, wanted in entry.get("where", {}).items():
        if entry.get("on") == DELIVERY:
            _check_delivery(key, wanted, f"{path}/where{pointer_step(key)}", problems)
        else:
            _check_path(key, named(entry.get("on", "")), f"{path}/where{pointer_step(key)}", problems)
    for key, wanted in entry.get("while", {}).items():
        place = f"{path}/while/{key}"
        if key in _STATES:
            _check_word(wanted, _STATES[key], place, problems)
        else:
            _check_number(wanted, place, problems)
    active_from, active_until = (parse_duration(entry[key]) if key in entry else None for key in ("from", "until"))
    if active_from is not None and active_until is not None and active_until <= active_from:
        problems.add(f"{path}/until", entry["until"], f"more than from, {entry['from']}")


def _check_delivery(key: str, wanted: Any, path: str, problems: Problems) -> None:
    if key not in _OF_DELIVERY:
        known = ", ".join(_OF_DELIVERY)
        problems.add(path, key, f"a path that begins with {known}", _OF_DELIVERY)
    elif key == "event":
        _check_word(wanted, tuple(EVENTS), path, problems)
    else:
        _check_number(wanted, path, problems)


def _check_path(key: str, operations: Sequence[str], path: str, problems: Problems) -> None:
    root, _, name = key.partition(".")
    if root not in PATH_ROOTS:
        valid = f"a path that begins with {', '.join(PATH_ROOTS)}, such as body.name"
        problems.append(WrongPart(path, to_json_text(key), valid, closest_match(root, PATH_ROOTS)))
        return
    if not name and root != "body":
        problems.add(path, key, f"{root}.NAME")
    if not name or root != "path":
        return
    parts = {part for operation in operations for part in ENDPOINTS[operation].path.split("/") if part.startswith("{")}
    known = sorted(f"path.{part[1:-1]}" for part in parts)
    if key not in known:
        valid = ", ".join(known) or "another root, as these paths have no parameters"
        problems.add(path, key, valid, known)


def _check_word(wanted: Any, words: Sequence[str], path: str, problems: Problems) -> None:
    if is_literal(wanted) and wanted not in words:
        problems.add(path, wanted, f"one of {', '.join(words)}", words)


def _check_number(wanted: Any, path: str, problems: Problems) -> None:
    text = wanted if isinstance(wanted, str) else ""
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if not is_number and not re.fullmatch(_SIGNED_NUMBER, text):
        problems.add(path, wanted, "a number, or one with a sign before it, such as >=20")


def _check_effects(entry: Entry, effects: Entry, path: str, problems: Problems) -> None:
    groups = {EFFECTS[name].group for name in effects}
    on = entry.get("on")
    if "wire" in groups and on in (None, DELIVERY):
        names = ", ".join(name for name in effects if EFFECTS[name].group == "wire")
        problems.append(WrongPart(path, names, "wire effects only with `on` an operation"))
    if "delivery" in groups and on != DELIVERY:
        problems.add(f"{path}/deliver", effects["deliver"], "deliver only with `on: delivery`")
    for name, argument in effects.items():
        if EFFECTS[name].alternatives:
            _refuse_several(EFFECTS[name].alternatives, argument, f"{path}/{name}", problems)
        if name in _CHECKS:
            _CHECKS[name](argument, f"{path}/{name}", problems)


def _check_phone(argument: Entry, path: str, problems: Problems) -> None:
    phone = argument.get("phone")
    if phone is not None and normalize_phone(phone) is None:
        problems.add(f"{path}/phone", phone, EXPECTED)


def _check_key(argument: Entry, path: str, problems: Problems) -> None:
    """Refuse a key that no call could be authenticated with."""
    kind = EFFECTS["rotate-key"].with_defaults(argument)["kind"]
    prefix = {"secret": "sk_", "public": "pk_"}[kind]
    if not argument.get("key", prefix).startswith(prefix):
        problems.add(f"{path}/key", argument["key"], f"a key that begins with {prefix}")


def _check_deliver(argument: Entry, path: str, problems: Problems) -> None:
    if "delay" in argument:
        _wait(path, problems, argument["delay"], "/delay")


def _check_choices(argument: Entry, path: str, problems: Problems) -> None:
    for id, value in argument.items():
        _check_choice(id, value, path + pointer_step(id), problems)


def _check_choice(id: str, value: Any, path: str, problems: Problems) -> None:
    problem = choice_problem(id, value, hints=len(problems) < PROBLEMS_MAX)
    if problem is not None:
        problems.append(problem._replace(path=path))


def _duration(written: object, path: str, problems: Problems) -> int | None:
    if written is None:
        return None
    duration = parse_duration(written)
    if duration is None:
        problems.add(path, written, _DURATION)
    return duration


# What the schema cannot express of the arguments of effects.
_CHECKS: Mapping[str, Callable[[Any, str, Problems], object]] = MappingProxyType(
    {
        "complete-session": _check_phone,
        "rotate-key": _check_key,
        "advance": _duration,
        "deliver": _check_deliver,
        "set-choice": _check_choices,
        "rate-limit": partial(_check_choice, "rate-limit-numbers"),
    }
)
