"""
The document that repeats a run: what the sandbox was born from, and then every call and every command in their order.

1. No key stands in it: a call names the holder of its key, and keys are drawn from the seed again.
2. Where the clock followed the process's, each entry says when it came; else it follows from the entries before it.
3. An address of the sandbox itself is written `{base_url}`, since the next sandbox has another.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from mockserver.contract.choices import DEFAULTS
from mockserver.core.instants import SECOND, format_exact
from mockserver.core.operations.validation import is_too_deep, number
from mockserver.core.redaction import Redactor, mask
from mockserver.core.state.calls import Call
from mockserver.core.state.journal import CommandRecord, Journal, JournalEntry
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.apply import DEFAULT_TENANT
from mockserver.scenario.documents import to_plain
from mockserver.server.api.response import redactor
from mockserver.server.hosting.command_log import without_secrets
from mockserver.server.hosting.host import HostedSandbox, config_document

JSON = dict[str, Any]
BASE_URL = "{base_url}"
_ANSWER_MAX_BYTES = 20_000  # a larger answer is compared by its digest
_KEY_LIKE = re.compile(rb"\b(?:sk_|pk_|whsec_)[A-Za-z0-9_+/=\-]{12,}")  # longer than chance makes it in a file
# Headers that a client library sends by itself, and what says them otherwise.
_UNTOLD = frozenset(
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


def document(hosted: HostedSandbox, name: str = "replay") -> JSON:
    """The scenario document of what has happened in the sandbox, with `calls`."""
    with hosted.sandbox.lock:
        twin, birth = hosted.sandbox.clone(), hosted.initial_checkpoint
    born, given = to_plain(config_document(hosted.config)), hosted.config.given
    script = {"script": born["script"]} if "script" in born else {}
    hide = redactor(twin)
    first = [{"do": "apply_scenario", "with": {"given": without_secrets(given)}}] if given and "given" in born else []
    calls = [*first, *_entries(twin, hide, birth.clock.frozen)]
    found: JSON = {
        "scenario": hide.text(name),
        "summary": _missing(_lost(twin.journal), sum("cut" in each for each in calls)) or {},
        "seed": twin.seed,
        "choices": {key: value for key, value in birth.choices.items() if value != DEFAULTS[key]},
        "clock": {"freeze": format_exact(birth.clock.now)},
        "given": without_secrets(born.get("given") or ({} if "given" in born else given) or {}),
        **hide.value(script),
    }
    return {key: value for key, value in found.items() if value not in ({}, [])} | {"calls": calls}


def _lost(journal: Journal) -> int:
    """How many calls and commands have fallen out of the journal."""
    return journal.lost_steps + journal.last_exchange - len(journal.exchanges)


def _missing(lost: int, cut: int) -> str:
    """What of the run the document does not hold; nothing where it is all there."""
    said = [f"The first {lost} calls and commands are missing: the journal keeps the last alone."] if lost else []
    bodies = "The body of 1 call is" if cut == 1 else f"The bodies of {cut} calls are"
    return " ".join([*said, *([f"{bodies} larger than the journal keeps: not sent again."] if cut else [])])


def _entries(sandbox: SandboxState, hide: Redactor, was_frozen: bool) -> Iterator[JSON]:
    """Calls and steps in their order; a call that a script made wait stands where it came, not where it was answered."""
    journal = sandbox.journal
    timed = not was_frozen or any("follow" in step.arguments for step in journal.steps)
    waited = [step for step in journal.steps if step.command == "call"]
    by_number = {entry.call.number: entry for entry in journal.exchanges if entry.call.number}
    answered = {id(step): by_number.get(step.arguments["call"].number) for step in waited}
    taken = {each.n for each in answered.values() if each is not None}
    places: list[tuple[int, int, JournalEntry | CommandRecord]] = [
        (each.n, 0, each) for each in journal.exchanges if each.n not in taken
    ]
    places += [(step.exchanges, number + 1, step) for number, step in enumerate(journal.steps)]
    for _, _, what in sorted(places, key=lambda place: place[:2]):
        at = {"at": format_exact(what.at)} if timed else {}
        if isinstance(what, JournalEntry):
            yield {**at, **_call(sandbox, hide, what.call, what.body), "answer": _answer(hide, what)}
        elif what.command == "call":
            yield {**at, **_waiting(sandbox, hide, what, answered[id(what)])}
        elif what.command == "visit":
            yield {**at, **_call(sandbox, hide, what.arguments["call"])}
        elif not (timed and what.command in ("set_clock", "advance")):
            yield {**at, "do": what.command, "with": dict(what.arguments)}


def _waiting(sandbox: SandboxState, hide: Redactor, step: CommandRecord, answered: JournalEntry | None) -> JSON:
    waits = step.arguments["waits"]
    told = {} if waits is None else {"waits": waits if waits == "socket" else waits / SECOND}
    answer, read = (None, None) if answered is None else (_answer(hide, answered), answered.body)
    return {**_call(sandbox, hide, step.arguments["call"], read), **told, "answer": answer}


def _call(sandbox: SandboxState, hide: Redactor, call: Call, read: Any = None) -> JSON:
    """The call as its client made it, its key by the role of who holds it; `read` is its body's JSON value where it has one."""
    query = f"?{urlencode(call.query)}" if call.query else ""
    role = _role(sandbox, call.headers.get("x-api-key"))
    headers = {name: value for name, value in call.headers.items() if name not in _UNTOLD}
    is_cut = call.cut_from_bytes is not None
    body = _long_body(hide, call, read) if is_cut else _body(sandbox, hide, call)
    if "json" in body:
        headers.pop("content-type", None)
    told: JSON = {"call": f"{call.method} {hide.text(call.path)}{hide.text(query)}"}
    told |= {"key": role} if role != "secret" else {}
    return told | ({"headers": hide.value(headers)} if headers else {}) | body


