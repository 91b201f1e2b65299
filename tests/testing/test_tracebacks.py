"""Tracebacks of pytest: an argument that a method refuses is shown at the line of the test, without the mock's own source."""

from __future__ import annotations

import pytest

from tests.testing.conftest import Suite

SESSIONS = '"/v1/entrypoints/chatapp/connection-sessions"'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('mockserver.apply(given={"chat": []})', '*/given/chat: got the key "chat"; *'),
        ('mockserver.webhooks.redeliver("event_1")', "ValueError: event: got 'event_1'; *"),
        ('mockserver.receive_webhooks(lambda request: 204, events=["entry"])', "ValueError: events: got 'entry'; *"),
        ('mockserver.on("createCampaign").drop("later")', '*/script/0/do/drop: got "later"; *'),
        ('mockserver.advance("soon")', "ValueError: by: got 'soon'; *"),
        ('mockserver_server.sandbox("demoo")', '*/scenario: got "demoo"; *'),
        (
            f'mockserver.complete_session(mockserver.call("POST", {SESSIONS}, json={{}}).json())',
            "ValueError: sessionId: got a value of the type dict; expected an id, a string",
        ),
    ],
)
def test_a_refused_argument_is_shown_at_the_line_of_the_test(suite: Suite, line: str, message: str) -> None:
    result = suite.run(
        f"""
        def test_own(mockserver, mockserver_server):
            {line}
        """
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f">*{line.partition('(')[0]}(*", f"E  *{message}"])
    result.stdout.no_fnmatch_line("*mockserver?testing?*")


def test_another_exception_is_shown_with_every_frame(suite: Suite) -> None:
    result = suite.run(
        """
        def test_own(mockserver):
            mockserver.admin.keys([])
        """
    )

    result.stdout.fnmatch_lines(["*sandbox_parts.py:*"])
