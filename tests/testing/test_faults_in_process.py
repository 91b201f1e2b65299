"""Faults without a socket: waits move the clock, late calls arrive, and what cannot be answered is an exception."""

from __future__ import annotations

from http.client import IncompleteRead, RemoteDisconnected
from importlib.metadata import version

import httpx
import pytest
import requests
from werkzeug.test import Client

from mockserver import Sandbox
from mockserver._json import JSON
from tests.harness.access import mounted
from tests.operations.world import DRAFT, GIVEN, OPERATIONS, OTHER_KEY

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")
LIST = OPERATIONS["listCampaigns"]


def _campaigns(sandbox: Sandbox) -> int:
    return len(sandbox.state()["tenants"][0]["campaigns"])


@pytest.mark.parametrize("client", ["call", "requests", "httpx"])
def test_a_wait_beyond_the_timeout_raises_immediately_and_the_call_arrives_at_its_instant(
    mockserver: Sandbox, client: str
) -> None:
    mockserver.on("createCampaign").delay("10s")
    url, headers = mockserver.base_url + "/v1/campaigns", {"X-API-Key": mockserver.secret_key}
    with pytest.raises((TimeoutError, requests.ReadTimeout, httpx.ReadTimeout)):
        if client == "call":
            mockserver.call("POST", "/v1/campaigns", json=DRAFT, timeout=3)
        elif client == "requests":
            mockserver.requests_session().post(url, json=DRAFT, headers=headers, timeout=3)
        else:
            mockserver.httpx_client().post(url, json=DRAFT, headers=headers, timeout=3)

    assert (3, 0, []) == (mockserver.now.second, _campaigns(mockserver), mockserver.log.journal["exchanges"])
    mockserver.advance("6.999s")
    assert 0 == _campaigns(mockserver)
    mockserver.advance("1ms")
    (late,) = mockserver.log.journal["exchanges"]
    assert (1, None, True) == (_campaigns(mockserver), late["response"], late["applied"])
    assert "2026-03-01T12:00:10" == late["at"][:19]


def test_a_late_call_of_an_older_epoch_never_arrives(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").delay("10s")
    with pytest.raises(TimeoutError):
        mockserver.call("POST", "/v1/campaigns", json=DRAFT, timeout=3)
    mockserver.reset()
    mockserver.advance("1h")

    assert (0, []) == (_campaigns(mockserver), mockserver.log.journal["exchanges"])


def test_a_streamed_body_arrives_in_chunks_and_each_wait_moves_the_clock(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").do(
        {"reply": {"status": 200, "body": "0123456789"}, "dribble": {"chunks": 4, "over": "9s"}}
    )
    with mockserver.httpx_client().stream("GET", LIST[1]) as answer:
        seen = [(piece, mockserver.now.second) for piece in answer.iter_raw()]

    assert [(b"01", 0), (b"234", 3), (b"56", 6), (b"789", 9)] == seen


@pytest.mark.skipif(version("urllib3") < "2", reason="urllib3 1.26 takes a short body for a whole one, on a socket too")
def test_a_streamed_body_of_an_older_epoch_breaks_off_and_moves_nothing(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").dribble(4, "9s")
    answer = mockserver.requests_session().get(mockserver.base_url + LIST[1], stream=True)
    mockserver.reset()
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        _ = answer.content

    assert 0 == mockserver.now.second


@pytest.mark.parametrize(
    "effect, failure",
    [
        ({"drop": "after"}, RemoteDisconnected),
        ({"reset": "before"}, ConnectionResetError),
        ({"truncate": 5}, IncompleteRead),
    ],
)
@pytest.mark.parametrize("way", ["test client", "mounted"])
def test_without_a_socket_of_its_own_a_broken_answer_is_an_exception_of_the_application(
    mockserver: Sandbox, way: str, effect: JSON, failure: type[Exception]
) -> None:
    mockserver.on("listCampaigns").do(effect)
    app = mockserver.admin.app
    with pytest.raises(failure) as raised:
        if way == "test client":
            _ = app.test_client().get(LIST[1]).data
        else:
            mounted(app).ask("GET", LIST[1], {}, b"")
    assert failure is raised.type  # RemoteDisconnected is a ConnectionResetError too
    assert 200 != Client(app).get("/v1/message-templates").status_code


def test_a_key_that_is_revoked_while_a_call_waits_is_unknown_when_it_arrives(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").delay("10s")
    mockserver.at("5s").do({"revoke-key": {"tenant": "tenant_other"}})

    assert 401 == mockserver.call(*LIST, key=OTHER_KEY).status
