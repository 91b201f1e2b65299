"""A server that is one of several behind a proxy: the ids of its sandboxes, its own address, former runs, and draining."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest

from mockserver._json import JSON
from mockserver.core.instants import SECOND
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.hosting.limits import Limiter, ServerLimits
from mockserver.server.hosting.shard import Shard, read_shard
from tests.harness.rows import each_row
from tests.server import hosts
from tests.server.hosts import send


def host_of(shard: Shard | None) -> SandboxHost:
    host = hosts.host_of()
    host.shard = shard
    return host


def created(host: SandboxHost) -> dict[str, Any]:
    body: JSON = send(host, "POST", "/_mock/sandboxes").json()
    return body


@pytest.mark.parametrize(
    ("shard", "prefix"), [(None, "sandbox_1"), (Shard(0, 2), "sandbox_0_1_"), (Shard(17, 20), "sandbox_17_1_")]
)
def test_an_id_begins_with_the_shard_that_owns_it(shard: Shard | None, prefix: str) -> None:
    sandbox_id = created(host_of(shard))["sandboxId"]

    assert prefix == sandbox_id[: len(prefix)]
    assert (shard is None) == (sandbox_id == prefix)


def test_ids_repeat_in_an_equal_run_and_differ_in_the_next_one() -> None:
    first, again, next_run = (created(host_of(Shard(1, 2, run)))["sandboxId"] for run in ("0", "0", "1"))

    assert first == again != next_run


def test_a_sandbox_of_a_former_run_is_gone_and_one_that_never_was_is_unknown() -> None:
    former = created(host_of(Shard(1, 2)))["sandboxId"]
    ask = partial(send, host_of(Shard(1, 2, "1")))

    gone = ask("GET", f"/sandboxes/{former}/v1/campaigns")

    assert (410, "MOCK_SANDBOX_CLOSED", "restart") == (gone.status, gone.json()["code"], gone.json()["limit"])
    assert "shard 1 was restarted" in gone.json()["message"]
    assert 404 == ask("GET", "/sandboxes/sandbox_0_1_0123456789ab/v1/campaigns").status  # of another shard
    assert 404 == ask("GET", "/sandboxes/unknown/v1/campaigns").status


def test_a_shard_is_addressed_by_its_name_for_its_control_plane_alone() -> None:
    host = host_of(Shard(1, 3))
    made = created(host)
    ask = partial(send, host)

    listed = ask("GET", "/sandboxes/shard_1/_mock/sandboxes").json()

    assert [DEFAULT_ID, made["sandboxId"]] == [row["sandboxId"] for row in listed["sandboxes"]]
    assert made["baseUrl"] == listed["sandboxes"][1]["baseUrl"]
    assert (1, 3) == (listed["shard"], listed["shards"])
    assert (1, 3) == tuple(ask("GET", "/sandboxes/shard_1/_mock/health").json()[name] for name in ("shard", "shards"))
    assert 404 == ask("GET", "/sandboxes/shard_2/_mock/health").status
    assert 404 == ask("GET", "/sandboxes/shard_1/v1/campaigns").status


def test_the_pages_of_a_shard_lead_to_itself_and_its_sandboxes_to_their_own_address() -> None:
    host = host_of(Shard(1, 3))
    made = created(host)

    page = send(host, "GET", "/sandboxes/shard_1/_mock/sandboxes", accept="text/html").body.decode()

    links = re.findall(r'href="(/[^"]*)"', page)
    assert links
    assert [] == [link for link in links if not link.startswith("/sandboxes/shard_1/_mock/")]
    assert f'href="{made["baseUrl"]}/_mock/"' in page


@each_row("text", ["", "1", "2/2", "-1/2", "1/", "a/b", "0/257", "0/2/", "0/2/run"])
def test_a_wrong_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected NUMBER/COUNT"):
        read_shard(text)


class Draining:
    """A host that drains, with its own real time."""

    def __init__(self) -> None:
        self.host = host_of(None)
        self.now, self.ends = 0, 0
        self.host.monotonic_us = lambda: self.now
        self.limiter = Limiter(self.host, ServerLimits(), self._end)
        self.host.admission = self.limiter.admission

    def _end(self) -> None:
        self.ends += 1


def test_a_server_that_drains_creates_no_sandbox_and_ends_with_the_last_one() -> None:
    draining = Draining()
    sandbox_id = created(draining.host)["sandboxId"]
    draining.limiter.sweep()
    assert 0 == draining.ends

    draining.limiter.drain(SECOND)
    refused = send(draining.host, "POST", "/_mock/sandboxes")
    draining.limiter.sweep()

    assert (503, "MOCK_DRAINING") == (refused.status, refused.json()["code"])
    assert ("Retry-After", "1") in refused.headers
    assert 0 == draining.ends
    assert 204 == send(draining.host, "DELETE", f"/_mock/sandboxes/{sandbox_id}").status
    draining.limiter.sweep()
    assert 1 == draining.ends


def test_a_server_that_drains_ends_when_its_time_is_over() -> None:
    draining = Draining()
    created(draining.host)

    draining.limiter.drain(10 * SECOND)
    draining.now = 10 * SECOND - 1
    draining.limiter.sweep()
    assert 0 == draining.ends
    draining.now += 1
    draining.limiter.sweep()

    assert 1 == draining.ends
