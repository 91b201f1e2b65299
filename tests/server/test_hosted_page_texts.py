"""What the hosted page shows an end user: numbers, deadlines, errors and ends, in Portuguese and for the person who connects."""

import re

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.operations.session_calls import FUNNELS, NOON, PHONE, begin, create
from tests.server.page_calls import begun, get, inside, press

SHOWN = "+55 11 99999-0000"


@pytest.mark.parametrize("body", [{}, {"coexistence": True}], ids=["standard", "coexistence"])
def test_every_number_is_shown_as_a_person_reads_it(mockserver: Sandbox, body: JSON) -> None:
    user = mockserver.end_user(create(mockserver, body))
    pages = [user.open(), user.proceed()]
    while pages[-1].step is not None:
        pages.append(user.choose_number(PHONE) if pages[-1].step == "number" else user.proceed())

    text = " ".join(page.text for page in pages)
    assert [] == re.findall(r"\+\d{3,}", text)
    assert 2 <= text.count(SHOWN)
    assert 2 <= len(set(re.findall(r"\+55 11 9\d{4}-\d{4} (?:Disponível|Número de exemplo)", text)))


@pytest.mark.parametrize(
    ("step", "given", "text"),
    [
        ("account", {"account": "new", "name": " "}, "Digite um nome de 1 a 100 caracteres para a nova conta."),
        ("account", {"account": "none"}, "Escolha uma das contas."),
        ("number", {"number": "other", "phone": "12"}, "O telefone informado não é válido. Digite o número com DDD, como 11 99876-5432, ou com o código do país."),
    ],
    ids=["name", "account", "phone"],
)  # fmt: skip
def test_an_error_is_in_the_title_and_next_to_the_one_focused_field(
    mockserver: Sandbox, step: str, given: JSON, text: str
) -> None:
    _, flow = begun(mockserver)
    if step == "number":
        press(mockserver, flow, account="own")

    page = press(mockserver, flow, **given)

    html = page.body.decode()
    assert 422 == page.status
    assert ("<title>Erro: " in html, text in html, 1) == (True, True, html.count('role="alert"'))
    (focused,) = re.findall(r"<input[^>]* autofocus", html)
    assert step == "account" and given["account"] == "none" or 'aria-describedby="problema"' in focused
    plain = get(mockserver, f"{flow}/{step}")
    assert (200, False, False) == (plain.status, b"Erro: " in plain.body, b'role="alert"' in plain.body)


def test_each_step_has_a_url_and_one_that_is_not_reached_leads_to_the_present_one(mockserver: Sandbox) -> None:
    _, flow = begun(mockserver)
    press(mockserver, flow, account="own")

    def where(page: str) -> str | int:
        reply = get(mockserver, f"{flow}/{page}")
        return inside(mockserver, reply.headers["location"]) if reply.status == 303 else reply.status

    assert [200, 200, 200] == [where(page) for page in ("intro", "account", "number")]
    others = ("authorise", "completed", "refused", "number/refused", "number/x", "number/", "", "x")
    assert [f"{flow}/number"] * 8 == [where(page) for page in others]
    (bare,) = {mockserver.call(method, flow, key="").headers["location"] for method in ("GET", "HEAD")}
    assert bare.endswith(f"{flow}/number")


@pytest.mark.mockserver(given=FUNNELS, now=NOON)
@pytest.mark.parametrize(
    ("end", "texts"),
    [
        ("phone_in_use", ("Este número já está vinculado a outra conta ou a outro canal.", "Para usar outro número")),
        ("funnel_not_found", ("O funil ou a etapa que receberia as conversas não existe mais.", "Avise quem enviou este link")),
        ("token_exchange_failed", ("O provedor não concluiu a autorização.", "espere alguns minutos. Peça um novo link")),
        ("expire", ("O link de conexão expirou antes da conclusão.", "Prazo 1º de março de 2026, às 09:20 (horário de Brasília)", "Peça um novo link")),
    ],
)  # fmt: skip
def test_each_failure_has_advice_of_its_own(mockserver: Sandbox, end: str, texts: tuple[str, ...]) -> None:
    user = mockserver.end_user(begin(mockserver))
    user.open()

    text = user.simulate(end).text

    assert [] == [each for each in texts if each not in text]
    assert "Gere um novo link" not in text  # that is for the client's developer
