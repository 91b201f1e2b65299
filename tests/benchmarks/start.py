"""
How long a server takes from the start of its process to its first answer: `python -m tests.benchmarks.start`.

`mockserver serve` with its demo data and pytest-httpserver, in turn; the figures are the time of the
processor, which other processes of the machine do not change, and of the clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from http.client import HTTPConnection
from statistics import median

ROUNDS = 15
_HTTPSERVER = """
import threading
from pytest_httpserver import HTTPServer
server = HTTPServer(port=0)
server.expect_request("/v1/campaigns/one").respond_with_json({"id": "one"})
server.start()
print(server.url_for(""), flush=True)
threading.Event().wait()
"""
SERVERS = {
    "mockserver serve": ("-m", "mockserver", "serve", "--port", "0", "--log-format", "off"),
    "pytest-httpserver": ("-c", _HTTPSERVER),
}


def start(arguments: tuple[str, ...]) -> tuple[float, float]:
    """Return the milliseconds of the processor and of the clock up to the first answer."""
    # Compiled modules are written, as an installation has them.
    if sys.platform == "win32":
        raise SystemExit("expected a POSIX system")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert process.stdout is not None
    url = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
    connection = HTTPConnection(url.removeprefix("http://").rstrip("/"))
    connection.request("GET", "/v1/campaigns/one")
    connection.getresponse().read()
    took = (time.perf_counter() - began) * 1000
    connection.close()
    process.kill()
    process.stdout.close()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = -1  # waited for already
    return (usage.ru_utime + usage.ru_stime) * 1000, took


def main() -> None:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in SERVERS}
    for arguments in SERVERS.values():
        start(arguments)
    for _ in range(ROUNDS):
        for name, arguments in SERVERS.items():
            times[name].append(start(arguments))
    ours = median(cpu for cpu, _ in times["mockserver serve"])
    for name, rounds in times.items():
        cpu, wall = ([each[kind] for each in rounds] for kind in (0, 1))
        print(
            f"{name}: processor least {min(cpu):.0f} ms, median {median(cpu):.0f} ms; "
            f"clock least {min(wall):.0f} ms, median {median(wall):.0f} ms; this mock takes {ours / median(cpu):.2f} of it"
        )


if __name__ == "__main__":
    main()
