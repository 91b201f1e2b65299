"""Placements: where a run has its faults, acts of others, faults of deliveries and options, and the rules that cause them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from mockserver._json import JSON
from mockserver.testing.rules.builder import python_line
from mockserver.testing.runs.faults.tables import ACTS, AHEAD, DELIVERY_FAULTS, FAULTS

Kind = Literal["fault", "act", "delivery", "choice", "process"]

# The members of the JSON of a step.
_MEMBERS: Final[Mapping[Kind, Sequence[str]]] = {
    "fault": ("operation", "call", "name"),
    "act": ("operation", "call", "name"),
    "delivery": ("event", "delivery", "name"),
    "choice": ("choice", "option"),
    "process": ("name",),
}


@dataclass(frozen=True)
class ExploreStep:
    """
    One deviation from the clean run. Those are equal that are in force by equal rules.

    Attributes:
        kind: `fault` of the wire, `act` of another, `delivery`, `choice`, or `process` for its time zone.
        operation: The operation of the call; None for a delivery and a choice.
        call: The number of the call in its run.
        nth: The number of the call among those of its operation, which the rule counts.
        name: The name of the fault or act.
        event: The kind of the event that is delivered.
        delivery: The number of the attempt to deliver in its run.
        choice: The id of the choice.
        option: Its option.
        target: The id of the record that an act concerns, where its rule needs one.
        resumes: For sends that stall: operations, each with the number of its call that lets them go on.
        answer_bytes: The length of the answer that the clean run got at this call.
    """

    kind: Kind
    operation: str | None = None
    call: int | None = field(default=None, compare=False)
    nth: int | None = None
    name: str | None = None
    event: str | None = None
    delivery: int | None = None
    choice: str | None = None
    option: str | None = None
    target: str | None = field(default=None, repr=False)
    resumes: tuple[tuple[str, int], ...] = field(default=(), compare=False, repr=False)
    answer_bytes: int = field(default=0, compare=False, repr=False)

    @property
    def is_in_pairs(self) -> bool:
        """True if it can be the first one of a pair."""
        return self.kind == "act" or (self.kind == "fault" and FAULTS[self.name or ""].is_in_pairs)

    def as_json(self) -> JSON:
        """Return `kind`, the members of its kind, and `text`."""
        return {**{name: getattr(self, name) for name in ("kind", *_MEMBERS[self.kind])}, "text": self.describe()}

    def describe(self) -> str:
        """Return the step as text, such as `drop-after at call 2 (startCampaign)`."""
        if self.kind == "process":
            return str(self.name)
        if self.kind == "choice":
            return f"{self.choice}={self.option}"
        if self.kind == "delivery":
            return f"{self.name} at delivery {self.delivery} ({self.event})"
        place = "before" if self.kind == "act" else "at"
        return f"{self.name} {place} call {self.call} ({self.operation})"

    def rules(self) -> list[JSON]:
        """Return the rules of a scenario's script that cause it; none for a choice and for the process."""
        if self.kind in ("choice", "process"):
            return []
        name = self.name or ""
        if self.kind == "delivery":
            return [{"on": "delivery", "nth": self.delivery, "do": {"deliver": dict(DELIVERY_FAULTS[name].argument)}}]
        at: JSON = {"on": self.operation, "nth": self.nth}
        if self.kind == "fault":
            row = FAULTS[name]
            if row.calls != 1:
                skipped = {"skip": (self.nth or 1) - 1} if self.nth != 1 else {}
                at = {"on": self.operation, **skipped, **({"times": row.calls} if row.calls is not None else {})}
            return [{**at, "do": dict(row.effects_at(self.answer_bytes))}]
        act, target = ACTS[name], {"id": self.target} if self.target else {}
        acted = [{**at, "when": "before", "do": {act.effect: {**act.argument, **target}}}]
        resumes = [{"on": on, "nth": nth, "when": "before", "do": {"resume-sends": target}} for on, nth in self.resumes]
        return acted + resumes

    @property
    def choices(self) -> Mapping[str, str]:
        """The options that it sets."""
        if self.kind == "choice":
            return {self.choice or "": self.option or ""}
        return FAULTS[self.name or ""].choices if self.kind == "fault" else {}

    def lines(self, *, is_first: bool = True) -> list[str]:
        """Return the lines of Python that put its rules in force, to paste into a test; all but the first may miss."""
        if self.kind == "process":
            return [f'monkeypatch.setenv("TZ", "{AHEAD}")', "time.tzset()"]
        chosen = [f'mockserver.choose({{"{choice}": "{option}"}})' for choice, option in self.choices.items()]
        if self.kind == "choice":
            return chosen
        first, *others = self.rules()
        return [
            *chosen,
            python_line(first, may_fire=not is_first),
            *(python_line(rule, may_fire=True) for rule in others),
        ]


class Placement(tuple[ExploreStep, ...]):
    """The deviations of one run, in their order; empty for the clean run."""

    __slots__ = ()

    @classmethod
    def of(cls, *steps: ExploreStep) -> Placement:
        """Return the placement of these steps."""
        return cls(steps)

    @property
    def choices(self) -> dict[str, str]:
        """The options of the run, by choice."""
        return {choice: option for step in self for choice, option in step.choices.items()}

    @property
    def script(self) -> list[JSON]:
        """The rules of the run, as in a scenario's script."""
        return [rule for step in self for rule in step.rules()]

    @property
    def lines(self) -> list[str]:
        """The lines of Python that cause it, to paste into a test before the client's first call."""
        return [line for place, step in enumerate(self) for line in step.lines(is_first=place == 0)]

    def as_json(self) -> list[JSON]:
        """Return its steps as JSON."""
        return [step.as_json() for step in self]

    def describe(self) -> str:
        """Return its steps as one text; `no fault` for the clean run."""
        return " and ".join(step.describe() for step in self) or "no fault"

    def has(self, *kinds: Kind) -> bool:
        """Return True if a step is of one of these kinds."""
        return any(step.kind in kinds for step in self)

    @property
    def time_zone(self) -> str | None:
        """The time zone of the process, as the variable TZ has it; None if it stays as it is."""
        return AHEAD if self.has("process") else None

    @property
    def lasts(self) -> bool:
        """True if an operation fails from a step to the end of the run, after which a test can only report that."""
        return any(step.kind == "fault" and FAULTS[step.name or ""].calls is None for step in self)

    @property
    def withholds(self) -> bool:
        """True if a receiver gets less, or gets it at another time, than in the clean run."""
        return any(step.kind == "delivery" and DELIVERY_FAULTS[step.name or ""].withholds for step in self)

    def __repr__(self) -> str:
        return f"<Placement {self.describe()}>"
