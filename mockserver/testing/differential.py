"""
Comparing: one client function is run under several sets of choices, and what it calls then is held side by side.

1. A run is the client's calls in order, each as method, route, names in the query and a hash of the body in which ids
   and instants count for nothing; after them the type of the exception with which the client ended, if it did.
2. Every run has a sandbox of its own, alike but for its choices, and is held against the one that has none of them.
3. A difference under a whole profile is looked for again under each of its choices alone, so that one is blamed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.conduct.judge import finding
from mockserver.conduct.rules import Finding, NotAssessed
from mockserver.contract.choices import CHOICES
from mockserver.core.state.journal import JournalEntry
from mockserver.scenario.choices import load_profile, merge_choices
from mockserver.testing.conduct import format_finding
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.server import MockServer

# The rule that is broken by who lets these choices decide what he calls.
BLAMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "match-on-message": ("message-text",),
        "match-on-status": ("dual-status",),
        "only-200-is-ok": ("success-status",),
        "closed-enums": ("new-enum-values",),
        "closed-objects": ("additive-fields", "entrypoint-two-shapes", "error-extra-keys"),
        "naive-dates": ("datetime-spelling", "birthdate-zone"),
        "require-return-params": ("return-query",),
        "expects-fields-on-read": ("session-read-fields", "reason-when-none", "funnel-null", "entrypoint-when-failed"),
        "page-endless": ("next-cursor-end",),
        "wrong-reader-of-404": ("cross-tenant-code",),
    }
)
REASONS = "one-failure-fits-all"  # this one is told by the reasons of failed sessions
_AGAIN, _NEVER = "token_exchange_failed", "phone_in_use"
_CREATES = "POST /v1/entrypoints/chatapp/connection-sessions"
_ID = re.compile(r"\b[a-z][a-z_]*_[a-z0-9]{8,}\b")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?")

Client = Callable[[Sandbox], object]
Profile = str | Path | Mapping[str, object]
Called = tuple[str, str]  # method and route with the query's names, and the body's hash


class TooManyCalls(BaseException):
    """A run went on calling and was ended; no client means this one when it catches every Exception."""


class Run(NamedTuple):
    """One run of the client: under which choices, what it called, and the exception with which it ended."""

    name: str
    choices: Mapping[str, object]
    calls: tuple[Called, ...]
    numbers: tuple[int, ...]
    raised: str | None

    @property
    def steps(self) -> tuple[str, ...]:
        """What is compared."""
        return (
            *(f"{call} {body}".strip() for call, body in self.calls),
            *([f"raised {self.raised}"] if self.raised else []),
        )


class Difference(NamedTuple):
    """Where a run parts from the plain one; `rules` are those to which its choices are known."""

    run: Run
    place: int
    plain: str
    came: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.run.name}: step {self.place + 1} was {self.came or 'none'}, and is {self.plain or 'none'} otherwise"
        )


class Comparison(NamedTuple):
    """The runs, how they differ, what that breaks, and which rules these runs said nothing about."""

    runs: tuple[Run, ...]
    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    not_assessed: tuple[NotAssessed, ...]

    def assert_same(self) -> None:
        """Fail where a run differs from the plain one; the first line names the first finding."""
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
    Run `client(sandbox)` plainly and under each of the profiles: names, files, or mappings of choices.

    Without profiles it is run under each option of the choices in `BLAMED`, and with each reason of a failed session.
    `settings` are those of `server.sandbox`; choices among them hold in every run.
    """
    run = _Runner(server, client, {"scenario": scenario, **settings}, calls_at_most)
    plain = run("plain", {})
    wanted = [_profile(each) for each in profiles] if profiles is not None else list(_single_choices())
    runs, differences = [plain], list[Difference]()
    for name, choices in wanted:
        varied = run(name, choices)
        runs.append(varied)
        if varied.steps != plain.steps:
            differences += _blamed(run, plain, varied)
    findings = [_finding(each, rule) for each in differences for rule in each.rules]
    unheard = [] if profiles is not None else list(_by_reason(run, plain, findings))
    varied_choices = {choice for _, choices in wanted for choice in choices}
    unheard += [
        NotAssessed(rule, "no run had another choice")
        for rule, about in BLAMED.items()
        if varied_choices.isdisjoint(about)
    ]
    return Comparison(tuple(runs), tuple(differences), tuple(findings), tuple(unheard))


