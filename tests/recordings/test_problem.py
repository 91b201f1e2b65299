"""A problem as lines: the same form for a finding about a client and for what breaks a clause."""

from __future__ import annotations

from mockserver.report.problem import CallLine, Problem, problem_lines


def problem(**values: object) -> Problem:
    return Problem(**{"headline": "sentCount 28; then 5", **values})  # type: ignore[arg-type]


def test_a_problem_begins_with_what_happened_and_ends_with_what_to_do() -> None:
    given = problem(
        calls=[CallLine(3, "GET /v1/campaigns", "200")], assumption="one answer is whole", advice="Read it again."
    )

    assert [
        "  sentCount 28; then 5",
        "    #3 GET /v1/campaigns -> 200",
        "    assumes that one answer is whole",
        "    Read it again.",
    ] == list(problem_lines(given, "  "))


def test_an_answer_that_shows_a_problem_by_itself_stands_above_what_was_expected() -> None:
    given = problem(headline="GET /v1/campaigns", got=["200 {}"], expected="/campaigns: got nothing")

    assert ["GET /v1/campaigns", "  got       200 {}", "  expected  /campaigns: got nothing"] == list(
        problem_lines(given)
    )


def test_a_long_call_is_cut_with_its_indent_to_a_line() -> None:
    given = problem(calls=[CallLine(3, "GET /v1/campaigns?" + "a" * 200, "200")])
    _, call = problem_lines(given, "      ")

    assert (160, "...") == (len(call), call[-3:])


def test_calls_of_one_line_are_one_line_with_their_numbers() -> None:
    given = problem(calls=[CallLine(number, "GET /v1/campaigns", "429") for number in (5, 6, 9, 31)])

    assert ["sentCount 28; then 5", "  ×4, #5 to #31 GET /v1/campaigns -> 429"] == list(problem_lines(given))
