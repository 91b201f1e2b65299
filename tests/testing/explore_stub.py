"""A small substitute for `mockserver.testing.runs.faults`, for tests of what runs it: lost answers only, and three verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

Placement = tuple[int, ...]  # the calls whose answers are lost
LOST = "drop-after"


@dataclass(frozen=True)
class ExploreOptions:
    faults: tuple[str, ...] = (LOST,)
    operations: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    pairs: int = 0
    seconds: float | None = None
    prune: bool = True
    strict: bool = False
    tolerates: tuple[Any, ...] = ()
    seed: int = 0
    runs: int = 1000

    def __post_init__(self) -> None:
        if self.pairs < 0:
            raise ValueError(f"pairs: got {self.pairs}; expected 0 or more")


@dataclass(frozen=True)
class ExploreReport:
    test: str
    rows: list[tuple[Placement, str, str]]
    failed: bool
    clean: SimpleNamespace
    ended: str | None

    @property
    def findings(self) -> list[tuple[Placement, str, str]]:
        return [row for row in self.rows if row[1] != "survived"]

    def try_to_write_documents(self, folder: str) -> None:
        """Write nothing."""

    def entry(self) -> dict[str, Any]:
        verdicts = [verdict for _, verdict, _ in self.rows]
        matrix: dict[str, Any] = {}
        for _, verdict, operation in self.rows:
            cell = matrix.setdefault(operation, {LOST: dict.fromkeys(("survived", "crashed", "silent"), 0)})
            cell[LOST][verdict] += 1
        return {
            "test": self.test,
            "notes": [],
            "singles": {"placements": len(verdicts), "merged": 0, "tried": len(verdicts)},
            "pairs": {"placements": 0, "merged": 0, "tried": 0},
            "runs": len(verdicts) + 2,
            "verdicts": {name: verdicts.count(name) for name in ("survived", "crashed", "silent")},
            "findings": [{"verdict": verdict, "operation": operation} for _, verdict, operation in self.findings],
            "matrix": matrix,
        }

    def text(self) -> str:
        return "\n".join([self.ended or "", *self._lines()])

    def _lines(self) -> Iterator[str]:
        yield from (f"{verdict}: {LOST} at {operation}" for _, verdict, operation in self.findings)


class Exploration:
    progress = "some of it"

    def __init__(self, options: ExploreOptions, *, test: str) -> None:
        self._options, self._test = options, test
        self._clean: list[str] = []
        self._campaigns = 0
        self._rows: list[tuple[Placement, str, str]] = []
        self._ended: str | None = None

    def placements(self) -> Iterator[Placement]:
        yield ()
        yield ()
        for number in range(1, len(self._clean) + 1):
            yield (number,)

    def prepare(self, sandbox: Any, placement: Placement) -> None:
        assert not sandbox.log.call_count
        for number in placement:
            sandbox.on("*").nth(number).drop("after")

    def stop(self) -> None:
        pass

    def end(self, reason: str) -> None:
        self._ended = reason

    def record(self, placement: Placement, sandbox: Any, raised: BaseException | None) -> None:
        campaigns = sum(len(tenant["campaigns"]) for tenant in sandbox.state()["tenants"])
        if not placement:
            assert raised is None
            self._clean = [exchange.operation for exchange in sandbox.log.exchanges]
            self._campaigns = campaigns
            return
        verdict = "crashed" if raised is not None else "silent" if campaigns != self._campaigns else "survived"
        self._rows.append((placement, verdict, self._clean[placement[0] - 1]))

    def report(self) -> ExploreReport:
        fails = {"silent", "crashed"} if self._options.strict else {"silent"}
        return ExploreReport(
            self._test,
            self._rows,
            self._ended is not None or any(verdict in fails for _, verdict, _ in self._rows),
            SimpleNamespace(failure=None, unexplored=None),
            self._ended,
        )
