"""
The calls and deliveries of a sandbox as a HAR 1.2, for the viewers of browsers and proxies, and for `mockserver judge`.

1. Times are instants of the sandbox's clock, so an exchange takes none, but for a call that its client gave up before it
   arrived. Members that begin with `_` are this product's.
2. It contains no key, signing secret or credentials: a key is its prefix with the id of its tenant.
3. A body of which the journal holds only the beginning has no text, and a `comment` with its size.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from mockserver._json import JSON
from mockserver.contract.effects import UNREADABLE
from mockserver.core.instants import MILLISECOND, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.outbox import Attempt, Delivery
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.control.replay_document import without_keys
from mockserver.server.hosting.host import HostedSnapshot
from mockserver.server.http1.reason_phrases import reason_phrase
from mockserver.version import VERSION
from mockserver.wire.response import explanation, redactor

if TYPE_CHECKING:
    from mockserver.server.control import answers

_VERSION = "HTTP/1.1"
_ADDRESS = "http://mockserver"  # of a call that needed no address


def read_har(snapshot: HostedSnapshot, args: Mapping[str, Any]) -> answers.Har:
    """Return the HAR of a sandbox: its calls so far as their clients sent them, and the requests to receivers."""
    sandbox = snapshot.state
    hide = redactor(sandbox)
    as_sent = sorted(sandbox.journal.exchanges, key=lambda entry: entry.place_as_sent)
    timed = [
        (entry.sent_at, 0, place, _exchange(sandbox, hide, entry, snapshot.hosted.base_url))
        for place, entry in enumerate(as_sent)
    ]
    deliveries = sandbox.outbox.deliveries.values()
    attempts = [(delivery, attempt) for delivery in deliveries for attempt in delivery.attempts]
    timed += [
        (attempt.at, 1, place, _attempt(sandbox, hide, delivery, attempt))
        for place, (delivery, attempt) in enumerate(attempts)
    ]
    entries = [row for *_, row in sorted(timed, key=itemgetter(0, 1, 2))]
    return {"log": {"version": "1.2", "creator": {"name": "mockserver", "version": VERSION}, "entries": entries}}


def _exchange(sandbox: SandboxState, hide: Redactor, entry: JournalEntry, base_url: str) -> JSON:
    call = entry.call
    address = call.base_url or base_url or _ADDRESS
    query = f"?{hide.parameters(urlencode(call.query))}" if call.query else ""
    url = hide.text(address + quote(call.path, safe="/%:@!$&'()*+,;=~-._")) + query
    is_readable = entry.fault is None or UNREADABLE.isdisjoint(entry.fault.effects)
    status = entry.status if is_readable and not entry.is_held else None
    note: JSON = {"n": entry.n, "operation": entry.operation}
    if entry.fault is not None:
        note["fault"] = {"rule": entry.fault.rule, "effects": hide.value(entry.fault.effects)}
    if entry.error is not None:
        note["reason"] = explanation(entry.error, hide)
    time_ms = 0
    if entry.given_up is not None:
        note["arrivedAt"] = format_exact(entry.at)
        time_ms = (entry.given_up.at - entry.given_up.sent_at) // MILLISECOND
    return _entry(
        entry.sent_at,
        _request(
            hide.text(call.method),
            url,
            _request_headers(sandbox, hide, entry),
            _body(sandbox, hide, call.body, call.cut_from_bytes, call.headers.get("content-type", "")),
        ),
        _response(
            status, hide.headers(dict(entry.headers)), _body(sandbox, hide, entry.answer, entry.answer_cut_from_bytes)
        ),
        time_ms,
        note,
    )


def _attempt(sandbox: SandboxState, hide: Redactor, delivery: Delivery, attempt: Attempt) -> JSON:
    """Return a request to a receiver. Its address may be that of a removed endpoint, which has none."""
    endpoint = sandbox.tenants[delivery.tenant_id].webhooks.get(delivery.webhook_id)
    url = hide.text(endpoint.url) if endpoint is not None else f"{_ADDRESS}/{delivery.webhook_id}"
    note: JSON = {"event": delivery.event.id, "endpoint": delivery.webhook_id}
    if attempt.fault is not None:
        note["fault"] = attempt.fault
    body = _body(sandbox, hide, attempt.body, None)
    request = _request("POST", url, hide.headers(attempt.headers), body)
    return _entry(
        attempt.at, request, _response(attempt.status, {}, _body(sandbox, hide, attempt.answer, None)), 0, note
    )


def _entry(at: Instant, request: JSON, response: JSON, time_ms: int, note: JSON) -> JSON:
    return {
        "startedDateTime": format_exact(at),
        "time": time_ms,
        "request": request,
        "response": response,
        "cache": {},
        "timings": {"send": 0, "wait": time_ms, "receive": 0},
        "_mockserver": note,
    }


def _request_headers(sandbox: SandboxState, hide: Redactor, entry: JournalEntry) -> Mapping[str, str]:
    """Return the headers, with the tenant's id in place of its key: keys of two tenants differ, and show nothing else."""
    headers = hide.headers(entry.call.headers)
    key = entry.call.key
    owner = sandbox.owner_at(key, entry.tenant_id) if "x-api-key" in headers else None
    if owner is not None:
        headers["x-api-key"] = f"{key[:3]}{owner.tenant_id}..."
    return headers


