"""One request to an ASGI 3 application, without a socket and without its lifespan events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

Message = dict[str, Any]


async def request(
    app: Any, url: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes] | None:
    """Send a POST to the application; return status, headers and body, or None if its response is not complete."""
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    start: Message = {}
    pieces: list[bytes] = []
    is_whole = False

    async def receive() -> Message:
        return incoming.pop() if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal is_whole
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            pieces.append(bytes(message.get("body", b"")))
            is_whole = not message.get("more_body", False)

    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    sent = {"host": parts.netloc, "content-length": str(len(body)), **{name.lower(): headers[name] for name in headers}}
    await app(
        {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": parts.scheme,
            "path": unquote(parts.path or "/"),
            "raw_path": (parts.path or "/").encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 0),
            "server": (parts.hostname, port),
        },
        receive,
        send,
    )
    if not start or not is_whole:
        return None
    response_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start.get("headers", ())}
    return start["status"], response_headers, b"".join(pieces)
