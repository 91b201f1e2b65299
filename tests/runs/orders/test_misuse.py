"""What a newcomer gets wrong: each mistake is named with its cure, and none passes in silence."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.testing.sandbox import Sandbox
from tests.runs.orders.pairs import GIVEN, campaigns, create, list_then_create

HANDLE = "call with the sandbox that the client gets"


def read(sandbox: Sandbox) -> Any:
    return campaigns(sandbox)


class Captured:
    """A sandbox that the setup keeps for the clients, as a global client object would."""

    def setup(self, sandbox: Sandbox) -> None:
        sandbox.apply(given=GIVEN)
        self.sandbox = sandbox

    def work(self, _: Sandbox) -> None:
        create(self.sandbox, "One")


def test_a_client_whose_calls_are_all_past_its_handle_makes_the_report_fail(server: MockServer) -> None:
    captured = Captured()
    report = server.interleave(setup=captured.setup, clients={"worker": captured.work, "cron": read})

    assert report.failed
    assert [
        "interleaved worker, cron: 2 clients",
        "nothing is compared: every call of worker is past its handle",
    ] == report.text().splitlines()[:2]
    assert f"worker calls past its handle, so that these calls are no steps; {HANDLE}" in report.text()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_client_that_calls_past_its_handle_too_is_named(server: MockServer, is_first: bool) -> None:
    captured = Captured()

    def both(sandbox: Sandbox) -> None:
        for work in (captured.work, read) if is_first else (read, captured.work):
            work(sandbox)

    report = server.interleave(setup=captured.setup, clients={"worker": both, "cron": read})

    assert f"worker calls past its handle, so that these calls are no steps; {HANDLE}" in report.text()
    assert "nothing is compared" not in report.text()


def test_a_client_that_never_calls_makes_the_report_fail(server: MockServer) -> None:
    report = server.interleave(clients={"worker": lambda sandbox: None, "cron": read})

    kept = "make anew in `setup` what the clients keep"
    assert f"worker made no call in any serial run; {HANDLE}, and {kept}" == report.failed_serial


def test_a_claim_that_outlives_a_run_makes_the_report_fail(server: MockServer, tmp_path: Path) -> None:
    def promote(sandbox: Sandbox) -> None:
        with suppress(FileExistsError), (tmp_path / "claimed").open("x"):
            create(sandbox, "One")

    report = server.interleave(clients={"worker": promote, "cron": promote}, settings={"given": GIVEN})

    assert report.failed
    assert "cron made no call in any serial run" in report.text().splitlines()[1]


def test_clients_that_only_call_sleep_or_visit_a_page_are_not_named(server: MockServer) -> None:
    report = server.interleave(clients={"worker": lambda sandbox: sandbox.sleep(3), "cron": read})

    assert [] == report.not_interleaved


def raising(sandbox: Sandbox) -> None:
    raise RuntimeError("at once")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"clients": {"worker": raising, "cron": read}}, "worker fails in every serial run: RuntimeError: at once"),
        (
            {"clients": {"worker": read, "cron": read}, "check": raising},
            "the check fails in every serial run: RuntimeError: at once",
        ),
    ],
)
def test_what_fails_without_any_race_is_in_the_second_line_and_no_order_counts_as_left_out(
    server: MockServer, options: dict[str, Any], reason: str
) -> None:
    report = server.interleave(**options)

    assert report.failed
    assert f"nothing is compared: {reason}" == report.text().splitlines()[1]
    assert "not run" not in report.text()


def test_an_error_of_the_setup_says_where_it_was_raised(server: MockServer) -> None:
    with pytest.raises(RuntimeError, match="at once") as caught:
        server.interleave(setup=raising, clients={"worker": read})

    assert ["raised by the setup of an interleaving, before any client ran"] == caught.value.__notes__
    assert "0 sandboxes" in repr(server)


@pytest.mark.parametrize(("clients", "got"), [([read, read], "a list"), (read, "a function"), ({}, "none")])
def test_clients_without_names_are_refused(server: MockServer, clients: Any, got: str) -> None:
    with pytest.raises(ValueError, match=rf"^clients: got {got}; expected functions by name, such as "):
        server.interleave(clients=clients)


def test_a_crash_names_the_refused_call_that_the_client_made_last(server: MockServer) -> None:
    def begin(sandbox: Sandbox) -> None:
        (campaign,) = campaigns(sandbox)
        if campaign["status"] == "draft":
            response = sandbox.call("POST", f"/v1/campaigns/{campaign['id']}/start")
            assert response.status == 202

    def setup(sandbox: Sandbox) -> None:
        sandbox.apply(given=GIVEN)
        create(sandbox, "One")

    report = server.interleave(setup=setup, clients={"worker": begin, "cron": begin}, bound=1)

    assert ["crashed"] == [finding.verdict for finding in report.findings]
    assert report.findings[0].message.endswith(" after startCampaign 422 CAMPAIGN_ALREADY_PROCESSING")


def test_a_budget_of_seconds_is_the_one_that_the_report_names(server: MockServer) -> None:
    """It ends no serial run, since what further runs are compared with would be unknown."""
    report = server.interleave(clients={"worker": read, "cron": read}, seconds=1e-9, bound=3, prune=False)

    assert (3, False) == (report.runs, report.failed)
    assert report.left
    (line,) = (line for line in report.text().splitlines() if line.startswith("  not run: "))
    assert line.endswith(" beyond the budget of 1e-09 s, and none with more than 0 preemptions")


def test_ctrl_c_ends_a_search_with_what_was_found_before(server: MockServer) -> None:
    runs: list[Sandbox] = []

    def setup(sandbox: Sandbox) -> None:
        sandbox.apply(given=GIVEN)
        runs.append(sandbox)
        if len(runs) == 6:
            raise KeyboardInterrupt

    clients = {name: partial(list_then_create, name=name) for name in ("worker", "cron")}
    with pytest.raises(KeyboardInterrupt) as caught:
        server.interleave(setup=setup, clients=clients, bound=1, prune=False)

    (text,) = caught.value.__notes__
    assert "  ended early, by Ctrl-C; the report has what was found before" in text.splitlines()
    assert "duplicate: the ledger has 1 duplicate execution" in text
    assert "0 sandboxes" in repr(server)
