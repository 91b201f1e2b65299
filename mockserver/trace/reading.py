"""
Read recordings: HAR, cassettes of vcrpy, and journals of sandboxes.

1. Entries of other addresses, preflights, answers of a cache and entries that cannot be read are counted by kind and left out.
2. Several files are one recording in the order of their clocks. Equal keys are one tenant; only a hash of a key is stored.
3. Nothing is written, and a file that cannot be read raises RecordingError with one line.
"""

from __future__ import annotations

import binascii
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mockserver._json import JSON
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import EVENTS
from mockserver.contract.limits import YAML_MAX_CHARS
from mockserver.contract.text import brief, json_value
from mockserver.core.instants import DAY, MILLISECOND, Instant
from mockserver.core.redaction import hashed_key, is_secret_name, keys_in, replace_keys
from mockserver.trace import cassettes, har, journals
from mockserver.trace.entries import Entry, RecordingError
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.recorded import recorded_exchange, recorded_trace
from mockserver.trace.trace import Trace
from mockserver.wire.router import route

_VERSION: Final = "/v1/"
_UNTIMED_STEP: Final = DAY  # between two calls without times: longer than every window of a judge
_OPERATION_SLASHES_MAX: Final = max(endpoint.path.count("/") for endpoint in ENDPOINTS.values())
_EVENT_IDS: Final = ("webhook-id", "svix-id")
# Of a request with one of these headers the body may have an event that the document does not name.
_OF_DELIVERIES: Final = (*_EVENT_IDS, "webhook-signature", "svix-signature", "stripe-signature", "x-hub-signature-256")


def read_recording(*files: str | Path, url: str | None = None) -> Trace:
    """
    Read one recording from one or several files.

    Args:
        files: HAR files, cassettes or journals.
        url: The part of the addresses before `/v1`; by default the one under which most entries are operations.

    Returns:
        The calls of the API, `exchanges`, in the order in which they were sent, and the events that receivers got, `deliveries`.

    Raises:
        RecordingError: A file is not a recording, or no entry belongs to the API.
        OSError: A file cannot be read.
    """
    paths = [Path(file) for file in files]
    if not paths:
        raise RecordingError("got no file; expected recordings, such as recording.har")
    names = [path.name for path in paths]
    intake = _Intake(names)
    for path in paths:
        for entry in _entries(path):
            intake.add(entry, path.name)
    trace = intake.trace(_normal_prefix(url) if url is not None else intake.best_prefix())
    answers = [exchange for exchange in trace.exchanges if exchange.status is not None]
    if answers and all(exchange.response_body is None for exchange in answers):
        raise RecordingError(
            f"got {', '.join(names)} without the bodies of answers; expected an export with them "
            "(Chromium: open the developer tools before the calls; Playwright: record_har_content='embed')"
        )
    return trace


