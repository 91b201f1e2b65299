"""The HTTP/1.1 server against h11: mutated requests are read alike except for named differences, and responses are sound."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from mockserver.server.socket_handler import SocketHandler
from tests.server.hosts import host_of
from tests.server.http1_cases import SEEDS, case
from tests.server.http1_differences import LOOSER, STRICTER, difference
from tests.server.http1_readers import Respond, read_answers, read_by_h11, read_by_us

Record = Callable[[str, object], None]
SEED = 20260301


def reading(number: int) -> str | None:
    """The result of a case: the name of a difference, None, or a finding, which begins with a question mark."""
    sent = case(SEED, number)
    ours, answered, log = read_by_us(sent)
    answers = read_answers(ours, sent, answered)
    if answers.fault or 500 in answers.statuses or len(answers.statuses) != len(ours.asked) + bool(ours.why):
        return f"?answers: {answers.fault or answers.statuses}"
    return difference(ours, read_by_h11(sent), sent) if not log else f"?log: {log}"


def reading_in_segments(number: int) -> str | None:
    """A finding if the server reads a case otherwise when it arrives in segments of some bytes."""
    sent = case(SEED, number)
    whole, _, _ = read_by_us(sent)
    size = 1 + number % 3 if len(sent) < 1_000 else len(sent) // 300
    parts, _, log = read_by_us(sent, segment_bytes=size)
    if whole.asked != parts.asked or bool(whole.why) != bool(parts.why):
        return f"?segments of {size}: {parts.why or parts.asked}"
    return f"?log: {log}" if log else None


def serving(number: int, respond: Respond) -> str | None:
    """A finding where the whole application fails to answer what it is sent, None where it does."""
    ours, answered, log = read_by_us(case(SEED, number), respond)
    if b"HTTP/1.1 500 " in answered or log:
        return f"?500: {log}"
    return None if answered.count(b"HTTP/1.1 ") >= len(ours.asked) else "?an answer is missing"


def demo() -> Respond:
    """The whole mock, with the data of the demo."""
    host = host_of("demo")
    host.allowed_hosts |= {"here", "there"}  # of the cases
    return SocketHandler(host).respond


def fuzz(numbers: range, record: Record) -> None:
    """Send these cases, and fail with the findings; the figures go to the end of the run."""
    respond = demo()
    seen: Counter[str | None] = Counter()
    findings: list[tuple[int, str]] = []
    threads, files = threading.active_count(), _open_files()
    for number in numbers:
        for verdict in (
            reading(number),
            serving(number, respond) if number % 4 == 0 else None,
            reading_in_segments(number) if number % 4 == 1 else None,
        ):
            seen[verdict] += 1
            if verdict is not None and verdict.startswith("?"):
                findings.append((number, verdict))
    gc.collect()
    record("figures", {"of": "raw HTTP/1.1 against h11", "cases": len(numbers), "findings": len(findings)})

    assert [] == findings[:10], "\n".join(f"{number}: {case(SEED, number)[:500]!r}" for number, _ in findings[:10])
    # What an earlier test has left may end meanwhile, so that there can be fewer.
    assert threading.active_count() <= threads
    assert _open_files() <= files
    assert seen[None] > len(numbers) / 2, seen


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_good_and_smuggling_requests_are_read_as_h11_reads_them_and_answered_soundly() -> None:
    for number, sent in enumerate(SEEDS):
        assert not (reading(number) or "").startswith("?"), sent
        assert reading_in_segments(number) is None, sent


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
def test_twenty_two_thousand_mutations_of_them_are(part: int, record_property: Record) -> None:
    fuzz(range(part * 5_750, (part + 1) * 5_750), record_property)


@pytest.mark.deep
def test_every_named_difference_is_one_that_the_cases_show() -> None:
    """A row that no case needs would let a bug pass under its name."""
    named = {reading(number) for number in range(6_000)}

    assert {name for _, name, _ in (*STRICTER, *LOOSER)} | {"headers", "kept connections of 1.0"} == named - {None}


def test_the_cases_reach_the_operations_behind_the_server() -> None:
    """A fuzzer whose requests are all refused while they are parsed would test nothing after that."""
    respond = demo()
    answered = b"".join(read_by_us(case(SEED, number), respond)[1] for number in range(len(SEEDS)))

    for status in (b"200", b"201", b"400", b"401", b"404"):
        assert b"HTTP/1.1 " + status + b" " in answered
