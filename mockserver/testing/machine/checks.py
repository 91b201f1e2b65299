"""
Checks of a machine's invariants: judges of conduct applied to one step, and what only the steps of a machine show.

A step is one decision of the client under test, as the machine made it. Conduct judges a whole run, in which several
users and workers may act, and so it has to excuse what within one step has no excuse. Each check that is not a judge
of conduct has a comment with the reason; all read the same traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import FINAL
from mockserver.core import ledger
from mockserver.core.instants import SECOND
from mockserver.judge.check import Proof, cited_calls
from mockserver.judge.client.evidence import is_early
from mockserver.judge.client.requests import page_length, places_of_keys
from mockserver.judge.client.rules import RULES
from mockserver.testing.machine.example_log import ExampleLog
from mockserver.trace.exchange import TOO_MANY, Exchange
from mockserver.trace.sightings import next_cursor
from mockserver.trace.trace import Trace, numbers

Check = Callable[[ExampleLog], Iterator[str]]

_STORM = 3
_WRITES = tuple(row.id for row in ENDPOINTS.values() if row.writes)


def in_step(*rules: str, least_calls: int = 1) -> Check:
    """Return a check by these rules of conduct of the calls that one step made, if it made enough to break them."""

    def check(log: ExampleLog) -> Iterator[str]:
        for rule in rules if len(log.new) >= least_calls else ():
            yield from map(_sentence, _proofs(rule, log.step))

    return check


def in_example(rule: str, *operations: str) -> Check:
    """Return a check by a rule of conduct of the whole example, after each step that calls one of the operations."""

    def check(log: ExampleLog) -> Iterator[str]:
        for proof in _proofs(rule, log.example) if log.has_new(*operations) else ():
            if log.is_of_step(proof.exchanges):
                yield _sentence(proof)

    return check


def _proofs(rule: str, trace: Trace) -> Iterator[Proof]:
    check = RULES[rule]
    if check.judge is None or not check.needs <= trace.knows:
        return
    for verdict in check.judge(trace):
        if isinstance(verdict, Proof):
            yield verdict


def _sentence(proof: Proof) -> str:
    return f"{proof.message}{_citation(proof.exchanges)}"


def _citation(exchanges: Sequence[int | None]) -> str:
    cited = [n for n in exchanges if n is not None]
    return cited_calls(cited, len(cited))


# The ledger counts effects; conduct has no rule on them: two users may ask for the same, one step may not.
def duplicate_executions(log: ExampleLog) -> Iterator[str]:
    """Two executions of one template with the same values to the same chats within a day."""
    if _executions(log) < 2:
        return
    for row in ledger.duplicate_executions(log.run, ledger.creating_exchanges(log.run)):
        if log.is_one_step(*row["exchanges"]):
            first, second = row["campaignIds"]
            yield f"campaigns {first} and {second} sent the same to the same chats{_citation(row['exchanges'])}"


def duplicate_sends(log: ExampleLog) -> Iterator[str]:
    """One chat received the same template with the same values twice within a day."""
    if _executions(log) < 2:
        return
    starts = ledger.creating_exchanges(log.run)
    for row in ledger.duplicate_sends(log.run, starts):
        started = sorted(starts.get(execution_id, 0) for execution_id in row["executionIds"])
        if any(log.is_one_step(*pair) for pair in pairwise(started)):
            yield f"chat {row['chatId']} received template {row['templateId']} with the same values {row['count']} times"


def _executions(log: ExampleLog) -> int:
    return sum(len(tenant.executions) for tenant in log.run.tenants.values())


# clone-after-conflict and rename-after-lost-create wait until both campaigns are started, since a user may well make
# a similar one. Within one step the client made both, so that an unstarted original is evidence enough.
def clones(log: ExampleLog) -> Iterator[str]:
    """A campaign that the client created again because it took the first for failed."""
    if sum(len(tenant.campaigns) for tenant in log.run.tenants.values()) < 2:
        return
    for row in ledger.clones(log.run, ledger.creating_exchanges(log.run)):
        if log.is_one_step(*row["exchanges"]):
            cited = _citation(row["exchanges"])
            yield f"campaign {row['cloneId']} is a clone of {row['originalId']}, created after {row['why']}{cited}"


# restart-canceled waits for the refusal and excuses completed campaigns, which a user may try to start. A machine's
# client has received the final status itself, so that its call is wrong whatever the response.
def restarts(log: ExampleLog) -> Iterator[str]:
    """A start of a campaign after the client received its final status."""
    if not log.has_new("startCampaign"):
        return
    ended: dict[str, Exchange] = {}
    for exchange in log.example.of("readCampaign", "readExecution", "startCampaign"):
        campaign, is_start = exchange.params["id"], exchange.trigger == "start"
        if not is_start and exchange.succeeded and exchange.field("status") in FINAL:
            ended[campaign] = exchange
            continue
        is_late_start = is_start and campaign in ended and not exchange.arrived_late
        if is_late_start and log.is_of_step([exchange.number]):
            final = ended[campaign].number
            yield f"campaign {campaign} was started (#{exchange.number}) after a read of its final status (#{final})"


# Conduct has no rule on them: many users may click at a time. One step is one click, and needs one session.
def repeated_session_creates(log: ExampleLog) -> Iterator[str]:
    """Sessions that one step created one after another; a session whose answer was lost is unknown to the client."""
    created = [call for call in log.step.of("createConnectionSession") if call.applied and call.succeeded]
    if len(created) >= _STORM or any(second.at - first.at < SECOND for first, second in pairwise(created)):
        yield f"one step created {len(created)} connection sessions{_citation(numbers(created))}"


# only-200-is-ok and json-on-204 judge starts and cancels alone: a user may mean to create or upload the same twice.
def repeat_after_success(log: ExampleLog) -> Iterator[str]:
    """The same POST again, although it succeeded."""
    for first, second in pairwise(log.step.of(*_WRITES)):
        if first.succeeded and first.request == second.request and not second.arrived_late:
            success = f"{first.status} (#{first.number})"
            yield f"{first.operation} was sent again (#{second.number}), although it had succeeded with {success}"


# ignore-retry-after compares equal requests, since workers may share a key. A step's calls are made one after
# another by one client, which therefore must not make any call before the wait is over.
def early_retry(log: ExampleLog) -> Iterator[str]:
    """A call of the step earlier than a 429 allows."""
    limited_by: dict[str | None, Exchange] = {}
    for exchange in log.step.exchanges:
        limited = limited_by.get(exchange.key)
        if limited is not None and is_early(log.step, limited, exchange) and not exchange.arrived_late:
            early = (limited.at + (limited.requested_wait or 0) - exchange.at) / SECOND
            called = f"{exchange.operation} was called (#{exchange.number})"
            yield f"{called} {early:g} s before the Retry-After of #{limited.number} was over"
        if exchange.status == TOO_MANY and exchange.was_received and exchange.requested_wait is not None:
            limited_by[exchange.key] = exchange


# cancel-and-forget waits until everything is sent, and blames the last attempt that failed: the run may have ended
# before the next. A step is complete, so that a single attempt proves it, and a client that repeated may give up, as may
# one whose key or subscription the service refuses.
def forgotten_cancels(log: ExampleLog) -> Iterator[str]:
    """A cancel that failed for a passing reason, made once, while the campaign continues."""
    barred = [exchange.n for exchange in log.new if exchange.status in (401, 403) and exchange.was_received]
    for campaign_id, (first, *later) in log.step.grouped_by("id", "cancelCampaign"):
        tenant = log.run.tenants.get(first.key or "")
        campaign = tenant.campaigns.get(campaign_id) if tenant else None
        is_forgotten = not later and not any(number > first.number for number in barred)
        if first.has_to_be_retried and is_forgotten and campaign is not None and campaign.status == "processing":
            yield f"the cancel of {campaign_id} failed (#{first.number}) and was not repeated: the campaign continues to send"


# page-early-stop excuses a client that stops at a full page: it may show the newest messages alone. A test that
# switches this invariant on has a client that reads all of them.
def early_stops(log: ExampleLog) -> Iterator[str]:
    """A list that the client left at a page with a next one."""
    for chat_id, pages in log.step.grouped_by("chatId", "listMessages"):
        last = pages[-1]
        cursor = next_cursor(last) if last.succeeded else None
        if cursor:
            page = f"a page of {page_length(last)} (#{last.number})"
            yield f"the paging of {chat_id} ended with {page}, whose nextCursor is {cursor[:12]}..."


# key-in-wrong-place recognizes secret keys by their form; a machine compares with all keys and signing secrets of
# its sandbox, of whatever form.
def secrets(log: ExampleLog) -> Iterator[str]:
    """A key or signing secret outside of X-API-Key."""
    known = log.secrets if log.new else []
    for exchange in log.step.exchanges:
        for place in places_of_keys(exchange, lambda text: any(secret in text for secret in known)):
            yield f"{exchange.operation} (#{exchange.number}) has a key in the {place}"


def none(_: ExampleLog) -> Iterator[str]:
    """Nothing: the machine itself reports a violation."""
    yield from ()
