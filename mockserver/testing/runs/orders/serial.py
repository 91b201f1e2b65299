"""The serial runs of a search: what they show of the clients, and why they may allow no comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mockserver.testing.runs.orders.report import SerialRun
from mockserver.testing.runs.orders.subject import OrderOutcome
from mockserver.testing.runs.orders.verdicts import RunEnd

_CURE = "call with the sandbox that the client gets"


class SerialRuns:
    """
    The serial runs.

    Lifetime: one search.

    Args:
        clients: The names of the clients.

    Attributes:
        runs: In the order in which they were made.
    """

    def __init__(self, clients: Sequence[str]) -> None:
        self.runs: list[OrderOutcome] = []
        self._clients = clients

    @property
    def ends(self) -> list[RunEnd]:
        """What they end with."""
        return [run.end for run in self.runs]

    def rows(self) -> list[SerialRun]:
        """Return them as rows of the report."""
        return [SerialRun.of(run.played, self._clients, run.end) for run in self.runs]

    def failure(self, tolerates: tuple[type[BaseException], ...]) -> str | None:
        """Return why nothing can be compared with them: all of them fail in one way, or a client has no step; else None."""
        ends = self.ends
        for name in self._clients:
            if self._past_handle(name) and not self._has_steps(name):
                return f"every call of {name} is past its handle"
        for name in self._clients:
            failures = [end.raised.get(name) for end in ends]
            if None not in failures and not all(isinstance(each, tolerates) for each in failures):
                return f"{name} fails in every serial run: {ends[0].errors[name]}"
        if all(end.stuck is not None for end in ends):
            return f"no serial run ends: {ends[0].stuck}"
        for name in self._clients:
            if not self._has_steps(name):
                return f"{name} made no call in any serial run; {_CURE}, and make anew in `setup` what the clients keep"
        return f"the check fails in every serial run: {ends[0].check}" if all(end.check for end in ends) else None

    def not_interleaved(self) -> Iterator[str]:
        """Yield a sentence about each client whose calls are no steps."""
        for name in self._clients if self.runs else ():
            if self._past_handle(name):
                yield f"{name} calls past its handle, so that these calls are no steps; {_CURE}"

    def _past_handle(self, name: str) -> bool:
        """Return True if a client has made calls that are no steps: more than one in a step that is a call."""
        steps = (step for run in self.runs for step in run.played.steps if step.actor == name)
        return any(len(step.exchanges) > (step.waits == "call") for step in steps if step.waits in ("start", "call"))

    def _has_steps(self, name: str) -> bool:
        return any(step.actor == name and step.waits != "start" for run in self.runs for step in run.played.steps)


def difference(one: OrderOutcome, other: OrderOutcome) -> str | None:
    """Return what two equal runs do differently; None if they are equal."""
    texts, others = one.played.texts, other.played.texts
    for place, (step, again) in enumerate(zip(texts, others, strict=False), start=1):
        if step != again:
            return f"step {place} is {step} in one run, and {again} in an equal one"
    if len(texts) != len(others):
        return f"equal serial runs have {len(texts)} and {len(others)} steps"
    if one.end.records == other.end.records:
        return None
    first = next(iter(one.end.records), "nothing")
    differing = next((row for row in one.end.records if row not in other.end.records), first)
    return f"equal serial runs end with other records, such as {differing}"
