"""The traceback of a test that has a sandbox: the frames of its client and its receivers, without those of the mock."""

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
    own = [place for place, frame in enumerate(frames) if is_of_test(frame.f_code.co_filename)]
    if not own:
        return
    inner = [_module(frame) for frame in frames[own[-1] + 1 :] if _package(frame) == _MOCK]
    is_answer = _is_answer(raised) and (not inner or inner[-1].startswith(_GIVES_ANSWERS))
    if inner and not is_answer:
        return
    for frame in frames if is_answer else frames[: own[-1]]:
        if _package(frame) in (_MOCK, *_CARRIERS):
            frame.f_locals["__tracebackhide__"] = True  # for pytest; the frame has returned


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _package(frame: FrameType) -> str:
    return _module(frame).partition(".")[0]


def _is_answer(raised: BaseException) -> bool:
    """Return True for what a client raises about an answer: none, a part of one, or one with the status of an error."""
    return isinstance(raised, OSError | HTTPException) or type(raised).__module__.partition(".")[0] == "httpx"