class _Intake:
    """Collects the entries of all files that may belong to the API."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._first_host = ""
        self._first_problem: str | None = None
        self._calls: list[Entry] = []
        self._deliveries: list[Entry] = []
        self._left_out: Counter[str] = Counter()
        self._frequency: Counter[str] = Counter()

    def add(self, entry: Entry, source: str) -> None:
        host, path, query = _split(entry.url)
        self._first_host = self._first_host or host
        self._first_problem = self._first_problem or entry.problem
        is_delivery = _is_delivery(entry)
        if not is_delivery and _VERSION not in path:
            self._left_out["other"] += 1
            return
        path = _open_path(path)
        url = host + path + replace_keys(query, hashed_key)
        entry = replace(_without_keys(entry), source=source, url=url)
        if is_delivery:
            self._deliveries.append(entry)
            return
        self._calls.append(entry)
        self._frequency.update(host + start for start in _starts(entry.method, path))

    def best_prefix(self) -> str:
        """Return the prefix under which most entries are operations; of equal ones the first."""
        if self._frequency:
            return max(self._frequency, key=lambda prefix: self._frequency[prefix])
        if self._deliveries:
            return ""
        if self._first_problem is not None:
            raise RecordingError(self._first_problem)
        begin = f"; its addresses begin with {self._first_host}" if self._first_host else ""
        raise RecordingError(
            f"got {', '.join(self._names)} without a call of this API{begin}; "
            "expected addresses with a path such as /v1/campaigns"
        )

    def trace(self, prefix: str) -> Trace:
        """Return the trace of the calls below a prefix."""
        left_out = self._left_out.copy()
        calls: list[Entry] = []
        problems: list[str] = []
        for entry in self._calls:
            kind = _kind_left_out(entry) if entry.url.startswith(prefix + _VERSION) else "other"
            if kind is None:
                calls.append(replace(entry, url=entry.url[len(prefix) :]))
                continue
            left_out[kind] += 1
            if kind == "unfinished":
                problems.append(str(entry.problem))
        if not calls and not self._deliveries:
            none = f"got {', '.join(self._names)} without a call below {prefix}/v1; did you mean {self.best_prefix()}?"
            raise RecordingError(problems[0] if problems else none)
        deliveries = sorted(self._deliveries, key=lambda entry: entry.sent_at or 0)
        return recorded_trace(
            _exchanges(calls),
            [_delivery(number, entry) for number, entry in enumerate(deliveries, 1)],
            prefix=prefix,
            sources=self._names,
            left_out=dict(left_out),
        )


def _split(url: str) -> tuple[str, str, str]:
    """Return scheme and host in lower case without the usual port, the raw path, and the query with its `?`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", ""
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = (parts.hostname or "") + (f":{port}" if port not in (None, usual) else "")
    return f"{parts.scheme}://{host}" if parts.scheme else "", parts.path, f"?{parts.query}" if parts.query else ""


def _normal_prefix(url: str) -> str:
    """Return a prefix as entries have it: without `/v1` and without a slash at its end."""
    host, path, _ = _split(url)
    return (host + _open_path(path)).rstrip("/").removesuffix("/v1")


def _starts(method: str, path: str) -> Iterator[str]:
    """Yield each part of a path before a `/v1/`, from which on it is the path of an operation; the shortest first."""
    segments = path.split("/")
    for count in range(max(1, len(segments) - _OPERATION_SLASHES_MAX - 1), len(segments)):
        start = "/".join(segments[:count])
        if path.startswith(_VERSION, len(start)) and route(method, path[len(start) :]).target is not None:
            yield start


def _is_delivery(entry: Entry) -> bool:
    """Return True for a request with the headers and the body of an event."""
    body = entry.request_body or b""
    if entry.method != "POST" or b'"event"' not in body or b'"data"' not in body:
        return False
    event = json_value(body)
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        return False
    kind = event.get("event")
    has_header = any(name in entry.request_headers for name in _OF_DELIVERIES)
    return isinstance(kind, str) and (kind in EVENTS or has_header)


def _kind_left_out(entry: Entry) -> str | None:
    if entry.method == "OPTIONS":
        return "preflight"
    if entry.is_cached:
        return "cached"
    if entry.status is not None and 300 <= entry.status < 400:
        return "redirect"
    return "unfinished" if entry.problem is not None else None


def _exchanges(calls: Iterable[Entry]) -> list[Exchange]:
    """Return the exchanges in order of their start; those without times follow, in the order of their file."""
    exchanges: list[Exchange] = []
    at: Instant = 0
    for entry in sorted(calls, key=lambda entry: (entry.sent_at is None, entry.sent_at or 0)):
        at = at + _UNTIMED_STEP if entry.sent_at is None else entry.sent_at
        exchanges.append(recorded_exchange(entry, len(exchanges) + 1, at))
    return exchanges


def _delivery(number: int, entry: Entry) -> DeliveryAttempt:
    at = number * MILLISECOND if entry.sent_at is None else entry.sent_at
    headers = entry.request_headers
    event: JSON = json_value(entry.request_body or b"")
    return DeliveryAttempt(
        number=number,
        source=entry.source,
        endpoint=entry.url.partition("?")[0],
        event_id=next((headers[name] for name in _EVENT_IDS if name in headers), f"#{number}"),
        kind=event["event"],
        session_id=str(event["data"].get("sessionId")),
        at=at,
        ended_at=at if entry.ended_at is None else entry.ended_at,
        status=entry.status,
        headers=headers,
        body=entry.request_body or b"",
    )


