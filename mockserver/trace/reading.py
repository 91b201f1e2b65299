"""
Read recordings: HAR, cassettes of vcrpy, and this product's journals and replay documents.

1. Entries of other addresses, preflights and answers of a cache are counted by kind and left out, before any other check.
2. Several files are one recording in the order of their clocks. Equal keys are one tenant; only a hash of a key is stored.
3. Nothing is written, and a file that cannot be read raises RecordingError with one line.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mockserver._json import JSON
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import EVENTS
from mockserver.contract.limits import YAML_MAX_CHARS
from mockserver.contract.text import brief, json_value
from mockserver.core.instants import DAY, MILLISECOND, Instant
from mockserver.trace import cassettes, har, journals
from mockserver.trace.entries import Entry, RecordingError
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.recorded import recorded_exchange, recorded_trace
from mockserver.trace.trace import Trace
from mockserver.wire.router import route

STREAMED_FROM_BYTES: Final = 32 * 2**20  # smaller files are read as a whole, which is faster
_CHUNK_BYTES = 2**20
_HASH_CHARS = 12
_KEY_LIKE = re.compile(r"\b(sk_|pk_|whsec_)([A-Za-z0-9_+/=\-]{8,})")
_NOT_STORED = frozenset(("cookie", "set-cookie", "authorization", "proxy-authorization"))
_VERSION = "/v1/"
_UNTIMED_STEP: Final = DAY  # between two calls without times: longer than every window of a judge
_EVENT_IDS: Final = ("webhook-id", "svix-id")
_OPERATION_SLASHES_MAX = max(endpoint.path.count("/") for endpoint in ENDPOINTS.values())
_TAG = re.compile(r"could not determine a constructor for the tag '([^']*)'")
_SIGNATURES = (
    "webhook-id",
    "webhook-signature",
    "svix-id",
    "svix-signature",
    "stripe-signature",
    "x-hub-signature-256",
)


def read_recording(*files: str | Path, url: str | None = None) -> Trace:
    """
    Read one recording from one or several files.

    Args:
        files: HAR files, cassettes, journals or replay documents.
        url: The part of the addresses before `/v1`; by default the one under which most entries are operations.

    Raises:
        RecordingError: A file is not a recording, or no entry belongs to the API.
        OSError: A file cannot be read.
    """
    paths = [Path(file) for file in files]
    if not paths:
        raise RecordingError("got no file; expected recordings, such as recording.har")
    intake = _Intake()
    for path in paths:
        for entry in _entries(path):
            intake.add(entry, path.name)
    prefix = _normal_prefix(url) if url is not None else intake.best_prefix()
    if prefix is None:
        if intake.first_problem is not None:
            raise RecordingError(intake.first_problem)
        found = f"; its addresses begin with {intake.first_address}" if intake.first_address else ""
        raise RecordingError(
            f"got {_names(paths)} without a call of this API{found}; expected addresses with a path such as /v1/campaigns"
        )
    recording = intake.recording(prefix, [path.name for path in paths])
    if not recording.exchanges and not recording.deliveries:
        raise RecordingError(
            f"got {_names(paths)} without a call below {prefix}/v1; did you mean {intake.best_prefix()}?"
        )
    _require_bodies(recording, paths)
    return recording


def _require_bodies(recording: Trace, paths: Sequence[Path]) -> None:
    answers = [exchange for exchange in recording.exchanges if exchange.status is not None]
    if answers and all(exchange.response_body is None for exchange in answers):
        raise RecordingError(
            f"got {_names(paths)} without the bodies of answers; expected an export with them "
            "(Chromium: open the developer tools before the calls; Playwright: record_har_content='embed')"
        )


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths)


class _Candidate(NamedTuple):
    """An entry that may be a call of the API: its path contains `/v1/`."""

    entry: Entry
    source: str


class _Intake:
    """Collects the entries of all files. Only the bodies of those that may belong to the API are stored."""

    def __init__(self) -> None:
        self.first_address = ""
        self.first_problem: str | None = None
        self._candidates: list[_Candidate] = []
        self._deliveries: list[tuple[Entry, str]] = []
        self._others = 0
        self._frequency: Counter[str] = Counter()
        self._same: dict[bytes, bytes] = {}  # polls have equal bodies

    def add(self, entry: Entry, source: str) -> None:
        address, path, _ = _split(entry.url)
        self.first_address = self.first_address or address
        self.first_problem = self.first_problem or entry.problem
        if _is_delivery(entry):
            self._deliveries.append((entry, source))
            return
        if _VERSION not in path:
            self._others += 1
            return
        self._frequency.update(address + start for start in _starts(entry.method, path))
        self._candidates.append(_Candidate(entry._replace(response_body=self._shared(entry.response_body)), source))

    def _shared(self, body: bytes | None) -> bytes | None:
        return None if body is None else self._same.setdefault(body, body)

    def best_prefix(self) -> str | None:
        """Return the prefix under which most entries are operations; of equal ones the first."""
        if self._frequency:
            return max(self._frequency, key=lambda prefix: self._frequency[prefix])
        return "" if self._deliveries else None

    def recording(self, prefix: str, sources: Sequence[str]) -> Trace:
        """Return the recording of the calls below a prefix."""
        left_out: Counter[str] = Counter({"other": self._others} if self._others else {})
        calls: list[tuple[Entry, str, str]] = []
        for entry, source in self._candidates:
            address, path, query = _split(entry.url)
            rest = path[len(prefix) - len(address) :]
            is_below = len(prefix) >= len(address) and address + path == prefix + rest and rest.startswith(_VERSION)
            kind = _kind_left_out(entry) if is_below else "other"
            if kind is not None:
                left_out[kind] += 1
                continue
            if entry.problem is not None:
                raise RecordingError(entry.problem)
            calls.append((entry, source, rest + query))
        exchanges = _in_order(calls)
        deliveries = [
            _delivery(number, entry, source)
            for number, (entry, source) in enumerate(sorted(self._deliveries, key=lambda pair: pair[0].started or 0), 1)
        ]
        return recorded_trace(exchanges, deliveries, prefix=prefix, sources=sources, left_out=dict(left_out))


def _split(url: str) -> tuple[str, str, str]:
    """Return scheme and host in lower case without the usual port, the raw path, and the query with its `?`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", ""
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = (parts.hostname or "") + (f":{port}" if port not in (None, usual) else "")
    address = f"{parts.scheme}://{host}" if parts.scheme else ""
    return address, parts.path, f"?{parts.query}" if parts.query else ""


