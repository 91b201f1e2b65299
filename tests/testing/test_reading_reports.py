"""A report as a stranger to the code reads it: the cause in the first lines, what they name always there, no noise between."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests

from mockserver import MockServer
from mockserver.scenario.documents import read_file
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from mockserver.testing.report.replay import replay
from mockserver.testing.sandbox import Sandbox
from tests.harness.lines import lacking
from tests.testing.conftest import Suite
from tests.testing.test_reports import reported

POLLS = """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        for _ in range(200):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
"""


def rows(found: list[str]) -> list[str]:
    """What happened, without the instants."""
    start = found.index("what happened:") + 1
    end = next(at for at in range(start, len(found)) if not found[at].startswith("  "))
    return [re.sub(r"^  \d\d:\d\d:\d\d\.\d{3}  ", "", each) for each in found[start:end]]


def test_equal_polls_are_one_line_and_the_call_that_the_cause_names_has_its_own(suite: Suite) -> None:
    found = reported(suite, POLLS + "        assert 0\n")

    assert [
        "#3-#201 readCampaign GET /v1/campaigns/campaign -> 200  (199 times)",
        "#202 readCampaign GET /v1/campaigns/campaign -> 200",
    ] == rows(found)[-2:]
    assert not any("left out" in each for each in found)


def test_polls_with_the_clock_moved_between_them_are_one_line_with_what_they_saw_growing(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(given={**GIVEN, "chats": {"count": 500}}, conduct="off")
    def test_it(mockserver):
        campaign = create(mockserver, cadence=60)
        start(mockserver, campaign)
        for _ in range(200):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
            mockserver.advance("1s")
        assert 0
        """,
    )

    summary = "199 times, 12:00:00.000 to 12:03:18.000; 198 advances of the clock between them; executions.0.sentCount 1 to 199"
    assert [
        f"#3-#201 readCampaign GET /v1/campaigns/campaign -> 200  ({summary})",
        "clock: advance by 1s",
        "#202 readCampaign GET /v1/campaigns/campaign -> 200",
        "clock: advance by 1s",
    ] == rows(found)[-4:]


def test_two_calls_with_an_advance_between_them_are_not_collapsed(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.call("GET", "/v1/campaigns")
        mockserver.advance("1s")
        mockserver.call("GET", "/v1/campaigns")
        mockserver.call("GET", "/v1/message-templates")
        assert 0
        """,
    )

    assert ["#1 listCampaigns GET /v1/campaigns -> 200", "clock: advance by 1s"] == rows(found)[:2]


@pytest.mark.parametrize(
    "between",
    [
        'mockserver.call("GET", "/v1/campaigns/none")',
        "create(mockserver)",
        'mockserver.choose({"media-max-files": 2})',
        'mockserver.on("listCampaigns").error("INTERNAL_ERROR"); mockserver.call("GET", "/v1/campaigns")',
    ],
    ids=["a refused call", "a change", "a command", "a bent call"],
)
def test_an_entry_between_two_polls_separates_them(suite: Suite, between: str) -> None:
    found = reported(
        suite,
        f"""
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        mockserver.call("GET", "/v1/campaigns")
        {between}
        mockserver.call("GET", "/v1/campaigns")
        assert 0
        """,
    )

    assert not any("times" in each for each in found)


def test_the_nearest_call_is_never_folded_away(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        for _ in range(5):
            mockserver.call("GET", "/v1/campaigns")
        mockserver.calls("listCampaigns").where(status=201).one()
        """,
    )

    assert "nearest is #5 listCampaigns GET /v1/campaigns -> 200" == found[1]
    assert [
        "#1-#4 listCampaigns GET /v1/campaigns -> 200  (4 times)",
        "#5 listCampaigns GET /v1/campaigns -> 200",
        '              answered  {"campaigns": []}',
    ] == [each.removeprefix("  ") for each in rows(found)]


