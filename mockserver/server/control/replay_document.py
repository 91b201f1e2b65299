"""
The document that repeats a run: the sandbox's configuration, and then every call and every command in their order.

1. It contains no key: a call has the role of its key's owner, and keys follow from the seed again. Credentials that decide
   nothing but a rule's condition are masked in the condition as in the calls.
2. If the clock followed the process's, or the first commands are missing, each entry has its instant; else that follows from
   the entries before it.
3. An address of the sandbox itself is written `{base_url}`, since the next sandbox has another.
"""

from __future__ import annotations

import base64
import json
import re
import reprlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from mockserver._json import JSON
from mockserver.contract.choices import DEFAULTS
from mockserver.contract.text import number
from mockserver.core.instants import SECOND, format_exact
from mockserver.core.operations.validation import is_too_deep
from mockserver.core.redaction import KEY_LIKE, Redactor, is_form, mask
from mockserver.core.state.calls import Call
from mockserver.core.state.journal import CommandRecord, Journal, JournalEntry
from mockserver.core.state.sandbox import KeyOwner, SandboxState
from mockserver.scenario.apply import DEFAULT_TENANT
from mockserver.scenario.documents import to_plain
from mockserver.server.errors import ControlError
from mockserver.server.hosting.command_log import recorded_response, strict_json, without_addresses, without_secrets
from mockserver.server.hosting.config import config_document
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSnapshot
from mockserver.version import SCENARIO_VERSION

if TYPE_CHECKING:
    from mockserver.server.control import answers

NAME_MAX_CHARS: Final = 200  # of a scenario document's name
_HOSTED_PAGE = "/connect/"
_OF_ENDPOINTS = ("create_webhook", "recover", "rotate", "redeliver")  # a run that is repeated has no receivers
_KEY_LIKE = re.compile(KEY_LIKE.encode())
# Headers that a client library sends by itself, or that other members of an entry replace.
_OMITTED = frozenset(
    (
        "host",
        "user-agent",
        "accept",
        "accept-encoding",
        "accept-language",
        "connection",
        "content-length",
        "x-api-key",
        "origin",
        "referer",
    )
)