def _body(
    sandbox: SandboxState, hide: Redactor, body: bytes | None, cut_from_bytes: int | None, content_type: str = ""
) -> JSON:
    """Return a body's text, or what replaces it; bytes that are not UTF-8 are base64, as in `content` of HAR 1.2."""
    if body is None or cut_from_bytes is not None:
        return {"comment": f"not recorded: {cut_from_bytes or 'many'} bytes"}
    plain = without_keys(sandbox, hide, body, content_type)
    try:
        return {"text": plain.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(plain).decode("ascii", "replace"), "encoding": "base64"}


def _request(method: str, url: str, headers: Mapping[str, str], body: JSON) -> JSON:
    named = {
        "_encoding" if key == "encoding" else key: value for key, value in body.items()
    }  # HAR has none for requests
    posted = (
        {"postData": {"mimeType": _header(headers, "content-type"), "params": [], **named}}
        if body.get("text") != ""
        else {}
    )
    return {
        "method": method,
        "url": url,
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _pairs(headers.items()),
        "queryString": list(_query(url)),
        **posted,
        "headersSize": -1,
        "bodySize": _size(body),
    }


def _query(url: str) -> Iterator[JSON]:
    for pair in url.partition("?")[2].split("&"):
        name, _, value = pair.partition("=")
        if name:
            yield {"name": name, "value": value}


def _response(status: int | None, headers: Mapping[str, str], body: JSON) -> JSON:
    """Return the response; one that did not reach its client whole has the status 0, as in a browser."""
    if status is None:
        headers, body = {}, {}
    response: JSON = {
        "status": status or 0,
        "statusText": reason_phrase(status) if status else "",
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _pairs(headers.items()),
        "content": {"size": max(0, _size(body)), "mimeType": _header(headers, "content-type"), **body},
        "redirectURL": _header(headers, "location"),
        "headersSize": -1,
        "bodySize": _size(body),
    }
    return response if status is not None else response | {"_error": "no answer"}


def _size(body: Mapping[str, Any]) -> int:
    """Return the bytes of a body, -1 if it is unknown."""
    if "comment" in body:
        return -1
    text = str(body.get("text", ""))
    return len(text) * 3 // 4 - text.count("=") if "encoding" in body else len(text.encode("utf-8", "replace"))


def _header(headers: Mapping[str, str], name: str) -> str:
    """Return the value of a header; empty without it."""
    return next((value for own, value in headers.items() if own.lower() == name), "")


def _pairs(headers: Iterable[tuple[str, str]]) -> list[JSON]:
    return [{"name": name, "value": value} for name, value in headers]
