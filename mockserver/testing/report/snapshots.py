"""The views of a sandbox for its report, the same for one in this process and one on a server."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from mockserver._json import JSON
from mockserver.contract.choices import DEFAULTS
from mockserver.report.run import exchanges
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import names_of
from mockserver.testing.backend import Backend
from mockserver.testing.conduct import ConductReport
from mockserver.testing.settings import Settings


class UndoneRun(NamedTuple):
    """A run that `checkpoint` has undone, with the exception that ended it: what its report, document and trace are made of."""

    failure: BaseException
    snapshot: SandboxSnapshot
    document: JSON
    journal: JSON
    har: JSON


def undone_run(failure: BaseException, backend: Backend, settings: Settings) -> UndoneRun:
    """Return the run so far, before it is undone."""
    views = snapshot(backend, settings)  # first, since it sends what is due
    document, journal = backend.run("readReplay", name="replay"), backend.run("readJournal")
    return UndoneRun(failure=failure, snapshot=views, document=document, journal=journal, har=backend.run("readHar"))


def snapshot(backend: Backend, settings: Settings) -> SandboxSnapshot:
    """Return the views of a sandbox that its report needs, once what is due is sent."""
    backend.deliver_quietly()
    journal, state, history = backend.run("readJournal"), backend.run("readState"), backend.run("readHistory")
    events = backend.run("readEvents")["events"]
    conduct = ConductReport(backend.run("readConduct"))
    return SandboxSnapshot(
        id=backend.sandbox_id,
        address=backend.address,
        clock=state["clock"],
        seed=state["seed"],
        choices={key: value for key, value in state["choices"].items() if value != DEFAULTS.get(key)},
        settings=settings.values,
        sources=settings.sources,
        exchanges=[exchanges.read(entry) for entry in journal["exchanges"]],
        transitions=journal["transitions"],
        steps=history["steps"],
        events=events,
        endpoints=[webhook for tenant in state["tenants"] for webhook in tenant["webhooks"]],
        rules=backend.run("listRules")["rules"],
        deferred=history["deferred"],
        next_timer=history["due"],
        names=names_of(state, events),
        clones=backend.run("readLedger")["clonedCampaigns"],
        findings=conduct.findings,
        not_assessed=conduct.not_assessed,
        unmoved=history.get("unmoved"),
        apart=history.get("apart"),
        proxy=_proxy_variable(backend.address),
    )


def _proxy_variable(address: str | None) -> str | None:
    """Return the variable of the environment that has clients send calls of an address to a proxy; None if none does."""
    parts = urlsplit(address or "")
    if not parts.netloc or proxy_bypass(parts.netloc):
        return None
    names = (f"{parts.scheme}_proxy", "all_proxy")
    return next((name for name, proxy in os.environ.items() if proxy and name.lower() in names), None)
