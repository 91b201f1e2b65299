"""What closes a gap: each scenario that is offered, played by a careful client, and each line of Python, run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mockserver import Coverage, MockServer
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.judge.coverage.coverage import combine
from mockserver.judge.coverage.dimensions import DIMENSIONS, Dimension, universe
from mockserver.report.coverage_remedies import remedy
from mockserver.scenario import library
from tests.conduct.provocation import GIVEN
from tests.coverage import offers
from tests.wheels import ROOT

RECORD = "write it again: python -m tests.coverage.offers"
EXAMPLE_IDS = {"{id}": "template_t", "{sessionId}": "session_a", "{chatId}": "chat_a", "{executionId}": "execution_a"}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The library played by careful clients, in a process of its own, since it changes the hosts of all sandboxes."""
    file = tmp_path_factory.mktemp("offers") / "played.json"
    command = [sys.executable, "-m", "tests.coverage.offers", str(file)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def gaps() -> Iterator[tuple[Dimension, str]]:
    return ((dimension, item) for dimension in DIMENSIONS for item in universe()[dimension])


@pytest.mark.deep
def test_a_scenario_closes_each_gap_that_it_is_offered_for(played: Mapping[str, Any]) -> None:
    offered = [(dimension, item, remedy(dimension, item).scenario) for dimension, item in gaps()]
    open_ = [row for row in offered if row[2] and row[1] not in played["covered"][row[2]][row[0]]]

    assert [] == open_, RECORD


@pytest.mark.deep
def test_every_gap_that_a_scenario_closes_is_offered_one(played: Mapping[str, Any]) -> None:
    assert offers.FILE.read_text(encoding="utf-8") == played["offers"], RECORD


@pytest.mark.deep
def test_every_scenario_was_played_but_those_that_a_naive_client_always_shares(played: Mapping[str, Any]) -> None:
    shared = {"audience-grows-after-preview", "messages-reworded"}

    assert {*library.paths()} - {"demo"} - shared == {*played["covered"]}


@pytest.mark.deep
def test_every_rule_that_any_client_of_the_library_broke_had_a_chance(played: Mapping[str, Any]) -> None:
    assert [] == played["contradictions"]


def test_a_gap_names_a_scenario_of_the_library_and_the_line_that_applies_it() -> None:
    for dimension, item in gaps():
        found = remedy(dimension, item)
        if found.scenario is not None:
            assert found.scenario in library.paths()
            assert f'@pytest.mark.mockserver(scenario="{found.scenario}")' == found.line


def test_a_gap_that_nothing_is_known_to_close_reports_that() -> None:
    unknown = [(dimension, item) for dimension, item in gaps() if remedy(dimension, item).line is None]

    of_seed_data = [("choices", "birthdate-zone=utc"), ("choices", "birthdate-zone=brazil")]
    assert [*of_seed_data, ("conduct", "naive-dates")] == unknown
    assert "no scenario and no line of Python is known that closes it" == remedy("conduct", "naive-dates").text()


def test_a_clause_is_closed_by_an_item_whose_row_names_it() -> None:
    for clause in universe()["clauses"]:
        named = {remedy(dimension, item) for dimension, item in gaps() if clause in universe()[dimension][item]}
        assert remedy("clauses", clause) in named


def run_line(line: str | None, **names: Any) -> Any:
    """The value of a line, run as a reader of a report pastes it."""
    return eval(str(line), names)


def call(sandbox: Any, operation: str) -> None:
    """One call of an operation, whatever becomes of it."""
    endpoint = ENDPOINTS[operation]
    path = endpoint.path
    for parameter, value in EXAMPLE_IDS.items():
        path = path.replace(parameter, value)
    options: dict[str, Any] = {"json": {}} if endpoint.body == "json" else {}
    try:
        sandbox.call(endpoint.method, path, **options)
    except (OSError, EOFError):
        return
    except Exception as failure:
        if type(failure).__name__ != "IncompleteRead":
            raise


@pytest.mark.parametrize("dimension", ["faults", "answers"])
def test_a_rule_closes_each_gap_of_faults_and_codes_that_no_scenario_does(dimension: Dimension) -> None:
    lines = {item: remedy(dimension, item) for item in universe()[dimension]}
    rules = {
        item: found.line for item, found in lines.items() if found.scenario is None and not item.endswith("success")
    }
    coverages = []
    with MockServer() as server:
        for item, line in rules.items():
            with server.sandbox(given=GIVEN) as sandbox:
                run_line(line, mockserver=sandbox)
                call(sandbox, item.partition(" ")[0])
                coverages.append(Coverage.from_json(sandbox.call("GET", "/_mock/coverage").json()))

    assert {*rules} <= {*combine(coverages).covered(dimension)}


def test_a_preview_closes_each_gap_of_filters_that_no_scenario_does() -> None:
    coverage = Coverage()
    with MockServer(coverage=coverage) as server, server.sandbox(given=GIVEN) as sandbox:
        for item in universe()["filters"]:
            line = remedy("filters", item).line
            if remedy("filters", item).scenario is None:
                run_line(line, mockserver=sandbox)

    offered = {item for item in universe()["filters"] if remedy("filters", item).scenario}
    assert {*universe()["filters"]} == {*coverage.covered("filters")} | offered


def test_a_mark_with_an_option_is_valid_for_each_choice_that_no_scenario_shows() -> None:
    class Mark:
        @staticmethod
        def mockserver(choices: Mapping[str, object]) -> Mapping[str, object]:
            return choices

    class Pytest:
        mark = Mark

    with MockServer() as server:
        for item in universe()["choices"]:
            found = remedy("choices", item)
            if found.line is not None and found.scenario is None:
                server.sandbox(choices=eval(str(found.line).removeprefix("@"), {"pytest": Pytest})).close()


def test_the_lines_of_acts_close_the_gaps_of_steps_and_ends() -> None:
    coverage = Coverage()
    with MockServer(coverage=coverage) as server, server.sandbox(given=GIVEN) as mockserver:
        webhook = run_line(remedy("steps", "delivery due abandon").line, mockserver=mockserver)
        session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.complete_session(session)
        run_line(remedy("steps", "delivery abandoned resend").line, mockserver=mockserver, webhook_id=webhook.id)
        mockserver.receive_webhooks(lambda webhook: 204)
        other = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        mockserver.fail_session(other)
        event = mockserver.events[-1]["id"]
        run_line(remedy("steps", "delivery delivered resend").line, mockserver=mockserver, event_id=event)
        body = {"name": "Promo", "platform": "chatapp", "templateId": "template_t", "cadence": 1}
        campaign = mockserver.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
        mockserver.call("POST", f"/v1/campaigns/{campaign}/start", json={})
        run_line(remedy("steps", "campaign processing fail").line, mockserver=mockserver, campaign_id=campaign)
        mockserver.call("GET", f"/v1/campaigns/{campaign}")

    by_line = [item for item in universe()["steps"] if remedy("steps", item).scenario is None]
    assert [] == [item for item in by_line if item not in coverage.covered("steps")]
    by_line = [item for item in universe()["deliveries"] if remedy("deliveries", item).scenario is None]
    assert [] == [item for item in by_line if item not in coverage.covered("deliveries")]


@pytest.mark.parametrize("dimension", ["answers", "faults", "filters", "choices", "deliveries", "steps"])
def test_the_request_that_closes_a_gap_is_one_that_the_server_takes(dimension: Dimension) -> None:
    acts = [remedy(dimension, item).act for item in universe()[dimension]]
    requests = sorted({act.request for act in acts if act is not None and "{" not in act.request.split(" ")[1]})
    with MockServer() as server, server.sandbox() as sandbox:
        for request in requests:
            method, path, *rest = request.replace("TENANT_ID", sandbox.tenant_id).split(" ", 2)
            text = rest[0].replace("URL of a receiver that answers 410", "http://127.0.0.1:9/") if rest else "null"

            answer = sandbox.call(method, path, json=json.loads(text))

            of_an_id = 404 if "_ID/" in path else 200  # that of a record of the client
            assert answer.status < 300 or answer.status == of_an_id, (request, answer.body)
    assert requests
