"""The report of a failing test, line by line, in suites of their own."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import requests

from mockserver import Sandbox
from mockserver.testing.report.folder import file_name, shown_path
from tests.harness.lines import lacking
from tests.testing.conftest import WITHOUT_CACHE, Suite, run_in_process

ROOT = Path(__file__).resolve().parents[2]
WORLD = """
    import pytest

    GIVEN = {"templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}],
             "chats": [{"id": "one"}, {"id": "two"}]}
    NEW = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}
    pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

    def create(mockserver, **other):
        return mockserver.call("POST", "/v1/campaigns", json={**NEW, **other}).json().get("campaignId")

    def start(mockserver, campaign, **how):
        return mockserver.call("POST", f"/v1/campaigns/{campaign}/start", **how)
"""


def section(result: pytest.RunResult, title: str = "mockserver") -> list[str]:
    """The lines of a report's section without the line and the place of the failure itself, which tests of their own show."""
    lines = [re.sub(r" \(test_\w+\.py:\d+\)$", "", line) for line in whole_section(result, title)]
    return lines[1:] if re.match(r"[Tt]he test (failed|raised) ", lines[0]) else lines


def whole_section(result: pytest.RunResult, title: str = "mockserver") -> list[str]:
    """The lines of a report's section, ids shortened and random tails left out."""
    lines = result.outlines
    start = next(at for at, each in enumerate(lines) if re.fullmatch(rf"-+ {title} -+", each))
    ends = (
        at
        for at, each in enumerate(lines)
        if at > start and re.match(r"(-|=|_|!|\+){5}|test_mine.py:|/[^ ]+:\d|\.\./", each)
    )
    return [
        re.sub(r"\b(campaign|execution|session|event)_\w{20}", r"\1", each) for each in lines[start + 1 : next(ends)]
    ]


def reported(suite: Suite, test: str, *arguments: str) -> list[str]:
    return section(suite.run(WORLD + test, "--tb=short", *arguments))


def test_a_refusal_is_the_first_cause_with_its_reason_and_is_expanded_in_the_history(suite: Suite) -> None:
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(conduct="off")
    def test_twice(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        assert 202 == start(mockserver, campaign).status
        """,
    )

    at = "12:00:00.000"
    assert [] == lacking(
        found,
        [
            ("#3", "startCampaign", "422 CAMPAIGN_ALREADY_PROCESSING"),
            ("start.already", "path.id", "processing", "draft"),
            ("sandbox_1", "2026-03-01T12:00:00.000Z", "mark", "seed 0"),
            ("happened",),
            (at, "#1", "createCampaign", "201"),
            (at, "campaign", "draft"),
            (at, "#2", "startCampaign", "202"),
            (at, "execution", "processing"),
            (at, "campaign", "draft", "processing"),
            (at, "#3", "startCampaign", "422 CAMPAIGN_ALREADY_PROCESSING"),
            ('{"statusCode": 422, "code": "CAMPAIGN_ALREADY_PROCESSING"',),
            ("start.already", "path.id", "processing", "draft"),
            ("mockserver replay-calls .mockserver/failures/test_mine.py.test_twice.yaml",),
            ("@pytest.mark.mockserver(scenario='.mockserver/failures/test_mine.py.test_twice.yaml')",),
        ],
    )


def test_a_bug_proved_by_conduct_is_named_before_its_consequences(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_twice(mockserver):
        mockserver.on("startCampaign").nth(1).drop("after")
        campaign = create(mockserver)
        with pytest.raises(ConnectionError):
            start(mockserver, campaign)
        assert 202 == start(mockserver, campaign).status
        """,
    )

    assert [] == lacking(
        found[:3],
        [
            ("duplicate-start", "campaign", "#2, #3"),
            ("rule_1", "drop after at the 1st startCampaign", "#2", "took effect", "no answer"),
            ("#3 startCampaign", "422 CAMPAIGN_ALREADY_PROCESSING"),
        ],
    )


