"""
The functions that run during one `POST /v1/campaigns/{id}/start` over a socket, with a rule and a webhook.

`python -m tests.pages.hops` prints the modules in the order in which they are first entered, and their number. The
diagram of the architecture page shows the calls.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import requests

from mockserver import MockServer, Sandbox
from mockserver.version import __file__ as inside

PACKAGE = Path(inside).parent
GIVEN: dict[str, Any] = {"templates": [{"id": "template_hello"}], "chats": {"count": 3}, "entrypoints": [{}]}
CAMPAIGN = {"platform": "chatapp", "templateId": "template_hello", "cadence": 60}
_DEADLINE_SECONDS = 30


class Hop(NamedTuple):
    """A call of a function of the package: its module, as a path below the package, and its name in the module."""

    module: str
    function: str


def hops() -> list[Hop]:
    """Return the calls in order; the first request has imported what is imported late."""
    seen: list[Hop] = []
    watched = [False]
    recorded = threading.Semaphore(0)

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and watched[0] and path.is_relative_to(PACKAGE):
            seen.append(Hop(path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))
        if event == "return" and frame.f_code.co_qualname == "record_attempt":
            recorded.release()

    threading.setprofile(note)  # for the threads that the server starts
    try:
        with (
            MockServer() as server,
            server.sandbox(seed=3, now="2026-03-01T12:00:00Z", given=GIVEN) as sandbox,
            requests.Session() as client,
        ):
            sandbox.receive_webhooks(lambda request: None)
            client.trust_env = False
            client.headers["X-API-Key"] = sandbox.secret_key
            for name in ("first", "second"):
                path = _prepared(sandbox, name)
                watched[0] = name == "second"
                assert 202 == client.post(sandbox.base_url + path, json={}, timeout=_DEADLINE_SECONDS).status_code
                assert recorded.acquire(timeout=_DEADLINE_SECONDS)
            watched[0] = False
    finally:
        threading.setprofile(None)
    return seen


def _prepared(sandbox: Sandbox, name: str) -> str:
    """Return the path of the start of a new campaign, which has a rule that completes a session."""
    session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
    campaign = sandbox.call("POST", "/v1/campaigns", json={"name": name, **CAMPAIGN}).json()["campaignId"]
    sandbox.on("startCampaign").where({"path.id": campaign}).complete_session(session)
    return f"/v1/campaigns/{campaign}/start"


if __name__ == "__main__":
    calls = hops()
    modules = list(dict.fromkeys(hop.module for hop in calls))
    print(*modules, f"{len(modules)} modules, {len(calls)} calls", sep="\n")
