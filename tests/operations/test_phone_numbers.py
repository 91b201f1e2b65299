"""Phone numbers: as people dial them in the tenant's country, or with their country code."""

import pytest

from mockserver import MockServer, Sandbox
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
ABROAD = {"PT": ("912 345 678", "+351912345678"), "US": ("(201) 555-0123", "+12015550123")}


@each_row("text", BRAZILIAN)
@pytest.mark.clause("session.completed")
def test_a_number_typed_on_the_page_as_brazilians_write_it_is_a_brazilian_one(mockserver: Sandbox, text: str) -> None:
    session = create(mockserver)

    mockserver.end_user(session).connect(phone=text)

    [entrypoint] = mockserver.state()["tenants"][0]["entrypoints"]
    assert NUMBER == entrypoint["displayPhone"]


@pytest.mark.parametrize("country", ABROAD)
@pytest.mark.clause("session.completed")
def test_a_national_number_belongs_to_the_tenant_s_country(mockserver_server: MockServer, country: str) -> None:
    text, number = ABROAD[country]
    given = {"tenants": [{"id": "tenant_default", "country": country}]}
    with mockserver_server.sandbox(given=given) as sandbox:
        forced = sandbox.complete_session(begin(sandbox), phone=text)
        sandbox.end_user(create(sandbox)).connect(phone="+55 11 99876-5432")

        assert number == forced["entrypoint"]["displayPhone"]
        assert [number, NUMBER] == [each["displayPhone"] for each in sandbox.state()["tenants"][0]["entrypoints"]]
        assert country == sandbox.state()["tenants"][0]["country"]


def test_a_country_that_does_not_exist_is_refused(mockserver_server: MockServer) -> None:
    for country in ("XX", "BRA", "br", ""):
        with pytest.raises(ValueError, match="country"):
            mockserver_server.sandbox(given={"tenants": [{"id": "tenant_default", "country": country}]})


@pytest.mark.parametrize(
    ("phone", "text"),
    [
        ("+5511911801108", "+55 11 91180-1108"),
        ("+551155500142", "+55 11 5550-0142"),
        ("+14155552671", "+1 415-555-2671"),
        ("+351912345678", "+351 912 345 678"),
        ("11 5550-0142", "11 5550-0142"),
        ("+", "+"),
        ("", ""),
    ],
)
def test_a_number_is_shown_as_a_person_reads_it(phone: str, text: str) -> None:
    assert text == readable(phone)