def test_answers_that_differ_in_more_than_numbers_are_not_folded(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        chat = "/v1/messaging/chats/chat_helena?limit=2"
        page = mockserver.call("GET", chat).json()
        mockserver.call("GET", f"{chat}&cursor={page['nextCursor']}")
        assert 0
        """.replace("def test_it", '@pytest.mark.mockserver(scenario="demo", given=None)\n    def test_it'),
    )

    assert not any("times" in each for each in found)


def test_a_repeated_round_of_polls_is_printed_once_with_its_count(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(given={**GIVEN, "chats": {"count": 500}}, conduct="off")
    def test_it(mockserver):
        campaign = create(mockserver, cadence=60)
        start(mockserver, campaign)
        for _ in range(60):
            mockserver.advance("1s")
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
            mockserver.call("GET", "/v1/message-templates")
        assert 0
        """,
    )

    assert [] == lacking(
        rows(found)[-7:],
        [
            ("advance", "1s"),
            ("#3", "readCampaign", "200"),
            ("#4", "listTemplates", "200"),
            ("3 lines", "58 times", "#120", "12:00:59.000"),
            ("advance", "1s"),
            ("#121", "readCampaign", "200"),
            ("#122", "listTemplates", "200"),
        ],
    )


def test_a_call_that_the_cause_names_is_printed_however_long_the_history(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        for number in range(30):
            create(mockserver, name=f"Uma {number}")
        start(mockserver, "none")
        for number in range(100):
            mockserver.call("GET", f"/v1/campaigns?unlike={number}")
        assert 0
        """,
    )

    assert [] == lacking(
        [found[0], found[2]],
        [
            ("#31 startCampaign", "404 CAMPAIGN_NOT_FOUND", "100 calls"),
            ("last", "#131 listCampaigns", "unlike=99", "200"),
        ],
    )
    shown = rows(found)
    at = next(place for place, each in enumerate(shown) if each.startswith("#31 startCampaign"))
    assert re.fullmatch(r"  \.\.\. \d+ lines left out", shown[at - 1])
    assert shown[at + 2].lstrip().startswith("because   start.")
    assert shown[-1].startswith("#131 ")


@pytest.mark.mockserver(now="2026-03-01T23:59:00Z")
def test_a_timeline_of_several_days_has_the_date_of_each(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns")
    of_one_day = str(mockserver.report()).partition("what happened:\n")[2]
    mockserver.advance("90s")
    mockserver.call("GET", "/v1/message-templates")
    of_two_days = str(mockserver.report()).partition("what happened:\n")[2]

    assert "  2026-03-01\n" not in of_one_day
    assert [
        "  2026-03-01",
        "  23:59:00.000  #1 listCampaigns GET /v1/campaigns -> 200",
        "  23:59:00.000  clock: advance by 90s",
        "  2026-03-02",
        "  00:00:30.000  #2 listTemplates GET /v1/message-templates -> 200",
    ] == of_two_days.splitlines()[:5]


def test_a_finding_that_explains_no_failure_is_not_among_the_first_lines(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        execution = start(mockserver, campaign).json()["executionId"]
        for _ in range(6):
            mockserver.advance("1m")
            mockserver.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}")
        if ["poll-after-final"] != [each.rule for each in mockserver.conduct]:
            mockserver.call("GET", "/nothing-was-found")
        assert 0
        """,
    )

    assert found[1].startswith("8 calls were answered with success")


def test_calls_that_a_finding_cites_are_printed_with_their_bodies(suite: Suite) -> None:
    found = reported(
        suite,
        """
    FILTERS = [{"combinator": "and", "statements": [
        {"field": "chat.platform", "operator": "equals", "value": "chatapp"}]}]

    def test_it(mockserver):
        for number in range(40):
            create(mockserver, name=f"Outra {number}")
        mockserver.call("POST", "/v1/campaigns/audience-preview", json={"filters": FILTERS})
        start(mockserver, create(mockserver, filter=FILTERS))
        for number in range(60):
            mockserver.call("GET", f"/v1/campaigns?unlike={number}")
        assert 0
        """,
    )

    advice = "; advice: Send the previewed filters under the name `filters`; without them every chat is messaged. (see L262 of the API document)"
    assert [
        "lost-filters: campaign campaign was started for every chat, after a preview with filters (calls #41, #42, #43)"
        + advice,
        "lost-filters: createCampaign got 'filter', which is not `filters` and restricts nothing (call #42)",
    ] == found[:2]
    shown = rows(found)
    at = shown.index("#42 createCampaign POST /v1/campaigns -> 201")
    assert '"filter": [' in shown[at + 1]
    assert {"#41", "#42", "#43"} <= {each.split()[0] for each in shown}


def test_a_sleep_of_the_client_is_an_advance_of_the_clock_in_seconds(suite: Suite) -> None:
    found = reported(suite, "    def test_it(mockserver):\n        mockserver.sleep(2.5)\n        assert 0\n")

    assert ["clock: advance by 2.5 s"] == rows(found)[:1]


