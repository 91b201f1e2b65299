"""Choices count with the option in force when a call, a delivery or a page needed it, and never by being looked at."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mockserver import Sandbox
from tests.conduct.provocation import GIVEN
from tests.coverage.test_counts import RUNNING, run

OF_A_LIST = ["additive-fields=none", "list-order=newest-first", "rate-limit-numbers=off", "success-status=rest"]


def so_far(sandbox: Sandbox) -> list[str]:
    covered: list[str] = sandbox.call("GET", "/_mock/coverage").json()["dimensions"]["choices"]["covered"]
    return covered


def test_numbers_are_one_item_and_off_is_another() -> None:
    with run(choices={"rate-limit-numbers": {"requests": 5}}) as counted:
        counted.client.campaigns()
        assert "rate-limit-numbers=value" in counted["choices"]
        assert "rate-limit-numbers=off" not in counted["choices"]


def test_the_option_in_force_at_the_call_counts() -> None:
    with run() as counted:
        counted.sandbox.choose({"list-order": "oldest-first", "dual-status": "guide"})
        counted.client.campaigns()

        assert ["list-order=oldest-first"] == [item for item in counted["choices"] if item.startswith("list-order")]
        assert [] == [item for item in counted["choices"] if item.startswith("dual-status")]


def test_a_reset_continues_to_record() -> None:
    with run() as counted:
        counted.sandbox.reset()
        counted.client.campaigns()

        assert OF_A_LIST == counted["choices"]


@pytest.mark.parametrize(
    "look",
    [
        lambda sandbox: sandbox.conduct,
        lambda sandbox: sandbox.ledger,
        lambda sandbox: sandbox.state(),
        lambda sandbox: sandbox.log.journal,
        lambda sandbox: sandbox.events,
        lambda sandbox: sandbox.report(),
        lambda sandbox: sandbox.call("GET", "/_mock/choices"),
        lambda sandbox: sandbox.call("GET", "/_mock/replay"),
    ],
)
def test_a_look_at_the_sandbox_reads_no_choice(look: Callable[[Sandbox], object]) -> None:
    with run(given={**GIVEN, **RUNNING}) as counted:
        session = counted.client.connect()
        counted.sandbox.complete_session(session)
        before = so_far(counted.sandbox)
        look(counted.sandbox)

        assert sorted(before) == counted["choices"]


def test_a_call_counts_after_reads_of_the_same_choice_that_do_not() -> None:
    with run(given={**GIVEN, **RUNNING}) as counted:
        hosted = counted.sandbox._hosted
        hosted.run_command(lambda own, _: own.sandbox.choices["list-order"], {})  # it only looks
        hosted.sandbox.timer_of = "campaign_r"
        assert "newest-first" == hosted.sandbox.choices["list-order"]
        hosted.sandbox.timer_of = ""
        assert [] == so_far(counted.sandbox)
        counted.client.campaigns()

        assert OF_A_LIST == counted["choices"]


def test_the_journal_has_the_choices_that_differ_from_their_default() -> None:
    with run(choices={"dual-status": "guide"}) as counted:
        counted.client.campaigns()
        counted.sandbox.choose({"list-order": "oldest-first"})
        counted.client.campaigns()
        sandbox = counted.sandbox._hosted.sandbox
        chosen = [entry.choices for entry in sandbox.journal.exchanges]
        counted.sandbox.reset()
        counted.client.campaigns()

        assert [{"dual-status": "guide"}, {"dual-status": "guide", "list-order": "oldest-first"}] == chosen
        assert [{"dual-status": "guide"}] == [entry.choices for entry in sandbox.journal.exchanges]


def test_the_timer_of_a_record_of_seed_data_reads_no_choice_that_counts() -> None:
    with run(given={**GIVEN, **RUNNING}) as counted:
        counted.client.campaigns()
        counted.client.wait("2h")

        assert OF_A_LIST == counted["choices"]


def test_the_timer_of_a_record_of_the_client_does() -> None:
    with run() as counted:
        counted.client.connect()
        before = {*so_far(counted.sandbox)}
        counted.client.wait("21m")

        assert {"expiry-driver=timer", "wh-no-endpoint=dropped"} == {*counted["choices"]} - before
