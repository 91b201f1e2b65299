"""`mockserver judge --service`: the report on a service by a recording, as text and as JSON, and what it never prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mockserver import cli
from mockserver._json import JSON
from mockserver.contract import clauses
from mockserver.judge.service.judge import CHECKS
from tests.recordings.honest import Bent
from tests.recordings.lies import LIES

FALLING = next(lie for lie in LIES if lie.sentence == "The sent messages become fewer")


@pytest.fixture
def falling(life: dict[str, JSON], tmp_path: Path) -> str:
    """The file of a life in which the sent messages become fewer."""
    bent = Bent(life)
    FALLING.bend(bent)
    bent.recording(tmp_path)
    return str(tmp_path / "life.har")


def test_a_broken_clause_is_printed_with_its_values_its_exchanges_and_what_it_assumes(
    falling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["judge", "--service", falling])
    lines = capsys.readouterr().out.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("  broken      send.counts"))

    assert 1 == status
    assert lines[0].startswith("life.har: 59 exchanges of 15 operations")
    assert "sentCount 28; then 5" in lines[place + 1]
    for line, number in zip(lines[place + 2 : place + 4], (14, 16), strict=True):
        assert re.match(
            rf"        #{number} 2026-03-02T00:0\d:\d\d\.\d{{3}}Z GET https://crm.example/v1/campaigns/", line
        )
    assert "assumes that both are answers of one service, which was not reset between them" == lines[place + 4].strip()


def test_the_json_has_every_clause_with_its_contradictions(falling: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["judge", "--service", falling, "--json"])
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["service"]["clauses"]}
    (counts,) = rows["send.counts"]["contradictions"]

    assert [row.id for row in clauses.read()] == list(rows)
    assert ("broken", "holds") == (rows["send.counts"]["verdict"], rows["campaigns.list"]["verdict"])
    assert ["sentCount 28", "then 5"] == counts["values"]
    assert [("exchange", 14, 200), ("exchange", 16, 200)] == [
        (place["kind"], place["index"], place["status"]) for place in counts["exchanges"]
    ]
    assert ["not observed", "not met: no call of the recording concerns it"] == [
        rows["forms.policy"][key] for key in ("verdict", "why")
    ]
    assert "not visible: a recording may lack deliveries" == rows["events.nothing-lost"]["why"]


def test_a_clause_is_judged_or_has_a_reason_why_no_recording_shows_it() -> None:
    ids = {row.id for row in clauses.read() if not row.id.startswith("advice.")}
    judged = {clause for check in CHECKS if check.judge is not None for clause in check.clauses}
    without = [check for check in CHECKS if check.judge is None]
    not_judged = [clause for check in without for clause in check.clauses]

    assert set() == {*judged, *not_judged} - ids
    assert set() == judged & {*not_judged}
    assert len(not_judged) == len({*not_judged})
    assert without == [check for check in CHECKS if check.unshown]
