"""
The first lines of a report for kinds of failures that happen in the client's own code, or before its last call.

Each case is a test as a user writes it; the line says what a reader who has not seen the test needs.
"""

from __future__ import annotations

import re

import pytest

from tests.testing.conftest import Suite
from tests.testing.test_reports import summary

CAMPAIGN = "campaign = create(mockserver, cadence=60)"
SESSION = (
    'session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]'
)
READ_SESSION = 'mockserver.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{session}").json()'
READ = 'mockserver.call("GET", f"/v1/campaigns/{campaign}").json()'
LIST = 'mockserver.call("GET", "/v1/campaigns").json()'


def second(suite: Suite, *steps: str, mark: str = 'conduct="off"') -> str:
    """Return the line after the failure in the report of a test with these steps."""
    body = "\n".join(f"        {step}" for step in ("from types import SimpleNamespace", *steps))
    return summary(suite, f"    @pytest.mark.mockserver({mark})\n    def test_it(mockserver):\n{body}\n")[1]


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ((CAMPAIGN, f'{READ}["campaignId"]'), "the answer of #2 has no 'campaignId'; it has id, name, status, platform, templateId ..."),
        ((CAMPAIGN, f'{READ}["execution"]'), "the answer of #2 has no 'execution'; did you mean 'executions'?"),
        ((CAMPAIGN, "start(mockserver, campaign)", f'{READ}["sentCount"]'), "the answer of #3 has 'sentCount' only as executions[0].sentCount"),
        ((CAMPAIGN, f'[each["name"] for each in {LIST}]'), "the answer of #2 is an object with campaigns"),
        ((CAMPAIGN, f'SimpleNamespace(**{READ}).execution'), "the answer of #2 has no 'execution'; did you mean 'executions'?"),
        ((CAMPAIGN, f'{READ}["executions"][0]'), "the answer of #2 has an empty list for executions"),
    ],
)  # fmt: skip
def test_an_exception_about_the_shape_of_an_answer_is_followed_by_that_shape(
    suite: Suite, steps: tuple[str, ...], line: str
) -> None:
    assert line == second(suite, *steps)


@pytest.mark.parametrize("step", ["mockserver.state.items()", "mockserver.execution", "SimpleNamespace.execution"])
def test_an_attribute_that_code_or_the_sandbox_lacks_is_not_missed_in_an_answer(suite: Suite, step: str) -> None:
    line = second(suite, CAMPAIGN, READ, step)

    assert line.startswith("2 calls were answered with success")


def test_a_member_of_null_is_named(suite: Suite) -> None:
    line = second(suite, SESSION, "mockserver.expire_session(session)", f'{READ_SESSION}["entrypoint"]["id"]')

    assert "the answer of #2 has null for entrypoint" == line


def test_an_exception_about_a_value_is_not_explained_by_a_frozen_clock(suite: Suite) -> None:
    line = second(suite, CAMPAIGN, "start(mockserver, campaign)", READ, 'None + "a"')

    assert line.startswith("3 calls were answered with success")


def test_a_campaign_that_an_earlier_call_canceled_is_named_with_that_call(suite: Suite) -> None:
    steps = [
        CAMPAIGN,
        "start(mockserver, campaign)",
        'mockserver.call("POST", f"/v1/campaigns/{campaign}/cancel")',
        f'assert {READ}["status"] == "completed"',
    ]

    line = second(suite, *steps)

    assert line.startswith("campaign campaign: processing -> canceled by #3 cancelCampaign POST ")


def test_a_change_after_the_last_read_is_named_as_not_read(suite: Suite) -> None:
    steps = [
        CAMPAIGN,
        "start(mockserver, campaign)",
        f"seen = {READ}",
        "mockserver.advance(hours=1)",
        'assert seen["status"] == "completed"',
    ]

    line = second(suite, *steps)

    assert re.match("campaign campaign changed to completed at 2026-03-01T12:", line)
    assert line.endswith(" (timer finish), after #3 and no call has read it since")


def test_a_call_that_a_rule_delays_is_named_with_its_rule(suite: Suite) -> None:
    steps = [
        'mockserver.on("startCampaign").delay("30s")',
        CAMPAIGN,
        "try:",
        '    mockserver.call("POST", f"/v1/campaigns/{campaign}/start", timeout=5)',
        "except Exception:",
        "    pass",
        f'assert {READ}["status"] == "processing"',
    ]

    line = second(suite, *steps)

    assert (
        "POST /v1/campaigns/campaign/start has not arrived yet: rule rule_1 (delay 30s at each startCampaign) delays it"
        == line
    )


