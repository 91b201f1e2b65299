"""Of equal instants the one created later counts as later: as a timer it fires after, in a list it is first."""

import pytest

from mockserver import Sandbox
from tests.clients.operations import SESSIONS
from tests.operations.campaigning import run

# Twenty-one chats at one message a minute take the twenty minutes of a session.
GIVEN = {"templates": [{"id": "template_plain"}], "chats": {"count": 21}}
pytestmark = pytest.mark.mockserver(now="2026-03-01T12:00:00Z", given=GIVEN)


def _connect(sandbox: Sandbox) -> str:
    return str(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])


@pytest.mark.parametrize("session_first", [True, False])
def test_what_falls_due_at_one_instant_happens_in_the_order_of_creation(
    mockserver: Sandbox, session_first: bool
) -> None:
    if session_first:
        expected = [_connect(mockserver), run(mockserver, cadence=1)[1], _connect(mockserver)]
    else:
        expected = [run(mockserver, cadence=1)[1], _connect(mockserver), run(mockserver, cadence=1, name="B")[1]]
    fired = mockserver.advance("20m")

    assert expected == [each["id"] for each in fired]
    assert {"2026-03-01T12:20:00.000Z"} == {each["at"] for each in fired}