def test_what_fails_by_the_words_of_the_plugin_begins_with_them(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_once(mockserver):
        mockserver.on("startCampaign").nth(2).must_fire().drop("after")
        start(mockserver, create(mockserver))
        """,
    )

    assert [
        "a rule that must fire never fired:",
        "  rule_1 drop after at the 2nd startCampaign; matched once",
    ] == found[:2]


def test_the_absence_of_calls_is_reported_with_the_unused_address(suite: Suite) -> None:
    alone = reported(suite, "    def test_it(mockserver):\n        assert 1 == 2\n")
    asked = reported(suite, "    def test_it(mockserver):\n        mockserver.base_url\n        assert 1 == 2\n")

    assert "No call reached sandbox_1;" == alone[0]
    assert (
        "  the test has not read its address: give the client `mockserver.base_url`, or an HTTP client of `mockserver`, such as `requests_session()`"
        == alone[1]
    )
    assert re.fullmatch(
        r"  its address is http://127.0.0.1:\d+/sandboxes/sandbox_1: does the client send its calls there\?", asked[1]
    )


@pytest.mark.parametrize("path", ["/campaigns", "/api/v1/campaigns"])
def test_a_base_url_with_a_part_too_many_or_too_few_is_named(suite: Suite, path: str) -> None:
    found = reported(
        suite, f'    def test_it(mockserver):\n        assert mockserver.call("GET", "{path}").status < 400\n'
    )

    assert [
        f"Call #1 GET {path} is not an operation of the API: 404 RESOURCE_NOT_FOUND",
        "  did you mean /v1/campaigns? The client's base url has a part too many or too few",
    ] == found[:2]


def test_the_report_of_a_vain_wait_states_that_the_clock_is_frozen_and_how_to_advance_it(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        assert "completed" == mockserver.call("GET", f"/v1/campaigns/{campaign}").json()["status"]
        """,
    )

    assert [
        'The clock is frozen at 2026-03-01T12:00:00.000Z: "finish" of execution is due in 60 s; call mockserver.advance(60)',
        "3 calls were answered with success; the last: #3 readCampaign GET /v1/campaigns/campaign -> 200",
    ] == found[:2]


def test_a_call_modified_by_a_rule_is_the_first_cause_and_the_rule_is_in_the_history(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.on("startCampaign").drop("after")
        start(mockserver, create(mockserver))
        """,
    )

    assert [] == lacking(found[:2], [("#2", "startCampaign", "rule_1", "drop after"), ("took effect", "no answer")])
    assert [] == lacking(
        found[3:8],
        [
            ("happened",),
            ("12:00:00.000", "rule drop after at", "startCampaign"),
            ("12:00:00.000", "#1", "createCampaign", "201"),
            ("12:00:00.000", "campaign", "draft"),
            ("12:00:00.000", "#2", "startCampaign", "no answer", "rule_1", "drop after"),
        ],
    )


def test_a_pending_call_is_not_reported_as_missing(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.on("createCampaign").delay("30s")
        mockserver.call("POST", "/v1/campaigns", json=NEW, timeout=3)
        """,
    )

    assert [
        "No call has arrived at sandbox_1 yet: POST /v1/campaigns is delayed by rule_1",
        'The clock is frozen at 2026-03-01T12:00:03.000Z: "arrive" of call_1 is due in 27 s; call mockserver.advance(27)',
    ] == found[:2]
    assert "  12:00:00.000  a rule delays POST /v1/campaigns; its client waits 3 s" in found


def test_commands_and_their_transitions_are_listed_between_the_calls(suite: Suite) -> None:
    found = reported(
        suite,
        """
    SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"

    def test_it(mockserver):
        session = mockserver.call("POST", SESSIONS, json={}).json()["sessionId"]
        mockserver.advance("1m")
        mockserver.complete_session(session)
        assert "failed" == mockserver.call("GET", f"{SESSIONS}/{session}").json()["status"]
        """,
    )

    assert found[1].startswith("2 calls were answered with success; the last: #2 readConn")
    assert [] == lacking(
        found[5:13],
        [
            ("12:00:00.000", "#1", "createConnectionSession", "202"),
            ("12:00:00.000", "session", "pending"),
            ("12:00:00.000", "advance", "1m"),
            ("12:01:00.000", "complete session", "connection_session"),
            ("12:01:00.000", "session", "pending", "completed", "forced"),
            ("12:01:00.000", "#2", "readConnectionSession", "200"),
            ("events",),
            ("12:01:00.000", "entrypoints.chatapp.connected", "no endpoint"),
        ],
    )


