"""
Time and memory of a large recording: `python -m tests.recordings.benchmark [MEGABYTES]` writes a HAR and reads it.

Half of its bytes are calls of the API by two clients, as polls and lists; the rest are files of a page, which are left out.
The figures are those of a process of its own: seconds of processor time, and the peak of its memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mockserver._json import JSON
from tests.recordings.hars import entry

MEGABYTE = 10**6
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEMPLATES = [
    {"id": f"template_{n}", "name": f"Template {n}", "description": "x" * 200, "isOfficial": False,
     "createdAt": f"2026-01-{n + 1:02}T12:00:00.000Z", "updatedAt": f"2026-01-{n + 1:02}T12:00:00.000Z"}
    for n in reversed(range(20))
]  # fmt: skip


def calls() -> Iterator[JSON]:
    """Yield entries without end: campaigns that run ten minutes each, polled every ten seconds."""
    campaign = seconds = 0
    headers = {"User-Agent": "client/1.0", "Accept": "application/json", "Cookie": "c" * 200}

    def call(call: str, status: int, answer: Any, sent: Any = None) -> JSON:
        at = f"{(START + timedelta(seconds=seconds)).isoformat(timespec='milliseconds')[:-6]}Z"
        return entry(call, status, answer, at=at, sent=sent, headers=headers)

    while True:
        campaign += 1
        id, run = f"campaign_{campaign}", f"execution_{campaign}"
        body = {"name": f"Campaign {campaign}", "platform": "chatapp", "templateId": "template_1", "cadence": 60}
        yield call("GET /v1/message-templates", 200, {"templates": TEMPLATES})
        yield call("POST /v1/campaigns", 201, {"campaignId": id, "status": "draft"}, body)
        yield call(f"POST /v1/campaigns/{id}/start", 202, {"executionId": run, "status": "processing"}, {})
        for sent in range(1, 61):
            seconds += 10
            shown = {"id": run, "status": "completed" if sent == 60 else "processing", "targetCount": 600, "sentCount": sent * 10,
                     "failedCount": 0, "progress": sent * 100 // 60}  # fmt: skip
            yield call(f"GET /v1/campaigns/{id}/executions/{run}", 200, shown)
        yield call(
            f"GET /v1/campaigns/unknown_{campaign}",
            404,
            {"statusCode": 404, "code": "CAMPAIGN_NOT_FOUND", "message": "x"},
        )


def write(file: Path, size_bytes: int) -> int:
    """Write a HAR of this size, and return how many entries it has."""
    script = entry("GET /app.js", 200, "x" * 60_000, key=None, address="https://app.example")
    written, count, rows = 0, 0, calls()
    with file.open("w", encoding="utf-8") as out:
        out.write('{"log": {"version": "1.2", "creator": {"name": "benchmark", "version": "1"}, "entries": [')
        while written < size_bytes:
            row = script if count % 30 == 29 else next(rows)
            text = json.dumps(row)
            out.write(("," if count else "") + text)
            written += len(text)
            count += 1
        out.write("]}}")
    return count


def main() -> None:
    """Print the figures."""
    if sys.platform == "win32":
        raise SystemExit("Windows has no figures of a process that has ended")
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.har"
        count = write(file, size * MEGABYTE)
        done = subprocess.run(
            [sys.executable, "-m", "mockserver", "judge", file], check=True, capture_output=True, encoding="utf-8"
        )
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            done.stdout.splitlines()[0]
            + "\n"
            + f"{file.stat().st_size / MEGABYTE:.0f} MB, {count} entries: {usage.ru_utime + usage.ru_stime:.1f} s of "
            f"processor time, {usage.ru_maxrss / 1000:.0f} MB of memory"
        )


if __name__ == "__main__":
    main()
