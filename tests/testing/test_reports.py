"""Reports of failing tests: which tests have one, what it leaves out and never contains, its bounds, and the files next to it. `tests/reports` has the words."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from pathlib import Path

import pytest

from mockserver import MockServer, Sandbox
from mockserver.scenario.documents import read_file
from mockserver.testing.report.folder import file_name
from mockserver.testing.report.replay import replay
from tests.harness.lines import lacking
from tests.testing.conftest import Suite

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


def test_a_machine_whose_client_raises_is_reported_with_its_calls(suite: Suite) -> None:
    found = reported(
        suite,
        """
    from hypothesis import settings
    from hypothesis.stateful import rule
    from mockserver.testing.machine import GatewayMachine

    class Mine(GatewayMachine):
        faults = ()

        @rule()
        def look(self):
            self.sandbox.call("GET", "/v1/campaigns")
            raise KeyError("of the client")

    def test_it(mockserver_server):
        Mine.check(mockserver_server, settings=settings(max_examples=2, stateful_step_count=2, database=None))
        """,
    )

    assert found[0].startswith("the calls were listCampaigns; the last, #1")
    assert not any("no call reached" in each for each in found)


def test_a_machine_that_fails_in_two_ways_is_reported_with_the_calls_of_one(suite: Suite) -> None:
    found = reported(
        suite,
        """
    from hypothesis import settings
    from hypothesis.stateful import rule
    from mockserver.testing.machine import GatewayMachine

    class Mine(GatewayMachine):
        faults = ()

        @rule()
        def look(self):
            self.sandbox.call("GET", "/v1/campaigns")
            raise KeyError("of the client")

        @rule()
        def look_elsewhere(self):
            self.sandbox.call("GET", "/v1/campaigns")
            raise IndexError("of the client")

    def test_it(mockserver_server):
        steady = settings(max_examples=20, stateful_step_count=2, database=None, derandomize=True)
        Mine.check(mockserver_server, settings=steady)
        """,
    )

    assert found[0].startswith("the calls were listCampaigns; the last, #1")


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


# What its first lines say of the failure itself


def test_an_assertion_is_shown_with_its_own_words(suite: Suite) -> None:
    result = suite.run(f"{WORLD}\n    def test_it(mockserver):\n        assert 1 == 2, 'wrong number'\n")

    assert whole_section(result)[0].endswith("wrong number: assert 1 == 2")


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

    text = result.stdout.str() + suite.read(".mockserver/failures/test_mine.py.test_it.yaml")
    assert "sk_..." in text
    assert [] == re.findall(r"[sp]k_\w{4,}", text)


def look(sandbox: Sandbox, query: str = "") -> object:
    return sandbox.call("GET", f"/v1/campaigns{query}")


def test_the_nearest_call_is_never_folded_away(mockserver: Sandbox) -> None:
    for _ in range(5):
        look(mockserver)
    with pytest.raises(AssertionError) as raised:
        mockserver.calls("listCampaigns").where(status=201).one()
    shown = [line.split()[1] for line in mockserver.report(raised.value).splitlines() if "listCampaigns GET" in line]

    assert ["#1", "#5"] == [each for each in shown if each.startswith("#")]


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
    files = sorted(suite.file(".mockserver/failures").iterdir())
    endings = ("har", "html", "yaml")
    assert [f"test_mine.py.test_it-{n}.{end}" for n in range(4) for end in endings] == [each.name for each in files]
    cases = xml.etree.ElementTree.parse(suite.file("junit.xml")).iter("testcase")
    properties = [{each.get("name"): each.get("value") for each in case.iter("property")} for case in cases]
    assert {"mockserver_sandbox", "mockserver_replay", "mockserver_trace"} == set.intersection(*map(set, properties))


def test_a_folder_that_takes_no_document_leaves_the_report_as_it_is(suite: Suite) -> None:
    suite.file("taken").write_text("a file", encoding="utf-8")
    found = reported(
        suite,
        "    def test_it(mockserver):\n        assert 0 == create(mockserver)\n",
        "--mockserver-failures-dir",
        "taken/failures",
    )

    assert any(each.startswith("what happened:") for each in found)
    assert re.match(r"no replay document was written: \w+Error: .*taken", found[-2])
    assert re.match(r"no trace was written: \w+Error: .*taken", found[-1])


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
    outcomes = list(replay(read_file(suite.file(".mockserver/failures/test_mine.py.test_it.yaml"))))

    assert 202 == len(outcomes)
    assert [] == [each for each in outcomes if each.differences]


def test_a_test_of_any_name_has_a_file_of_its_own_on_every_file_system() -> None:
    names = ["", "...", "con", "aux.send", "t.py::t[A]", "t.py::t[a]", "a/b", "a-b", "ã" * 200, "\ud800", "x" * 300]

    files = [file_name(name) for name in names]

    assert len(names) == len({file.lower() for file in files})
    assert [] == [file for file in files if not 0 < len(file.encode()) <= 120 or file.lower() in ("con", "aux.send")]
    assert "t.py.t-a" == file_name("t.py::t[a]")


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


# Calls that went elsewhere


def test_their_answer_names_the_prefix() -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        answer = sandbox.requests_session().get(f"{server.url}/v1/campaigns")

    assert 404 == answer.status_code
    assert 'urljoin(baseUrl, "/v1/...") drops that' in answer.json()["message"]


PROXIES = """
    NAMES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
    PROXY = "http://user:secret@proxy.example:3128"

    @pytest.fixture(autouse=True)
    def without_proxy(monkeypatch):
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)

    @pytest.mark.parametrize("name", NAMES[:4])
    def test_a_proxy_that_takes_the_calls(mockserver, monkeypatch, name):
        monkeypatch.setenv(name, PROXY)
        assert mockserver.base_url == ""

    @pytest.mark.parametrize("variables", [
        {}, {"HTTP_PROXY": ""}, {"HTTPS_PROXY": PROXY},
        {"HTTP_PROXY": PROXY, "NO_PROXY": "localhost,127.0.0.1"}, {"http_proxy": PROXY, "no_proxy": "*"},
    ])
    def test_none(mockserver, monkeypatch, variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert mockserver.base_url == ""

    def test_a_call_that_arrived(mockserver, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", PROXY)
        create(mockserver)
        assert not mockserver.base_url
"""


def test_a_proxy_of_the_environment_is_named_if_it_takes_the_calls_and_none_arrived(suite: Suite) -> None:
    result = suite.run(WORLD + PROXIES, "--tb=short", "-p", "no:randomly")

    result.assert_outcomes(failed=10)
    lines = result.outlines
    assert 9 == sum(line.startswith("no call reached sandbox_") for line in lines)
    assert ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] == [
        line.split()[0] for line in lines if " is set: " in line
    ]
    assert [] == [line for line in lines if "secret@" in line]
