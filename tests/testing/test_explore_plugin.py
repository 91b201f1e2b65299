"""Explore in pytest, in suites of their own: one item stays one item, and its further runs leave no trace but the report."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx  # noqa: F401 - a session in this process that imports it first would leave the next one another
import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract.choices import CHOICES
from mockserver.report import explore_page
from tests.testing.conftest import PLUGIN, WITHOUT_CACHE, Suite, run_in_process

ROOT = Path(__file__).resolve().parents[2]

CLIENT = """
    import http.client

    import pytest

    TEMPLATE = {"templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}]}

    def create(mockserver, name="Uma"):
        body = {"name": name, "platform": "chatapp", "templateId": "t", "cadence": 1}
        return mockserver.call("POST", "/v1/campaigns", json=body)

    def create_with_a_blind_retry(mockserver):
        mockserver.apply(given=TEMPLATE)
        try:
            create(mockserver)
        except http.client.RemoteDisconnected:
            create(mockserver, "Uma (2)")

    def list_campaigns(mockserver):
        try:
            return mockserver.call("GET", "/v1/campaigns").status
        except http.client.RemoteDisconnected:
            return mockserver.call("GET", "/v1/campaigns").status
"""
FINDS = (
    CLIENT
    + """
    @pytest.mark.mockserver_explore
    def test_creating(mockserver):
        create_with_a_blind_retry(mockserver)
"""
)
PASSES = (
    CLIENT
    + """
    @pytest.mark.mockserver_explore
    def test_listing(mockserver):
        assert 200 == list_campaigns(mockserver)
        assert 200 == list_campaigns(mockserver)
"""
)


# What an exploration tries by default, for a run that takes less time: lost answers alone.
LOST = """
    from mockserver.testing.runs.faults import ExploreOptions

    names = tuple(ExploreOptions.__dataclass_fields__)
    less = {"faults": ("drop-after",), "choices": ()}
    former = ExploreOptions.__init__.__defaults__
    ExploreOptions.__init__.__defaults__ = tuple(less.get(name, value) for name, value in zip(names, former))

    def pytest_unconfigure():
        ExploreOptions.__init__.__defaults__ = former
    """


@pytest.fixture
def stubbed(suite: Suite) -> Suite:
    """A suite whose explorations try lost answers alone."""
    suite.pytester.makeconftest(LOST)
    return suite


def entries_of(suite: Suite, name: str = "explore.json") -> Any:
    """The entries of a report as JSON."""
    return json.loads(suite.read(name))["tests"]


def test_a_test_that_finds_something_fails_with_the_report_in_a_section(stubbed: Suite) -> None:
    result = stubbed.run(FINDS)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_creating _*",
            "explore: 1 silent of 1 placements in 3 runs",
            "*- mockserver: explore -*",
            "silent: *, at 1 placement",
            "*= mockserver: explore =*",
            "test_mine.py::test_creating: 1 silent of 1 placements in 3 runs",
            "FAILED test_mine.py::test_creating - *1 silent*",
        ]
    )
    assert "- mockserver -" not in result.stdout.str()


def test_a_test_that_fails_by_itself_has_its_ordinary_report_and_is_not_explored(stubbed: Suite) -> None:
    source = PASSES.replace("200 == list_campaigns", "418 == list_campaigns")

    result = stubbed.run(source)
    explored = result.stdout.str()
    plain = stubbed.run(source.replace("mockserver_explore", "filterwarnings('error')")).stdout.str()

    result.assert_outcomes(failed=1)
    assert "mockserver: explore" not in explored
    mask = re.compile(r"\d\d:\d\d:\d\d\S*|in \d+\.\d+s|@pytest.mark.*|\d{4}-\d\d-\d\d\S*|-----+|=====+")
    assert mask.sub("", plain).splitlines()[2:] == mask.sub("", explored).splitlines()[2:]


def test_the_option_explores_every_test_that_uses_the_fixture(stubbed: Suite) -> None:
    source = PASSES.replace("@pytest.mark.mockserver_explore\n", "\n") + (
        """
    def test_without_a_sandbox():
        pass

    def test_that_makes_its_own(mockserver_server):
        with mockserver_server.sandbox() as sandbox:
            list_campaigns(sandbox)

    import unittest

    class TestCase(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def _mock(self, mockserver):
            self.mock = mockserver

        def test_method(self):
            list_campaigns(self.mock)
        """
    )

    result = stubbed.run(source, "--mockserver-explore", "--mockserver-explore-json", "out/explore.json")
    without = stubbed.run_again()

    result.assert_outcomes(passed=4)
    written = entries_of(stubbed, "out/explore.json")
    assert ["test_mine.py::test_listing"] == [test["test"] for test in written]
    assert 2 == written[0]["verdicts"]["survived"]
    without.assert_outcomes(passed=4)
    assert "mockserver: explore" not in without.stdout.str()


def test_a_wrong_mark_is_an_error_of_its_own_test(stubbed: Suite) -> None:
    result = stubbed.run(
        """
        import unittest

        import pytest

        @pytest.mark.mockserver_explore(fault=("drop-after",))
        def test_misspelt(mockserver):
            pass

        @pytest.mark.mockserver_explore("drop-after")
        def test_positional(mockserver):
            pass

        @pytest.mark.mockserver_explore(pairs=-1)
        def test_negative(mockserver):
            pass

        @pytest.mark.mockserver_explore
        class TestListing(unittest.TestCase):
            def test_method(self):
                pass

        @pytest.mark.mockserver_explore
        def test_without():
            pass

        def test_another(mockserver):
            assert mockserver.id
        """
    )

    result.assert_outcomes(passed=1, errors=5)
    result.stdout.fnmatch_lines_random(
        [
            "*mockserver_explore: got 'fault'; expected faults, *; did you mean 'faults'?*",
            "*mockserver_explore: got ('drop-after',); expected keyword arguments only*",
            "*mockserver_explore: pairs: got -1; expected a number of runs, 0 for none*",
            "*got a method of unittest.TestCase; expected a function*",
            "*got a test without the fixture mockserver*",
        ]
    )


def test_the_nearest_mark_takes_precedence_argument_by_argument(stubbed: Suite) -> None:
    source = CLIENT + (
        """
    pytestmark = pytest.mark.mockserver_explore(strict=True, pairs=0)

    def test_strict(mockserver):
        mockserver.call("GET", "/v1/campaigns")

    @pytest.mark.mockserver_explore(strict=False)
    def test_lenient(mockserver):
        mockserver.call("GET", "/v1/campaigns")
        """
    )

    result = stubbed.run(source)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_strict: 1 crashed of *", "*test_lenient: 1 crashed of *"])


FIXTURES = (
    CLIENT
    + """
    made = []

    @pytest.fixture
    def own(mockserver):
        made.append(("own", mockserver.id))
        yield
        made.append(("end", mockserver.id))

    @pytest.fixture(params=["a", "b"])
    def variant(request):
        return request.param

    @pytest.fixture(scope="class")
    def of_class():
        made.append("class")
        yield
        made.append("end of class")

    @pytest.fixture(scope="module", autouse=True)
    def of_module():
        made.append("module")
        yield
        made.append("end of module")

    @pytest.fixture(scope="session")
    def of_session():
        made.append("session")

    @pytest.mark.mockserver_explore
    class TestListing:
        def setup_method(self):
            self.calls = 0

        @pytest.mark.parametrize("limit", [1, 2])
        def test_it(self, own, of_class, of_session, variant, limit, mockserver, tmp_path, monkeypatch, capsys, caplog):
            assert 0 == self.calls and not hasattr(http.client, "mine")
            monkeypatch.setattr(http.client, "mine", True, raising=False)
            self.calls = list_campaigns(mockserver)
            (tmp_path / "file").touch(exist_ok=False)
            print("printed")
            assert "printed" == capsys.readouterr().out.strip()
            assert [] == caplog.records

    def test_what_was_made():
        assert 1 == made.count("class") == made.count("module") == made.count("session")
        assert 1 == made.count("end of class") and 0 == made.count("end of module")
        sandboxes = [entry[1] for entry in made if entry[0] == "own"]
        assert len(sandboxes) == len(set(sandboxes)) == 4 * 3
        assert sandboxes == [entry[1] for entry in made if entry[0] == "end"]
        pairs = [entry for entry in made if isinstance(entry, tuple)]
        assert all(begin[1] == end[1] for begin, end in zip(pairs[::2], pairs[1::2], strict=True))
"""
)


def test_fixtures_of_function_scope_are_made_again_for_each_run_and_the_others_are_not(stubbed: Suite) -> None:
    stubbed.run(FIXTURES).assert_outcomes(passed=5)


def test_items_ids_progress_durations_and_junit_are_those_of_ordinary_tests(stubbed: Suite) -> None:
    plain = stubbed.run(
        FIXTURES.replace("@pytest.mark.mockserver_explore\n", "\n"), "-v", "-k", "it", "--junitxml=plain.xml"
    )

    explored = stubbed.run(FIXTURES, "-v", "-k", "it", "--durations=0", "-vv", "--junitxml=explored.xml")

    def lines(result: pytest.RunResult) -> list[str]:
        return re.findall(r"^test_mine\.py::.*%\]$", result.stdout.str(), re.MULTILINE)

    assert lines(plain) == lines(explored) and 4 == len(lines(explored))
    durations = re.findall(r"s (setup|call|teardown) +test_mine", explored.stdout.str())
    assert 12 == len(durations)
    cases = [
        [(case.get("classname"), case.get("name")) for case in ElementTree.parse(stubbed.file(name)).iter("testcase")]
        for name in ("plain.xml", "explored.xml")
    ]
    assert cases[0] == cases[1]


def test_further_runs_leave_no_output_warning_report_or_conduct(stubbed: Suite) -> None:
    source = CLIENT + (
        """
    import logging
    import warnings

    runs = []

    @pytest.mark.filterwarnings("default")
    @pytest.mark.mockserver(conduct="error")
    @pytest.mark.mockserver_explore(strict=True)
    def test_noisy(mockserver):
        runs.append(mockserver.id)
        number = len(runs)
        warnings.warn(f"warned in run {number}")
        print(f"printed in run {number}")
        logging.getLogger().warning(f"logged in run {number}")
        mockserver.call("GET", "/v1/campaigns")

    @pytest.mark.mockserver(conduct="error")
    @pytest.mark.mockserver_explore(strict=True)
    def test_retrying(mockserver):
        mockserver.apply(given=TEMPLATE)
        campaign = create(mockserver).json()["campaignId"]
        try:
            mockserver.call("POST", f"/v1/campaigns/{campaign}/start")
        except http.client.RemoteDisconnected:
            mockserver.call("POST", f"/v1/campaigns/{campaign}/start")
        """
    )

    result = stubbed.run(source)

    result.assert_outcomes(failed=2, warnings=1)
    result.stdout.fnmatch_lines(["*test_retrying: 1 breach, 1 crashed of 2 placements in 4 runs"])
    text = result.stdout.str() + result.stderr.str()
    assert "warned in run 1" in text and "printed in run 1" in text and "logged in run 1" in text
    assert not re.search(r"in run [23]", text)


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_fixture_raises_at_its_end_is_an_error_of_the_teardown(stubbed: Suite, fails: bool) -> None:
    source = CLIENT + (
        """
    @pytest.fixture
    def broken(mockserver):
        yield
        print("the fixture ends")
        raise OSError("at the end")

    @pytest.mark.mockserver_explore
    def test_it(mockserver, broken):
        assert 200 == list_campaigns(mockserver)
        """
    )

    result = stubbed.run(source.replace("200 ==", "418 ==") if fails else source)

    result.assert_outcomes(passed=not fails, failed=fails, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_it*", "*OSError: at the end*", "the fixture ends"])


def test_skips_and_expected_failures_stay_what_they_are(stubbed: Suite) -> None:
    result = stubbed.run(
        CLIENT
        + """
    pytestmark = pytest.mark.mockserver_explore

    def test_skipped(mockserver):
        pytest.skip("not now")

    @pytest.mark.xfail(strict=True)
    def test_expected_to_fail(mockserver):
        assert not list_campaigns(mockserver)

    @pytest.mark.xfail(strict=True)
    def test_expected_to_be_found(mockserver):
        create_with_a_blind_retry(mockserver)
        """
    )

    result.assert_outcomes(skipped=1, xfailed=2)


def test_a_rerun_explores_again(stubbed: Suite) -> None:
    pytest.importorskip("pytest_rerunfailures")
    source = FINDS + PASSES.removeprefix(CLIENT)

    result = stubbed.run(
        source, "-p", "pytest_rerunfailures", "--reruns", "2", "--mockserver-explore-json=explore.json"
    )

    assert {"passed": 1, "failed": 1, "rerun": 2} == result.parseoutcomes()
    written = entries_of(stubbed)
    assert 2 == len(written)


@pytest.mark.deep
def test_workers_report_to_the_process_that_prints_and_writes(stubbed: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    source = FINDS + PASSES.removeprefix(CLIENT)

    result = stubbed.run_in_workers(source, "--mockserver-explore-json=explore.json")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*- mockserver: explore -*", "*= mockserver: explore =*"])
    result.stdout.fnmatch_lines_random(["*::test_creating: *", "*::test_listing: *"])  # as the workers end
    written = entries_of(stubbed)
    assert ["test_mine.py::test_creating", "test_mine.py::test_listing"] == [test["test"] for test in written]


@pytest.mark.parametrize(
    ("plugin", "arguments", "mark"),
    [
        (
            "pytest_asyncio",
            ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function"),
            "asyncio",
        ),
        ("anyio", ("-p", "anyio.pytest_plugin"), "anyio"),
    ],
)
def test_coroutines_are_explored(stubbed: Suite, plugin: str, arguments: tuple[str, ...], mark: str) -> None:
    pytest.importorskip(plugin)
    source = """
    import asyncio

    import httpx
    import pytest

    @pytest.fixture
    def anyio_backend():
        return "asyncio"

    @pytest.mark.MARK
    @pytest.mark.mockserver_explore
    async def test_listing(mockserver):
        loop = asyncio.get_running_loop()
        async with mockserver.aio.httpx_client() as client:
            client.headers["X-API-Key"] = mockserver.secret_key
            try:
                await client.get("/v1/campaigns")
            except httpx.TransportError:
                await client.get("/v1/campaigns")
    """.replace("MARK", mark)

    result = stubbed.run(source, *arguments)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_listing: 1 survived of 1 placements in 3 runs"])


def test_an_option_of_a_sweep_holds_in_each_run(stubbed: Suite) -> None:
    source = CLIENT + (
        """
    @pytest.mark.mockserver_explore
    @pytest.mark.mockserver_sweep("success-status")
    def test_listing(mockserver, mockserver_sweep_choices):
        assert mockserver_sweep_choices.items() <= mockserver.state()["choices"].items()
        list_campaigns(mockserver)
        """
    )

    result = stubbed.run(source)

    options = len(CHOICES["success-status"].options)
    result.assert_outcomes(passed=options)
    assert options == result.stdout.str().count("1 survived of 1 placements in 3 runs")


def test_a_suite_that_does_not_ask_imports_nothing_and_has_no_hook(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = suite.run_apart(
        """
        import sys

        def test_it(mockserver, request):
            assert not {name for name in sys.modules if name.startswith("mockserver.testing.runs.faults")}
            plugins = request.config.pluginmanager
            assert not plugins.has_plugin("mockserver-explore-runs")
            assert not plugins.has_plugin("mockserver-explore-results")
        """,
        *PLUGIN,
    )

    result.assert_outcomes(passed=1)


def test_it_does_not_work_against_a_running_server(stubbed: Suite) -> None:
    result = stubbed.run(PASSES, "--mockserver-url", "http://127.0.0.1:1")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*got --mockserver-url; expected sandboxes in this process*"])
    of_all = stubbed.run_again("--mockserver-explore", "--mockserver-url", "http://127.0.0.1:1")
    assert pytest.ExitCode.USAGE_ERROR == of_all.ret
    of_all.stderr.fnmatch_lines(["ERROR: --mockserver-explore: got --mockserver-url too; *"])


def test_a_fixture_that_makes_its_own_sandbox_is_refused_and_one_that_uses_it_is_not(stubbed: Suite) -> None:
    source = CLIENT + (
        """
    pytestmark = pytest.mark.mockserver_explore

    class TestOwn:
        @pytest.fixture
        def mockserver(self, mockserver_server):
            with mockserver_server.sandbox() as sandbox:
                yield sandbox

        def test_it(self, mockserver):
            list_campaigns(mockserver)

    class TestSame:
        @pytest.fixture
        def mockserver(self, mockserver):
            mockserver.apply(given=TEMPLATE)
            return mockserver

        def test_it(self, mockserver):
            list_campaigns(mockserver)
        """
    )

    result = stubbed.run(source)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["explore: got a fixture mockserver that makes its own sandbox*"])


def test_subtests_are_refused_by_a_mark_and_left_out_by_the_option(stubbed: Suite) -> None:
    source = CLIENT + (
        """
    @pytest.fixture
    def subtests():
        pass

    def test_it(mockserver, subtests):
        list_campaigns(mockserver)
        """
    )

    stubbed.run(source, "--mockserver-explore").assert_outcomes(passed=1)
    stubbed.run(source.replace("def test_it", "@pytest.mark.mockserver_explore\n    def test_it")).assert_outcomes(
        errors=1
    )


ENDS_IN_ITS_FOURTH_RUN = CLIENT + (
    """
    RUNS = []

    @pytest.mark.mockserver_explore
    def test_it(mockserver, request):
        RUNS.append(1)
        if len(RUNS) == 4:
            END
        create_with_a_blind_retry(mockserver)
        list_campaigns(mockserver)
    """
)


def test_an_interrupt_shows_and_writes_what_was_found_before(stubbed: Suite) -> None:
    source = ENDS_IN_ITS_FOURTH_RUN.replace("END", "raise KeyboardInterrupt")
    stubbed.pytester.makepyfile(test_mine=source)

    arguments = (*WITHOUT_CACHE, "--mockserver-explore-json=out.json")
    result = run_in_process(stubbed.pytester, *arguments, no_reraise_ctrlc=True)

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["*= mockserver: explore =*", "ended early, by Ctrl-C; *", "silent: *, at 1 placement"])
    (entry,) = entries_of(stubbed, "out.json")
    assert 1 == entry["verdicts"]["silent"]


LIMITS = {
    "raised": "pytest_timeout.timeout_sigalrm(request.node, pytest_timeout._get_item_settings(request.node))",
    "caught by the client": (
        "try: pytest_timeout.timeout_sigalrm(request.node, pytest_timeout._get_item_settings(request.node))\n"
        "            except BaseException as late: raise RuntimeError('no answer') from late"
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_the_test_ends_its_exploration_and_fails_it_with_what_was_found_before(
    stubbed: Suite, limit: str
) -> None:
    source = "    import pytest_timeout\n" + ENDS_IN_ITS_FOURTH_RUN.replace("END", LIMITS[limit])

    result = stubbed.run(source, "-p", "pytest_timeout", "-o", "timeout=900")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "explore: ended early, by a limit of the test: Timeout (>900.0s) from pytest-timeout.; 1 silent of *",
            "*- mockserver: explore -*",
            "silent: *, at 1 placement",
        ]
    )


def test_a_client_whose_exceptions_cause_each_other_is_explored(stubbed: Suite) -> None:
    source = ENDS_IN_ITS_FOURTH_RUN.replace(
        "END",
        "first, second = ValueError('first'), ValueError('second')\n"
        "            first.__cause__, second.__cause__ = second, first\n"
        "            raise first",
    )

    result = stubbed.run(source)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["crashed: ValueError: first, at 1 placement"])


def test_under_freezegun_every_run_follows_the_process(stubbed: Suite) -> None:
    source = CLIENT + (
        """
    from freezegun import freeze_time

    @pytest.fixture(autouse=True)
    def frozen():
        with freeze_time("2027-05-01T08:00:00Z") as clock:
            yield clock

    @pytest.mark.mockserver_explore
    def test_it(mockserver, frozen):
        frozen.tick(60)
        list_campaigns(mockserver)
        assert "2027-05-01T08:01:00+00:00" == mockserver.now.isoformat()
        """
    )

    stubbed.run(source).assert_outcomes(passed=1)


REAL = (
    CLIENT
    + """
    @pytest.mark.mockserver(given=TEMPLATE)
    @pytest.mark.mockserver_explore(faults=("drop-after",), choices=())
    def test_creating(mockserver):
        try:
            create(mockserver)
        except http.client.RemoteDisconnected:
            create(mockserver, "Uma (2)")
"""
)


def test_a_blind_retry_is_found_with_a_document_that_repeats_it(suite: Suite) -> None:
    result = suite.run(REAL, "--mockserver-explore-json=explore.json", "--mockserver-explore-html=out/explore.html")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "explore: 1 * of 1 placements in 3 runs",
            "*drop-after at call 1 (createCampaign)",
            '*> mockserver.on("createCampaign").nth(1).do({"drop": "after"})',
            "*the whole as a scenario: .mockserver/failures/*",
        ]
    )
    (written,) = entries_of(suite)
    page = suite.read("out/explore.html")
    assert page == explore_page.render([written])
    documents = {finding["document"] for finding in written["findings"]}
    assert documents and all(suite.file(document).is_file() for document in documents)
    assert "*\n" == suite.read(".mockserver/.gitignore")
    once = '\n        assert 1 == len(mockserver.calls("createCampaign"))\n'
    plain = re.sub(r"@pytest.mark.mockserver_explore\(.*\)", "", REAL) + once
    suite.run(plain).assert_outcomes(passed=1)
    scenario = f"(scenario={written['findings'][0]['document']!r})"
    suite.run(plain.replace("(given=TEMPLATE)", scenario)).assert_outcomes(failed=1)
    in_place_of_others = scenario.replace(")", ", given={})")
    of_module = "\n    pytestmark = pytest.mark.mockserver(given=TEMPLATE)\n"
    again = suite.run(plain.replace("(given=TEMPLATE)", in_place_of_others) + of_module)
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["E*assert 1 == *"])


def test_the_documents_of_findings_can_be_switched_off(suite: Suite) -> None:
    suite.run(REAL, "--mockserver-failures-dir=off").assert_outcomes(failed=1)

    assert not suite.file(".mockserver").exists()


def test_a_clean_run_that_fails_the_second_time_fails_the_test(suite: Suite) -> None:
    source = CLIENT + (
        """
    runs = []

    @pytest.mark.mockserver_explore
    def test_once(mockserver):
        runs.append(list_campaigns(mockserver))
        assert 1 == len(runs)
        """
    )

    result = suite.run(source)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["explore: the second clean run failed: AssertionError: assert 1 == 2*"])


def test_pairs_are_of_faults_of_one_call(mockserver_server: MockServer) -> None:
    def listing(sandbox: Sandbox) -> None:
        for _ in range(3):
            with suppress(OSError):
                sandbox.call("GET", "/v1/campaigns", timeout=5)

    alone, both = (
        mockserver_server.explore(listing, faults=faults, choices=(), pairs=99).coverage.pairs
        for faults in (("drop-before",), ("drop-before", "outage"))
    )

    assert 0 < alone.placements == both.placements


def test_a_failed_assertion_of_an_explored_test_is_silent_also_if_a_hook_of_a_conftest_is_around_it(
    suite: Suite,
) -> None:
    suite.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_pyfunc_call(pyfuncitem):
            return (yield)
        """
    )
    result = suite.run(
        CLIENT
        + """
    @pytest.mark.mockserver_explore(faults=("internal-error",), choices=())
    def test_listing(mockserver):
        assert 200 == list_campaigns(mockserver)
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["silent: *AssertionError*at 1 placement"])


def test_the_summary_has_a_line_for_each_test_that_passes_and_what_it_does_not_show_below(suite: Suite) -> None:
    result = suite.run(
        PASSES.replace("mockserver_explore", "mockserver_explore(faults=('drop-after',), choices=())")
        + """
    import itertools

    NUMBERS = itertools.count()

    @pytest.mark.mockserver_explore(faults=(), choices=())
    def test_creating(mockserver):
        mockserver.apply(given=TEMPLATE)
        body = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 0.5}
        assert 400 == mockserver.call("POST", "/v1/campaigns", json=body).status

    @pytest.mark.mockserver_explore(faults=("truncate",), choices=())
    def test_reading(mockserver):
        mockserver.call("GET", "/v1/campaigns").json()

    @pytest.mark.mockserver_explore(faults=("drop-before",), choices=())
    def test_another_path_each_time(mockserver):
        path = ("/v1/campaigns", "/v1/message-templates")[next(NUMBERS) % 2]
        try:
            mockserver.call("GET", path)
        except ConnectionError:
            mockserver.call("GET", path)

    @pytest.mark.mockserver_explore
    def test_without_a_call(mockserver):
        pass
"""
    )

    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "*= mockserver: explore =*",
            "test_mine.py::test_listing: 2 survived of 2 placements in 4 runs",
            "test_mine.py::test_creating: *",
            "  advice: cadence-units",
            "test_mine.py::test_reading: *",
            "  crashed: *, at 1 placement",
            "    > mockserver.on(*truncate*",
            "test_mine.py::test_another_path_each_time: *",
            "  the clean runs differ: call 1 is GET /v1/campaigns in the first run and GET /v1/message-templates *",
            "test_mine.py::test_without_a_call: 0 of 0 placements in 2 runs",
            "  the clean run made no call, so nothing was explored",
        ]
    )
