"""Errors that a script injects read like errors that happened: every code, at every operation, with no placeholder left."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.contract.endpoints import Operation
from mockserver.contract.errors import ERRORS, SESSION_MESSAGES
from tests.harness.rows import each_row
from tests.operations.world import GIVEN, OPERATIONS

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

TEXTS = ("canonical", "reworded")


def texts(code: str, wording: str) -> str:
    return ERRORS[code].message if wording == "canonical" else ERRORS[code].reworded


def placeholders(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def filled(message: str, template: str) -> JSON:
    """The text of the message for each placeholder of its template."""
    pattern = "".join(
        re.escape(literal) + (f"(?P<{name}>.+)" if name else "") for literal, name, _, _ in Formatter().parse(template)
    )
    match = re.fullmatch(pattern, message)
    assert match is not None, message
    return match.groupdict()


@each_row("wording", TEXTS)
@each_row("operation", OPERATIONS)
def test_any_code_can_be_the_answer_of_any_operation_which_then_does_not_run(
    mockserver: Sandbox, operation: Operation, wording: str
) -> None:
    mockserver.choose({"message-text": wording, "error-extra-keys": "details"})
    before = mockserver.state()["tenants"]
    for number, code in enumerate(ERRORS):
        as_object = (number + TEXTS.index(wording)) % 2  # each code in both forms
        rule = mockserver.on(operation).do({"error": {"code": code, "retryAfter": 3} if as_object else code})
        answer = mockserver.call(*OPERATIONS[operation])
        reply = answer.json()
        rule.remove()
        values = filled(reply["message"], texts(code, wording))
        assert (ERRORS[code].status, code) == (answer.status, reply["code"])
        assert [] == [name for name, value in values.items() if value == name], reply["message"]
        assert not set("{}") & set(reply["message"])
    assert before == mockserver.state()["tenants"]
    assert {False} == {each["applied"] for each in mockserver.log.journal["exchanges"]}


def test_seven_codes_have_placeholders() -> None:
    codes = {code for code, row in ERRORS.items() if placeholders(row.message)}

    assert 7 == len(codes)
    assert all(placeholders(ERRORS[code].message) and set(placeholders(ERRORS[code].reworded)) for code in codes)


@pytest.mark.parametrize("code", ERRORS)
def test_an_injected_error_has_the_headers_of_one_that_happened(mockserver: Sandbox, code: str) -> None:
    mockserver.choose({"rate-limit-headers": "draft-fields"})
    mockserver.on("listCampaigns").error(code)

    headers = mockserver.call("GET", "/v1/campaigns").headers

    shown = {name: headers.get(name) for name in ("ratelimit-policy", "ratelimit")}
    limited = {"ratelimit-policy": '"default";q=120;w=60', "ratelimit": '"default";r=0;t=1'}
    assert (limited if code == "RATE_LIMIT_EXCEEDED" else dict.fromkeys(shown)) == shown


@pytest.mark.parametrize("wording", TEXTS)
@pytest.mark.parametrize("reason", ["token_exchange_failed", "phone_in_use", "funnel_not_found"])
def test_a_session_that_a_script_fails_has_the_words_of_its_reason(
    mockserver: Sandbox, reason: str, wording: str
) -> None:
    mockserver.choose({"message-text": wording})
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    mockserver.on("readConnectionSession").times(1).when("before").fail_session(reason=reason)

    path = f"/v1/entrypoints/chatapp/connection-sessions/{session['sessionId']}"
    failed = mockserver.call("GET", path).json()

    assert (reason, SESSION_MESSAGES[reason][TEXTS.index(wording)]) == (failed["reason"], failed["message"])
