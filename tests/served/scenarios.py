"""
What a tree's server answers, as files.

Each scenario of the library is played by the same calls in a frozen sandbox; then every view, report and document of it
is read. A receiver on this machine accepts the webhooks. Real times are cut out.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.harness.waiting import wait_until
from tests.processes import interrupt

NOON = "2026-03-01T12:00:00Z"
PORT, RECEIVER_PORT = 18455, 18456
PROFILES = ("literal", "guide", "hostile")
READS = (
    "state", "journal", "steps", "replay", "report", "ledger", "conduct", "coverage", "events", "rules", "choices", "clock",
    "tenants/tenant_demo",
)  # fmt: skip
PAGES = ("", "calls", "objects", "events", "choices", "scenarios")
COMMANDS = (
    ("choices",), ("scenarios",), ("clauses", "--conduct"), ("clauses",),
    ("scenarios", "--schema"), ("openapi",), ("openapi", "--control"),
)  # fmt: skip
REAL_TIMES = re.compile(r'("durationMs": ?)\d+(\.\d+)?|\b\d+(\.\d+)? ms\b')


class Accepts(BaseHTTPRequestHandler):
    """Answers 204 to each webhook."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server:
    """A server of a tree, frozen, and the folder of what it has answered."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, str]:
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, headers or {})
        response = self._connection.getresponse()
        return response.status, response.read().decode()

    def store(self, name: str, path: str, headers: dict[str, str] | None = None) -> None:
        """Store the answer to a GET as a file."""
        status, text = self.send("GET", path, headers=headers)
        self.write(name, f"{status}\n{text}")

    def write(self, name: str, text: str) -> None:
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(REAL_TIMES.sub(r"\1(real time)", text), encoding="utf-8")


class Player:
    """Plays the same calls in one sandbox."""

    def __init__(self, server: Server, prefix: str, key: str) -> None:
        self._server, self._prefix, self._key = server, prefix, key
        self.log: list[str] = []

    def control(self, method: str, path: str, body: Any = None) -> Any:
        status, text = self._server.send(method, f"{self._prefix}/_mock/{path}", body)
        self.log.append(f"{method} {path} {status} {text}")
        return json.loads(text) if text else None

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Call the API, with waits by the sandbox's clock; return the body of a JSON answer, else an empty one."""
        content = b"" if body is None else json.dumps(body).encode()
        whole = {
            "method": method,
            "path": f"/v1/{path}",
            "headers": {"X-API-Key": self._key if key is None else key, "Content-Type": "application/json"},
            "bodyBase64": base64.b64encode(content).decode(),
            "timeout": "1m",
        }
        answer = self.control("POST", "calls", whole)
        # Workers send what the call made due; an advance waits for them, so that the next call does not overtake an event.
        self._server.send("POST", f"{self._prefix}/_mock/clock/advance", {"by": "0s"})
        content = base64.b64decode(answer.get("bodyBase64", ""))
        self.log.append(content.decode(errors="replace"))
        try:
            return json.loads(content)
        except ValueError:
            return {}

    def play(self) -> None:
        """Make a session of calls to each operation, some of them refused, with time between them."""
        self.control("POST", "webhooks", {"url": f"http://127.0.0.1:{RECEIVER_PORT}/hooks"})
        templates = self.call("GET", "message-templates").get("templates") or [{"id": "template_x"}]
        self.call("GET", f"message-templates/{templates[0]['id']}")
        self.call("GET", "campaigns/filters/schema")
        tags = [{"combinator": "or", "statements": [{"field": "chat.status", "operator": "equals", "value": "open"}]}]
        self.call("POST", "campaigns/audience-preview", {"filters": tags})
        for number, template in enumerate((*templates[:3], {"id": "template_none"})):
            self._campaign(number, template["id"], tags)
        self.call("GET", "campaigns?limit=2")
        self.call("GET", "campaigns", key="sk_wrong")
        self._session("complete", {"phone": "+55 11 5550-0203"})
        self._session("fail", {"reason": "phone_in_use"})
        self._session("expire", None)
        self.call("GET", "messaging/chats/chat_1?limit=2")
        self.call("GET", "forms/form_1/embed-frame-policy")
        self.call("GET", "unknown")
        self.control("POST", "clock/advance", {"by": "30m"})

    def _campaign(self, number: int, template: str, filters: Any) -> None:
        body = {"name": f"Campaign {number}", "platform": "chatapp", "templateId": template, "cadence": 60}
        created = self.call("POST", "campaigns", body | ({"filters": filters} if number % 2 else {}))
        campaign = created.get("campaignId", "campaign_none")
        variables = {f"var{each}": "text" for each in range(1, 4)}
        started = self.call("POST", f"campaigns/{campaign}/start", {"commonVariables": variables})
        if "executionId" not in started:
            started = self.call("POST", f"campaigns/{campaign}/start")
        self.control("POST", "clock/advance", {"by": "90s"})
        self.call("GET", f"campaigns/{campaign}")
        self.call("GET", f"campaigns/{campaign}/executions/{started.get('executionId', 'execution_none')}")
        if number == 2:
            self.call("POST", f"campaigns/{campaign}/cancel")

    def _session(self, end: str, body: Any) -> None:
        created = self.call("POST", "entrypoints/chatapp/connection-sessions", {})
        self.control("POST", "clock/advance", {"by": "1s"})
        session = created.get("sessionId", "session_none")
        self.control("POST", f"sessions/{session}/{end}", body)
        read = self.call("GET", f"entrypoints/chatapp/connection-sessions/{session}")
        entrypoint = (read.get("entrypoint") or {}).get("id", "entrypoint_none")
        self.call("GET", f"entrypoints/{entrypoint}")


