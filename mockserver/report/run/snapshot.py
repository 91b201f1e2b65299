"""The views of a sandbox that its report is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from mockserver._json import View
from mockserver.contract.choices import DEFAULTS
from mockserver.core.webhooks.deliveries import LOST
from mockserver.judge.check import Finding, NotAssessed
from mockserver.report.run import exchanges
from mockserver.report.run.exchanges import Exchange
from mockserver.report.run.words import names_of

APPROVED: Final = "APPROVED"  # the status of a template of the provider whose sends succeed
Reading = Literal["readJournal", "readState", "readHistory", "readConduct", "readEvents", "listRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSnapshot:
    """
    The views of a sandbox that a report needs; the same for a sandbox in this process and a remote one.

    Attributes:
        settings: The values from which the sandbox was created, by the name of the setting.
        sources: Where each setting has its value from, by the name of the setting or the id of a choice.
        steps: The commands of the test and of the end user, in order.
        endpoints: The endpoints of all tenants, each with its id and the kinds of its events; none for every kind.
        deferred: The calls that a rule delays.
        next_timer: The next timer of the sandbox and its instant; None if there is none.
        names: The names of records, and the addresses of endpoints, by id.
        unapproved: The executions with sends that failed and a template that its provider has not approved, each with its `providerStatus`.
        lost: The ids of the deliveries whose request a rule has lost, and which are delivered to the service.
        findings: The findings on the client's conduct, the worst first.
        not_assessed: The rules on conduct that this run does not show, with the reason.
        unmoved: Waits in real time while the clock did not move, as in the control plane's history.
        apart: The clocks of the process and of the sandbox if they differ, as in the control plane's history.
        name: The expression by which a test of Python has the sandbox.
        is_async: True if the test is a coroutine function.
        calls_without_prefix: The number of calls without a sandbox's prefix.
        run_ended: Why the mock has ended the test; None if it has not.
        is_python: True if the test has a `Sandbox`, whose methods the report may name.
        proxy: The variable that has clients in the test's process send their calls to a proxy; None if none does.
    """

    id: str
    address: str | None
    clock: View
    seed: int
    choices: Mapping[str, Any]
    settings: Mapping[str, Any]
    sources: Mapping[str, str]
    exchanges: Sequence[Exchange]
    transitions: Sequence[View]
    steps: Sequence[View]
    events: Sequence[View]
    endpoints: Sequence[View]
    rules: Sequence[View]
    deferred: Sequence[View]
    next_timer: View | None
    names: Mapping[str, str]
    lost: frozenset[str] = frozenset()
    unapproved: Sequence[View] = ()
    findings: Sequence[Finding] = ()
    not_assessed: Sequence[NotAssessed] = ()
    unmoved: View | None = None
    apart: View | None = None
    name: str = "mockserver"
    is_async: bool = False
    calls_without_prefix: int = 0
    run_ended: str | None = None
    is_python: bool = True
    proxy: str | None = None

    @property
    def dropped_calls(self) -> int:
        """How many calls the journal has dropped."""
        return self.exchanges[0].n - 1 if self.exchanges else 0


def read_snapshot(
    read: Callable[[Reading], View],
    *,
    id: str,
    address: str | None,
    settings: Mapping[str, Any],
    sources: Mapping[str, str],
    is_python: bool,
    proxy: str | None = None,
) -> SandboxSnapshot:
    """
    Return the views of a sandbox that its report needs.

    Args:
        read: Returns the answer of a command of the control plane.
        id: The sandbox's; this and the others are as in the attributes.
    """
    journal, state = read("readJournal"), read("readState")
    history, conduct, events = read("readHistory"), read("readConduct"), read("readEvents")["events"]
    return SandboxSnapshot(
        id=id,
        address=address,
        clock=state["clock"],
        seed=state["seed"],
        choices={key: value for key, value in sorted(state["choices"].items()) if value != DEFAULTS.get(key)},
        settings=settings,
        sources=sources,
        exchanges=[exchanges.read(entry) for entry in journal["exchanges"]],
        transitions=journal["transitions"],
        steps=history["steps"],
        events=events,
        endpoints=[webhook for tenant in state["tenants"] for webhook in tenant["webhooks"]],
        rules=read("listRules")["rules"],
        deferred=history["deferred"],
        next_timer=history["due"],
        names=names_of(state, events),
        lost=frozenset(row["id"] for row in state["deliveries"] if _is_lost(row)),
        unapproved=tuple(_unapproved(state)),
        findings=findings_of(conduct),
        not_assessed=tuple(NotAssessed(row["rule"], row["why"]) for row in conduct["notAssessed"]),
        unmoved=history.get("unmoved"),
        apart=history.get("apart"),
        is_python=is_python,
        proxy=proxy,
    )


def findings_of(conduct: View) -> tuple[Finding, ...]:
    """Return the findings of an answer of `readConduct`, which leaves out what their rules say: line and advice."""
    from mockserver.judge.client.judge import finding  # late: the judges, which most tests do not need

    return tuple(finding(row["rule"], row["message"], row["exchanges"]) for row in conduct["findings"])


def _is_lost(delivery: View) -> bool:
    return any(attempt.get("error") == LOST for attempt in delivery["attempts"])


def _unapproved(state: View) -> Iterator[View]:
    for tenant in state["tenants"]:
        statuses = {template["id"]: template["providerStatus"] for template in tenant["templates"]}
        for execution in tenant["executions"]:
            status = statuses.get(execution["template"])
            if execution["sends"]["failed"] and status not in (None, APPROVED):
                yield {**execution, "providerStatus": status}
