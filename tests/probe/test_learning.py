"""A run learns nothing but what the service does, in many combinations of choices."""

from __future__ import annotations

import json
import random

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.profiles import PROFILES
from tests.probe.test_violations import ModifiedService, Sent
from tests.probe.worlds import NOW, run, world, wrongly_learnt

COMBINATIONS, FEW, SEED = 50, 2, 35

GUIDE = {**PROFILES["guide"], "success-status": "all-200", "detail-fields": "full", "session-read-fields": "all"}
HOSTILE = PROFILES["hostile"]


# What each run settles; other choices depend on each other, or need a record that the tenant may not have.
SETTLED = frozenset(
    ("additive-fields", "common-vars-empty", "completedAt-on-cancel-fail", "cross-tenant-code", "date-offset", "datetime-spelling",
     "detail-fields", "dual-status", "empty-json-body", "error-extra-keys", "execution-not-found-code", "filter-error-split",
     "filters-empty-list", "funnel-null", "funnelId-alone", "media-partial-failure", "message-absent-vs-null", "message-text",
     "new-enum-values", "next-cursor-end", "null-for-optional", "platform-required", "platform-value-unknown",
     "progress-after-cancel", "progress-rounding", "provider-status-internal", "reason-when-none", "session-read-fields",
     "session-unknown-code", "short-pages", "success-status", "template-not-found-code", "unknown-body-keys")
)  # fmt: skip


def combinations() -> list[dict[str, str]]:
    draw = random.Random(SEED)
    return [{id: draw.choice(CHOICES[id].options) for id in HOSTILE} for _ in range(COMBINATIONS)]


NAMED = {"default": {}, "guide": GUIDE, "hostile": HOSTILE}
ALL = [pytest.param(chosen, id=name) for name, chosen in NAMED.items()] + [
    pytest.param(chosen, id=f"combination {n}", marks=() if n < FEW else pytest.mark.deep)
    for n, chosen in enumerate(combinations())
]


@pytest.mark.parametrize("chosen", ALL)
def test_the_choices_learnt_are_those_set_and_the_service_breaks_nothing(
    mockserver_server: MockServer, chosen: JSON
) -> None:
    with world(mockserver_server, chosen) as sandbox:
        probed = run(sandbox)

    assert ({}, []) == (wrongly_learnt(probed, chosen), probed.broken)
    assert set() == SETTLED - {id for id, options in probed.learnt.items() if len(options) == 1}
    assert ("", {}) == (probed.run.stopped, probed.run.incomplete)


@pytest.mark.parametrize("option", ["all", "writes-only"])
def test_a_lapsed_tenant_breaks_nothing_and_a_refused_read_ends_the_run(
    mockserver_server: MockServer, option: str
) -> None:
    with world(mockserver_server, {"subscription-scope": option}) as sandbox:
        sandbox.admin.set_tenant(subscription="canceled")
        probed = run(sandbox, entrypoint="entrypoint_recepcao")

    assert bool(probed.run.stopped) is (option == "all")
    assert (set(), []) == (
        {"subscription-scope"} & {*wrongly_learnt(probed, {"subscription-scope": option})},
        probed.broken,
    )


@pytest.mark.parametrize("option", CHOICES["rate-limit-headers"].options)
def test_a_rate_limit_shows_its_headers_and_ends_the_run(mockserver_server: MockServer, option: str) -> None:
    limited = {"rate-limit-numbers": {"requests": 20, "per": 60}, "rate-limit-headers": option}
    with mockserver_server.sandbox("demo", choices=limited, now=NOW) as sandbox:
        probed = run(sandbox, entrypoint="entrypoint_recepcao")

    verdicts = {clause.id: clause.verdict for clause in probed.report.service.clauses}
    assert (option,) == probed.learnt["rate-limit-headers"]
    assert "holds" == verdicts["base.rate-limit"]
    assert "limits the rate" in probed.run.stopped
    assert 35 > len(probed.run.recording.exchanges)


def test_a_run_that_may_only_read_learns_less_and_nothing_wrong(mockserver_server: MockServer) -> None:
    with world(mockserver_server, HOSTILE) as sandbox:
        probed = run(sandbox, allow_writes=False, allow_sends=False)

    assert ({}, []) == (wrongly_learnt(probed, HOSTILE), probed.broken)
    assert ("details",) == probed.learnt["error-extra-keys"]
    assert "platform-required" not in probed.learnt


def test_answers_that_do_not_agree_contradict_the_choice(sandbox: Sandbox) -> None:
    def respond(sent: Sent, status: int, value: JSON) -> tuple[int, bytes] | None:
        """Write date-times of messages in another way than those of the rest."""
        is_message = sent.path.startswith("/v1/messaging")
        return (status, json.dumps(value).encode().replace(b".000Z", b"Z")) if is_message else None

    probed = run(sandbox, ModifiedService(sandbox, respond=respond))

    spelling = next(choice for choice in probed.report.choices if choice.id == "datetime-spelling")
    assert ("contradicted", "the answers contradict each other") == (spelling.state, spelling.why)
    assert spelling.exchanges