def _normal_prefix(url: str) -> str:
    """Return a prefix as entries have it: without `/v1` and without a slash at its end."""
    address, path, _ = _split(url)
    return (address + path).rstrip("/").removesuffix("/v1")


def _starts(method: str, path: str) -> list[str]:
    """Return each part of a path before a `/v1/`, from which on it is the path of an operation; the shortest first."""
    starts = []
    place, slashes = len(path), 0
    while slashes <= _OPERATION_SLASHES_MAX:
        before = path.rfind("/", 0, place)
        if before < 0:
            break
        place, slashes = before, slashes + 1
        if path.startswith(_VERSION, place) and route(method, path[place:]).target is not None:
            starts.append(path[:place])
    return starts[::-1]


def _is_delivery(entry: Entry) -> bool:
    """Return True for a request with the headers and the body of an event."""
    body = entry.request_body
    if entry.method != "POST" or not body or b'"event"' not in body or b'"data"' not in body:
        return False
    event = json_value(body)
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        return False
    names = {name.lower() for name, _ in entry.request_headers}
    kind = event.get("event")
    return isinstance(kind, str) and (kind in EVENTS or not names.isdisjoint(_SIGNATURES))


def _kind_left_out(entry: Entry) -> str | None:
    if entry.method == "OPTIONS":
        return "preflight"
    if entry.is_cached:
        return "cached"
    return "redirect" if entry.status is not None and 300 <= entry.status < 400 else None