def _role(sandbox: SandboxState, key: str | None) -> str:
    """Whose key this is: `secret` or `public`, after the tenant's id where it is not the default one; `unknown`, `none`."""
    if key is None:
        return "none"
    holder = sandbox.key_owner(key.strip())
    if holder is None:
        return "unknown"
    return holder.kind if holder.tenant_id == DEFAULT_TENANT else f"{holder.tenant_id} {holder.kind}"


def _long_body(hide: Redactor, call: Call, read: Any) -> JSON:
    """Of a body that was cut its JSON value, which is kept whole; whatever else it was is gone."""
    if call.headers.get("content-type") != "application/json" or read is None:
        return {"cut": True}
    try:
        written = json.dumps(_spellable(read), ensure_ascii=False)
    except (ValueError, TypeError):  # the latter for a Decimal, which the API tells from the double beside it
        return {"cut": True}
    neutral = written.replace(call.base_url, BASE_URL) if call.base_url else written
    return {"json": hide.value(json.loads(neutral))}


def _body(sandbox: SandboxState, hide: Redactor, call: Call) -> JSON:
    """The body as JSON, as text, or as base64 of its bytes; a key in it is in its short form whichever it is."""
    if not call.body:
        return {}
    neutral = call.body.replace(call.base_url.encode(), BASE_URL.encode()) if call.base_url else call.body
    try:
        text = neutral.decode()
        if call.headers.get("content-type") == "application/json" and not is_too_deep(neutral):
            return {"json": hide.value(_spellable(json.loads(text, parse_float=_kept_by_a_double)))}
    except RecursionError:  # refused by every operation for its nesting, so it goes as text
        text = neutral.decode()
    except (ValueError, ArithmeticError):
        text = "\0"
    if all(each.isprintable() or each == "\n" for each in text):
        return {"body": hide.text(text)}
    return {"base64": base64.b64encode(_without_keys(sandbox, hide, call.body)).decode()}


def _without_keys(sandbox: SandboxState, hide: Redactor, body: bytes) -> bytes:
    """The bytes with each key in its short form; of what is no text all other bytes stay, also where they look like a key's first."""
    try:
        return hide.text(body.decode()).encode()
    except ValueError:
        for secret in sorted((each for each in sandbox.secrets() if len(each) > 3), key=len, reverse=True):
            body = body.replace(secret.encode(), mask(secret).encode())
        return _KEY_LIKE.sub(lambda found: found[0][:3] + b"...", body)


def _kept_by_a_double(written: str) -> float:
    """The number; ValueError where the API tells the text from the double beside it: sent again it would be another value."""
    if not isinstance(number(written), Decimal):
        return float(written)
    raise ValueError(f"{written[:40]} is no double")


def _spellable(value: Any) -> Any:
    """The value, where strict JSON in UTF-8 can say it; ValueError for NaN and for half of a surrogate pair."""
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _answer(hide: Redactor, each: JournalEntry) -> JSON | None:
    """What came back, its status alone where the journal holds only the beginning of it; None where nothing did."""
    if each.status is not None and each.answer_cut_from_bytes is not None:
        return {"status": each.status, "cut": True}
    return None if each.status is None else answer(each.status, each.answer, each.call.base_url, hide)


def answer(status: int, body: bytes, base_url: str, hide: Redactor) -> JSON:
    """An answer in the form in which a document keeps it, to be compared with another."""
    neutral = body.replace(base_url.encode(), BASE_URL.encode())
    if len(neutral) > _ANSWER_MAX_BYTES:
        return {"status": status, "bytes": len(neutral), "sha256": hashlib.sha256(neutral).hexdigest()}
    try:
        shown: Any = hide.value(_spellable(json.loads(neutral))) if neutral else None
    except (ValueError, RecursionError):
        shown = hide.text(neutral.decode("utf-8", "backslashreplace"))
    return {"status": status} if shown is None else {"status": status, "body": shown}