def test_a_rule_that_answers_every_try_is_one_line_with_their_number(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    def test_it(mockserver):
        mockserver.on("listCampaigns").error("INTERNAL_ERROR")
        for _ in range(4):
            mockserver.call("GET", "/v1/campaigns")
        assert 0
    """,
    )

    rule = "rule rule_1 (error INTERNAL_ERROR at each listCampaigns) fired 4 times, the last at #2, #3, #4: "
    assert [f"{rule}listCampaigns did not take effect, the client got 500"] == lines[1:]


def test_an_effect_without_an_argument_is_explained(suite: Suite) -> None:
    steps = [
        "mockserver.after(sent=1).stall_sends()",
        CAMPAIGN,
        "start(mockserver, campaign)",
        "mockserver.advance(hours=1)",
        f'assert {READ}["status"] == "completed"',
    ]

    assert "rule rule_1 (stall-sends after 1 sent) fired: the sends stop until resume-sends" == second(suite, *steps)


def test_a_choice_that_the_test_sets_is_named_if_nothing_else_explains_the_failure(suite: Suite) -> None:
    page = 'mockserver.call("GET", "/v1/messaging/chats/one").json()'
    mark = 'choices={"next-cursor-end": "empty"}, given={"chats": [{"id": "one"}]}'

    assert "choices: next-cursor-end=empty (mark)" == second(suite, f'assert {page}["nextCursor"] is None', mark=mark)


def test_the_filters_that_a_preview_was_sent_are_shown_with_its_count(suite: Suite) -> None:
    filters = '[{"combinator": "or", "statements": [{"field": "chat.status", "operator": "exists"}]}]'
    preview = f'mockserver.call("POST", "/v1/campaigns/audience-preview", json={{"filters": {filters}}})'
    lines = summary(suite, f'    def test_it(mockserver):\n        assert 99 == {preview}.json()["estimatedCount"]\n')

    assert f'  sent {{"filters": {filters}}}' in lines


def test_messages_are_said_to_begin_with_the_newest(suite: Suite) -> None:
    messages = '[{"chatId": "one", "text": "a"}, {"chatId": "one", "text": "b"}]'
    steps = [
        f'mockserver.apply(given={{"chats": [{{"id": "one"}}], "messages": {messages}}})',
        'records = mockserver.call("GET", "/v1/messaging/chats/one").json()["records"]',
        'assert ["a", "b"] == [record["text"] for record in records]',
    ]

    assert "the answer of #1 begins with the newest message" == second(suite, *steps, mark="given=None")


def test_a_run_that_a_checkpoint_undoes_is_reported_as_it_was(suite: Suite) -> None:
    lines = summary(
        suite,
        """
    def test_it(mockserver):
        with mockserver.checkpoint():
            create(mockserver, name="").json()
    """,
    )

    assert "Call #1 createCampaign was refused: 400 VALIDATION_ERROR" == lines[1]


def test_a_group_of_exceptions_is_named_by_its_first_one(suite: Suite) -> None:
    first, *_ = summary(
        suite,
        """
    def test_it(mockserver):
        create(mockserver)
        raise ExceptionGroup("unhandled", [ValueError("no name"), ValueError("no key")])
    """,
    )

    assert first.startswith("The test raised ValueError: no name (the first of 2 in ExceptionGroup) at test_mine.py:")


@pytest.mark.parametrize(
    ("assertion", "end"),
    [
        ('assert 1 == 2, "wrong number"', "wrong number: assert 1 == 2"),
        ("assert list('abcdefghijklmnopqrstuvwxyz') == list('abcdefghijklmnopqrstuvwxy')", "; Left contains one more item: 'z'"),
        ("assert dict.fromkeys('abcdefgh', 1) == dict.fromkeys('abcdefgh', 1) | {'h': 2}", "; Differing items: {'h': 1} != {'h': 2}"),
    ],
)  # fmt: skip
def test_an_assertion_is_shown_with_its_own_words_and_the_first_difference_of_long_values(
    suite: Suite, assertion: str, end: str
) -> None:
    first, *_ = summary(suite, f"    def test_it(mockserver):\n        create(mockserver)\n        {assertion}\n")

    assert first.endswith(end)


def test_the_arguments_of_a_command_are_never_cut_inside_a_value(suite: Suite) -> None:
    given = {"templates": [{"id": f"template_{n}"} for n in range(30)]}
    output = suite.run(f"def test_it(mockserver):\n    mockserver.apply(given={given})\n    assert 0\n").stdout.str()

    (line,) = [line for line in output.splitlines() if "  test: apply scenario given " in line]
    assert line.endswith(' given {"templates": [30 elements]}')
