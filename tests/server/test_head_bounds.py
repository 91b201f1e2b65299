"""A head beyond the mock's bounds: the answer, and its place among the checks, in each way to call."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mockserver.contract import limits
from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.server.http1.request import HEAD_MAX_BYTES, HEADERS_MAX, LINE_MAX_BYTES
from tests.documents.reading import public
from tests.harness.rows import each_row
from tests.server.hostile import Request
from tests.server.rawclient import RawClient
from tests.server.ways import CONFIG, Way

LONG = "x" * 9_000
LIST = "/v1/campaigns"
# By name: a query and headers beyond a bound, the status that HTTP has for it, and the beginning of the reason.
BEYOND = {
    "request line": (f"?{LONG}", {}, 414, "got a request line of 90"),
    "header": ("", {"X-Long": LONG}, 431, "got a header of 9008 bytes; expected at most 8192"),
    "number of headers": ("", {f"X-{n}": "1" for n in range(120)}, 431, "got 12"),
}
WAYS = ("in process", "socket", "Flask")


class Asked:
    """The answer of one way to one request of the default sandbox with these choices."""

    def __init__(self, way: Way, choices: Mapping[str, object], request: Request) -> None:
        hosted = way.host.create(CONFIG._replace(choices=choices), id="bounds")
        key = {"Host": "localhost", "X-API-Key": hosted.tenant.secret_key}
        headers = {name: value for name, value in {**key, **request.headers}.items() if value}
        answer = way.ask(request._replace(target=f"/sandboxes/bounds{request.target}", headers=headers))
        way.host.close("bounds")
        self.status, self.reason = answer.status, answer.headers.get("x-mock-reason", "")
        self.code = answer.body.decode()


@each_row("way", WAYS)
@each_row("name", BEYOND)
@pytest.mark.option("head-bounds", "validation-error")
def test_a_head_beyond_a_bound_is_a_validation_error(ways: Mapping[str, Way], way: str, name: str) -> None:
    query, headers, _, reason = BEYOND[name]

    got = Asked(ways[way], {}, Request("GET", LIST + query, headers))

    assert 400 == got.status
    assert '"code":"VALIDATION_ERROR"' in got.code
    assert reason in got.reason
    assert "the mock's own bound" in got.reason


@each_row("way", WAYS)
@each_row("name", BEYOND)
@pytest.mark.option("head-bounds", "http-status")
def test_a_head_beyond_a_bound_has_the_status_of_http_by_choice(ways: Mapping[str, Way], way: str, name: str) -> None:
    query, headers, status, _ = BEYOND[name]

    got = Asked(
        ways[way], {"head-bounds": "http-status", "dual-status": "guide"}, Request("GET", LIST + query, headers)
    )

    assert status == got.status
    assert f'{{"statusCode":{status},"code":"VALIDATION_ERROR"' in got.code


@each_row("way", WAYS)
@each_row("name", BEYOND)
@each_row(
    ("path", "key", "status", "code"),
    [
        ("/v1/nothing", {}, 404, "RESOURCE_NOT_FOUND"),
        (LIST, {"X-API-Key": ""}, 401, "API_KEY_MISSING"),
        (LIST, {"X-API-Key": "sk_other"}, 401, "API_KEY_INVALID"),
    ],
)
@pytest.mark.clause("auth.header", "base.unknown-path")
def test_path_and_key_are_checked_before_the_bounds_of_the_head(
    ways: Mapping[str, Way], way: str, name: str, path: str, key: dict[str, str], status: int, code: str
) -> None:
    query, headers, _, _ = BEYOND[name]

    got = Asked(ways[way], {}, Request("GET", path + query, {**headers, **key}))

    assert status == got.status
    assert f'"{code}"' in got.code


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.clause("base.error-guide")
def test_the_bounds_of_the_head_precede_the_body_and_keep_the_status_of_the_guide(
    ways: Mapping[str, Way], way: str
) -> None:
    call = Request("POST", f"{LIST}?{LONG}", {"Content-Type": "application/json"}, b"{")

    got = Asked(ways[way], {"dual-status": "guide"}, call)

    assert 422 == got.status
    assert "got a request line of 90" in got.reason


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("excess", "status"), [(0, 200), (1, 400)])
def test_a_bound_is_the_largest_that_is_read(ways: Mapping[str, Way], way: str, excess: int, status: int) -> None:
    line = LINE_MAX_BYTES - len(f"GET /sandboxes/bounds{LIST}? HTTP/1.1") + excess
    field = LINE_MAX_BYTES - len("X: ") + excess

    assert status == Asked(ways[way], {}, Request("GET", f"{LIST}?{'x' * line}")).status
    assert status == Asked(ways[way], {}, Request("GET", LIST, {"X": "x" * field})).status


def test_the_row_states_the_bounds_of_the_server() -> None:
    question = CHOICES["head-bounds"].question

    assert (limits.HEAD_LINE_MAX_BYTES, limits.HEAD_HEADERS_MAX) == (LINE_MAX_BYTES, HEADERS_MAX)
    assert f"header of more than {LINE_MAX_BYTES // 1024} KiB" in question
    assert f"more than {HEADERS_MAX} headers" in question


def test_a_head_that_does_not_end_is_refused_once_it_is_beyond_the_bound_of_the_whole(ways: Mapping[str, Way]) -> None:
    with RawClient(ways["socket"].port) as client:
        client.socket.sendall(b"GET /v1/campaigns HTTP/1.1\r\nX: " + b"x" * HEAD_MAX_BYTES)
        answer = client.answer("GET")

    assert (400, True) == (answer.status, b"VALIDATION_ERROR" in answer.body)
    assert "longer than 65536 bytes, the mock's own bound" in answer.headers["x-mock-reason"]


def test_a_call_beyond_the_bounds_is_recorded_and_not_replayed(ways: Mapping[str, Way]) -> None:
    way = ways["socket"]
    hosted = way.host.create(CONFIG, id="bounds")
    key = {"Host": "localhost", "X-API-Key": hosted.tenant.secret_key}
    way.ask(Request("GET", f"/sandboxes/bounds{LIST}?{LONG}", key))
    replay = way.ask(Request("GET", "/sandboxes/bounds/_mock/replay", key)).body
    way.host.close("bounds")

    assert ["listCampaigns"] == [each.operation for each in hosted.sandbox.journal.exchanges]
    assert b"not sent again" in replay
    assert LONG.encode() not in replay


@pytest.mark.parametrize(("option", "statuses"), [("validation-error", {"400"}), ("http-status", {"414", "431"})])
def test_the_document_lists_the_answers_to_a_head_beyond_the_bounds(option: str, statuses: set[str]) -> None:
    document = public(**{"head-bounds": option})
    for row in ENDPOINTS.values():
        responses = document["paths"][row.path][row.method.lower()]["responses"]
        codes = {
            status: answer["content"]["application/json"]["schema"]["properties"]["code"]["enum"]
            for status, answer in responses.items()
            if status in statuses
        }

        assert statuses == set(codes)
        assert all("VALIDATION_ERROR" in each for each in codes.values())
