"""
The checks of a service by the histories of a recording, and the report: each clause, its contradictions, and why it was not judged.

A clause that was not judged was not met (no call concerns it), is not visible (no recording shows it), or is excused (what was
seen is an option of a choice). No text in the report is private: exchanges are cited as the masked recording has them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.clauses import Clause, read
from mockserver.contract.schemas import ABSENT
from mockserver.contract.text import brief
from mockserver.core.instants import format_milliseconds
from mockserver.judge.service import campaigns, executions, records, requests, sessions
from mockserver.judge.service.answers import Judgement, judged_answers
from mockserver.judge.service.evidence import History
from mockserver.judge.service.verdicts import Contradiction, Verdicts
from mockserver.trace.exchange import Cited, DeliveryAttempt, Exchange
from mockserver.trace.trace import Trace

Verdict = Literal["holds", "broken", "not observed"]
_LINE_CHARS: Final = 160
_EXCERPT_CHARS: Final = 300
_PROOFS_MAX: Final = 3
_CHATS: Final = "a recording does not show the chats of an audience"
_USER: Final = "a recording does not show what an end user did at the hosted page"
_KEYS: Final = "a recording does not show to whom a key belongs, and recorders mask keys"
_NO_KEY: Final = "the recording has no keys, which show that calls are of one tenant"
_OPEN: Final = "the document leaves it open"
_UPLOADS: Final = "the limits and accepted types are not documented, and recorders leave out the contents of files"
_ADVICE: Final = "it is advice to clients: see `mockserver judge --client`"
# Why no recording shows that a clause is broken.
NOT_VISIBLE: Final[Mapping[str, str]] = {
    "base.prefix": "calls of other paths are left out",
    "base.invalid-request": _OPEN,
    "base.input": _OPEN,
    "base.unknown-path": "the service may have calls that the document does not contain",
    **dict.fromkeys(
        ("filters.fields", "filters.platform-values", "filters.invalid"),
        "the filter schema of the service is the authority, and its shape is not documented",
    ),
    **dict.fromkeys(("auth.unknown", "auth.any-secret-key", "auth.denied"), _KEYS),
    "auth.public-elsewhere": _OPEN,
    "auth.developers-disabled": "a recording does not show the settings of a tenant",
    "auth.precedence": _OPEN,
    "templates.automatic": "the API does not show which placeholders are automatic",
    "templates.varn": "a variable may be one that no text uses",
    "templates.read-only": "only calls that the document does not contain could show it",
    "templates.status": _OPEN,
    **dict.fromkeys(
        ("filters.groups-and", "filters.combinator", "filters.no-value", "filters.value2", "filters.dates",
         "filters.semantics", "audience.all", "audience.platform-free"),
        _CHATS,
    ),
    "start.size": "the volume of a platform is not documented",
    "send.failures": "a recording does not show why a send failed",
    "send.message": "a recording does not show which chats were targets",
    "send.failed": "a recording does not show the failure that cannot be recovered",
    "cancel.queued": "the document does not limit what is still sent after a cancel",
    **dict.fromkeys(
        ("session.funnel-step", "session.user-cancels", "session.funnel-checked-late", "session.phone-in-use", "session.return"),
        _USER,
    ),
    "events.subscribed": "a recording does not show the registered endpoints",
    "events.nothing-lost": "a recording may lack deliveries",
    **dict.fromkeys(("media.audio-single", "media.empty", "media.too-many", "media.too-large", "media.format"), _UPLOADS),
}  # fmt: skip


class HistoryCheck(NamedTuple):
    """
    A check over one tenant's history.

    Attributes:
        run: Judges a history.
        clauses: Those that it may judge.
        needs_tenant: Whether it needs to know that all calls are of one tenant, which only a recorded key shows.
    """

    run: Callable[[History, Verdicts], None]
    clauses: tuple[str, ...]
    needs_tenant: bool = False


# fmt: off
CHECKS: Final[tuple[HistoryCheck, ...]] = (
    HistoryCheck(campaigns.lifecycles,         ("campaigns.status-values", "start.response", "start.not-draft", "start.already", "start.once", "cancel.processing")),
    HistoryCheck(campaigns.fixed_fields,       ("campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.cadence-kept")),
    HistoryCheck(campaigns.names,              ("campaigns.name",), needs_tenant=True),
    HistoryCheck(campaigns.lists,              ("campaigns.list",), needs_tenant=True),
    HistoryCheck(campaigns.existence,          ("campaigns.detail", "start.unknown", "cancel.unknown"), needs_tenant=True),
    HistoryCheck(campaigns.refused_starts,     ("start.refused-changes-nothing",)),
    HistoryCheck(campaigns.refused_creations,  ("campaigns.create",), needs_tenant=True),
    HistoryCheck(executions.counts,            ("start.audience-fixed", "send.counts", "send.completed", "send.progress")),
    HistoryCheck(executions.lifecycles,        ("campaigns.status-values", "campaigns.detail-executions", "cancel.processing", "send.completed", "start.response")),
    HistoryCheck(executions.unknown,           ("execution.read",), needs_tenant=True),
    HistoryCheck(executions.instants,          ("campaigns.detail-executions", "send.completed")),
    HistoryCheck(executions.rates,             ("send.cadence",)),
    HistoryCheck(sessions.lifecycles,          ("session.final", "session.failed", "session.expired", "session.completed", "session.read", "events.once", "events.connected", "events.failed")),
    HistoryCheck(sessions.deadlines,           ("session.expires-at", "session.expired", "events.connected")),
    HistoryCheck(sessions.entrypoints,         ("session.final", "session.completed", "events.connected")),
    HistoryCheck(sessions.links,               ("session.url",)),
    HistoryCheck(sessions.unknown,             ("session.read",), needs_tenant=True),
    HistoryCheck(sessions.events,              ("base.tenant-scope", "events.session-id"), needs_tenant=True),
    HistoryCheck(records.ids,                  ("base.ids",)),
    HistoryCheck(records.answers_about_another, ("campaigns.detail", "execution.read", "session.read", "templates.detail", "entrypoints.read")),
    HistoryCheck(records.templates,            ("templates.list", "templates.official")),
    HistoryCheck(requests.keys,                ("auth.header", "auth.secret-only")),
    HistoryCheck(requests.bodies,              ("campaigns.name", "campaigns.description", "campaigns.platform", "campaigns.template", "campaigns.cadence", "campaigns.validation", "start.common-variables", "start.response", "session.no-extra", "session.funnel-pair", "session.coexistence", "session.return-url")),
    HistoryCheck(requests.filters,             ("filters.operators", "filters.types", "audience.same-filters")),
    HistoryCheck(requests.catalog,             ("filters.schema",)),
    HistoryCheck(requests.platforms,           ("campaigns.template-mismatch", "campaigns.template", "templates.unknown"), needs_tenant=True),
    HistoryCheck(requests.variables,           ("start.missing-variables",)),
    HistoryCheck(requests.templates,           ("templates.items", "templates.common-variables")),
    HistoryCheck(requests.cancels,             ("cancel.no-body", "cancel.draft", "cancel.final")),
    HistoryCheck(records.messages,             ("messages.record", "messages.list")),
)
# fmt: on


def judge_histories(recording: Trace) -> Verdicts:
    """
    Return what the histories of a recording prove about the service.

    A contradiction holds under every option of every choice, for every order of calls that the recorder's intervals allow.
    The recording is the one as it was read: stand-ins of two short names may be equal. No text of a contradiction is private:
    names, descriptions and urls are not cited.
    """
    verdicts = Verdicts()
    keyed = {key for key in recording.by_key if (key or "").startswith(("sk_", "pk_"))}
    keyed_sources = frozenset(exchange.source for exchange in recording.exchanges if exchange.key in keyed)
    for key, exchanges in recording.by_key.items():
        history = History(exchanges, recording.deliveries, keyed_sources)
        for check in CHECKS:
            if not check.needs_tenant or key in keyed:
                check.run(history, verdicts)
            elif not keyed:
                verdicts.not_shown.update(dict.fromkeys(check.clauses, _NO_KEY))
    return verdicts


class ExchangeExcerpt(NamedTuple):
    """An answer that breaks a clause: the request, the response, and the response that was expected, each in one line."""

    method: str
    path: str
    status: int
    request: str
    response: str
    expected: str


class ClauseResult(NamedTuple):
    """
    Whether a service keeps a clause.

    Attributes:
        id: The clause's id.
        text: Its sentence.
        verdict: `not observed` if nothing was judged.
        why: Why it was not judged; empty otherwise.
        exchanges: The number of comparisons.
        proofs: Answers that break it by themselves, a few of them.
    """

    id: str
    text: str
    verdict: Verdict
    why: str
    exchanges: int
    proofs: tuple[ExchangeExcerpt, ...]


class ServiceReport(NamedTuple):
    """
    What a recording shows of a service.

    Attributes:
        recording: With stand-ins for what is private.
        judgements: The results of the checks of single answers.
        verdicts: The results of the checks of histories.
        hide: Returns a text of the API with stand-ins for what is private in it.
    """

    recording: Trace
    judgements: Sequence[Judgement]
    verdicts: Verdicts
    hide: Callable[[str], str]

    @property
    def clauses(self) -> tuple[ClauseResult, ...]:
        """Each clause with its verdict by both kinds of checks."""
        by_clause: dict[str, list[Judgement]] = defaultdict(list)
        for row in self.judgements:
            by_clause[row.clause].append(row)
        broken = {row.clause for row in self.verdicts.contradictions}
        return tuple(self._result(clause, by_clause[clause.id], is_broken=clause.id in broken) for clause in read())

    def _result(self, clause: Clause, judgements: Sequence[Judgement], *, is_broken: bool) -> ClauseResult:
        wrong = [row for row in judgements if not row.holds]
        proofs = tuple(map(_proof, wrong[:_PROOFS_MAX]))
        compared = len(judgements) + self.verdicts.compared[clause.id]
        verdict: Verdict = "holds" if compared else "not observed"
        if is_broken or proofs:
            verdict = "broken"
        why = self._why_not(clause.id) if verdict == "not observed" else ""
        return ClauseResult(id=clause.id, text=clause.text, verdict=verdict, why=why, exchanges=compared, proofs=proofs)

    def _why_not(self, id: str) -> str:
        if id in self.verdicts.excused:
            return f"excused: the choice {self.verdicts.excused[id]} allows what was seen"
        if id in self.verdicts.not_shown:
            return f"not visible: {self.verdicts.not_shown[id]}"
        if id.startswith("advice."):
            return f"not visible: {_ADVICE}"
        return (
            f"not visible: {NOT_VISIBLE[id]}" if id in NOT_VISIBLE else "not met: no call of the recording concerns it"
        )

    @property
    def broken(self) -> list[ClauseResult]:
        """The clauses that the service broke."""
        return [row for row in self.clauses if row.verdict == "broken"]

    def contradictions(self, clause: str) -> list[Contradiction]:
        """Return the contradictions that break a clause."""
        return [row for row in self.verdicts.contradictions if row.clause == clause]

    def as_json(self) -> list[JSON]:
        """Return a row for each clause, with the contradictions that break it."""
        rows = []
        for row in self.clauses:
            proofs = [proof._asdict() for proof in row.proofs]
            contradictions = [self.contradiction_json(each) for each in self.contradictions(row.id)]
            rows.append(row._asdict() | {"proofs": proofs, "contradictions": contradictions})
        return rows

    def contradiction_json(self, row: Contradiction) -> JSON:
        """Return a contradiction with the exchanges and deliveries that show it."""
        return {
            "record": self.hide(row.record),
            "values": [self.hide(value) for value in row.values],
            "assumption": row.assumption,
            "exchanges": [self._place(cited) for cited in row.cited],
        }

    def _place(self, cited: Cited) -> JSON:
        if isinstance(cited, DeliveryAttempt):
            shown = {"kind": "delivery", "method": "POST", "url": "the receiver"}
        else:
            masked = self.recording.exchanges[cited.number - 1]
            shown = {"kind": "exchange", "method": masked.method, "url": self.recording.prefix + masked.path}
        return {**shown, "index": cited.number, "at": _at(cited), "status": cited.status}


def judge_service(
    masked: Trace, plain: Trace | None = None, hide: Callable[[str], str] = lambda text: text
) -> ServiceReport:
    """
    Judge a service by a recording: each answer by itself, and the histories of its records.

    Args:
        masked: The recording with stand-ins for what is private, which the report cites.
        plain: The recording as it was read; `masked` by default.
        hide: Returns a text of the API with stand-ins for what is private in it.
    """
    return ServiceReport(masked, judged_answers(masked, plain), judge_histories(plain or masked), hide)


def _proof(row: Judgement) -> ExchangeExcerpt:
    exchange = row.exchange
    sent = (exchange.request_body or b"").decode("utf-8", "replace")
    prefix = (exchange.key or "").partition("_")[0]
    role = {"sk": "", "pk": " (public key)", "": " (no key)"}.get(prefix, " (unknown key)")
    request = f"{exchange.method} {exchange.path}{role}{' ' if sent else ''}{brief(sent, _EXCERPT_CHARS)}"
    return ExchangeExcerpt(
        method=exchange.method,
        path=exchange.path,
        status=exchange.status or 0,
        request=request,
        response=_response(exchange),
        expected=row.expected,
    )


def _response(exchange: Exchange) -> str:
    body = exchange.response_body or b""
    if not body:
        return f"{exchange.status} (no content)"
    value = exchange.response_json
    text = repr(body[:_EXCERPT_CHARS]) if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return f"{exchange.status} {brief(text, _EXCERPT_CHARS)}"


def _at(cited: Cited) -> str | None:
    if not isinstance(cited, DeliveryAttempt) and not cited.is_timed:
        return None
    return format_milliseconds(cited.at)


_ORDER: Final = ("broken", "holds", "not observed")


def lines(report: ServiceReport) -> Iterator[str]:
    """Yield the lines of the report, broken clauses first."""
    rows = report.clauses
    counts = Counter(row.verdict for row in rows)
    yield f"Clauses: {counts['broken']} broken, {counts['holds']} hold, {counts['not observed']} not judged"
    for row in sorted(rows, key=lambda row: _ORDER.index(row.verdict)):
        note = {
            "broken": row.text,
            "holds": f"({row.exchanges} comparison{'s' * (row.exchanges != 1)})",
            "not observed": f"({row.why})",
        }[row.verdict]
        verdict = "not judged" if row.verdict == "not observed" else row.verdict
        yield f"  {verdict:<12}{row.id:<30} {note}"
        yield from proof_lines(row)
        for contradiction in report.contradictions(row.id):
            yield from contradiction_lines(report, contradiction)


def proof_lines(row: ClauseResult) -> Iterator[str]:
    """Yield the answers that break a clause by themselves, each with what was expected."""
    for proof in row.proofs:
        yield brief(f"      {proof.request}", _LINE_CHARS)
        yield brief(f"        got       {proof.response}", _LINE_CHARS)
        yield brief(f"        expected  {proof.expected}", _LINE_CHARS)


def contradiction_lines(report: ServiceReport, row: Contradiction) -> Iterator[str]:
    """Yield a contradiction: the record and the two values, the exchanges that show them, and the weakest assumption."""
    shown = report.contradiction_json(row)
    record = f"{shown['record']}: " if shown["record"] and not shown["record"].startswith("#") else ""
    yield brief(f"      {record}{'; '.join(shown['values'])}", _LINE_CHARS)
    for place in shown["exchanges"]:
        number = f"delivery #{place['index']}" if place["kind"] == "delivery" else f"#{place['index']}"
        at = f" {place['at']}" if place["at"] else ""
        yield brief(f"        {number}{at} {place['method']} {place['url']} -> {place['status']}", _LINE_CHARS)
    yield f"        assumes that {shown['assumption']}"
