"""How each seeded bug shows in an exploration of its ordinary test, and the exploration itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver import MockServer
from mockserver.testing.runs.faults import ExploreFinding, ExploreReport, Placement
from tests.clients import planted_pairs
from tests.runs.faults.working_day import ORDINARY, ordinary_test

PAIRS = 120
WRITES = (
    "createCampaign",
    "listCampaigns",
    "startCampaign",
    "readCampaign",
    "cancelCampaign",
)  # and how they are looked up
BY_CHOICE = ("page-early-stop", "message-matched", "status-matched")
# Without its key or subscription the careful client can only report that: no test would take that for a bug.
KNOWN = tuple(("*", act, "crashed", "the tenant is barred") for act in ("key-revoked", "subscription-lapses"))

# The verdict and the cause by which each bug is recognised; `advice` does not fail a test.
SHOWS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "duplicate-start": ("breach", "duplicate-start"),
        "clone-after-conflict": ("silent", "differs"),
        "rename-after-lost-create": ("silent", "differs"),
        "blind-retry": ("breach", "blind-post-retry"),
        "only-200-is-ok": ("breach", "only-200-is-ok"),
        "lost-filters": ("breach", "lost-filters"),
        "platform-is-audience": ("breach", "platform-used-as-audience"),
        "poll-after-final": ("breach", "poll-final-set-incomplete"),
        "page-early-stop": ("crashed", "AssertionError"),
        "json-on-204": ("breach", "json-on-204"),
        "message-matched": ("crashed", "Refused"),
        "status-matched": ("crashed", "Refused"),
        "ignore-retry-after": ("breach", "ignore-retry-after"),
        "retry-hopeless": ("advice", "retry-hopeless"),
        "session-storm": ("silent", "differs"),
        "waits-only-for-completed": ("breach", "endless"),
        "cadence-unit": ("advice", "cadence-units"),
        "restart-ended": ("crashed", "Refused"),
        "key-in-query": ("breach", "key-in-wrong-place"),
        "poll-too-fast": ("advice", "poll-too-fast"),
        "cancel-and-forget": ("silent", "differs"),
        "wrong-variable-keys": ("breach", "wrong-variable-keys"),
        "naive-dates": ("breach", "naive-dates"),
        "no-dedupe": ("silent", "AssertionError"),
        "forged-accepted": ("breach", "no-verify"),
        "late-event-overwrites": ("crashed", "AssertionError"),
        "start-after-failed-read": ("breach", "duplicate-start"),
        "rename-after-failed-search": ("silent", "differs"),
        "second-busy-ignored": ("breach", "ignore-retry-after"),
        "cancel-tried-twice": ("silent", "differs"),
        "clone-after-outdated-read": ("silent", "differs"),
        "rename-after-second-loss": ("silent", "differs"),
    }
)
assert list(SHOWS) == list(ORDINARY)


class Explored(NamedTuple):
    """
    The exploration of a bug: its report, and the finding that shows it with its smallest case; None if there is none.

    A case of `stale` alone is left out: the careful client reports a read that is answered as before a start, too.
    """

    report: ExploreReport
    finding: ExploreFinding | None
    case: Placement | None


def hunt(server: MockServer, bug: str, **options: Any) -> Explored:
    """Explore the ordinary test of a bug; with pairs if the bug needs two faults."""
    pairs = {"pairs": PAIRS, "choices": ()} if bug in planted_pairs.BUGS else {}
    report = server.explore(ordinary_test(bug), test=bug, **{"tolerates": KNOWN, **pairs, **options})
    verdict, cause = SHOWS[bug]
    finding = next((row for row in report.findings if (row.verdict, row.cause) == (verdict, cause)), None)
    cases = finding.placements if finding is not None else []
    return Explored(report, finding, next((case for case in cases if ["stale"] != [step.name for step in case]), None))
