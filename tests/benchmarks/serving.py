"""`mockserver serve` in a process of its own, of this checkout or of another one, and calls of it over one connection."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
NOON = "2026-03-01T12:00:00Z"
TEMPLATE = "/v1/message-templates/template_semana_clareamento"
_STOP_SECONDS = 5.0
_CAMPAIGN = {"name": "Running", "platform": "chatapp", "templateId": "template_semana_clareamento", "cadence": 60}


class Served(NamedTuple):
    """A running server with the demo's data."""

    url: str
    key: str
    pid: int

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0


def processor_seconds(pid: int) -> tuple[float, float]:
    """Return the processor time of a process so far, in its program and in the kernel."""
    values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(values[11]) / 100, int(values[12]) / 100


class Client:
    """Calls of the API and of the control plane over one connection."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.netloc)
        self._prefix = parts.path
        self._headers = {"X-API-Key": key, "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Any = None) -> bytes:
        """Make a call that succeeds, and return the body of its response."""
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, self._prefix + path, sent, self._headers)
        with self._connection.getresponse() as response:
            content = response.read()
        assert response.status < 300, content[:500]
        return content

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.send(method, path, body) or b"null")

    def close(self) -> None:
        self._connection.close()


@contextmanager
def serving(*options: str, checkout: Path = ROOT, log: Path | None = None) -> Iterator[Served]:
    """Serve the demo, by default without a log; another checkout has its own environment in `.venv`."""
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), "-m", "mockserver", "serve", "--port", "0", *options]
    if log is None:
        command += ["--log-format", "off"]
    with (
        (log or Path(os.devnull)).open("ab") as errors,
        subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8") as process,
    ):
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[-1]
            yield Served(url, next(line.split()[-1] for line in process.stdout if "secret key" in line), process.pid)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def running_campaign(served: Served) -> str:
    """Start a campaign in the default sandbox, and return its path."""
    client = Client(served.url, served.key)
    path = f"/v1/campaigns/{client.call('POST', '/v1/campaigns', _CAMPAIGN)['campaignId']}"
    client.send("POST", f"{path}/start", {"commonVariables": {"var2": "hoje"}})
    client.close()
    return path


def p99(times: list[float]) -> float:
    return quantiles(times, n=100)[-1]
