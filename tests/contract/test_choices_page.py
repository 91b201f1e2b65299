"""The page of the document's open points agrees with the tables."""

from __future__ import annotations

from docs.reference.contract_pages import choices_page
from mockserver.contract.choices import CHOICES


def section(heading: str) -> str:
    """The part of the page under this heading, down to the next one."""
    return choices_page().partition(f"{heading}\n")[2].partition("\n#")[0]


def test_every_choice_is_in_the_table_by_operation() -> None:
    table = section("## By operation")

    assert [] == [id for id in CHOICES if f"[{id}](#{id.lower()})" not in table]