class _Runner:
    """Makes the runs of one comparison."""

    def __init__(self, server: MockServer, client: Client, settings: Mapping[str, Any], calls_at_most: int) -> None:
        self._server, self._client = server, client
        self._settings, self._calls_at_most = settings, calls_at_most

    def __call__(self, name: str, choices: Mapping[str, object], failing: str | None = None) -> Run:
        own = self._settings.get("choices") or {}
        settings = {**self._settings, "choices": merge_choices(own, choices)}
        with self._server.sandbox(**settings) as sandbox, _bounded(self._server, sandbox, self._calls_at_most):
            if failing is not None:
                sandbox.on("createConnectionSession").do({"fail-session": {"reason": failing}})
            raised = None
            try:
                self._client(sandbox)
            except (Exception, TooManyCalls) as failure:  # noqa: BLE001 - however it ends is what is compared
                raised = type(failure).__name__
            made = list(sandbox._hosted.sandbox.journal.exchanges)
        return Run(name, choices, tuple(map(_canonical, made)), tuple(each.n for each in made), raised)


@contextmanager
def _bounded(server: MockServer, sandbox: Sandbox, calls_at_most: int) -> Iterator[None]:
    """End a client in process that goes on calling."""
    host, hosted = server._host, sandbox._hosted
    former = host.on_exchange

    def look(seen: Any) -> None:
        if seen is hosted and hosted.sandbox.journal.last_exchange >= calls_at_most:
            raise TooManyCalls(f"{calls_at_most} calls")

    host.on_exchange = look
    try:
        yield
    finally:
        host.on_exchange = former


def _canonical(exchange: JournalEntry) -> Called:
    call = exchange.call
    route = call.endpoint.path if call.endpoint else _ID.sub("{id}", call.path)
    names = sorted({name for name, _ in call.query})
    query = f"?{'&'.join(names)}" if names else ""
    written = json.dumps(exchange.body, sort_keys=True, default=str) if exchange.body is not None else ""
    bare = _INSTANT.sub("TIME", _ID.sub("ID", written))
    return f"{call.method} {route}{query}", hashlib.sha256(bare.encode()).hexdigest()[:12] if bare else ""


def _profile(profile: Profile) -> tuple[str, Mapping[str, object]]:
    if isinstance(profile, Mapping):
        return ", ".join(f"{choice}={option}" for choice, option in profile.items()), profile
    return str(profile), load_profile(profile)


def _single_choices() -> Iterator[tuple[str, Mapping[str, object]]]:
    for about in BLAMED.values():
        for choice in about:
            row = CHOICES.get(choice)
            for option in row.options if row is not None else ():
                if row is not None and option != row.default:
                    yield f"{choice}={option}", {choice: option}


def _blamed(run: _Runner, plain: Run, varied: Run) -> Iterator[Difference]:
    """The difference, under each choice that makes it alone; under all together where none does."""
    found = []
    if len(varied.choices) > 1:
        alone = (run(f"{choice}={option}", {choice: option}) for choice, option in varied.choices.items())
        found = [each for each in alone if each.steps != plain.steps]
    for each in found or [varied]:
        rules = tuple(
            rule
            for rule, about in BLAMED.items()
            if len(each.choices) == 1 and not each.choices.keys().isdisjoint(about)
        )
        yield _difference(plain, each, rules)


def _difference(plain: Run, varied: Run, rules: tuple[str, ...]) -> Difference:
    one, other = plain.steps, varied.steps
    place = next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    return Difference(
        varied, place, one[place] if place < len(one) else "", other[place] if place < len(other) else "", rules
    )


def _finding(difference: Difference, rule: str) -> Finding:
    """Cites the last exchange that was as ever, and the first that was not, of the run that differs."""
    numbers, place = difference.run.numbers, difference.place
    return finding(rule, f"the calls depend on {difference}", numbers[max(0, place - 1) : place + 1])


def _by_reason(run: _Runner, plain: Run, findings: list[Finding]) -> Iterator[NotAssessed]:
    """Whether the client takes a failure that needs a person for one that may be tried again."""
    again, never = (run(f"reason={reason}", {}, reason) for reason in (_AGAIN, _NEVER))
    created = [n for n, (call, _) in zip(never.numbers, never.calls, strict=True) if call == _CREATES]
    if len(created) < 2:
        yield NotAssessed(
            REASONS, "the client created no session after a failure; what it tells its user cannot be seen"
        )
    elif never.steps == again.steps:
        told = f"{_NEVER} and {_AGAIN} led to the same {len(never.calls)} calls, {len(created)} sessions created"
        findings.append(finding(REASONS, told, created[:3]))
