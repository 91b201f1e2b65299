"""Rules that wait for sends, and effects that change them, compared with a model that sends one message at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from tests.operations.campaigning import NOON, TEMPLATE, cancel, counts, create, run, start, statuses

MINUTE = 60_000_000
WORLD = {"templates": [TEMPLATE], "chats": {"count": 8, "vary": {"id": [f"chat_{n}" for n in range(8)]}}}

pytestmark = pytest.mark.mockserver(given=WORLD, now=NOON)


@dataclass
class Message:
    """A message: when it is due, in microseconds, and whether it fails."""

    due: Fraction
    fails: bool = False


class Naive:
    """An execution as a list: of each message that is not sent yet, when it is due and whether it fails."""

    def __init__(self, total: int, per_minute: int) -> None:
        self.own = per_minute
        self.done: list[Message] = []
        self.queue = [Message(Fraction(MINUTE * place, per_minute)) for place in range(total)]
        self.stalled = False

    def pass_to(self, now: int | Fraction) -> None:
        while self.queue and not self.stalled and self.queue[0].due <= now:
            self.done.append(self.queue.pop(0))

    def apply_effect(self, now: int, effect: str, number: int) -> None:
        begun = len(self.done) > 0
        if effect == "stall-sends":
            self.stalled = True
        elif effect == "fail-sends":
            for place, message in enumerate(self.queue, len(self.done) + 1):
                message.fails = message.fails or place % number == 0
        else:
            rate = self.own if effect == "resume-sends" else min(number, self.own)
            first = now if effect == "resume-sends" or not begun else now + -(-MINUTE // rate)
            self.stalled = False
            for place, message in enumerate(self.queue):
                message.due = first + Fraction(MINUTE * place, rate)

    def counts(self) -> tuple[int, int, int]:
        failed = sum(message.fails for message in self.done)
        return len(self.done) + len(self.queue), len(self.done) - failed, failed


EFFECTS: st.SearchStrategy[tuple[str, JSON]] = st.one_of(
    st.tuples(st.just("stall-sends"), st.just({})),
    st.tuples(st.just("resume-sends"), st.just({})),
    st.tuples(st.just("slow-sends"), st.integers(1, 90).map(lambda each: {"perMinute": each})),
    st.tuples(st.just("fail-sends"), st.integers(1, 4).map(lambda each: {"every": each})),
)
STEPS = st.lists(st.tuples(st.integers(1, 20_000_000), EFFECTS), max_size=6)


@given(STEPS, st.integers(1, 8), st.sampled_from([1, 7, 60, 4800]), st.integers(0, 9))
def test_modified_sends_equal_those_of_a_list_of_messages_and_each_count_is_reached_at_its_instant(
    steps: list[tuple[int, tuple[str, JSON]]], chats: int, cadence: int, wanted: int
) -> None:
    world = {"templates": [TEMPLATE], "chats": {"count": chats}}
    naive, now = Naive(chats, cadence), 0
    with MockServer().sandbox(given=world, now=NOON) as sandbox:
        began = sandbox.now
        rule = sandbox.after(sent=wanted).set_tenant(name="Reached")
        reached = None
        ids = run(sandbox, cadence=cadence)

        def go(to: int) -> None:
            """Message by message; when the wanted number was sent, by the model."""
            nonlocal reached
            naive.pass_to(now)
            while True:
                if reached is None and naive.counts()[1] >= wanted:
                    reached = now if not naive.done or wanted == 0 else max(now, -(-naive.done[-1].due // 1))
                due = naive.queue[0].due if naive.queue and not naive.stalled else None
                if due is None or due > to:
                    return
                naive.pass_to(due)

        go(0)
        for wait, (effect, arguments) in steps:
            go(now + wait)
            now += wait
            naive.pass_to(now)
            fired = sandbox.advance(timedelta(microseconds=wait))
            _reached_as_in_the_model(fired, reached, began, now - wait)
            assert naive.counts() == counts(sandbox, ids)
            if naive.queue:
                naive.apply_effect(now, effect, next(iter(arguments.values()), 0))
                sandbox.at(0).do({effect: arguments})
                sandbox.advance(0)
                naive.pass_to(now)
                go(now)
                assert naive.counts() == counts(sandbox, ids)
        sandbox.advance("10h")
        go(now + 600 * MINUTE)
        assert naive.counts() == counts(sandbox, ids)
        assert ("processing" if naive.queue else "completed") == statuses(sandbox, ids)[0]
        assert (0 if reached is None else 1) == rule.fired


def _reached_as_in_the_model(fired: list[JSON], reached: int | None, began: datetime, since: int) -> None:
    for each in fired:
        if each["what"] == "execution.sent":
            at = datetime.fromisoformat(each["at"])
            assert reached is not None
            assert reached == (at - began) // timedelta(microseconds=1) or reached <= since


@pytest.mark.parametrize("applied", ["before the start", "after the start"])
@pytest.mark.parametrize("wanted, second", [(0, 0), (1, 0), (5, 4), (8, 7)])
def test_a_count_is_reached_at_the_instant_of_its_send_also_the_very_last(
    mockserver: Sandbox, applied: str, wanted: int, second: int
) -> None:
    campaign_id = create(mockserver)
    if applied == "after the start":
        start(mockserver, campaign_id)
    rule = mockserver.after(sent=wanted).fail_campaign()
    if applied == "before the start":
        start(mockserver, campaign_id)
    mockserver.advance("10m")

    assert 1 == rule.fired
    ended = [each for each in mockserver.log.journal["transitions"] if each["kind"] == "campaign"][-1]
    assert ("failed", {"rule": rule.id}) == (ended["to"], ended["cause"])
    assert f"2026-03-01T12:00:0{second}" == ended["at"][:19]


def test_a_count_is_reached_once_per_execution(mockserver: Sandbox) -> None:
    rule = mockserver.after(sent=3).do({"slow-sends": {"perMinute": 1}})
    for name in "AB":
        run(mockserver, name=name)
        mockserver.advance("20m")

    assert 2 == rule.fired


def test_after_a_cancel_no_count_is_reached(mockserver: Sandbox) -> None:
    rule = mockserver.after(sent=4).may_fire().set_tenant(name="Never")
    ids = run(mockserver)
    mockserver.advance("2s")
    cancel(mockserver, ids[0])
    mockserver.advance("10m")

    assert 0 == rule.fired


def test_a_condition_has_to_hold_at_the_instant_of_the_count(mockserver: Sandbox) -> None:
    rule = mockserver.after(sent=4).while_(subscription="suspended").fail_campaign()
    mockserver.at("2s").set_tenant(subscription="suspended")
    ids = run(mockserver)
    mockserver.advance("3s")
    mockserver.admin.set_tenant(subscription="active")

    assert (("failed", "failed"), 1) == (statuses(mockserver, ids), rule.fired)


def test_an_effect_in_the_start_applies_from_the_first_send(mockserver: Sandbox) -> None:
    for effect, seen in (("stall-sends", (8, 0, 0)), ("fail-sends", (8, 0, 1)), ("slow-sends", (8, 1, 0))):
        arguments = {"perMinute": 1} if effect == "slow-sends" else {}
        rule = mockserver.on("startCampaign").do({effect: arguments})
        assert seen == counts(mockserver, run(mockserver, name=effect)), effect
        rule.remove()


def test_the_failing_share_is_derived_from_the_seed(mockserver_server: MockServer) -> None:
    def failed(seed: int, ratio: float = 0.5) -> int:
        world = {"templates": [TEMPLATE], "chats": {"count": 400}}
        with mockserver_server.sandbox(given=world, seed=seed) as sandbox:
            sandbox.on("startCampaign").fail_sends(ratio=ratio)
            ids = run(sandbox, cadence=4800)
            sandbox.advance("1h")
            return counts(sandbox, ids)[2]

    assert failed(1) == failed(1)
    assert len({failed(seed) for seed in range(5)}) > 1
    assert all(150 < failed(seed) < 250 for seed in range(5))
    assert [0, 400] == [failed(1, 0), failed(1, 1)]


def test_named_chats_are_those_that_fail(mockserver: Sandbox) -> None:
    mockserver.on("startCampaign").fail_sends(chats=["chat_2", "chat_7", "chat_nobody"])
    ids = run(mockserver)
    seen = []
    for _ in range(8):
        seen.append(counts(mockserver, ids)[2])
        mockserver.advance("1s")

    assert [0, 0, 1, 1, 1, 1, 1, 2] == seen


@pytest.mark.clause("campaigns.status-values")
@pytest.mark.mockserver(choices={"execution-status-lag": "campaign-first"})
@pytest.mark.parametrize("end", ["finish", "fail", "cancel"])
@pytest.mark.parametrize(
    "rule",
    [
        {"after": {"sent": 8}, "do": {"stall-sends": {}}},
        {"after": {"sent": 1}, "do": {"slow-sends": {"perMinute": 1}}},
        {"after": {"sent": 9}, "do": {"fail-sends": {"every": 1}}},
    ],
)
def test_a_rule_applied_while_an_execution_lags_ignores_an_ended_campaign(
    mockserver: Sandbox, end: str, rule: JSON
) -> None:
    ids = run(mockserver, cadence=60)
    mockserver.advance(7 if end == "finish" else 3)
    if end == "fail":
        mockserver.admin.fail_campaign(ids[0])
    elif end == "cancel":
        cancel(mockserver, ids[0])
    ended, counted = statuses(mockserver, ids)[0], counts(mockserver, ids)
    assert "processing" == statuses(mockserver, ids)[1]

    mockserver.apply({"script": [rule]})
    mockserver.advance("1h")

    assert (ended, ended) == statuses(mockserver, ids)
    assert counted == counts(mockserver, ids)
    assert [0] == [each["fired"] for each in mockserver.rules]
