"""A number that the document does not set is named as the mock's own where a call is refused by it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.limits import (
    JSON_BODY_MAX_BYTES,
    PAGE_LIMIT_MAX,
)
from mockserver.testing.transports.in_process import Response
from tests.harness.rows import each_row
from tests.operations.media_files import PNG, TEXT, File, upload
from tests.operations.world import DRAFT, GIVEN
from tests.server.rawclient import RawClient

pytestmark = pytest.mark.mockserver(given=GIVEN)

FILE = File(TEXT, "text/plain")


def start(sandbox: Sandbox) -> Response:
    made = sandbox.call("POST", "/v1/campaigns", json=DRAFT).json()["campaignId"]
    return sandbox.call("POST", f"/v1/campaigns/{made}/start")


def call_twice(sandbox: Sandbox) -> Response:
    return [sandbox.call("GET", "/v1/campaigns") for _ in range(2)][1]


# By choice: a value that refuses the call.
BY_CHOICE: dict[str, tuple[Any, Callable[[Sandbox], Response]]] = {
    "media-max-files": (1, lambda sandbox: upload(sandbox, FILE, FILE)),
    "media-max-size": ({"image": 10}, lambda sandbox: upload(sandbox, File(PNG, "image/png"))),
    "size-limit-values": ({"chatapp": 1}, start),
    "rate-limit-numbers": ({"requests": 1, "per": 60}, call_twice),
}

FIXED: dict[str, Callable[[Sandbox], Response]] = {
    "json-size": lambda sandbox: sandbox.call("POST", "/v1/campaigns", body=b" " * (JSON_BODY_MAX_BYTES + 1)),
    "page-size": lambda sandbox: sandbox.call("GET", f"/v1/messaging/chats/chat_ana?limit={PAGE_LIMIT_MAX + 1}"),
    "media-types": lambda sandbox: upload(sandbox, File(b"GIF89a;", "image/gif")),
}


@pytest.mark.parametrize("choice", BY_CHOICE)
def test_a_refusal_by_a_number_that_can_be_chosen_names_its_choice(mockserver: Sandbox, choice: str) -> None:
    value, refused = BY_CHOICE[choice]
    mockserver.choose({choice: value})

    reply = refused(mockserver)

    assert 400 <= reply.status < 500
    assert f"the mock's own bound, settable by the choice {choice}" in reply.headers["x-mock-reason"]


@each_row("bound", FIXED)
def test_the_reason_of_a_refusal_by_a_fixed_limit_names_the_limit_as_the_mocks_own(
    mockserver: Sandbox, bound: str
) -> None:
    reply = FIXED[bound](mockserver)

    assert 400 <= reply.status < 500
    assert "the mock's own " in reply.headers["x-mock-reason"]


@pytest.mark.parametrize(("path", "most"), [("/v1/messaging/media", 256 * 1024 * 1024), ("/v1/campaigns", 1024 * 1024)])
def test_a_body_that_is_announced_beyond_the_bound_is_refused_with_it(
    mockserver: Sandbox, mockserver_server: MockServer, path: str, most: int
) -> None:
    prefix = f"/sandboxes/{mockserver.id}"
    lines = [f"POST {prefix}{path} HTTP/1.1", f"X-API-Key: {mockserver.secret_key}", f"Content-Length: {most + 1}"]
    with RawClient(int(mockserver_server.url.rpartition(":")[2])) as client:
        answer = client.send(*lines).answer()

    assert 400 == answer.status
    assert f"larger than the {most} bytes that the mock reads (the mock's own bound" in answer.headers["x-mock-reason"]


LONG = ["9" * 641, "9" * 4301, "-" + "9" * 5000, "1" + "0" * 500_000, "0." + "3" * 5000, "7" * 640]


def with_number(written: str, **body: Any) -> JSON:
    """The arguments of a call whose body has this number in place of each null."""
    text = json.dumps(body).replace("null", written)
    return {"body": text.encode(), "headers": {"content-type": "application/json"}}


@pytest.mark.parametrize("written", LONG, ids=len)
def test_a_long_number_that_is_not_read_is_ignored(mockserver: Sandbox, written: str) -> None:
    exists = {"combinator": "and", "statements": [{"field": "chat.status", "operator": "exists", "value": None}]}
    mockserver.choose({"detail-fields": "full"})

    unknown_key = mockserver.call("POST", "/v1/campaigns", **with_number(written, **DRAFT, color=[{"hue": None}]))
    ignored_value = mockserver.call(
        "POST", "/v1/campaigns", **with_number(written, **DRAFT | {"name": "Value", "filters": [exists]})
    )

    assert [201, 201] == [unknown_key.status, ignored_value.status]
    assert 200 == mockserver.call("GET", f"/v1/campaigns/{ignored_value.json()['campaignId']}").status
    assert 2 == len(mockserver.calls("createCampaign"))
    assert mockserver.log.replay_document()
    assert mockserver.report()


@pytest.mark.parametrize("written", LONG[:4], ids=len)
def test_a_long_number_is_refused_as_any_other_out_of_range(mockserver: Sandbox, written: str) -> None:
    statement = {"field": "chat.monetization", "operator": "equals", "value": None}
    preview = "/v1/campaigns/audience-preview"

    cadence = mockserver.call("POST", "/v1/campaigns", **with_number(written, **DRAFT | {"cadence": None}))
    filters = mockserver.call(
        "POST", preview, **with_number(written, filters=[{"combinator": "and", "statements": [statement]}])
    )

    assert (400, "VALIDATION_ERROR") == (cadence.status, cadence.json()["code"])
    assert "expected a number of at " in cadence.headers["x-mock-reason"]
    assert (422, "CAMPAIGN_INVALID_FILTERS") == (filters.status, filters.json()["code"])


def test_a_number_of_a_command_has_a_bound_of_its_own(mockserver: Sandbox) -> None:
    reply = mockserver.call("PUT", "/_mock/clock", body=b'{"freeze": ' + b"9" * 641 + b"}")

    assert (400, "MOCK_BAD_JSON") == (reply.status, reply.json()["code"])
    assert "got a number of 641 digits; expected at most 640" in reply.json()["message"]