def _in_order(calls: list[tuple[Entry, str, str]]) -> list[Exchange]:
    """Return the exchanges in order of their start; those without times follow, in the order of their file."""
    timed = sorted((call for call in calls if call[0].started is not None), key=lambda call: call[0].started or 0)
    untimed = [call for call in calls if call[0].started is None]
    exchanges: list[Exchange] = []
    at: Instant = 0
    for number, (entry, source, path) in enumerate([*timed, *untimed], 1):
        at = at + _UNTIMED_STEP if entry.started is None else entry.started * MILLISECOND
        exchanges.append(_exchange(number, entry, source, path, at))
    return exchanges


def _exchange(number: int, entry: Entry, source: str, path: str, at: Instant) -> Exchange:
    match = route(entry.method, path.partition("?")[0])
    request_headers, response_headers = _merged(entry.request_headers), _merged(entry.response_headers)
    return recorded_exchange(
        number=number,
        source=source,
        method=entry.method,
        path=_without_keys(path),
        operation=match.target.id if match.target is not None and entry.method != "HEAD" else None,
        params=match.params,
        request_headers=request_headers,
        request_body=_body_without_keys(entry.request_body),
        status=entry.status,
        response_headers=response_headers,
        response_body=entry.response_body,
        key=request_headers.get("x-api-key"),
        sent_at=at,
        ended_at=at if entry.ended is None else entry.ended * MILLISECOND,
        is_timed=entry.started is not None,
        is_ordered=entry.is_ordered,
    )


def _delivery(number: int, entry: Entry, source: str) -> DeliveryAttempt:
    at = (number if entry.started is None else entry.started) * MILLISECOND
    headers, body = _merged(entry.request_headers), entry.request_body or b""
    event = json_value(body)
    data = event.get("data") if isinstance(event, dict) else None
    return DeliveryAttempt(
        number=number,
        source=source,
        endpoint=_without_keys(entry.url.partition("?")[0]),
        event_id=next((headers[name] for name in _EVENT_IDS if name in headers), f"#{number}"),
        kind=str(event.get("event")) if isinstance(event, dict) else "",
        session_id=str(data.get("sessionId")) if isinstance(data, dict) else "",
        happened_at=at,
        at=at,
        ended_at=at if entry.ended is None else entry.ended * MILLISECOND,
        status=entry.status,
        headers=headers,
        body=body,
    )


