"""A call of the journal as a command of curl, and the parts of its request that any client has to send again."""

from __future__ import annotations

import json
import shlex
from typing import Final
from urllib.parse import urlencode

from mockserver._json import View

# Headers that the client library sets, or that only this call had.
_OMITTED: Final = frozenset(
    ("host", "user-agent", "accept", "accept-encoding", "connection", "content-length", "x-api-key", "authorization")
)
_PATTERNS: Final = frozenset("{}[]")  # of which curl makes several addresses
BODY_CHARS: Final = 10_000


def curl(request: View, *, address: str | None = None, key: str | None = None) -> str:
    """
    Return a call as a command of a shell.

    Args:
        request: As the journal's answer has it.
        address: The address of the sandbox; the variable `$URL` without one.
        key: The API key; the variable `$KEY` without one.
    """
    url = '"$URL"' if address is None else shlex.quote(address)
    header = '"X-API-Key: $KEY"' if key is None else shlex.quote(f"X-API-Key: {key}")
    method = "" if request["method"] == "GET" and request["body"] is None else f" -X {shlex.quote(request['method'])}"
    is_pattern = not _PATTERNS.isdisjoint(request["path"])
    lines = [f"curl{' --globoff' if is_pattern else ''}{method} {url}{shlex.quote(target(request))}", f"-H {header}"]
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers(request).items()]
    body = body_text(request)
    if body is not None:
        lines.append(f"--data-raw {shlex.quote(body)}")
    return " \\\n  ".join(lines)


def target(request: View) -> str:
    """Return the path of a request with its query."""
    query = urlencode(request["query"])
    return f"{request['path']}?{query}" if query else str(request["path"])


def headers(request: View) -> dict[str, str]:
    """Return the headers of a request that the client itself has set, but for its key."""
    return {name: value for name, value in request["headers"].items() if name not in _OMITTED}


def body_text(request: View) -> str | None:
    """Return the text of a request's body, cut to `BODY_CHARS`; None without one."""
    body = request["body"]
    if body is None:
        return None
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return text[:BODY_CHARS]
