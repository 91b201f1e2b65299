"""Eight races are found with their shortest schedules and replayed, and eight careful pairs have no finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
import requests

from mockserver import MockServer
from mockserver.testing.runs.orders import InterleaveReport
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.transports.in_process import Response
from tests.runs.orders.pairs import CAREFUL, RACES, SESSIONS, Pair, call, campaigns, create

REPLAYS, REPLAYS_DEEP = 3, 40
# The preemptions of the shortest schedule; a client that sleeps is preempted by nothing.
SHORTEST = {
    "list-then-create": ("worker*2 cron", 1),
    "read-then-start": ("worker*2 cron", 1),
    "read-then-cancel": ("cleaner*2 worker", 1),
    "number-by-count": ("worker*2 cron", 1),
    "one-at-a-time": ("spring*2 autumn", 1),
    "adopt-then-start": ("worker*3 cron", 1),
    "session-by-memory": ("page job", 1),
    "poll-and-webhook": ("service*4 user*3 events service", 1),
}


SHALLOW = ("list-then-create", "read-then-start", "session-by-memory", "adopts", "reports")


def each(pairs: Mapping[str, Pair]) -> pytest.MarkDecorator:
    """Run a test with each pair, in the test line with a few."""
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=[pytest.mark.deep] * (name not in SHALLOW)) for name in pairs]
    )


def interleaved(server: MockServer, pair: Pair, **options: Any) -> InterleaveReport:
    """Interleave a pair whose clients share a new memory in each run."""
    present: dict[str, Callable[[Sandbox], Any]] = {}

    def client(name: str) -> Callable[[Sandbox], Any]:
        return lambda sandbox: present[name](sandbox)

    return server.interleave(
        setup=lambda _: present.update(pair.make()),
        clients={name: client(name) for name in pair.make()},
        settings={"given": pair.given},
        tolerates=pair.tolerates,
        **options,
    )


@each(RACES)
def test_a_race_is_found_at_its_shortest_schedule(server: MockServer, name: str) -> None:
    report = interleaved(server, RACES[name])

    assert RACES[name].verdict == report.findings[0].verdict, report.text()
    assert SHORTEST[name] == (report.findings[0].schedule, report.findings[0].preemptions)


@each(RACES)
def test_a_race_has_no_finding_in_serial_runs(server: MockServer, name: str) -> None:
    assert not interleaved(server, RACES[name], schedule="").failed


@each(CAREFUL)
def test_a_careful_pair_has_no_finding(server: MockServer, name: str) -> None:
    # Under their own lock one of the clients is certainly blocked, so that a short bound of real time decides nothing else.
    report = interleaved(server, CAREFUL[name], blocked_seconds=0.3 if name == "under-a-lock" else 60)

    assert not report.failed, report.text()


class OverSockets:
    """A handle whose calls of the API go to the client's own port."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def call(self, method: str, path: str, *, json: Any = None) -> Response:
        headers = {"X-API-Key": self._sandbox.secret_key}
        response = requests.request(method, f"{self._sandbox.base_url}{path}", json=json, headers=headers, timeout=60)
        return Response(response.status_code, response.headers, response.content)


def over_sockets(pair: Pair) -> Pair:
    def client(function: Callable[[Sandbox], Any]) -> Callable[[Sandbox], Any]:
        return lambda sandbox: function(cast(Sandbox, OverSockets(sandbox)))

    return pair._replace(make=lambda: {name: client(function) for name, function in pair.make().items()})


@pytest.mark.parametrize(
    ("name", "replays"),
    [("read-then-start", REPLAYS), *(pytest.param(name, REPLAYS_DEEP, marks=pytest.mark.deep) for name in RACES)],
)
@pytest.mark.parametrize("wire", ["in process", "over sockets"])
def test_each_replay_of_each_finding_finds_it_again(
    server: MockServer, name: str, wire: str, replays: int, record_property: Callable[[str, object], None]
) -> None:
    pair = RACES[name] if wire == "in process" else over_sockets(RACES[name])
    findings = interleaved(server, RACES[name]).findings
    for finding in findings:
        texts = {
            interleaved(server, pair, schedule=finding.schedule, blocked_seconds=10).text() for _ in range(replays)
        }

        (text,) = texts
        assert f"\n{finding.verdict}: {finding.message}" in text
    found = len(findings)
    record_property("figures", {"of": f"replays {wire}", "findings": found, "replays": found * replays})


def early_event(*, is_kept: bool) -> dict[str, Callable[[Sandbox], Any]]:
    """Return a service whose receiver gets an event on a session before its own code knows the session, and the end user."""
    known, early = set[str](), set[str]()

    def service(sandbox: Sandbox) -> None:
        def receive(request: Any) -> int:
            session_id = request.json()["data"]["sessionId"]
            if session_id in known:
                create(sandbox, "Welcome")
            elif is_kept:
                early.add(session_id)
            return 204

        sandbox.receive_webhooks(receive)
        session_id = call(sandbox, "POST", SESSIONS, {})["sessionId"]
        campaigns(sandbox)
        known.add(session_id)
        if session_id in early:
            create(sandbox, "Welcome")

    def user(sandbox: Sandbox) -> None:
        pending = [row for row in sandbox.state()["tenants"][0]["sessions"] if row["status"] == "pending"]
        if pending:
            sandbox.complete_session(pending[0]["id"], phone="+5511999990000", name="Ana")

    return {"service": service, "user": user}


@pytest.mark.parametrize(("is_kept", "verdicts"), [(False, ["unserial"]), (True, [])])
def test_an_event_that_a_receiver_drops_since_it_is_early_is_found(
    server: MockServer, is_kept: bool, verdicts: list[str]
) -> None:
    report = interleaved(server, Pair(lambda: early_event(is_kept=is_kept)), bound=1)

    assert verdicts == [finding.verdict for finding in report.findings], report.text()
    for finding in report.findings:
        assert finding.message.startswith("the end is that of no serial run: it lacks campaign 'Welcome'")
        assert finding.message.endswith(", which the nearest serial run has")


# Over sockets: each client has a port of its own.
