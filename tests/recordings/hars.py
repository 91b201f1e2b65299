"""HAR documents in the forms of different recorders, and what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mockserver._json import JSON

ADDRESS = "https://crm.example/api"
KEY = "sk_jewlrcunwropxcywym25ish2mrruiboh"


def entry(
    call: str,
    status: int = 200,
    answer: Any = None,
    *,
    at: str = "2026-03-01T12:00:00.000Z",
    time: Any = 5,
    sent: Any = None,
    key: str | None = KEY,
    address: str = ADDRESS,
    headers: JSON | None = None,
    **more: Any,
) -> JSON:
    """Return an entry of a HAR as Chromium writes it; `call` is `METHOD /path`."""
    method, _, path = call.partition(" ")
    named = {"X-API-Key": key} if key is not None else {}
    text = "" if answer is None else answer if isinstance(answer, str) else json.dumps(answer)
    kind = {"Content-Type": "application/json"} if text else {"Content-Length": "0"}
    posted = {} if sent is None else {"postData": {"mimeType": "application/json", "text": json.dumps(sent)}}
    content = {"size": len(text), "mimeType": "application/json"} | ({"text": text} if text else {})
    return {
        "startedDateTime": at,
        "time": time,
        "request": {
            "method": method,
            "url": address + path,
            "httpVersion": "h2",
            "headers": [
                {"name": ":path", "value": path},
                *({"name": name, "value": value} for name, value in {**named, **(headers or {})}.items()),
            ],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": len(json.dumps(sent)) if sent is not None else 0,
            **posted,
        },
        "response": {
            "status": status,
            "statusText": "",
            "httpVersion": "h2",
            "headers": [{"name": name, "value": value} for name, value in kind.items()],
            "cookies": [],
            "content": content,
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": {"send": 0, "wait": 5, "receive": 0},
        **more,
    }


def har(*entries: JSON) -> JSON:
    """Return a HAR with these entries."""
    return {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": list(entries)}}


def write(folder: Path, *entries: JSON, name: str = "recording.har") -> Path:
    """Write a HAR and return its path."""
    file = folder / name
    file.write_text(json.dumps(har(*entries)), encoding="utf-8")
    return file
