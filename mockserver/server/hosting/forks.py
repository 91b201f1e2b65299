"""
Forks of the process: a fork gets whole copies of the sandboxes, and locks that it can take.

A lock that another thread holds at the fork stays locked in the child, which has no such thread. So each sandbox's lock is
taken before the fork: no call is half done in the copy. Then the child makes its own locks.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

from mockserver.server.http1 import real_time

_LIMIT_SECONDS = 1.0  # of all locks; a thread that holds one for longer may wait for the thread that forks


class Forked(Protocol):
    """A host, as a fork sees it."""

    def locks(self) -> Iterable[Any]:
        """Return the locks of its sandboxes."""

    def begin_in_fork(self) -> None:
        """Begin in the child, with locks of its own."""


_HOSTS: weakref.WeakValueDictionary[int, Forked] = weakref.WeakValueDictionary()  # those of this process
_FORKING = threading.local()  # `held`: the locks that the thread has taken for its fork


def add(host: Forked) -> None:
    """Give forks their own copies of this host's sandboxes, as long as it is used."""
    _HOSTS[id(host)] = host


def _hosts() -> list[Forked]:
    hosts = [reference() for reference in _HOSTS.valuerefs()]
    return [host for host in hosts if host is not None]


def _before() -> None:
    ends = real_time.seconds() + _LIMIT_SECONDS
    held: list[Any] = []
    _FORKING.held = held
    for host in _hosts():
        for lock in host.locks():
            if lock.acquire(timeout=max(0, ends - real_time.seconds())):
                held.append(lock)


def _after_in_parent() -> None:
    for lock in _FORKING.held:
        lock.release()


def _after_in_child() -> None:
    for host in _hosts():
        host.begin_in_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
