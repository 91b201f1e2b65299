"""Why a run has its verdict, and the findings of many runs: the cases of one cause, with the document that replays the smallest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from mockserver._files import write_whole
from mockserver._json import JSON
from mockserver.contract.clauses import sentence_of
from mockserver.core.redaction import Redactor
from mockserver.judge.check import Finding
from mockserver.report.problem import Problem, problem_lines
from mockserver.scenario import documents
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN
from mockserver.testing.report.folder import file_name
from mockserver.testing.runs.investigation import Investigation, muted_logs

# What lets a client that sleeps in real time sleep on the sandbox's clock.
CURE: Final = (
    'sleep=mockserver.sleep, or monkeypatch.setattr(time, "sleep", mockserver.sleep), or for a coroutine '
    'monkeypatch.setattr(asyncio, "sleep", mockserver.aio.sleep)'
)
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{5,}\b")  # of memory; a shorter number may be a byte
_IN_PROCESS: Final = re.compile(re.escape(IN_PROCESS_ORIGIN) + r"(/sandboxes/\w+)?")
_CAUSE_CHARS: Final = 60  # in the name of a document, which has 200 at most


Key = tuple[str, str, str]  # of a cause: its verdict, name and effect


class Cause(NamedTuple):
    """
    Why a run has its verdict.

    Attributes:
        verdict: The verdict that this cause alone leads to.
        name: A rule on conduct, a list of the ledger, the name of an exception, or what its verdict calls it.
        message: One sentence.
        clause: The clause that the client breaks; None if no rule on conduct names one.
        advice: What the client has to do instead; empty if no rule has it.
        effect: What distinguishes it from other causes of its name; empty if the name does.
        shown: The records and calls that show it, as lines.
        client: The client that has it; None if it is that of all.
    """

    verdict: str
    name: str
    message: str
    clause: str | None = None
    advice: str = ""
    effect: str = ""
    shown: Sequence[str] = ()
    client: str | None = None

    @classmethod
    def of_finding(cls, verdict: str, finding: Finding, client: str | None = None) -> Cause:
        """Return a finding on conduct as a cause."""
        return cls(
            verdict=verdict,
            name=finding.rule,
            message=finding.message if client is None else f"{client}: {finding.message}",
            clause=finding.clause,
            advice=finding.advice,
            client=client,
        )

    @property
    def key(self) -> Key:
        """What is equal for causes of one finding."""
        return self.verdict, self.name, self.effect


@dataclass
class RunFinding:
    """
    The cases of one cause.

    Attributes:
        verdict: Its verdict.
        cause: The name of the cause.
        message: One sentence on the smallest case.
        clause: The clause that the client breaks; None if no rule on conduct names one.
        advice: What the client has to do instead; empty if no rule has it.
        count: How many cases there are.
        size: Of the smallest case, for comparisons.
        shown: The records and calls that show it in the smallest case, as lines.
        document: The scenario document that replays the smallest case.
        path: Where the document was written; None if it was not.
    """

    verdict: str
    cause: str
    message: str
    clause: str | None
    advice: str
    count: int = 0
    size: tuple[int, ...] = field(default=(), repr=False)
    shown: Sequence[str] = ()
    document: JSON = field(default_factory=dict)
    path: str | None = None

    @property
    def problem(self) -> Problem:
        """What went wrong in the smallest case."""
        return Problem(
            headline=f"{self.verdict}: {self.message}",
            rank="cause",
            got=self.shown,
            advice=self.advice,
            sentence=None if self.clause is None else sentence_of(self.clause),
            ids=[self.cause, *([self.clause] if self.clause is not None else [])],
        )

    def lines_of(self, cases: str) -> Iterator[str]:
        """Yield the finding as lines, with how often it was met, such as `3 placements`."""
        headline, *details = problem_lines(self.problem)
        yield f"{headline}, {cases}"
        yield from details
        if self.clause is not None:
            yield f"  {', '.join(self.problem.ids)}"

    def write(self, folder: Path) -> None:
        """Write the finding's document into a folder."""
        path = folder / f"{self.document['scenario']}.json"
        write_whole(path, documents.dump(self.document))
        self.path = path.as_posix()


@dataclass
class Part:
    """How many placements of a kind there are, how many are equal to others, how many were tried, and which changed nothing."""

    placements: int = 0
    merged: int = 0
    tried: int = 0
    not_tried: list[Any] = field(default_factory=list)

    def as_json(self) -> JSON:
        counts = {"placements": self.placements, "merged": self.merged, "tried": self.tried}
        return {**counts, "notTried": len(self.not_tried)}

    @property
    def left(self) -> int:
        return self.placements - self.merged - self.tried - len(self.not_tried)

    def describe(self, what: str) -> str:
        which = f"{self.tried} of {self.placements - self.merged}" if self.left else f"all {self.tried}"
        merged = f" ({self.merged} more are equal to one of them)" if self.merged else ""
        return f"{which} {what}s{merged}"