def test_deliveries_are_printed_with_the_result_of_each_attempt(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda webhook: 500)
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        mockserver.advance("1m")
        assert 0
        """,
    )

    row = next(each for each in found if "entrypoints.chatapp.connected event ->" in each)
    assert re.search(r" -> webhook_\w+: waiting after 500, 500$", row)


SESSION = """
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        assert 0
"""


@pytest.mark.parametrize(
    ("faults", "attempts"),
    [
        ('forge="other-tenant"', "200 to a forged request (other-tenant), 200"),
        ('forge="no-signature"', "401 to a forged request (no-signature), 200"),
        ('unknown_kind="entrypoints.chatapp.renamed"', "200 to an event of an unknown kind, 200"),
        ("duplicate=2", "200, 200 to a duplicate, 200 to a duplicate"),
    ],
)
def test_a_forged_or_extra_delivery_is_labelled_with_what_the_receiver_answered(
    suite: Suite, faults: str, attempts: str
) -> None:
    found = reported(
        suite,
        f"""
    def test_it(mockserver):
        mockserver.on("delivery").deliver({faults})
        mockserver.receive_webhooks(lambda webhook: 200 if "webhook-signature" in webhook.headers else 401)
        {SESSION.strip()}
        """,
    )

    row = next(each for each in found if "entrypoints.chatapp.connected event ->" in each)
    assert row.endswith(f": delivered after {attempts}")
    assert not any("answered 401" in each for each in found)


def test_an_exception_of_a_receiver_at_a_forged_request_is_not_a_cause(suite: Suite) -> None:
    found = reported(
        suite,
        f"""
    def test_it(mockserver):
        mockserver.on("delivery").deliver(forge="no-signature")
        mockserver.receive_webhooks(lambda webhook: webhook.headers["webhook-signature"] and None)
        {SESSION.strip()}
        """,
    )

    assert not found[0].startswith("the receiver raised")
    assert any(" to a forged request (no-signature), 200" in each for each in found)


def test_a_receiver_that_raises_at_an_extra_request_is_a_cause_that_names_it(suite: Suite) -> None:
    found = reported(
        suite,
        f"""
    def test_it(mockserver):
        mockserver.on("delivery").deliver(unknown_kind="entrypoints.chatapp.renamed")
        mockserver.receive_webhooks(lambda webhook: webhook.json()["data"]["sessionId"] and None)
        {SESSION.strip()}
        """,
    )

    assert re.fullmatch(
        r"the receiver raised KeyError: 'sessionId' \(test_mine.py:\d+\) on an event of an unknown kind at webhook_\w+",
        found[0],
    )


def test_an_exception_of_a_receiver_precedes_its_consequences(suite: Suite) -> None:
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

    assert re.fullmatch(
        r"the receiver raised KeyError: 'tenant' \(test_mine.py:15\) on entrypoints.chatapp.connected event at webhook_\w+",
        found[0],
    )
    assert any("waiting after 500 (the receiver raised KeyError: 'tenant'" in each for each in found)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (
            'apply({"given": {"templatez": []}})',
            "/given/templatez: got the key \"templatez\"; expected a key of `given`: *; did you mean 'templates'?",
        ),
        (
            'calls("creatCampaign")',
            "got the operation 'creatCampaign'; expected an operation id, METHOD /path or *; did you mean 'createCampaign'?",
        ),
        ('on("startCampaign").drop("aftr")', "/script/0/do/drop: got \"aftr\"; expected *; did you mean 'after'?"),
    ],
)
def test_a_refused_command_of_the_test_is_the_first_cause(suite: Suite, wrong: str, cause: str) -> None:
    found = reported(suite, f"    def test_it(mockserver):\n        mockserver.{wrong}\n")

    assert fnmatchcase(found[0], cause.replace("[", "[[]"))
    assert not any("No call reached" in each for each in found)


def test_a_failed_assertion_about_calls_is_first_with_the_closest_call(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        create(mockserver, name="promo ", cadence=0)
        create(mockserver)
        mockserver.calls("createCampaign").where(name="promo", cadence=0).one()
        """,
    )

    assert [
        "expected exactly 1 call of createCampaign with body.name = 'promo' and body.cadence = 0, got 0",
        "nearest is #1 createCampaign POST /v1/campaigns -> 400 VALIDATION_ERROR",
        "  refused because campaigns.cadence at /cadence: got 0; expected a number of at least 1",
    ] == found[:3]


