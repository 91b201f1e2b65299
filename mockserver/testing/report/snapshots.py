"""The views of a sandbox for its report, the same for one in this process and one on a server."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from mockserver._json import JSON
from mockserver.report.run.snapshot import SandboxSnapshot, read_snapshot
from mockserver.testing.backend import Backend
from mockserver.testing.settings import Settings


class UndoneRun(NamedTuple):
    """A run that `checkpoint` has undone, with the exception that ended it: what its report, document and trace are made of."""

    failure: BaseException
    snapshot: SandboxSnapshot
    document: JSON
    har: JSON


def undone_run(failure: BaseException, backend: Backend, settings: Settings) -> UndoneRun:
    """Return the run so far, before it is undone."""
    views = snapshot(backend, settings)  # first, since it sends what is due
    document = backend.run("readReplay", name="replay")
    return UndoneRun(failure=failure, snapshot=views, document=document, har=backend.run("readHar"))


def snapshot(backend: Backend, settings: Settings) -> SandboxSnapshot:
    """Return the views of a sandbox that its report needs, once what is due is sent."""
    backend.deliver_quietly()
    return read_snapshot(
        backend.run,
        id=backend.sandbox_id,
        address=backend.address,
        settings=settings.values,
        sources=settings.sources,
        is_python=True,
        proxy=_proxy_variable(backend.address),
    )


def _proxy_variable(address: str | None) -> str | None:
    """Return the variable of the environment that has clients send calls of an address to a proxy; None if none does."""
    parts = urlsplit(address or "")
    if not parts.netloc or proxy_bypass(parts.netloc):
        return None
    names = (f"{parts.scheme}_proxy", "all_proxy")
    return next((name for name, proxy in os.environ.items() if proxy and name.lower() in names), None)
