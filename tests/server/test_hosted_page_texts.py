"""What the hosted page shows an end user: numbers, deadlines, errors and ends, in Portuguese and for the person who connects."""

import re

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.operations.session_calls import FUNNELS, NOON, PHONE, begin, create
from tests.server.page_calls import begun, flow_path, get, inside, post, press

SHOWN = "+55 11 99999-0000"


def visible(html: str) -> str:
    """The text of a page with single blanks, without its title and its panel for those who test."""
    body = re.sub(r"<aside.*?</aside>", "", html.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


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


def test_a_number_that_was_typed_before_is_proposed_as_it_is_read(mockserver: Sandbox) -> None:
    user = mockserver.end_user(begin(mockserver))
    for go in (user.open, user.proceed, user.choose_account):
        go()
    user.choose_number("11999990000")

    assert SHOWN == user.back().forms[0].values["phone"]


@pytest.mark.mockserver(now=NOON)
@pytest.mark.parametrize(
    ("passed", "left"),
    [("0s", "20 minutos"), ("30s", "20 minutos"), ("1m", "19 minutos"), ("18m", "2 minutos"), ("1199s", "1 minuto")],
)
def test_the_deadline_is_shown_in_minutes_that_are_left(mockserver: Sandbox, passed: str, left: str) -> None:
    user = mockserver.end_user(begin(mockserver))
    mockserver.advance(passed)

    page = user.open()

    assert f"Este link vale por {left} e só pode ser usado uma vez." in page.text
    assert "UTC" not in page.text


def test_the_organisation_is_named_in_the_header_of_every_page_but_those_of_dead_links(mockserver: Sandbox) -> None:
    mockserver.admin.set_tenant(name="Clínica Sorriso")
    _, flow = begun(mockserver)

    headers = [
        visible(get(mockserver, path).body.decode()).partition("Conexão de número")[0]
        for path in (flow, "/connect/unknown")
    ]

    assert ["Clínica Sorriso ", ""] == headers


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

    sent = press(mockserver, flow, **given)

    path = inside(mockserver, sent.headers["location"])
    page = get(mockserver, path)
    html = page.body.decode()
    assert (303, f"{flow}/{step}/refused", 422) == (sent.status, path, page.status)
    assert ("<title>Erro: " in html, text in html, 1) == (True, True, html.count('role="alert"'))
    (focused,) = re.findall(r"<input[^>]* autofocus", html)
    assert step == "account" and given["account"] == "none" or 'aria-describedby="problema"' in focused
    plain = get(mockserver, f"{flow}/{step}")
    assert (200, False, False) == (plain.status, b"Erro: " in plain.body, b'role="alert"' in plain.body)


def test_a_refused_text_is_shown_again_until_a_form_is_accepted(mockserver: Sandbox) -> None:
    _, flow = begun(mockserver)
    sent = press(mockserver, flow, account="new", name="x" * 101)
    error = inside(mockserver, sent.headers["location"])

    assert f'value="{"x" * 100}"' in get(mockserver, error).body.decode()
    press(mockserver, flow, account="own")
    after = get(mockserver, error)
    assert (303, f"{flow}/account") == (after.status, inside(mockserver, after.headers["location"]))


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


def test_a_form_is_accepted_at_any_url_of_its_flow(mockserver: Sandbox) -> None:
    path, flow = begun(mockserver)
    form = {"press": "continue", "account": "own", "step": "account"}
    secret = re.search(rb'name="secret" value="(\w+)"', get(mockserver, flow).body)
    assert secret is not None

    replies = [post(mockserver, flow + end, form | {"secret": secret[1].decode()}) for end in ("", "/intro", "/x/y")]

    assert [flow] * 3 == [flow_path(mockserver, reply) for reply in replies]
    assert 410 == post(mockserver, path, form).status


@pytest.mark.mockserver(now="2026-03-01T01:05:00Z")
def test_the_last_page_shows_what_was_connected_and_when(mockserver: Sandbox) -> None:
    page = mockserver.end_user(begin(mockserver)).connect(PHONE, name="Matriz")

    assert "Default tenant já pode enviar e receber mensagens por este número." in page.text
    for row in (f"Número {SHOWN}", "Conta Matriz", "Modo Somente na plataforma",
                "Quando 28 de fevereiro de 2026, às 22:05 (horário de Brasília)"):  # fmt: skip
        assert row in page.text


def test_the_last_page_shows_the_number_that_a_command_has_connected(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    user = mockserver.end_user(session_id)
    user.open()
    user.proceed()

    mockserver.complete_session(session_id, phone="+551155500142")

    assert "Número +55 11 5550-0142" in user.reload().text


def test_the_last_page_without_its_transition_in_the_journal_shows_the_rest(mockserver: Sandbox) -> None:
    user = mockserver.end_user(begin(mockserver))
    user.connect(PHONE)
    mockserver._hosted.sandbox.journal.transitions.clear()

    assert (f"Número {SHOWN}" in user.reload().text, "Quando" in user.reload().text) == (True, False)


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


def test_a_cancellation_needs_a_second_press_and_no_other_page(mockserver: Sandbox) -> None:
    html = get(mockserver, begun(mockserver)[1]).body.decode()

    (confirmation,) = re.findall(r"<details class=\"cancel\">.*?</details>", html, flags=re.DOTALL)
    assert 1 == html.count('value="cancel"') == confirmation.count('value="cancel"')
    assert " open" not in confirmation.partition(">")[0]


def test_the_panel_for_tests_is_closed_and_named_as_no_part_of_the_page(mockserver: Sandbox) -> None:
    html = get(mockserver, begun(mockserver)[1]).body.decode()

    assert re.search(r'<aside [^>]*>\s*<details>\s*<summary><span class="tag">mock</span> Simular</summary>', html)
    assert "Não existe na página real." in html
