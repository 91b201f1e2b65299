"""Phone numbers: as people dial them in Brazil, or with their country code."""

import re

import pytest

from mockserver import Sandbox
from mockserver.core.phone_numbers import readable
from tests.harness.rows import each_row
from tests.operations.session_calls import begin, create

NUMBER = "+5511998765432"
BRAZILIAN = [
    "11 99876-5432",
    "(11) 99876-5432",
    "11998765432",
    "011 99876-5432",
    "0 15 11 99876-5432",
    "55 11 99876-5432",
    "+55 11 99876-5432",
    "+55 (11) 99876.5432",
    " +5511998765432 ",
]


@each_row("text", BRAZILIAN)
@pytest.mark.clause("session.completed")
def test_a_number_typed_on_the_page_as_brazilians_write_it_is_a_brazilian_one(mockserver: Sandbox, text: str) -> None:
    session = create(mockserver)

    mockserver.end_user(session).connect(phone=text)

    [entrypoint] = mockserver.state()["tenants"][0]["entrypoints"]
    assert NUMBER == entrypoint["displayPhone"]


@each_row("text", ["+351 912 345 678", "+1 (201) 555-0123"])
@pytest.mark.clause("session.completed")
def test_a_number_with_another_country_s_code_is_taken(mockserver: Sandbox, text: str) -> None:
    session = begin(mockserver)

    forced = mockserver.complete_session(session, phone=text)

    assert re.sub(r"[^0-9+]", "", text) == forced["entrypoint"]["displayPhone"]


@pytest.mark.parametrize(
    ("phone", "text"),
    [
        ("+5511911801108", "+55 11 91180-1108"),
        ("+551155500142", "+55 11 5550-0142"),
        ("+14155552671", "+14155552671"),
        ("11 5550-0142", "11 5550-0142"),
        ("+", "+"),
        ("", ""),
    ],
)
def test_a_number_is_shown_as_a_person_reads_it(phone: str, text: str) -> None:
    assert text == readable(phone)