def test_the_pages_of_an_end_user_are_one_line(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        path = "/v1/entrypoints/chatapp/connection-sessions"
        session = mockserver.call("POST", path, json={}).json()["sessionId"]
        mockserver.end_user(session).connect(phone="+5511999990000")
        assert 0
        """,
    )

    assert 1 == sum("visits of the hosted page" in each for each in found)


def test_the_first_lines_contain_the_response_of_the_last_call(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        assert mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["campaignId"]
        """,
    )

    assert found[1].startswith("2 calls were answered with success; the last: #2 readCampaign")
    assert '  answered {"id": "campaign", "name": "Uma", "status": "draft", ' in found[2]


def test_an_empty_response_is_described_as_empty(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        mockserver.call("POST", f"/v1/campaigns/{campaign}/cancel").json()
        """,
    )

    assert "  answered with an empty body" == found[1]


def test_an_unexpected_count_of_sends_is_reported_with_the_cadence(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(given={**GIVEN, "chats": {"count": 120}})
    def test_it(mockserver):
        campaign = create(mockserver, cadence=10)
        start(mockserver, campaign)
        mockserver.advance("3m")
        seen = mockserver.call("GET", f"/v1/campaigns/{campaign}").json()
        assert 30 == seen["executions"][0]["sentCount"]
        """,
    )

    assert [
        "3 calls were answered with success; the last: #3 readCampaign GET /v1/campaigns/campaign -> 200",
        "  execution had 31 sent and 0 failed of 120, 180 s after its start, at a cadence of 10 per minute; the first is sent at the start",
    ] == found[:2]


def test_a_pace_read_within_a_second_is_in_milliseconds(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.advance(microseconds=588)
        seen = mockserver.call("GET", f"/v1/campaigns/{campaign}").json()
        assert 2 == seen["executions"][0]["sentCount"]
        """,
    )

    assert (
        "  execution had 1 sent and 0 failed of 2, 0.588 ms after its start, at a cadence of 1 per minute; the first is sent at the start"
        == found[1]
    )


def test_the_advance_that_a_report_names_is_never_too_short(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(given={**GIVEN, "chats": {"count": 1900}}, conduct="off")
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.advance(microseconds=544_321)
        assert "completed" == mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["status"]
        """,
    )

    [(due, wait)] = re.findall(r"is due in ([\d.]+) s; call mockserver.advance\(([\d.]+)\)", "\n".join(found))
    assert due == wait == "113939.456"


def test_timed_transitions_are_printed_next_to_the_last_call_that_reads_them(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        path = "/v1/entrypoints/chatapp/connection-sessions"
        session = mockserver.call("POST", path, json={}).json()["sessionId"]
        mockserver.advance("25m")
        assert "completed" == mockserver.call("GET", f"{path}/{session}").json()["status"]
        """,
    )

    change = re.sub(r"_\w{20}\b", "", found[0])
    assert "session connection_session changed to expired at 2026-03-01T12:20:00.000Z (timer expire)" == change


@pytest.mark.parametrize(
    ("name", "second"),
    [("Uma", "  #1 and #2 sent equal bodies"), ("Duas", "  #1 and #2 differ: body.name: 'Duas', before 'Uma'")],
)
def test_surplus_calls_are_reported_with_their_differences(suite: Suite, name: str, second: str) -> None:
    found = reported(
        suite,
        f"""
    def test_it(mockserver):
        create(mockserver)
        create(mockserver, name="{name}")
        mockserver.calls("createCampaign").one()
        """,
    )

    assert ["expected exactly 1 call of createCampaign, got 2", second] == [found[0], found[2]]
    assert found[1].startswith("the last of them is #2 createCampaign POST /v1/campaigns -> ")


def test_an_operation_called_too_early_is_reported_with_its_number(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        mockserver.call("GET", f"/v1/campaigns/{campaign}")
        mockserver.assert_order("createCampaign", "readCampaign", "startCampaign")
        """,
    )

    assert found[0].endswith(
        "no startCampaign after #3 readCampaign GET /v1/campaigns/campaign -> 200; it was called before, as #2"
    )


