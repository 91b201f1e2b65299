"""Reports of failing tests: which tests have one, what it leaves out and never contains, its bounds, and the files next to it. `tests/reports` has the words."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.scenario.documents import read_file
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from mockserver.testing.report.folder import file_name, shown_path
from mockserver.testing.report.replay import replay
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


# Which tests have a report, of which sandbox


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
    assert [] == lacking(section(result)[1:2], [("#1 startCampaign", "404 CAMPAIGN_NOT_FOUND")])
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
    assert not any("no call reached" in each for each in found)


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

    assert [] == lacking(section(result)[1:2], [("#2 startCampaign", "404 CAMPAIGN_NOT_FOUND")])
    assert 1 == result.stdout.str().count("what happened:")


def test_a_late_call_is_assigned_to_the_test_of_its_sandbox_unless_the_test_closed_it(suite: Suite) -> None:
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

        def test_that_closes_its_sandbox_itself(mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                pass
            assert 410 == sandbox.call("GET", "/v1/campaigns").status
        """
    )

    result.assert_outcomes(passed=3, warnings=1)
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


# What its first lines say of the failure itself


@pytest.mark.parametrize("step", ["mockserver.state.items()", "mockserver.execution", "SimpleNamespace.execution"])
def test_an_attribute_that_code_or_the_sandbox_lacks_is_not_missed_in_an_answer(suite: Suite, step: str) -> None:
    found = reported(
        suite,
        f"""
    from types import SimpleNamespace

    def test_it(mockserver):
        mockserver.call("GET", f"/v1/campaigns/{{create(mockserver)}}")
        {step}
        """,
    )

    assert not any(line.startswith("the answer of #") for line in found)


@pytest.mark.parametrize(
    ("assertion", "end"),
    [
        ('assert 1 == 2, "wrong number"', "wrong number: assert 1 == 2"),
        ("assert dict.fromkeys('abcdefgh', 1) == dict.fromkeys('abcdefgh', 1) | {'h': 2}", "; Differing items: {'h': 1} != {'h': 2}"),
    ],
)  # fmt: skip
def test_an_assertion_is_shown_with_its_own_words_and_the_first_difference_of_long_values(
    suite: Suite, assertion: str, end: str
) -> None:
    result = suite.run(f"{WORLD}\n    def test_it(mockserver):\n        {assertion}\n")

    assert whole_section(result)[0].endswith(end)


# What it never contains, and how long it gets


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


def look(sandbox: Sandbox, query: str = "") -> object:
    return sandbox.call("GET", f"/v1/campaigns{query}")


def bent(sandbox: Sandbox) -> None:
    sandbox.on("listCampaigns").error("INTERNAL_ERROR")
    look(sandbox)


@pytest.mark.parametrize(
    "between",
    [
        lambda sandbox: sandbox.call("GET", "/v1/campaigns/none"),
        lambda sandbox: sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}),
        lambda sandbox: sandbox.choose({"media-max-files": 2}),
        bent,
        lambda sandbox: sandbox.advance("1s"),
        lambda sandbox: look(sandbox, "?limit=1"),
    ],
    ids=["a refused call", "a change", "a command", "a bent call", "one advance", "another query"],
)
def test_an_entry_between_two_polls_separates_them(mockserver: Sandbox, between: Callable[[Sandbox], object]) -> None:
    look(mockserver)
    between(mockserver)
    look(mockserver)
    mockserver.call("GET", "/v1/message-templates")

    assert "times" not in mockserver.report()


def test_the_nearest_call_is_never_folded_away(mockserver: Sandbox) -> None:
    for _ in range(5):
        look(mockserver)
    with pytest.raises(AssertionError) as raised:
        mockserver.calls("listCampaigns").where(status=201).one()
    shown = [line.split()[1] for line in mockserver.report(raised.value).splitlines() if "listCampaigns GET" in line]

    assert ["#1", "#5"] == [each for each in shown if each.startswith("#")]


@pytest.mark.mockserver(scenario="demo")
def test_answers_that_differ_in_more_than_numbers_are_not_folded(mockserver: Sandbox) -> None:
    chat = "/v1/messaging/chats/chat_helena?limit=2"
    page = mockserver.call("GET", chat).json()
    mockserver.call("GET", f"{chat}&cursor={page['nextCursor']}")

    assert "times" not in mockserver.report()


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


def test_of_many_events_the_last_are_printed_with_the_number_of_earlier_ones(mockserver: Sandbox) -> None:
    for _ in range(33):
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
    mockserver.advance("1h")
    events = mockserver.report().partition("\nevents:\n")[2].splitlines()

    assert "  ... 3 earlier" == events[0]
    assert 30 == sum(each.endswith("no endpoint") for each in events)


