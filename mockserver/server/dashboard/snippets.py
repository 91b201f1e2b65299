"""A recorded call as a curl command, as a test of Python and as TypeScript. Each has a placeholder in place of the key."""

from __future__ import annotations

import json
import shlex
from typing import Final
from urllib.parse import urlencode

from mockserver._json import View
from mockserver.server.dashboard.environment import visible

# Headers that the client library sets, or that only this call had.
_OMITTED: Final = frozenset(
    ("host", "user-agent", "accept", "accept-encoding", "connection", "content-length", "x-api-key", "authorization")
)
_BODY_CHARS: Final = 10_000


def of(exchange: View) -> list[dict[str, str]]:
    """Return the forms of a call: the name of each, and its text."""
    request = exchange["request"]
    target = request["path"] + (f"?{urlencode(request['query'])}" if request["query"] else "")
    status = (exchange["response"] or {}).get("status")
    forms = (
        ("curl", _curl(request, target)),
        ("Python test", _python(request, target, exchange["operation"], status)),
        ("TypeScript", _typescript(request, target)),
    )
    return [{"name": name, "text": visible(text)} for name, text in forms]


def _headers(request: View) -> dict[str, str]:
    return {name: value for name, value in request["headers"].items() if name not in _OMITTED}


def _body(request: View) -> str | None:
    """Return the text of the body; None without one."""
    body = request["body"]
    if body is None:
        return None
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return text[:_BODY_CHARS]


def _curl(request: View, target: str) -> str:
    lines = [f'curl -X {shlex.quote(request["method"])} "$URL"{shlex.quote(target)}', '-H "X-API-Key: $KEY"']
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in _headers(request).items()]
    body = _body(request)
    if body is not None:
        lines.append(f"--data-raw {shlex.quote(body)}")
    return " \\\n  ".join(lines)


def _python(request: View, target: str, operation: str | None, status: int | None) -> str:
    body = request["body"]
    argument = ""
    if body is not None:
        argument = f", body={body[:_BODY_CHARS].encode()!r}" if isinstance(body, str) else f", json={body!r}"
    name = "".join(f"_{char.lower()}" if char.isupper() else char for char in operation or "call")
    expected = f"    assert {status} == answer.status" if status is not None else "    # it got no answer"
    return (
        f"def test_{name}(mockserver):\n"
        f"    answer = mockserver.call({request['method']!r}, {target!r}{argument})\n\n{expected}\n"
    )


def _typescript(request: View, target: str) -> str:
    headers = {"X-API-Key": "KEY", **_headers(request)}
    header_text = json.dumps(headers, ensure_ascii=False).replace('"KEY"', "key", 1)
    body = _body(request)
    lines = [f"  method: {json.dumps(request['method'])},", f"  headers: {header_text},"]
    if body is not None:
        is_text = isinstance(request["body"], str)
        lines.append(f"  body: {json.dumps(body, ensure_ascii=False) if is_text else f'JSON.stringify({body})'},")
    return "const answer = await fetch(url + {}, {{\n{}\n}});\n".format(
        json.dumps(target, ensure_ascii=False), "\n".join(lines)
    )
