"""What closes a gap: each line of Python is run, and each request is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import Coverage, MockServer
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.judge.coverage.coverage import combine
from mockserver.judge.coverage.dimensions import DIMENSIONS, Dimension, universe
from mockserver.report.coverage_remedies import remedy
from tests.conduct.provocation import GIVEN

EXAMPLE_IDS = {"{id}": "template_t", "{sessionId}": "session_a", "{chatId}": "chat_a", "{executionId}": "execution_a"}


def gaps() -> Iterator[tuple[Dimension, str]]:
    return ((dimension, item) for dimension in DIMENSIONS for item in universe()[dimension])


def test_a_gap_that_no_line_closes_is_explained_in_words() -> None:
    explained = {row for row in gaps() if not remedy(*row).is_code}

    of_seed_data = {("choices", "birthdate-zone=utc"), ("choices", "birthdate-zone=brazil")}
    of_upload = {("operations", "uploadMedia"), ("answers", "uploadMedia success")}
    of_conduct = {("conduct", rule) for rule in universe()["conduct"]}
    assert of_seed_data | of_upload | of_conduct == {row for row in explained if row[0] != "clauses"}


def test_a_clause_is_closed_by_an_item_whose_row_names_it() -> None:
    for clause in universe()["clauses"]:
        named = {remedy(dimension, item) for dimension, item in gaps() if clause in universe()[dimension][item]}
        assert remedy("clauses", clause) in named


def run_line(line: str, **names: Any) -> Any:
    """The value of a line, run as a reader of a report pastes it."""
    return eval(line, names)


def close(dimension: Dimension, item: str, **names: Any) -> Any:
    """Run what closes a gap."""
    return run_line(remedy(dimension, item).line, **names)


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
def test_a_rule_closes_each_gap_of_faults_and_codes(dimension: Dimension) -> None:
    items = [item for item in universe()[dimension] if not item.endswith(" success")]
    coverages = []
    with MockServer() as server:
        for item in items:
            with server.sandbox(given=GIVEN) as sandbox:
                close(dimension, item, mockserver=sandbox)
                call(sandbox, item.partition(" ")[0])
                coverages.append(Coverage.from_json(sandbox.call("GET", "/_mock/coverage").json()))

    assert {*items} <= {*combine(coverages).covered(dimension)}


def test_a_call_closes_each_gap_of_operations_and_successes() -> None:
    coverage = Coverage()
    with MockServer(coverage=coverage) as server, server.sandbox(given=GIVEN) as sandbox:
        ids = {"TEMPLATE_ID": "template_t"}

        def asked(operation: str) -> Any:
            line = remedy("answers", f"{operation} success").line
            for name, id in ids.items():
                line = line.replace(name, id)
            return run_line(line, mockserver=sandbox)

        for operation in ("listTemplates", "readFilterSchema", "previewAudience", "listCampaigns"):
            asked(operation)
        campaign = asked("createCampaign").json()["campaignId"]
        ids["{id}"] = campaign
        ids["{executionId}"] = asked("startCampaign").json()["executionId"]
        for operation in ("readCampaign", "readExecution", "cancelCampaign"):
            asked(operation)
        ids["{sessionId}"] = asked("createConnectionSession").json()["sessionId"]
        asked("readConnectionSession")
        ids["{id}"] = "template_t"
        asked("readTemplate")

    others = {"readEntrypoint", "uploadMedia", "listMessages", "readFormPolicy"}  # by words, or of other records
    assert {f"{operation} success" for operation in {*ENDPOINTS} - others} <= {*coverage.covered("answers")}


def test_the_lines_close_the_gaps_of_steps_and_deliveries() -> None:
    coverage = Coverage()
    with MockServer(coverage=coverage) as server:
        for status in ("delivered", "abandoned"):
            for event, end in (("connected", "complete"), ("connection_failed", "fail")):
                with server.sandbox(given=GIVEN) as sandbox:
                    receiver = close("deliveries", f"entrypoints.chatapp.{event} {status}", mockserver=sandbox)
                    close("steps", f"session pending {end}", mockserver=sandbox, session_id=session(sandbox))
                    ids = {"event_id": sandbox.events[-1]["id"], "webhook_id": receiver.id}
                    close("steps", f"delivery {status} resend", mockserver=sandbox, **ids)
        for trigger in ("expire", "deadline"):
            with server.sandbox(given=GIVEN) as sandbox:
                id = session(sandbox)
                close("steps", f"session pending {trigger}", mockserver=sandbox, session_id=id)
                sandbox.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{id}")
        with server.sandbox(given=GIVEN) as sandbox:
            close("steps", "delivery due wait", mockserver=sandbox)
            sandbox.complete_session(session(sandbox))
            close("steps", "delivery waiting wake", mockserver=sandbox)
        for trigger in ("draft cancel", "processing finish", "processing fail", "processing cancel"):
            with server.sandbox(given=GIVEN) as sandbox:
                campaign = run_line(
                    remedy("answers", "createCampaign success").line.replace("TEMPLATE_ID", "template_t"),
                    mockserver=sandbox,
                ).json()["campaignId"]
                starts = trigger.startswith("processing")
                if starts:
                    execution = run_line(
                        remedy("steps", "campaign draft start").line.replace("{id}", campaign), mockserver=sandbox
                    ).json()["executionId"]
                line = remedy("steps", f"campaign {trigger}").line.replace("{id}", campaign)
                run_line(line, mockserver=sandbox, campaign_id=campaign)
                sandbox.call("GET", f"/v1/campaigns/{campaign}")
                if starts:
                    sandbox.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}")

    assert () == coverage.missing("steps")
    assert () == coverage.missing("deliveries")


def session(sandbox: Any) -> str:
    """The id of a new connection session."""
    created = run_line(remedy("answers", "createConnectionSession success").line, mockserver=sandbox)
    return str(created.json()["sessionId"])


@pytest.mark.parametrize("dimension", ["answers", "faults", "filters", "choices", "deliveries", "steps"])
def test_the_request_that_closes_a_gap_is_one_that_the_server_takes(dimension: Dimension) -> None:
    remedies = [remedy(dimension, item) for item in universe()[dimension]]
    codes = {found.request for found in remedies if found.is_code}
    requests = sorted(request for request in codes if "{" not in request.split(" ")[1])
    requests.sort(key=lambda request: "/_mock/" in request)  # a rule may refuse a call
    with MockServer() as server, server.sandbox(given=GIVEN) as sandbox:
        for request in requests:
            method, path, *rest = request.replace("TENANT_ID", sandbox.tenant_id).split(" ", 2)
            text = rest[0].replace("TEMPLATE_ID", "template_t") if rest else "null"
            body = json.loads(text)
            if "url" in (body or ()):
                body["url"] = "http://127.0.0.1:9/"

            answer = sandbox.call(method, path, json=body)

            of_an_id = 404 if "_ID/" in path else 200  # that of a record of the client
            assert answer.status < 300 or answer.status == of_an_id, (request, answer.body)
    assert requests
