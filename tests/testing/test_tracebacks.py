"""Tracebacks of pytest: what a client or a test has done is shown at its own lines, without the source of the mock."""

from __future__ import annotations

from textwrap import dedent

import pytest

from mockserver.testing.report.failures import describe, frames
from tests.testing.conftest import Suite

SESSIONS = '"/v1/entrypoints/chatapp/connection-sessions"'


# A line with an argument that is refused, and the words of the refusal.
REFUSED = {
    'mockserver.apply(given={"chat": []})': '*/given/chat: got the key "chat"; *',
    'mockserver.webhooks.redeliver("event_1")': "ValueError: event: got 'event_1'; *",
    'mockserver.receive_webhooks(lambda request: 204, events=["entry"])': "ValueError: events: got 'entry'; *",
    'mockserver.on("createCampaign").drop("later")': '*/script/0/do/drop: got "later"; *',
    'mockserver.advance("soon")': "ValueError: by: got 'soon'; *",
    'mockserver_server.sandbox("demoo")': '*/scenario: got "demoo"; *',
    f'mockserver.complete_session(mockserver.call("POST", {SESSIONS}, json={{}}).json())': "ValueError: sessionId: got a value of the type dict; expected an id, a string",
}  # fmt: skip


def test_a_refused_argument_is_shown_at_the_line_of_the_test(suite: Suite) -> None:
    tests = [f"def test_{n}(mockserver, mockserver_server):\n    {line}\n" for n, line in enumerate(REFUSED)]
    result = suite.run("\n".join(tests), "-p", "no:randomly")

    result.assert_outcomes(failed=len(REFUSED))
    result.stdout.fnmatch_lines(
        [part for line, words in REFUSED.items() for part in (f">*{line.partition('(')[0]}(*", f"E  *{words}")]
    )
    result.stdout.no_fnmatch_line("*mockserver?testing?*")


def test_another_exception_is_shown_with_every_frame(suite: Suite) -> None:
    result = suite.run(
        """
        def test_own(mockserver):
            mockserver.admin.keys([])
        """
    )

    result.stdout.fnmatch_lines(["*sandbox_parts.py:*"])


CLIENT = """
class Client:
    def __init__(self, http, url=""):
        self.http, self.url = http, url

    def read(self, **options):
        return self.http.get(f"{self.url}/v1/campaigns", **options)  # the client's line


def of_requests(mockserver):
    return Client(mockserver.requests_session(), mockserver.base_url)


def of_httpx(mockserver):
    return Client(mockserver.httpx_client())
"""


@pytest.mark.parametrize("library", ["requests", "httpx"])
@pytest.mark.parametrize(
    ("rule", "options"),
    [("drop('before')", ""), ("delay('1m')", "timeout=3")],
    ids=["no answer", "a timeout"],
)
def test_a_call_without_an_answer_is_shown_as_over_a_socket(
    suite: Suite, library: str, rule: str, options: str
) -> None:
    result = suite.run(
        CLIENT
        + dedent(f"""
        def test_own(mockserver):
            client = of_{library}(mockserver)
            mockserver.on("listCampaigns").{rule}
            client.read({options})
        """)
    )

    result.stdout.fnmatch_lines([">*client.read(*", "*# the client's line", "E  *"])
    result.stdout.no_fnmatch_line("*mockserver?testing?*.py:*")


def test_a_call_of_the_sandbox_without_an_answer_is_shown_at_the_line_of_the_test(suite: Suite) -> None:
    result = suite.run(
        """
        def test_own(mockserver):
            mockserver.on("listCampaigns").drop("before")
            mockserver.call("GET", "/v1/campaigns")
        """
    )

    result.stdout.fnmatch_lines(['>*mockserver.call("GET", *', "E  *RemoteDisconnected*"])
    result.stdout.no_fnmatch_line("*mockserver?testing?*.py:*")


def read_deep(levels: int) -> None:
    if levels == 0:
        raise KeyError("id")  # the innermost
    read_deep(levels - 1)  # one of its callers


@pytest.mark.parametrize(("levels", "callers"), [(0, 0), (1, 1), (5, 1)])
def test_the_frames_of_an_exception_are_its_last_ones_and_that_of_the_test(levels: int, callers: int) -> None:
    with pytest.raises(KeyError) as raised:
        read_deep(levels)  # in the test

    lines = [frame.partition(" ")[2] for frame in frames(raised.value)]
    assert [
        '`raise KeyError("id")  # the innermost`',
        *["`read_deep(levels - 1)  # one of its callers`"] * callers,
        "`read_deep(levels)  # in the test`",
    ] == lines
    assert callers + 1 == describe(raised.value).place.count(" from tests/testing/test_tracebacks.py:")
