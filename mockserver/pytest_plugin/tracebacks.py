"""The traceback of a test whose client or receiver has raised inside a call of the mock: its own frames alone."""

from __future__ import annotations

from http.client import HTTPException
from traceback import walk_tb
from types import FrameType
from typing import Final

from mockserver.testing.report.failures import is_of_test

_MOCK: Final = "mockserver"
_CARRIERS: Final = ("httpx", "requests", "asyncio", "concurrent")  # of a call from the client to the mock, or back
_GIVES_ANSWERS: Final = "mockserver.testing."  # to clients; it raises what a client library raises


def shorten(raised: BaseException) -> None:
    """
    Hide the frames of the mock from what pytest prints, and those of the library between the client and the mock.

    An exception that the mock itself fails by keeps every frame; `pytest --full-trace` prints them all.
    """
    frames = [frame for frame, _ in walk_tb(raised.__traceback__)]
    packages = [_module(frame).partition(".")[0] for frame in frames]
    if _MOCK not in packages:
        return
    end = len(frames) - packages[::-1].index(_MOCK)
    has_raised = any(is_of_test(frame.f_code.co_filename) for frame in frames[end:])
    if has_raised or (_is_broken_answer(raised) and _module(frames[end - 1]).startswith(_GIVES_ANSWERS)):
        for frame, package in zip(frames[:end], packages, strict=False):
            if package in (_MOCK, *_CARRIERS):
                frame.f_locals["__tracebackhide__"] = True  # for pytest; the frame has returned


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _is_broken_answer(raised: BaseException) -> bool:
    """Return True for what a client raises, as over a socket, if a rule gives it no answer or a part of one."""
    return isinstance(raised, OSError | HTTPException) or type(raised).__module__.partition(".")[0] == "httpx"
