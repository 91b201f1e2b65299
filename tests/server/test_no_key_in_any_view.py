"""No view, header or log line shows a whole key or signing secret, wherever a client has put it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from mockserver.server import app as flask_app
from mockserver.server.control import routes
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.hosting.log_lines import ServerLog, as_text
from tests.harness.rows import each_row
from tests.operations.world import GIVEN
from tests.server.hostile import Request, send

SIGNING = "whsec_c2lnbmluZy1zZWNyZXQtb2YtYS10ZXN0"
OWN = "ownSigning/SecretOf+thisEndpoint/ofTheTenant"  # without the form of a key
SEED = {
    **GIVEN,
    "webhooks": [{"url": "http://127.0.0.1:9/hook", "secret": SIGNING}, {"url": "http://127.0.0.1:9/b", "secret": OWN}],
}

# How a key may be written, each so that its reader has the key.
FORMS: dict[str, Callable[[str], str]] = {
    "whole": lambda key: key,
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded throughout": lambda key: "".join(f"%{ord(char):02x}" for char in key),
    "percent-encoded in part": lambda key: key[:5] + "".join(f"%{ord(char):02X}" for char in key[5:9]) + key[9:],
    "percent-encoded twice": lambda key: "".join(f"%25{ord(char):02x}" for char in key),
    "escaped": lambda key: "".join(f"\\u{ord(char):04x}" for char in key),
    "within a word": lambda key: f"x{key}x",
    "after an underscore": lambda key: f"my_{key}",
}
# fmt: off
VIEWS = [route.path for route in routes.ROUTES if route.method == "GET" and "{" not in route.path]
# fmt: on


def upload(name: str) -> tuple[bytes, str]:
    body = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n'
    return body.encode(), "multipart/form-data; boundary=b"


def requests(key: str, written: str) -> list[Request]:
    """Calls that hold the written key in each place where a client can put one."""
    own = {"X-API-Key": key}
    as_json = {**own, "Content-Type": "application/json"}
    file, kind = upload(written)
    draft = {
        "name": written,
        "description": written,
        "platform": "chatapp",
        "templateId": "template_plain",
        "cadence": 60,
    }
    statement = {"field": "chat.status", "operator": "equals", "value": written}
    bodies = [
        draft,
        draft,  # the name is taken
        {**draft, "name": "a", "templateId": written},
        {**draft, "name": "b", "filters": [{"combinator": "and", "statements": [statement]}]},
        {**draft, "name": "c", "filters": [{"combinator": "and", "statements": [{**statement, "field": written}]}]},
        {**draft, "name": "d", "filters": [{"combinator": "and", "statements": [{**statement, "operator": written}]}]},
        {**draft, "name": "e", "filters": [{written: written}]},
        {written: written},
    ]
    calls = [Request("POST", "/v1/campaigns", as_json, json.dumps(body).encode()) for body in bodies]
    sessions = [
        {"funnelStepId": written},
        {"returnUrl": f"https://crm.example/?k={quote(written)}"},
        {written: 1},
        {"returnUrl": written},
    ]
    calls += [
        Request("POST", "/v1/entrypoints/chatapp/connection-sessions", as_json, json.dumps(body).encode())
        for body in sessions
    ]
    calls += [
        Request("POST", "/v1/messaging/media", {**own, "Content-Type": kind}, file),
        Request("POST", "/v1/messaging/media", {**own, "Content-Type": kind.replace("=b", f"={written}")}, file),
        Request("POST", "/v1/campaigns", {**own, "Content-Type": written}, b"{}"),
        Request("POST", "/v1/campaigns", as_json, f'{{"name": "{written}'.encode()),
        Request("GET", f"/v1/campaigns/{quote(written)}", own),
        Request("GET", f"/v1/campaigns/{written}/executions/{written}", own),
        Request("GET", f"/v1/{written}?{written}={written}", own),
        Request("GET", f"/v1/messaging/chats/chat_ana?cursor={written}&limit={written}", own),
        Request("GET", "/v1/campaigns", {"X-API-Key": written}),
        Request("GET", "/v1/campaigns", {**own, "Authorization": f"Bearer {written}", "Cookie": f"a={written}", "User-Agent": written}),
        Request("GET", f"/connect/{written}", {"User-Agent": written}),
        Request("GET", f"/media/{written}"),
        Request("GET", f"/sandboxes/{written}/v1/campaigns"),
        Request("PATCH", "/_mock/tenants/tenant_default", {}, json.dumps({"name": written}).encode()),
        Request("PATCH", "/_mock/choices", {}, json.dumps({written: written}).encode()),
        Request("POST", "/_mock/journal/verify", {}, json.dumps({"operation": "createCampaign", "times": 99, "where": {"body.name": written, f"query.{written}": written}}).encode()),
        Request("POST", "/_mock/clock/advance", {}, json.dumps({"by": written}).encode()),
        Request("POST", "/_mock/choices/watch"),
        Request("GET", f"/_mock/journal?operation={written}"),
        Request("GET", f"/_mock/{written}"),
        Request("GET", f"/_mock/replay?name={written}"),
        Request("DELETE", f"/_mock/rules/{written}"),
        Request("POST", "/_mock/scenarios", {}, json.dumps({"scenario": written, "given": {"chats": [{"name": written, "custom": {written: written}}], "forms": [{"id": written}]},
                                                            "script": [{"on": "listTemplates", "do": {"reply": {"status": 500, "headers": {"X-A": "b"}, "body": {written: written}}}}]}).encode()),
        Request("POST", "/_mock/scenarios", {}, json.dumps({"given": {"messages": [{"chatId": written}]}}).encode()),
    ]  # fmt: skip
    return calls


@each_row("form", FORMS.values())
@each_row("which", ["secret", "public", "signing", "own signing"])
def test_no_view_header_or_log_line_shows_a_key(which: str, form: Callable[..., Any]) -> None:
    host = SandboxHost()
    lines: list[str] = []
    host.log = ServerLog(lambda line: lines.append(as_text(line)[0].removesuffix("\n")))
    hosted = host.create(SandboxConfig(given=SEED, clock={"freeze": "2026-03-01T12:00:00Z"}), id=DEFAULT_ID)
    keys = {
        "secret": hosted.tenant.secret_key,
        "public": hosted.tenant.public_key,
        "signing": SIGNING,
        "own signing": OWN,
    }
    key, written = keys[which], form(keys[which])
    app = flask_app.build(host)
    seen: dict[str, str] = {}
    applied = 0
    for request in requests(hosted.tenant.secret_key, written):
        answer = send(app, request)
        applied += request.target == "/_mock/scenarios" and answer.status == 201
        seen[f"reason of {request.method} {request.target}"] = answer.headers.get("x-mock-reason", "")
        if request.target.startswith(("/_mock/", "/media/", "/sandboxes/", "/connect/")):
            seen[f"answer of {request.method} {request.target}"] = answer.body.decode()
    for path in VIEWS:
        seen[path] = send(app, Request("GET", path)).body.decode()
    seen["log"] = "\n".join(lines)

    shown = [
        place for place, text in seen.items() if key in text or written in text or json.dumps(written)[1:-1] in text
    ]
    assert [] == shown