def test_the_report_of_a_missing_call_suggests_to_wait_for_its_thread(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.base_url
        mockserver.calls("startCampaign").one()
        """,
    )

    assert "expected exactly 1 call of startCampaign, got 0" == found[0]
    assert re.fullmatch(
        r"No call reached sandbox_1; its address is http://\S+: does the client send its calls there\?", found[1]
    )
    assert "  `mockserver.wait_for(...)` waits for a call of another thread" == found[2]


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("POST /v1/media", "POST /v1/messaging/media?"),
        ("POST /v1/campaign/campaign_1/start", "POST /v1/campaigns/{id}/start?"),
    ],
)
def test_an_unknown_path_is_reported_with_the_closest_match(suite: Suite, call: str, hint: str) -> None:
    method, path = call.split()
    found = reported(
        suite, f'    def test_it(mockserver):\n        assert mockserver.call("{method}", "{path}").status < 400\n'
    )

    assert f"  did you mean {hint}" == found[1]


def test_an_unmatched_rule_is_reported_with_the_closest_call(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.on("createCampaign").where(name="uma").must_fire().error("INTERNAL_ERROR")
        create(mockserver)
        """,
    )

    assert [
        "  rule_1 on createCampaign, where body.name uma: error INTERNAL_ERROR; nothing matched",
        "    nearest is #1 createCampaign POST /v1/campaigns -> 201: body.name: got 'Uma', expected 'uma'",
    ] == found[1:3]


def test_an_upload_is_described_by_its_kind_its_size_and_its_files(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        http = mockserver.requests_session()
        files = {"files": ("x.exe", bytes(range(256)) * 9, "application/x-msdownload")}
        http.post(f"{mockserver.base_url}/v1/messaging/media", files=files, headers={"X-API-Key": mockserver.secret_key}).raise_for_status()
        """,
    )

    (sent,) = [each for each in found if each.lstrip().startswith("sent ")]
    assert re.fullmatch(r" +sent +multipart/form-data, 2,\d\d\d bytes: x.exe", sent)
    assert all(len(each) < 340 for each in found)


def test_a_receiver_that_refuses_every_delivery_is_named_before_its_consequences(suite: Suite) -> None:
    found = reported(
        suite,
        """
    import pytest

    @pytest.mark.mockserver(choices={"wh-timestamp": "sandbox-clock"})
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda webhook: 401)
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        assert 0
        """,
    )

    assert found[0].startswith("secret-misread: every valid delivery was refused with 401 (")


def test_a_refusal_that_the_age_of_the_timestamp_explains_names_the_choice_and_accuses_no_receiver(
    suite: Suite,
) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda webhook: 401)
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        assert 0
        """,
    )

    assert found[0].startswith("the receiver webhook_")
    assert found[0].endswith(
        "; a receiver that compares the timestamp with the sandbox's clock needs the choice `wh-timestamp: sandbox-clock`, "
        "under which a wrong secret is a finding"
    )


def test_no_finding_on_deliveries_blames_a_receiver_that_raised(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda webhook: {}["tenant"])
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        assert 0
        """,
    )

    assert found[0].startswith("the receiver raised KeyError: 'tenant' (test_mine.py:")
    assert found[1].startswith("1 call was answered with success")


def test_the_exception_of_a_receiver_is_reported_without_secrets(mockserver: Sandbox) -> None:
    def broken(webhook: ReceivedWebhook) -> None:
        raise ValueError(f"neither {mockserver.secret_key} nor {hook.secret}")

    hook = mockserver.receive_webhooks(broken)
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
    mockserver.complete_session(session)

    error = mockserver.events[0]["deliveries"][0]["attempts"][0]["error"]
    assert error.startswith("the receiver raised ValueError: neither ")
    assert mockserver.secret_key not in error
    assert hook.secret not in error


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("", "to run the client on the same initial state: "),
        (
            'mockserver.apply({"given": {"chats": [{"id": "three"}]}})',
            "to run the client on the same seed, choices and clock: ",
        ),
    ],
    ids=["by the mark", "by the test"],
)
def test_the_mark_to_paste_states_whether_it_includes_the_seed_data(suite: Suite, first: str, line: str) -> None:
    found = reported(
        suite, f"    def test_it(mockserver):\n        {first or 'pass'}\n        assert 0 == create(mockserver)\n"
    )

    assert f"{line}@pytest.mark.mockserver(scenario='.mockserver/failures/test_mine.py.test_it.yaml')" == found[-1]


def test_a_history_of_collapsed_polls_is_replayed_completely(suite: Suite) -> None:
    reported(suite, POLLS + "        assert 0\n")
    document = read_file(Path(suite.pytester.path / ".mockserver/failures/test_mine.py.test_it.yaml"))
    outcomes = list(replay(document))
    assert 202 == len(outcomes)
    assert [] == [each for each in outcomes if each.differences]


def test_a_read_timeout_of_requests_names_the_host() -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.on("listCampaigns").delay("30s")
        headers = {"X-API-Key": sandbox.secret_key}
        with pytest.raises(
            requests.ReadTimeout, match=r"HTTPConnectionPool\(host='127.0.0.1', port=\d+\): Read timed out"
        ):
            sandbox.requests_session().get(f"{sandbox.base_url}/v1/campaigns", headers=headers, timeout=3)


def test_the_report_of_an_incomplete_session_names_the_methods_that_act_as_its_user(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        path = "/v1/entrypoints/chatapp/connection-sessions"
        session = mockserver.call("POST", path, json={}).json()["sessionId"]
        assert "completed" == mockserver.call("GET", f"{path}/{session}").json()["status"]
        """,
    )

    first = re.sub(r"_\w{20}\b", "", found[0])
    assert (
        "Session connection_session is still pending: mockserver.complete_session(id) or mockserver.end_user(id) plays its user"
        == first
    )
    assert found[1].startswith("2 calls were answered with success; the last: #2 readConnectionSession ")


