"""
Memory that the functions of clients share: objects that more than one of them can reach, and that change while they run.

A step of a client that writes such memory has a part in common with every other step, which no footprint shows. A lock or a
queue that clients share counts as memory that changes.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

_OBJECTS_MAX = 2_000
_TEXT_MAX = 200
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, BuiltinFunctionType)
_CONTAINERS = (dict, list, set, deque, bytearray)
_SYNCHRONISING = (
    "threading",
    "_thread",
    "queue",
    "_queue",
    "asyncio.locks",
    "asyncio.queues",
    "multiprocessing.synchronize",
)


class SharedMemory:
    """
    What clients share, read again and again.

    Args:
        functions: Of the clients.
    """

    def __init__(self, functions: Iterable[Any]) -> None:
        self._functions = list(functions)

    def read(self) -> Any:
        """Return what the shared objects contain now, for a comparison with an earlier reading."""
        seen: dict[int, Any] = {}
        shared: dict[int, Any] = {}
        for function in self._functions:
            reached = dict(_reached(function))
            shared.update((address, value) for address, value in reached.items() if address in seen)
            seen.update(reached)
        return [(address, _text(shared[address])) for address in sorted(shared)]


def _text(value: Any) -> Any:
    """Return the contents of one object, with other objects by their address alone."""
    if type(value).__module__ in _SYNCHRONISING:
        return object()  # equal to no other
    if isinstance(value, dict):
        return [(_leaf(key), _leaf(each)) for key, each in list(value.items())[:_TEXT_MAX]]
    if isinstance(value, set):
        return sorted(map(_leaf, list(value)[:_TEXT_MAX]))
    if isinstance(value, list | deque):
        return [_leaf(each) for each in list(value)[:_TEXT_MAX]]
    if isinstance(value, bytearray):
        return bytes(value[:_TEXT_MAX])
    return [(name, _leaf(each)) for name, each in list(vars(value).items())[:_TEXT_MAX]]


def _leaf(value: Any) -> str:
    return repr(value)[:_TEXT_MAX] if isinstance(value, _PLAIN) else f"{type(value).__name__} {id(value)}"


def _reached(function: Any) -> Iterator[tuple[int, Any]]:
    """Yield the objects that can change and that a function can reach, by address."""
    seen: set[int] = set()
    left = deque([function])
    while left and len(seen) < _OBJECTS_MAX:
        value = left.popleft()
        if id(value) in seen or isinstance(value, _PLAIN):
            continue
        seen.add(id(value))
        is_memory = isinstance(value, _CONTAINERS) or type(value).__module__ in _SYNCHRONISING
        if is_memory or (_has_state(value) and not isinstance(value, FunctionType)):
            yield id(value), value
        left.extend(_next(value))


def _next(value: Any) -> Iterator[Any]:
    if isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, ModuleType):
        if _is_own(value.__name__):
            yield from vars(value).values()
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from value
    elif _has_state(value):
        yield from vars(value).values()


def _of_function(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if _is_own(function.__module__):
        code, names = [function.__code__], set[str]()
        while code:
            each = code.pop()
            names.update(each.co_names)
            code += [constant for constant in each.co_consts if hasattr(constant, "co_names")]
        yield from (function.__globals__[name] for name in sorted(names) if name in function.__globals__)


def _has_state(value: Any) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, type | ModuleType) and _is_own(type(value).__module__)


@functools.cache
def _is_own(module: str | None) -> bool:
    """Return True for a module that is neither the mock's, nor of the standard library, nor an installed one."""
    if module is None or module.partition(".")[0] in ("mockserver", "builtins", *sys.stdlib_module_names):
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or "site-packages" not in PurePath(file).parts