def test_settings_and_choices_are_printed_with_their_sources(suite: Suite) -> None:
    suite.pytester.makeconftest(
        "import pytest\n\n@pytest.fixture(scope='session')\n"
        "def mockserver_settings():\n    return {'choices': {'success-status': 'all-200'}}\n"
    )
    found = reported(
        suite,
        """
    @pytest.mark.mockserver(scenario="demo", choices={"cancel-final": "no-op"}, given=None)
    def test_it(mockserver):
        mockserver.choose({"media-max-files": 2})
        assert 0
        """,
        *("--mockserver-choices", "dual-status=guide", "--mockserver-seed", "7", "-o", "mockserver_profile=hostile"),
    )

    assert (
        "sandbox_1: clock at 2026-03-01T12:00:00.000Z (mark), seed 7 (command line), scenario demo (mark)" == found[2]
    )
    assert re.fullmatch(
        r"choices: \d\d as in profile hostile, ini file, cancel-final=no-op \(mark\), dual-status=guide \(command line\),"
        r" media-max-files=2 \(set by the test\), success-status=all-200 \(mockserver_settings\)",
        found[3],
    )


def test_no_report_or_document_contains_a_key(suite: Suite) -> None:
    result = suite.run(
        WORLD
        + """
    @pytest.mark.mockserver(given={"tenants": [{"id": "tenant_other", "secretKey": "sk_other_key_of_the_test"}]})
    def test_it(mockserver):
        mockserver.call("GET", f"/v1/campaigns?leak={mockserver.secret_key}", headers={"x-leak": mockserver.public_key})
        mockserver.call("POST", "/v1/campaigns", json={"name": mockserver.secret_key})
        mockserver.apply({"given": {"tenants": [{"id": "tenant_third", "secretKey": "sk_third_key_of_the_test"}]}})
        assert 0
        """,
        "--tb=no",
    )

    text = result.stdout.str() + (suite.pytester.path / ".mockserver/failures/test_mine.py.test_it.yaml").read_text(
        encoding="utf-8"
    )
    assert "sk_..." in text
    assert [] == re.findall(r"[sp]k_\w{4,}", text)


def test_a_failure_in_a_fixture_is_reported_and_a_passing_or_expected_one_is_not(suite: Suite) -> None:
    result = suite.run(
        WORLD
        + """
    @pytest.fixture
    def broken(mockserver):
        start(mockserver, "none")
        raise OSError

    def test_error(broken):
        pass

    def test_passes(mockserver):
        start(mockserver, "none")

    @pytest.mark.xfail(strict=True)
    def test_expected(mockserver):
        start(mockserver, "none")
        assert 0
        """,
        "--tb=short",
        "-rA",
    )

    result.assert_outcomes(passed=1, errors=1, xfailed=1)
    assert [] == lacking(section(result)[:1], [("#1 startCampaign", "404 CAMPAIGN_NOT_FOUND")])
    assert 1 == result.stdout.str().count("what happened:")


def test_of_many_sandboxes_the_last_is_reported(suite: Suite) -> None:
    result = suite.run(
        WORLD
        + """
    def test_it(mockserver_server):
        for seed in range(5):
            with mockserver_server.sandbox(seed=seed) as sandbox:
                sandbox.call("GET", "/v1/campaigns")
        assert 0
        """,
        "--tb=short",
    )

    assert "seed 4 (sandbox(...))" in section(result, "mockserver sandbox_5")[2]
    result.stdout.fnmatch_lines(["this is the last of 5 sandboxes that the test has created"])
    assert 1 == result.stdout.str().count("what happened:")


def test_a_machine_whose_client_raises_is_not_reported_as_without_calls(suite: Suite) -> None:
    found = reported(
        suite,
        """
    from hypothesis import settings
    from hypothesis.stateful import rule
    from mockserver.testing.machine import GatewayMachine

    class Mine(GatewayMachine):
        faults, failures = (), None

        @rule()
        def look(self):
            self.sandbox.call("GET", "/v1/campaigns")
            raise KeyError("of the client")

    def test_it(mockserver_server):
        Mine.check(mockserver_server, settings=settings(max_examples=2, stateful_step_count=2, database=None))
        """,
    )

    assert found[0].startswith("The sandbox was reset after the example that failed: its steps")
    assert not any("No call reached" in each for each in found)


def test_a_sandbox_of_the_module_is_reported_by_each_failing_test_that_calls_it(suite: Suite) -> None:
    result = suite.run(
        WORLD
        + """
    @pytest.fixture(scope="module")
    def shared(mockserver_server):
        with mockserver_server.sandbox() as sandbox:
            yield sandbox

    def test_first(shared):
        shared.call("GET", "/v1/campaigns")

    def test_second(shared):
        start(shared, "none")
        assert 0

    def test_that_calls_nothing(shared):
        assert 0
        """,
        "--tb=short",
    )

    assert [] == lacking(section(result)[:1], [("#2 startCampaign", "404 CAMPAIGN_NOT_FOUND")])
    assert 1 == result.stdout.str().count("what happened:")


