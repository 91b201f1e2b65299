"""
Cassettes of vcrpy, in YAML or JSON: `interactions` in the order of their answers.

A cassette has no times. Its calls count as sent one after the other, in its order.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mockserver.contract.text import brief
from mockserver.trace.entries import Entry, RecordingError, answer_status, decompressed, joined, unreadable


def entries(rows: Iterable[Any], file: Path) -> Iterator[Entry]:
    """Yield the interactions of a cassette."""
    for number, row in enumerate(rows, 1):
        interaction = row if isinstance(row, Mapping) else {}
        request, response = interaction.get("request"), interaction.get("response")
        try:
            entry = _entry(request, response, f"{file.name}, interaction {number}")
        except RecordingError as problem:
            entry = unreadable(request, "uri", problem)
        yield entry


def _entry(request: Any, response: Any, place: str) -> Entry:
    if not isinstance(request, Mapping) or not isinstance(response, Mapping):
        raise RecordingError(f"{place}: got no request with a response; expected an interaction of vcrpy")
    status = response.get("status")
    code = status.get("code") if isinstance(status, Mapping) else status
    if "status_code" in response:  # vcrpy 4.1 to 5.1, of httpx
        code = response["status_code"]
    url, method = request.get("uri"), request.get("method")
    if not isinstance(url, str) or not isinstance(method, str) or code is None:
        has = f"a request of {_members(request)} and a response of {_members(response)}"
        raise RecordingError(f"{place}: got {has}; expected method, uri and status code, as in an interaction of vcrpy")
    response_headers = joined(_headers(response))
    body = _body(response["content"] if "content" in response else response.get("body"))
    return Entry(
        method=method.upper(),
        url=url,
        request_headers=joined(_headers(request)),
        request_body=_body(request.get("body")) or b"",
        status=answer_status(code, place),
        response_headers=response_headers,
        response_body=decompressed(body or b"", response_headers),
        is_ordered=True,
    )


def _members(message: Mapping[str, Any]) -> str:
    """Return the names of an object's first members, for an error."""
    return brief(", ".join(map(str, list(message)[:6])), 60) or "nothing"


def _headers(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headers; a cassette has the values of each as a list or as one text."""
    headers = message.get("headers")
    for name, values in headers.items() if isinstance(headers, Mapping) else ():
        for value in values if isinstance(values, list) else [values]:
            yield str(name), value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(written: Any) -> bytes | None:
    """Return the bytes of a body: text, bytes, or an object with one of them, or with base64."""
    if isinstance(written, Mapping):
        encoded = written.get("base64_string")
        if not isinstance(encoded, str):
            return _body(written.get("string"))
        try:
            return base64.b64decode(encoded)
        except ValueError:
            return None
    if isinstance(written, str):
        return written.encode("utf-8", "surrogatepass")
    return written if isinstance(written, bytes) else None