def _merged(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return headers by lower-case name, keys as their hashes, without cookies and tokens."""
    merged: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        if key == "x-api-key":
            value = _key(value.strip())
        elif key in _NOT_STORED:
            value = _without_keys(value) if _KEY_LIKE.search(value) else "..."
        else:
            value = _without_keys(value)
        merged[key] = f"{merged[key]}, {value}" if key in merged else value
    return merged


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


def _key(value: str) -> str:
    """Return a key as its prefix and its hash; one that its recorder has masked stays."""
    prefix = next((prefix for prefix in ("sk_", "pk_") if value.startswith(prefix)), "key_")
    return value if value.endswith("...") else prefix + _hash(value)


def _without_keys(text: str) -> str:
    if "sk_" in text or "pk_" in text or "whsec_" in text:
        return _KEY_LIKE.sub(lambda match: match[1] + _hash(match[0]), text)
    return text


def _body_without_keys(body: bytes | None) -> bytes | None:
    if not body or not (b"sk_" in body or b"pk_" in body or b"whsec_" in body):
        return body
    return _without_keys(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


# What a document without members is, in a message.
_FORMS: Final[Mapping[type, str]] = {
    list: "a list",
    dict: "an empty object",
    type(None): "null",
    int: "a number",
    float: "a number",
}


# How files begin that are no recording, or contain one.
_OTHER_FORMATS: Final[Mapping[bytes, str]] = {
    b"<": "HTML or XML",
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a ZIP archive",
    b"\xff\xfe": "UTF-16 and not UTF-8",
    b"\xfe\xff": "UTF-16 and not UTF-8",
}


def _entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file, whose format its content shows."""
    with path.open("rb") as file:
        head = file.read(4096)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise RecordingError(f"got {path.name}, which is empty; expected a HAR, such as a browser exports")
    for sign, form in _OTHER_FORMATS.items():
        if start.startswith(sign):
            raise RecordingError(f"got {path.name}, which is {form}; expected a HAR, such as a browser exports")
    if start.startswith((b"{", b"[")):
        yield from _json_entries(path, start)
    else:
        yield from _document_entries(_yaml_document(path), path)


def _json_entries(path: Path, start: bytes) -> Iterator[Entry]:
    stream = _streamed(path) if path.stat().st_size >= STREAMED_FROM_BYTES and b'"log"' in start else None
    if stream is not None:
        yield from har.entries(stream, path.name, partial(_neighbour, path.parent))
        return
    yield from _document_entries(_json_document(path), path)


def _document_entries(document: Any, path: Path) -> Iterator[Entry]:
    """Yield the entries of a document that was read as a whole; its members may have any shape."""
    try:
        yield from _entries_of_format(document, path)
    except (LookupError, TypeError, AttributeError, OverflowError, binascii.Error) as failure:
        problem = f"{type(failure).__name__}: {brief(str(failure), 80)}"
        raise RecordingError(
            f"got {path.name}, in which an entry has another shape than its format ({problem})"
        ) from None


def _entries_of_format(document: Any, path: Path) -> Iterator[Entry]:
    members = document if isinstance(document, dict) else {}
    log = members.get("log")
    if isinstance(log, dict) and isinstance(log.get("entries"), list):
        yield from har.entries(log["entries"], path.name, partial(_neighbour, path.parent))
    elif isinstance(members.get("interactions"), list):
        yield from cassettes.entries(members["interactions"], path.name)
    elif isinstance(members.get("exchanges"), list):
        yield from journals.journal_entries(members["exchanges"], path.name)
    elif isinstance(members.get("calls"), list):
        yield from journals.replay_entries(members, path.name)
    else:
        content = ", ".join(map(str, list(members)[:4])) or _FORMS.get(type(document), "a text")
        raise RecordingError(
            f"got {path.name} with {brief(content, 60)}; expected a HAR (log.entries), a cassette (interactions), "
            "a journal (exchanges) or a replay document (calls)"
        )


def _yaml_document(path: Path) -> Any:
    """Return the document of a YAML file; the parser in C, with which vcrpy writes cassettes, is used if it is installed."""
    try:
        from yaml import CSafeLoader, load
        from yaml import YAMLError as ParserError
    except ImportError:
        return _small_yaml_document(path)
    try:
        return load(path.read_bytes(), CSafeLoader)
    except (ParserError, ValueError, RecursionError) as failure:
        raise _not_yaml(path, failure) from None


def _small_yaml_document(path: Path) -> Any:
    if path.stat().st_size > YAML_MAX_CHARS:
        expected = f"at most {YAML_MAX_CHARS:,} of YAML without PyYAML and its parser in C, or JSON"
        raise RecordingError(f"got {path.name} of {path.stat().st_size:,} bytes; expected {expected}")
    try:
        return YAML(typ="safe", pure=True).load(path.read_bytes())
    except (YAMLError, ValueError, RecursionError) as failure:
        raise _not_yaml(path, failure) from None


def _not_yaml(path: Path, failure: Exception) -> RecordingError:
    """Return the error of a text that is not YAML, or that is YAML with the tag of another tool's objects."""
    tag = _TAG.search(str(failure))
    if tag is not None:
        return RecordingError(
            f"got {path.name}, in which YAML has the tag {brief(tag[1], 60)}, an object of the tool that wrote it; "
            "expected plain values, as in a cassette of vcrpy"
        )
    return RecordingError(
        f"got {path.name}, which is neither JSON nor YAML; expected a HAR or a cassette, such as recording.har"
    )


def _neighbour(folder: Path, name: str) -> bytes | None:
    """Return the content of a file in the folder of a recording; None if there is none, or the name leads out of it."""
    if Path(name).name != name:
        return None
    try:
        return (folder / name).read_bytes()
    except OSError:
        return None


def _json_document(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_members)
    except UnicodeDecodeError:
        raise RecordingError(f"got {path.name}, which is not UTF-8; expected a HAR, which is JSON in UTF-8") from None
    except json.JSONDecodeError as failure:
        raise RecordingError(_not_json(path, f"at line {failure.lineno}, column {failure.colno}")) from None
    except _RepeatedMemberError as failure:
        raise failure.of(path) from None
    except (ValueError, RecursionError) as failure:
        reason = "its nesting" if isinstance(failure, RecursionError) else "a number with thousands of digits"
        raise RecordingError(f"got {path.name}, which cannot be read because of {reason}; expected a HAR") from None


class _RepeatedMemberError(ValueError):
    """An object with two values for one member; its text is the name."""

    def of(self, path: Path) -> RecordingError:
        where = f"got {path.name}, in which an object has the member {brief(str(self), 40)}"
        return RecordingError(f"{where} twice with different values; expected one value")


class _StreamedMembers(dict[str, Any]):
    """An object of a file that is read as a stream: what a member had before is kept until its entry is complete."""

    def __init__(self, former: list[tuple[JSON, str, Any]]) -> None:
        super().__init__()
        self._former = former

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self:
            self._former.append((self, name, self[name]))
        super().__setitem__(name, value)


def _members(pairs: list[tuple[str, Any]]) -> JSON:
    """Return an object; of two values of a member readers of JSON would take the last one, and a judge takes none."""
    members = dict(pairs)
    if len(members) != len(pairs):
        for name, value in pairs:
            if members[name] != value:
                raise _RepeatedMemberError(name)
    return members


def _not_json(path: Path, where: str) -> str:
    return f"got {path.name}, whose JSON ends or breaks {where}; expected a whole HAR: was the export cut off?"


def _streamed(path: Path) -> Iterator[JSON] | None:
    """Yield the entries of a large HAR one by one, with the extra `recordings`; None without it."""
    try:
        import ijson
    except ImportError:
        return None
    return _stream(path, ijson)


# The members around the entries. The stream joins the lists of two such members, of which a reader of the whole takes one.
_AROUND_ENTRIES: Final[Mapping[str, str]] = {"log": "", "entries": "log"}  # name -> prefix of its object


def _require_one_list(path: Path, ijson: Any) -> None:
    """Raise _RepeatedMemberError if a member around the entries is there twice; few files have its name in bytes twice."""
    repeated = [name for name in _AROUND_ENTRIES if _has_twice(path, f'"{name}"'.encode())]
    if not repeated:
        return
    counted: Counter[str] = Counter()
    with path.open("rb") as file:
        for prefix, event, value in ijson.parse(file, use_float=True):
            if event == "map_key" and value in repeated and prefix == _AROUND_ENTRIES[value]:
                counted[value] += 1
                if counted[value] > 1:
                    raise _RepeatedMemberError(value)


def _has_twice(path: Path, token: bytes) -> bool:
    """Return True if a file has a token at least twice, without reading it as a whole."""
    found, end = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            window = end + chunk
            found += window.count(token)
            if found > 1:
                return True
            end = window[1 - len(token) :]
    return False


def _stream(path: Path, ijson: Any) -> Iterator[JSON]:
    items = cast("Callable[..., Iterator[JSON]]", ijson.items)
    with path.open("rb") as file:
        if file.read(3) != b"\xef\xbb\xbf":
            file.seek(0)
        count = 0
        former: list[tuple[JSON, str, Any]] = []
        try:
            _require_one_list(path, ijson)
            for entry in items(file, "log.entries.item", use_float=True, map_type=partial(_StreamedMembers, former)):
                count += 1
                for members, name, value in former:
                    if members[name] != value:
                        raise _RepeatedMemberError(name)
                former.clear()
                yield entry
        except _RepeatedMemberError as failure:
            raise failure.of(path) from None
        except (ijson.JSONError, ValueError):
            raise RecordingError(_not_json(path, f"after entry {count}")) from None
    if not count:
        raise RecordingError(f"got {path.name} without entries; expected a HAR with log.entries")
