"""A run learns exactly what the service does: every observable choice, in many combinations."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.testing.transports.in_process import Response
from tests.verify.worlds import LEARNT, NOW, learnable, run, shows, world, wrongly_learnt

COMBINATIONS, SEED = 50, 35

GUIDE = {
    "dual-status": "guide",
    "template-not-found-code": "message-template",
    "success-status": "all-200",
    "message-text": "reworded",
    "detail-fields": "full",
    "session-read-fields": "all",
}
# The most surprising option of each choice.
HOSTILE = {
    "cross-tenant-code": "access-denied",
    "success-status": "all-201",
    "dual-status": "guide",
    "template-not-found-code": "campaign-template",
    "empty-json-body": "reject",
    "unknown-body-keys": "reject",
    "null-for-optional": "omit",
    "name-uniqueness-scope": "case-insensitive",
    "platform-required": "default-chatapp",
    "error-extra-keys": "details",
    "message-text": "empty",
    "datetime-spelling": "offset",
    "additive-fields": "unknown-fields",
    "new-enum-values": "unseen",
    "list-order": "shuffled",
    "detail-fields": "full",
    "cancel-draft": "unprocessable",
    "repeat-cancel": "no-op",
    "cancel-final": "not-draft",
    "start-empty-audience": "failed",
    "execution-status-lag": "campaign-first",
    "completedAt-on-cancel-fail": "null",
    "progress-rounding": "ceil",
    "progress-after-cancel": "hundred",
    "progress-zero-target": "hundred",
    "common-vars-empty": "missing",
    "common-vars-extra-keys": "fail-sends",
    "unapproved-template": "not-found",
    "provider-status-internal": "empty",
    "execution-not-found-code": "campaign",
    "filter-error-split": "all-invalid-filters",
    "filters-empty-list": "reject",
    "group-no-statements": "ignore",
    "platform-value-unknown": "match-none",
    "platform-text-operators": "text",
    "missing-value-negative-ops": "no-match",
    "exists-meaning": "not-null",
    "case-sensitivity": "insensitive",
    "between-bounds": "upper-exclusive",
    "date-offset": "z-only",
    "date-only-and-naive": "midnight-brazil",
    "birthdate-zone": "brazil",
    "estimated-count-exactness": "rough",
    "media-partial-failure": "per-file",
    "media-failed-item-shape": "empty",
    "media-result-order": "reversed",
    "message-required-fields": "text-always",
    "message-absent-vs-null": "null",
    "next-cursor-end": "empty",
    "short-pages": "short",
    "entrypoint-two-shapes": "union",
    "funnel-null": "absent",
    "session-unknown-code": "entrypoint-not-found",
    "session-read-fields": "all",
    "reason-when-none": "null",
    "funnelId-alone": "invalid-request",
    "funnel-checked-when": "creation",
}


def combinations() -> list[dict[str, str]]:
    draw = random.Random(SEED)
    return [{row.choice: draw.choice(CHOICES[row.choice].options) for row in LEARNT} for _ in range(COMBINATIONS)]


def shown(chosen: dict[str, str]) -> set[tuple[str, str]]:
    """The options that a run under these choices shows."""
    return {(row.choice, chosen[row.choice]) for row in LEARNT if shows(row, chosen)}


def few() -> list[int]:
    """The numbers of combinations that together show whatever all of them show, those that add most first."""
    sets = [shown(each) for each in combinations()]
    taken: list[int] = []
    left = set().union(*sets)
    while left:
        taken.append(max(range(len(sets)), key=lambda number: len(sets[number] & left)))
        left -= sets[taken[-1]]
    return taken


FEW = few()
NAMED = {"default": {}, "guide": GUIDE, "hostile": HOSTILE}
ALL = [pytest.param(chosen, id=name) for name, chosen in NAMED.items()] + [
    pytest.param(chosen, id=f"combination {n}", marks=() if n in FEW else pytest.mark.deep)
    for n, chosen in enumerate(combinations())
]


@pytest.mark.parametrize("chosen", ALL)
def test_the_profile_learnt_is_the_profile_set(mockserver_server: MockServer, chosen: JSON) -> None:
    with world(mockserver_server, chosen) as sandbox:
        report = run(sandbox)

    assert {} == wrongly_learnt(report, chosen)
    assert {} == {id: option for id, option in learnable(chosen).items() if report.profile.get(id) != option}
    assert report.is_clean, [
        *(row for row in report.clauses if row.proofs),
        *(row for row in report.choices if row.proofs),
    ]
    assert not report.stopped
    reasons = [*(row.why for row in report.clauses), *(row.why for row in report.choices)]
    assert [] == [why for why in reasons if "has another shape" in why]


def test_the_combinations_show_every_observable_option() -> None:
    few_show = set().union(*(shown(combinations()[number]) for number in FEW))

    distinguished = {
        (row.choice, option) for row in LEARNT for option in row.distinguishes or CHOICES[row.choice].options
    }
    assert set() == distinguished - few_show


def test_what_a_hidden_option_leaves_open_is_narrowed_down(mockserver_server: MockServer) -> None:
    with world(mockserver_server) as sandbox:
        choices = {each.id: each for each in run(sandbox).choices}

    assert ("exact", "cached") == choices["estimated-count-exactness"].options
    assert ("ignore", "fail-sends") == choices["common-vars-extra-keys"].options
    assert "narrowed" == choices["common-vars-extra-keys"].outcome


@pytest.mark.parametrize("option", ["all", "writes-only"])
def test_a_lapsed_tenant_shows_which_calls_that_refuses(mockserver_server: MockServer, option: str) -> None:
    with world(mockserver_server, {"subscription-scope": option}) as sandbox:
        sandbox.admin.set_tenant(subscription="canceled")
        report = run(sandbox, entrypoint="entrypoint_recepcao")

    assert option == report.profile["subscription-scope"]
    assert bool(report.stopped) is (option == "all")
    assert report.is_clean


@pytest.mark.parametrize("option", CHOICES["rate-limit-headers"].options)
def test_a_rate_limit_shows_its_headers_and_ends_the_run(mockserver_server: MockServer, option: str) -> None:
    limited = {"rate-limit-numbers": {"requests": 20, "per": 60}, "rate-limit-headers": option}
    with mockserver_server.sandbox("demo", choices=limited, now=NOW) as sandbox:
        report = run(sandbox, entrypoint="entrypoint_recepcao")

    verdicts = {each.id: each.verdict for each in report.clauses}
    assert option == report.profile["rate-limit-headers"]
    assert "holds" == verdicts["base.rate-limit"]
    assert "limits the rate" in report.stopped
    assert 35 > report.calls


def test_a_run_that_may_only_read_learns_less_and_nothing_wrong(mockserver_server: MockServer) -> None:
    with world(mockserver_server, HOSTILE) as sandbox:
        report = run(sandbox, allow_writes=False, allow_sends=False)

    readable = {row.choice for row in LEARNT if "writes" not in row.needs}
    assert {} == wrongly_learnt(report, HOSTILE)
    assert set() == {id for id in learnable(HOSTILE) if id in readable} - set(report.profile)
    assert report.is_clean


def test_answers_that_do_not_agree_are_reported_with_both(mockserver_server: MockServer) -> None:
    with world(mockserver_server) as sandbox:

        class TwoMinds:
            """Writes date-times of template details in another way than those of the list."""

            def call(self, method: str, path: str, **rest: Any) -> Response:
                answer = sandbox.call(method, path, **rest)
                if path.startswith("/v1/messaging"):
                    return answer._replace(body=answer.body.replace(b".000Z", b"Z"))
                return answer

        report = run(sandbox, TwoMinds())

    spelling = next(each for each in report.choices if each.id == "datetime-spelling")
    assert ("contradictory", "the responses contradict each other") == (spelling.outcome, spelling.why)
    assert {"as under milliseconds or offset", "as under seconds"} | {"as under milliseconds"} >= {
        proof.expected for proof in spelling.proofs
    }
    assert "datetime-spelling" not in report.profile
    assert not report.is_clean
