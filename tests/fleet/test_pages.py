"""The dashboard and the stream of a sandbox through each proxy: nothing is buffered, and cookies and links have its prefix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from mockserver import Sandbox
from mockserver.testing.remote import RemoteServer
from tests.fleet.fleets import DEADLINE_SECONDS, INSTALLED, TOKEN, Fleet, each_proxy, needs_linux
from tests.server.test_stream import Reader, session

pytestmark = [needs_linux, pytest.mark.skipif(not INSTALLED, reason="no proxy is on this machine")]
HTML = {"Accept": "text/html"}


class Observed(NamedTuple):
    """A sandbox of the second shard, behind a proxy."""

    sandbox: Sandbox
    address: str
    path: str

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[HTTPResponse, str]:
        """The response to a browser's request, and its text."""
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection(self.address, timeout=DEADLINE_SECONDS)) as connection:
            connection.request(method, path, body or None, {**HTML, **own})
            response = connection.getresponse()
            return response, response.read().decode()


@pytest.fixture(scope="module")
def observed(request: pytest.FixtureRequest) -> Iterator[Observed]:
    fleet = Fleet(request.param, "--token", TOKEN)
    try:
        server = RemoteServer(fleet.url, token=TOKEN)
        created = (server.sandbox(scenario="demo") for _ in range(20))  # each worker of nginx has a turn of its own
        sandbox = next(each for each in created if each.id.startswith("sandbox_1_"))
        yield Observed(sandbox, urlsplit(fleet.url).netloc, urlsplit(sandbox.base_url).path)
        server.close()
    finally:
        fleet.close()


by_proxy = each_proxy(fixture="observed")


@by_proxy
def test_each_event_of_a_stream_arrives_before_the_next_call(observed: Observed) -> None:
    with Reader(observed.sandbox, Authorization=f"Bearer {TOKEN}") as reader:
        first = reader.event()
        seen = []
        for _ in range(3):
            session(observed.sandbox)
            seen.append([reader.event().name, reader.event().name])

    assert "Content-Type: text/event-stream; charset=utf-8".lower() in [line.lower() for line in reader.head]
    assert "clock" == first.name
    assert [["call", "change"]] * 3 == seen


@by_proxy
def test_a_reader_that_connects_again_gets_what_follows(observed: Observed) -> None:
    with Reader(observed.sandbox, Authorization=f"Bearer {TOKEN}") as reader:
        reader.event()
        session(observed.sandbox)
        last = [reader.event() for _ in range(2)][-1]
    session(observed.sandbox)

    with Reader(observed.sandbox, Authorization=f"Bearer {TOKEN}", Last_Event_ID=last.id) as reader:
        assert ["call", "change", "clock"] == [event.name for event in reader.until("clock")]


@by_proxy
def test_a_stream_ends_with_its_sandbox(observed: Observed) -> None:
    server = RemoteServer(f"http://{observed.address}", token=TOKEN)
    sandboxes = [server.sandbox() for _ in range(2)]  # one of each shard

    for sandbox in sandboxes:
        with Reader(sandbox, Authorization=f"Bearer {TOKEN}") as reader:
            reader.event()
            sandbox.close()
            with pytest.raises(EOFError):
                reader.event()


@by_proxy
def test_the_cookie_of_a_sandbox_opens_its_pages_and_its_stream_below_its_prefix(observed: Observed) -> None:
    page, form = observed.path + "/_mock/calls", urlencode({"token": TOKEN, "next": f"{observed.path}/_mock/calls"})

    refused, _ = observed.ask("GET", page)
    signed_in, _ = observed.ask("POST", f"{observed.path}/_mock/", form, Origin=f"http://{observed.address}")
    cookie = signed_in.getheader("Set-Cookie", "")
    shown, text = observed.ask("GET", page, Cookie=cookie.partition(";")[0])
    with Reader(observed.sandbox, Cookie=cookie.partition(";")[0]) as reader:
        first = reader.event()

    assert [401, 303, 200] == [refused.status, signed_in.status, shown.status]
    assert page == signed_in.getheader("Location")
    assert f"; Path={observed.path}/_mock/; HttpOnly; SameSite=Strict" in cookie
    assert observed.sandbox.id in text
    assert "clock" == first.name


@by_proxy
@pytest.mark.parametrize("host", ["", "{id}.mock.example"])
def test_every_link_and_asset_of_a_page_has_the_prefix_of_the_sandbox(observed: Observed, host: str) -> None:
    named = {"Host": host.format(id=observed.sandbox.id)} if host else {}
    bearer = {"Authorization": f"Bearer {TOKEN}", **named}
    path = "/_mock/" if host else f"{observed.path}/_mock/"

    response, text = observed.ask("GET", path, **bearer)
    links = [link for link in re.findall(r'(?:href|src)="([^"]+)"', text) if link.startswith("/")]
    assets = [observed.ask("GET", link, **named)[0] for link in links if "/_mock/page/" in link]

    assert 200 == response.status
    assert [] == [link for link in links if not link.startswith(f"{observed.path}/_mock/")]
    assert {200} == {asset.status for asset in assets}
    assert {"nosniff"} == {asset.getheader("X-Content-Type-Options") for asset in assets}