def serve(tree: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start the tree's server; return it when it listens, which its ready file in the folder shows."""
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)  # of a server that was killed: its address is dead
    options = ("--port", str(PORT), "--freeze", NOON, "--ready-file", str(ready), "--log-format", "json")
    process = subprocess.Popen(
        [sys.executable, "-m", "mockserver", "serve", *options],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(ready.exists)
    return process


def scenarios(tree: Path) -> Iterator[str]:
    return (file.stem for file in sorted((tree / "scenarios").glob("*.yaml")))


def write(tree: Path, folder: Path) -> None:
    """Write everything that the tree serves into the folder."""
    receiver = ThreadingHTTPServer(("127.0.0.1", RECEIVER_PORT), Accepts)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    folder.mkdir(parents=True, exist_ok=True)
    process = serve(tree, folder)
    try:
        server = Server(folder)
        for name in scenarios(tree):
            scenario(server, name)
        for profile in PROFILES:
            for plane in ("", "&plane=control"):
                server.store(
                    f"documents/{profile}{plane}.openapi.json", f"/_mock/openapi.json?profile={profile}{plane}"
                )
    finally:
        interrupt(process)
        process.wait()
        receiver.shutdown()
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "mockserver", *command],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        Server(folder).write(f"commands/{' '.join(command)}", done.stdout)


def scenario(server: Server, name: str) -> None:
    choices = {"wh-timestamp": "sandbox-clock"}
    body = {"scenario": name, "seed": 7, "clock": {"freeze": NOON}, "choices": choices}
    status, text = server.send("POST", "/_mock/sandboxes", body)
    made = json.loads(text)
    if status != 201:
        server.write(f"scenarios/{name}/made", text)
        return
    prefix = f"/{made['baseUrl'].split('/', 3)[3]}"
    player = Player(server, prefix, made["secretKey"])
    player.play()
    server.write(f"scenarios/{name}/calls", "\n".join(player.log))
    for read in READS:
        server.store(f"scenarios/{name}/{read.replace('/', ' ')}.json", f"{prefix}/_mock/{read}")
    server.store(f"scenarios/{name}/report.txt", f"{prefix}/_mock/report", {"Accept": "text/plain"})
    for page in PAGES:
        server.store(f"scenarios/{name}/page {page}.html", f"{prefix}/_mock/{page}", {"Accept": "text/html"})
    server.send("DELETE", f"/_mock/sandboxes/{made['sandboxId']}")
