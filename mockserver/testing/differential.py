"""
Differential runs: one client function runs under several sets of choices, and its calls are compared.

1. A run is the client's calls in order, each as method, route, names in the query, and a hash of the body without ids and
   instants; then the type of the exception with which the client ended, if any.
2. Every run has its own sandbox. They differ only in their choices, and each is compared with the plain run, which has none.
3. If a run under a profile differs, each choice of the profile runs alone, so that one choice can be blamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from mockserver.contract.choices import CHOICES
from mockserver.contract.endpoints import CREATING
from mockserver.judge.check import Finding, NotAssessed
from mockserver.judge.client.judge import finding
from mockserver.judge.client.rules import BLAMED
from mockserver.scenario.choices import load_profile, merge_choices
from mockserver.testing.conduct import format_finding
from mockserver.testing.run_end import RunEnded
from mockserver.testing.runs.bounds import Bounds, Watch
from mockserver.testing.runs.traced_calls import Comparable, comparable
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer

REASONS = "one-failure-fits-all"  # the reasons of failed sessions show this one
_AGAIN, _NEVER = "token_exchange_failed", "phone_in_use"
_CREATES = "POST /v1/entrypoints/chatapp/connection-sessions"
_READS = "GET /v1/entrypoints/chatapp/connection-sessions/{sessionId}"
_NEED = "a differential run"  # of a sandbox in this process

Client = Callable[[Sandbox], object]
Profile = str | Path | Mapping[str, object]


class ClientRun(NamedTuple):
    """
    One run of the client.

    Attributes:
        name: The name of the run, such as `dual-status=guide`, or "plain".
        choices: Its choices, by id.
        calls: Its calls, each as method and route, and a hash of the body.
        numbers: The numbers of these calls in the sandbox.
        raised: The type of the exception with which the client ended; None if it returned.
    """

    name: str
    choices: Mapping[str, object]
    calls: tuple[Comparable, ...]
    numbers: tuple[int, ...]
    raised: str | None

    @property
    def steps(self) -> tuple[str, ...]:
        """The calls and the exception as texts, which are compared."""
        return (
            *(f"{call} {body}".strip() for call, body in self.calls),
            *([f"raised {self.raised}"] if self.raised else []),
        )


class Difference(NamedTuple):
    """
    The first difference of a run from the plain one.

    Attributes:
        run: The run.
        place: The index of the first step that differs.
        plain: This step of the plain run; empty if it has none.
        received: This step of the run; empty if it has none.
        rules: The rules on conduct that a client breaks if its calls depend on these choices.
    """

    run: ClientRun
    place: int
    plain: str
    received: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.run.name}: step {self.place + 1} is {self.received or 'missing'}; "
            f"in the plain run it is {self.plain or 'missing'}"
        )


class Comparison(NamedTuple):
    """
    The result of `compare`.

    Attributes:
        runs: All runs, the plain one first.
        differences: The runs that differ from the plain one.
        findings: The rules on conduct that the differences break.
        not_assessed: The rules that these runs gave no occasion to check.
    """

    runs: tuple[ClientRun, ...]
    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    not_assessed: tuple[NotAssessed, ...]

    def assert_same(self) -> None:
        """
        Check that no run differs from the plain one.

        Raises:
            AssertionError: A run differs; its first line is the first finding.
        """
        if self.findings or self.differences:
            raise AssertionError("\n".join([*map(format_finding, self.findings), *map(str, self.differences)]))


def compare(
    server: MockServer,
    client: Client,
    profiles: Sequence[Profile] | None = None,
    scenario: str | Mapping[str, Any] | None = None,
    *,
    calls_at_most: int = 1000,
    **settings: Any,
) -> Comparison:
    """
    Run a client under several sets of choices, and compare its calls.

    Args:
        server: The server of the sandboxes.
        client: A function that takes a `Sandbox` and calls it.
        profiles: Names of profiles, paths of files, or mappings of choices. By default each option of the choices in
            `BLAMED` is one, and the reasons of failed sessions are compared too.
        scenario: The scenario of each sandbox, as of `MockServer.sandbox`.
        calls_at_most: The number of calls after which a run is ended.
        **settings: Further settings of `MockServer.sandbox`; choices among them hold in every run.

    Raises:
        ValueError: A profile or a setting has a wrong value.
    """
    run = _Runner(server, client, {"scenario": scenario, **settings}, calls_at_most)
    plain = run("plain", {})
    variants = [_profile(profile) for profile in profiles] if profiles is not None else list(_single_choices())
    runs, differences = [plain], list[Difference]()
    for name, choices in variants:
        varied = run(name, choices)
        runs.append(varied)
        if varied.steps != plain.steps:
            differences += _blamed(run, plain, varied)
    findings = []
    for difference in differences:  # a finding cites the last equal exchange of the run, and the first that differs
        cited = difference.run.numbers[max(0, difference.place - 1) : difference.place + 1]
        findings += [finding(rule, f"the calls depend on {difference}", cited) for rule in difference.rules]
    not_assessed = [] if profiles is not None else list(_by_reason(run, plain, findings))
    varied_choices = {choice for _, choices in variants for choice in choices}
    not_assessed += [
        NotAssessed(rule, "no run had another choice")
        for rule, choices in BLAMED.items()
        if varied_choices.isdisjoint(choices)
    ]
    return Comparison(tuple(runs), tuple(differences), tuple(findings), tuple(not_assessed))


class _Runner:
    """The runs of one comparison."""

    def __init__(self, server: MockServer, client: Client, settings: Mapping[str, Any], calls_at_most: int) -> None:
        self._server, self._client = server, client
        self._settings, self._calls_at_most = settings, calls_at_most

    def __call__(self, name: str, choices: Mapping[str, object], failing: str | None = None) -> ClientRun:
        own = self._settings.get("choices") or {}
        settings = {**self._settings, "choices": merge_choices(own, choices)}
        with self._server.sandbox(**settings) as sandbox:
            sandbox.is_repeated = True
            hosted = sandbox.local(_NEED)
            watch = Watch(hosted, Bounds(calls=self._calls_at_most - 1))  # the next one ends it
            if failing is not None:
                sandbox.on(CREATING["session"].id).do({"fail-session": {"reason": failing}})
            raised = None
            try:
                self._client(sandbox)
            except (Exception, RunEnded) as failure:  # noqa: BLE001 - the way in which it ends is compared
                raised = type(failure).__name__
            watch.stop()
            exchanges = list(hosted.sandbox.journal.exchanges)
        return ClientRun(
            name=name,
            choices=choices,
            calls=tuple(map(comparable, exchanges)),
            numbers=tuple(entry.n for entry in exchanges),
            raised=raised,
        )


def _profile(profile: Profile) -> tuple[str, Mapping[str, object]]:
    if isinstance(profile, Mapping):
        return ", ".join(f"{choice}={option}" for choice, option in profile.items()), profile
    return str(profile), load_profile(profile)


def _single_choices() -> Iterator[tuple[str, Mapping[str, object]]]:
    rows = [CHOICES[choice] for choices in BLAMED.values() for choice in choices if choice in CHOICES]
    for row in rows:
        others = (option for option in row.options if option != row.default)
        yield from ((f"{row.id}={option}", {row.id: option}) for option in others)


def _blamed(run: _Runner, plain: ClientRun, varied: ClientRun) -> Iterator[Difference]:
    """Yield the difference under each choice that causes it alone; under all together if none does."""
    causes = []
    if len(varied.choices) > 1:
        alone = (run(f"{choice}={option}", {choice: option}) for choice, option in varied.choices.items())
        causes = [single for single in alone if single.steps != plain.steps]
    for cause in causes or [varied]:
        rules = tuple(
            rule
            for rule, choices in BLAMED.items()
            if len(cause.choices) == 1 and not cause.choices.keys().isdisjoint(choices)
        )
        one, other = plain.steps, cause.steps
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        place = len(list(equal))
        yield Difference(
            run=cause,
            place=place,
            plain="".join(one[place : place + 1]),
            received="".join(other[place : place + 1]),
            rules=rules,
        )


def _by_reason(run: _Runner, plain: ClientRun, findings: list[Finding]) -> Iterator[NotAssessed]:
    """Check that the client distinguishes a failure that needs a person from one that it may retry."""
    again, never = (run(f"reason={reason}", {}, reason) for reason in (_AGAIN, _NEVER))
    calls = list(zip(never.numbers, (call for call, _ in never.calls), strict=True))
    failed = next((n for n, call in calls if call == _READS), math.inf)  # each session has failed when it is read first
    created = [n for n, call in calls if call == _CREATES]
    if all(n < failed for n in created[1:]):
        yield NotAssessed(
            REASONS, "the client created no session after a failure; its message to its user is not visible here"
        )
    elif never.steps == again.steps:
        message = f"{_NEVER} and {_AGAIN} led to the same {len(never.calls)} calls, {len(created)} sessions created"
        findings.append(finding(REASONS, message, created[:3]))
