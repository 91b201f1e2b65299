"""Each wrong command is refused with what was received and what is expected, and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.contract import schemas
from mockserver.server.control.commands import Route
from mockserver.server.control.routes import ROUTES
from tests.documents.control_calls import Controls
from tests.harness.rows import each_row

OWN = {"id": "x", "sessionId": "x", "name": "x"}  # the parameters of paths
WITH_BODY = [row for row in ROUTES if row.schema]
WITHOUT_BODY = [row for row in ROUTES if not row.schema]


class Unchanged(Controls):
    """A host with the demo, which no command of this module changes."""

    def __init__(self) -> None:
        super().__init__()
        self._before = self._seen()

    def refusal(self, command: str, body: Any = None, query: str = "", **options: Any) -> dict[str, Any]:
        status, answer = self.call(command, body, query, **{**OWN, **options})

        assert 400 == status, answer
        assert self._before == self._seen()
        assert "; expected " in answer["message"]
        refusal: dict[str, Any] = answer
        return refusal

    def _seen(self) -> tuple[Any, ...]:
        return self.run("readState"), self.run("readHistory")["steps"], list(self.host.sandboxes)


@pytest.fixture(scope="module")
def controls() -> Unchanged:
    return Unchanged()


def _refused(controls: Unchanged, *command: Any, **options: Any) -> tuple[str, str]:
    """Return code and message of a refusal."""
    answer = controls.refusal(*command, **options)
    return answer["code"], answer["message"]


@each_row("row", [row for row in ROUTES if row.id != "readHealth"])
def test_an_unknown_parameter_of_a_query_is_refused(controls: Unchanged, row: Route) -> None:
    code, message = _refused(controls, row.id, query="?colour=blue")

    known = ", ".join(row.query_names)
    assert "MOCK_BAD_QUERY" == code
    assert message.startswith("query: got 'colour'; expected ")
    assert message.endswith(known or "no query")


@each_row("row", [row for row in ROUTES if row.query_names])
def test_a_misspelt_parameter_is_refused_with_the_nearest(controls: Unchanged, row: Route) -> None:
    name = row.query_names[0]
    _, message = _refused(controls, row.id, query=f"?{name[:-1]}=1")

    assert message.endswith(f"; did you mean {name!r}?")


@each_row("row", [row for row in ROUTES if set(row.query_names) - {"label"}])
def test_a_parameter_that_is_sent_twice_is_refused(controls: Unchanged, row: Route) -> None:
    name = row.query_names[0]

    assert ("MOCK_BAD_QUERY", f"query: got {name!r} twice; expected it once") == _refused(
        controls, row.id, query=f"?{name}=1&{name}=1"
    )


@each_row("row", WITHOUT_BODY)
def test_a_body_that_no_command_reads_is_refused(controls: Unchanged, row: Route) -> None:
    bodies: list[Any] = [{"id": "rule_1"}, [], b"by=1m"]
    for body in bodies:
        code, message = _refused(controls, row.id, body)

        assert "MOCK_BAD_BODY" == code
        assert message.startswith("got a body; expected none")


@pytest.mark.parametrize("body", [b"", b"{}", b" {}\n"])
def test_an_empty_body_is_none(body: bytes) -> None:
    assert 204 == Controls().call("reset", body)[0]


@each_row("row", [row for row in WITH_BODY if row.id not in ("applyScenario", "addRules", "choose")])
def test_an_unknown_key_of_a_body_is_refused(controls: Unchanged, row: Route) -> None:
    code, message = _refused(controls, row.id, {"colour": "blue"})

    assert "MOCK_BAD_BODY" == code
    assert 'the key "colour"' in message or "required" in message


@each_row("row", WITH_BODY)
def test_a_value_of_a_wrong_type_is_refused(controls: Unchanged, row: Route) -> None:
    names = list(schemas.load(row.schema or "").get("properties", ()))
    bodies: list[Any] = [[], "2026-03-01T12:00:00Z", 5, None, *({name: [True]} for name in names)]
    for body in bodies:
        code, _ = _refused(controls, row.id, b"null" if body is None else body)

        assert code in ("MOCK_BAD_BODY", "MOCK_BAD_SCENARIO"), body


@each_row("row", WITH_BODY)
def test_a_key_that_an_object_has_twice_is_refused(controls: Unchanged, row: Route) -> None:
    for body in (b'{"by": "1m", "by": "2m"}', b'{"where": {"a": 1, "b": 2, "a": 1}}'):
        code, message = _refused(controls, row.id, body)

        assert "MOCK_BAD_JSON" == code
        assert message.endswith(" twice in one object; expected it once")


@each_row("row", WITH_BODY)
def test_a_form_and_a_byte_order_mark_are_refused_as_what_they_are(controls: Unchanged, row: Route) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}

    assert ("MOCK_BAD_JSON", "body: got a form; expected a JSON object in UTF-8") == _refused(
        controls, row.id, b"by=20m", headers=form
    )
    assert (
        "MOCK_BAD_JSON",
        "body: not JSON: got a byte order mark first; expected UTF-8 without one",
    ) == _refused(controls, row.id, b"\xef\xbb\xbf{}")


def test_json_with_the_content_type_of_a_form_is_read_as_curl_sends_it() -> None:
    answer = Controls().run("advanceClock", {"by": "1m"}, headers={"content-type": "application/x-www-form-urlencoded"})

    assert "2026-03-01T12:01:00.000Z" == answer["now"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"{'by': 1}", "not JSON: Expecting property name enclosed in double quotes at line 1 column 2"),
        ('{"by":"1m"}'.encode("utf-16"), "byte 0 is not UTF-8"),
        (b'{"by": "1m\xff"}', "byte 10 is not UTF-8"),
        (b"{", "not JSON: Expecting property name enclosed in double quotes at line 1 column 2"),
        (b'{"by": NaN}', "not JSON that can be read: NaN is not JSON"),
        (b"[" * 5000, "the JSON nests deeper than 64 levels (the mock's own bound; the document sets none)"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(controls: Unchanged, text: bytes, place: str) -> None:
    assert ("MOCK_BAD_JSON", f"body: {place}; expected a JSON object in UTF-8") == _refused(
        controls, "advanceClock", text
    )


@each_row("value", ["-1", "x", "", "1.5", "9" * 16])
@each_row(("command", "name"), [("readJournal", "limit"), ("readJournal", "since"), ("readState", "chats")])
def test_a_number_of_a_query_has_its_bounds(controls: Unchanged, command: str, name: str, value: str) -> None:
    assert (
        "MOCK_BAD_QUERY",
        f"{name}: got {value!r}; expected a whole number from 0 to 999999999999999",
    ) == _refused(controls, command, query=f"?{name}={value}")


@each_row(("value", "hint"), [("no", ""), ("flase", "; did you mean 'false'?")])
def test_whether_a_command_waits_is_true_or_false(controls: Unchanged, value: str, hint: str) -> None:
    wanted = f"wait: got {value!r}; expected true or false{hint}"
    assert ("MOCK_BAD_QUERY", wanted) == _refused(controls, "completeSession", {}, f"?wait={value}")


# Body, and the beginning of the message; the places in problems are those of the body.
WRONG_BODIES: list[tuple[str, Any, str]] = [
    ("createSandbox", {"clock": "2026-03-01"}, 'the body does not fit: /clock: got "2026-03-01"; expected an object, such as {"freeze": "2026-03-01T12:00:00Z"}'),
    ("createSandbox", {"choices": "guide"}, 'the body does not fit: /choices: got "guide"; expected an object, such as {"dual-status": "guide"}'),
    ("createSandbox", {"given": []}, 'the body does not fit: /given: got []; expected an object, such as {"chats": {"count": 3}}'),
    ("createSandbox", {"labels": {"a b": "x"}}, 'the body does not fit: /labels: got "a b"; expected a key of 1 to 63 letters'),
    ("createSandbox", {"seed": -1}, "the body does not fit: /seed: got -1; expected a number of at least 0"),
    ("createSandbox", {"scenario": {"choices": 5}, "choices": {"dual-status": "guide"}}, "the document is refused; no sandbox was created: /scenario/choices: got 5;"),
    ("createSandbox", {"scenario": {"given": {"forms": 5}}, "given": {"forms": []}}, "the document is refused; no sandbox was created: /scenario/given/forms: got 5;"),
    ("setClock", {}, "got neither; expected one of"),
    ("setClock", {"freeze": "2026-03-01T12:00:00Z", "follow": True}, "got freeze, follow; expected one of"),
    ("setClock", {"freeze": False}, "the body does not fit: /freeze: got false; expected true"),
    ("setClock", {"freeze": "2026-02-30T12:00:00Z"}, "freeze: got '2026-02-30T12:00:00Z'; expected"),
    ("advanceClock", {}, "got nothing; expected one of"),
    ("advanceClock", {"by": "20m", "until": "idle"}, "got by, until; expected one of"),
    ("advanceClock", {"by": -1}, "by: got -1; expected 20m, 1h30m, 3500ms or seconds, not negative"),
    ("advanceClock", {"by": 1e300}, "by: got 1000000"),
    ("advanceClock", {"to": "2026-03-01T11:59:59Z"}, "got an advance to 2026-03-01T11:59:59.000Z; expected at least now, 2026-03-01T12:00:00.000Z"),
    ("advanceClock", {"to": "2026-03-01T12:00:01"}, "to: got '2026-03-01T12:00:01'; expected an ISO 8601 date-time with its offset"),
    ("setTenant", {"subscription": "suspnded"}, 'the body does not fit: /subscription: got "suspnded"; expected one of "active"'),
    ("setTenant", {"name": ""}, 'the body does not fit: /name: got ""; expected text of at least 1 character'),
    ("createSandbox", {"scenario": "dmo"}, "the document is refused; no sandbox was created: /scenario: got"),
    ("createSandbox", {"scenario": {"givn": {}}}, "the document is refused; no sandbox was created: /scenario/givn: got"),
    ("createSandbox", {"scenario": {"choices": {"x": 1}}}, "the document is refused; no sandbox was created: /scenario/choices/x: got"),
    ("createSandbox", {"scenario": {"choices": {"x": 1}}, "choices": {"dual-status": "guide"}}, "the document is refused; no sandbox was created: /scenario/choices/x: got"),
    ("createSandbox", {"scenario": {}, "choices": {"x": 1}}, "the document is refused; no sandbox was created: /choices/x: got"),
    ("createSandbox", {"scenario": {}, "clock": {"freeze": "noon"}}, "the document is refused; no sandbox was created: /clock/freeze: got"),
    ("createSandbox", {"scenario": {"given": {"chats": []}}, "given": {"chatz": []}}, "the document is refused; no sandbox was created: /given/chatz: got"),
    ("applyScenario", {"name": "dmo"}, "the document is refused; nothing of it was applied: /name: got"),
    ("applyScenario", {"name": 5}, "name: got 5; expected the name of a library scenario alone"),
    ("applyScenario", {"name": "demo", "seed": 1}, 'name: got "demo" with seed; expected the name of a library scenario alone'),
    ("choose", {"dual-stats": "guide"}, "no choice was set; /dual-stats: got"),
    ("choose", {"dual-status": "guide", "list-order": "oldest"}, "no choice was set; /list-order: got"),
    ("choose", {"dual-status": 5}, "no choice was set; /dual-status: got 5; expected"),
    ("sendCall", {"method": "GET", "path": "v1/campaigns"}, 'the body does not fit: /path: got "v1/campaigns"; expected a path with its query in ASCII, such as /v1/campaigns?limit=5'),
    ("sendCall", {"method": "G T", "path": "/v1/campaigns"}, 'the body does not fit: /method: got "G T"; expected the name of an HTTP method, such as GET'),
    ("sendCall", {"method": "GET", "path": "/v1/campaigns", "bodyBase64": "?"}, "bodyBase64: got '?'; expected base64"),
    ("verifyJournal", {"operation": "listCampaigns"}, "got no expected count; expected times, atLeast or atMost"),
    ("verifyJournal", {"operation": "listCampaigns", "atLeast": 3, "atMost": 1}, "got atLeast 3 and atMost 1; expected atLeast up to atMost"),
    ("verifyJournal", {"operation": "createConectionSession"}, "got the operation 'createConectionSession'; expected an operation id"),
    ("verifyJournal", {"operation": "listCampaigns", "times": -1}, "the body does not fit: /times: got -1; expected a number of at least 0"),
    ("verifyJournal", {"operation": "listCampaigns", "where": {"bdy.name": 1}}, "where: got 'bdy.name'; expected a path that begins with path"),
    ("createWebhook", {"url": "ftp://a"}, "url: got 'ftp://a'; expected an http or https url"),
    ("createWebhook", {"url": "http://127.0.0.1:9/", "events": ["entrypoint"]}, "events: got 'entrypoint'; expected some of"),
    ("createWebhook", {"url": "http://127.0.0.1:9/", "secret": "abc"}, "secret: got a text of 3 characters; expected base64"),
]  # fmt: skip


@each_row(("command", "body", "message"), WRONG_BODIES)
def test_a_wrong_body_is_refused_at_its_place(controls: Unchanged, command: str, body: Any, message: str) -> None:
    answer = controls.refusal(command, body)

    assert message == answer["message"][: len(message)]
    for problem in answer.get("problems", ()):
        assert _has_parent(body, problem["path"]), problem


def _has_parent(value: Any, path: str) -> bool:
    for step in path.split("/")[1:-1]:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


ENDS = ["drop", "reset"]
RESPONSES = [{"error": "INTERNAL_ERROR"}, {"reply": {"status": 500}}, {"bad-gateway": "after"}, {"garble": True}]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("response", RESPONSES, ids=lambda effects: next(iter(effects)))
def test_a_rule_without_a_response_makes_none(controls: Unchanged, end: str, response: dict[str, Any]) -> None:
    entry = {"on": "listCampaigns", "do": {end: "after", **response}}
    code, message = _refused(controls, "applyScenario", {"script": [entry]})

    (name,) = response
    assert "MOCK_BAD_SCENARIO" == code
    assert f"/script/0/do: got {end} with {name}; expected {end} without {name}" in message