Found = TypeVar("Found", bound=RunFinding)


@dataclass(kw_only=True)
class ReportOfFindings(Generic[Found]):
    """
    The report of the runs of one test.

    Attributes:
        order: The verdicts of its findings, the worst first.
        test: The test's name.
        investigation: Its runs.
        by_cause: The findings by the keys of their causes.
        unwritten: Why documents of the findings were not written.
    """

    order: ClassVar[Sequence[str]]
    test: str
    investigation: Investigation
    by_cause: dict[Key, Found] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the report as text."""
        raise NotImplementedError

    @property
    def findings(self) -> list[Found]:
        """The findings, the worst first, then in the order in which they were met."""
        return sorted(self.by_cause.values(), key=lambda row: self.order.index(row.verdict))

    @property
    def runs(self) -> int:
        """The number of runs, those without a deviation included."""
        return self.investigation.runs

    @property
    def seconds(self) -> float:
        """Real time of everything."""
        return self.investigation.seconds

    @property
    def ended(self) -> str | None:
        """Why it ended before its last run, as the end of a sentence; None if it did not."""
        return self.investigation.ended

    @property
    def sleep(self) -> str | None:
        """Where the test or its client sleeps in real time, as the beginning of a sentence; None if it is not known to."""
        if self.investigation.longest is None:
            return None
        sleep, of_run = self.investigation.longest
        where = f", with {of_run}" if of_run else ""
        return f"the test or its client sleeps in real time ({sleep}{where})"

    def write_documents(self, folder: str | Path = ".mockserver/failures") -> None:
        """
        Write the scenario document of each finding, whose path its JSON then has, and next to it the trace of its run if it has one.

        Args:
            folder: Where the documents are written; it is made if it does not exist.

        Raises:
            OSError: One cannot be written.
        """
        for finding in self.findings:
            finding.write(Path(folder))

    def try_to_write_documents(self, folder: str | Path) -> None:
        """
        Write them as `write_documents` does; if one cannot be written, a note of the report states it.

        Args:
            folder: Where the documents are written; it is made if it does not exist.
        """
        try:
            self.write_documents(folder)
        except OSError as problem:
            self.unwritten.append(f"no replay document was written: {type(problem).__name__}: {problem}")


@contextmanager
def in_python(report: ReportOfFindings[Any]) -> Iterator[None]:
    """Mute the log lines of clients in the block; Ctrl-C gets the report so far as its note."""
    with muted_logs():
        try:
            yield
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(report.text())
            raise


def add_case(by_cause: dict[Key, Found], kind: type[Found], cause: Cause, size: tuple[int, ...]) -> tuple[Found, bool]:
    """
    Add a case, and return its finding, and True if no case of it so far is as small: then it is what the finding shows.

    Args:
        by_cause: The findings of a report.
        kind: Their class.
        cause: Why the run is a case.
        size: What is compared with the sizes of other cases.
    """
    row = by_cause.get(cause.key)
    if row is None:
        row = by_cause[cause.key] = kind(
            verdict=cause.verdict,
            cause=cause.name,
            message=cause.message,
            clause=cause.clause,
            advice=cause.advice,
        )
    row.count += 1
    is_smallest = row.count == 1 or size < row.size
    if is_smallest:
        row.size, row.message, row.shown = size, cause.message, cause.shown
    return row, is_smallest


def first_of_each_rule(findings: Sequence[Finding]) -> list[Finding]:
    """Return the first finding of each rule on conduct, in order."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.rule, finding)
    return list(first.values())


def document_name(test: str, cause: Cause) -> str:
    """Return the name of the document of a finding, which a file has too."""
    what = file_name(f"{cause.name} {cause.effect}".strip())
    if len(what) > _CAUSE_CHARS:
        what = f"{what[: _CAUSE_CHARS // 2]}-{what[-_CAUSE_CHARS // 2 :]}"
    return f"{file_name(test)}-{cause.verdict}-{what}"


def describe(raised: BaseException, base_url: str) -> str:
    """
    Return type and first line of an exception, without secrets and what differs from run to run: addresses of sandbox and memory.

    One with an `explore_cause` is the failure of a program in another language, which has no type.
    """
    first = Redactor(()).text(str(raised).strip().partition("\n")[0])
    text = _ADDRESS.sub("0x...", first.replace(base_url, "{base_url}"))
    text = _IN_PROCESS.sub("{base_url}", text)
    if hasattr(raised, "explore_cause"):
        return text
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__
