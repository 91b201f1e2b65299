"""
Memory that the functions of clients share: objects that more than one of them can reach, and that change while they run.

A step of a client that writes such memory has a part in common with every other step, which no footprint shows. A lock or a
queue that clients share counts as memory that changes.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_OBJECTS_MAX = 2_000
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, BuiltinFunctionType)
_SYNCHRONISING = ("threading", "_thread", "queue", "_queue", "asyncio", "multiprocessing")


def shared_memory(functions: Iterable[Any]) -> Any:
    """
    Return what the objects contain that more than one client can reach, for a comparison with an earlier reading.

    Args:
        functions: Of the clients. If one can reach too many objects, the reading is equal to no other.
    """
    reached = [_reached(function) for function in functions]
    if any(len(objects) == _OBJECTS_MAX for objects in reached):
        return object()
    clients = Counter(address for objects in reached for address in objects)
    everything = (row for objects in reached for row in objects.items())
    return {address: contents for address, contents in everything if clients[address] > 1}


def _reached(function: Any) -> dict[int, Any]:
    """Return what each object contains that a function can reach, by address: other objects by their addresses alone."""
    reached: dict[int, Any] = {}
    left = deque([function])
    while left and len(reached) < _OBJECTS_MAX:
        value = left.popleft()
        if id(value) in reached or isinstance(value, _PLAIN):
            continue
        parts = list(_parts(value))
        left.extend(parts)
        reached[id(value)] = [part if isinstance(part, _PLAIN) else id(part) for part in parts]
        if type(value).__module__.partition(".")[0] in _SYNCHRONISING:
            reached[id(value)] = object()  # equal to no other
    return reached


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, Mapping):
        yield from (*value.keys(), *value.values())
    elif isinstance(value, list | tuple | set | frozenset | deque | bytearray):
        yield from value
    elif isinstance(value, ModuleType):
        yield from vars(value).values() if _is_own(value.__name__) else ()
    elif hasattr(value, "__dict__") and _is_own(type(value).__module__):
        yield from vars(value).values()


def _of_function(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not assigned yet
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if _is_own(function.__module__):
        names = sorted(set(_names(function.__code__)))
        yield from (function.__globals__[name] for name in names if name in function.__globals__)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@functools.cache
def _is_own(module: str | None) -> bool:
    """Return True for a module that is neither the mock's, nor of the standard library, nor an installed one."""
    if module is None or module.partition(".")[0] in ("mockserver", "builtins", *sys.stdlib_module_names):
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or "site-packages" not in PurePath(file).parts