def test_a_call_with_other_headers_is_no_repetition_of_a_lost_one(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").nth(1).drop("before")
    session, headers = mockserver.requests_session(), {"X-API-Key": mockserver.secret_key}
    with pytest.raises(requests.ConnectionError):
        session.get(f"{mockserver.base_url}/v1/campaigns", headers=headers, timeout=5)
    session.get(f"{mockserver.base_url}/v1/campaigns", headers={**headers, "X-Attempt": "2"}, timeout=5)
    report = mockserver.call("GET", "/_mock/report").body.decode()

    assert "the same again" not in report


def test_the_entry_of_a_rule_lists_its_effects_on_the_state() -> None:
    with (
        MockServer() as server,
        server.sandbox(
            given={"templates": [{"id": "template_one"}], "chats": {"count": 4}}, now="2026-03-01T12:00:00Z"
        ) as sandbox,
    ):
        sandbox.on("startCampaign").fail_sends(every=2)
        body = {"name": "One", "platform": "chatapp", "templateId": "template_one", "cadence": 1}
        campaign = sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
        execution = sandbox.call("POST", f"/v1/campaigns/{campaign}/start").json()["executionId"]

        (rule,) = sandbox.rules

    did = {
        "at": "2026-03-01T12:00:00.000Z",
        "exchange": 2,
        "effect": "fail-sends",
        "sends": [{"execution": execution, "failing": 2, "of": 4}],
    }
    assert [did] == rule["did"]


def test_of_a_rule_that_fires_without_end_the_newest_effects_are_kept(mockserver: Sandbox) -> None:
    mockserver.apply(script=[{"on": "listCampaigns", "do": {"set-tenant": {"name": "Other"}}}])
    for _ in range(12):
        mockserver.call("GET", "/v1/campaigns")

    (rule,) = mockserver.rules

    assert [*range(3, 13)] == [one["exchange"] for one in rule["did"]]


# Files


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
        re.search("^  #1 startCampaign .*404 CAMPAIGN_NOT_FOUND", each) is not None for each in result.outlines
    )
    files = sorted((suite.pytester.path / ".mockserver/failures").iterdir())
    endings = ("har", "yaml")
    assert [f"test_mine.py.test_it-{n}.{end}" for n in range(4) for end in endings] == [each.name for each in files]
    cases = xml.etree.ElementTree.parse(suite.pytester.path / "junit.xml").iter("testcase")
    properties = [{each.get("name"): each.get("value") for each in case.iter("property")} for case in cases]
    assert {"mockserver_sandbox", "mockserver_replay"} == set.intersection(*map(set, properties))


@pytest.mark.parametrize(
    ("body", "folder"), [("create(mockserver)", "off"), ("pass", ".mockserver/failures")], ids=["left out", "no call"]
)
def test_a_report_without_a_document_promises_none(suite: Suite, body: str, folder: str) -> None:
    test = f"    def test_it(mockserver):\n        {body}\n        assert 0\n"
    found = reported(suite, test, "--mockserver-failures-dir", folder)

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


def test_a_history_of_collapsed_polls_is_replayed_completely(suite: Suite) -> None:
    reported(
        suite,
        """
    def test_it(mockserver):
        campaign = create(mockserver)
        start(mockserver, campaign)
        for _ in range(200):
            mockserver.call("GET", f"/v1/campaigns/{campaign}")
        assert 0
        """,
    )
    outcomes = list(replay(read_file(suite.pytester.path / ".mockserver/failures/test_mine.py.test_it.yaml")))

    assert 202 == len(outcomes)
    assert [] == [each for each in outcomes if each.differences]


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


# Calls that went elsewhere


STRAY = """
    from urllib.parse import urljoin
    import requests

    def stray(mockserver, times=1):
        for _ in range(times):
            status = requests.get(urljoin(mockserver.base_url, "/v1/campaigns"), headers={"X-API-Key": mockserver.secret_key}).status_code
        return status
"""


def test_such_calls_are_reported_even_if_others_arrived(suite: Suite) -> None:
    found = reported(
        suite,
        STRAY + "\n    def test_it(mockserver):\n        create(mockserver)\n        assert 200 == stray(mockserver)\n",
    )

    assert (
        '1 call arrived without its prefix /sandboxes/sandbox_1: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one'
        in found[: found.index("what happened:")]
    )


def test_such_calls_of_an_earlier_test_are_not(suite: Suite) -> None:
    found = reported(
        suite,
        STRAY
        + "\n    def test_one(mockserver):\n        stray(mockserver)\n\n    def test_two(mockserver):\n        assert 0\n",
    )

    assert not [each for each in found if "prefix" in each]


def test_their_answer_names_the_prefix() -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        answer = sandbox.requests_session().get(f"{server.url}/v1/campaigns")

    assert 404 == answer.status_code
    assert 'urljoin(baseUrl, "/v1/...") drops that' in answer.json()["message"]


PROXIES = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]


SILENT = """
    def test_it(mockserver):
        assert mockserver.base_url == ""
"""


@pytest.fixture
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [*PROXIES, "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"]:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_of_the_environment_is_named_if_no_call_arrived(
    suite: Suite, without_proxy: pytest.MonkeyPatch, name: str
) -> None:
    without_proxy.setenv(name, "http://user:secret@proxy.example:3128")
    found = reported(suite, SILENT)

    assert "no call reached sandbox_1" == found[0]
    assert found[1].startswith(f"  {name} is set: ")
    assert not [each for each in found if "secret@" in each]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HTTP_PROXY": ""},
        {"HTTPS_PROXY": "http://proxy.example:3128"},
        {"HTTP_PROXY": "http://proxy.example:3128", "NO_PROXY": "localhost,127.0.0.1"},
        {"http_proxy": "http://proxy.example:3128", "no_proxy": "*"},
    ],
    ids=repr,
)
def test_no_proxy_is_named_that_takes_no_call_of_the_sandbox(
    suite: Suite, without_proxy: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        without_proxy.setenv(name, value)
    found = reported(suite, SILENT)

    assert "no call reached sandbox_1" == found[0]
    assert not [each for each in found if "PROXY" in each.upper()]


def test_no_proxy_is_named_if_a_call_arrived(suite: Suite, without_proxy: pytest.MonkeyPatch) -> None:
    without_proxy.setenv("HTTP_PROXY", "http://proxy.example:3128")
    found = reported(
        suite, "\n    def test_it(mockserver):\n        create(mockserver)\n        assert not mockserver.base_url\n"
    )

    assert not [each for each in found if "PROXY" in each]
