"""A client's own suite under a sweep: what its author took for granted is found, and the mended client passes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing.conftest import WITHOUT_CACHE, run_in_process

HERE = Path(__file__).parent
RUN = re.compile(r"^test_crm\.py::(\w+)(?:\[(\S+)\])? (PASSED|FAILED|ERROR)", re.MULTILINE)

# What `FirstCrm` takes for granted -> the options under which its suite fails for it.
PLANTED = {
    "A1: a refusal's status is 400": {"dual-status=guide"},
    "A2: a message has its text": {"message-text=reworded", "message-text=empty"},
    "A3: what is created answers 201": {"success-status=all-200"},
    "A4: a progress of a hundred means over": {"progress-rounding=half-up", "progress-rounding=ceil"},
    "A5 and A6: an object has no other fields": {"additive-fields=unknown-fields", "entrypoint-two-shapes=union"},
    "A6: an object has all its fields": {"funnel-null=absent"},
    "A7: a date-time has this format": {"datetime-spelling=seconds", "datetime-spelling=offset"},
    "A8: a message has one of these types": {"new-enum-values=unseen"},
    "A9: the last page says null": {"next-cursor-end=absent", "next-cursor-end=empty"},
    "A10: what is absent is not null": {"message-absent-vs-null=null"},
}


Swept = tuple[dict[tuple[str, str], str], pytest.RunResult]


@pytest.fixture(scope="module")
def sweeps() -> dict[str, Swept]:
    """The outcome of the sweep with each client's class, for the tests that read the same one."""
    return {}


def swept(pytester: pytest.Pytester, client: str) -> Swept:
    """The word for each test and option of the suite run with this client's class; the first run has no option."""
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")
    pytester.makepyfile(
        crm=f"from tests.clients.crm import {client} as Crm, NameTakenError, NotConnectedError, VariableMissingError\n",
        test_crm=(HERE / "suite_of_crm.py").read_text(encoding="utf-8"),
    )
    result = run_in_process(pytester, *WITHOUT_CACHE, "-v")
    return {(name, option): word for name, option, word in RUN.findall(result.stdout.str())}, result


def first_swept(pytester: pytest.Pytester, sweeps: dict[str, Swept]) -> Swept:
    if "FirstCrm" not in sweeps:
        sweeps["FirstCrm"] = swept(pytester, "FirstCrm")
    return sweeps["FirstCrm"]


@pytest.mark.deep
def test_the_sweep_lists_the_assumptions_of_the_client(pytester: pytest.Pytester, sweeps: dict[str, Swept]) -> None:
    words, result = first_swept(pytester, sweeps)

    assert {"PASSED"} == {word for (_, option), word in words.items() if not option}
    assert set().union(*PLANTED.values()) == {option for (_, option), word in words.items() if word != "PASSED"}
    result.stdout.fnmatch_lines(["This run has the choice 'next-cursor-end' set to 'absent' (the default is 'null')."])


def test_each_assumption_is_reported_at_its_test(pytester: pytest.Pytester, sweeps: dict[str, Swept]) -> None:
    words, _ = first_swept(pytester, sweeps)

    found = {
        name: {option for (test, option), word in words.items() if word == "FAILED" and test == name}
        for name, _ in words
    }
    assert PLANTED["A1: a refusal's status is 400"] <= found["test_a_missing_variable_is_reported"]
    assert PLANTED["A2: a message has its text"] <= found["test_a_name_is_taken_once"]
    assert PLANTED["A4: a progress of a hundred means over"] <= found["test_a_launch_reaches_every_chat"]
    assert {"additive-fields=unknown-fields", "entrypoint-two-shapes=union", "funnel-null=absent"} == found[
        "test_a_number_is_connected"
    ]
    assert (
        PLANTED["A7: a date-time has this format"]
        | PLANTED["A8: a message has one of these types"]
        | PLANTED["A9: the last page says null"]
        | PLANTED["A10: what is absent is not null"]
    ) == found["test_the_messages_of_a_chat_are_newest_first"]
    assert set() == found["test_a_user_who_cancels_connects_nothing"]


@pytest.mark.deep
def test_the_mended_client_passes_the_whole_sweep(pytester: pytest.Pytester) -> None:
    words, result = swept(pytester, "Crm")

    assert 0 == result.ret
    assert {"PASSED"} == set(words.values())
    assert set().union(*PLANTED.values()) <= {option for _, option in words}


@pytest.mark.deep
def test_the_mended_client_passes_under_the_hostile_profile(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.mockserver(profile="hostile"))
        """
    )
    words, result = swept(pytester, "Crm")

    assert 0 == result.ret
    assert {"PASSED"} == set(words.values())
