"""Repeat a run from its document: send each call to a new sandbox, and compare its response with the recorded one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Any, NamedTuple, TextIO

from mockserver._json import JSON
from mockserver.contract.limits import JOURNAL_BODY_MAX_BYTES
from mockserver.contract.text import brief, printable
from mockserver.core.instants import SECOND, Duration, parse
from mockserver.core.state.matching import PathDifference
from mockserver.core.state.sandbox import SandboxState
from mockserver.report.run.commands import format_command
from mockserver.report.run.exchanges import format_differences, json_differences
from mockserver.scenario.documents import to_plain
from mockserver.server import front_controller
from mockserver.server.exchange import NO_TIMEOUT, ClientWait, VirtualWait
from mockserver.server.hosting.command_log import BASE_URL, recorded_response
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.testing.backend import run_recorded
from mockserver.testing.transports import in_process
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, NoResponse, Waited, redactor

_SHOWN_CHARS = 500
_UNKNOWN_KEY = "sk_unknown"
_WAITS_MAX = 10**11  # seconds; longer than all instants that can be shown
_CUT = f"  its head or body was larger than what the journal records, of a body {JOURNAL_BODY_MAX_BYTES // 1024} KiB"


class ReplayedEntry(NamedTuple):
    """One entry of the document and its result; `differences` are those from the recorded one, one per line."""

    label: str
    answer: JSON | None
    body: bytes
    differences: list[str]
    is_call: bool = True


class NoWait(NamedTuple):
    """The client of a call whose wait took real time: in a replay it takes none, and does not move the clock."""

    disconnects: bool

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> Waited:
        return "passed"

    def stored_body(self) -> None:
        """Return None: the document has the body."""

    def if_lost(self, note: Callable[[], None]) -> None:
        if self.disconnects:
            note()

    def is_reused(self) -> bool:
        return False

    def timeout(self) -> Duration | None:
        return None


def replay(document: Mapping[str, Any]) -> Iterator[ReplayedEntry]:
    """Yield the result of each entry of `calls`, in a sandbox that is created from the rest of the document."""
    hosted = SandboxHost().create(SandboxConfig(document))  # which validates the whole document, with its calls
    for entry in to_plain(document.get("calls", ())):
        _drop_receivers(hosted)
        instant = parse(entry["at"]) if "at" in entry else None
        if instant is not None and instant[0] > hosted.sandbox.now:
            hosted.dispatch.advance(to=instant[0])
        if "call" in entry:
            outcome = _send(hosted, entry)
        else:
            name, arguments = entry["do"], entry.get("with", {})
            refusal = run_recorded(hosted, name, arguments)
            refused = [f"  refused: {refusal}"] if refusal else []
            outcome = ReplayedEntry(format_command(name, arguments), None, b"", refused, is_call=False)
        yield outcome


def print_replay(document: Mapping[str, Any], out: TextIO) -> int:
    """
    Repeat the run and print each entry with its response and its differences; return 0 if there are none, else 1.

    Raises:
        ValueError: The document has no calls.
    """
    if not document.get("calls"):
        SandboxHost().create(SandboxConfig(document))  # refuses an invalid document, with all its problems
        name = document.get("scenario")
        named = f" {name!r}" if isinstance(name, str) else ""
        raise ValueError(
            f"got the document{named} without calls; expected calls to send again: "
            "a scenario is for @pytest.mark.mockserver(scenario=FILE) or `mockserver play FILE`"
        )
    count = differing = 0
    for outcome in replay(document):
        count, differing = count + 1, differing + bool(outcome.differences)
        result = "no answer" if outcome.answer is None else outcome.answer["status"]
        lines = [f"{outcome.label} -> {result}" if outcome.is_call else outcome.label]
        if outcome.body:
            lines.append(f"  {outcome.body.decode('utf-8', 'backslashreplace')[:_SHOWN_CHARS]}")
        lines += [f"  differs:{difference}" for difference in outcome.differences]
        print("\n".join(map(printable, lines)), file=out)
    counted = "1 call or command" if count == 1 else f"{count} calls and commands"
    print(f"{counted}, {differing or 'none'} with another outcome than recorded", file=out)
    return 1 if differing else 0


def _drop_receivers(hosted: HostedSandbox) -> None:
    """Remove the endpoints: no response of the API depends on them, so a repeated run calls no receiver."""
    for tenant in hosted.sandbox.tenants.values():
        tenant.webhooks.clear()


def _send(hosted: HostedSandbox, entry: JSON) -> ReplayedEntry:
    recorded = entry.get("answer")
    if "cut" in entry:
        return ReplayedEntry(
            label=f"{entry['call']}, not sent", answer=None, body=b"", differences=[_CUT], is_call=False
        )
    method, _, target = entry["call"].partition(" ")
    request = HttpRequest(
        method=method,
        target=target,
        headers=_headers(hosted, entry),
        body=_body(hosted, entry),
        base_url=hosted.base_url,
    )
    response, _ = front_controller.handle_request(hosted.host, request, hosted, _client_wait(entry))
    is_lost = entry.get("waits") == "socket" and recorded is None
    received, body = (None, b"") if is_lost else _received(hosted, response)
    return ReplayedEntry(entry["call"], received, body, _differences(recorded, received) if "answer" in entry else [])


def _client_wait(entry: JSON) -> ClientWait:
    waits = entry.get("waits")
    if waits is None:
        return NO_TIMEOUT
    if waits == "socket":
        return NoWait(entry.get("answer") is None)
    if isinstance(waits, str) or not waits >= 0:
        raise ValueError(f"{entry['call']}: waits: got {waits!r}; expected seconds, or 'socket'")
    return VirtualWait(round(min(waits, _WAITS_MAX) * SECOND))


def _headers(hosted: HostedSandbox, entry: JSON) -> dict[str, str]:
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


def _body(hosted: HostedSandbox, entry: JSON) -> bytes:
    if "base64" in entry:
        try:
            return base64.b64decode(entry["base64"], validate=True)
        except ValueError:
            raise ValueError(
                f"{entry['call']}: got {brief(entry['base64'], 40)!r}; expected a body in base64"
            ) from None
    text = json.dumps(entry["json"]) if "json" in entry else entry.get("body", "")
    return str(text).replace(BASE_URL, hosted.base_url).encode()


def _received(hosted: HostedSandbox, response: HttpResponse | NoResponse) -> tuple[JSON | None, bytes]:
    """Return the response that the client got, of a truncated body as much as arrived."""
    if isinstance(response, NoResponse):
        return None, b""
    try:
        body = in_process.complete_body(response)
    except HTTPException as broken:
        body = getattr(broken, "partial", b"")
    except OSError:
        return None, b""
    return recorded_response(response.status, body, [hosted.base_url], redactor(hosted.sandbox)), body


def _differences(recorded: JSON | None, received: JSON | None) -> list[str]:
    if recorded is None or received is None:
        one, other = ("no answer" if answer is None else f"{answer['status']}" for answer in (recorded, received))
        return [] if recorded == received else [f"  {other}, recorded was {one}"]
    if "cut" in recorded:  # the document has only the status
        recorded, received = {"status": recorded["status"]}, {"status": received["status"]}
    rows: list[PathDifference] = json_differences("answer", recorded, received) if recorded != received else []
    return [line.replace(", expected ", ", recorded was ") for line in format_differences(rows)]
