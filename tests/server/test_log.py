"""A log whose reader is slow, closed or missing: no call waits for it, and dropped texts are counted."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from mockserver.server import log
from mockserver.server.log import LogWriter, unblocked_stderr

DEADLINE_SECONDS = 60


def notice(count: int) -> str:
    return f"{count} dropped\n"


class Pipe:
    """A pipe: a stream to write to, and what its reader reads."""

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        self.stream: TextIO = os.fdopen(write_end, "w", encoding="utf-8")

    def read(self, until: str) -> str:
        """Everything up to this text."""
        output = b""
        while until.encode() not in output:
            got = os.read(self.read_end, 65536)
            assert got, output[-200:]
            output += got
        return output.decode()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.stream.close()
    os.close(pipe.read_end)


def test_lines_are_written_in_their_order(pipe: Pipe) -> None:
    with LogWriter(pipe.stream, notice) as writer:
        for number in range(1000):
            writer.write(f"line {number}\n")
        output = pipe.read("line 999\n")

    assert [f"line {number}" for number in range(1000)] == output.splitlines()


def test_lines_that_many_threads_write_are_all_written(pipe: Pipe) -> None:
    def write(letter: str) -> None:
        for number in range(300):
            writer.write(f"{letter}{number}\n")

    with LogWriter(pipe.stream, notice) as writer:
        threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcdefgh"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.write("end\n")
        lines = pipe.read("end\n").splitlines()

    assert "end" == lines.pop()
    assert {f"{letter}{number}" for letter in "abcdefgh" for number in range(300)} == set(lines)
    assert [f"a{number}" for number in range(300)] == [line for line in lines if line.startswith("a")]


def test_a_text_has_its_date_if_the_dated_one_before_has_another() -> None:
    stream = io.StringIO()
    with LogWriter(stream, notice) as writer:
        for text, date in (
            ("a\n", "day 1"),
            ("b\n", "day 1"),
            ("c\n", None),
            ("d\n", "day 1"),
            ("e\n", "day 2"),
            ("f\n", "day 1"),
        ):
            writer.write(text, date)
        writer.write("g\n", "day 2")

    assert "day 1 a\nb\nc\nd\nday 2 e\nday 1 f\nday 2 g\n" == stream.getvalue()


@pytest.fixture
def blocked(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LogWriter, threading.Event]]:
    """A writer whose thread waits with its first line until the event is set."""
    write, blocked, release = log._write, threading.Event(), threading.Event()

    def wait_and_write(stream: object, text: str) -> None:
        blocked.set()
        release.wait()
        write(stream, text)

    monkeypatch.setattr(log, "_write", wait_and_write)
    with LogWriter(pipe.stream, notice) as writer:
        writer.write("first\n")
        blocked.wait()
        yield writer, release


@pytest.fixture
def overfull(blocked: tuple[LogWriter, threading.Event]) -> LogWriter:
    """A writer that got 1,000 lines more than its queue holds while its thread waited for the stream."""
    writer, release = blocked
    for _ in range(log.QUEUE_MAX + 1000):
        writer.write("x\n")
    release.set()
    return writer


def test_lines_beyond_a_full_queue_are_dropped_and_counted(pipe: Pipe, overfull: LogWriter) -> None:
    lines = pipe.read(" dropped\n").splitlines()

    assert ["first", *["x"] * log.QUEUE_MAX, "1000 dropped"] == lines


def test_close_does_not_wait_for_a_reader_that_never_reads(pipe: Pipe) -> None:
    writer = LogWriter(pipe.stream, notice)
    for _ in range(1000):
        writer.write("x" * 1000)
    writer.write("last\n")
    closing = threading.Thread(target=writer.close)
    closing.start()
    closing.join(DEADLINE_SECONDS)

    assert not closing.is_alive()
    pipe.read("last\n")  # to the end: the next test's pipe may have the same descriptor


def test_a_text_that_cannot_be_encoded_is_written_with_escapes(pipe: Pipe) -> None:
    with LogWriter(pipe.stream, notice) as writer:
        writer.write("half a pair \ud800\n")

        assert "half a pair \\ud800\n" == pipe.read("\n")


def broken_pipe() -> Any:
    read_end, write_end = os.pipe()
    os.close(read_end)
    return os.fdopen(write_end, "w", encoding="utf-8")


def closed() -> Any:
    stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - what a test closes by itself
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [lambda: None, closed, broken_pipe], ids=["none", "closed", "broken pipe"])
def test_a_closed_stream_is_not_an_error(stream: Any) -> None:
    opened = stream()
    with LogWriter(opened, notice) as writer:
        for _ in range(3):
            writer.write("x\n")
    if opened is not None:
        opened.close()


def test_everything_on_stderr_passes_through_the_writer(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    with unblocked_stderr(notice) as writer:
        print("warned", file=sys.stderr)
        writer.write("logged\n")
        assert sys.stderr is not before

    assert sys.stderr is before
    assert "warned\nlogged\n" == capsys.readouterr().err