def read_replay(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> answers.Document:
    """Return the scenario document that repeats the run so far, for `mockserver replay-calls`."""
    name = args.get("name", "replay")
    if not 1 <= len(name) <= NAME_MAX_CHARS:
        expected = f"a text of 1 to {NAME_MAX_CHARS} characters"
        raise ControlError("MOCK_BAD_QUERY", f"name: got {reprlib.repr(name)}; expected {expected}")
    return document(snapshot, name)


def document(snapshot: HostedSnapshot, name: str) -> JSON:
    """Return the scenario document that repeats the sandbox's run, with `calls`."""
    state, initial = snapshot.state, snapshot.hosted.initial_checkpoint
    scenario, extra_seed_data = to_plain(config_document(snapshot.hosted.config)), snapshot.hosted.config.given
    hide = Redactor(state.secrets(), is_distinct=True)
    seed_data, first = scenario.get("given"), []
    if "given" not in scenario:
        seed_data = extra_seed_data
    elif extra_seed_data:
        first = [{"do": "apply_scenario", "with": {"given": hide.value(without_secrets(extra_seed_data))}}]
    calls = [
        *first,
        *_entries(state, _Hidden(hide, _addresses(snapshot), _omitted(state.journal)), initial.clock.frozen),
    ]
    journal = state.journal
    dropped = journal.dropped_commands + journal.last_exchange - len(journal.exchanges)
    summary = _summary(dropped, sum("cut" in entry for entry in calls))
    members: JSON = {
        "version": SCENARIO_VERSION,
        "scenario": hide.text(name),
        **({"summary": summary} if summary else {}),
        "seed": state.seed,
        "choices": {key: value for key, value in initial.choices.items() if value != DEFAULTS[key]},
        "clock": {"freeze": format_exact(initial.clock.now)},
        "given": hide.value(without_secrets(seed_data or {})),
        "script": hide.value(scenario.get("script", [])),
    }
    return {key: value for key, value in members.items() if value not in ({}, [])} | {"calls": calls}


def _summary(dropped: int, cut: int) -> str:
    """Return a text about what the document lacks: calls and commands dropped, and calls cut; empty if it contains all."""
    texts = []
    if dropped:
        texts.append(f"The first {dropped} calls and commands are missing: the journal holds only the last ones.")
    if cut:
        bodies = "The head or body of 1 call is" if cut == 1 else f"The heads or bodies of {cut} calls are"
        texts.append(f"{bodies} larger than the journal stores: not sent again.")
    return " ".join(texts)


class _Hidden(NamedTuple):
    """What an entry does not show: keys, the addresses of the sandbox, and headers that every client library sends."""

    keys: Redactor
    addresses: tuple[str, ...]
    headers: AbstractSet[str]

    def of(self, call: Call) -> tuple[str, ...]:
        """Return the addresses, with the one that the call was sent to."""
        return (call.base_url, *self.addresses)


def _omitted(journal: Journal) -> AbstractSet[str]:
    """Return the headers that entries leave out; what distinguishes several programs stays."""
    agents = {exchange.call.headers.get("user-agent") for exchange in journal.exchanges}
    return _OMITTED if len(agents) < 2 else _OMITTED - {"user-agent"}


def _addresses(snapshot: HostedSnapshot) -> tuple[str, ...]:
    """Return the addresses at which clients have reached the sandbox or may have."""
    of_sessions = [session.base_url for _, session in snapshot.state.records("session")]
    return tuple(dict.fromkeys((snapshot.hosted.base_url, IN_PROCESS_ORIGIN + snapshot.hosted.prefix, *of_sessions)))


def _entries(sandbox: SandboxState, hidden: _Hidden, was_frozen: bool) -> Iterator[JSON]:
    """Yield calls and commands in their order; a call that a rule deferred is at the place where it arrived."""
    journal = sandbox.journal
    follows = not was_frozen or any("follow" in step.arguments for step in journal.commands)
    timed = follows or journal.dropped_commands > 0
    for entry, exchange in _in_order(journal):
        at = {"at": format_exact(entry.at)} if timed else {}
        if isinstance(entry, JournalEntry):
            yield {**at, **_call(sandbox, hidden, entry.call, entry), "answer": _answer(hidden, entry)}
        elif entry.command == "call":
            timeout = entry.arguments["waits"]
            waits = {} if timeout is None else {"waits": timeout if timeout == "socket" else timeout / SECOND}
            answer = None if exchange is None else _answer(hidden, exchange)
            yield {**at, **_call(sandbox, hidden, entry.arguments["call"], exchange), **waits, "answer": answer}
        elif entry.command == "visit":
            yield {**at, **_call(sandbox, hidden, entry.arguments["call"])}
        elif entry.command not in _OF_ENDPOINTS and not (timed and entry.command in ("set_clock", "advance")):
            yield {**at, "do": entry.command, "with": hidden.keys.value(dict(entry.arguments))}


def _in_order(journal: Journal) -> Iterator[tuple[JournalEntry | CommandRecord, JournalEntry | None]]:
    """Yield exchanges and commands as they arrived, a deferred call with the exchange that it became, if its operation has run."""
    by_number = {entry.call.number: entry for entry in journal.exchanges if entry.call.number}
    steps = [
        (step, by_number.get(step.arguments["call"].number) if step.command == "call" else None)
        for step in journal.commands
    ]
    deferred = {exchange.n for _, exchange in steps if exchange is not None}
    places: list[tuple[int, int, JournalEntry | CommandRecord, JournalEntry | None]] = [
        (exchange.n, 0, exchange, None) for exchange in journal.exchanges if exchange.n not in deferred
    ]
    places += [(step.exchanges, number + 1, step, exchange) for number, (step, exchange) in enumerate(steps)]
    for _, _, entry, exchange in sorted(places, key=lambda place: place[:2]):
        yield entry, exchange


def _call(sandbox: SandboxState, hidden: _Hidden, call: Call, exchange: JournalEntry | None = None) -> JSON:
    """Return the call as its client sent it, with the role of its key's owner; `exchange` is what it became, if its operation has run."""
    hide = hidden.keys
    query = f"?{hide.parameters(urlencode(call.query))}" if call.query else ""
    tenant_id, value = (None, None) if exchange is None else (exchange.tenant_id, exchange.body)
    role = _role(sandbox.owner_at(call.key, tenant_id)) if "x-api-key" in call.headers else "none"
    headers = {name: value for name, value in call.headers.items() if name not in hidden.headers}
    if call.excess is not None:
        return {"call": f"{hide.text(call.method)} {hide.text(call.path)[:100]}", "cut": True}
    is_cut = call.cut_from_bytes is not None or call.body_failure is not None
    body = _cut_body(hidden, call, value) if is_cut else _body(sandbox, hidden, call)
    if "json" in body:
        headers.pop("content-type", None)
    entry: JSON = {"call": f"{hide.text(call.method)} {hide.text(call.path)}{query}"}
    entry |= {"key": role} if role != "secret" else {}
    return entry | ({"headers": hide.headers(headers)} if headers else {}) | body


def _role(owner: KeyOwner | None) -> str:
    """Return the role of a key: `secret` or `public`, after the tenant's id if it is not the default one; `unknown`."""
    if owner is None:
        return "unknown"
    return owner.kind if owner.tenant_id == DEFAULT_TENANT else f"{owner.tenant_id} {owner.kind}"


def _cut_body(hidden: _Hidden, call: Call, value: Any) -> JSON:
    """Return the JSON value of a body whose text the journal has cut; only the mark if it does not store the value."""
    if call.headers.get("content-type") != "application/json" or value is None:
        return {"cut": True}
    try:
        text = json.dumps(strict_json(value), ensure_ascii=False)
    except (ValueError, TypeError):  # the latter for a Decimal, which the API distinguishes from the nearest double
        return {"cut": True}
    neutral = without_addresses(text.encode(), hidden.of(call))
    return {"json": hidden.keys.value(json.loads(neutral))}


def _body(sandbox: SandboxState, hidden: _Hidden, call: Call) -> JSON:
    """Return the body as JSON, as text, or as base64 of its bytes; keys in it are redacted in each form."""
    if not call.body:
        return {}
    neutral, kind = without_addresses(call.body, hidden.of(call)), call.headers.get("content-type", "")
    # The fields of the hosted page's forms decide the visit, and follow from the seed.
    is_visit = call.path.startswith(_HOSTED_PAGE)
    hide = Redactor(sandbox.secrets(), by_name=False) if is_visit else hidden.keys
    try:
        text = neutral.decode()
        if kind == "application/json" and not is_too_deep(neutral):
            return {"json": hide.value(strict_json(json.loads(text, parse_float=_exact_double)))}
    except RecursionError:  # every operation refuses it for its nesting, so it is stored as text
        text = neutral.decode()
    except (ValueError, ArithmeticError):
        text = "\0"
    if all(char.isprintable() or char == "\n" for char in text):
        return {"body": hide.body(text, kind)}
    return {"base64": base64.b64encode(without_keys(sandbox, hide, call.body, kind)).decode()}


def without_keys(sandbox: SandboxState, hide: Redactor, body: bytes, content_type: str) -> bytes:
    """Return the bytes with keys redacted; all other bytes stay, also those that look like the beginning of a key."""
    if is_form(content_type):
        written = body.decode("utf-8", "surrogateescape")
        return hide.parameters(written).encode("utf-8", "surrogateescape")
    try:
        return hide.text(body.decode()).encode()
    except ValueError:
        for secret in sorted((text for text in sandbox.secrets() if len(text) > 3), key=len, reverse=True):
            body = body.replace(secret.encode(), mask(secret).encode())
        return _KEY_LIKE.sub(lambda match: match[0][:3] + b"...", body)


def _exact_double(text: str) -> float:
    """Return the number; ValueError if no double has this value, since it would be another one when it is sent again."""
    value = float(text)
    if number(text) == number(repr(value)):
        return value
    raise ValueError(f"{text[:40]} is not a double")


def _answer(hidden: _Hidden, exchange: JournalEntry) -> JSON | None:
    """Return the response, without a body if the journal holds only its beginning; None if the client got none."""
    if exchange.status is None:
        return None
    if exchange.answer_cut_from_bytes is not None:
        return {"status": exchange.status, "cut": True}
    return recorded_response(exchange.status, exchange.answer, hidden.of(exchange.call), hidden.keys)