def _without_keys(entry: Entry) -> Entry:
    """Return an entry with hashes for keys, and without what its header's name shows to be secret."""
    return replace(
        entry,
        request_headers=_open_headers(entry.request_headers),
        request_body=_open_body(entry.request_body),
        response_headers=_open_headers(entry.response_headers),
        response_body=_open_body(entry.response_body),
    )


def _open_path(path: str) -> str:
    """Return a path with hashes for keys, each in a segment of its own: a key may have slashes elsewhere."""
    return "/".join(replace_keys(segment, hashed_key) for segment in path.split("/"))


def _open_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name: _open_header(name, value) for name, value in headers.items()}


def _open_header(name: str, value: str) -> str:
    if name == "x-api-key":
        key = value.strip()
        return key if key.endswith("...") else hashed_key(key)  # its recorder has masked it
    if is_secret_name(name):
        return " ".join(map(hashed_key, keys_in(value))) or "..."
    return replace_keys(value, hashed_key)


def _open_body(body: bytes | None) -> bytes | None:
    if not body:
        return body
    text = body.decode("utf-8", "surrogateescape")
    hashed = replace_keys(text, hashed_key)
    return body if hashed == text else hashed.encode("utf-8", "surrogateescape")


def _entries(file: Path) -> Iterator[Entry]:
    """Yield the entries of a file, whose format its content shows."""
    with file.open("rb") as opened:
        start = opened.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    document = _json_document(file) if start.startswith((b"{", b"[")) else _yaml_document(file)
    try:
        yield from _entries_of(document, file)
    except (LookupError, TypeError, AttributeError, OverflowError, binascii.Error) as failure:
        problem = f"{type(failure).__name__}: {brief(str(failure), 80)}"
        raise RecordingError(
            f"got {file.name}, in which an entry has another shape than its format ({problem}); "
            "expected an export as its tool wrote it"
        ) from None


def _entries_of(document: Any, file: Path) -> Iterator[Entry]:
    members = document if isinstance(document, dict) else {}
    log = members.get("log")
    if isinstance(log, dict) and isinstance(log.get("entries"), list):
        return har.entries(log["entries"], file)
    if isinstance(members.get("interactions"), list):
        return cassettes.entries(members["interactions"], file)
    if isinstance(members.get("exchanges"), list):
        return journals.journal_entries(members["exchanges"], file)
    content = ", ".join(map(str, list(members)[:4])) or "nothing that a recording has"
    raise RecordingError(
        f"got {file.name} with {brief(content, 60)}; expected a HAR (log.entries), a cassette (interactions) "
        "or a journal (exchanges)"
    )


def _json_document(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as failure:
        raise RecordingError(
            f"got {file.name}, which cannot be read ({_one_line(failure)}); expected a whole HAR, JSON in UTF-8"
        ) from None


def _yaml_document(file: Path) -> Any:
    """Return the document of a YAML file; the parser in C, with which vcrpy writes cassettes, is used if it is installed."""
    try:
        from yaml import CSafeLoader, load
        from yaml import YAMLError as ParserError
    except ImportError:
        size = file.stat().st_size
        if size > YAML_MAX_CHARS:
            expected = f"at most {YAML_MAX_CHARS:,} of YAML without PyYAML and its parser in C, or JSON"
            raise RecordingError(f"got {file.name} of {size:,} bytes; expected {expected}") from None
        parse, errors = YAML(typ="safe", pure=True).load, YAMLError
    else:
        parse, errors = partial(load, Loader=CSafeLoader), ParserError
    try:
        return parse(file.read_bytes())
    except (errors, ValueError, RecursionError) as failure:
        raise RecordingError(
            f"got {file.name}, which is neither JSON nor YAML of plain values ({_one_line(failure)}); "
            "expected a HAR or a cassette, such as recording.har"
        ) from None


def _one_line(failure: Exception) -> str:
    return brief(" ".join(str(failure).split()), 120)