def test_a_long_history_is_truncated_in_the_middle(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        for number in range(50):
            mockserver.call("GET", f"/v1/campaigns?unlike={number}")
        assert 0
        """,
    )

    assert "  ... 15 lines left out" in found
    assert any("#5 " in each for each in found) and not any("#6 " in each for each in found)
    assert any("#50 " in each for each in found)


@pytest.mark.deep
def test_reports_pass_through_workers_and_into_junit_xml(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    tests = """
    @pytest.mark.parametrize("number", range(4))
    def test_it(mockserver, number):
        start(mockserver, "none")
        assert 0
    """
    result = suite.run_in_workers(WORLD + tests, "--junitxml=junit.xml", "--tb=short")

    result.assert_outcomes(failed=4)
    assert 4 == sum(
        re.search("^Call #1 startCampaign .*404 CAMPAIGN_NOT_FOUND", each) is not None for each in result.outlines
    )
    files = sorted((suite.pytester.path / ".mockserver/failures").iterdir())
    endings = ("har", "yaml")
    assert [f"test_mine.py.test_it-{n}.{end}" for n in range(4) for end in endings] == [each.name for each in files]
    cases = xml.etree.ElementTree.parse(suite.pytester.path / "junit.xml").iter("testcase")
    properties = [{each.get("name"): each.get("value") for each in case.iter("property")} for case in cases]
    assert {"mockserver_sandbox", "mockserver_replay"} == set.intersection(*map(set, properties))


def test_documents_of_failures_can_be_left_out(suite: Suite) -> None:
    found = reported(suite, "    def test_it(mockserver):\n        assert 0\n", "--mockserver-failures-dir", "off")

    assert not any("replay" in each or "document" in each for each in found)
    assert not (suite.pytester.path / ".mockserver").exists()


def test_a_folder_that_takes_no_document_leaves_the_report_as_it_is(suite: Suite) -> None:
    (suite.pytester.path / "taken").write_text("a file", encoding="utf-8")
    found = reported(
        suite,
        "    def test_it(mockserver):\n        assert 0 == create(mockserver)\n",
        "--mockserver-failures-dir",
        "taken/failures",
    )

    assert any(each.startswith("what happened:") for each in found)
    assert re.match(r"no replay document was written: \w+Error: .*taken", found[-1])


def test_the_documents_are_excluded_from_version_control(suite: Suite) -> None:
    reported(suite, "    def test_it(mockserver):\n        assert 0 == create(mockserver)\n")

    assert "*\n" == (suite.pytester.path / ".mockserver" / ".gitignore").read_text(encoding="utf-8")


def test_no_document_is_promised_where_nothing_was_done(suite: Suite) -> None:
    found = reported(suite, "    def test_it(mockserver):\n        assert 0\n")

    assert not any("replay" in each for each in found)
    assert not (suite.pytester.path / ".mockserver").exists()


def test_an_incomplete_document_states_it(suite: Suite) -> None:
    found = reported(
        suite,
        """
    def test_it(mockserver):
        for _ in range(1_005):
            mockserver.advance(1)
        assert 0 == create(mockserver)
        """,
    )

    assert "The first 5 calls and commands are missing: the journal holds only the last ones." in found


def test_a_late_call_is_assigned_to_the_test_of_its_sandbox(suite: Suite) -> None:
    result = suite.run(
        """
        import urllib.error
        import urllib.request

        kept = []

        def test_first(mockserver):
            kept.append(mockserver.base_url)

        def test_second(mockserver):
            try:
                urllib.request.urlopen(kept[0] + "/v1/campaigns")
            except urllib.error.HTTPError as refusal:
                refusal.close()
        """
    )

    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "test_mine.py::test_first",
            "*LateCallWarning: a call arrived at sandbox_1 after * and got 410 (noticed after test_mine.py::test_second)",
        ]
    )


REPLACED = """
import pytest
from mockserver import MockServer

@pytest.fixture(scope="session")
def mockserver_server():
    with MockServer() as server:
        yield server
"""


def test_each_of_two_servers_has_its_own_sandboxes_of_tests(suite: Suite) -> None:
    make = suite.pytester.makepyfile
    make(**{"conftest": REPLACED, "one/conftest": REPLACED})
    make(**{"one/test_first": "def test_it(mockserver): assert 'sandbox_1' == mockserver.id"})
    make(
        test_of_the_other_server="""
        import pytest

        @pytest.mark.parametrize("number", [1, 2])
        def test_it(mockserver, number):
            assert f"sandbox_{number}" == mockserver.id
            assert number == 1, "so that there is a report"
        """
    )
    make(
        **{
            "one/test_last": """
            import http.client

            def test_a_sandbox_made_over_http_is_closed(mockserver_server):
                client = http.client.HTTPConnection(mockserver_server.url.partition("//")[2])
                calls = [("POST", "/_mock/sandboxes"), ("DELETE", "/_mock/sandboxes/sandbox_2"), ("GET", "/sandboxes/sandbox_2/v1/a")]
                statuses = []
                for method, path in calls:
                    client.request(method, path)
                    with client.getresponse() as response:
                        response.read()
                        statuses.append(response.status)
                client.close()
                assert [201, 204, 410] == statuses
            """
        }
    )
    files = ["one/test_first.py", "test_of_the_other_server.py", "one/test_last.py"]
    result = run_in_process(suite.pytester, *WITHOUT_CACHE, *files)

    result.assert_outcomes(passed=3, failed=1, warnings=0)
    result.stdout.fnmatch_lines(["sandbox_2: clock at *"])


def test_a_call_to_a_sandbox_that_the_test_closed_is_not_a_late_call(suite: Suite) -> None:
    result = suite.run(
        """
        def test_it(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                pass
            assert 410 == sandbox.call("GET", "/v1/campaigns").status
        """
    )

    result.assert_outcomes(passed=1, warnings=0)


def test_a_unittest_test_case_has_its_sandbox_as_an_attribute(suite: Suite) -> None:
    result = suite.run(
        """
        import unittest
        import pytest

        @pytest.mark.mockserver(now="2026-03-01T12:00:00Z")
        @pytest.mark.usefixtures("mockserver")
        class TestIt(unittest.TestCase):
            def test_passes(self):
                self.assertEqual(2026, self.mockserver.now.year)

            def test_fails(self):
                self.assertEqual(200, self.mockserver.call("GET", "/v1/campaigns/none").status)

            @unittest.expectedFailure
            def test_expected(self):
                self.assertEqual(200, self.mockserver.call("GET", "/v1/campaigns/none").status)
        """,
        "--tb=short",
    )

    result.assert_outcomes(passed=1, failed=1, xfailed=1)
    assert [] == lacking(section(result)[:1], [("#1 readCampaign", "404 CAMPAIGN_NOT_FOUND")])


def test_the_path_of_a_document_on_another_drive_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def other_drive(path: Path) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    assert "failures/test_it.yaml" == shown_path(Path("failures") / "test_it.yaml")
    monkeypatch.setattr(os.path, "relpath", other_drive)
    assert "/failures/test_it.yaml" == shown_path(Path("/failures/test_it.yaml"))


def test_a_test_of_any_name_has_a_file_of_its_own_on_every_file_system() -> None:
    names = ["", "...", "con", "aux.send", "t.py::t[A]", "t.py::t[a]", "a/b", "a-b", "ã" * 200, "\ud800", "x" * 300]

    files = [file_name(name) for name in names]

    assert len(names) == len({file.lower() for file in files})
    assert [] == [file for file in files if not 0 < len(file.encode()) <= 120 or file.lower() in ("con", "aux.send")]
    assert "t.py.t-a" == file_name("t.py::t[a]")


@pytest.mark.parametrize(("other", "is_named"), [({}, True), ({"X-Attempt": "2"}, False)], ids=["equal", "another"])
def test_the_report_of_a_lost_call_names_an_equal_one_that_follows(
    mockserver: Sandbox, other: dict[str, str], is_named: bool
) -> None:
    mockserver.on("listCampaigns").nth(1).drop("before")
    session, headers = mockserver.requests_session(), {"X-API-Key": mockserver.secret_key}
    with pytest.raises(requests.ConnectionError):
        session.get(f"{mockserver.base_url}/v1/campaigns", headers=headers, timeout=5)
    session.get(f"{mockserver.base_url}/v1/campaigns", headers={**headers, **other}, timeout=5)
    report = mockserver.call("GET", "/_mock/report").body.decode()
    line = "call #2 is the same again: repeated by the transport, if your code repeats nothing"

    assert is_named == (line in report)