def test_a_refused_delivery_is_reported_even_without_a_call(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda webhook: 404)
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        assert 0
        """,
    )

    cause = re.sub(r"_\w{20}\b", "", found[0])
    route = 'the route of an application is the `path` of `receive_webhooks(app, path="/...")`'
    assert f"the receiver webhook answered 404 to entrypoints.chatapp.connected event; {route}" == cause


def test_a_refusal_in_the_very_words_of_the_one_before_is_one_line(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_it(mockserver):
        for _ in range(20):
            create(mockserver, cadence=0)
        assert 0
        """,
    )

    refused = "createCampaign POST /v1/campaigns -> 400 VALIDATION_ERROR"
    assert f"#2 {refused}  (details as before)" in rows(found)
    assert f"#19 {refused}  (details as before)" in rows(found)
    assert f"#20 {refused}" in rows(found)
    assert not any("left out" in each for each in found)


def test_equal_findings_are_merged_with_the_exchanges_of_all(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"templates": [{"id": "t"}], "chats": {"count": 1}}})
    body = {"platform": "chatapp", "templateId": "t", "cadence": 1}
    for number in range(12):
        campaign = mockserver.call("POST", "/v1/campaigns", json={**body, "name": f"{number}"}).json()["campaignId"]
        path = f"/v1/campaigns/{campaign}/start"
        mockserver.call("POST", path, json={"commonVariables": {"nope": "1"}})

    text = str(mockserver.conduct)
    assert 12 == len(mockserver.conduct.of("wrong-variable-keys"))
    assert 1 == text.count("wrong-variable-keys, severity 2")
    assert "(calls #2, #4, #6, #8, #10, #12, #14, #16, #18, #20 and 2 more)" in text


def test_of_many_events_the_last_are_printed_with_the_number_of_earlier_ones(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        for _ in range(33):
            mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        mockserver.advance("1h")
        assert 0
        """,
    )

    at = found.index("events:")
    assert "  ... 3 earlier" == found[at + 1]
    assert 30 == sum(each.endswith("no endpoint") for each in found)


def test_the_one_line_of_a_test_that_fails_by_its_own_words_is_followed_by_what_the_sandbox_shows(suite: Suite) -> None:
    result = suite.run(
        """
        import pytest

        def test_own(mockserver):
            mockserver.call("GET", "/v1/campaigns/none")
            pytest.fail("the client gave up")
        """
    )

    result.stdout.fnmatch_lines(
        [
            "the test failed at test_mine.py:*`: the client gave up",
            "*#1 readCampaign*404 CAMPAIGN_NOT_FOUND",
        ],
        consecutive=True,
    )


def test_a_page_that_may_not_be_the_last_is_named(suite: Suite) -> None:
    result = suite.run(
        """
        def test_own(mockserver):
            messages = [{"chatId": "chat_ana", "text": str(n)} for n in range(120)]
            mockserver.apply(given={"chats": [{"id": "chat_ana"}], "messages": messages})
            page = mockserver.call("GET", "/v1/messaging/chats/chat_ana").json()
            assert len(page["records"]) == 120
        """
    )

    result.stdout.fnmatch_lines(
        [
            "the answer of #1 has a nextCursor, so this may not be the last page",
            "1 call was answered with success; the last: #1 listMessages *",
            '  answered {"records": *',
        ],
        consecutive=True,
    )
