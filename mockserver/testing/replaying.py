"""Repeating a run from its document: each call is sent again to a fresh sandbox, and its answer held to the recorded one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Any, NamedTuple, TextIO

from mockserver.contract.limits import JOURNAL_BODY_MAX_BYTES
from mockserver.contract.nearest import nearest_hint
from mockserver.contract.printable import printable
from mockserver.core.instants import SECOND, Span, parse
from mockserver.core.matching import Difference
from mockserver.core.sandbox import Sandbox
from mockserver.edge import control, front, replays
from mockserver.edge.doors import PATIENT, Door, InProcess
from mockserver.edge.gateway import Wire
from mockserver.edge.hosting import Host, Hosted, Recipe
from mockserver.edge.narrator import describe
from mockserver.edge.refusals import ControlError
from mockserver.edge.replies import Answer, Waited, redactor
from mockserver.scenario.documents import plain
from mockserver.testing import transports
from mockserver.testing.exchanges import leaves, unlike

JSON = dict[str, Any]
_SHOWN_CHARS = 500
_UNKNOWN_KEY = "sk_unknown"
_CUT = f"  its body was larger than the {JOURNAL_BODY_MAX_BYTES // 1024} KiB that the journal keeps"


class Outcome(NamedTuple):
    """One entry of the document and what came of it; `differs` says, one a line, where that is not as recorded."""

    told: str
    answer: JSON | None
    body: bytes
    differs: list[str]
    is_call: bool = True


class _OnTheSpot(NamedTuple):
    """The door of a call whose scripted wait was spent in real time: here it takes none, and moves no clock."""

    forsaken: bool

    def wait(self, sandbox: Sandbox, epoch: int, span: Span) -> Waited:
        return "passed"

    def if_lost(self, note: Callable[[], None]) -> None:
        if self.forsaken:
            note()

    def is_reused(self) -> bool:
        return False

    def limit(self) -> Span | None:
        return None


def replay(document: Mapping[str, Any]) -> Iterator[Outcome]:
    """Each entry of `calls` in its order, in a sandbox of its own that is born from the rest of the document."""
    host = Host()
    hosted = host.create(Recipe(document))  # which refuses the document whole, its calls included
    for entry in plain(document.get("calls", ())):
        _hang_up(hosted)
        if "at" in entry:
            _pass_to(hosted, entry["at"])
        yield _called(hosted, entry) if "call" in entry else _done(hosted, entry)


def tell(document: Mapping[str, Any], out: TextIO) -> int:
    """
    Repeat the run and print each entry with its answer and where it differs; 0 where none does, else 1.

    Refuses a document without calls with ValueError.
    """
    _refuse_without_calls(document)
    count = differing = 0
    for outcome in replay(document):
        count, differing = count + 1, differing + bool(outcome.differs)
        print("\n".join(map(printable, _lines(outcome))), file=out)
    entries = "1 call or command" if count == 1 else f"{count} calls and commands"
    print(f"{entries}, {differing or 'none'} with another outcome than recorded", file=out)
    return 1 if differing else 0


def _refuse_without_calls(document: Mapping[str, Any]) -> None:
    """A scenario, such as the one a failing machine leaves, has rules and data, and no call that could be sent."""
    if document.get("calls"):
        return
    Host().create(Recipe(document))  # which refuses a document that is no scenario either, with all its problems
    name = document.get("scenario")
    named = f" {name!r}" if isinstance(name, str) else ""
    raise ValueError(
        f"the document{named} holds no calls, so there is nothing to send again; "
        "it is a scenario: use it as @pytest.mark.mockserver(scenario=FILE) or `mockserver play FILE`"
    )


def _lines(outcome: Outcome) -> Iterator[str]:
    came = "no answer" if outcome.answer is None else outcome.answer["status"]
    yield f"{outcome.told} -> {came}" if outcome.is_call else outcome.told
    if outcome.body:
        yield f"  {outcome.body.decode('utf-8', 'backslashreplace')[:_SHOWN_CHARS]}"
    yield from (f"  differs:{each}" for each in outcome.differs)


def _pass_to(hosted: Hosted, written: str) -> None:
    read = parse(written)
    if read is not None and read[0] > hosted.sandbox.now:
        hosted.advance(to=read[0])


def _hang_up(hosted: Hosted) -> None:
    """A repeated run calls no receiver: nothing of what the API answers hangs on that."""
    for tenant in hosted.sandbox.tenants.values():
        tenant.webhooks.clear()


def _done(hosted: Hosted, entry: JSON) -> Outcome:
    name, arguments = entry["do"], entry.get("with", {})
    command = next((row.command for row in control.ROUTES if row.command.__name__ == name), None)
    if command is None:
        hint = nearest_hint(name, [row.command.__name__ for row in control.ROUTES if row.method != "GET"])
        raise ValueError(f"no command is called {name!r}{hint}")
    try:
        control.run(hosted, command, arguments)
    except ControlError as refusal:
        return Outcome(step(name, arguments), None, b"", [f"  refused: {refusal.message}"], False)
    return Outcome(step(name, arguments), None, b"", [], False)


def step(name: str, arguments: Mapping[str, Any]) -> str:
    """A command in one line."""
    if set(arguments) == {"script"}:
        return "; ".join(f"rule {describe(each)}" for each in arguments["script"])
    written = ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value, default=float)}"
        for key, value in arguments.items()
    )
    return f"{name.replace('_', ' ')} {written if len(written) <= 90 else written[:87] + '...'}".rstrip()


def _called(hosted: Hosted, entry: JSON) -> Outcome:
    recorded = entry.get("answer")
    if "cut" in entry:
        return Outcome(f"{entry['call']}, not sent", None, b"", [_CUT], False)
    method, _, target = entry["call"].partition(" ")
    wire = Wire(method, target, _headers(hosted, entry), _sent(hosted, entry), hosted.base_url)
    waits = entry.get("waits")
    door: Door = (
        PATIENT
        if waits is None
        else InProcess(round(waits * SECOND))
        if waits != "socket"
        else _OnTheSpot(recorded is None)
    )
    said = front.respond(hosted.host, wire, hosted, door)
    lost = waits == "socket" and recorded is None
    came, body = (None, b"") if lost else _came(hosted, said)
    return Outcome(entry["call"], came, body, [] if "answer" not in entry else _differences(recorded, came))


def _headers(hosted: Hosted, entry: JSON) -> dict[str, str]:
    headers = dict(entry.get("headers", {}))
    if "json" in entry:
        headers["content-type"] = "application/json"
    tenant_id, _, kind = entry.get("key", "secret").rpartition(" ")
    tenant = hosted.sandbox.tenants.get(tenant_id) if tenant_id else hosted.tenant
    if kind in ("secret", "public") and tenant is not None:
        headers["x-api-key"] = tenant.secret_key if kind == "secret" else tenant.public_key
    elif kind != "none":
        headers["x-api-key"] = _UNKNOWN_KEY
    return headers


def _sent(hosted: Hosted, entry: JSON) -> bytes:
    if "base64" in entry:
        return base64.b64decode(entry["base64"])
    text = json.dumps(entry["json"]) if "json" in entry else entry.get("body", "")
    return str(text).replace(replays.BASE_URL, hosted.base_url).encode()


def _came(hosted: Hosted, said: Answer) -> tuple[JSON | None, bytes]:
    """What the client got; a body that breaks off as far as it came."""
    try:
        body = transports.whole(said)
    except HTTPException as broken:
        body = getattr(broken, "partial", b"")
    except OSError:
        return None, b""
    if not said.status:
        return None, b""
    return replays.answer(said.status, body, hosted.base_url, redactor(hosted.sandbox)), body


def _differences(recorded: JSON | None, came: JSON | None) -> list[str]:
    if recorded is None or came is None:
        one, other = (("no answer" if each is None else f"{each['status']}") for each in (recorded, came))
        return [] if recorded == came else [f"  {other}, recorded was {one}"]
    if "cut" in recorded:  # the document has the status alone
        recorded, came = {"status": recorded["status"]}, {"status": came["status"]}
    found: list[Difference] = leaves("answer", recorded, came) if recorded != came else []
    return [each.replace(", wanted ", ", recorded was ") for each in unlike(found)]
