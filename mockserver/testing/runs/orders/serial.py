"""The serial runs of a search: what they show of the clients, and why they may allow no comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mockserver.testing.runs.orders.verdicts import OrderOutcome

_CURE = "call with the sandbox that the client gets"


def failure(
    runs: Sequence[OrderOutcome], clients: Sequence[str], tolerates: tuple[type[BaseException], ...]
) -> str | None:
    """
    Return why nothing can be compared with the serial runs; None if it can.

    All of them fail in one way, or a client has no step.
    """
    for name in clients:
        if _calls_past_handle(runs, name) and not _has_steps(runs, name):
            return f"every call of {name} is past its handle"
    for name in clients:
        failures = [run.played.raised.get(name) for run in runs]
        if None not in failures and not all(isinstance(each, tolerates) for each in failures):
            return f"{name} fails in every serial run: {runs[0].errors[name]}"
    if all(run.played.stuck is not None for run in runs):
        return f"no serial run ends: {runs[0].played.stuck}"
    for name in clients:
        if not _has_steps(runs, name):
            return f"{name} made no call in any serial run; {_CURE}, and make anew in `setup` what the clients keep"
    if all(run.check is not None for run in runs):
        return f"the check fails in every serial run: {runs[0].check}"
    return None


def not_interleaved(runs: Sequence[OrderOutcome], clients: Sequence[str]) -> Iterator[str]:
    """Yield a sentence about each client whose calls are no steps."""
    for name in clients:
        if _calls_past_handle(runs, name):
            yield f"{name} calls past its handle, so that these calls are no steps; {_CURE}"


def _calls_past_handle(runs: Sequence[OrderOutcome], name: str) -> bool:
    """Return True if a client has made calls that are no steps: more than one in a step that is a call."""
    steps = (step for run in runs for step in run.played.steps if step.actor == name)
    return any(len(step.exchanges) > (step.waits == "call") for step in steps if step.waits in ("start", "call"))


def _has_steps(runs: Sequence[OrderOutcome], name: str) -> bool:
    return any(step.actor == name and step.waits != "start" for run in runs for step in run.played.steps)


def difference(one: OrderOutcome, other: OrderOutcome) -> str | None:
    """Return what two equal runs do differently; None if they are equal."""
    texts, others = one.played.texts, other.played.texts
    for place, (step, again) in enumerate(zip(texts, others, strict=False), start=1):
        if step != again:
            return f"step {place} is {step} in one run, and {again} in an equal one"
    if len(texts) != len(others):
        return f"equal serial runs have {len(texts)} and {len(others)} steps"
    if one.records == other.records:
        return None
    first = next(iter(one.records), "nothing")
    differing = next((row for row in one.records if row not in other.records), first)
    return f"equal serial runs end with other records, such as {differing}"
